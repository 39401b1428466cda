//! Ends that do not go smoothly: refused deletes, races with other hands, things changed while nobody was looking, and
//! whole namespaces that go.

use serde_json::{Value, json};

use crate::support::daemon;
use crate::support::estate::{Estate, a_records, forbidden, native, rr};
use crate::support::objects;
use crate::support::query::query;
use crate::support::recorder::{Action, Request, Server};
use crate::support::wait_for;

fn to_pdns(method: &'static str) -> impl Fn(&Request) -> bool + Send + Sync {
    move |r| r.server == Server::PowerDns && r.method == method
}

/// Takes all finalizers off and deletes.
async fn force_delete(estate: &Estate, object: &Value) {
    objects::patch(&estate.client, object, &json!({"metadata": {"finalizers": null}})).await;
    if estate.get(object).await.is_some() {
        estate.delete(object).await;
    }
    assert!(estate.get(object).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_delete_is_not_dropped() {
    let estate = Estate::new("refuseddel").await;
    let zone = estate.zone("z", "refuseddel.example").await;
    let set = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    let refuse = || Action::Answer(422, json!({"error": "refused by test"}));
    estate.recorder.always(to_pdns("PATCH"), refuse());
    estate.recorder.always(to_pdns("DELETE"), refuse());
    estate.delete(&set).await;
    estate.once_failing().await;
    let message = estate.programmed(&set).await.2;
    assert!(message.contains("www"), "{message}");
    estate.delete(&zone).await;
    estate.once_failing().await;
    assert!(estate.get(&set).await.is_some() && estate.get(&zone).await.is_some());
    let message = estate.programmed(&zone).await.2;
    assert!(message.starts_with("deletion is waiting"), "{message}");
    estate.recorder.heal();
    estate.once().await;
    assert!(estate.get(&set).await.is_none() && estate.get(&zone).await.is_none());
    assert!(!estate.pdns.has_zone("refuseddel.example").await);
}

/// Other hands remove the zone after it was read and before our request arrives: the server answers 404 to it.
#[tokio::test(flavor = "multi_thread")]
async fn a_zone_that_goes_under_our_hands_holds_nothing() {
    for method in ["PATCH", "DELETE"] {
        let estate = Estate::new("race").await;
        let zone = estate.zone("z", "race.example").await;
        let set = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
        estate.once().await;
        let object = if method == "PATCH" { &set } else { &zone };
        estate.delete(object).await;
        let later = Action::Delay(std::time::Duration::from_millis(800));
        estate.recorder.next(to_pdns(method), later);
        estate.recorder.clear();
        let tried = || estate.writes_to(Server::PowerDns).into_iter().find(|r| r.method == method);
        let meanwhile = async {
            wait_for("the request is on its way", std::time::Duration::from_secs(30), || async {
                tried().map(|_| ())
            })
            .await;
            assert_eq!(estate.pdns.delete_zone("race.example").await.0, 204);
        };
        tokio::join!(daemon::once(&estate.config), meanwhile);
        assert_eq!(tried().and_then(|r| r.status), Some(404), "{method} came too late");
        estate.once().await;
        assert!(estate.get(object).await.is_none(), "{method}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_renamed_and_deleted_in_an_outage_goes_under_both_names() {
    let estate = Estate::new("bothnames").await;
    estate.zone("z", "bothnames.example").await;
    let set = estate.a("s", "z", &[("old", "192.0.2.1")]).await;
    estate.once().await;
    estate.pdns.stop().await;
    estate.edit(&set, json!({"records": a_records(&[("new", "192.0.2.1")])})).await;
    estate.once_failing().await;
    estate.delete(&set).await;
    estate.once_failing().await;
    assert!(estate.get(&set).await.is_some(), "nobody could look");
    estate.pdns.restart().await;
    estate.once().await;
    assert!(estate.get(&set).await.is_none());
    for name in ["old.bothnames.example", "new.bothnames.example"] {
        assert!(query(estate.pdns.dns_addr(), name, "A").await.is_nxdomain(), "{name}");
    }
}

/// The zone's class is renamed to nothing, to a missing one, to another controller's: each time both objects go.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_its_class_has_become_a_zone_and_its_set_go() {
    let estate = Estate::new("reclassed").await;
    let mut foreign = objects::class(&format!("{}-foreign", estate.class), &[]);
    foreign["spec"]["controllerName"] = json!("another");
    let foreign = objects::create(&estate.client, &foreign).await;
    let names = ["", "no-such-class", foreign["metadata"]["name"].as_str().unwrap()];
    for class in names {
        let zone = estate.zone("z", "reclassed.example").await;
        let set = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
        estate.once().await;
        estate.edit(&zone, json!({"dnsZoneClassName": class})).await;
        daemon::once(&estate.config).await;
        let served = estate.pdns.contents("reclassed.example", "www.reclassed.example.", "A").await;
        assert_eq!(served, ["192.0.2.1"], "{class:?}");
        assert_eq!(estate.programmed(&set).await.0, "False", "{class:?}");
        estate.delete(&set).await;
        daemon::once(&estate.config).await;
        assert!(estate.get(&set).await.is_none(), "{class:?}");
        estate.delete(&zone).await;
        estate.once().await;
        assert!(estate.get(&zone).await.is_none(), "{class:?}");
        assert!(!estate.pdns.has_zone("reclassed.example").await, "{class:?}");
    }
    estate.delete(&foreign).await;
}

/// The zone has somebody's words in its account and stays, so its sets go one by one, and it waits for the one that cannot.
#[tokio::test(flavor = "multi_thread")]
async fn a_zone_names_the_set_that_it_waits_for() {
    let estate = Estate::new("names").await;
    let mut stored = native("names.example.", json!([rr("hand.names.example.", "192.0.2.9")]));
    stored["account"] = json!("ops");
    estate.pdns.create_zone(&stored).await;
    let zone = estate.zone("z", "names.example").await;
    let stuck = estate.a("stuck", "z", &[("stuck", "192.0.2.1")]).await;
    estate.once().await;
    estate.recorder.always(to_pdns("PATCH"), Action::Answer(500, json!({"error": "x"})));
    estate.delete(&zone).await;
    let summary = estate.once_failing().await;
    let message = estate.programmed(&zone).await.2;
    let key = format!("{}/stuck", estate.namespace);
    assert!(message.contains(&key), "{message}");
    assert!(summary["held"].to_string().contains(&key), "{summary}");
    estate.recorder.heal();
    estate.once().await;
    assert!(estate.get(&zone).await.is_none() && estate.get(&stuck).await.is_none());
    let dns = estate.pdns.dns_addr();
    assert!(query(dns, "stuck.names.example", "A").await.is_nxdomain());
    assert_eq!(query(dns, "hand.names.example", "A").await.answers, ["192.0.2.9"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_child_that_may_not_be_deleted_keeps_its_zone_and_is_named() {
    let estate = Estate::new("child").await;
    let zone = estate.zone("z", "child.example").await;
    let free = estate.a("free", "z", &[("free", "192.0.2.1")]).await;
    let kept = estate.a("kept", "z", &[("kept", "192.0.2.2")]).await;
    estate.once().await;
    estate.recorder.always(
        |r: &Request| r.method == "DELETE" && r.path.contains("dnsrecordsets/kept"),
        forbidden(),
    );
    estate.delete(&zone).await;
    let output = daemon::once(&estate.config).await;
    assert_eq!(output.code, Some(1));
    assert!(output.stdout.contains("forbidden by test"), "{}", output.stdout);
    assert!(estate.get(&zone).await.is_some() && estate.get(&kept).await.is_some());
    let dns = estate.pdns.dns_addr();
    assert_eq!(query(dns, "kept.child.example", "A").await.answers, ["192.0.2.2"]);
    let message = estate.programmed(&zone).await.2;
    assert!(message.contains(&format!("{}/kept", estate.namespace)), "{message}");
    estate.recorder.heal();
    estate.once().await;
    for gone in [&zone, &free, &kept] {
        assert!(estate.get(gone).await.is_none(), "{}", gone["metadata"]["name"]);
    }
}

/// What `kubectl delete namespace` asks for: everything at once, each by itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_goes_in_one_pass_with_one_request_and_may_come_back() {
    let estate = Estate::new("namespace").await;
    for round in ["first", "second"] {
        let zone = estate.zone("z", "namespace.example").await;
        let mut all = vec![zone];
        for n in 0..30 {
            all.push(estate.a(&format!("s{n}"), "z", &[(&format!("n{n}"), "192.0.2.1")]).await);
        }
        estate.once().await;
        let dns = estate.pdns.dns_addr();
        assert_eq!(query(dns, "n29.namespace.example", "A").await.answers, ["192.0.2.1"]);
        for object in &all {
            estate.delete(object).await;
        }
        estate.recorder.clear();
        estate.once().await;
        let writes = estate.writes_to(Server::PowerDns);
        let methods: Vec<&str> = writes.iter().map(|r| r.method.as_str()).collect();
        let alone = estate.pdns.writes_for("DELETE");
        assert_eq!(methods, alone, "{round}: nothing of a zone that goes is deleted before");
        for object in &all {
            assert!(estate.get(object).await.is_none(), "{round}: {}", object["metadata"]["name"]);
        }
    }
}

/// A set that was never secured has no finalizer and needs no server for its end.
#[tokio::test(flavor = "multi_thread")]
async fn a_set_that_was_never_accepted_goes_while_powerdns_is_down() {
    let estate = Estate::new("never").await;
    let set = estate.a("www", "nowhere", &[("www", "192.0.2.1")]).await;
    estate.pdns.stop().await;
    estate.once_failing().await;
    estate.delete(&set).await;
    assert!(estate.get(&set).await.is_none());
    estate.pdns.restart().await;
}

/// The second page of a list fails, and a list comes back empty: neither says that anything is gone.
#[tokio::test(flavor = "multi_thread")]
async fn half_a_list_and_an_empty_one_delete_nothing() {
    let estate = Estate::noted("half").await;
    let zone = estate.zone("z", "half.example").await;
    for n in 0..12 {
        estate.a(&format!("s{n}"), "z", &[(&format!("n{n}"), "192.0.2.1")]).await;
    }
    estate.once().await;
    let list = |r: &Request| {
        r.server == Server::Kubernetes && r.method == "GET" && r.path.contains("/dnsrecordsets?")
    };
    let page = |items: Value, more: &str| {
        let meta = json!({"resourceVersion": "1", "continue": more});
        let body = json!({"apiVersion": "dns.networking.miloapis.com/v1alpha1",
                          "kind": "DNSRecordSetList", "metadata": meta, "items": items});
        Action::Answer(200, body)
    };
    let one = estate
        .get(&objects::record_set(&estate.namespace, "s0", "z", "A", &json!([])))
        .await
        .unwrap();
    let second = move |r: &Request| list(r) && r.path.contains("continue=");
    estate.recorder.always(second, Action::Answer(500, json!({"kind": "Status", "code": 500})));
    estate.recorder.always(list, page(json!([one]), "more"));
    estate.recorder.clear();
    estate.once_failing().await;
    assert!(estate.recorder.writes().is_empty(), "no pass without a whole list");
    estate.recorder.heal();

    // The list is empty and the objects are there.
    estate.recorder.always(list, page(json!([]), ""));
    estate.recorder.clear();
    estate.once_failing().await;
    assert_eq!(estate.programmed(&zone).await.1, "DeletionHeld");
    assert_eq!(estate.writes_to(Server::PowerDns).len(), 0, "an empty list deletes nothing");

    // The look agrees with the list, as it does in a cluster that was restored from nothing.
    let one = |r: &Request| {
        r.server == Server::Kubernetes && r.method == "GET" && r.path.contains("/dnsrecordsets/")
    };
    let missing = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "code": 404,
                         "status": "Failure", "reason": "NotFound", "message": "not found"});
    estate.recorder.always(one, Action::Answer(404, missing));
    estate.recorder.clear();
    estate.once_failing().await;
    assert_eq!(estate.writes_to(Server::PowerDns).len(), 0, "nor does one that seems to be true");
    assert_eq!(estate.programmed(&zone).await.1, "DeletionHeld");
    estate.recorder.heal();
    estate.once().await;
    estate.assert_quiet().await;
}

/// Type, zone and name change at once, and before any pass the object is gone altogether.
#[tokio::test(flavor = "multi_thread")]
async fn a_set_that_changed_in_every_way_and_vanished_leaves_nothing_and_nobody_else_loses() {
    let estate = Estate::noted("everyway").await;
    estate.zone("one", "everyway-one.example").await;
    estate.zone("two", "everyway-two.example").await;
    let set = estate.a("s", "one", &[("a", "192.0.2.1")]).await;
    estate.a("stays", "one", &[("stays", "192.0.2.2")]).await;
    estate.once().await;
    let note =
        json!({"v": 1, "owner": "somebody-else", "object": "theirs/s", "uid": "u", "h": "0"});
    let mut theirs = rr("theirs.everyway-one.example.", "192.0.2.3");
    theirs["comments"] = json!([{"account": "dns-syncd", "content": note.to_string()}]);
    let hand = rr("hand.everyway-one.example.", "192.0.2.4");
    let by_hand = json!({"rrsets": [theirs, hand]});
    assert_eq!(estate.pdns.patch("everyway-one.example", &by_hand).await.0, 204);
    let cname = json!([{"name": "b", "cname": {"content": "target.example.net."}}]);
    let changed = json!({"dnsZoneRef": {"name": "two"}, "recordType": "CNAME", "records": cname});
    estate.edit(&set, changed).await;
    force_delete(&estate, &set).await;
    estate.once().await;
    let dns = estate.pdns.dns_addr();
    assert!(query(dns, "a.everyway-one.example", "A").await.is_nxdomain());
    assert!(query(dns, "b.everyway-two.example", "CNAME").await.is_nxdomain());
    for _ in 0..10 {
        estate.assert_quiet().await;
    }
    for (name, address) in [("stays", "192.0.2.2"), ("theirs", "192.0.2.3"), ("hand", "192.0.2.4")]
    {
        let name = format!("{name}.everyway-one.example");
        assert_eq!(query(dns, &name, "A").await.answers, [address], "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_that_lost_its_object_is_reported_and_one_of_others_is_not() {
    let estate = Estate::new("orphan").await;
    estate.pdns.create_zone(&native("foreign.example.", json!([]))).await;
    estate.zone("keeps", "keeps.example").await;
    let zone = estate.zone("z", "orphan.example").await;
    estate.once().await;
    force_delete(&estate, &zone).await;
    estate.recorder.clear();
    let output = daemon::once(&estate.config).await;
    let summary: Value = serde_json::from_str(output.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(summary["orphans"], json!(["orphan.example."]), "{summary}");
    assert!(estate.writes_to(Server::PowerDns).is_empty());
    assert!(estate.pdns.has_zone("orphan.example").await);
    assert!(estate.pdns.has_zone("foreign.example").await);
}

/// Whatever its class has become: also where the zone's account is somebody's text.
#[tokio::test(flavor = "multi_thread")]
async fn a_set_in_a_zone_of_free_text_goes_although_its_class_is_anothers() {
    let estate = Estate::noted("ftext").await;
    let mut zone = native("ftext.example.", json!([]));
    zone["account"] = json!("billing: ACME");
    estate.pdns.create_zone(&zone).await;
    estate.zone("z", "ftext.example").await;
    let set = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    let kept = estate.a("kept", "z", &[("kept", "192.0.2.1")]).await;
    estate.once().await;
    let class = json!({"apiVersion": objects::API_VERSION, "kind": "DNSZoneClass", "metadata": {"name": estate.class}});
    objects::patch(&estate.client, &class, &json!({"spec": {"controllerName": "other"}})).await;
    estate.delete(&set).await;
    daemon::once(&estate.config).await;
    assert!(estate.pdns.rrset("ftext.example", "www.ftext.example.", "A").await.is_none());
    assert_ne!(estate.programmed(&kept).await.0, "True", "its class is not ours any more");
    assert!(estate.get(&set).await.is_none());
}

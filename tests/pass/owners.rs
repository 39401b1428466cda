//! Whose a zone and an object are: owner references, provenance, two controllers, what a zone says of its sets.

use serde_json::json;

use crate::support::apiserver::ApiServer;
use crate::support::daemon;
use crate::support::estate::{Estate, a_records};
use crate::support::objects;
use crate::support::query::query;
use crate::support::recorder::{Action, Request, Server};

async fn served(e: &Estate, name: &str) -> Vec<String> {
    query(e.pdns.dns_addr(), name, "A").await.answers
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repointed_set_keeps_its_new_owner_while_the_old_zone_goes() {
    let e = Estate::new("fseven").await;
    let old = e.zone("old", "fseven-old.example").await;
    e.zone("new", "fseven-new.example").await;
    let s = e.a("s", "old", &[("www", "192.0.2.1")]).await;
    e.once().await;
    e.edit(&s, json!({"dnsZoneRef": {"name": "new"}})).await;
    e.delete(&old).await;
    e.once().await;
    let owners = e.get(&s).await.unwrap()["metadata"]["ownerReferences"].clone();
    assert!(
        owners.as_array().is_some_and(|o| o.iter().any(|o| o["name"] == "new")),
        "no reference: {owners}"
    );
    e.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_daemons_of_different_controllers_leave_each_other_alone() {
    let e = Estate::new("feight").await;
    let other = format!("other-{}", e.class);
    let mut class = objects::class(&other, &["ns1.example.net."]);
    class["spec"]["controllerName"] = json!("other");
    objects::create(&e.client, &class).await;
    let zone =
        objects::create(&e.client, &objects::zone(&e.namespace, "z", "feight.example", &other))
            .await;
    e.a("www", "z", &[("www", "192.0.2.1")]).await;
    // The other daemon serves it.
    let mine = e.config;
    let theirs = daemon::config(
        ApiServer::shared().kubeconfig(),
        &e.pdns.url(),
        e.pdns.key(),
        "theirs",
        &e.namespace,
    )
    .with("controllerNames", json!(["other"]));
    daemon::once(&theirs).await;
    let before =
        objects::get(&e.client, &zone).await.unwrap()["metadata"]["resourceVersion"].clone();
    daemon::once(&mine).await;
    let after = objects::get(&e.client, &zone).await.unwrap();
    let flapped = before != after["metadata"]["resourceVersion"];
    daemon::once(&theirs).await;
    // Deletion: my daemon looks first.
    objects::delete(&e.client, &zone).await;
    daemon::once(&mine).await;
    let gone = objects::get(&e.client, &zone).await.is_none();
    daemon::once(&theirs).await;
    daemon::once(&theirs).await;
    let there = e.pdns.has_zone("feight.example").await;
    assert!(!flapped, "the status is theirs");
    assert!(!gone, "so is the end");
    assert!(!there && objects::get(&e.client, &zone).await.is_none(), "which they see to");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_set_that_goes_to_another_controllers_zone_is_not_called_programmed_any_more() {
    let e = Estate::noted("alien").await;
    let alien = format!("alien-{}", e.class);
    let mut class = objects::class(&alien, &["ns1.example.net."]);
    class["spec"]["controllerName"] = json!("another");
    objects::create(&e.client, &class).await;
    let zone = e.zone("z", "alien-ours.example").await;
    objects::create(
        &e.client,
        &objects::zone(&e.namespace, "alien", "alien-theirs.example", &alien),
    )
    .await;
    let set = e.a("s", "z", &[("www", "192.0.2.1")]).await;
    daemon::once(&e.config).await;
    assert_eq!(e.programmed(&set).await.0, "True");
    e.edit(&set, json!({"dnsZoneRef": {"name": "alien"}})).await;
    daemon::once(&e.config).await;
    assert_eq!(served(&e, "www.alien-ours.example").await, [""; 0], "it has left this zone");
    assert_eq!(e.programmed(&set).await.0, "False", "what was said of the other zone");
    assert_eq!(e.programmed(&zone).await.0, "True");
    // What the other controller says then is its own word.
    let theirs = json!([{"apiVersion": zone["apiVersion"], "kind": "DNSZone", "name": "alien",
        "uid": objects::get(&e.client, &objects::zone(&e.namespace, "alien", "", "")).await.unwrap()["metadata"]["uid"]}]);
    objects::patch(&e.client, &set, &json!({"metadata": {"ownerReferences": theirs}})).await;
    let accepted = json!([{"type": "Accepted", "status": "True", "reason": "Accepted", "message": "by another",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    let said =
        objects::patch_status(&e.client, &set, &json!({"status": {"conditions": accepted}})).await;
    daemon::once(&e.config).await;
    assert_eq!(e.get(&set).await.unwrap()["status"], said["status"], "it stays theirs");
}

#[tokio::test(flavor = "multi_thread")]
async fn provenance_takes_no_zone_from_the_one_that_the_mark_names() {
    let e = Estate::new("ffourteen").await;
    let victim = e.zone("victim", "ffourteen.example").await;
    let set = e.a("v", "victim", &[("www", "192.0.2.1")]).await;
    e.once().await;
    let mut evil = objects::zone(&e.namespace, "evil", "ffourteen.example", &e.class);
    evil["metadata"]["annotations"] = json!({"meta.datumapis.com/upstream-namespace": e.namespace, "meta.datumapis.com/upstream-name": "victim"});
    objects::create(&e.client, &evil).await;
    e.a("x", "evil", &[("www", "203.0.113.66")]).await;
    daemon::once(&e.config).await;
    let now = served(&e, "www.ffourteen.example").await;
    // And the victim's set, deleted now, never goes.
    e.delete(&set).await;
    daemon::once(&e.config).await;
    daemon::once(&e.config).await;
    assert_eq!(e.programmed(&victim).await.0, "True");
    assert!(e.get(&set).await.is_none(), "its own sets are let go as ever");
    assert_eq!(now, ["192.0.2.1"], "the live DNSZone that the mark names keeps it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_whose_own_ns_are_invalid_gets_those_of_its_class() {
    let e = Estate::new("fsixteen").await;
    e.zone("z", "fsixteen.example").await;
    e.set("ns", "z", "NS", json!([{"name": "@", "ttl": -1, "ns": {"content": "ns1.example.net"}}]))
        .await;
    e.a("www", "z", &[("www", "192.0.2.1")]).await;
    daemon::once(&e.config).await;
    let ns = e.pdns.contents("fsixteen.example", "fsixteen.example.", "NS").await;
    assert!(!ns.is_empty(), "a zone without NS");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_set_that_left_two_zones_that_go_refers_to_the_third_alone() {
    let e = Estate::new("fseventeen").await;
    let a = e.zone("a", "fseventeen-a.example").await;
    let b = e.zone("b", "fseventeen-b.example").await;
    e.zone("c", "fseventeen-c.example").await;
    let s = e.a("s", "a", &[("www", "192.0.2.1")]).await;
    e.once().await;
    // Repointed to b while PowerDNS does not answer for a: the reference to a stays for now.
    e.recorder.always(
        |r: &Request| {
            r.server == Server::PowerDns
                && r.method == "GET"
                && r.path.contains("zones/fseventeen-a")
        },
        Action::Answer(500, json!({"error": "x"})),
    );
    e.edit(&s, json!({"dnsZoneRef": {"name": "b"}})).await;
    daemon::once(&e.config).await;
    e.recorder.heal();
    e.edit(&s, json!({"dnsZoneRef": {"name": "c"}})).await;
    e.delete(&a).await;
    e.delete(&b).await;
    e.recorder.clear();
    daemon::once(&e.config).await;
    assert!(e.get(&a).await.is_none() && e.get(&b).await.is_none());
    let now = e.get(&s).await.unwrap();
    let owners = now["metadata"]["ownerReferences"].clone();
    let names: Vec<&str> =
        owners.as_array().unwrap().iter().map(|o| o["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["c"], "only dead references: the garbage collector takes the live set");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_record_count_counts_sets_that_are_still_there() {
    let e = Estate::new("gtwo").await;
    let zone = e.zone("z", "gtwo.example").await;
    let s = e.a("s", "z", &[("a", "192.0.2.1"), ("b", "192.0.2.1")]).await;
    e.once().await;
    objects::patch(&e.client, &s, &json!({"metadata": {"finalizers": ["example.org/theirs", "dns.networking.miloapis.com/finalize-dnsrecordset-downstream"]}})).await;
    e.delete(&s).await;
    e.once().await;
    let n = e.get(&zone).await.unwrap()["status"]["recordCount"].clone();
    objects::patch(&e.client, &s, &json!({"metadata": {"finalizers": null}})).await;
    assert_eq!(n, json!(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shadow_without_a_class_silences_nobody() {
    let e = Estate::new("gfive").await;
    e.zone("victim", "gfive.example").await;
    e.a("v", "victim", &[("www", "192.0.2.1")]).await;
    e.once().await;
    let mut evil = objects::zone(&e.namespace, "evil", "gfive.example", "no-such-class");
    evil["metadata"]["annotations"] = json!({"meta.datumapis.com/upstream-namespace": e.namespace, "meta.datumapis.com/upstream-name": "victim"});
    objects::create(&e.client, &evil).await;
    e.a("v2", "victim", &[("new", "192.0.2.2")]).await;
    daemon::once(&e.config).await;
    let ok = query(e.pdns.dns_addr(), "new.gfive.example", "A").await.answers;
    assert_eq!(ok, ["192.0.2.2"], "a zone of no class silences a live one");
}

/// Each daemon has a PowerDNS of its own; one finalizer is all that they share.
#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_zone_on_another_server_is_not_ours_to_call() {
    let e = Estate::new("elsewhere").await;
    let other = format!("other-{}", e.class);
    let mut class = objects::class(&other, &["ns1.example.net."]);
    class["spec"]["controllerName"] = json!("other");
    objects::create(&e.client, &class).await;
    let zone = objects::zone(&e.namespace, "z", "elsewhere.example", &other);
    let zone = objects::create(&e.client, &zone).await;
    let set = e.a("www", "z", &[("www", "192.0.2.1")]).await;
    let server = crate::support::pdns::Pdns::sqlite().await;
    let api = ApiServer::shared();
    let theirs =
        daemon::config(api.kubeconfig(), &server.url(), server.key(), "theirs", &e.namespace)
            .with("controllerNames", json!(["other"]));
    daemon::once(&theirs).await;
    assert!(server.has_zone("elsewhere.example").await);
    daemon::once(&e.config).await;
    // My daemon looks first.
    e.delete(&set).await;
    daemon::once(&e.config).await;
    let set_held = e.get(&set).await.is_some();
    e.delete(&zone).await;
    daemon::once(&e.config).await;
    let zone_held = e.get(&zone).await.is_some();
    daemon::once(&theirs).await;
    daemon::once(&theirs).await;
    let left = server.has_zone("elsewhere.example").await;
    assert!(
        !left,
        "the other daemon's zone is left over; held by me: set {set_held}, zone {zone_held}"
    );
    assert!(e.get(&zone).await.is_none() && e.get(&set).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_set_that_left_a_zone_without_an_object_leaves_nothing_there() {
    let e = Estate::noted("leftzone").await;
    let one = e.zone("one", "leftzone-one.example").await;
    e.zone("two", "leftzone-two.example").await;
    let set = e.a("s", "one", &[("www", "192.0.2.1")]).await;
    e.once().await;
    objects::patch(&e.client, &one, &json!({"metadata": {"finalizers": null}})).await;
    e.delete(&one).await;
    e.edit(&set, json!({"dnsZoneRef": {"name": "two"}})).await;
    daemon::once(&e.config).await;
    let left = query(e.pdns.dns_addr(), "www.leftzone-one.example", "A").await.answers;
    e.delete(&set).await;
    daemon::once(&e.config).await;
    let gone = query(e.pdns.dns_addr(), "www.leftzone-one.example", "A").await.answers;
    assert!(left.is_empty() && gone.is_empty(), "{left:?}, after its deletion {gone:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_that_goes_in_an_outage_names_the_sets_that_block_it() {
    let e = Estate::new("blocking").await;
    let zone = e.zone("z", "blocking.example").await;
    e.a("www", "z", &[("www", "192.0.2.1")]).await;
    e.once().await;
    e.pdns.stop().await;
    e.delete(&zone).await;
    e.once_failing().await;
    let message = e.programmed(&zone).await.2;
    assert!(message.contains(&format!("{}/www", e.namespace)), "{message}");
}

/// A zone of a namespace that is not read any more is foreign: neither taken nor deleted.
#[tokio::test(flavor = "multi_thread")]
async fn a_zone_of_a_namespace_that_is_not_read_any_more_is_not_taken() {
    let estate = Estate::noted("narrow").await;
    let second = ApiServer::shared().namespace("narrow2").await;
    let estate = {
        let both = json!([estate.namespace.clone(), second.clone()]);
        estate.reconfigured("namespaces", both)
    };
    let theirs = objects::zone(&second, "z", "narrow.example", &estate.class);
    objects::create(&estate.client, &theirs).await;
    let set = objects::record_set(&second, "www", "z", "A", &a_records(&[("www", "192.0.2.1")]));
    objects::create(&estate.client, &set).await;
    estate.once().await;
    let account = estate.pdns.get_zone("narrow.example").await["account"].clone();
    let ours = estate.zone("mine", "narrow.example").await;
    daemon::once(&estate.config).await;
    assert_eq!(estate.programmed(&ours).await.1, "DNSZoneInUse");
    let only = json!([estate.namespace.clone()]);
    let estate = estate.reconfigured("namespaces", only);
    daemon::once(&estate.config).await;
    assert_eq!(estate.pdns.get_zone("narrow.example").await["account"], account);
}

//! Nothing stays behind: deletes of every kind, also those that happened while nobody was looking.

use serde_json::json;

use crate::support::estate::Estate;
use crate::support::objects;
use crate::support::query::query;
use crate::support::recorder::{Action, Request, Server};

/// Takes all finalizers off and deletes: what an etcd restore or an impatient person leaves.
async fn force_delete(estate: &Estate, object: &serde_json::Value) {
    objects::patch(&estate.client, object, &json!({"metadata": {"finalizers": null}})).await;
    estate.delete(object).await;
    assert!(estate.get(object).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_vanished_while_the_daemon_was_down_leaves_nothing() {
    let estate = Estate::new("vanished").await;
    estate.zone("z", "vanished.example").await;
    let gone = estate.a("gone", "z", &[("gone", "192.0.2.1")]).await;
    estate.a("stays", "z", &[("stays", "192.0.2.2")]).await;
    estate.once().await;
    force_delete(&estate, &gone).await;
    let summary = estate.once().await;
    let dns = estate.pdns.dns_addr();
    let answer = query(dns, "gone.vanished.example", "A").await;
    if estate.pdns.keeps_comments() {
        assert!(answer.is_nxdomain());
    } else {
        assert_eq!(answer.answers, ["192.0.2.1"], "nobody knows whose it was");
        assert_eq!(summary["leftAlone"], json!(1), "{summary}");
    }
    assert_eq!(query(dns, "stays.vanished.example", "A").await.answers, ["192.0.2.2"]);
    estate.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vanished_objects_rrset_that_was_edited_by_hand_is_reported_and_stays() {
    let estate = Estate::new("handmade").await;
    estate.zone("z", "handmade.example").await;
    let gone = estate.a("gone", "z", &[("gone", "192.0.2.1")]).await;
    estate.once().await;
    force_delete(&estate, &gone).await;
    let edit = json!({"rrsets": [{"name": "gone.handmade.example.", "type": "A", "ttl": 60,
        "changetype": "REPLACE", "records": [{"content": "192.0.2.66", "disabled": false}]}]});
    assert_eq!(estate.pdns.patch("handmade.example", &edit).await.0, 204);
    let summary = estate.once().await;
    assert_eq!(summary["leftAlone"], json!(1), "{summary}");
    let left = estate.pdns.contents("handmade.example", "gone.handmade.example.", "A").await;
    assert_eq!(left, ["192.0.2.66"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alias_is_deleted_and_a_cname_takes_its_name() {
    let estate = Estate::new("alias").await;
    estate.zone("z", "alias.example").await;
    let alias = |name: &str| json!([{"name": name, "alias": {"content": "target.example.net."}}]);
    let www = estate.set("www-alias", "z", "ALIAS", alias("www")).await;
    let apex = estate.set("apex-alias", "z", "ALIAS", alias("@")).await;
    estate.once().await;
    assert_eq!(
        estate.pdns.contents("alias.example", "alias.example.", "ALIAS").await,
        ["target.example.net."]
    );
    estate.delete(&www).await;
    estate.delete(&apex).await;
    let cname = json!([{"name": "www", "cname": {"content": "other.example.net."}}]);
    let cname = estate.set("www-cname", "z", "CNAME", cname).await;
    estate.once().await;
    assert_eq!(estate.programmed(&cname).await.0, "True");
    for name in ["alias.example.", "www.alias.example."] {
        assert!(estate.pdns.rrset("alias.example", name, "ALIAS").await.is_none(), "{name}");
    }
    assert!(estate.get(&www).await.is_none() && estate.get(&apex).await.is_none());
    estate.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_takes_its_twenty_record_sets_with_it_in_one_pass() {
    let estate = Estate::new("teardown").await;
    let zone = estate.zone("z", "teardown.example").await;
    let mut sets = Vec::new();
    for n in 0..20 {
        sets.push(estate.a(&format!("s{n}"), "z", &[(&format!("n{n}"), "192.0.2.1")]).await);
    }
    estate.once().await;
    estate.delete(&zone).await;
    estate.recorder.clear();
    estate.once().await;
    assert!(!estate.pdns.has_zone("teardown.example").await);
    assert!(estate.get(&zone).await.is_none());
    for set in &sets {
        assert!(estate.get(set).await.is_none(), "{}", set["metadata"]["name"]);
    }
    let writes = estate.writes_to(Server::PowerDns);
    let methods: Vec<&str> = writes.iter().map(|w| w.method.as_str()).collect();
    if estate.pdns.comments_outlive_zones() {
        assert_eq!(methods, ["PATCH", "DELETE"], "comments would outlive the zone: {writes:#?}");
        let cleared = writes[0].body.as_ref().unwrap()["rrsets"].as_array().unwrap();
        assert_eq!(cleared.len(), sets.len());
        assert!(cleared.iter().all(|c| c["comments"] == json!([]) && c.get("records").is_none()));
    } else {
        assert_eq!(methods, ["DELETE"], "one DELETE of the zone, no PATCH: {writes:#?}");
    }
    let released = |kind: &str| {
        let mut writes = estate.writes_to(Server::Kubernetes);
        writes.retain(|r| r.method == "PATCH" && r.path.contains(kind));
        writes
    };
    let last_set = released("dnsrecordsets").iter().map(|r| r.seq).max().unwrap();
    let zone_released = released("dnszones").iter().map(|r| r.seq).max().unwrap();
    assert!(last_set < zone_released, "record sets are let go before their zone");
}

#[tokio::test(flavor = "multi_thread")]
async fn class_first_then_record_set_and_zone_and_nothing_stays_terminating() {
    let estate = Estate::new("classless").await;
    let zone = estate.zone("z", "classless.example").await;
    let set = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    estate.delete(&objects::class(&estate.class, &[])).await;
    estate.once_failing().await;
    assert_eq!(
        estate.pdns.contents("classless.example", "www.classless.example.", "A").await,
        ["192.0.2.1"],
        "a class that is gone stops writes, it deletes nothing"
    );
    let (status, _, message) = estate.programmed(&set).await;
    assert_eq!(status, "False", "{message}");
    estate.delete(&set).await;
    let summary = estate.once_failing().await;
    assert!(estate.get(&set).await.is_none());
    assert!(summary["held"][0].as_str().unwrap().contains("not found"), "{summary}");
    estate.delete(&zone).await;
    estate.once().await;
    assert!(estate.get(&zone).await.is_none());
    assert!(!estate.pdns.has_zone("classless.example").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_set_whose_zone_never_existed_is_let_go() {
    let estate = Estate::new("stranded").await;
    let set = estate.a("www", "nowhere", &[("www", "192.0.2.1")]).await;
    let finalizer = "dns.networking.miloapis.com/finalize-dnsrecordset-downstream";
    objects::patch(&estate.client, &set, &json!({"metadata": {"finalizers": [finalizer]}})).await;
    estate.once_failing().await;
    let listed = estate.get(&set).await.unwrap();
    let accepted = objects::condition(&listed, "Accepted").unwrap();
    assert_eq!(accepted.2, "waiting for DNSZone \"nowhere\"");
    estate.delete(&set).await;
    estate.once().await;
    assert!(estate.get(&set).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_deleted_behind_our_back_holds_no_finalizer() {
    let estate = Estate::new("behind").await;
    let zone = estate.zone("z", "behind.example").await;
    let set = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    estate.pdns.delete_zone("behind.example").await;
    estate.delete(&set).await;
    estate.delete(&zone).await;
    estate.once().await;
    assert!(estate.get(&set).await.is_none() && estate.get(&zone).await.is_none());
    assert!(!estate.pdns.has_zone("behind.example").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_waits_for_the_proof() {
    let estate = Estate::new("proof").await;
    let zone = estate.zone("z", "proof.example").await;
    let set = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;

    let patch = |r: &Request| r.server == Server::PowerDns && r.method == "PATCH";
    estate.recorder.always(patch, Action::Answer(500, json!({"error": "Internal Server Error"})));
    estate.delete(&set).await;
    estate.once_failing().await;
    assert!(estate.get(&set).await.is_some(), "the delete was not acknowledged");
    let message = estate.programmed(&set).await.2;
    assert!(message.contains("www"), "{message}");
    estate.recorder.heal();
    estate.once().await;
    assert!(estate.get(&set).await.is_none());

    let delete = |r: &Request| r.server == Server::PowerDns && r.method == "DELETE";
    estate.recorder.always(delete, Action::Answer(500, json!({"error": "Internal Server Error"})));
    estate.delete(&zone).await;
    estate.once_failing().await;
    assert!(estate.get(&zone).await.is_some(), "the zone's delete was not acknowledged");
    estate.recorder.heal();
    estate.once().await;
    assert!(estate.get(&zone).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_waits_for_a_record_set_that_cannot_be_deleted_and_says_so() {
    let estate = Estate::new("blocked").await;
    let zone = estate.zone("z", "blocked.example").await;
    let set = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    let delete = |r: &Request| r.server == Server::Kubernetes && r.method == "DELETE";
    estate.recorder.always(delete, Action::Answer(403, json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "forbidden by test",
        "reason": "Forbidden", "code": 403,
    })));
    estate.delete(&zone).await;
    estate.once_failing().await;
    assert!(estate.pdns.has_zone("blocked.example").await, "the zone's DELETE was postponed");
    assert!(estate.get(&set).await.is_some());
    let message = estate.programmed(&zone).await.2;
    assert!(message.contains("www"), "{message}");
    estate.recorder.heal();
    estate.once().await;
    assert!(estate.get(&zone).await.is_none() && estate.get(&set).await.is_none());
}

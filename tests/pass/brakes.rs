//! The brakes: what deletes more than people mean stops before the first write, says so, and is let through by
//! the digest of exactly what it is, once.

use serde_json::{Value, json};

use crate::support::daemon;
use crate::support::estate::{Estate, a_records};
use crate::support::objects;
use crate::support::query::query;
use crate::support::recorder::{Action, Request, Server};

/// Takes finalizers off and deletes, so that what the object wrote has lost it.
async fn vanish(estate: &Estate, objects_gone: &[Value]) {
    for object in objects_gone {
        objects::patch(&estate.client, object, &json!({"metadata": {"finalizers": null}})).await;
        estate.delete(object).await;
    }
}

async fn sets(estate: &Estate, zone: &str, count: usize) -> Vec<Value> {
    let mut out = Vec::new();
    for n in 0..count {
        let name = format!("{zone}-n{n}");
        out.push(estate.a(&name, zone, &[(&format!("n{n}"), "192.0.2.1")]).await);
    }
    out
}

/// The digest at the end of a zone's `DeletionHeld`.
async fn digest(estate: &Estate, zone: &Value) -> String {
    let (status, reason, message) = estate.programmed(zone).await;
    assert_eq!((status.as_str(), reason.as_str()), ("False", "DeletionHeld"), "{message}");
    message.rsplit_once("digest ").expect("the message ends in a digest").1.to_owned()
}

async fn release(estate: &Estate, digest: &str) -> Option<i32> {
    daemon::command(&estate.config, &["once", "--release", digest]).await.code
}

#[tokio::test(flavor = "multi_thread")]
async fn many_vanished_objects_are_held_and_released_by_digest_once() {
    let estate = Estate::new("brake").await;
    let zone = estate.zone("z", "brake.example").await;
    let sets = sets(&estate, "z", 12).await;
    estate.once().await;
    vanish(&estate, &sets[..6]).await;
    estate.recorder.clear();
    if !estate.pdns.keeps_comments() {
        let summary = estate.once().await;
        assert_eq!(summary["leftAlone"], json!(6), "nobody knows whose they were: {summary}");
        assert!(estate.writes_to(Server::PowerDns).is_empty());
        return;
    }
    estate.once_failing().await;
    assert!(estate.writes_to(Server::PowerDns).is_empty(), "six of fourteen are over 30 %");
    let held = digest(&estate, &zone).await;
    let planned = daemon::plan(&estate.config).await;
    assert!(planned.stdout.contains(&format!("digest {held}")), "{}", planned.stdout);

    // Another digest lets nothing through, nor does an old one once more is held.
    estate.recorder.clear();
    let wrong = daemon::command(&estate.config, &["once", "--release", "000000000000"]).await;
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.stderr.contains(&held), "the refusal names the current ones: {}", wrong.stderr);
    assert!(estate.recorder.writes().is_empty());
    vanish(&estate, &sets[6..7]).await;
    assert_eq!(release(&estate, &held).await, Some(1));
    estate.once_failing().await;
    assert!(estate.pdns.rrset("brake.example", "n0.brake.example.", "A").await.is_some());

    let now = digest(&estate, &zone).await;
    assert_ne!(now, held);
    assert_eq!(release(&estate, &now).await, Some(0));
    assert!(estate.pdns.rrset("brake.example", "n6.brake.example.", "A").await.is_none());
    assert!(estate.pdns.rrset("brake.example", "n7.brake.example.", "A").await.is_some());
    assert_eq!(estate.programmed(&zone).await.0, "True");
    estate.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn most_of_a_large_zone_is_not_deleted_at_once_unless_the_zone_goes() {
    let estate = Estate::new("explicit").await;
    let zone = estate.zone("z", "explicit.example").await;
    let sets = sets(&estate, "z", 20).await;
    estate.once().await;
    for set in &sets[..12] {
        estate.delete(set).await;
    }
    estate.recorder.clear();
    estate.once_failing().await;
    assert!(estate.writes_to(Server::PowerDns).is_empty(), "12 of 22 are over 50 %");
    assert!(estate.get(&sets[0]).await.is_some(), "what is held holds its object");
    digest(&estate, &zone).await;
    estate.delete(&zone).await;
    estate.once().await;
    assert!(
        !estate.pdns.has_zone("explicit.example").await && estate.get(&sets[0]).await.is_none()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn zones_that_vanish_from_powerdns_together_are_neither_made_anew_nor_proof_of_anything() {
    let estate = Estate::new("wiped").await;
    let mut zones = Vec::new();
    for n in 0..4 {
        zones.push(estate.zone(&format!("z{n}"), &format!("z{n}.wiped.example")).await);
    }
    let set = estate.a("s", "z0", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    for n in 0..3 {
        estate.pdns.delete_zone(&format!("z{n}.wiped.example")).await;
    }
    estate.delete(&set).await;
    estate.recorder.clear();
    estate.once_failing().await;
    assert!(estate.writes_to(Server::PowerDns).is_empty(), "three of four are missing");
    assert!(estate.get(&set).await.is_some(), "absence proves nothing now");
    let held = digest(&estate, &zones[0]).await;
    assert_eq!(release(&estate, &held).await, Some(0));
    assert!(estate.pdns.has_zone("z2.wiped.example").await);
    assert!(estate.get(&set).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn with_deletes_never_nothing_is_deleted_and_the_rest_goes_on() {
    let estate = Estate::new("never").await;
    let zone = estate.zone("z", "never.example").await;
    let old = estate.zone("old", "old.never.test").await;
    let set = estate.a("s", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    let estate = estate.reconfigured("policy.deletes", json!("never"));
    estate.delete(&set).await;
    estate.delete(&old).await;
    estate.a("new", "z", &[("new", "192.0.2.2")]).await;
    estate.once_failing().await;
    assert!(estate.pdns.has_zone("old.never.test").await && estate.get(&old).await.is_some());
    assert!(estate.pdns.rrset("never.example", "www.never.example.", "A").await.is_some());
    assert!(estate.pdns.rrset("never.example", "new.never.example.", "A").await.is_some());
    assert_eq!(estate.programmed(&zone).await.1, "DeletionHeld");
}

#[tokio::test(flavor = "multi_thread")]
async fn zones_that_could_not_be_created_are_not_missing() {
    let estate = Estate::new("unmade").await;
    for n in 0..3 {
        estate.zone(&format!("z{n}"), &format!("z{n}.unmade.example")).await;
    }
    let post = |r: &Request| r.server == Server::PowerDns && r.method == "POST";
    let error = json!({"error": "Internal Server Error"});
    estate.recorder.always(post, Action::Answer(500, error));
    estate.once_failing().await;
    estate.recorder.heal();
    estate.once().await;
    assert!(estate.pdns.has_zone("z2.unmade.example").await);
}

/// The end of a DNSZone that never held the domain takes no brake off the zone of the one that does.
#[tokio::test(flavor = "multi_thread")]
async fn a_terminating_loser_takes_no_brake_off_the_holders_zone() {
    let estate = Estate::new("tloser").await;
    estate.zone("holder", "tloser.example").await;
    let mut sets = Vec::new();
    for n in 0..20 {
        sets.push(estate.a(&format!("n{n}"), "holder", &[(&format!("n{n}"), "192.0.2.1")]).await);
    }
    estate.once().await;
    let loser = estate.zone("loser", "tloser.example").await;
    objects::patch(
        &estate.client,
        &loser,
        &json!({"metadata": {"finalizers": ["test.example/hold"]}}),
    )
    .await;
    estate.delete(&loser).await;
    for set in &sets[..15] {
        estate.delete(set).await;
    }
    daemon::once(&estate.config).await;
    let there = query(estate.pdns.dns_addr(), "n0.tloser.example", "A").await.answers;
    objects::patch(&estate.client, &loser, &json!({"metadata": {"finalizers": null}})).await;
    assert_eq!(there, ["192.0.2.1"], "15 of 22 are over 50 %");
}

/// A brake that holds a zone's renames is not let off by the new names that the same pass wrote.
#[tokio::test(flavor = "multi_thread")]
async fn a_rename_of_a_whole_zone_stays_held() {
    let estate = Estate::new("mass").await;
    let zone = estate.zone("z", "mass.example").await;
    let names = |prefix: &str| (0..40).map(|n| format!("{prefix}{n}")).collect::<Vec<_>>();
    let records = |names: &[String]| {
        a_records(&names.iter().map(|n| (n.as_str(), "192.0.2.1")).collect::<Vec<_>>())
    };
    let set = estate.set("all", "z", "A", records(&names("n"))).await;
    estate.once().await;
    estate.edit(&set, json!({"records": records(&names("m"))})).await;
    for _ in 0..2 {
        estate.once_failing().await;
        let answer = query(estate.pdns.dns_addr(), "n7.mass.example", "A").await;
        assert_eq!(answer.answers, ["192.0.2.1"], "40 of 42 are over 50 %");
    }
    let held = digest(&estate, &zone).await;
    assert_eq!(release(&estate, &held).await, Some(0));
    let dns = estate.pdns.dns_addr();
    assert!(query(dns, "n7.mass.example", "A").await.is_nxdomain());
    assert_eq!(query(dns, "m7.mass.example", "A").await.answers, ["192.0.2.1"]);
    estate.assert_quiet().await;
}

/// What a brake holds is in the daemon's metrics, for as long as it does.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_is_counted_while_it_lasts() {
    let estate = Estate::noted("counted").await;
    estate.zone("z", "counted.example").await;
    let sets = sets(&estate, "z", 12).await;
    let mut running = daemon::run(&estate.config).await;
    running.nudge("25s").await;
    let none = "dns_syncd_deletion_holds 0";
    assert!(running.metrics().await.lines().any(|line| line == none));
    vanish(&estate, &sets[..6]).await;
    running.nudge("25s").await;
    let metrics = running.metrics().await;
    assert!(metrics.lines().any(|line| line == "dns_syncd_deletion_holds 1"), "{metrics}");
    for n in 0..6 {
        let name = format!("n{n}");
        estate.a(&format!("z-{name}"), "z", &[(&name, "192.0.2.1")]).await;
    }
    running.nudge("25s").await;
    assert!(running.metrics().await.lines().any(|line| line == none), "they are back");
    running.terminate().await;
}

/// What the brakes count is what is meant, not what of it could be proved in this pass.
#[tokio::test(flavor = "multi_thread")]
async fn deletes_that_are_proved_bit_by_bit_are_counted_together() {
    let estate = Estate::new("bits").await.reconfigured("brakes.implicitTotal", json!(3));
    if estate.has_no_notes("what vanished") {
        return;
    }
    let zone = estate.zone("z", "bits.example").await;
    let sets = sets(&estate, "z", 6).await;
    estate.once().await;
    vanish(&estate, &sets[..4]).await;
    let asked = |r: &Request| {
        r.method == "GET" && ["z-n2", "z-n3"].iter().any(|name| r.path.ends_with(name))
    };
    estate.recorder.always(asked, Action::Answer(500, json!({"error": "by test"})));
    estate.recorder.clear();
    estate.once_failing().await;
    assert!(estate.writes_to(Server::PowerDns).is_empty(), "two are proved, four are meant");
    let held = digest(&estate, &zone).await;
    estate.recorder.heal();
    assert_eq!(release(&estate, &held).await, Some(0));
    assert!(estate.pdns.rrset("bits.example", "n3.bits.example.", "A").await.is_none());
}

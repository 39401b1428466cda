//! Events: one for each transition, none for what stays.

use serde_json::{Value, json};

use crate::support::estate::{Estate, a_records, forbidden, rr};
use crate::support::recorder::{Action, Request, Server};
use crate::support::{daemon, objects};

/// Reason, kind and name of each event that was written since the recorder was cleared, sorted.
fn told(estate: &Estate) -> Vec<String> {
    let events = estate.writes_to(Server::Kubernetes).into_iter();
    let events = events.filter(|r| r.path.contains("/apis/events.k8s.io/v1/"));
    let mut out: Vec<String> = events
        .map(|r| {
            assert_eq!(r.status, Some(201), "{r:#?}");
            let body: Value = r.body.unwrap();
            let about = &body["regarding"];
            let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", text(&body["reason"]), text(&about["kind"]), text(&about["name"]))
        })
        .collect();
    out.sort();
    out
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_passes_tell_each_transition_once() {
    let estate = Estate::new("events").await;
    let zone = estate.zone("z", "events.example").await;
    let good = estate.a("good", "z", &[("good", "192.0.2.1")]).await;
    let rival = estate.a("rival", "z", &[("good", "192.0.2.2")]).await;
    for _ in 0..5 {
        estate.once_failing().await;
    }
    let expected = [
        "NotOwner DNSRecordSet rival",
        "Programmed DNSRecordSet good",
        "Programmed DNSZone z",
        "ZoneCreated DNSZone z",
    ];
    assert_eq!(told(&estate), expected);

    estate.recorder.clear();
    let cname = json!([{"name": "taken", "cname": {"content": "x.example.net"}}]);
    estate.set("late", "z", "CNAME", cname).await;
    let taken = json!({"rrsets": [rr("taken.events.example.", "192.0.2.4")]});
    assert_eq!(estate.pdns.patch("events.example", &taken).await.0, 204);
    estate.delete(&good).await;
    for _ in 0..5 {
        estate.once_failing().await;
    }
    assert_eq!(told(&estate), ["Conflict DNSRecordSet late", "Programmed DNSRecordSet rival"]);
    assert_eq!(estate.programmed(&rival).await.0, "True");
    assert_eq!(estate.programmed(&zone).await.0, "True");
}

/// Three passes, of which none need leave everything served; what they told.
async fn told_by_passes(estate: &Estate) -> Vec<String> {
    estate.recorder.clear();
    for _ in 0..3 {
        daemon::once(&estate.config).await;
    }
    told(estate)
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_loss_and_a_zone_made_again_are_told_once() {
    let estate = Estate::noted("transitions").await;
    estate.zone("z", "transitions.example").await;
    let elder = estate.a("elder", "z", &[("elder", "192.0.2.1")]).await;
    // The API server keeps whole seconds, and the oldest holds.
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let set = estate.a("set", "z", &[("www", "192.0.2.2")]).await;
    estate.once().await;

    let refusal = json!({"error": "RRset www.transitions.example. IN A: refused by test"});
    let patches = |r: &Request| r.server == Server::PowerDns && r.method == "PATCH";
    estate.recorder.always(patches, Action::Answer(422, refusal));
    estate.edit(&set, json!({"records": a_records(&[("www", "192.0.2.3")])})).await;
    assert_eq!(told_by_passes(&estate).await, ["PDNSError DNSRecordSet set"]);
    estate.recorder.heal();
    assert_eq!(told_by_passes(&estate).await, ["Programmed DNSRecordSet set"]);

    let both = a_records(&[("elder", "192.0.2.1"), ("www", "192.0.2.4")]);
    estate.edit(&elder, json!({ "records": both })).await;
    assert_eq!(told_by_passes(&estate).await, ["NotOwner DNSRecordSet set"]);

    assert_eq!(estate.pdns.delete_zone("transitions.example").await.0, 204);
    assert_eq!(told_by_passes(&estate).await, ["ZoneRecreated DNSZone z"]);
}

/// No object is left to tell it of but the Lease, which stands for the daemon whichever process it is.
#[tokio::test(flavor = "multi_thread")]
async fn an_orphan_is_told_once_also_after_a_restart() {
    let estate = Estate::new("orphanevent").await;
    let terms = json!({"enabled": false, "leaseNamespace": estate.namespace});
    let estate = estate.reconfigured("leaderElection", terms);
    let zone = estate.zone("z", "orphanevent.example").await;
    estate.once().await;
    objects::patch(&estate.client, &zone, &json!({"metadata": {"finalizers": null}})).await;
    estate.delete(&zone).await;
    for first in [true, false] {
        estate.recorder.clear();
        // What an API server in trouble did not take is told in the next pass.
        let fails =
            Action::Answer(500, json!({"kind": "Status", "status": "Failure", "code": 500}));
        estate.recorder.next(|r| r.method == "POST" && r.path.contains("/events"), fails);
        let daemon = daemon::run(&estate.config).await;
        for _ in 0..5 {
            assert_eq!(daemon.nudge("60s").await.0, 200);
        }
        let written = estate.writes_to(Server::Kubernetes);
        if !first {
            assert!(written.is_empty(), "{written:#?}");
            continue;
        }
        let [failed, event] = written.as_slice() else { panic!("{written:#?}") };
        assert_eq!(failed.status, Some(500));
        let body = event.body.as_ref().unwrap();
        assert_eq!((event.status, &body["reason"]), (Some(201), &json!("OrphanFound")));
        assert!(body["note"].as_str().unwrap().contains("orphanevent.example."), "{body}");
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                           "name": "dns-syncd", "namespace": estate.namespace});
        assert_eq!(body["regarding"], lease);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_brake_that_holds_is_told_once_and_so_is_another() {
    let estate = Estate::noted("heldevent").await;
    let zone = estate.zone("z", "heldevent.example").await;
    let mut sets = Vec::new();
    for n in 0..12 {
        let (name, owner) = (format!("s{n}"), format!("n{n}"));
        sets.push(estate.a(&name, "z", &[(&owner, "192.0.2.1")]).await);
    }
    estate.once().await;
    for (gone, told_now) in [(0..6, 1), (6..7, 1), (7..7, 0)] {
        for set in &sets[gone] {
            objects::patch(&estate.client, set, &json!({"metadata": {"finalizers": null}})).await;
            estate.delete(set).await;
        }
        estate.recorder.clear();
        estate.once_failing().await;
        estate.once_failing().await;
        assert_eq!(told(&estate), vec!["DeletionHeld DNSZone z"; told_now]);
    }
    assert_eq!(estate.programmed(&zone).await.1, "DeletionHeld");
}

/// A status that nobody may write makes no event in every pass.
#[tokio::test(flavor = "multi_thread")]
async fn a_transition_whose_status_cannot_be_written_is_told_once() {
    let estate = Estate::new("flood").await;
    estate.zone("z", "flood.example").await;
    estate.recorder.always(
        |r| r.server == Server::Kubernetes && r.path.contains("/dnszones/z/status") && r.is_write(),
        forbidden(),
    );
    for _ in 0..4 {
        estate.once_failing().await;
    }
    let of_zone = |told: Vec<String>| told.iter().filter(|t| *t == "Programmed DNSZone z").count();
    assert_eq!(of_zone(told(&estate)), 0, "nothing has become of it yet");
    estate.recorder.heal();
    estate.once().await;
    assert_eq!(of_zone(told(&estate)), 1);
}

/// What goes with a zone although no note claims it is told.
#[tokio::test(flavor = "multi_thread")]
async fn the_event_of_a_deleted_zone_lists_what_nobody_noted() {
    let estate = Estate::noted("list").await;
    let zone = estate.zone("z", "list.example").await;
    estate.once().await;
    let hand = json!({"rrsets": [rr("hand.list.example.", "192.0.2.9")]});
    assert_eq!(estate.pdns.patch("list.example", &hand).await.0, 204);
    estate.delete(&zone).await;
    estate.recorder.clear();
    estate.once().await;
    let told: Vec<String> = estate
        .recorder
        .writes()
        .into_iter()
        .filter(|r| r.path.contains("/events"))
        .map(|r| r.body.unwrap()["note"].to_string())
        .collect();
    assert!(told.iter().any(|note| note.contains("hand.list.example")), "{told:?}");
}

/// Without a DNSZone and without notes nobody knows where a set was written: it goes, and that is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_set_that_is_let_go_without_a_home_is_told() {
    let estate = Estate::new("homeless").await;
    let zone = estate.zone("z", "homeless.example").await;
    let set = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    // The server loses the zone and the cluster its DNSZone.
    estate.pdns.delete_zone("homeless.example").await;
    objects::patch(&estate.client, &zone, &json!({"metadata": {"finalizers": null}})).await;
    estate.delete(&zone).await;
    estate.delete(&set).await;
    estate.recorder.always(
        |r: &Request| r.method == "PATCH" && r.path.contains("dnsrecordsets/www"),
        forbidden(),
    );
    estate.recorder.clear();
    estate.once_failing().await;
    assert!(told(&estate).is_empty(), "it is not let go yet");
    estate.recorder.heal();
    estate.recorder.clear();
    estate.once().await;
    assert!(estate.get(&set).await.is_none());
    assert_eq!(told(&estate), ["ReleasedWithoutZone DNSRecordSet www"]);
}

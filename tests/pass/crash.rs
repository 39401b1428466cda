//! Any prefix of a pass may be lost: the process is killed after request 1, 2, … n, and one more pass
//! makes it right each time.

use serde_json::json;

use crate::support::daemon;
use crate::support::estate::{Estate, a_records};
use crate::support::objects;
use crate::support::query::query;

/// One round: an estate that is to be changed in every way at once, a pass killed after `n` requests, then a whole
/// one. False if the pass came to its end before.
async fn killed_after(n: usize) -> bool {
    let estate = Estate::new("crash").await;
    let old = estate.zone("old", "old.example").await;
    estate.zone("z", "crash.example").await;
    let goes = estate.a("goes", "z", &[("goes", "192.0.2.1")]).await;
    let renamed = estate.a("renamed", "z", &[("before", "192.0.2.2")]).await;
    let retyped = estate.a("retyped", "z", &[("typed", "192.0.2.3")]).await;
    let with_zone = estate.a("with-zone", "old", &[("www", "192.0.2.4")]).await;
    let vanishes = estate.a("vanishes", "z", &[("vanished", "192.0.2.5")]).await;
    estate.once().await;
    estate.delete(&goes).await;
    estate.edit(&renamed, json!({"records": a_records(&[("after", "192.0.2.2")])})).await;
    let cname = json!([{"name": "typed", "cname": {"content": "x.example."}}]);
    estate.delete(&old).await;
    // Of these nothing but a note could tell what they leave.
    let noted = estate.pdns.keeps_comments();
    if noted {
        estate.edit(&retyped, json!({"recordType": "CNAME", "records": cname})).await;
        objects::patch(&estate.client, &vanishes, &json!({"metadata": {"finalizers": null}})).await;
        estate.delete(&vanishes).await;
    }
    estate.zone("fresh", "fresh.example").await;
    let fresh = estate.a("fresh", "fresh", &[("www", "192.0.2.6")]).await;

    estate.recorder.clear();
    let ended = daemon::once_killed_after(&estate.config, &estate.recorder, n, |_| true).await;
    if ended.is_none() {
        assert_eq!(estate.recorder.requests().len(), n, "killed after request {n}");
    }
    estate.once().await;

    let dns = estate.pdns.dns_addr();
    for (name, gone) in [("goes", true), ("before", true), ("vanished", noted)] {
        let answer = query(dns, &format!("{name}.crash.example"), "A").await;
        assert_eq!(answer.is_nxdomain(), gone, "{n}: {name}");
    }
    assert_eq!(query(dns, "after.crash.example", "A").await.answers, ["192.0.2.2"], "{n}");
    for (rtype, there) in [("CNAME", noted), ("A", !noted)] {
        let stored = estate.pdns.rrset("crash.example", "typed.crash.example.", rtype).await;
        assert_eq!(stored.is_some(), there, "{n}: {rtype}");
    }
    assert!(!estate.pdns.has_zone("old.example").await, "{n}");
    assert_eq!(query(dns, "www.fresh.example", "A").await.answers, ["192.0.2.6"], "{n}");
    for gone in [&goes, &old, &with_zone] {
        assert!(estate.get(gone).await.is_none(), "{n}: {}", gone["metadata"]["name"]);
    }
    for live in [&renamed, &retyped, &fresh] {
        assert_eq!(estate.programmed(live).await.0, "True", "{n}: {}", live["metadata"]["name"]);
    }
    estate.assert_quiet().await;
    ended.is_none()
}

/// How many rounds run side by side; each has its own world.
const ABREAST: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_killed_after_any_request_is_made_good_by_the_next() {
    let mut killed = 0;
    for first in (1..).step_by(ABREAST) {
        let rounds = (first..first + ABREAST).map(killed_after);
        let outcomes = futures::future::join_all(rounds).await;
        killed += outcomes.iter().filter(|killed| **killed).count();
        println!("killed after each of {killed} requests");
        if outcomes.contains(&false) {
            break;
        }
    }
    assert!(killed > 20, "the pass under test makes many requests, not {killed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mark_from_before_a_restart_must_last_like_any_other() {
    let estate = Estate::new("remark").await;
    let hand = json!({"name": "hand.remark.example.", "type": "A", "ttl": 300,
        "records": [{"content": "192.0.2.9", "disabled": false}]});
    estate
        .pdns
        .create_zone(&json!({"name": "remark.example.", "kind": "Native", "rrsets": [hand],
            "nameservers": ["old.example.net."]}))
        .await;
    estate.zone("z", "remark.example").await;
    estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    let marked = |r: &crate::support::recorder::Request| r.method == "PUT";
    assert!(daemon::once_killed_after(&estate.config, &estate.recorder, 1, marked).await.is_none());
    estate.recorder.clear();
    estate.once().await;
    let requests = estate.recorder.requests();
    let first = requests.iter().map(|r| r.arrived).min().unwrap();
    let wrote = requests
        .iter()
        .filter(|r| r.is_write() && r.server == crate::support::recorder::Server::PowerDns)
        .map(|r| r.arrived)
        .min()
        .unwrap();
    // Without comments no note could be missing: nothing tells that the mark may be fresh, and it is written at once.
    if estate.pdns.keeps_comments() {
        assert!(wrote - first > std::time::Duration::from_millis(900), "{:?}", wrote - first);
    }
    assert_eq!(
        query(estate.pdns.dns_addr(), "www.remark.example", "A").await.answers,
        ["192.0.2.1"]
    );
}

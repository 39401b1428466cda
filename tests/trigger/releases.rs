//! What a brake holds is let through over HTTP: by its digest, by an administrator, once.

use std::sync::atomic::{AtomicUsize, Ordering};

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::daemon;
use crate::support::estate::Estate;
use crate::support::recorder::{Action, Request, Server};
use crate::watch::token;

/// Records of a set, one name each.
fn names(count: usize) -> Value {
    (0..count).map(|n| json!({"name": format!("n{n}"), "a": {"content": "192.0.2.1"}})).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_is_released_by_its_digest_once() {
    let mut estate = Estate::new("release").await;
    let admin;
    (estate.config, admin) = estate.config.with_secret("http.adminTokenFile");
    let zone = estate.zone("z", "release.example").await;
    let set = estate.set("many", "z", "A", names(24)).await;
    let daemon = daemon::run(&estate.config).await;
    let call = |token: String, query: &str| {
        let path = format!("/v1/sync?{query}");
        let daemon = &daemon;
        async move { daemon.call(Method::POST, &path, Some(&token)).await }
    };
    assert_eq!(daemon.nudge("60s").await.1["ok"], json!(true));

    for _ in 0..2 {
        // 20 of 26 go at once: that is over 50 %.
        estate.edit(&set, json!({"records": names(4)})).await;
        let (_, answer) = daemon.nudge("60s").await;
        assert_eq!((&answer["ok"], &answer["deleted"]), (&json!(false), &json!(0)), "{answer}");
        let (_, status) = daemon.call(Method::GET, "/v1/status", Some(&admin)).await;
        let hold = &status["view"]["holds"][0];
        let digest = hold["digest"].as_str().unwrap();
        assert_eq!(hold["what"].as_array().unwrap().len(), 20, "{status}");
        assert!(estate.programmed(&zone).await.2.ends_with(digest), "the condition has it too");

        // Neither by somebody who may only nudge, nor by a digest of nothing.
        let query = format!("wait=60s&release={digest}");
        assert_eq!(call(token(&estate.config), &query).await.0, 403);
        let (status, answer) = call(admin.clone(), "release=000000000000").await;
        assert_eq!((status, &answer["holds"][0]["digest"]), (409, &json!(digest)), "{answer}");
        assert!(estate.pdns.rrset("release.example", "n4.release.example.", "A").await.is_some());

        let (status, answer) = call(admin.clone(), &query).await;
        assert_eq!((status, &answer["deleted"]), (200, &json!(20)), "{answer}");
        assert_eq!(answer["ok"], json!(true), "{answer}");
        assert!(estate.pdns.rrset("release.example", "n4.release.example.", "A").await.is_none());
        assert_eq!(estate.programmed(&zone).await.0, "True");
        // The same again has the same digest, and is held again: a release is for once.
        estate.edit(&set, json!({"records": names(24)})).await;
        assert_eq!(daemon.nudge("60s").await.1["created"], json!(20));
    }
}

/// A pass that fails in its middle leaves a part of what was let through: that part is still let through.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_of_a_release_goes_with_the_next_pass() {
    let mut estate = Estate::new("rest").await;
    let admin;
    (estate.config, admin) = estate.config.with_secret("http.adminTokenFile");
    estate.config = estate.config.with("powerdns.maxBatchRrsets", json!(10));
    estate.zone("z", "rest.example").await;
    let set = estate.set("many", "z", "A", names(48)).await;
    let daemon = daemon::run(&estate.config).await;
    assert_eq!(daemon.nudge("60s").await.1["ok"], json!(true));
    estate.edit(&set, json!({"records": names(4)})).await;
    daemon.nudge("60s").await;
    let (_, status) = daemon.call(Method::GET, "/v1/status", Some(&admin)).await;
    let digest = status["view"]["holds"][0]["digest"].as_str().unwrap().to_owned();

    // The second batch does not arrive, nor does anything after it.
    let batches = AtomicUsize::new(0);
    let later = move |r: &Request| {
        let batch = r.server == Server::PowerDns && r.method == "PATCH";
        batch && batches.fetch_add(1, Ordering::Relaxed) > 0
    };
    estate.recorder.always(later, Action::Reset);
    let query = format!("/v1/sync?wait=60s&release={digest}");
    let (_, answer) = daemon.call(Method::POST, &query, Some(&admin)).await;
    let gone = answer["deleted"].as_u64().unwrap();
    assert!(0 < gone && gone < 44, "{answer}");
    estate.recorder.heal();
    let (_, answer) = daemon.nudge("60s").await;
    assert_eq!(answer["deleted"].as_u64(), Some(44 - gone), "{answer}");
}

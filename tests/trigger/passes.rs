//! When a pass runs: by interval, by cron, by nudge; one at a time, and never fewer than asked for.

use std::time::Duration;

use futures::future::join_all;
use reqwest::Method;
use serde_json::json;

use crate::support::daemon;
use crate::support::estate::{Estate, a_records};
use crate::support::recorder::{Action, Request, Server};
use crate::watch::{assert_apart, lists_zones, passes, token, wait_for_passes, wait_for_request};

#[tokio::test(flavor = "multi_thread")]
async fn an_interval_makes_passes() {
    let mut estate = Estate::new("interval").await;
    estate.config = estate.config.with("interval", json!("1s"));
    estate.zone("z", "interval.example").await;
    let daemon = daemon::run(&estate.config).await;
    wait_for_passes(&daemon, 4.0).await;
    assert!(estate.pdns.has_zone("interval.example").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cron_expression_makes_passes() {
    let mut estate = Estate::new("cron").await;
    estate.config = estate.config.with("interval", json!("* * * * * *"));
    estate.zone("z", "cron.example").await;
    let daemon = daemon::run(&estate.config).await;
    wait_for_passes(&daemon, 4.0).await;
    assert!(estate.pdns.has_zone("cron.example").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nudge_that_waits_gets_a_pass_that_began_after_it() {
    let estate = Estate::new("wait").await;
    estate.zone("z", "wait.example").await;
    let www = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    let daemon = daemon::run(&estate.config).await;
    let (status, first) = daemon.nudge("60s").await;
    assert_eq!((status, &first["ok"]), (200, &json!(true)), "{first}");

    // A pass that has read Kubernetes already and hangs before PowerDNS' list.
    estate.recorder.clear();
    estate.recorder.next(lists_zones, Action::Delay(Duration::from_secs(3)));
    let held = first["pass"].as_u64().unwrap() + 1;
    let (status, accepted) =
        daemon.call(Method::POST, "/v1/sync", Some(&token(&estate.config))).await;
    assert_eq!((status, accepted), (202, json!({"pass": held})));
    wait_for_request(&estate.recorder, lists_zones).await;

    estate.edit(&www, json!({"records": a_records(&[("www", "192.0.2.2")])})).await;
    let (status, answer) = daemon.nudge("60s").await;
    assert_eq!((status, answer["pass"].as_u64()), (200, Some(held + 1)), "{answer}");
    assert_eq!((&answer["ok"], &answer["replaced"]), (&json!(true), &json!(1)), "{answer}");
    let served = estate.pdns.contents("wait.example", "www.wait.example", "A").await;
    assert_eq!(served, ["192.0.2.2"], "served when the answer arrives");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_is_too_short_is_told_the_pass_to_come() {
    let estate = Estate::new("short").await;
    let daemon = daemon::run(&estate.config).await;
    wait_for_passes(&daemon, 1.0).await;
    estate.recorder.next(lists_zones, Action::Delay(Duration::from_secs(3)));
    let (status, answer) = daemon.nudge("100ms").await;
    assert_eq!((status, answer), (202, json!({"pass": 2})));
    wait_for_passes(&daemon, 2.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_nudges_makes_two_passes() {
    let estate = Estate::new("storm").await;
    let daemon = daemon::run(&estate.config).await;
    wait_for_passes(&daemon, 1.0).await;
    estate.recorder.clear();
    estate.recorder.next(lists_zones, Action::Delay(Duration::from_secs(3)));
    let token = token(&estate.config);
    let nudge = || daemon.call(Method::POST, "/v1/sync", Some(&token));
    assert_eq!(nudge().await, (202, json!({"pass": 2})));
    wait_for_request(&estate.recorder, lists_zones).await;
    for answer in join_all((0..50).map(|_| nudge())).await {
        assert_eq!(answer, (202, json!({"pass": 3})));
    }
    wait_for_passes(&daemon, 3.0).await;
    // A nudge more shows that nothing else was queued: it gets the very next number.
    assert_eq!(daemon.nudge("60s").await.1["pass"], 4);
    assert_eq!(passes(&daemon).await.to_string(), "4");
}

#[tokio::test(flavor = "multi_thread")]
async fn passes_never_overlap() {
    let mut estate = Estate::new("overlap").await;
    // Ticks come faster than passes end.
    estate.config = estate.config.with("interval", json!("1s"));
    estate.zone("z", "overlap.example").await;
    let www = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    let slow = |r: &Request| r.server == Server::PowerDns;
    estate.recorder.always(slow, Action::Delay(Duration::from_millis(400)));
    let daemon = daemon::run(&estate.config).await;
    wait_for_passes(&daemon, 1.0).await;
    let token = token(&estate.config);
    for round in 2..7 {
        estate
            .edit(&www, json!({"records": a_records(&[("www", &format!("192.0.2.{round}"))])}))
            .await;
        daemon.call(Method::POST, "/v1/sync", Some(&token)).await;
        wait_for_passes(&daemon, f64::from(round)).await;
    }
    assert!(assert_apart(&estate.recorder.requests()) >= 5);
    assert!(estate.writes_to(Server::PowerDns).len() >= 3);
}

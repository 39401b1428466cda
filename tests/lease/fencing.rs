//! Who lost the lease writes nothing, however it lost it.

use std::time::Instant;

use reqwest::Method;
use serde_json::json;

use crate::pair::{
    LEASE, PATIENCE, Pair, RETRY, SLACK, TIMEOUT, assert_exclusive, assert_fenced, changes,
    last_renewal, sent, stands_by, wait_for_sent, writes_lease,
};
use crate::support::daemon;
use crate::support::recorder::{Action, Request, Server};
use crate::support::wait_for;

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_that_was_stopped_for_a_while_writes_nothing_when_it_goes_on() {
    let mut pair = Pair::new("paused").await;
    // So slow that the process is between two requests when it is stopped: the next one is due when it goes on.
    pair.estate = pair.estate.reconfigured("powerdns.requestsPerSecond", json!(2));
    pair.estate = pair.estate.reconfigured("powerdns.burst", json!(1));
    let (first, _second) = pair.run().await;
    pair.zone("z", "paused.example", 6).await;
    first.nudge("0s").await;
    wait_for_sent(&pair.estate.recorder, |r| changes(r) && r.answered.is_some(), 3).await;
    first.pause();
    pair.programmed("z-5").await;
    pair.estate.recorder.clear();
    first.resume();
    stands_by(&first).await;
    for level in ["failed_changes", "record_sets", "held"] {
        let series = format!("\ndns_syncd_{level} 0\n");
        let text = first.metrics().await;
        assert!(text.contains(&series), "what it left is another's to tell: {text}");
    }
    assert_eq!(first.get("/readyz").await.0, 200);
    // Long enough for what a pass that went on would send.
    tokio::time::sleep(2 * TIMEOUT).await;
    // A renewal that was due may go out, and is refused: the Lease has another version.
    let mut writes = pair.estate.recorder.writes();
    writes.retain(|r| !(writes_lease(r) && r.status == Some(409)));
    assert!(writes.is_empty(), "{writes:#?}");
}

/// Writes follow each other, each as late as it can be, while the holder's renewals get lost: across its expiry.
async fn round(n: usize) {
    let pair = Pair::new("across").await;
    let (first, second) = pair.run().await;
    for recorder in [&pair.estate.recorder, &pair.recorder] {
        recorder.always(changes, Action::Delay(TIMEOUT * 9 / 10));
    }
    pair.zone("z", "across.example", 10).await;
    first.nudge("0s").await;
    wait_for_sent(&pair.estate.recorder, changes, 2).await;
    pair.estate.recorder.always(writes_lease, Action::Reset);
    pair.programmed("z-9").await;
    let (ours, theirs) = (sent(&pair.estate.recorder, changes), sent(&pair.recorder, changes));
    assert!(ours.len() > 1 && theirs.len() > 1, "round {n}: {} {}", ours.len(), theirs.len());
    assert_exclusive(&pair.estate.recorder, &pair.recorder);
    assert_fenced(&pair.estate.recorder, LEASE, TIMEOUT);
    let until = last_renewal(&pair.estate.recorder) + LEASE;
    let gap = theirs[0].arrived - until;
    assert!(gap >= TIMEOUT, "round {n}: {gap:?}");
    assert!(gap <= 2 * RETRY + TIMEOUT + SLACK, "round {n}: {gap:?}");
    for daemon in [&first, &second] {
        assert_eq!(daemon.get("/healthz").await.0, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_writes_across_the_expiry_never_meet() {
    let rounds = std::env::var("LEASE_ROUNDS").map_or(3, |rounds| rounds.parse().unwrap());
    for n in 0..rounds {
        round(n).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_without_an_api_server_stops_before_its_lease_ends_and_goes_on_with_it() {
    let pair = Pair::new("alone").await;
    let recorder = &pair.estate.recorder;
    let first = daemon::run(&pair.estate.config).await;
    pair.held_by(&pair.estate.config).await;
    recorder.always(changes, Action::Delay(TIMEOUT / 2));
    pair.zone("z", "alone.example", 20).await;
    first.nudge("0s").await;
    wait_for_sent(recorder, changes, 4).await;
    recorder.always(|r| r.server == Server::Kubernetes, Action::Reset);
    stands_by(&first).await;
    let until = last_renewal(recorder) + LEASE;
    assert!(Instant::now() < until, "it does not wait for the end of the lease");
    tokio::time::sleep(LEASE).await;
    let requests = sent(recorder, |r: &Request| r.server == Server::PowerDns);
    assert!(requests.iter().filter(|r| changes(r)).count() > 1);
    let late: Vec<_> = requests.iter().filter(|r| r.arrived + TIMEOUT >= until).collect();
    assert!(late.is_empty(), "{late:#?}");
    assert_eq!(first.get("/healthz").await.0, 200, "it waits for the API server");

    recorder.heal();
    pair.programmed("z-19").await;
    assert!(first.metrics().await.contains("dns_syncd_leader 1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_that_comes_late_delays_a_pass_and_does_not_fail_it() {
    let mut pair = Pair::new("late").await;
    // The holder waits longer for a renewal than the lease leaves room for a request.
    let (lease, timeout, late) = (LEASE * 3 / 2, 3 * TIMEOUT, TIMEOUT * 22 / 10);
    for (path, value) in [
        ("leaderElection.leaseDuration", "6s"),
        ("leaderElection.renewDeadline", "5900ms"),
        ("powerdns.requestTimeout", "3s"),
    ] {
        pair.estate = pair.estate.reconfigured(path, json!(value));
    }
    let recorder = &pair.estate.recorder;
    let first = daemon::run(&pair.estate.config).await;
    pair.held_by(&pair.estate.config).await;
    pair.zone("z", "late.example", 12).await;
    recorder.always(changes, Action::Delay(TIMEOUT * 3 / 10));
    recorder.next(writes_lease, Action::Delay(late));
    recorder.next(writes_lease, Action::Delay(late));
    let (status, report) = first.nudge("60s").await;
    assert_eq!((status, &report["ok"]), (200, &true.into()), "{report:#}");
    assert_fenced(recorder, lease, timeout);
    pair.programmed("z-11").await;
}

fn touches_n1(request: &Request) -> bool {
    let body = || request.body.as_ref().map(ToString::to_string).unwrap_or_default();
    changes(request) && body().contains("n1.forgets.example.")
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_lost_the_lease_has_forgotten_what_failed() {
    let pair = Pair::new("forgets").await;
    let recorder = &pair.estate.recorder;
    let refusal = json!({"error": "RRset n1.forgets.example. IN A: refused by test"});
    recorder.always(touches_n1, Action::Answer(422, refusal.clone()));
    pair.zone("z", "forgets.example", 2).await;
    let first = daemon::run(&pair.estate.config).await;
    // A nudge for another zone leaves what is remembered of this one.
    pair.zone("y", "y.example", 0).await;
    let other = format!("/v1/sync?wait=30s&zone={}/y", pair.estate.namespace);
    let failures = || async {
        let (_, status) = first.call(Method::GET, "/v1/status", Some(&pair.admin)).await;
        status["view"]["troubles"][0]["failures"].as_u64()
    };
    wait_for("it failed again and again", PATIENCE, || async {
        first.call(Method::POST, &other, Some(&pair.admin)).await;
        failures().await.filter(|count| *count > 2)
    })
    .await;
    recorder.always(writes_lease, Action::Reset);
    stands_by(&first).await;
    recorder.heal();
    recorder.always(touches_n1, Action::Answer(422, refusal));
    assert_eq!(wait_for("it failed anew", PATIENCE, failures).await, 1);
}

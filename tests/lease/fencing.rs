//! Who lost the lease writes nothing, however it lost it.

use std::time::Instant;

use crate::pair::{
    LEASE, PATIENCE, Pair, TIMEOUT, assert_exclusive, changes, last_renewal, sent, wait_for_sent,
    writes_lease,
};
use crate::support::daemon::{self, Running};
use crate::support::recorder::{Action, Request, Server};
use crate::support::wait_for;

async fn stands_by(daemon: &Running) {
    wait_for("it stands by", PATIENCE, || async {
        daemon.metrics().await.contains("dns_syncd_leader 0").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_that_was_stopped_for_a_while_writes_nothing_when_it_goes_on() {
    let pair = Pair::new("paused").await;
    let (first, _second) = pair.run().await;
    pair.zone("z", "paused.example", 6).await;
    // It is stopped in the middle of a pass, with a write under way and others to follow.
    pair.estate.recorder.always(changes, Action::Delay(TIMEOUT / 2));
    first.nudge("0s").await;
    wait_for_sent(&pair.estate.recorder, changes, 2).await;
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
    let writes = pair.estate.recorder.writes();
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
    wait_for_sent(&pair.estate.recorder, changes, 1).await;
    pair.estate.recorder.always(writes_lease, Action::Reset);
    pair.programmed("z-9").await;
    let (ours, theirs) = (sent(&pair.estate.recorder, changes), sent(&pair.recorder, changes));
    assert!(ours.len() > 1 && theirs.len() > 1, "round {n}: {} {}", ours.len(), theirs.len());
    assert_exclusive(&pair.estate.recorder, &pair.recorder);
    let until = last_renewal(&pair.estate.recorder) + LEASE;
    assert!(ours.iter().all(|r| r.arrived + TIMEOUT < until), "round {n}");
    let gap = theirs[0].arrived - until;
    assert!(gap >= TIMEOUT, "round {n}: {gap:?}");
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
    wait_for_sent(recorder, changes, 1).await;
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
    let pair = Pair::new("late").await;
    let recorder = &pair.estate.recorder;
    let first = daemon::run(&pair.estate.config).await;
    pair.held_by(&pair.estate.config).await;
    pair.zone("z", "late.example", 10).await;
    recorder.always(changes, Action::Delay(TIMEOUT * 3 / 10));
    // Longer than the lease leaves room for a request; not as long as the holder waits for it.
    recorder.next(writes_lease, Action::Delay(TIMEOUT * 12 / 10));
    recorder.next(writes_lease, Action::Delay(TIMEOUT * 12 / 10));
    let (status, report) = first.nudge("30s").await;
    assert_eq!((status, &report["ok"]), (200, &true.into()), "{report:#}");
    pair.programmed("z-9").await;
}

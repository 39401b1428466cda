//! How the lease passes from one process to the other: let go, or run out.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::pair::{
    LEASE, PATIENCE, Pair, RETRY, SLACK, TIMEOUT, assert_exclusive, changes, is_of, last_renewal,
    sent, wait_for_sent, writes_lease,
};
use crate::support::daemon::Running;
use crate::support::recorder::{Action, Request, Server};
use crate::support::wait_for;

/// How long its first pass took.
async fn first_pass(daemon: &Running) -> Duration {
    wait_for("a pass ends", PATIENCE, || async {
        let log = daemon.log();
        let line = log.lines().find(|line| line.contains("pass ended"))?;
        let seconds = line.split("seconds=").nth(1)?.split(' ').next()?.parse().ok()?;
        Some(Duration::from_secs_f64(seconds))
    })
    .await
}

fn to_powerdns(request: &Request) -> bool {
    request.server == Server::PowerDns
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_that_is_killed_is_followed_when_its_lease_and_its_requests_have_run_out() {
    let pair = Pair::new("killed").await;
    pair.zone("z", "killed.example", 2).await;
    let (mut first, second) = pair.run().await;
    pair.programmed("z-1").await;
    assert_eq!(sent(&pair.recorder, to_powerdns).len(), 0, "the second one only looks on");
    assert!(second.metrics().await.contains("dns_syncd_leader 0"));
    assert!(first.metrics().await.contains("dns_syncd_leader 1"));

    pair.zone("y", "killed2.example", 1).await;
    first.kill9();
    let killed = Instant::now();
    pair.programmed("y-0").await;
    let served = killed.elapsed();
    let began = sent(&pair.recorder, to_powerdns)[0].arrived;
    let renewed = last_renewal(&pair.estate.recorder);
    assert!(began >= renewed + LEASE + TIMEOUT, "after {:?}", began - renewed);
    let latest = LEASE + 2 * RETRY + TIMEOUT + SLACK;
    assert!(began <= killed + latest, "after {:?}", began - killed);
    // The pass itself comes on top; the one that served this was the first.
    assert!(served <= latest + first_pass(&second).await, "after {served:?}");
    assert_exclusive(&pair.estate.recorder, &pair.recorder);
    let lease = pair.lease().await.unwrap();
    assert!(is_of(&pair.holder().await, &pair.second), "{lease:#}");
    assert_eq!(lease["spec"]["leaseTransitions"], 1);
    assert!(second.metrics().await.contains("dns_syncd_leader 1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_holder_that_is_told_to_end_is_followed_at_once() {
    let pair = Pair::new("told").await;
    pair.zone("z", "told.example", 1).await;
    let (mut first, _second) = pair.run().await;
    pair.programmed("z-0").await;
    let told = Instant::now();
    first.signal();
    let held = pair.held_by(&pair.second).await;
    assert!(held <= told + RETRY + Duration::from_secs(1), "after {:?}", held - told);
    wait_for_sent(&pair.recorder, to_powerdns, 1).await;
    let began = sent(&pair.recorder, to_powerdns)[0].arrived;
    assert!(began <= held + TIMEOUT, "a lease that was let go is followed without a wait");
    let output = first.terminate().await;
    assert_eq!(output.code, Some(0), "{output:?}");
    let last = sent(&pair.estate.recorder, writes_lease).pop().unwrap().body.unwrap();
    assert_eq!(last["spec"]["holderIdentity"], "");
    assert_eq!(last["spec"]["leaseDurationSeconds"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lease_is_let_go_only_after_the_last_answer() {
    let pair = Pair::new("answer").await;
    let (mut first, _second) = pair.run().await;
    pair.estate.recorder.next(changes, Action::Delay(TIMEOUT * 7 / 10));
    pair.zone("z", "answer.example", 3).await;
    first.nudge("0s").await;
    wait_for_sent(&pair.estate.recorder, changes, 1).await;
    let output = first.terminate().await;
    assert_eq!(output.code, Some(0), "{output:?}");
    let writes = sent(&pair.estate.recorder, changes);
    assert_eq!(writes.len(), 1, "none follows the one in flight: {writes:#?}");
    let released = sent(&pair.estate.recorder, writes_lease).pop().unwrap();
    assert_eq!(released.body.unwrap()["spec"]["holderIdentity"], json!(""));
    assert!(released.arrived >= writes[0].answered.unwrap());
    pair.programmed("z-2").await;
    assert_exclusive(&pair.estate.recorder, &pair.recorder);
}

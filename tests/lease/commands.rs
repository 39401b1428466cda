//! Commands beside a daemon: who writes needs the lease, who only looks does not.

use serde_json::json;

use crate::pair::{LEASE, Pair, RETRY, is_lease, sent};
use crate::support::{daemon, wait_for};

#[tokio::test(flavor = "multi_thread")]
async fn once_is_refused_while_another_has_the_lease_and_leaves_it_alone() {
    let pair = Pair::new("refused").await;
    pair.zone("z", "refused.example", 1).await;
    let first = daemon::run(&pair.estate.config).await;
    pair.programmed("z-0").await;
    let holder = pair.holder().await;
    let output = daemon::once(&pair.second).await;
    assert_eq!((output.code, &*output.stdout), (Some(1), ""), "{output:#?}");
    assert!(output.stderr.contains(&format!("is held by {holder}")), "{output:#?}");
    let writes = pair.recorder.writes();
    assert!(writes.is_empty(), "{writes:#?}");
    // Looking is free.
    assert_eq!(daemon::plan(&pair.second).await.code, Some(0));
    assert_eq!(pair.holder().await, holder);
    drop(first);
}

#[tokio::test(flavor = "multi_thread")]
async fn once_takes_the_lease_and_lets_it_go() {
    let pair = Pair::new("takes").await;
    pair.zone("z", "takes.example", 1).await;
    let output = daemon::once(&pair.estate.config).await;
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert_eq!((pair.lease().await.is_some(), pair.holder().await), (true, String::new()));
    let requests = pair.estate.recorder.requests();
    let (first, last) = (requests.first().unwrap(), requests.last().unwrap());
    assert!(is_lease(first) && is_lease(last), "{first:#?} {last:#?}");

    // One that was killed let nothing go: the next waits until its lease has run out.
    let mut daemon = daemon::run(&pair.estate.config).await;
    pair.held_by(&pair.estate.config).await;
    daemon.kill9();
    let began = std::time::Instant::now();
    let output = daemon::once(&pair.second).await;
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert!(began.elapsed() + RETRY > LEASE, "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_writes_nothing_or_stands_alone_has_no_lease() {
    let pair = Pair::new("nolease").await;
    pair.zone("z", "nolease.example", 1).await;
    assert_eq!(daemon::plan(&pair.estate.config).await.code, Some(2));
    let second = pair.second.with("dryRun", json!(true));
    daemon::once(&second).await;
    let daemon = daemon::run(&second).await;
    wait_for("a pass ends", crate::pair::PATIENCE, || async {
        (daemon.get("/readyz").await.0 == 200).then_some(())
    })
    .await;
    let alone = pair.estate.config.with("leaderElection.enabled", json!(false));
    assert_eq!(daemon::once(&alone).await.code, Some(0));
    for recorder in [&pair.recorder, &pair.estate.recorder] {
        assert!(sent(recorder, is_lease).is_empty());
    }
}

//! A start into a world that is not ready: the daemon waits, says so, and needs no push when the world is.

use crate::support::estate::Estate;
use crate::support::recorder::{Action, Server};
use crate::support::{daemon, wait_for};
use crate::watch::{PATIENCE, metric, wait_for_passes};

#[tokio::test(flavor = "multi_thread")]
async fn it_is_ready_after_the_first_complete_pass() {
    let estate = Estate::new("ready").await;
    estate.zone("z", "ready.example").await;
    estate.recorder.always(|r| r.server == Server::Kubernetes, Action::Reset);
    let daemon = daemon::run(&estate.config).await;
    wait_for_passes(&daemon, 2.0).await;
    assert_eq!(daemon.get("/readyz").await.0, 503);
    assert_eq!(daemon.get("/healthz").await, (200, "ok\n".to_owned()), "it tries");
    assert!(metric(&daemon, "dns_syncd_passes_total{result=\"none\"}").await >= 2.0);
    assert!(daemon.log().contains("no pass: the cluster's state could not be read"));
    assert!(estate.writes_to(Server::PowerDns).is_empty());

    // The interval is an hour: it tries again by itself.
    estate.recorder.heal();
    wait_for("the daemon is ready", PATIENCE, || async {
        (daemon.get("/readyz").await.0 == 200).then_some(())
    })
    .await;
    assert!(estate.pdns.has_zone("ready.example").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_needs_no_push_when_powerdns_comes_back() {
    let estate = Estate::new("comes-back").await;
    estate.zone("z", "back.example").await;
    let www = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.pdns.stop().await;
    let daemon = daemon::run(&estate.config).await;
    wait_for_passes(&daemon, 2.0).await;
    assert_eq!(daemon.get("/healthz").await.0, 200);
    assert_ne!(estate.programmed(&www).await.0, "True");
    assert_eq!(daemon.get("/readyz").await.0, 503, "nothing was read of PowerDNS");
    assert_eq!(metric(&daemon, "dns_syncd_passes_total{result=\"ok\"}").await.to_string(), "0");

    estate.pdns.restart().await;
    wait_for("the record is served", PATIENCE, || async {
        (estate.programmed(&www).await.0 == "True").then_some(())
    })
    .await;
    let served = estate.pdns.contents("back.example", "www.back.example", "A").await;
    assert_eq!(served, ["192.0.2.1"]);
    wait_for("the daemon is ready", PATIENCE, || async {
        (daemon.get("/readyz").await.0 == 200).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_pass_that_failed_is_followed_by_another_soon() {
    let estate = Estate::new("soon").await;
    estate.zone("z", "soon.example").await;
    let fails = Action::Answer(500, serde_json::json!({"error": "x"}));
    estate.recorder.next(|r| r.server == Server::PowerDns && r.is_write(), fails);
    let daemon = daemon::run(&estate.config).await;
    wait_for_passes(&daemon, 2.0).await;
    assert!(estate.pdns.has_zone("soon.example").await);
    assert_eq!(metric(&daemon, "dns_syncd_passes_total{result=\"failed\"}").await.to_string(), "1");
    assert_eq!(metric(&daemon, "dns_syncd_passes_total{result=\"ok\"}").await.to_string(), "1");
}

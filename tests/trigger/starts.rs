//! A start into a world that is not ready: the daemon waits, says so, and needs no push when the world is.

use futures::future::join_all;
use serde_json::json;

use crate::support::daemon::{self, Running};
use crate::support::estate::Estate;
use crate::support::recorder::{Action, Fault, Request, Server};
use crate::support::wait_for;
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

/// Warnings and errors of a log that say this.
fn warned(daemon: &Running, what: &str) -> usize {
    let loud = |line: &&str| line.contains(" WARN ") || line.contains(" ERROR ");
    daemon.log().lines().filter(loud).filter(|line| line.contains(what)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_at_the_start_is_said_once_and_waited_for() {
    let missing = |path: &'static str| {
        let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404,
                          "message": "not found", "reason": "NotFound"});
        let of = move |r: &Request| r.server == Server::Kubernetes && r.path.contains(path);
        (Box::new(of) as Box<dyn Fn(&Request) -> bool + Send + Sync>, Action::Answer(404, body))
    };
    let reset = |server: Server| {
        let of = move |r: &Request| r.server == server;
        (Box::new(of) as Box<dyn Fn(&Request) -> bool + Send + Sync>, Action::Reset)
    };
    let (kubernetes, powerdns) = ("the cluster's state could not be read", "could not be read");
    let cases = [
        ("api", reset(Server::Kubernetes), kubernetes),
        ("kinds", missing("/dnsrecordsets"), kubernetes),
        ("crds", missing("/customresourcedefinitions"), kubernetes),
        ("powerdns", reset(Server::PowerDns), powerdns),
    ];
    join_all(cases.map(|(what, (matches, action), said)| async move {
        let estate = Estate::new(what).await;
        estate.zone("z", &format!("{what}.example")).await;
        estate.recorder.inject(Fault { matches, action, times: None });
        let daemon = daemon::run(&estate.config).await;
        wait_for_passes(&daemon, 3.0).await;
        // Of PowerDNS the line of the one who reads it, and that of the pass that it was to serve.
        let lines = if what == "powerdns" { 2 } else { 1 };
        assert_eq!(warned(&daemon, said), lines, "{what}: {}", daemon.log());
        assert_eq!(daemon.get("/readyz").await.0, 503, "{what}");
        estate.recorder.heal();
        wait_for("it is served", PATIENCE, || async {
            estate.pdns.has_zone(&format!("{what}.example")).await.then_some(())
        })
        .await;
    }))
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

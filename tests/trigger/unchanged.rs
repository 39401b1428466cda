//! What a running daemon does not read: a zone of which nothing has changed, for as long as `verifyInterval` allows.

use std::process::Command;

use serde_json::json;

use crate::support::daemon::{self, Running};
use crate::support::estate::{Estate, a_records};
use crate::support::pdns::{Backend, Options};
use crate::support::recorder::{Request, Server};
use crate::support::wait_for;
use crate::watch::{lists_zones, passes, wait_for_passes};

async fn estate(prefix: &str, verify: &str) -> Estate {
    // The database is written behind the server's back.
    let options = Options { backend: Backend::Sqlite, extra: Vec::new() };
    let estate = Estate::with(prefix, options).await;
    let estate = estate.reconfigured("interval", json!("1s"));
    estate.reconfigured("verifyInterval", json!(verify))
}

fn reads_zone(r: &Request) -> bool {
    r.server == Server::PowerDns && r.method == "GET" && r.path.contains("/zones/")
}

/// Waits for passes that list the zones and read none.
async fn wait_for_rest(estate: &Estate, daemon: &Running) {
    wait_for("passes that read no zone", std::time::Duration::from_mins(1), || async {
        estate.recorder.clear();
        let now = passes(daemon).await;
        wait_for_passes(daemon, now + 2.0).await;
        let requests = estate.recorder.requests();
        (requests.iter().any(lists_zones) && !requests.iter().any(reads_zone)).then_some(())
    })
    .await;
}

fn behind_the_back(estate: &Estate, sql: &str) {
    let done = Command::new("sqlite3").arg(estate.pdns.database()).arg(sql).status().unwrap();
    assert!(done.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_at_rest_is_not_read_until_something_changes() {
    let estate = estate("rest", "1h").await;
    estate.zone("z", "rest.example").await;
    estate.zone("other", "other.example").await;
    let www = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    let daemon = daemon::run(&estate.config).await;
    wait_for_rest(&estate, &daemon).await;
    let metrics = daemon.metrics().await;
    assert!(metrics.contains("dns_syncd_zones_unchanged 2\n"), "{metrics}");

    estate.recorder.clear();
    estate.edit(&www, json!({"records": a_records(&[("www", "192.0.2.2")])})).await;
    let served = || async { estate.pdns.contents("rest.example", "www.rest.example", "A").await };
    let second = std::time::Duration::from_secs(20);
    wait_for("the edit", second, || async { (served().await == ["192.0.2.2"]).then_some(()) })
        .await;
    let other = |r: &Request| reads_zone(r) && r.path.contains("other.example");
    assert!(!estate.recorder.requests().iter().any(other), "only what has changed is read");

    wait_for_rest(&estate, &daemon).await;
    let hand = json!({"rrsets": [{"name": "www.rest.example.", "type": "A", "ttl": 60,
        "changetype": "REPLACE", "records": [{"content": "192.0.2.66", "disabled": false}]}]});
    assert_eq!(estate.pdns.patch("rest.example.", &hand).await.0, 204);
    wait_for("the repair", second, || async { (served().await == ["192.0.2.2"]).then_some(()) })
        .await;

    // No serial tells of this one: a plain nudge reads everything.
    wait_for_rest(&estate, &daemon).await;
    behind_the_back(&estate, "UPDATE records SET content='192.0.2.66' WHERE type='A'");
    let now = passes(&daemon).await;
    wait_for_passes(&daemon, now + 2.0).await;
    assert_eq!(served().await, ["192.0.2.66"]);
    let (status, answer) = daemon.nudge("60s").await;
    assert_eq!((status, &answer["replaced"]), (200, &json!(1)), "{answer}");
    assert_eq!(served().await, ["192.0.2.2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_serial_tells_is_found_within_the_interval() {
    let estate = estate("verify", "8s").await;
    estate.zone("z", "verify.example").await;
    estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    let daemon = daemon::run(&estate.config).await;
    wait_for_rest(&estate, &daemon).await;
    behind_the_back(&estate, "UPDATE records SET content='192.0.2.66' WHERE type='A'");
    wait_for("the repair", std::time::Duration::from_secs(30), || async {
        let served = estate.pdns.contents("verify.example", "www.verify.example", "A").await;
        (served == ["192.0.2.1"]).then_some(())
    })
    .await;
}

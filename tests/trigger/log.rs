//! What a daemon's log has at its usual level: a line a pass, a line a zone that changed, and no content of anybody's.

use serde_json::{Value, json};

use crate::support::daemon;
use crate::support::estate::Estate;
use crate::watch::wait_for_passes;

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_has_its_line_and_each_changed_zone_has_one() {
    let mut estate = Estate::new("log").await;
    estate.config = estate.config.with("log.level", json!("info"));
    estate.config = estate.config.with("log.format", json!("json"));
    for n in 0..3 {
        estate.zone(&format!("z{n}"), &format!("log{n}.example")).await;
        let names: Value = (0..40)
            .map(|i| json!({"name": format!("t{i}"), "txt": {"content": "very-private-content"}}))
            .collect();
        estate.set(&format!("txt{n}"), &format!("z{n}"), "TXT", names).await;
    }
    let daemon = daemon::run(&estate.config).await;
    wait_for_passes(&daemon, 1.0).await;
    assert_eq!(daemon.nudge("60s").await.1["ok"], json!(true));
    let log = daemon.log();
    assert!(!log.contains("very-private"), "{log}");
    let lines: Vec<Value> = log.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let of = |message: &str, pass: u64| {
        let says = |l: &&Value| l["message"] == message;
        let of_pass = |l: &&Value| l["pass"] == pass || l["span"]["id"] == pass;
        lines.iter().filter(says).filter(of_pass).cloned().collect::<Vec<_>>()
    };
    for pass in [1, 2] {
        assert_eq!(of("pass ended", pass).len(), 1, "{log}");
    }
    let zones = of("zone", 1);
    assert_eq!(zones.len(), 3, "{log}");
    for zone in zones {
        assert_eq!((&zone["step"], &zone["failed"]), (&json!("created"), &json!(0)), "{zone}");
        // SOA and NS of the class, and what is declared.
        assert_eq!(zone["written"], 42, "{zone}");
    }
    assert!(of("zone", 2).is_empty(), "nothing changed: {log}");
}

/// Contents of records are for those who look for trouble, and only for them.
#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_logged_at_trace_alone() {
    for (level, logged) in [("debug", false), ("trace", true)] {
        let estate = Estate::new("bodies").await.reconfigured("log.level", json!(level));
        estate.zone("z", "bodies.example").await;
        let records = json!([{"name": "t", "txt": {"content": "very-private-content"}}]);
        estate.set("t", "z", "TXT", records).await;
        let daemon = daemon::run(&estate.config).await;
        wait_for_passes(&daemon, 1.0).await;
        let log = daemon.log();
        assert!(log.contains("PowerDNS request"), "{log}");
        assert_eq!(log.contains("very-private-content"), logged, "{level}: {log}");
    }
}

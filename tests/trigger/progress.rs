//! How far a long pass is, while it runs: in the status, the metrics and the log.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::daemon;
use crate::support::estate::Estate;
use crate::support::recorder::{Action, Request, Server};
use crate::support::wait_for;

const ZONES: usize = 14;

fn writes_zones(request: &Request) -> bool {
    request.server == Server::PowerDns && request.is_write()
}

/// More than ten seconds, after which the log says that the pass goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_first_pass_tells_how_far_it_is() {
    let mut estate = Estate::new("progress").await.reconfigured("powerdns.concurrency", json!(1));
    let admin;
    (estate.config, admin) = estate.config.with_secret("http.adminTokenFile");
    for n in 0..ZONES {
        estate.zone(&format!("z{n}"), &format!("progress{n}.example")).await;
    }
    estate.recorder.always(writes_zones, Action::Delay(Duration::from_millis(800)));
    let daemon = daemon::run(&estate.config).await;
    let progress = || async {
        let (_, status) = daemon.call(Method::GET, "/v1/status", Some(&admin)).await;
        status["progress"].clone()
    };
    let at = |done: usize| json!({"stage": "apply", "done": done, "total": ZONES});
    for done in [1, 2, 12] {
        wait_for("the zones that are done", Duration::from_mins(1), || async {
            (progress().await == at(done)).then_some(())
        })
        .await;
    }
    let metrics = daemon.metrics().await;
    let total = format!("dns_syncd_pass_stage_size{{stage=\"apply\"}} {ZONES}\n");
    assert!(metrics.contains(&total), "{metrics}");
    let done = "dns_syncd_pass_stage_done{stage=\"apply\"} 1";
    assert!(metrics.contains(done), "{metrics}");
    wait_for("the end of the pass", Duration::from_mins(1), || async {
        (progress().await == Value::Null).then_some(())
    })
    .await;
    let metrics = daemon.metrics().await;
    assert!(metrics.contains("dns_syncd_pass_stage_size{stage=\"apply\"} 0\n"));
    let took = |stage: &str| -> f64 {
        let series = format!("dns_syncd_pass_stage_seconds_total{{stage=\"{stage}\"}} ");
        let line = metrics.lines().find_map(|l| l.strip_prefix(&series));
        line.and_then(|seconds| seconds.parse().ok()).expect("a sum of seconds")
    };
    // Each zone took 0.8 s.
    assert!(took("apply") > 11.0 && took("decide") < 11.0, "{metrics}");
    let log = daemon.log();
    let told = log.lines().find(|l| l.contains("the pass goes on")).unwrap_or_default();
    assert!(told.contains("stage=\"apply\"") && told.contains("total=14"), "{log}");
}

//! What these tests look at: the daemon's counters, and where one pass ends and the next begins.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::daemon::{ConfigFile, Running};
use crate::support::recorder::{Recorder, Request, Server};
use crate::support::wait_for;

/// Long enough for anything on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A series' value, its labels included in the name; 0 while it is not there.
pub(crate) async fn metric(daemon: &Running, series: &str) -> f64 {
    let text = daemon.metrics().await;
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.map_or(0.0, |value| value.parse().unwrap())
}

/// How many passes have come to an end, in whichever way.
pub(crate) async fn passes(daemon: &Running) -> f64 {
    let mut sum = 0.0;
    for result in ["ok", "failed", "none"] {
        sum += metric(daemon, &format!("dns_syncd_passes_total{{result=\"{result}\"}}")).await;
    }
    sum
}

/// Waits until at least so many passes have ended.
pub(crate) async fn wait_for_passes(daemon: &Running, count: f64) {
    wait_for(&format!("{count} passes"), PATIENCE, || async {
        (passes(daemon).await >= count).then_some(())
    })
    .await;
}

/// Waits until a request that `matches` has arrived at a proxy.
pub(crate) async fn wait_for_request(recorder: &Recorder, matches: fn(&Request) -> bool) {
    let found = || std::future::ready(recorder.requests().iter().any(matches).then_some(()));
    wait_for("the request", PATIENCE, found).await;
}

/// The request that every pass begins with.
fn begins_pass(request: &Request) -> bool {
    let list = request.path.split('?').next().unwrap().ends_with("/dnsrecordsets");
    request.server == Server::Kubernetes && request.method == "GET" && list
}

/// Before a pass begins every request of the one before has its answer; says how many passes began.
#[track_caller]
pub(crate) fn assert_apart(requests: &[Request]) -> usize {
    let (mut begun, mut done) = (0, None);
    for request in requests {
        if begins_pass(request) {
            begun += 1;
            let apart = done.is_none_or(|done| done <= request.arrived);
            assert!(apart, "one was under way when a pass began: {request:#?}");
        }
        let end = request.answered.unwrap_or_else(Instant::now);
        done = done.max(Some(end));
    }
    begun
}

/// The list of zones that every pass asks PowerDNS for, after it has read Kubernetes.
pub(crate) fn lists_zones(request: &Request) -> bool {
    let list = request.path.split('?').next().unwrap().ends_with("/zones");
    request.server == Server::PowerDns && request.method == "GET" && list
}

fn file(config: &ConfigFile) -> Value {
    serde_json::from_str(&std::fs::read_to_string(config.path()).unwrap()).unwrap()
}

/// Where a configuration lets the daemon listen.
pub(crate) fn address(config: &ConfigFile) -> String {
    file(config)["http"]["listen"].as_str().unwrap().to_owned()
}

/// The base of PowerDNS' API that a configuration names.
pub(crate) fn powerdns_url(config: &ConfigFile) -> String {
    file(config)["powerdns"]["url"].as_str().unwrap().to_owned()
}

/// The token that may nudge.
pub(crate) fn token(config: &ConfigFile) -> String {
    std::fs::read_to_string(file(config)["http"]["tokenFile"].as_str().unwrap()).unwrap()
}

//! An outage of PowerDNS, with edits meanwhile.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::report::Report;
use crate::subject::{Subject, converged};
use crate::support::estate::Estate;
use crate::support::production::{self, Shape};
use crate::support::recorder::Server;
use crate::whole::served;

/// A hundred edits in so many sets.
const SHAPE: Shape = Shape { zones: 20, sets: 300, largest: 200, entries: 400 };
const OUTAGE: Duration = Duration::from_secs(30);
/// Requests a second, and at once.
const RATE: usize = 50;

/// PowerDNS is away for half a minute and a hundred sets are edited meanwhile.
pub async fn outage(report: &mut Report) {
    let estate = Estate::new("bench").await;
    let sets = production::build(&estate, SHAPE).await;
    let limits = [("powerdns.requestsPerSecond", json!(RATE)), ("powerdns.burst", json!(RATE))];
    let daemon = Subject::recorded_with(&estate, "15s", &limits).await;
    daemon.pass("").await;
    estate.pdns.stop().await;
    estate.recorder.clear();
    let began = Instant::now();
    for (set, object) in sets.iter().enumerate().take(100) {
        estate.edit(object, json!({"records": SHAPE.records(set, 1)})).await;
    }
    tokio::time::sleep(OUTAGE.saturating_sub(began.elapsed())).await;
    estate.pdns.restart().await;
    let began = Instant::now();
    served(&estate, (0..100).map(|set| (SHAPE.name(set), Shape::address(set, 1)))).await;
    let after = began.elapsed().as_secs_f64();
    report.most("100 edits of an outage of 30 s, served after its end", after, 5.0, "s");

    let requests = estate.recorder.requests();
    let mut sent: Vec<Instant> =
        requests.iter().filter(|r| r.server == Server::PowerDns).map(|r| r.arrived).collect();
    sent.sort();
    let second = |at: &Instant| {
        let from = sent.partition_point(|s| s < at);
        sent[from..].partition_point(|s| s.duration_since(*at) < Duration::from_secs(1))
    };
    let most = sent.iter().map(second).max().unwrap_or_default();
    let limit = 2 * RATE;
    report.most("… most requests within a second", most as f64, limit as f64, "requests");
    daemon.pass("").await;
    daemon.stop().await;
    converged(&estate).await;
}

//! An estate of production's size: made, at rest, met again, and fresh zones.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bare::{Bare, uid};
use crate::report::Report;
use crate::subject::{Subject, converged, recording};
use crate::support::estate::Estate;
use crate::support::objects;
use crate::support::production::{self, PRODUCTION, Shape};
use crate::support::recorder::{Request, Server};

/// Passes whose mean is taken.
const PASSES: u32 = 10;

/// An empty PowerDNS and bare objects, everything at rest, and a restart.
pub async fn whole(report: &mut Report) {
    let (recorded, pattern) = first_pass(PRODUCTION).await;
    let bare = bare_writes(PRODUCTION, &recorded, &pattern).await;
    let estate = Estate::new("bench").await;
    production::build(&estate, PRODUCTION).await;
    let daemon = Subject::start(&estate, "1h", &[]).await;
    let first = daemon.passes().await[0].1;
    let mut requests = daemon.counters().await.powerdns_requests;
    report.ratio("bare objects and an empty PowerDNS → all programmed", first, bare, 1.3);
    let quiet = quiet_requests(&estate).await;
    // The nudge of the start has read everything once more.
    requests -= quiet.iter().filter(|r| r.server == Server::PowerDns).count() as f64;
    let zones = PRODUCTION.zones as f64;
    report.most("… PowerDNS requests a zone", requests / zones, 2.0 + 2.0 / zones, "requests");

    let client = Bare::new(&estate).await;
    let all = mean(async || client.reads(&quiet).await).await;
    let before = daemon.stages().await;
    let ours = daemon.pass_time("", PASSES).await;
    report.ratio("a pass with nothing to do, every zone read", ours, all, 1.2);
    shares(report, &before, &daemon.stages().await);
    daemon.stop().await;

    let lists: Vec<Request> = quiet.into_iter().filter(|r| !r.path.contains("/zones/")).collect();
    let bare = mean(async || client.reads(&lists).await).await;
    skipping(report, &estate, bare).await;
    restart(report, &estate).await;
    converged(&estate).await;
}

/// The first pass over a shape, by its requests, and the estate that it was made for, with its objects by name.
async fn first_pass(shape: Shape) -> (Vec<Request>, (Estate, BTreeMap<String, Value>)) {
    let estate = Estate::new("bench-a").await;
    let objects = named(&estate, shape).await;
    estate.recorder.clear();
    Subject::recorded(&estate).await.stop().await;
    (estate.recorder.requests(), (estate, objects))
}

/// Objects of a shape that was built just now, by plural and name.
async fn named(estate: &Estate, shape: Shape) -> BTreeMap<String, Value> {
    production::build(estate, shape).await;
    let mut out = BTreeMap::new();
    for plural in ["dnszones", "dnsrecordsets"] {
        for object in objects::list(&estate.client, &estate.namespace, plural).await {
            out.insert(format!("{plural}/{}", object["metadata"]["name"]), object);
        }
    }
    out
}

/// How long the same writes to the API server take a client that does nothing else, on objects that are as bare.
async fn bare_writes(
    shape: Shape,
    recorded: &[Request],
    (pattern, before): &(Estate, BTreeMap<String, Value>),
) -> Duration {
    let estate = Estate::new("bench-b").await;
    let objects = named(&estate, shape).await;
    let uids: BTreeMap<String, String> =
        before.iter().map(|(name, object)| (uid(object), uid(&objects[name]))).collect();
    let client = Bare::new(&estate).await;
    let writes = Bare::kubernetes_writes(recorded, (&pattern.namespace, &estate.namespace), &uids);
    let began = Instant::now();
    client.write_to_kubernetes(writes).await;
    began.elapsed()
}

/// The requests of a pass in which nothing is to do and every zone is read.
pub async fn quiet_requests(estate: &Estate) -> Vec<Request> {
    let daemon = Subject::recorded(estate).await;
    let requests = recording(estate, &daemon, "").await;
    daemon.stop().await;
    assert!(!requests.iter().any(Request::is_write), "it is not at rest");
    requests
}

async fn mean(once: impl AsyncFn()) -> Duration {
    let began = Instant::now();
    for _ in 0..PASSES {
        once().await;
    }
    began.elapsed() / PASSES
}

/// Passes by interval, which leave zones unread of which nothing has changed.
async fn skipping(report: &mut Report, estate: &Estate, bare: Duration) {
    let serials = serials(estate).await;
    let daemon = Subject::start(estate, "1s", &[]).await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    let (before, _) = *daemon.passes().await.last().unwrap();
    let stages = daemon.stages().await;
    tokio::time::sleep(Duration::from_secs(u64::from(PASSES))).await;
    let passes = daemon.passes().await;
    let new: Vec<Duration> = passes.into_iter().filter(|p| p.0 > before).map(|p| p.1).collect();
    let ours = new.iter().sum::<Duration>() / u32::try_from(new.len()).unwrap();
    report.ratio("… and what has not changed left unread", ours, bare, 1.2);
    shares(report, &stages, &daemon.stages().await);
    assert!(daemon.counters().await.kubernetes_writes < 1.0);
    assert_eq!(self::serials(estate).await, serials, "a serial moved");
    daemon.stop().await;
}

/// What each stage took of the passes between.
fn shares(report: &mut Report, before: &BTreeMap<String, f64>, after: &BTreeMap<String, f64>) {
    let since = |stage: &String| after[stage] - before.get(stage).unwrap_or(&0.0);
    let all: f64 = after.keys().map(since).sum();
    let mut shares: Vec<(&String, f64)> =
        after.keys().map(|stage| (stage, 100.0 * since(stage) / all)).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    let told: Vec<String> =
        shares.iter().filter(|s| s.1 >= 0.5).map(|(s, n)| format!("{s} {n:.0} %")).collect();
    report.told("… its time by stage", told.join(", "), json!(shares));
}

async fn restart(report: &mut Report, estate: &Estate) {
    let daemon = Subject::start(estate, "1h", &[]).await;
    let counters = daemon.counters().await;
    let writes = counters.kubernetes_writes + counters.powerdns_writes;
    report.most("writes after a restart at rest", writes, 0.0, "writes");
    daemon.stop().await;
}

/// The serial of each zone.
pub async fn serials(estate: &Estate) -> BTreeMap<String, Value> {
    let zones = estate.pdns.list().await;
    zones.iter().map(|z| (z["name"].to_string(), z["serial"].clone())).collect()
}

/// Zones that are created at once.
const FRESH: usize = 50;

/// 50 zones with one record set each appear at once in an estate of production's size.
pub async fn fresh_zones(report: &mut Report) {
    let estate = Estate::new("bench").await;
    production::build(&estate, PRODUCTION).await;
    let recorded = Subject::recorded(&estate).await;
    recorded.pass("").await;
    create_fresh(&estate, "recorded").await;
    let requests = recording(&estate, &recorded, "").await;
    recorded.stop().await;
    let client = Bare::new(&estate).await;
    // New zones cannot be made twice: the same requests for other names.
    let began = Instant::now();
    client.reads(&requests).await;
    client.zones_writes(&requests, |text| text.replace("recorded", "bare")).await;
    let bare = began.elapsed();

    let daemon = Subject::start(&estate, "1h", &[]).await;
    daemon.pass("").await;
    create_fresh(&estate, "measured").await;
    let began = Instant::now();
    daemon.nudge("").await;
    served(&estate, (0..FRESH).map(|n| (format!("www.measured{n}.example"), address(n)))).await;
    report.ratio("50 fresh zones at once, until all are served", began.elapsed(), bare, 1.5);
    daemon.pass("").await;
    daemon.stop().await;
    let orphans = requests.iter().filter(|r| r.server == Server::PowerDns && r.method == "POST");
    report.told("… zones made", format!("{FRESH}"), json!({"posts": orphans.count()}));
    converged(&estate).await;
}

fn address(n: usize) -> String {
    format!("192.0.2.{n}")
}

async fn create_fresh(estate: &Estate, prefix: &str) {
    for n in 0..FRESH {
        let name = format!("{prefix}{n}");
        estate.zone(&name, &format!("{name}.example")).await;
        estate.a(&name, &name, &[("www", &address(n))]).await;
    }
}

/// Waits until each name has its address in DNS.
pub async fn served(estate: &Estate, names: impl Iterator<Item = (String, String)>) {
    for (name, address) in names {
        crate::edits::until_served(estate, &name, &address).await;
    }
}

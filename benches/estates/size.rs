//! What grows: one large record set, a delete of many RRsets, an estate of up to 100,000 RRsets, and nothing at all for long.

use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt};
use serde_json::{Value, json};

use crate::bare::{Bare, until_last_write};
use crate::edits::until_served;
use crate::report::{Report, exponent, plot};
use crate::subject::{Subject, converged, recording};
use crate::support::estate::Estate;
use crate::support::objects;
use crate::support::production::{self, PRODUCTION};
use crate::support::query::query;
use crate::support::recorder::{Request, Server};

const DOMAIN: &str = "large.example";
/// Names of the large record set.
const NAMES: usize = 5000;
/// Record sets of the mass delete, with so many names each.
const SETS: (usize, usize) = (24, 500);

fn records(prefix: &str, names: usize, address: &str) -> Value {
    let record = |n| json!({"name": format!("{prefix}n{n}"), "a": {"content": address}});
    (0..names).map(record).collect()
}

/// A record set of 5,000 entries is made, beside the same requests.
pub async fn large_set(report: &mut Report) {
    let estate = Estate::new("bench").await;
    estate.zone("z", DOMAIN).await;
    let recorded = Subject::recorded(&estate).await;
    let set = estate.set("s", "z", "A", records("", NAMES, "10.1.0.1")).await;
    let requests = recording(&estate, &recorded, "").await;
    recorded.stop().await;
    let last = format!("n{}.{DOMAIN}", NAMES - 1);
    let status = estate.get(&set).await.unwrap()["status"]["recordSets"].clone();
    let told = status.as_array().map_or(0, Vec::len);
    report.most("names in the status of a set of 5,000 entries", told as f64, 500.0, "names");
    let status = |r: &&Request| r.server == Server::Kubernetes && r.path.contains("/s/status");
    let wrote = requests.iter().rposition(|r| r.server == Server::PowerDns && r.is_write());
    let after = requests[wrote.unwrap()..].iter().filter(status).count();
    report.most("… its status written after its write", after as f64, 1.0, "times");

    let requests = until_last_write(requests);
    let client = Bare::new(&estate).await;
    estate.edit(&set, json!({"records": records("", NAMES, "10.2.0.1")})).await;
    let began = Instant::now();
    client.reads(&requests).await;
    client.zones_writes(&requests, |text| text.replace("10.1.0.1", "10.2.0.1")).await;
    until_served(&estate, &last, "10.2.0.1").await;
    let bare = began.elapsed();
    let daemon = Subject::start(&estate, "1h", &[]).await;
    estate.edit(&set, json!({"records": records("", NAMES, "10.3.0.1")})).await;
    let began = Instant::now();
    tokio::join!(daemon.nudge(""), until_served(&estate, &last, "10.3.0.1"));
    report.ratio("an edit of all of them, until it is served", began.elapsed(), bare, 1.5);
    daemon.pass("").await;
    daemon.stop().await;
    converged(&estate).await;
}

async fn many_sets(estate: &Estate) -> Vec<Value> {
    let sets = (0..SETS.0).map(|s| {
        let records = records(&format!("s{s}"), SETS.1, "192.0.2.1");
        async move { estate.set(&format!("s{s}"), "z", "A", records).await }
    });
    stream::iter(sets).buffered(8).collect().await
}

/// Deletes objects, side by side.
pub async fn delete(estate: &Estate, objects: &[Value]) {
    let deletes = objects.iter().map(|object| objects::delete(&estate.client, object));
    stream::iter(deletes).buffer_unordered(8).collect::<()>().await;
}

/// Waits until the last name of each set is gone from DNS.
async fn until_gone(estate: &Estate) {
    for set in 0..SETS.0 {
        let name = format!("s{set}n{}.{DOMAIN}", SETS.1 - 1);
        while !query(estate.pdns.dns_addr(), &name, "A").await.is_nxdomain() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// 12,000 RRsets go with their objects.
pub async fn mass_delete(report: &mut Report) {
    let estate = Estate::new("bench").await;
    estate.zone("z", DOMAIN).await;
    let recorded = Subject::recorded(&estate).await;
    let sets = many_sets(&estate).await;
    recorded.pass("").await;
    delete(&estate, &sets).await;
    let requests = until_last_write(recording(&estate, &recorded, "").await);
    let sets = many_sets(&estate).await;
    recorded.pass("").await;
    recorded.stop().await;
    delete(&estate, &sets).await;
    let client = Bare::new(&estate).await;
    let began = Instant::now();
    client.reads(&requests).await;
    client.zones_writes(&requests, str::to_owned).await;
    until_gone(&estate).await;
    let bare = began.elapsed();
    let daemon = Subject::start(&estate, "1h", &[]).await;
    many_sets(&estate).await;
    daemon.pass("").await;
    let sets = objects::list(&estate.client, &estate.namespace, "dnsrecordsets").await;
    delete(&estate, &sets).await;
    let began = Instant::now();
    tokio::join!(daemon.nudge(""), until_gone(&estate));
    report.ratio("12,000 RRsets deleted", began.elapsed(), bare, 1.5);
    daemon.pass("").await;
    let left = objects::list(&estate.client, &estate.namespace, "dnsrecordsets").await;
    assert!(left.is_empty(), "{} sets are left", left.len());
    daemon.stop().await;
    converged(&estate).await;
}

/// Passes over an estate at rest: `BENCH_PASSES`.
const PASSES: usize = 10_000;

/// Memory and descriptors over many passes with nothing to do.
pub async fn memory(report: &mut Report) {
    let passes = std::env::var("BENCH_PASSES").map_or(PASSES, |n| n.parse().expect("a number"));
    let estate = Estate::new("bench").await;
    production::build(&estate, PRODUCTION).await;
    Subject::start(&estate, "1h", &[]).await.stop().await;
    let daemon = Subject::start(&estate, "1h", &[]).await;
    let zone = format!("&zone={}/z1", estate.namespace);
    for _ in 0..passes.min(100) {
        daemon.pass(&zone).await;
    }
    let ((warm, _), open) = (daemon.memory(), daemon.descriptors());
    for _ in 0..passes {
        daemon.pass(&zone).await;
    }
    let (now, peak) = daemon.memory();
    let what = format!("resident after {passes} passes over production's estate at rest");
    report.most(&what, now, 64.0, "MiB");
    report.most("… growth since the first hundred", now - warm, 4.0, "MiB");
    report.told("… at the most", format!("{peak:.1} MiB"), json!({"peak": peak}));
    let more = daemon.descriptors().saturating_sub(open);
    report.most("… more descriptors than before", more as f64, 2.0, "descriptors");
    daemon.stop().await;
    converged(&estate).await;
}

/// Zones, with one record set of ten names each.
const SIZES: [usize; 3] = [100, 1000, 10_000];

/// So many zones, each with one record set of ten names, whose names begin with `prefix`.
pub async fn zones_of_ten(estate: &Estate, prefix: &str, zones: usize) {
    let made = (0..zones).map(|z| async move {
        let name = format!("{prefix}{z}");
        estate.zone(&name, &format!("{name}.example")).await;
        estate.set(&name, &name, "A", records("", 10, "192.0.2.1")).await;
    });
    stream::iter(made).buffer_unordered(16).collect::<()>().await;
}

/// 1,000, 10,000 and 100,000 RRsets.
pub async fn scale(report: &mut Report) {
    let mut points = Vec::new();
    for zones in SIZES {
        let estate = Estate::new("bench").await;
        zones_of_ten(&estate, "z", zones).await;
        let daemon = Subject::start(&estate, "1h", &[]).await;
        let first = daemon.passes().await[0].1;
        let (_, peak) = daemon.memory();
        let steady = daemon.pass_time("", 3).await;
        let skipping = daemon.pass_time(&format!("&zone={}/z1", estate.namespace), 3).await;
        let rrsets = zones * 10;
        let figures = json!({"first": first.as_secs_f64(), "read": steady.as_secs_f64(),
            "left": skipping.as_secs_f64(), "peakMiB": peak});
        report.told(
            &format!("{rrsets} RRsets in {zones} zones"),
            figures.to_string(),
            figures.clone(),
        );
        if zones == SIZES[2] {
            report.most("peak resident at the top", daemon.memory().1, 512.0, "MiB");
        }
        points.push((rrsets as f64, steady.as_secs_f64()));
        daemon.stop().await;
        converged(&estate).await;
    }
    plot("steady.svg", "A pass with nothing to do, every zone read", &points);
    report.most("exponent of a steady pass over the number of RRsets", exponent(&points), 1.1, "");
}

//! Edits in the largest zone of an estate of production's size: one, many, all.

use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt};
use serde_json::{Value, json};

use crate::bare::{Bare, until_last_write};
use crate::report::{Report, quantiles};
use crate::subject::{Subject, converged, recording};
use crate::support::estate::Estate;
use crate::support::production::{self, PRODUCTION, Shape};
use crate::support::query::query;
use crate::support::recorder::{Request, Server};

/// Edits whose median is taken.
const EDITS: usize = 100;
/// Between two questions.
const POLL: Duration = Duration::from_millis(5);
/// The set that is edited alone.
const SET: usize = 1200;

/// Waits until DNS has an address for a name.
pub async fn until_served(estate: &Estate, name: &str, address: &str) {
    let began = Instant::now();
    loop {
        let answer = query(estate.pdns.dns_addr(), name, "A").await;
        if answer.answers.iter().any(|a| a == address) {
            return;
        }
        assert!(began.elapsed() < Duration::from_mins(5), "{name}: {answer:?}");
        tokio::time::sleep(POLL).await;
    }
}

/// Puts an edition of addresses into sets, side by side; returns when the last edit was answered.
async fn edit_sets(estate: &Estate, objects: &[Value], sets: &[usize], edition: usize) {
    let edits = sets.iter().map(|set| async move {
        let records = PRODUCTION.records(*set, edition);
        estate.edit(&objects[*set], json!({ "records": records })).await;
    });
    stream::iter(edits).buffer_unordered(16).collect::<()>().await;
}

async fn all_served(estate: &Estate, sets: &[usize], edition: usize) {
    for set in sets {
        until_served(estate, &PRODUCTION.name(*set), &Shape::address(*set, edition)).await;
    }
}

/// The same request for another edition of the same addresses.
fn editions(from: usize, to: usize) -> impl Fn(&str) -> String {
    move |text| text.replace(&format!("\"10.{from}."), &format!("\"10.{to}."))
}

/// What one edit of these sets asks for, as a daemon at rest does it.
async fn requests(estate: &Estate, objects: &[Value], sets: &[usize], query: &str) -> Vec<Request> {
    let daemon = Subject::recorded(estate).await;
    daemon.pass("").await;
    daemon.pass("").await;
    edit_sets(estate, objects, sets, 1).await;
    let requests = recording(estate, &daemon, query).await;
    daemon.stop().await;
    requests
}

/// 100 edits, one after the other, each with a nudge for its zone.
pub async fn edit(report: &mut Report) {
    let estate = Estate::new("bench").await;
    let objects = production::build(&estate, PRODUCTION).await;
    let zone = format!("zone={}/z0", estate.namespace);
    let recorded = requests(&estate, &objects, &[SET], &format!("&{zone}")).await;
    let recorded = until_last_write(recorded);
    let client = Bare::new(&estate).await;
    let mut bare = Vec::new();
    for edition in 2..2 + EDITS {
        edit_sets(&estate, &objects, &[SET], edition).await;
        let began = Instant::now();
        client.reads(&recorded).await;
        client.zones_writes(&recorded, editions(1, edition)).await;
        all_served(&estate, &[SET], edition).await;
        bare.push(began.elapsed());
    }
    let daemon = Subject::start(&estate, "1h", &[]).await;
    daemon.pass("").await;
    daemon.pass("").await;
    let mut ours = Vec::new();
    for edition in 2 + EDITS..2 + 2 * EDITS {
        edit_sets(&estate, &objects, &[SET], edition).await;
        let began = Instant::now();
        tokio::join!(daemon.nudge(&zone), all_served(&estate, &[SET], edition));
        ours.push(began.elapsed());
        // The next edit meets a daemon at rest.
        daemon.pass(&format!("&{zone}")).await;
    }
    daemon.stop().await;
    let ((median, p95), (bare_median, bare_p95)) = (quantiles(&ours), quantiles(&bare));
    let what = "one edit in the zone of 2,399 sets, nudged with its zone, median of 100";
    report.ratio(what, median, bare_median, 1.5);
    let both = json!({"ours": p95.as_secs_f64(), "bare": bare_p95.as_secs_f64()});
    let ratio = p95.as_secs_f64() / bare_p95.as_secs_f64();
    report.told("… 95th percentile", format!("{ratio:.2} × bare"), both);
    converged(&estate).await;
}

/// 200 edits at once in the largest zone, then one of every set.
pub async fn edits(report: &mut Report) {
    let estate = Estate::new("bench").await;
    let objects = production::build(&estate, PRODUCTION).await;
    let some: Vec<usize> = (0..200).map(|n| n * 11).collect();
    let all: Vec<usize> = (0..PRODUCTION.sets).collect();
    for (what, sets, chunks) in [
        ("200 edits at once in that zone, until all are served", some, 1),
        ("an edit of every set of the estate, until all are served", all, 5 + PRODUCTION.zones),
    ] {
        let recorded = until_last_write(requests(&estate, &objects, &sets, "").await);
        let writes = recorded.iter().filter(|r| r.server == Server::PowerDns && r.is_write());
        let patches = writes.count();
        edit_sets(&estate, &objects, &sets, 2).await;
        let client = Bare::new(&estate).await;
        let began = Instant::now();
        client.reads(&recorded).await;
        client.zones_writes(&recorded, editions(1, 2)).await;
        all_served(&estate, &sets, 2).await;
        let bare = began.elapsed();
        let daemon = Subject::start(&estate, "1h", &[]).await;
        daemon.pass("").await;
        edit_sets(&estate, &objects, &sets, 3).await;
        let began = Instant::now();
        tokio::join!(daemon.nudge(""), all_served(&estate, &sets, 3));
        report.ratio(what, began.elapsed(), bare, 1.5);
        report.most("… PATCHes", patches as f64, chunks as f64, "requests");
        daemon.pass("").await;
        daemon.stop().await;
    }
    converged(&estate).await;
}

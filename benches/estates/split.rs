//! One PowerDNS for the zones of two namespaces: served by one daemon, and by two that each read one of them.

use std::time::Duration;

use serde_json::json;

use crate::report::Report;
use crate::size::{delete, zones_of_ten};
use crate::subject::{Counters, Subject};
use crate::support::estate::Estate;
use crate::support::objects;
use crate::whole::serials;

/// Zones of each namespace, with ten names each.
const ZONES: usize = 1000;

async fn pair() -> [Estate; 2] {
    let both = [Estate::new("bench").await, Estate::new("bench").await];
    for (estate, prefix) in both.iter().zip(["one", "two"]) {
        zones_of_ten(estate, prefix, ZONES).await;
    }
    both
}

fn told(report: &mut Report, what: &str, [first, steady]: [Duration; 2], (_, peak): (f64, f64)) {
    let figures =
        json!({"first": first.as_secs_f64(), "read": steady.as_secs_f64(), "peakMiB": peak});
    report.told(what, figures.to_string(), figures.clone());
}

pub async fn split(report: &mut Report) {
    let [one, two] = pair().await;
    let both = [("namespaces", json!([one.namespace, two.namespace]))];
    let daemon = Subject::start(&one, "1h", &both).await;
    let times = [daemon.passes().await[0].1, daemon.pass_time("", 3).await];
    told(
        report,
        "20,000 RRsets in 2,000 zones of two namespaces, one daemon",
        times,
        daemon.memory(),
    );
    daemon.stop().await;

    let [one, two] = pair().await;
    // One after the other: PowerDNS on sqlite before 4.9.2 refuses one of two writers.
    let daemons = [
        Subject::owner(&one, &one.pdns, "one").await,
        Subject::owner(&two, &one.pdns, "two").await,
    ];
    let [a, b] = &daemons;
    let (read, written) = (serials(&one).await, [a.counters().await, b.counters().await]);
    let steady = tokio::join!(a.pass_time("", 3), b.pass_time("", 3));
    for (daemon, before) in daemons.iter().zip(written) {
        let after = daemon.counters().await;
        let writes = |c: &Counters| c.powerdns_writes + c.kubernetes_writes;
        assert!(writes(&after) - writes(&before) < 1.0, "one touches what is the other's");
    }
    assert_eq!(serials(&one).await, read, "a serial moved");
    for (daemon, steady) in daemons.iter().zip([steady.0, steady.1]) {
        let times = [daemon.passes().await[0].1, steady];
        told(report, "… one of two daemons, side by side", times, daemon.memory());
    }

    for plural in ["dnsrecordsets", "dnszones"] {
        let gone = objects::list(&two.client, &two.namespace, plural).await;
        delete(&two, &gone).await;
    }
    b.pass("").await;
    a.pass("").await;
    let left = serials(&one).await;
    let theirs = read.into_iter().filter(|(name, _)| name.contains("one"));
    assert_eq!(left, theirs.collect(), "the end of one's zones is not the other's");
    for daemon in daemons {
        daemon.stop().await;
    }
}

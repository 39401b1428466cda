//! How soon an edit is served: from the API server's answer to it until the first DNS answer with the new value, asked for
//! every 5 ms, with a nudge for its zone.
//!
//! Without `SERVED_EDITS` the estate is small and only that edits are served is looked at: machines that run tests are
//! busy. `make served` asks for so many edits in the largest zone of an estate of production's size and judges their median.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "tests wait, read the clock and the environment")]
#![allow(clippy::print_stdout, reason = "a measurement says what it found")]

mod support;

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use support::apiserver::ApiServer;
use support::daemon::{self, ConfigFile, Running};
use support::estate::Estate;
use support::production::{self, PRODUCTION, Shape};
use support::query::query;

/// Between two questions.
const POLL: Duration = Duration::from_millis(5);
/// Longest time that any edit may take, however busy the machine is.
const LOST: Duration = Duration::from_mins(2);
/// What the median of the edits must stay below.
const MEDIAN: Duration = Duration::from_secs(1);

fn number(variable: &str) -> Option<usize> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

/// A daemon with its token, and its configuration, whose files it reads again and again.
struct Beside {
    daemon: Running,
    admin: String,
    _config: ConfigFile,
}

/// A daemon of its own beside an estate: no proxy is in between, and nothing waits for a limit unless `SERVED_RATE` sets
/// one (requests a second to PowerDNS, and at once).
async fn run(estate: &Estate) -> Beside {
    let rate = number("SERVED_RATE").unwrap_or(10_000);
    let api = ApiServer::shared();
    let config = ConfigFile::direct(api.kubeconfig(), &estate.pdns, "test", &estate.namespace)
        .with("interval", json!("15s"))
        .with("powerdns.requestsPerSecond", json!(rate))
        .with("powerdns.burst", json!(rate))
        .with("kubernetes", json!({"writesPerSecond": 10_000, "burst": 10_000}))
        .with("log.level", json!("info"));
    let (config, admin) = config.with_secret("http.adminTokenFile");
    println!("powerdns.requestsPerSecond and burst: {rate}; interval: 15s");
    Beside { daemon: daemon::run(&config).await, admin, _config: config }
}

impl Beside {
    async fn nudge(&self, query: &str) -> (u16, Value) {
        let path = format!("/v1/sync?{query}");
        self.daemon.call(Method::POST, &path, Some(&self.admin)).await
    }
}

/// Edits a set, nudges for its zone, and asks DNS until it has the new address.
async fn served(
    estate: &Estate,
    daemon: &Beside,
    (shape, sets): (Shape, &[Value]),
    (set, edition): (usize, usize),
) -> Duration {
    let records = shape.records(set, edition);
    estate.edit(&sets[set], json!({ "records": records })).await;
    let began = Instant::now();
    let zone = format!("zone={}/z0", estate.namespace);
    let nudge = daemon.nudge(&zone);
    let (name, address) = (shape.name(set), Shape::address(set, edition));
    let answer = async {
        loop {
            let answer = query(estate.pdns.dns_addr(), &name, "A").await;
            if answer.answers.contains(&address) {
                return began.elapsed();
            }
            assert!(began.elapsed() < LOST, "{name}: {answer:?}");
            tokio::time::sleep(POLL).await;
        }
    };
    let ((status, body), took) = tokio::join!(nudge, answer);
    assert_eq!(status, 202, "{body}");
    took
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_are_served() {
    let measured = number("SERVED_EDITS");
    let small = Shape { zones: 4, sets: 40, largest: 30, entries: 60 };
    let shape = if measured.is_some() { PRODUCTION } else { small };
    let estate = Estate::new("served").await;
    let sets = production::build(&estate, shape).await;
    let daemon = run(&estate).await;
    let began = Instant::now();
    let (status, report) = daemon.nudge("wait=600s").await;
    assert_eq!((status, &report["ok"]), (200, &json!(true)), "{report}");
    println!("{shape:?}: all programmed after {:?}", began.elapsed());

    let mut took = Vec::new();
    for edition in 1..=measured.unwrap_or(3) {
        let set = edition * 97 % shape.largest;
        took.push(served(&estate, &daemon, (shape, &sets), (set, edition)).await);
        // The statuses of this edit are written, and the next one meets a daemon at rest.
        assert_eq!(daemon.nudge("wait=600s").await.0, 200);
    }
    took.sort();
    let (median, p95) = (took[took.len() / 2], took[(took.len() * 95).div_ceil(100) - 1]);
    println!("served after: median {median:?}, p95 {p95:?}, of {}: {took:?}", took.len());
    assert!(measured.is_none() || median < MEDIAN, "the median is {median:?}");
}

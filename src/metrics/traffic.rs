//! Series of what goes in and out: requests to both servers, what the limits cost, nudges.

use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{CounterVec, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Registry};

use super::series;

/// Upper bounds of a request's duration, in seconds: a list of one zone on loopback to the longest time-out that is sensible.
const SECONDS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// Requests, limits, nudges.
#[derive(Debug)]
pub(super) struct Traffic {
    pub(super) powerdns: IntCounterVec,
    pub(super) powerdns_seconds: HistogramVec,
    pub(super) kubernetes: IntCounterVec,
    pub(super) throttled: CounterVec,
    pub(super) nudges: IntCounterVec,
    pub(super) sent_bytes: IntCounter,
    pub(super) sent_rrsets: IntCounter,
}

impl Traffic {
    /// Registers them.
    ///
    /// # Errors
    /// If two series have one name.
    pub(super) fn new(registry: &Registry) -> Result<Traffic, prometheus::Error> {
        let counter = |name: &str, help: &str, labels: &[&str]| {
            series::counters(registry, name, help, labels)
        };
        let total = |name: &str, help: &str| series::counter(registry, name, help);
        let options = HistogramOpts::new(
            "dns_syncd_powerdns_request_duration_seconds",
            "Time from sending a request to PowerDNS to the end of its answer, by method and route: server (what it is), zones \
             (the list, a new zone), zone (one of them).",
        );
        let powerdns_seconds =
            HistogramVec::new(options.buckets(SECONDS.to_vec()), &["method", "route"])?;
        registry.register(Box::new(powerdns_seconds.clone()))?;
        let throttled = series::sums(
            registry,
            ("throttle_wait_seconds_total", "server"),
            "Time that requests waited for a rate limit, a slot, the one writer or the lease, by server: powerdns, kubernetes.",
        )?;
        Ok(Traffic {
            powerdns: counter(
                "powerdns_requests_total",
                "Requests to PowerDNS by method and status code (none: no answer).",
                &["method", "code"],
            )?,
            powerdns_seconds,
            kubernetes: counter(
                "kubernetes_writes_total",
                "Writes to the API server by what was written (metadata, status, delete, event) and status code (none: no answer).",
                &["what", "code"],
            )?,
            throttled,
            nudges: counter(
                "nudges_total",
                "Requests to /v1/sync by what became of them: accepted, coalesced (accepted, and served by a pass that somebody had asked for already), refused.",
                &["result"],
            )?,
            sent_bytes: total(
                "powerdns_sent_bytes_total",
                "Bytes of the bodies sent to PowerDNS.",
            )?,
            sent_rrsets: total("powerdns_sent_rrsets_total", "RRsets in them.")?,
        })
    }

    /// Requests to PowerDNS, whatever became of them.
    pub(super) fn powerdns_sent(&self) -> u64 {
        sum(&self.powerdns)
    }

    /// Writes to the API server, whatever became of them.
    pub(super) fn kubernetes_written(&self) -> u64 {
        sum(&self.kubernetes)
    }
}

/// What of the API a path below the server is.
pub(super) fn route(path: &str) -> &'static str {
    let path = path.split('?').next().unwrap_or_default();
    match path.strip_prefix("/zones") {
        None => "server",
        Some("") => "zones",
        Some(_) => "zone",
    }
}
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count is whole and not negative"
)]
fn sum(series: &IntCounterVec) -> u64 {
    let families = series.collect();
    let all = families.iter().flat_map(MetricFamily::get_metric);
    all.map(|metric| metric.get_counter().get_value() as u64).sum()
}

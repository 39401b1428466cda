//! What is counted, under the prefix `dns_syncd_`, and the clock hand that shows whether anything moves.
#![expect(clippy::disallowed_methods, reason = "liveness is about real time")]

mod begun;
mod levels;
mod progress;
mod series;
mod states;
mod traffic;
mod zones;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use prometheus::{
    Encoder, Gauge, GaugeVec, Histogram, HistogramOpts, IntCounterVec, IntGauge, Opts, Registry,
    TextEncoder,
};

use self::begun::Begun;
use self::levels::Levels;
use self::progress::Progress;
pub use self::progress::{Stage, Step};
use self::states::States;
use self::traffic::Traffic;
use self::zones::Zones;
use crate::plan::summary::Summary;
use crate::plan::view::View;

/// All series of the process, and its monotonic clock.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    started: Instant,
    moved: AtomicU64,
    passes: IntCounterVec,
    pass_seconds: Histogram,
    last_success: Gauge,
    begun: Begun,
    failures: IntGauge,
    settings: GaugeVec,
    states: States,
    traffic: Traffic,
    progress: Progress,
    zone_series: OnceLock<Zones>,
    rrsets: IntCounterVec,
    levels: Levels,
    leader: IntGauge,
}

impl Metrics {
    /// Registers every series.
    ///
    /// # Errors
    /// If two have one name, which a test would show.
    pub fn new() -> Result<Metrics, prometheus::Error> {
        let registry = Registry::new();
        let counter = |name: &str, help: &str, labels: &[&str]| {
            series::counters(&registry, name, help, labels)
        };
        let gauge = |name: &str, help: &str| series::gauge(&registry, name, help);
        let buckets = vec![0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0];
        let options =
            HistogramOpts::new("dns_syncd_pass_duration_seconds", "How long passes took.");
        let pass_seconds = Histogram::with_opts(options.buckets(buckets))?;
        registry.register(Box::new(pass_seconds.clone()))?;
        let last_success = Gauge::new(
            "dns_syncd_last_successful_pass_timestamp_seconds",
            "Unix time at the end of the last pass with the result ok.",
        )?;
        registry.register(Box::new(last_success.clone()))?;
        build_info(&registry)?;
        Ok(Metrics {
            passes: counter(
                "passes_total",
                "Passes by result. failed: a change without proof, an object not secured, a status not written, or \
                 PowerDNS not read at all; none: no pass, Kubernetes could not be read; ok: all others.",
                &["result"],
            )?,
            failures: gauge(
                "consecutive_failed_passes",
                "Passes since the last one with the result ok.",
            )?,
            settings: settings(&registry)?,
            states: States::new(&registry)?,
            traffic: Traffic::new(&registry)?,
            rrsets: counter(
                "rrset_changes_total",
                "Changes of RRsets that PowerDNS acknowledged: create, replace, delete, adopt.",
                &["action"],
            )?,
            levels: Levels::new(&registry)?,
            leader: gauge(
                "leader",
                "1 while this process runs passes, 0 while another one does or nobody can; the gauges of the last pass are \
                 then 0 too.",
            )?,
            progress: Progress::new(&registry)?,
            begun: Begun::new(&registry)?,
            zone_series: OnceLock::new(),
            pass_seconds,
            last_success,
            registry,
            started: Instant::now(),
            moved: AtomicU64::new(0),
        })
    }

    /// Has series of each zone from now on.
    ///
    /// # Errors
    /// If they are there already.
    pub fn per_zone(&self) -> Result<(), prometheus::Error> {
        let zones = Zones::new(&self.registry)?;
        self.zone_series.set(zones).map_err(|_| prometheus::Error::AlreadyReg)
    }

    /// Shows each zone as a pass left it, where that is asked for.
    pub fn zones(&self, view: &View) {
        if let Some(zones) = self.zone_series.get() {
            zones.show(view);
        }
    }

    /// Milliseconds since the process started.
    #[must_use]
    pub fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Requests to PowerDNS so far, and writes to the API server.
    #[must_use]
    pub fn requests(&self) -> (u64, u64) {
        (self.traffic.powerdns_sent(), self.traffic.kubernetes_written())
    }

    /// The running pass begins with so many objects or zones of a stage; 0 where that is not known.
    pub fn stage(&self, stage: Stage, total: usize) {
        self.progress.put(Some(Step { stage, done: 0, total }), self.started.elapsed());
    }

    /// So many more of them are done.
    pub fn advance(&self, by: usize) {
        self.progress.advance(by);
    }

    /// No pass is running any more.
    pub fn pass_over(&self) {
        self.progress.put(None, self.started.elapsed());
    }

    /// How far the running pass is, if there is one.
    #[must_use]
    pub fn progress(&self) -> Option<Step> {
        self.progress.now()
    }

    /// An answer came in, or something else went forward.
    pub fn moved(&self) {
        self.moved.store(self.now(), Ordering::Relaxed);
    }

    /// Milliseconds since anything moved.
    #[must_use]
    pub fn still_for(&self) -> u64 {
        self.now().saturating_sub(self.moved.load(Ordering::Relaxed))
    }

    /// Notes whether this process runs passes. When it does no more, what its last pass left is another's to tell.
    pub fn leader(&self, leads: bool) {
        self.leader.set(i64::from(leads));
        if !leads {
            self.failures.set(0);
            self.show(&Summary::default());
            self.zones(&View::default());
        }
    }

    /// Counts a request to PowerDNS that was sent at `began`; `path` is below the server's.
    pub fn powerdns_request(&self, (method, path): (&str, &str), code: &str, began: Instant) {
        self.traffic.powerdns.with_label_values(&[method, code]).inc();
        let seconds = began.elapsed().as_secs_f64();
        self.traffic
            .powerdns_seconds
            .with_label_values(&[method, traffic::route(path)])
            .observe(seconds);
        self.moved();
    }

    /// Counts a body that is sent to PowerDNS.
    pub fn powerdns_body(&self, bytes: usize, rrsets: usize) {
        self.traffic.sent_bytes.inc_by(bytes as u64);
        self.traffic.sent_rrsets.inc_by(rrsets as u64);
    }

    /// Counts a write to the API server.
    pub fn kubernetes_write(&self, what: &str, code: &str) {
        self.traffic.kubernetes.with_label_values(&[what, code]).inc();
    }

    /// Adds what a request to a server has waited for its limits.
    pub fn throttled(&self, server: &str, began: Instant) {
        let seconds = began.elapsed().as_secs_f64();
        self.traffic.throttled.with_label_values(&[server]).inc_by(seconds);
    }

    /// Counts a request to `/v1/sync`: `accepted`, `coalesced` or `refused`.
    pub fn nudge(&self, result: &str) {
        self.traffic.nudges.with_label_values(&[result]).inc();
    }

    /// Shows a number of the configuration in effect, by the option's path.
    pub fn setting(&self, option: &str, value: f64) {
        self.settings.with_label_values(&[option]).set(value);
    }

    /// This moment, for the durations above.
    #[must_use]
    pub fn begin(&self) -> Instant {
        Instant::now()
    }

    /// A pass begins. `unix` is the time in seconds; `retried`: because the one before left something to try again.
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 fit a double")]
    pub fn pass_begins(&self, unix: i64, retried: bool) {
        self.begun.last_start.set(unix as f64);
        self.begun.retries.inc_by(u64::from(retried));
    }

    /// Counts a pass that came to an end. `unix` is the time in seconds.
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 fit a double")]
    pub fn pass(&self, summary: &Summary, seconds: f64, unix: i64) {
        let clean = summary.failed.is_empty();
        self.passes.with_label_values(&[if clean { "ok" } else { "failed" }]).inc();
        self.pass_seconds.observe(seconds);
        if clean {
            self.last_success.set(unix as f64);
            self.failures.set(0);
        } else {
            self.failures.inc();
        }
        for (action, count) in [
            ("create", summary.created),
            ("replace", summary.replaced),
            ("delete", summary.deleted),
            ("adopt", summary.adopted),
        ] {
            self.rrsets.with_label_values(&[action]).inc_by(count as u64);
        }
        self.begun.idle.inc_by(u64::from(!summary.changes_anything()));
        self.states.observe(&summary.census, unix);
        self.show(summary);
    }

    /// Shows how things stand after a pass.
    fn show(&self, summary: &Summary) {
        self.states.levels(&summary.census);
        self.levels.show(summary);
    }

    /// Counts a pass that could not be made, because a list was incomplete.
    pub fn no_pass(&self) {
        self.passes.with_label_values(&["none"]).inc();
        self.failures.inc();
    }

    /// The exposition format, version 0.0.4.
    ///
    /// # Errors
    /// If a series cannot be encoded.
    pub fn text(&self) -> Result<String, prometheus::Error> {
        let mut out = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut out)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

fn build_info(registry: &Registry) -> Result<(), prometheus::Error> {
    let build =
        Opts::new("dns_syncd_build_info", "Always 1; its label is the version of the daemon.");
    let build = GaugeVec::new(build, &["version"])?;
    build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1.0);
    registry.register(Box::new(build))
}

fn settings(registry: &Registry) -> Result<GaugeVec, prometheus::Error> {
    let settings = Opts::new(
        "dns_syncd_setting",
        "Numbers of the configuration in effect, by the path of the option: rates, bursts, concurrency, the request \
         time-out, and the interval if it is a duration.",
    );
    let settings = GaugeVec::new(settings, &["option"])?;
    registry.register(Box::new(settings.clone()))?;
    Ok(settings)
}

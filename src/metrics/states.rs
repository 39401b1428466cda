//! Series of the states that names and objects are in after a pass, and of how long it took them.

use prometheus::{Histogram, HistogramOpts, IntGauge, IntGaugeVec, Opts, Registry};

use super::series;
use crate::api::conditions::reason;
use crate::plan::census::Census;

/// Upper bounds in seconds, from an interval's pass to a working day.
const SECONDS: [f64; 10] = [1.0, 2.5, 5.0, 10.0, 15.0, 30.0, 60.0, 300.0, 3600.0, 28800.0];
/// The reasons that a name's condition can have while it is not programmed; each has its series from the start.
const REASONS: [&str; 5] =
    [reason::CONFLICT, reason::NOT_OWNER, reason::PDNS_ERROR, reason::PENDING, reason::ZONE_IN_USE];

/// States and times.
#[derive(Debug)]
pub(super) struct States {
    unprogrammed: IntGaugeVec,
    declared: IntGaugeVec,
    programmed_names: IntGaugeVec,
    foreign: IntGauge,
    terminating: IntGauge,
    oldest_deletion: IntGauge,
    programmed: Histogram,
}

impl States {
    /// Registers them.
    ///
    /// # Errors
    /// If two series have one name.
    pub(super) fn new(registry: &Registry) -> Result<States, prometheus::Error> {
        let gauge = |name: &str, help: &str| series::gauge(registry, name, help);
        let unprogrammed = Opts::new(
            "dns_syncd_unprogrammed_names",
            "Names of record sets that are not programmed, by the reason of their condition: Conflict, NotOwner, PDNSError, \
             Pending, DNSZoneInUse.",
        );
        let unprogrammed = IntGaugeVec::new(unprogrammed, &["reason"])?;
        registry.register(Box::new(unprogrammed.clone()))?;
        let by_type = |name: &str, help: &str| series::gauges(registry, (name, "type"), help);
        let options = HistogramOpts::new(
            "dns_syncd_time_from_generation_to_programmed_seconds",
            "Time from the last change of a record set's spec, as the API server notes it in seconds, to the \
             status that calls it programmed.",
        );
        let programmed = Histogram::with_opts(options.buckets(SECONDS.to_vec()))?;
        registry.register(Box::new(programmed.clone()))?;
        Ok(States {
            unprogrammed,
            declared: by_type(
                "declared_names",
                "Names that accepted record sets declare, by type.",
            )?,
            programmed_names: by_type(
                "programmed_names",
                "Those of them that are served as they are declared, by type.",
            )?,
            foreign: gauge(
                "foreign_zones",
                "DNSZones whose class is another controller's: this daemon passes over them.",
            )?,
            terminating: gauge(
                "terminating_objects",
                "Objects that are being deleted and wait for this daemon.",
            )?,
            oldest_deletion: gauge(
                "oldest_deletion_timestamp_seconds",
                "Unix time at which the oldest object that waits for this daemon was deleted; 0 if there is none.",
            )?,
            programmed,
        })
    }

    /// Shows how things stand after a pass.
    pub(super) fn levels(&self, census: &Census) {
        let set = |gauge: &IntGauge, n: usize| gauge.set(i64::try_from(n).unwrap_or(i64::MAX));
        for reason in REASONS {
            let count = census.unprogrammed.get(reason).copied().unwrap_or_default();
            set(&self.unprogrammed.with_label_values(&[reason]), count);
        }
        self.declared.reset();
        self.programmed_names.reset();
        for (rtype, (declared, served)) in &census.declared {
            set(&self.declared.with_label_values(&[rtype]), *declared);
            set(&self.programmed_names.with_label_values(&[rtype]), *served);
        }
        set(&self.foreign, census.foreign);
        set(&self.terminating, census.terminating);
        self.oldest_deletion.set(census.oldest_deletion.unwrap_or_default());
    }

    /// Takes in what came to be programmed in a pass that ended at `unix`, in seconds.
    #[expect(clippy::cast_precision_loss, reason = "seconds fit a double")]
    pub(super) fn observe(&self, census: &Census, unix: i64) {
        for changed in &census.programmed {
            // The clocks of two machines.
            self.programmed.observe((unix - changed).max(0) as f64);
        }
    }
}

//! Series of how things stand after a pass, out of its summary.

use prometheus::{IntGauge, Registry};

use super::series;
use crate::plan::summary::Summary;

/// Levels of the last pass.
#[derive(Debug)]
pub(super) struct Levels {
    record_sets: IntGauge,
    zones: IntGauge,
    unchanged: IntGauge,
    failed: IntGauge,
    held: IntGauge,
    left_alone: IntGauge,
    orphans: IntGauge,
    holds: IntGauge,
    backed_off_zones: IntGauge,
    backed_off_names: IntGauge,
    in_vain: IntGauge,
}

impl Levels {
    /// Registers them.
    ///
    /// # Errors
    /// If two series have one name.
    pub(super) fn new(registry: &Registry) -> Result<Levels, prometheus::Error> {
        let gauge = |name: &str, help: &str| series::gauge(registry, name, help);
        Ok(Levels {
            record_sets: gauge("record_sets", "DNSRecordSets that were input to the last pass.")?,
            zones: gauge("zones", "DNSZones that were input to the last pass.")?,
            unchanged: gauge(
                "zones_unchanged",
                "Zones that the last pass did not read, since nothing of them has changed.",
            )?,
            failed: gauge(
                "failed_changes",
                "How many entries failed has in the summary of the last pass: changes without proof, and what else makes \
                 a pass failed.",
            )?,
            held: gauge(
                "held",
                "How many entries held has in the summary of the last pass: names and deletions that wait for another \
                 reason, also what could not be read; record sets that are not accepted; DNSZones that are not served, \
                 unless their class is another controller's; brakes.",
            )?,
            left_alone: gauge("rrsets_left_alone", "RRsets that nobody declares and that stay.")?,
            orphans: gauge("orphan_zones", "Zones with our mark and no DNSZone.")?,
            holds: gauge(
                "deletion_holds",
                "Brakes that hold deletes until somebody releases them.",
            )?,
            backed_off_zones: gauge(
                "backed_off_zones",
                "Zones that failed and wait for their next try.",
            )?,
            backed_off_names: gauge(
                "backed_off_names",
                "Names that failed and wait for their next try.",
            )?,
            in_vain: gauge(
                "acknowledged_in_vain_names",
                "Names that PowerDNS acknowledges and does not serve.",
            )?,
        })
    }

    /// Shows those of a summary.
    pub(super) fn show(&self, summary: &Summary) {
        let set = |gauge: &IntGauge, n: usize| gauge.set(i64::try_from(n).unwrap_or(i64::MAX));
        set(&self.record_sets, summary.record_sets);
        set(&self.zones, summary.zones);
        set(&self.unchanged, summary.unchanged);
        set(&self.failed, summary.failed.len());
        set(&self.held, summary.held.len());
        set(&self.left_alone, summary.left_alone);
        set(&self.orphans, summary.orphans.len());
        set(&self.holds, summary.holds);
        set(&self.backed_off_zones, summary.backed_off.0);
        set(&self.backed_off_names, summary.backed_off.1);
        set(&self.in_vain, summary.in_vain);
    }
}

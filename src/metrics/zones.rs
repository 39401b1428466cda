//! Series of single zones, which are there only where `metrics.perZone` asks for them: each zone makes its own.

use prometheus::{IntGaugeVec, Registry};

use super::series;
use crate::plan::view::View;

/// The label: namespace and name of a DNSZone, as a nudge names it.
const ZONE: &str = "zone";

/// One series a DNSZone and kind.
#[derive(Debug)]
pub(super) struct Zones {
    rrsets: IntGaugeVec,
    waiting: IntGaugeVec,
}

impl Zones {
    /// Registers them.
    ///
    /// # Errors
    /// If two series have one name.
    pub(super) fn new(registry: &Registry) -> Result<Zones, prometheus::Error> {
        let gauge = |name: &str, help: &str| series::gauges(registry, (name, ZONE), help);
        Ok(Zones {
            rrsets: gauge(
                "zone_rrsets",
                "With metrics.perZone: names and types that a DNSZone (namespace/name) holds.",
            )?,
            waiting: gauge(
                "zone_waiting",
                "With metrics.perZone: 1 while a DNSZone (namespace/name) is not as declared, else 0.",
            )?,
        })
    }

    /// Shows the DNSZones of a pass, and no other any more.
    pub(super) fn show(&self, view: &View) {
        self.rrsets.reset();
        self.waiting.reset();
        for (key, zone) in &view.zones {
            let key = key.to_string();
            let rrsets = i64::try_from(zone.rrsets).unwrap_or(i64::MAX);
            self.rrsets.with_label_values(&[&key]).set(rrsets);
            self.waiting.with_label_values(&[&key]).set(i64::from(zone.waits.is_some()));
        }
    }
}

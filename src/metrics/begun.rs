//! Series of passes as they begin and of those that find nothing to do.

use prometheus::{Gauge, IntCounter, Registry};

use super::series;

/// Beginnings.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) last_start: Gauge,
    pub(super) retries: IntCounter,
    pub(super) idle: IntCounter,
}

impl Begun {
    /// Registers them.
    ///
    /// # Errors
    /// If two series have one name.
    pub(super) fn new(registry: &Registry) -> Result<Begun, prometheus::Error> {
        let last_start = Gauge::new(
            "dns_syncd_last_pass_start_timestamp_seconds",
            "Unix time at which the last pass began.",
        )?;
        registry.register(Box::new(last_start.clone()))?;
        let counter = |name: &str, help: &str| series::counter(registry, name, help);
        Ok(Begun {
            last_start,
            retries: counter(
                "retry_passes_total",
                "Passes that began before their time, because the one before left something that is worth another try.",
            )?,
            idle: counter(
                "idle_passes_total",
                "Passes that changed nothing in PowerDNS, since nothing was to be changed or nothing could be.",
            )?,
        })
    }
}

//! One way to make a series: named with the common prefix, registered once.

use prometheus::core::Collector;
use prometheus::{
    CounterVec, Error, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
};

fn register<T: Collector + Clone + 'static>(registry: &Registry, series: T) -> Result<T, Error> {
    registry.register(Box::new(series.clone()))?;
    Ok(series)
}

fn named(name: &str, help: &str) -> Opts {
    Opts::new(format!("dns_syncd_{name}"), help)
}

pub(super) fn gauge(registry: &Registry, name: &str, help: &str) -> Result<IntGauge, Error> {
    register(registry, IntGauge::with_opts(named(name, help))?)
}

pub(super) fn counter(registry: &Registry, name: &str, help: &str) -> Result<IntCounter, Error> {
    register(registry, IntCounter::with_opts(named(name, help))?)
}

/// One gauge for each value of a label.
pub(super) fn gauges(
    registry: &Registry,
    (name, label): (&str, &str),
    help: &str,
) -> Result<IntGaugeVec, Error> {
    register(registry, IntGaugeVec::new(named(name, help), &[label])?)
}

/// One counter for each combination of labels.
pub(super) fn counters(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntCounterVec, Error> {
    register(registry, IntCounterVec::new(named(name, help), labels)?)
}

/// One sum of fractions for each value of a label.
pub(super) fn sums(
    registry: &Registry,
    (name, label): (&str, &str),
    help: &str,
) -> Result<CounterVec, Error> {
    register(registry, CounterVec::new(named(name, help), &[label])?)
}

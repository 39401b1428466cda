//! The Helm chart: what it renders, what it refuses, and that it says the same as the daemon. Each part in `chart/` is
//! one question.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests wait, read the clock and the environment"
)]

mod support;

#[path = "chart/alerts.rs"]
mod alerts;
#[path = "chart/cleanup.rs"]
mod cleanup;
#[path = "chart/crds.rs"]
mod crds;
#[path = "chart/helm.rs"]
mod helm;
#[path = "chart/installed.rs"]
mod installed;
#[path = "chart/refusals.rs"]
mod refusals;
#[path = "chart/rendered.rs"]
mod rendered;
#[path = "chart/rights.rs"]
mod rights;
#[path = "chart/values.rs"]
mod values;

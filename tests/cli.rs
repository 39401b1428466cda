//! The command line: words, exit codes, what is printed where, and that no secret ever is.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "tests wait, read the clock and the environment")]

mod support;

#[path = "cli/certificates.rs"]
mod certificates;
#[path = "cli/cleanup.rs"]
mod cleanup;
#[path = "cli/completions.rs"]
mod completions;
#[path = "cli/explain.rs"]
mod explain;
#[path = "cli/immutable.rs"]
mod immutable;
#[path = "cli/import.rs"]
mod import;
#[path = "cli/manifests.rs"]
mod manifests;
#[path = "cli/plan.rs"]
mod plan;
#[path = "cli/progress.rs"]
mod progress;
#[path = "cli/secrets.rs"]
mod secrets;
#[path = "cli/usage.rs"]
mod usage;

//! What whole estates cost on real servers, beside a *bare client* that sends the same requests with the same parallelism and
//! does nothing else. Both sides run in one process on one machine; what counts is their ratio.
//!
//! `make bench` runs all of it, `make bench GOAL=edit` a part. The figures go to `target/bench/estates.json`, as a table to the
//! terminal and, where they are a series, to `target/bench/*.svg`. It fails if anything is not programmed at the end.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a bench may panic")]
#![allow(clippy::disallowed_methods, reason = "it waits, reads the clock and the environment")]
#![allow(clippy::print_stdout, reason = "a measurement says what it found")]
#![allow(clippy::indexing_slicing, reason = "it indexes what it made")]
#![allow(clippy::cast_precision_loss, reason = "figures are for people")]
#![allow(missing_docs, unreachable_pub, reason = "everything here is the bench's")]

mod bare;
mod edits;
mod outage;
mod report;
mod size;
mod split;
mod subject;
#[path = "../../tests/support/mod.rs"]
mod support;
mod whole;

use report::Report;

/// Parts by name, in the order in which they run.
const GOALS: [&str; 10] = [
    "whole",
    "edit",
    "edits",
    "fresh",
    "large-set",
    "mass-delete",
    "outage",
    "split",
    "memory",
    "scale",
];

#[tokio::main]
async fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let unknown = wanted.iter().find(|w| !GOALS.contains(&w.as_str()));
    assert!(unknown.is_none(), "no goal is called {unknown:?}; there are {GOALS:?}");
    let mut report = Report::default();
    for goal in GOALS.into_iter().filter(|g| wanted.is_empty() || wanted.iter().any(|w| w == g)) {
        println!("== {goal}");
        match goal {
            "whole" => whole::whole(&mut report).await,
            "edit" => edits::edit(&mut report).await,
            "edits" => edits::edits(&mut report).await,
            "fresh" => whole::fresh_zones(&mut report).await,
            "large-set" => size::large_set(&mut report).await,
            "mass-delete" => size::mass_delete(&mut report).await,
            "outage" => outage::outage(&mut report).await,
            "split" => split::split(&mut report).await,
            "memory" => size::memory(&mut report).await,
            _ => size::scale(&mut report).await,
        }
    }
    report.save();
}

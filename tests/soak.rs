//! Sequences of what users, hands and accidents do, with the product in between: at each quiet point the servers must have
//! what a small reference model intends, and at no moment may a daemon touch what is not its own or say what is not so.
//!
//! `SOAK_SEED=<seed> cargo test --test soak` runs one sequence; a failure prints it, shrunk, with its seed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]
#![allow(
    clippy::indexing_slicing,
    reason = "the models index JSON, which gives null for what is not there"
)]
#![allow(clippy::disallowed_methods, reason = "tests wait, read the clock and the environment")]
#![allow(clippy::print_stderr, clippy::print_stdout, reason = "a soak says what it did")]
#![allow(
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    reason = "everything here is a test's"
)]
#![allow(
    missing_docs,
    unreachable_pub,
    dead_code,
    reason = "`pub` marks what the sequences are meant to use"
)]

#[path = "laws/cluster.rs"]
mod cluster;
#[path = "support/model.rs"]
mod model;
#[path = "soak/permit.rs"]
mod permit;
#[path = "soak/real.rs"]
mod real;
#[path = "soak/reference.rs"]
mod reference;
#[path = "soak/rest.rs"]
mod rest;
#[path = "soak/rig.rs"]
mod rig;
#[path = "soak/run.rs"]
mod run;
#[path = "soak/scene.rs"]
mod scene;
#[path = "soak/servers.rs"]
mod servers;
#[path = "soak/steps.rs"]
mod steps;
mod support;
#[path = "soak/words.rs"]
mod words;

use std::time::Instant;

use crate::real::Real;
use crate::rig::Rig;
use crate::run::{Case, Histogram, Place};

/// The sequences of the gate: always the same, so that it never fails for what a change did not do.
const GATE_SEED: u64 = 20_261_130;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|v| v.parse().ok())
}

/// Tries the cases of so many seeds, and fails with the first failures.
fn soak(mut place: Place, cases: u64, case: impl Fn(u64) -> Case) {
    if let Some(seed) = number("SOAK_SEED") {
        case(seed).check(&mut place).unwrap_or_else(|why| panic!("{why}"));
        return;
    }
    let first = number("SOAK_FIRST").unwrap_or(GATE_SEED);
    let cases = number("SOAK_CASES").unwrap_or(cases);
    let mut histogram = Histogram::default();
    let begun = Instant::now();
    let mut failures = 0;
    for n in 0..cases {
        let case = case(first + n);
        histogram.count(&case.steps);
        if let Err(why) = case.check(&mut place) {
            println!("{why}");
            failures += 1;
        }
        if failures > 4 {
            break;
        }
    }
    println!("{cases} sequences in {:?}\n{histogram}", begun.elapsed());
    assert_eq!(failures, 0, "sequences failed");
}

#[test]
fn in_process() {
    soak(Place::Models(Box::new(Rig::new())), 40, Case::new);
}

#[test]
fn on_real_servers() {
    soak(Place::Servers(Box::new(Real::new())), 4, Case::on_servers);
}

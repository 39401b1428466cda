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
    clippy::wildcard_enum_match_arm,
    reason = "most of what reads a step is about a few of them"
)]
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
#[path = "soak/replay.rs"]
mod replay;
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
#[path = "soak/unnoted.rs"]
mod unnoted;
#[path = "soak/words.rs"]
mod words;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::real::Real;
use crate::replay::Replay;
use crate::rig::Rig;
use crate::run::{Case, Histogram, Place};

/// The sequences of the gate: always the same, so that it never fails for what a change did not do.
const GATE_SEED: u64 = 20_261_130;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|v| v.parse().ok())
}

/// Failures that are shown before the rest is not tried.
const FAILURES: usize = 5;

/// What one soak did.
#[derive(Default)]
struct Done {
    sequences: u64,
    failures: usize,
    histogram: Histogram,
    remarks: Vec<String>,
}

/// Tries the cases of so many seeds, or of new seeds for as long as `SOAK_MINUTES` says, in places made by `place`.
fn soak(
    name: &str,
    threads: usize,
    cases: u64,
    place: impl Fn() -> Place + Sync,
    case: impl Fn(u64) -> Case + Sync,
) {
    if let Some(seed) = number("SOAK_SEED") {
        case(seed).check(&mut place()).unwrap_or_else(|why| panic!("{why}"));
        return;
    }
    let minutes = number("SOAK_MINUTES");
    let first = if minutes.is_some() { new_seed() } else { GATE_SEED };
    let first = number("SOAK_FIRST").unwrap_or(first);
    let cases = number("SOAK_CASES").unwrap_or(if minutes.is_some() { u64::MAX } else { cases });
    let (next, done) = (AtomicU64::new(0), Mutex::new(Done::default()));
    let begun = Instant::now();
    let over = || minutes.is_some_and(|m| begun.elapsed() > Duration::from_secs(60 * m));
    let work = || {
        let mut place = place();
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            if n >= cases || over() || done.lock().unwrap().failures >= FAILURES {
                break;
            }
            let case = case(first.wrapping_add(n));
            let outcome = case.check(&mut place);
            let mut done = done.lock().unwrap();
            done.sequences += 1;
            done.histogram.count(&case.steps);
            if let Err(why) = outcome {
                done.failures += 1;
                println!("{name}: {why}");
            }
        }
        done.lock().unwrap().remarks.extend(place.remark());
    };
    std::thread::scope(|scope| {
        let workers = (0..if minutes.is_some() { threads } else { 1 }).map(|_| scope.spawn(work));
        workers.collect::<Vec<_>>().into_iter().for_each(|w| w.join().unwrap());
    });
    let Done { sequences, failures, histogram, remarks } = done.into_inner().unwrap();
    println!(
        "{name}: {sequences} sequences from seed {first} on in {:?} {}\n{histogram}",
        begun.elapsed(),
        remarks.join(", ")
    );
    assert_eq!(failures, 0, "sequences failed");
}

fn new_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish() >> 1
}

#[test]
fn in_process() {
    soak("in_process", 2, 30, || Place::Models(Box::new(Rig::new())), Case::new);
}

#[test]
fn on_real_servers() {
    let place = || Place::Servers(Box::new(Real::new()));
    soak("on_real_servers", 2, 2, place, Case::on_servers);
}

#[test]
fn models_are_like_servers() {
    let place = || {
        let replay = Replay::new();
        let rig = Rig::with(&replay.places);
        Place::Both(Box::new(rig), Box::new(replay))
    };
    soak("models_are_like_servers", 1, 2, place, Case::new);
}

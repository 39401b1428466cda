//! The laws of a pass, for worlds made to collide. Each test is one law; what it means stands above it.
//!
//! `support/model.rs` is a PowerDNS as strict as the server, `laws/cluster.rs` an API server; the product's own `Syncer`
//! runs against both. `laws/oracle.rs` says what should come of it. A failed law prints the smallest world that breaks it
//! and the seed: `LAWS_SEED=<seed> cargo test --test laws <law>` tries the same worlds again, `LAWS_CASES=<n>` more or fewer.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]
#![allow(
    clippy::indexing_slicing,
    reason = "the models index JSON, which gives null for what is not there"
)]
#![allow(clippy::disallowed_methods, reason = "tests read the environment")]
#![allow(clippy::print_stderr, reason = "a failed law says how to see it again")]
#![allow(
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    reason = "everything here is a test's"
)]
#![allow(
    missing_docs,
    unreachable_pub,
    dead_code,
    reason = "`pub` marks what the laws are meant to use"
)]

#[path = "laws/braking.rs"]
mod braking;
#[path = "laws/census.rs"]
mod census;
#[path = "laws/cleaning.rs"]
mod cleaning;
#[path = "laws/cluster.rs"]
mod cluster;
#[path = "laws/combinations.rs"]
mod combinations;
#[path = "laws/contact.rs"]
mod contact;
#[path = "laws/decisions.rs"]
mod decisions;
#[path = "laws/edits.rs"]
mod edits;
#[path = "laws/explaining.rs"]
mod explaining;
#[path = "laws/files.rs"]
mod files;
#[path = "laws/holding.rs"]
mod holding;
#[path = "laws/holds.rs"]
mod holds;
#[path = "laws/importing.rs"]
mod importing;
#[path = "laws/lessons.rs"]
mod lessons;
#[path = "laws/missing.rs"]
mod missing;
#[path = "support/model.rs"]
mod model;
#[path = "laws/oracle.rs"]
mod oracle;
#[path = "laws/orphans.rs"]
mod orphans;
#[path = "laws/ownership.rs"]
mod ownership;
#[path = "laws/passes.rs"]
mod passes;
#[path = "laws/plans.rs"]
mod plans;
#[path = "laws/remembering.rs"]
mod remembering;
#[path = "laws/retries.rs"]
mod retries;
#[path = "laws/rig.rs"]
mod rig;
#[path = "laws/scenario.rs"]
mod scenario;
#[path = "laws/scene.rs"]
mod scene;
#[path = "laws/skipping.rs"]
mod skipping;
#[path = "laws/standings.rs"]
mod standings;
#[path = "support/combinations/mod.rs"]
mod table;
#[path = "laws/telling.rs"]
mod telling;
#[path = "laws/unchanged.rs"]
mod unchanged;
#[path = "laws/vocabulary.rs"]
mod vocabulary;
#[path = "laws/words.rs"]
mod words;
#[path = "laws/world.rs"]
mod world;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

/// The worlds of the gate: always the same, so that it never fails for what a change did not do. `LAWS_SEED=random`
/// looks for new ones.
const GATE_SEED: u64 = 20_261_130;

/// Tries a law on `cases` worlds.
fn law<S: Strategy>(cases: u32, worlds: &S, check: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let seed = match std::env::var("LAWS_SEED").as_deref() {
        Ok("random") => rand_seed(),
        Ok(text) => text.parse().unwrap(),
        Err(_) => GATE_SEED,
    };
    let cases = number("LAWS_CASES").map_or(cases, |n| u32::try_from(n).unwrap());
    // Where only the fact matters that a law is broken, the smallest world is not looked for: `LAWS_SHRINK=0`.
    let max_shrink_iters = number("LAWS_SHRINK").map_or(2_000, |n| u32::try_from(n).unwrap());
    let config = Config { cases, failure_persistence: None, max_shrink_iters, ..Config::default() };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    match TestRunner::new_with_rng(config, rng).run(worlds, check) {
        Ok(()) => {}
        Err(TestError::Fail(why, world)) => {
            panic!("LAWS_SEED={seed} breaks it: {why}\nin the world {world:#?}")
        }
        Err(TestError::Abort(why)) => panic!("LAWS_SEED={seed}: given up: {why}"),
    }
}

fn rand_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}

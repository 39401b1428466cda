//! Whole passes of the product's binary between a real kube-apiserver and a real `pdns_server`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests wait, read the clock and the environment"
)]
#![allow(clippy::needless_pass_by_value, reason = "json!(…) reads better without a borrow")]

mod support;

#[path = "pass/backends.rs"]
mod backends;
#[path = "pass/basics.rs"]
mod basics;
#[path = "pass/beside.rs"]
mod beside;
#[path = "pass/brakes.rs"]
mod brakes;
#[path = "pass/combinations.rs"]
mod combinations;
#[path = "pass/crash.rs"]
mod crash;
#[path = "pass/deletion.rs"]
mod deletion;
#[path = "pass/endings.rs"]
mod endings;
#[path = "pass/events.rs"]
mod events;
#[path = "pass/evidence.rs"]
mod evidence;
#[path = "pass/faults.rs"]
mod faults;
#[path = "pass/gaps.rs"]
mod gaps;
#[path = "pass/garbage.rs"]
mod garbage;
#[path = "pass/honesty.rs"]
mod honesty;
#[path = "pass/huge.rs"]
mod huge;
#[path = "pass/identity.rs"]
mod identity;
#[path = "pass/lists.rs"]
mod lists;
#[path = "pass/migration.rs"]
mod migration;
#[path = "pass/outages.rs"]
mod outages;
#[path = "pass/owners.rs"]
mod owners;
#[path = "pass/ownership.rs"]
mod ownership;
#[path = "pass/policies.rs"]
mod policies;
#[path = "pass/restores.rs"]
mod restores;
#[path = "pass/rows.rs"]
mod rows;
#[path = "pass/said.rs"]
mod said;
#[path = "support/combinations/mod.rs"]
mod table;
#[path = "pass/takeover.rs"]
mod takeover;
#[path = "pass/two_daemons.rs"]
mod two_daemons;
#[path = "pass/types.rs"]
mod types;
#[path = "pass/unreached.rs"]
mod unreached;

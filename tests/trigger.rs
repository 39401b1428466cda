//! The daemon as a process: when passes run, what its HTTP routes say, how it ends. Real servers on both sides, each
//! behind a recording proxy that can hold a pass in its middle.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "tests wait and read the clock")]

mod support;

#[path = "trigger/calls.rs"]
mod calls;
#[path = "trigger/clients.rs"]
mod clients;
#[path = "trigger/ends.rs"]
mod ends;
#[path = "trigger/health.rs"]
mod health;
#[path = "trigger/listener.rs"]
mod listener;
#[path = "trigger/log.rs"]
mod log;
#[path = "trigger/passes.rs"]
mod passes;
#[path = "trigger/progress.rs"]
mod progress;
#[path = "trigger/releases.rs"]
mod releases;
#[path = "trigger/rotation.rs"]
mod rotation;
#[path = "trigger/starts.rs"]
mod starts;
#[path = "trigger/states.rs"]
mod states;
#[path = "trigger/storms.rs"]
mod storms;
#[path = "trigger/ticks.rs"]
mod ticks;
#[path = "trigger/unchanged.rs"]
mod unchanged;
#[path = "trigger/watch.rs"]
mod watch;

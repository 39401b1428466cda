//! Two replicas: two real processes, one Lease on the real API server, one PowerDNS. Each process has proxies of its own
//! before both servers, so that it shows who sent what and when it was done.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "tests wait and read the clock")]

mod support;

#[path = "lease/commands.rs"]
mod commands;
#[path = "lease/fence.rs"]
mod fence;
#[path = "lease/fencing.rs"]
mod fencing;
#[path = "lease/handover.rs"]
mod handover;
#[path = "lease/nudges.rs"]
mod nudges;
#[path = "lease/pair.rs"]
mod pair;
#[path = "lease/record.rs"]
mod record;
#[path = "lease/standby.rs"]
mod standby;

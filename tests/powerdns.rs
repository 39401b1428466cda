//! The half of the product that speaks to PowerDNS, against a real `pdns_server` behind a recording proxy: every value
//! reads back, limits hold, a refused name stays alone, and no fault ever becomes a success.
//!
//! Whole passes with Kubernetes are in `pass.rs`; here the plans are made by hand or by `plan::decide` from objects that
//! no API server holds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "tests wait and read the clock")]

mod support;

#[path = "powerdns/faults.rs"]
mod faults;
#[path = "powerdns/isolation.rs"]
mod isolation;
#[path = "powerdns/keys.rs"]
mod keys;
#[path = "powerdns/limits.rs"]
mod limits;
#[path = "support/rdata.rs"]
mod rdata;
#[path = "powerdns/spec.rs"]
mod spec;
#[path = "powerdns/texts.rs"]
mod texts;
#[path = "powerdns/values.rs"]
mod values;
#[path = "powerdns/world.rs"]
mod world;

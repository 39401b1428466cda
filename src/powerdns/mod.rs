//! PowerDNS' HTTP API: reading both the list and the zones, and carrying out a zone's plan. It knows
//! nothing of Kubernetes.

mod apply;
mod client;
mod isolation;
mod keyring;
mod limiter;
mod read;
mod serial;
pub mod wire;

pub use apply::{Applier, apply_zone};
pub use client::{Client, Error, Lost, Options};
pub use keyring::Key;
pub use limiter::Limiter;
pub use read::{Reading, read};

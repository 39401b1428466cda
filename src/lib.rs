//! Keeps PowerDNS equal to what Kubernetes resources declare, by periodic full-state synchronisation.
//!
//! ```text
//!                Kubernetes                                   PowerDNS
//!                    │  list: sets, zones, classes               │  list zones, read each
//!                    ▼                                           ▼
//!       cluster::snapshot ──► plan::Snapshot ◄────────── powerdns::read
//!                                  │
//!       plan::decide  ────────────►│ Plan                            pure, total, deterministic
//!       cluster::secure            │ finalizer, owner reference, Accepted; Evidence
//!       plan::confirm ────────────►│ Plan                            pure; only turns changes into holds
//!       powerdns::apply_zone       │ create, PATCH batches, delete; Applied
//!       plan::settle  ────────────►│ Aftermath                       pure; the only source of success
//!       cluster::record            ▼ statuses, releases
//! ```
//!
//! `sync::pass` is this drawing; `offline` is its right half, on manifests instead of Kubernetes. Arrows point down only: `main → cli → trigger → sync → {cluster, powerdns} → plan
//! → {api, dns}`. `plan`, `dns`, `api`, `config` and `powerdns::wire` do no I/O, are not async, read no clock,
//! log nothing and count nothing.

pub mod admin;
pub mod api;
pub mod cli;
pub mod cluster;
pub mod config;
pub mod dns;
pub mod fence;
pub mod lease;
pub mod metrics;
pub mod offline;
pub mod plan;
pub mod powerdns;
pub mod schedule;
pub mod sync;
pub mod telemetry;
pub mod trigger;

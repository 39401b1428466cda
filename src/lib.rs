//! Keeps PowerDNS equal to what Kubernetes resources declare.

pub mod api;
pub mod config;
pub mod dns;
pub mod telemetry;

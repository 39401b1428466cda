//! Keeps PowerDNS equal to what Kubernetes resources declare.

pub mod dns;

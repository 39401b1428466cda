//! Logging: one subscriber for the process, to standard error.
//!
//! It decides where log lines go and which ones; what is worth a line is decided where it happens.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{Level, Log, LogFormat};

/// Starts logging. The level is for this program; its dependencies get `warn`, since their debug
/// lines hold request headers; the cluster's client only `error`, since it warns with the whole text of an answer that it
/// cannot read. When a subscriber is there already, as in a test, it stays.
pub fn init(log: &Log) {
    let level = match log.level {
        Level::Error => "error",
        Level::Warn => "warn",
        Level::Info => "info",
        Level::Debug => "debug",
        Level::Trace => "trace",
    };
    let lines = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(format!("warn,kube_client=error,dns_syncd={level}")))
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    let started = match log.format {
        LogFormat::Text => lines.finish().try_init(),
        LogFormat::Json => lines.json().flatten_event(true).finish().try_init(),
    };
    if started.is_err() {
        tracing::debug!("logging was started already");
    }
}

//! Logging: one subscriber for the process, to standard error.
//!
//! It decides where log lines go and which ones; what is worth a line is decided where it happens.

use std::io::{self, IsTerminal, Write};
use std::sync::LazyLock;

use indicatif::MultiProgress;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{Level, Log, LogFormat};

/// Lines on the terminal that are drawn again and again. They stand below the log, which must know of them.
#[must_use]
pub fn bars() -> &'static MultiProgress {
    static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);
    &BARS
}

/// Standard error, with what is drawn there taken off for the while.
struct Above;

impl Write for Above {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        bars().suspend(|| io::stderr().write(line))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

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
        .with_writer(|| Above)
        .with_ansi(io::stderr().is_terminal());
    let started = match log.format {
        LogFormat::Text => lines.finish().try_init(),
        LogFormat::Json => lines.json().flatten_event(true).finish().try_init(),
    };
    if started.is_err() {
        tracing::debug!("logging was started already");
    }
}

//! What a command is doing, on a terminal: one line on standard error that goes away. Where standard error is no terminal
//! nothing is written at all.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use crate::metrics::Metrics;
use crate::telemetry;

/// How often the line is drawn anew.
const TICK: Duration = Duration::from_millis(100);

/// The line; it goes away when this is dropped, which must be before anything is printed.
pub(super) struct Progress(ProgressBar);

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Shows that this is being done, for how long, and how many requests it took.
pub(super) fn progress(what: &'static str, metrics: &Arc<Metrics>) -> Progress {
    let bar = telemetry::bars().add(ProgressBar::new_spinner());
    let metrics = metrics.clone();
    let counts = move |state: &ProgressState, out: &mut dyn Write| {
        let (powerdns, kubernetes) = metrics.requests();
        // A line that cannot be drawn is none.
        let _ = write!(
            out,
            "{what}: {}, {powerdns} requests to PowerDNS, {kubernetes} writes to Kubernetes",
            HumanDuration(state.elapsed())
        );
    };
    let style = ProgressStyle::with_template("{spinner} {counts}");
    if let Ok(style) = style {
        bar.set_style(style.with_key("counts", counts));
    }
    bar.enable_steady_tick(TICK);
    Progress(bar)
}

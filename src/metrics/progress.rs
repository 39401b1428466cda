//! How far the running pass is: a first pass over a large estate takes minutes.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prometheus::{CounterVec, IntGaugeVec, Registry};
use serde::Serialize;

use super::series;

/// What a pass is doing, in the order in which it does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Reading objects; how many there are is not known before.
    List,
    /// Reading zones of PowerDNS.
    Read,
    /// Working out what is to change; nothing is counted.
    Decide,
    /// Writing finalizers and owner references of objects.
    Secure,
    /// Writing zones of PowerDNS.
    Apply,
    /// Working out statuses; nothing is counted.
    Settle,
    /// Writing statuses of objects, and letting go of them.
    Record,
}

impl Stage {
    const ALL: [Stage; 7] = [
        Stage::List,
        Stage::Read,
        Stage::Decide,
        Stage::Secure,
        Stage::Apply,
        Stage::Settle,
        Stage::Record,
    ];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Stage::List => "list",
            Stage::Read => "read",
            Stage::Decide => "decide",
            Stage::Secure => "secure",
            Stage::Apply => "apply",
            Stage::Settle => "settle",
            Stage::Record => "record",
        }
    }
}

/// How much of a stage is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What is being done.
    pub stage: Stage,
    /// Objects or zones that it is done with.
    pub done: usize,
    /// Objects or zones that there are; 0 while that is not known.
    pub total: usize,
}

/// The running pass, if there is one, and its series.
#[derive(Debug)]
pub(super) struct Progress {
    /// The step, and when its stage began on the process's clock.
    now: Mutex<Option<(Step, Duration)>>,
    done: IntGaugeVec,
    total: IntGaugeVec,
    seconds: CounterVec,
}

impl Progress {
    /// Registers the series.
    ///
    /// # Errors
    /// If two series have one name.
    pub(super) fn new(registry: &Registry) -> Result<Progress, prometheus::Error> {
        let gauge = |name: &str, help: &str| series::gauges(registry, (name, "stage"), help);
        let progress = Progress {
            now: Mutex::new(None),
            done: gauge(
                "pass_stage_done",
                "Objects or zones that the running pass is done with, of the stage (list, read, decide, secure, apply, settle, \
                 record) that it is in; 0 else.",
            )?,
            total: gauge(
                "pass_stage_size",
                "Objects or zones that the running pass has to do in the stage that it is in; 0 else, and where that is not \
                 known.",
            )?,
            seconds: series::sums(
                registry,
                ("pass_stage_seconds_total", "stage"),
                "Time that passes took, by stage.",
            )?,
        };
        progress.put(None, Duration::ZERO);
        for stage in Stage::ALL {
            progress.seconds.with_label_values(&[stage.word()]);
        }
        Ok(progress)
    }

    /// How far the running pass is.
    pub(super) fn now(&self) -> Option<Step> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).map(|(step, _)| step)
    }

    /// So much more of the stage is done.
    pub(super) fn advance(&self, by: usize) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((step, _)) = now.as_mut() {
            step.done = step.done.saturating_add(by);
            self.done.with_label_values(&[step.stage.word()]).set(gauge(step.done));
        }
    }

    /// A stage begins at this moment, or the pass ends: a stage that is over, or has not begun, shows nothing.
    pub(super) fn put(&self, step: Option<Step>, moment: Duration) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((last, began)) = *now {
            let took = moment.saturating_sub(began).as_secs_f64();
            self.seconds.with_label_values(&[last.stage.word()]).inc_by(took);
        }
        *now = step.map(|step| (step, moment));
        for stage in Stage::ALL {
            let step = step.filter(|step| step.stage == stage);
            self.done.with_label_values(&[stage.word()]).set(gauge(step.map_or(0, |s| s.done)));
            self.total.with_label_values(&[stage.word()]).set(gauge(step.map_or(0, |s| s.total)));
        }
    }
}

fn gauge(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

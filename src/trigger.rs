//! When a pass runs: at the start, at every tick of the interval, on every nudge, and soon again after one that
//! left something undone. The scheduler and the nudges only poke; one loop runs passes, one at a time.
#![expect(clippy::disallowed_methods, reason = "this is where the daemon waits")]

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::metrics::{Metrics, Step};
use crate::plan::summary::{BRAKED, Summary};
use crate::plan::view::View;
use crate::sync::{Asked, Passed, Syncer};

/// First wait before another try; doubled after each, up to `LAST_RETRY`.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Longest wait before another try.
const LAST_RETRY: Duration = Duration::from_mins(1);
/// Passes that are remembered to be shown.
const SHOWN: usize = 10;
/// How often a pass that goes on is told of.
const TELLS: Duration = Duration::from_secs(10);
/// Entries of each list of such a pass.
const LISTED: usize = 20;

/// Shortest wait for a server or zone that failed, whatever chance says.
const SHORTEST_WAIT: Duration = Duration::from_millis(100);

/// A warning, but at debug if it was told before: what lasts is said once.
macro_rules! say {
    ($told:expr, $pass:ident, $what:ident, $message:literal) => {
        if $told {
            tracing::debug!(pass = $pass, what = $what, $message);
        } else {
            tracing::warn!(pass = $pass, what = $what, $message);
        }
    };
}

/// How a pass ended, as a nudge's answer tells it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Number of the pass since the process started, from 1.
    pub pass: u64,
    /// Nothing failed and nothing is held.
    pub ok: bool,
    /// Why there was no pass at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Duration.
    pub seconds: f64,
    /// What it did.
    #[serde(flatten)]
    pub summary: Summary,
}

impl Report {
    fn shortened(&self) -> Report {
        let mut out = self.clone();
        for list in [&mut out.summary.failed, &mut out.summary.held, &mut out.summary.orphans] {
            list.truncate(LISTED);
        }
        out
    }
}

/// What the loop is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// It waits for a tick, a nudge or another try.
    #[default]
    Waiting,
    /// A pass is running.
    Passing,
    /// Passes are another process's.
    Standby,
    /// It has ended: no pass is going to begin.
    Ended,
}

/// Where the loop is.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Number of the newest pass that began.
    pub started: u64,
    /// What it is doing.
    pub phase: Phase,
    /// One should be running: it was poked for and has not begun.
    pub due: bool,
    /// What somebody asked for with it, who may have removed the cause of a failure.
    pub asked: Option<Asked>,
    /// A pass has come to its end with both sides read, or another process was seen to run passes.
    pub ready: bool,
    /// In standby: who runs passes, once that is known.
    pub holder: Option<Arc<str>>,
    /// How the newest finished pass ended.
    pub last: Option<Arc<Report>>,
    /// The newest few, shortened, the newest first.
    pub passes: VecDeque<Report>,
    /// What the newest pass saw and left.
    pub view: Arc<View>,
}

impl State {
    /// No pass of this process is going to begin as things are.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Ended | Phase::Standby)
    }
}

/// The handle by which nudges reach the loop.
#[derive(Clone, Debug)]
pub struct Trigger {
    poke: Arc<Notify>,
    state: watch::Sender<State>,
}

impl Default for Trigger {
    fn default() -> Trigger {
        Trigger { poke: Arc::new(Notify::new()), state: watch::Sender::new(State::default()) }
    }
}

impl Trigger {
    /// Asks for a pass; any number of pokes before it begins make one.
    pub fn poke(&self) {
        self.state.send_modify(|s| s.due = true);
        self.poke.notify_one();
    }

    /// Asks for a pass that begins after this call, and gives its number; `None` if passes are not this process's now.
    #[must_use]
    pub fn nudge(&self, asked: Asked) -> Option<u64> {
        let mut next = None;
        self.state.send_if_modified(|s| {
            if s.is_over() {
                return false;
            }
            next = Some(s.started + 1);
            s.asked.get_or_insert_default().merge(asked);
            true
        });
        next.inspect(|_| self.poke())
    }

    /// Waits until a pass of at least this number has ended; `None` if the loop ends before, or stands by.
    pub async fn ended(&self, pass: u64) -> Option<Arc<Report>> {
        let mut state = self.state.subscribe();
        let report = |s: &State| s.last.clone().filter(|r| r.pass >= pass);
        let settled = state.wait_for(|s| s.is_over() || report(s).is_some()).await;
        settled.ok().and_then(|s| report(&s))
    }

    /// Waits until it is known whose passes are after they were this process's: another's, this one's again, or nobody's
    /// because the process ends.
    pub async fn settled(&self) -> State {
        let mut state = self.state.subscribe();
        let known = state.wait_for(|s| s.phase != Phase::Standby || s.holder.is_some()).await;
        known.map_or_else(|_| self.state(), |s| s.clone())
    }

    /// Passes are not this process's now, but this one's if it is known. What was asked for and seen is forgotten with
    /// everything else.
    pub fn stand_by(&self, holder: Option<&str>) {
        self.state.send_modify(|s| {
            s.phase = Phase::Standby;
            s.ready |= holder.is_some();
            s.holder = holder.map(Arc::from);
            (s.due, s.asked, s.view) = (false, None, Arc::default());
        });
    }

    /// Passes are this process's from now on.
    pub fn begin(&self) {
        self.state.send_modify(|s| (s.phase, s.holder) = (Phase::Waiting, None));
    }

    /// No pass is going to begin.
    pub fn end(&self) {
        self.state.send_modify(|s| s.phase = Phase::Ended);
    }

    /// Where the loop is.
    #[must_use]
    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }
}

/// Runs passes until `stop` is cancelled; the pass that is running then ends early, since no client sends any
/// further request.
pub async fn run(syncer: &Syncer, trigger: &Trigger, stop: &CancellationToken) {
    let mut retry = FIRST_RETRY;
    trigger.poke();
    let mut again: Option<Duration> = None;
    while !stop.is_cancelled() {
        let mut retried = false;
        let timer = async {
            match again {
                Some(wait) => tokio::time::sleep(wait).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // In a storm a nudge is always there, and a pass that begins now would send nothing.
            biased;
            () = stop.cancelled() => break,
            () = trigger.poke.notified() => {}
            () = timer => retried = true,
        }
        let report = one_pass(syncer, trigger, retried).await;
        let unsettled = report.error.is_some() || report.summary.again;
        let soon = unsettled.then_some(retry);
        // Nothing is written in a newly marked zone before the mark has lasted this long.
        let lasted = Duration::from_millis(syncer.policy.request_timeout + 50);
        let lasted = (report.summary.marking > 0).then_some(lasted);
        let worth = report.summary.wait.map(|ms| Duration::from_millis(ms).max(SHORTEST_WAIT));
        again = [soon, lasted, worth].into_iter().flatten().min();
        retry = if unsettled { (retry * 2).min(LAST_RETRY) } else { FIRST_RETRY };
    }
}

async fn one_pass(syncer: &Syncer, trigger: &Trigger, retried: bool) -> Arc<Report> {
    let mut asked = None;
    trigger.state.send_modify(|s| {
        s.started += 1;
        s.phase = Phase::Passing;
        s.due = false;
        asked = std::mem::take(&mut s.asked);
    });
    // Before what may have to wait for a plan that is being made.
    syncer.metrics.moved();
    if let Some(asked) = asked {
        syncer.asked(asked).await;
    }
    let (pass, before) = (trigger.state.borrow().started, trigger.state.borrow().last.clone());
    let metrics: &Metrics = &syncer.metrics;
    metrics.pass_begins(jiff::Timestamp::now().as_second(), retried);
    let began = metrics.now();
    // Each line of a pass, at whatever level, carries its number.
    let span = tracing::error_span!("pass", id = pass);
    let result = watched(syncer.pass(), metrics).instrument(span).await;
    metrics.pass_over();
    let elapsed = Duration::from_millis(metrics.now() - began).as_secs_f64();
    let mut view = None;
    let report = Arc::new(match result {
        Ok(Passed { summary, view: seen }) => {
            metrics.zones(&seen);
            view = Some(Arc::new(seen));
            metrics.pass(&summary, elapsed, jiff::Timestamp::now().as_second());
            log(pass, elapsed, &summary, before.as_deref());
            Report { pass, ok: summary.clean(), error: None, seconds: elapsed, summary }
        }
        Err(error) => {
            metrics.no_pass();
            let error = Some(error.to_string());
            let why = error.as_deref().unwrap_or_default();
            let told = before.as_ref().is_some_and(|report| report.error == error);
            say!(told, pass, why, "no pass: the cluster's state could not be read");
            Report { pass, ok: false, error, seconds: elapsed, summary: Summary::default() }
        }
    });
    trigger.state.send_modify(|s| {
        s.phase = Phase::Waiting;
        s.ready |= report.error.is_none() && !report.summary.blind;
        s.passes.truncate(SHOWN - 1);
        s.passes.push_front(report.shortened());
        s.last = Some(report.clone());
        // A pass that could not look says nothing new.
        s.view = view.take().unwrap_or_else(|| s.view.clone());
    });
    report
}

/// Runs a pass, and says every now and then how far it is.
async fn watched<T>(pass: impl Future<Output = T>, metrics: &Metrics) -> T {
    let mut pass = pin!(pass);
    loop {
        tokio::select! {
            biased;
            passed = &mut pass => return passed,
            () = tokio::time::sleep(TELLS) => {
                if let Some(Step { stage, done, total }) = metrics.progress() {
                    tracing::info!(stage = stage.word(), done, total, "the pass goes on");
                }
            }
        }
    }
}

/// One line a pass; what failed or waits follows, bounded, unless the pass before has said so.
fn log(pass: u64, seconds: f64, summary: &Summary, before: Option<&Report>) {
    let Summary { created, replaced, deleted, adopted, equal, .. } = summary;
    let Summary { record_sets, zones, unchanged, .. } = summary;
    let (failed, held) = (summary.failed.len(), summary.held.len());
    tracing::info!(
        pass,
        seconds,
        zones,
        unchanged,
        record_sets,
        equal,
        created,
        replaced,
        deleted,
        adopted,
        failed,
        held,
        "pass ended"
    );
    let told = |what: &String, list: fn(&Summary) -> &Vec<String>| {
        before.is_some_and(|report| list(&report.summary).contains(what))
    };
    for what in summary.failed.iter().take(20) {
        say!(told(what, |s| &s.failed), pass, what, "failed");
    }
    for what in summary.held.iter().filter(|what| what.starts_with(BRAKED)) {
        say!(told(what, |s| &s.held), pass, what, "held by a brake");
    }
    for what in summary.held.iter().take(20) {
        tracing::debug!(pass, what, "held");
    }
}

//! One pass: gather, decide, secure, confirm, apply, settle, record. It is the drawing in `lib.rs`; every
//! decision is in `plan`, every request in `cluster` and `powerdns`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::stream::{self, StreamExt};
use tokio::sync::Mutex;

use crate::cluster::{self, Versions};
use crate::dns::name::Name;
use crate::dns::rdata::Dialect;
use crate::metrics::{Metrics, Stage};
use crate::plan::batch::Limits;
use crate::plan::change::Change;
use crate::plan::document::Document;
use crate::plan::memory::Lesson;
use crate::plan::prints::Prints;
use crate::plan::release::Released;
use crate::plan::snapshot::Server;
use crate::plan::summary::Summary;
use crate::plan::view::View;
use crate::plan::{
    self, Applied, Evidence, Memory, Outcome, Plan, Policy, Snapshot, ZoneApplied, ZonePlan,
    ZoneStep,
};
use crate::powerdns::{self, Applier, Reading};

/// What somebody asks for beyond a pass.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// All zones are worth another try.
    pub all: bool,
    /// These are.
    pub zones: BTreeSet<Name>,
    /// This may go although a brake holds it.
    pub released: Released,
}

impl Asked {
    /// What two ask for together.
    pub fn merge(&mut self, other: Asked) {
        self.all |= other.all;
        self.zones.extend(other.zones);
        self.released.extend(other.released);
    }
}

/// A pass that came to its end.
#[derive(Clone, Debug)]
pub struct Passed {
    /// What it did.
    pub summary: Summary,
    /// What it saw and left.
    pub view: View,
}

/// Everything that passes need, and what one leaves for the next.
pub struct Syncer {
    /// Kubernetes.
    pub cluster: cluster::Client,
    /// PowerDNS.
    pub powerdns: powerdns::Client,
    /// How to decide.
    pub policy: Policy,
    /// How large a request may be.
    pub limits: Limits,
    /// Zones read or written side by side.
    pub concurrency: usize,
    /// Counters and the clock.
    pub metrics: Arc<Metrics>,
    /// Who tells of it in events.
    pub reporter: cluster::Reporter,
    /// The pass's clock, in milliseconds.
    pub clock: fn(&Metrics) -> u64,
    /// Uniform in 0…1: spreads the tries of daemons that failed together.
    pub chance: fn() -> f64,
    /// Taken for the whole of a pass, so that passes never overlap.
    pub memory: Mutex<Memory>,
}

impl Syncer {
    /// Makes one pass, or under `dryRun` only says what it would do.
    ///
    /// # Errors
    /// If the cluster's state could not be read completely: then nothing was decided and nothing written.
    pub async fn pass(&self) -> Result<Passed, cluster::Error> {
        let mut memory = self.memory.lock().await;
        if self.policy.dry_run {
            let (snapshot, plan) = self.plan().await?;
            let view = View::of(&plan, &snapshot, &BTreeMap::new());
            return Ok(Passed { summary: Summary::planned(&plan), view });
        }
        let now = wall_clock().to_string();
        let (snapshot, prints) = self.gather(&memory, self.policy.verify_interval).await?;
        let versions = Versions::default();

        self.metrics.stage(Stage::Decide, 0);
        let plan = plan::decide(&snapshot, &memory, &self.policy);
        let plan = plan::brake(plan, &snapshot, self.policy.brakes, &memory.released);
        let evidence = cluster::secure(&self.cluster, &plan, &versions, &now).await;
        let mut plan = plan::confirm(plan, &evidence);
        let version = snapshot.server.capabilities.map(|c| c.version);
        memory.recall(&mut plan, version, self.now());
        let target = Target {
            powerdns: &self.powerdns,
            limits: self.limits,
            concurrency: self.concurrency,
            now: &|| self.now(),
        };
        let applied = apply(&target, &snapshot, &plan, memory.turn).await;
        self.metrics.stage(Stage::Settle, 0);
        let mut aftermath = plan::settle(&plan, &applied, &now);
        let unrecorded = cluster::record(&self.cluster, &mut aftermath, &versions).await;
        cluster::tell(&self.cluster, &aftermath.events, &self.reporter, &now).await;
        let orphans = memory.untold(&plan, &snapshot);
        let told = cluster::tell_orphans(&self.cluster, orphans, &self.reporter, &now).await;
        memory.told(&plan, &told);

        let (snapshot, prints) = (&snapshot, &prints);
        let lesson =
            Lesson { snapshot, prints, plan: &plan, applied: &applied, aftermath: &aftermath };
        memory.learn(lesson, self.now(), self.chance);
        let summary = &mut aftermath.summary;
        summary.wait = memory.wait(self.now());
        summary.backed_off = memory.backed_off();
        summary.in_vain = memory.in_vain();
        summary.again |= !unrecorded.is_empty() || evidence.is_bad();
        summary.failed.extend(unrecorded);
        summary.failed.extend(evidence.faults());
        let mut view = View::of(&plan, snapshot, &aftermath.waiting);
        view.troubles = memory.troubles(self.now());
        Ok(Passed { summary: aftermath.summary, view })
    }

    fn now(&self) -> u64 {
        (self.clock)(&self.metrics)
    }

    /// Takes in what somebody asks for: what failed is worth another try, and some of what is held may go.
    pub async fn asked(&self, asked: Asked) {
        let mut memory = self.memory.lock().await;
        if asked.all {
            memory.forget(|_| true);
        } else if !asked.zones.is_empty() {
            memory.forget(|zone| asked.zones.contains(zone));
        }
        memory.released.grant(asked.released, self.now());
    }

    /// Forgets everything: another process may have written meanwhile.
    pub async fn forget(&self) {
        *self.memory.lock().await = Memory::default();
    }

    /// Decides what a pass would do now that remembers nothing, and writes nothing anywhere.
    ///
    /// # Errors
    /// If the cluster's state could not be read completely.
    pub async fn plan(&self) -> Result<(Snapshot, Plan), cluster::Error> {
        let (snapshot, _) = self.gather(&Memory::default(), 0).await?;
        let plan = plan::decide(&snapshot, &Memory::default(), &self.policy);
        let plan = plan::brake(plan, &snapshot, self.policy.brakes, &Released::default());
        let evidence: Evidence = cluster::ask(&self.cluster, &plan).await;
        let plan = plan::confirm(plan, &evidence);
        Ok((snapshot, plan))
    }

    /// What the next pass would do with what is remembered, and writes nothing anywhere.
    ///
    /// # Errors
    /// If the cluster's state could not be read completely.
    pub async fn planned(&self) -> Result<Document, cluster::Error> {
        let memory = self.memory.lock().await;
        let (snapshot, _) = self.gather(&memory, 0).await?;
        let plan = plan::decide(&snapshot, &memory, &self.policy);
        let plan = plan::brake(plan, &snapshot, self.policy.brakes, &memory.released);
        let evidence = cluster::ask(&self.cluster, &plan).await;
        let mut plan = plan::confirm(plan, &evidence);
        let version = snapshot.server.capabilities.map(|c| c.version);
        memory.recall(&mut plan, version, self.now());
        Ok(Document::of(&plan, snapshot.dialect()))
    }

    /// Kubernetes first: what carries our note in PowerDNS was then written for an object at most as new as
    /// the lists. Zones that have not changed are left out for `verify_interval` milliseconds.
    async fn gather(
        &self,
        memory: &Memory,
        verify_interval: u64,
    ) -> Result<(Snapshot, Prints), cluster::Error> {
        let cluster = cluster::snapshot(&self.cluster, &self.policy.namespaces).await?;
        let reading = Reading {
            concurrency: self.concurrency,
            turn: memory.turn,
            resting: memory.resting(self.now()),
        };
        let mut prints = Prints::default();
        let unchanged = |listed: &Server| {
            if verify_interval == 0 {
                return BTreeSet::new();
            }
            prints = Prints::of(&cluster, listed, &self.policy);
            memory.unchanged(&prints, verify_interval, self.now())
        };
        let server = powerdns::read(&self.powerdns, &reading, unchanged, || self.now()).await;
        Ok((Snapshot { cluster, server }, prints))
    }
}

/// PowerDNS, and how it is written to.
pub(crate) struct Target<'a> {
    pub(crate) powerdns: &'a powerdns::Client,
    pub(crate) limits: Limits,
    /// Zones side by side.
    pub(crate) concurrency: usize,
    /// Milliseconds on the pass's clock.
    pub(crate) now: &'a (dyn Fn() -> u64 + Sync),
}

/// Each zone by one task, one request at a time; zones side by side, each pass beginning with another.
pub(crate) async fn apply(
    to: &Target<'_>,
    snapshot: &Snapshot,
    plan: &Plan,
    turn: usize,
) -> Applied {
    let Some(capabilities) = snapshot.server.capabilities else {
        return Applied::default();
    };
    let applier = Applier {
        client: to.powerdns,
        dialect: Dialect::of(capabilities.version),
        limits: to.limits,
        comments_outlive: capabilities.comments_outlive,
    };
    let applier = &applier;
    let mut busy: Vec<_> = plan.zones.iter().filter(|(_, zone)| zone.has_work()).collect();
    to.powerdns.metrics.stage(Stage::Apply, busy.len());
    let turn = turn.checked_rem(busy.len()).unwrap_or_default();
    busy.rotate_left(turn);
    let zones = stream::iter(busy).map(|(name, zone)| async move {
        let answers = powerdns::apply_zone(applier, name, zone, to.now).await;
        to.powerdns.metrics.advance(1);
        log_zone(name, zone, &answers);
        (name.clone(), answers)
    });
    Applied { zones: zones.buffer_unordered(to.concurrency.max(1)).collect().await }
}

/// One line a zone that was written to: figures alone, since names and contents can be anybody's.
fn log_zone(name: &Name, plan: &ZonePlan, answers: &ZoneApplied) {
    if answers.remembered {
        return;
    }
    let (mut written, mut deleted, mut adopted, mut failed) = (0, 0, 0, 0);
    for ((owner, rtype), outcome) in &answers.keys {
        let change = plan.names.get(owner).and_then(|change| change.types.get(rtype));
        match (outcome, change) {
            (Outcome::Failed(_), _) => failed += 1,
            (Outcome::Done(_), Some(Change::Delete { .. })) => deleted += 1,
            (Outcome::Done(_), Some(Change::Adopt { .. })) => adopted += 1,
            (Outcome::Done(_), Some(Change::Replace { .. }) | None) => written += 1,
        }
    }
    let step = match (&plan.step, &answers.zone) {
        (_, None) => "none",
        (_, Some(Outcome::Failed(_))) => "failed",
        (ZoneStep::Create { .. }, _) => "created",
        (ZoneStep::Mark { .. } | ZoneStep::Remark { .. }, _) => "marked",
        (ZoneStep::Delete { .. } | ZoneStep::DeleteOrphan { .. }, _) => "deleted",
        (ZoneStep::Keep, _) => "kept",
    };
    tracing::info!(zone = %name, step, written, deleted, adopted, failed, "zone");
}

/// The time for conditions, in whole seconds.
#[expect(clippy::disallowed_methods, reason = "one reading of the wall clock a pass")]
pub(crate) fn wall_clock() -> jiff::Timestamp {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now)
}

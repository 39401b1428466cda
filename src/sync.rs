//! One pass: gather, decide, secure, confirm, apply, settle, record. It is the drawing in `lib.rs`; every
//! decision is in `plan`, every request in `cluster` and `powerdns`.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::stream::{self, StreamExt};
use tokio::sync::Mutex;

use crate::cluster::{self, Versions};
use crate::dns::rdata::Dialect;
use crate::metrics::Metrics;
use crate::plan::batch::Limits;
use crate::plan::memory::Lesson;
use crate::plan::summary::Summary;
use crate::plan::{self, Applied, Evidence, Memory, Plan, Policy, Snapshot};
use crate::powerdns::{self, Applier, Reading};

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
    /// This process's name, for events.
    pub instance: String,
    /// The pass's clock, in milliseconds.
    pub clock: fn(&Metrics) -> u64,
    /// Uniform in 0…1: spreads the tries of daemons that failed together.
    pub chance: fn() -> f64,
    /// Taken for the whole of a pass, so that passes never overlap.
    pub memory: Mutex<Memory>,
}

impl Syncer {
    /// Makes one pass, or under `dryRun` only says what it would do. `released` holds digests of holds that are let through this once.
    ///
    /// # Errors
    /// If the cluster's state could not be read completely: then nothing was decided and nothing written.
    pub async fn pass(&self, released: &BTreeSet<String>) -> Result<Summary, cluster::Error> {
        let mut memory = self.memory.lock().await;
        if self.policy.dry_run {
            let (_, plan) = self.plan().await?;
            return Ok(Summary::planned(&plan));
        }
        let now = wall_clock().to_string();
        let snapshot = self.gather(&memory).await?;
        let versions = Versions::default();

        let plan = plan::decide(&snapshot, &memory, &self.policy);
        let evidence = cluster::secure(&self.cluster, &plan, &versions, &now).await;
        let plan = plan::confirm(plan, &evidence);
        let mut plan = plan::brake(plan, &snapshot, self.policy.brakes, released);
        let version = snapshot.server.capabilities.map(|c| c.version);
        memory.recall(&mut plan, version, self.now());
        let applied = self.apply(&snapshot, &plan, memory.turn).await;
        let mut aftermath = plan::settle(&plan, &applied, &now);
        let unrecorded = cluster::record(&self.cluster, &mut aftermath, &versions).await;
        cluster::tell(&self.cluster, &aftermath.events, &self.instance, &now).await;

        let proven = &aftermath.proven;
        let lesson = Lesson { snapshot: &snapshot, plan: &plan, applied: &applied, proven };
        memory.learn(lesson, self.now(), self.chance);
        let summary = &mut aftermath.summary;
        summary.wait = memory.wait(self.now());
        summary.backed_off = memory.backed_off();
        summary.in_vain = memory.in_vain();
        summary.again |= !unrecorded.is_empty() || evidence.is_bad();
        summary.failed.extend(unrecorded);
        summary.failed.extend(evidence.faults());
        Ok(aftermath.summary)
    }

    fn now(&self) -> u64 {
        (self.clock)(&self.metrics)
    }

    /// Forgets what failed before: somebody says that it is worth another try.
    pub async fn forget(&self) {
        self.memory.lock().await.forget();
    }

    /// Decides what a pass would do now, and writes nothing anywhere.
    ///
    /// # Errors
    /// If the cluster's state could not be read completely.
    pub async fn plan(&self) -> Result<(Snapshot, Plan), cluster::Error> {
        let snapshot = self.gather(&Memory::default()).await?;
        let plan = plan::decide(&snapshot, &Memory::default(), &self.policy);
        let evidence: Evidence = cluster::ask(&self.cluster, &plan).await;
        let plan = plan::confirm(plan, &evidence);
        let plan = plan::brake(plan, &snapshot, self.policy.brakes, &BTreeSet::new());
        Ok((snapshot, plan))
    }

    /// Kubernetes first: what carries our note in PowerDNS was then written for an object at most as new as
    /// the lists.
    async fn gather(&self, memory: &Memory) -> Result<Snapshot, cluster::Error> {
        let cluster = cluster::snapshot(&self.cluster, &self.policy.namespaces).await?;
        let reading = Reading {
            concurrency: self.concurrency,
            turn: memory.turn,
            resting: memory.resting(self.now()),
        };
        let server = powerdns::read(&self.powerdns, &reading, || self.now()).await;
        Ok(Snapshot { cluster, server })
    }

    /// Each zone by one task, one request at a time; zones side by side, each pass beginning with another.
    async fn apply(&self, snapshot: &Snapshot, plan: &Plan, turn: usize) -> Applied {
        let Some(capabilities) = snapshot.server.capabilities else {
            return Applied::default();
        };
        let applier = Applier {
            client: &self.powerdns,
            dialect: Dialect::of(capabilities.version),
            limits: self.limits,
            comments_outlive: capabilities.comments_outlive,
        };
        let applier = &applier;
        let mut busy: Vec<_> = plan.zones.iter().filter(|(_, zone)| zone.has_work()).collect();
        let turn = turn.checked_rem(busy.len()).unwrap_or_default();
        busy.rotate_left(turn);
        let zones = stream::iter(busy).map(|(name, zone)| async move {
            let answers = powerdns::apply_zone(applier, name, zone, || self.now()).await;
            (name.clone(), answers)
        });
        Applied { zones: zones.buffer_unordered(self.concurrency.max(1)).collect().await }
    }
}

/// The time for conditions, in whole seconds.
#[expect(clippy::disallowed_methods, reason = "one reading of the wall clock a pass")]
fn wall_clock() -> jiff::Timestamp {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now)
}

//! Passes on manifests: what a pass is without Kubernetes. Nothing is secured before the first write and nothing recorded
//! after the last answer, since there are no objects to do it to; all else is `sync::pass`.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::Mutex;

use crate::api::manifest::Manifests;
use crate::dns::name::Name;
use crate::metrics::Metrics;
use crate::plan::batch::Limits;
use crate::plan::by_name::{by_name, of_a_cluster};
use crate::plan::guard::questions;
use crate::plan::memory::Lesson;
use crate::plan::prints::Prints;
use crate::plan::release::Released;
use crate::plan::snapshot::Cluster;
use crate::plan::statuses::StatusWrite;
use crate::plan::summary::Summary;
use crate::plan::{self, Evidence, LiveObject, Memory, Plan, Policy, Snapshot};
use crate::powerdns::{self, Reading};
use crate::sync::{Target, apply, wall_clock};

/// What is ours in PowerDNS and was written for a cluster's objects: passes on manifests would take it away.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "PowerDNS holds what a daemon wrote for a cluster under this ownerId: {0}; manifests need an ownerId of their own"
)]
pub struct OfACluster(String);

/// A pass that came to its end.
#[derive(Clone, Debug)]
pub struct Passed {
    /// What it did.
    pub summary: Summary,
    /// The statuses that it would have written.
    pub statuses: Vec<StatusWrite>,
}

/// Everything that passes on manifests need, and what one leaves for the next.
pub struct Offline {
    /// What is declared, all of it.
    manifests: Manifests,
    /// PowerDNS.
    powerdns: powerdns::Client,
    /// How to decide.
    policy: Policy,
    /// How large a request may be.
    limits: Limits,
    /// Zones read or written side by side.
    concurrency: usize,
    /// The clock.
    metrics: Arc<Metrics>,
    memory: Mutex<Memory>,
}

impl Offline {
    /// Sets passes up; nothing is sent yet.
    #[must_use]
    pub fn new(
        manifests: Manifests,
        powerdns: powerdns::Client,
        policy: Policy,
        (limits, concurrency): (Limits, usize),
        metrics: Arc<Metrics>,
    ) -> Offline {
        let memory = Mutex::new(Memory::default());
        Offline { manifests, powerdns, policy, limits, concurrency, metrics, memory }
    }

    /// The clock and the counters.
    #[must_use]
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Decides what would happen if these manifests were all that is declared, and writes nothing. Where PowerDNS is
    /// filled from a cluster, that is what its daemon would do once they were applied there and everything else was gone.
    pub async fn plan(&self) -> (Snapshot, Plan) {
        let mut snapshot = self.gather(&Memory::default()).await;
        if !of_a_cluster(&snapshot, &self.policy).is_empty() {
            by_name(&mut snapshot, &self.policy);
        }
        let plan = self.decide(&snapshot, &Memory::default(), &Released::default());
        (snapshot, plan)
    }

    /// Makes one pass, or under `dryRun` only says what it would do.
    ///
    /// # Errors
    /// If PowerDNS is filled from a cluster under this owner id; nothing was written then.
    pub async fn pass(&self) -> Result<Passed, OfACluster> {
        let mut memory = self.memory.lock().await;
        let snapshot = self.gather(&memory).await;
        if let Some(first) = of_a_cluster(&snapshot, &self.policy).pop_first() {
            return Err(OfACluster(first));
        }
        let mut plan = self.decide(&snapshot, &memory, &memory.released);
        if self.policy.dry_run {
            return Ok(Passed { summary: Summary::planned(&plan), statuses: Vec::new() });
        }
        let version = snapshot.server.capabilities.map(|c| c.version);
        memory.recall(&mut plan, version, self.now());
        let target = Target {
            powerdns: &self.powerdns,
            limits: self.limits,
            concurrency: self.concurrency,
            now: &|| self.now(),
        };
        let applied = apply(&target, &snapshot, &plan, memory.turn).await;
        let aftermath = plan::settle(&plan, &applied, &wall_clock().to_string());
        let (snapshot, prints) = (&snapshot, &Prints::default());
        let lesson =
            Lesson { snapshot, prints, plan: &plan, applied: &applied, aftermath: &aftermath };
        memory.learn(lesson, self.now(), rand::random::<f64>);
        Ok(Passed { summary: aftermath.summary, statuses: aftermath.statuses })
    }

    /// Lets some of what is held go in the passes that follow.
    pub async fn release(&self, released: Released) {
        self.memory.lock().await.released.grant(released, self.now());
    }

    fn now(&self) -> u64 {
        self.metrics.now()
    }

    async fn gather(&self, memory: &Memory) -> Snapshot {
        let reading = Reading {
            concurrency: self.concurrency,
            turn: memory.turn,
            resting: memory.resting(self.now()),
        };
        let server =
            powerdns::read(&self.powerdns, &reading, |_| BTreeSet::new(), || self.now()).await;
        Snapshot { cluster: self.cluster(), server }
    }

    /// What a cluster would list: with `namespaces`, those alone.
    fn cluster(&self) -> Cluster {
        let read = |namespace: &String| {
            self.policy.namespaces.is_empty() || self.policy.namespaces.contains(namespace)
        };
        let Manifests { classes, zones, sets, ignored: _ } = &self.manifests;
        Cluster {
            classes: classes.clone(),
            zones: zones.iter().filter(|z| read(&z.meta.namespace)).cloned().collect(),
            sets: sets.iter().filter(|s| read(&s.meta.namespace)).cloned().collect(),
        }
    }

    fn decide(&self, snapshot: &Snapshot, memory: &Memory, released: &Released) -> Plan {
        let plan = plan::decide(snapshot, memory, &self.policy);
        let plan = plan::brake(plan, snapshot, self.policy.brakes, released);
        let evidence = self.evidence(&plan);
        plan::confirm(plan, &evidence)
    }

    /// The manifests are complete, so what is not among them is gone.
    fn evidence(&self, plan: &Plan) -> Evidence {
        let Manifests { zones, sets, .. } = &self.manifests;
        let live = questions(plan).into_iter().map(|key| {
            let there = sets.iter().find(|set| set.meta.key() == key);
            let live = there.map_or(LiveObject::Gone, |s| LiveObject::Uid(s.meta.uid.clone()));
            (key, live)
        });
        let domains: BTreeSet<Name> =
            zones.iter().filter_map(|zone| Name::parse(zone.domain.as_deref()?).ok()).collect();
        Evidence { live: live.collect(), domains: Some(domains), ..Evidence::default() }
    }
}

//! The decision. `decide` turns two full states into one global plan, `brake` and `confirm` turn some of its
//! changes into holds, `settle` turns the servers' answers into statuses and releases. All are
//! total, deterministic and pure: no I/O, no clock, no logging.
//!
//! ```text
//! Snapshot ─ zones ─ sets ─► zone_plan (diff, name by name) ─► objects ─► Plan
//!                                    brake(Plan, Snapshot)    ─► Plan
//!                                    confirm(Plan, Evidence)  ─► Plan
//!                                    settle(Plan, Applied)    ─► Aftermath
//! ```

pub mod batch;
pub mod brakes;
pub mod by_name;
pub mod census;
pub mod change;
mod claims;
pub mod cleanup;
pub mod desired;
mod diff;
pub mod document;
pub mod events;
mod evidence;
pub mod explain;
pub mod guard;
pub mod import;
mod index;
pub mod markdown;
pub mod memory;
pub mod note;
pub mod objects;
pub mod outcome;
mod pause;
mod permission;
pub mod policy;
pub mod print;
pub mod prints;
pub mod release;
pub mod set_plan;
pub mod sets;
pub mod settle;
pub mod snapshot;
pub mod statuses;
mod stored;
pub mod summary;
pub mod view;
pub mod zone_plan;
pub mod zones;

use std::collections::{BTreeMap, BTreeSet};

pub use brakes::brake;
pub use guard::{Evidence, LiveObject, confirm};
pub use memory::Memory;
pub use objects::ObjectPlan;
pub use outcome::{Applied, Failure, Outcome, Proof, ZoneApplied};
pub use policy::Policy;
pub use set_plan::SetPlan;
pub use settle::{Aftermath, settle};
pub use snapshot::Snapshot;
pub use zone_plan::{ZonePlan, ZoneStep};

use crate::dns::name::Name;
use index::Index;

/// Everything that one pass means to do, and what it will say about what it does not do.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Plan {
    /// By PowerDNS zone.
    pub zones: BTreeMap<Name, ZonePlan>,
    /// Record sets by uid.
    pub sets: BTreeMap<String, SetPlan>,
    /// DNSZones by uid.
    pub objects: BTreeMap<String, ObjectPlan>,
    /// Zones in PowerDNS with our mark whose DNSZone is gone.
    pub orphans: BTreeSet<Name>,
    /// What the brakes hold.
    pub holds: Vec<brakes::Hold>,
    /// What they would hold, had nobody let it through.
    pub let_through: Vec<brakes::Hold>,
    /// Finalizers that are ours to take off, of record sets and of DNSZones.
    pub finalizers: policy::Finalizers,
    /// Why PowerDNS could not be read at all.
    pub blind: Option<String>,
    /// Uids of record sets whose word stands although their zone cannot be read: it was proven a short while ago.
    pub keeping: BTreeSet<String>,
}

/// Decides what one pass does.
pub fn decide(snapshot: &Snapshot, memory: &Memory, policy: &Policy) -> Plan {
    let zones = zones::zones(&snapshot.cluster, &snapshot.server, policy);
    let sets = sets::sets(&snapshot.cluster.sets, &zones, policy);
    let index = Index::of(&snapshot.server, &zones, &sets, policy);
    let world = World { snapshot, memory, policy, zones: &zones, sets: &sets, index: &index };
    let mut plan = Plan {
        blind: snapshot.server.zones.as_ref().err().cloned(),
        orphans: world.orphans(),
        finalizers: policy.finalizers(),
        ..Plan::default()
    };
    let mut domains: BTreeSet<&Name> =
        zones.by_uid.values().filter_map(|f| f.domain.as_ref()).collect();
    domains.extend(snapshot.server.zones.iter().flat_map(BTreeMap::keys));
    let mut verdicts = set_plan::Verdicts::new();
    for domain in domains {
        let (zone, said) = zone_plan::plan_zone(&world, domain);
        verdicts.extend(said);
        plan.zones.insert(domain.clone(), zone);
    }
    plan.sets = set_plan::set_plans(&world, &plan.zones, &verdicts);
    plan.objects = objects::object_plans(&world, &plan);
    pause::pause(plan, &world)
}

/// What all parts of the decision look at.
pub(crate) struct World<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) memory: &'a Memory,
    pub(crate) policy: &'a Policy,
    pub(crate) zones: &'a zones::Zones<'a>,
    pub(crate) sets: &'a sets::Sets<'a>,
    pub(crate) index: &'a Index<'a>,
}

impl World<'_> {
    /// Marked by us for a DNSZone that is not on the complete list, with nobody to take it over.
    fn orphans(&self) -> BTreeSet<Name> {
        let listed = self.snapshot.server.zones.iter().flatten();
        let orphans = listed.filter(|(name, zone)| self.is_orphan(name, zone));
        orphans.map(|(name, _)| name.clone()).collect()
    }

    fn is_orphan(&self, name: &Name, zone: &snapshot::ServerZone) -> bool {
        let mark = note::Mark::read(&zone.account, self.policy);
        matches!(mark, note::Mark::Ours(_)) && self.is_nobodys(name, zone)
    }

    /// Whether no DNSZone has this domain, nor is named by our mark on the zone.
    pub(crate) fn is_nobodys(&self, name: &Name, zone: &snapshot::ServerZone) -> bool {
        let mark = note::Mark::read(&zone.account, self.policy);
        // A listed DNSZone whose domain cannot be read is there all the same.
        !self.zones.by_domain.contains_key(name) && self.zones.marked(&mark).is_none()
    }

    /// Whether an orphan may go as a whole: nothing in it is another owner's, or a live set's to keep.
    pub(crate) fn orphaned(&self, name: &Name, zone: &snapshot::ServerZone) -> bool {
        let read = zone.contents.as_ref().ok();
        let free = |c| !stored::has_foreign_note(self, c) && !stored::has_kept(self, name, c);
        self.is_orphan(name, zone) && read.is_some_and(free)
    }
}

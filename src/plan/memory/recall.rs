//! Before a plan is carried out: what is known to fail is not sent again, and what was proven keeps its word for
//! a while in an outage.

use std::collections::BTreeSet;

use super::super::change::Change;
use super::super::zone_plan::ZonePlan;
use super::super::{Plan, ZoneStep};
use super::{CRASHES, GRACE, IN_VAIN, Known, Memory, wanted};
use crate::dns::name::Name;
use crate::dns::rdata::Version;

impl Memory {
    /// Adds to a plan what this memory knows of it. `now` is the pass's clock, `version` the server's.
    pub fn recall(&self, plan: &mut Plan, version: Option<Version>, now: u64) {
        for (name, zone) in &mut plan.zones {
            zone.known = self.known(name, zone, version, now);
        }
        plan.keeping = self.keeping(plan, now);
    }

    fn known(&self, zone: &Name, plan: &ZonePlan, version: Option<Version>, now: u64) -> Known {
        let mut out = Known::default();
        if let Some(row) = self.writes.get(zone) {
            let unchanged = row.wanted == super::learn::wanted_zone(plan, version, |_, _| true);
            out.zone = (row.backoff.rests(now) && unchanged).then(|| row.answers.clone());
            if row.crashes >= CRASHES {
                out.singly.clone_from(&row.suspects);
            }
        }
        for (name, change) in &plan.names {
            // What is left out while its neighbours are noted could never be told again.
            let unnoted = |c: &Change| matches!(c, Change::Delete { unnoted: true, .. });
            if change.types.values().any(unnoted) {
                continue;
            }
            let row = self.names.get(&(zone.clone(), name.clone()));
            let Some(row) = row.filter(|r| r.wanted == wanted(change, version, |_| true)) else {
                continue;
            };
            if row.backoff.rests(now) {
                out.names.insert(name.clone(), (row.rtype, row.failure.clone()));
                continue;
            }
            // What failed before goes alone, after the others.
            out.singly.insert(name.clone());
            if row.in_vain {
                out.in_vain.insert(name.clone(), row.failure.clone());
            }
        }
        let step = (plan.step != ZoneStep::Keep).then(|| super::learn::step_text(&plan.step));
        let acked = self.steps.get(zone).filter(|(text, _)| Some(text) == step.as_ref());
        out.step_in_vain = acked.is_some_and(|(_, times)| *times >= IN_VAIN);
        out
    }

    /// Record sets that were proven at their present generation when their zone was last read, which is not long ago.
    fn keeping(&self, plan: &Plan, now: u64) -> BTreeSet<String> {
        let recent = |since: &u64| now < since.saturating_add(GRACE);
        let keeps = plan.sets.iter().filter(|(uid, set)| {
            let proven = self.proven.get(*uid) == Some(&set.meta.generation);
            let mut homes = set.raws.values().filter_map(|raw| raw.target.as_ref());
            let unread = homes.next().filter(|t| plan.zones.get(&t.zone).is_some_and(|z| z.unread));
            let since = unread.and_then(|t| self.unread.get(&t.zone).or(self.blind.as_ref()));
            // In the first pass that cannot read it, nothing is remembered of the outage yet.
            proven && unread.is_some() && since.is_none_or(recent)
        });
        keeps.map(|(uid, _)| uid.clone()).collect()
    }
}

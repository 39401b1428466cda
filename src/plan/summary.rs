//! One pass in figures and names: what the log line, the nudge's answer and the metrics say.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Plan;
use super::census::Census;
use super::change::{Change, Verdict};
use super::outcome::{Applied, Failure, Outcome};
use super::set_plan::Controller;
use super::statuses;
use super::zone_plan::{ZonePlan, ZoneStep};
use crate::api::conditions::Condition;

/// How an entry of `Summary::held` begins that a brake holds.
pub const BRAKED: &str = "deletes: ";

/// What waits after a pass, by uid, with the reason.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    /// Record sets whose end is not proved.
    pub(super) sets: BTreeMap<String, String>,
    /// DNSZones that are not served, or whose end is not proved.
    pub(super) zones: BTreeMap<String, String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// What a pass did. Lists hold `zone name type: why`, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Nothing was written; the figures are of what would have been.
    #[serde(skip_serializing_if = "is_false")]
    pub dry_run: bool,
    /// DNSZones that were input.
    pub zones: usize,
    /// DNSRecordSets that were input.
    pub record_sets: usize,
    /// RRsets that were declared and read equal.
    pub equal: usize,
    /// RRsets acknowledged as created.
    pub created: usize,
    /// RRsets acknowledged as replaced.
    pub replaced: usize,
    /// RRsets acknowledged as deleted; a deleted zone counts in `zones_deleted` alone.
    pub deleted: usize,
    /// RRsets acknowledged as adopted.
    pub adopted: usize,
    /// Zones acknowledged as created.
    pub zones_created: usize,
    /// Zones acknowledged as marked.
    pub zones_marked: usize,
    /// Zones acknowledged as deleted.
    pub zones_deleted: usize,
    /// Zones that were not read, since nothing has changed.
    pub unchanged: usize,
    /// RRsets in PowerDNS that nobody declares and that stay.
    pub left_alone: usize,
    /// What the server did not do, or is not known to have done.
    pub failed: Vec<String>,
    /// What waits: names that are not programmed for another reason, and unproved deletions.
    pub held: Vec<String>,
    /// Zones with our mark whose DNSZone is gone.
    pub orphans: Vec<String>,
    /// Zones that are written once their mark has lasted.
    pub marking: usize,
    /// PowerDNS could not be read at all.
    #[serde(skip)]
    pub blind: bool,
    /// Something in Kubernetes was not written or has changed meanwhile: another pass soon may do more.
    pub again: bool,
    /// Milliseconds until another pass can do more with PowerDNS, if there is such a time.
    #[serde(skip)]
    pub wait: Option<u64>,
    /// What is in which state, and since when.
    #[serde(skip)]
    pub census: Census,
    /// Brakes that hold something.
    #[serde(skip)]
    pub holds: usize,
    /// Zones, and names, that wait for their next try.
    #[serde(skip)]
    pub backed_off: (usize, usize),
    /// Names that PowerDNS acknowledges without serving them.
    #[serde(skip)]
    pub in_vain: usize,
}

impl Summary {
    /// Whether anything came to be otherwise in PowerDNS.
    #[must_use]
    pub fn changes_anything(&self) -> bool {
        let rrsets = self.created + self.replaced + self.deleted + self.adopted;
        rrsets + self.zones_created + self.zones_marked + self.zones_deleted > 0
    }

    /// What a pass would do, if nothing failed: the same figures, of what is planned.
    #[must_use]
    pub fn planned(plan: &Plan) -> Summary {
        let mut out = Summary { dry_run: true, marking: 0, ..begun(plan) };
        for zone in plan.zones.values() {
            match &zone.step {
                ZoneStep::Keep => {}
                ZoneStep::Create { .. } => out.zones_created += 1,
                ZoneStep::Mark { .. } | ZoneStep::Remark { .. } => out.zones_marked += 1,
                ZoneStep::Delete { .. } | ZoneStep::DeleteOrphan { .. } => out.zones_deleted += 1,
            }
            // What follows a mark is part of what a person wants to know.
            let names = zone.names.values().chain(zone.postponed.values());
            for change in names.flat_map(|name| name.types.values()) {
                *out.counter(change) += 1;
            }
        }
        let waits = plan.objects.iter().filter_map(|(uid, o)| Some((uid.clone(), o.waits()?)));
        let waiting = Waiting { zones: waits.collect(), ..Waiting::default() };
        out.waits(plan, &waiting);
        out
    }

    /// Whether everything that was declared is served, and nothing is waiting.
    #[must_use]
    pub fn clean(&self) -> bool {
        self.failed.is_empty() && self.held.is_empty()
    }
}

fn left_alone(zone: &ZonePlan) -> usize {
    zone.leftovers.len() + zone.left_alone
}

/// What the plan alone says.
fn begun(plan: &Plan) -> Summary {
    Summary {
        zones: plan.objects.len(),
        blind: plan.blind.is_some(),
        marking: plan.zones.values().filter(|z| z.marking).count(),
        record_sets: plan.sets.len(),
        orphans: plan.orphans.iter().map(ToString::to_string).collect(),
        holds: plan.holds.len(),
        unchanged: plan.zones.values().filter(|z| z.unchanged).count(),
        left_alone: plan.zones.values().filter(|z| !z.goes()).map(left_alone).sum(),
        ..Summary::default()
    }
}

/// Adds up a pass.
pub(super) fn summarize(plan: &Plan, applied: &Applied, waiting: &Waiting) -> Summary {
    let mut out = begun(plan);
    for (zone, zone_plan) in &plan.zones {
        let step = match &zone_plan.step {
            ZoneStep::Keep => None,
            ZoneStep::Create { .. } => Some(("create", &mut out.zones_created)),
            ZoneStep::Mark { .. } | ZoneStep::Remark { .. } => {
                Some(("mark", &mut out.zones_marked))
            }
            ZoneStep::Delete { .. } | ZoneStep::DeleteOrphan { .. } => {
                Some(("delete", &mut out.zones_deleted))
            }
        };
        if let Some((word, counter)) = step {
            match applied.zone(zone) {
                Outcome::Done(_) => *counter += 1,
                Outcome::Failed(f) => out.fail(&format!("{word} zone {zone}"), &f),
            }
        }
        for (name, change) in &zone_plan.names {
            for (rtype, change) in &change.types {
                match applied.key(zone, name, *rtype) {
                    Outcome::Done(_) => *out.counter(change) += 1,
                    Outcome::Failed(f) => out.fail(&format!("{zone} {name} {rtype}"), &f),
                }
            }
        }
    }
    out.waits(plan, waiting);
    out
}

impl Summary {
    /// What waits, and why.
    fn waits(&mut self, plan: &Plan, waiting: &Waiting) {
        self.held.extend(plan.holds.iter().map(|hold| format!("{BRAKED}{}", hold.message())));
        for set in plan.sets.values() {
            let key = set.meta.key();
            self.failed
                .extend(set.unsecured.iter().map(|why| format!("DNSRecordSet {key}: {why}")));
        }
        self.failed
            .extend(plan.blind.iter().map(|why| format!("PowerDNS could not be read: {why}")));
        for (uid, why) in &waiting.zones {
            if let Some(object) = plan.objects.get(uid) {
                self.held.push(format!("DNSZone {}: {why}", object.meta.key()));
            }
        }
        self.sets(plan, waiting);
        self.failed.sort();
        self.held.sort();
    }

    /// What waits of the record sets, and what was read equal.
    fn sets(&mut self, plan: &Plan, waiting: &Waiting) {
        for set in plan.sets.values().filter(|s| !s.going && s.controller == Controller::Ours) {
            let key = set.meta.key();
            if let Err((reason, message)) = &set.accepted {
                self.held.push(format!("{key}: {reason}: {message}"));
                continue;
            }
            if set.stands {
                let not: Vec<_> = statuses::unprogrammed(set).collect();
                self.equal += set.raws.len().saturating_sub(not.len());
                let said = |(raw, c): (&str, &Condition)| {
                    format!("{key} {raw}: {}: {}", c.reason, c.message)
                };
                self.held.extend(not.into_iter().map(said));
                continue;
            }
            for (raw, plan) in &set.raws {
                match &plan.verdict {
                    Verdict::Equal => self.equal += 1,
                    Verdict::Sent => {}
                    Verdict::Not(reason, message) => {
                        self.held.push(format!("{key} {raw}: {reason}: {message}"));
                    }
                }
            }
        }
        for (uid, why) in &waiting.sets {
            if let Some(set) = plan.sets.get(uid) {
                self.held.push(format!("deletion of {}: {why}", set.meta.key()));
            }
        }
    }

    /// A conflict with what others wrote is no failure of anybody here.
    fn fail(&mut self, what: &str, failure: &Failure) {
        let list = match failure {
            Failure::Conflict(_) | Failure::NameHeld(_) => &mut self.held,
            Failure::Refused(_)
            | Failure::RefusedAs(_)
            | Failure::ZoneMissing
            | Failure::Unauthorized
            | Failure::Status(_)
            | Failure::Unknown(_)
            | Failure::NotSent(_)
            | Failure::NotPowerDns(_)
            | Failure::InVain(_) => &mut self.failed,
        };
        list.push(format!("{what}: {}", failure.condition().1));
    }

    fn counter(&mut self, change: &Change) -> &mut usize {
        match change {
            Change::Replace { from: None, .. } => &mut self.created,
            Change::Replace { .. } => &mut self.replaced,
            Change::Adopt { .. } => &mut self.adopted,
            Change::Delete { .. } => &mut self.deleted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_of_what_came_to_be_otherwise_counts() {
        let with = |set: fn(&mut Summary)| {
            let mut summary = Summary::default();
            set(&mut summary);
            summary.changes_anything()
        };
        for set in [
            (|s| s.created = 1) as fn(&mut Summary),
            |s| s.replaced = 1,
            |s| s.deleted = 1,
            |s| s.adopted = 1,
            |s| s.zones_created = 1,
            |s| s.zones_marked = 1,
            |s| s.zones_deleted = 1,
        ] {
            assert!(with(set));
        }
        assert!(!with(|s| (s.zones, s.record_sets, s.equal, s.left_alone) = (1, 1, 1, 1)));
    }

    #[test]
    fn a_pass_is_clean_if_nothing_failed_and_nothing_waits() {
        let summary = |failed: &[&str], held: &[&str]| {
            let of = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
            Summary { failed: of(failed), held: of(held), ..Summary::default() }.clean()
        };
        assert!(summary(&[], &[]));
        assert!(!summary(&["a"], &[]) && !summary(&[], &["b"]) && !summary(&["a"], &["b"]));
    }
}

//! What was seen while the plan was being secured, and what it takes out of the plan. `confirm` can only
//! turn changes into holds, never add one.

use std::collections::{BTreeMap, BTreeSet};

use super::Plan;
use super::change::{Change, DeleteReason, Leftover, Verdict};
use super::zone_plan::ZoneStep;
use crate::api::conditions::{reason, sentence};
use crate::api::object::{ObjectKey, Zone};
use crate::dns::name::Name;

/// What a live GET of an object said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveObject {
    /// 404.
    Gone,
    /// It exists, with this uid.
    Uid(String),
    /// It could not be asked.
    Unknown,
}

/// What was found out between the decision and the first write.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Record sets that changed or went while they were being secured: uid and why.
    pub lost_sets: BTreeMap<String, String>,
    /// The same for DNSZones.
    pub lost_zones: BTreeMap<String, String>,
    /// Record sets that should have been deleted with their DNSZone and were not, and why.
    pub kept_sets: BTreeMap<String, String>,
    /// Terminating DNSZones of which a reference could not be taken off a live record set, and why.
    pub unstripped: BTreeMap<String, String>,
    /// Live GETs of the objects that implicit deletes turn on.
    pub live: BTreeMap<ObjectKey, LiveObject>,
    /// Domains of all DNSZones on a second list, made only for orphans that would go.
    pub domains: Option<BTreeSet<Name>>,
}

impl Evidence {
    /// Whether anything went wrong while the plan was secured.
    #[must_use]
    pub fn is_bad(&self) -> bool {
        let Evidence { lost_sets, lost_zones, kept_sets, unstripped, live, domains: _ } = self;
        let unknown = |l: &LiveObject| *l == LiveObject::Unknown;
        [lost_sets, lost_zones, kept_sets, unstripped].iter().any(|m| !m.is_empty())
            || live.values().any(unknown)
    }
}

impl Evidence {
    /// What else went wrong than with record sets that are to be served, for people: of DNSZones, and of
    /// record sets that go with one.
    pub fn faults(&self) -> impl Iterator<Item = String> {
        let zones = self.lost_zones.iter().chain(&self.unstripped);
        let zones = zones.map(|(uid, why)| format!("DNSZone of uid {uid}: {why}"));
        let sets = self.kept_sets.iter();
        zones.chain(sets.map(|(uid, why)| format!("DNSRecordSet of uid {uid}: {why}")))
    }
}

/// The objects whose absence an implicit delete turns on: each needs a live GET.
#[must_use]
pub fn questions(plan: &Plan) -> BTreeSet<ObjectKey> {
    let changes = plan.zones.values().flat_map(|z| z.names.values()).flat_map(|n| n.types.values());
    changes
        .filter_map(|change| match change {
            Change::Delete { by, why: DeleteReason::Implicit, .. } => Some(by.key.clone()),
            Change::Delete { .. } | Change::Replace { .. } | Change::Adopt { .. } => None,
        })
        .collect()
}

/// The domain of a listed DNSZone, if it is one.
#[must_use]
pub fn domain(object: &serde_json::Value) -> Option<Name> {
    Name::parse(&Zone::decode(object)?.domain?).ok()
}

/// Takes out of the plan what the evidence does not bear.
pub fn confirm(mut plan: Plan, evidence: &Evidence) -> Plan {
    for (uid, why) in &evidence.lost_zones {
        hold_zones_of(&mut plan, uid, why);
    }
    let why = evidence.lost_sets.iter().chain(&evidence.kept_sets);
    let why = why.map(|(uid, why)| (uid.as_str(), why.as_str())).collect();
    let touched = names_touching(&plan, &why);
    hold_names(&mut plan, &touched);
    for (uid, why) in &evidence.lost_sets {
        if let Some(set) = plan.sets.get_mut(uid) {
            let message = sentence::detailed(sentence::PENDING_NAME, why);
            set.unsecured = Some(why.clone());
            set.accepted = Err((reason::PENDING, message.clone()));
            for raw in set.raws.values_mut() {
                raw.verdict = Verdict::Not(reason::PENDING, message.clone());
            }
        }
    }
    for object in plan.objects.values_mut() {
        let Some(deletion) = &mut object.deletion else {
            continue;
        };
        let kept = deletion.dependants.iter().find_map(|m| {
            let why = evidence.kept_sets.get(&m.uid)?;
            Some(format!("DNSRecordSet {} could not be deleted: {why}", m.key()))
        });
        let refers = deletion.referrers.iter().find_map(|uid| evidence.lost_sets.get(uid)).cloned();
        let unstripped = evidence.unstripped.get(&object.meta.uid).cloned();
        let held = kept.or(unstripped).or(refers);
        if let Some(why) = held {
            deletion.held = Some(why.clone());
            if let Some(zone) = deletion.takes.take().and_then(|z| plan.zones.get_mut(&z)) {
                zone.withhold(&why);
            }
        }
    }
    for (name, zone) in &mut plan.zones {
        let proved = evidence.domains.as_ref().is_some_and(|all| !all.contains(name));
        if matches!(zone.step, ZoneStep::DeleteOrphan { .. }) && !proved {
            zone.withhold("it is not proved that its DNSZone is gone");
        }
    }
    hold_unproved(&mut plan, &evidence.live);
    plan
}

/// Everything in the zones that a DNSZone was going to be written for.
pub(super) fn hold_zones_of(plan: &mut Plan, uid: &str, why: &str) {
    let concerned: Vec<Name> = plan
        .objects
        .get(uid)
        .and_then(|o| o.domain.clone())
        .into_iter()
        .filter(|d| plan.zones.contains_key(d))
        .collect();
    for domain in concerned {
        let held = all_of(plan, &domain, why).collect();
        hold_names(plan, &held);
        if let Some(zone) = plan.zones.get_mut(&domain) {
            zone.withhold(why);
        }
    }
}

/// Zone and owner name, each with the reason why it is held.
pub(super) type Held = BTreeMap<(Name, Name), String>;

/// Names where one of these sets has a claim, or where something is written or deleted on its account, each with the reason
/// that its uid has here.
pub(super) fn names_touching(plan: &Plan, why: &BTreeMap<&str, &str>) -> Held {
    let mut out = Held::new();
    for (uid, why) in why {
        let raws = plan.sets.get(*uid).into_iter().flat_map(|s| s.raws.values());
        let targets = raws.filter_map(|r| r.target.as_ref());
        out.extend(targets.map(|t| ((t.zone.clone(), t.name.clone()), (*why).to_owned())));
    }
    for (zone, zone_plan) in &plan.zones {
        for (name, change) in &zone_plan.names {
            let by = change.types.values().filter_map(|change| match change {
                Change::Delete { by, .. } | Change::Adopt { by, .. } => Some(by),
                Change::Replace { by, .. } => by.as_ref(),
            });
            let why = by.filter_map(|party| why.get(party.uid.as_str()));
            out.extend(why.map(|why| ((zone.clone(), name.clone()), (*why).to_owned())));
        }
    }
    out
}

/// What is stored at these names stays as it is for this pass, and nobody inherits it. Nothing is stored in a zone that is
/// yet to be made: it gets the SOA and NS of its class all the same.
pub(super) fn hold_names(plan: &mut Plan, held: &Held) {
    let mut evident = BTreeSet::new();
    for (zone_name, name) in held.keys() {
        let Some(zone) = plan.zones.get_mut(zone_name) else { continue };
        let Some(mut change) = zone.names.remove(name) else { continue };
        let made = matches!(zone.step, ZoneStep::Create { .. });
        let stays = |c: &Change| made && matches!(c, Change::Replace { by: None, .. });
        if change.types.values().any(|c| !stays(c) && zone.leaves_evidence(c)) {
            evident.insert(zone_name.clone());
        }
        change.types.retain(|_, c| stays(c));
        if !change.types.is_empty() {
            zone.names.insert(name.clone(), change);
        }
    }
    for name in evident {
        if let Some(zone) = plan.zones.get_mut(&name) {
            zone.note_nothing();
        }
    }
    let raws = plan.sets.values_mut().flat_map(|s| s.raws.values_mut());
    for raw in raws.filter(|raw| raw.verdict == Verdict::Sent) {
        let Some(target) = &raw.target else { continue };
        if let Some(why) = held.get(&(target.zone.clone(), target.name.clone())) {
            let message = sentence::detailed(sentence::PENDING_NAME, why);
            raw.verdict = Verdict::Not(reason::PENDING, message);
        }
    }
}

/// All that is to be written in a zone.
pub(super) fn all_of<'a>(
    plan: &'a Plan,
    zone: &'a Name,
    why: &'a str,
) -> impl Iterator<Item = ((Name, Name), String)> + 'a {
    let names = plan.zones.get(zone).into_iter().flat_map(|z| z.names.keys());
    names.map(move |name| ((zone.clone(), name.clone()), why.to_owned()))
}

/// An implicit delete stays only if a live GET says that the object is gone, or another by its uid. A write
/// that needs such a delete waits with it.
fn hold_unproved(plan: &mut Plan, live: &BTreeMap<ObjectKey, LiveObject>) {
    let mut held = Vec::new();
    for (zone, zone_plan) in &mut plan.zones {
        for (name, change) in &mut zone_plan.names {
            let unproved = |c: &Change| match c {
                Change::Delete { by, why: DeleteReason::Implicit, .. } => match live.get(&by.key) {
                    Some(LiveObject::Gone) => false,
                    Some(LiveObject::Uid(uid)) => *uid == by.uid,
                    Some(LiveObject::Unknown) | None => true,
                },
                Change::Delete { .. } | Change::Replace { .. } | Change::Adopt { .. } => false,
            };
            if change.types.values().any(unproved) {
                held.push((zone.clone(), name.clone()));
            }
        }
    }
    let why = "it is not proved that its object is gone";
    for (zone, name) in &held {
        if let Some(plan) = plan.zones.get_mut(zone) {
            let types = plan.names.get(name).into_iter().flat_map(|c| &c.types);
            let implicit = types.filter_map(|(rtype, change)| match change {
                Change::Delete { by, why: DeleteReason::Implicit, .. } => Some(Leftover {
                    name: name.clone(),
                    rtype: rtype.to_string(),
                    why: format!("of DNSRecordSet {}: {why}", by.key),
                    uid: Some(by.uid.clone()),
                }),
                Change::Delete { .. } | Change::Replace { .. } | Change::Adopt { .. } => None,
            });
            plan.leftovers.extend(implicit.collect::<Vec<_>>());
        }
    }
    let held = held.into_iter().map(|key| (key, why.to_owned())).collect();
    hold_names(plan, &held);
}

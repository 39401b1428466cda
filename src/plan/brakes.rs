//! The brakes: a plan that deletes more than people usually mean stops before its first write. What
//! PowerDNS holds now is the baseline, so that a restart forgets nothing.
//!
//! A held change changes nothing; each hold has a digest of what it holds, by which a person lets exactly that
//! through, once.

use std::collections::{BTreeMap, BTreeSet};

use data_encoding::HEXLOWER;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::Plan;
use super::change::{Change, DeleteReason};
use super::guard::{Held, all_of, hold_names};
use super::objects::{ObjectPlan, ZoneProgrammed};
use super::release::Released;
use super::sets::{is_zone, was_programmed};
use super::snapshot::Snapshot;
use super::zone_plan::ZoneStep;
use super::zones::Standing;
use crate::api::conditions::{reason, sentence};
use crate::dns::name::Name;
use crate::dns::rrset::RecordType;

/// RRsets that a zone must have before shares of it count for implicit deletes.
const IMPLICIT_FROM: usize = 10;
/// The same for explicit deletes.
const EXPLICIT_FROM: usize = 20;
/// Zones that implicit deletes may touch in one pass.
const IMPLICIT_ZONES: usize = 2;
/// Known zones that must be missing before their absence is doubted.
const MISSING_FROM: usize = 3;
/// Keys that a hold's message spells out.
const SPELLED: usize = 3;

/// Where the brakes bite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brakes {
    /// No deletes at all while false: the switch for an incident.
    pub deletes: bool,
    /// Share of a zone, in percent, that may go implicitly in one pass.
    pub implicit_percent: usize,
    /// Implicit deletes in one pass.
    pub implicit_total: usize,
    /// Share of a zone, in percent, that may go explicitly in one pass; `None`: any.
    pub explicit_percent: Option<usize>,
}

/// What a brake is there against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Brake {
    /// Many RRsets that go at once.
    Deletes,
    /// Many zones that go at once.
    Orphans,
    /// Many zones that are not in PowerDNS any more.
    Missing,
}

/// Changes that one brake holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hold {
    /// Which brake.
    pub brake: Brake,
    /// Why it bites.
    pub why: String,
    /// Names exactly these changes; `None` if nobody can let them through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// `name type`, or zones, sorted.
    pub what: BTreeSet<String>,
    /// The zones concerned.
    pub zones: BTreeSet<Name>,
}

impl Hold {
    pub(super) fn new(
        brake: Brake,
        why: String,
        what: BTreeSet<String>,
        zones: BTreeSet<Name>,
    ) -> Hold {
        let mut hash = Sha256::new();
        for one in &what {
            hash.update(one.as_bytes());
            hash.update([0]);
        }
        let digest = HEXLOWER.encode(hash.finalize().get(..6).unwrap_or_default());
        Hold { brake, why, digest: Some(digest), what, zones }
    }

    /// What is held and why, ending in `digest <hex>` where it can be let through.
    #[must_use]
    pub fn message(&self) -> String {
        let shown: Vec<&str> = self.what.iter().take(SPELLED).map(String::as_str).collect();
        let more = match self.what.len().saturating_sub(SPELLED) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let digest = self.digest.as_ref().map(|d| format!("; digest {d}")).unwrap_or_default();
        format!("{}: {}{more}{digest}", self.why, shown.join(", "))
    }
}

type Key = (Name, Name, RecordType);

/// Holds what the brakes do not let through, except what `released` covers.
pub fn brake(mut plan: Plan, snapshot: &Snapshot, brakes: Brakes, released: &Released) -> Plan {
    if brakes.deletes {
        hold_deletes(&mut plan, snapshot, brakes, released);
    } else {
        hold_all(&mut plan);
    }
    let missing = missing(&plan, snapshot, released);
    if let Some(hold) = missing.and_then(|hold| plan.held(hold, released)) {
        hold_missing(&mut plan, snapshot, &hold);
        concern(&mut plan, &hold);
        plan.holds.push(hold);
    }
    plan
}

fn hold_deletes(plan: &mut Plan, snapshot: &Snapshot, brakes: Brakes, released: &Released) {
    for (hold, keys) in deletes_held(plan, snapshot, brakes) {
        if let Some(hold) = plan.held(hold, released) {
            let renames = renames(plan, &keys);
            hold_keys(plan, &keys, &hold.why);
            hold_keys(plan, &renames, &hold.why);
            concern(plan, &hold);
            plan.holds.push(hold);
        }
    }
    if let Some(hold) = orphans_held(plan, snapshot).and_then(|hold| plan.held(hold, released)) {
        for name in &hold.zones {
            hold_zone(plan, name, &hold.why);
        }
        plan.holds.push(hold);
    }
}

impl Plan {
    /// The hold, unless it is let through, which is noted.
    fn held(&mut self, hold: Hold, released: &Released) -> Option<Hold> {
        if !released.covers(&hold) {
            return Some(hold);
        }
        self.let_through.push(hold);
        None
    }
}

/// The holds on deletes of RRsets, each with its keys.
fn deletes_held(plan: &Plan, snapshot: &Snapshot, brakes: Brakes) -> Vec<(Hold, Vec<Key>)> {
    let mut out = Vec::new();
    // A set that is listed without being input is no object that is gone: asking for it spares what it wrote.
    let listed: BTreeSet<&str> =
        snapshot.cluster.sets.iter().map(|s| s.meta.uid.as_str()).collect();
    let implicit = deletes(plan, |by, why| {
        let gone = why == DeleteReason::Implicit && !listed.contains(by);
        gone || why == DeleteReason::Undeclared
    });
    let undeclared = !deletes(plan, |_, why| why == DeleteReason::Undeclared).is_empty();
    let gone = if undeclared { "that no object declares" } else { "whose objects are gone" };
    let noted = plan.zones.values().any(|z| !z.carried.is_empty());
    let zones = per_zone(&implicit);
    let why = if implicit.is_empty() {
        None
    } else if snapshot.cluster.sets.is_empty() && (noted || undeclared) {
        Some("no DNSRecordSet is listed although RRsets were written for some".to_owned())
    } else if implicit.len() > brakes.implicit_total {
        Some(format!("{} RRsets {gone} would be deleted at once", implicit.len()))
    } else if zones.len() > IMPLICIT_ZONES {
        Some(format!("RRsets {gone} would be deleted in {} zones", zones.len()))
    } else {
        None
    };
    if let Some(why) = why {
        out.push((hold_of(why, &implicit), implicit));
    } else {
        for (zone, keys) in zones {
            let size = size(snapshot, &zone);
            if size >= IMPLICIT_FROM && keys.len() * 100 > size * brakes.implicit_percent {
                let why =
                    format!("{} of {size} RRsets of {zone} have lost their objects", keys.len());
                out.push((hold_of(why, &keys), keys));
            }
        }
    }
    if let Some(percent) = brakes.explicit_percent {
        out.extend(explicit_held(plan, snapshot, percent));
    }
    out
}

fn per_zone(keys: &[Key]) -> BTreeMap<Name, Vec<Key>> {
    let mut zones: BTreeMap<Name, Vec<Key>> = BTreeMap::new();
    for key in keys {
        zones.entry(key.0.clone()).or_default().push(key.clone());
    }
    zones
}

/// The holds on what somebody asked for, of more than `percent` of a zone.
fn explicit_held(plan: &Plan, snapshot: &Snapshot, percent: usize) -> Vec<(Hold, Vec<Key>)> {
    let mut out = Vec::new();
    // What goes with its DNSZone; whoever else ends of that domain says nothing about the sets of the one that is served.
    let along = terminating(plan).flat_map(|o| o.entries.keys().map(String::as_str));
    let along: BTreeSet<&str> = along.collect();
    let explicit = |by: &str, why| {
        matches!(why, DeleteReason::Going | DeleteReason::Lost) && !along.contains(by)
    };
    for (zone, keys) in per_zone(&deletes(plan, explicit)) {
        let size = size(snapshot, &zone);
        let of_zone = |o: &&ObjectPlan| o.domain.as_ref() == Some(&zone);
        let served = plan.objects.values().filter(of_zone).any(|o| o.standing == Standing::Served);
        let ends = !served && terminating(plan).any(|o| of_zone(&o));
        if !ends && size >= EXPLICIT_FROM && keys.len() * 100 > size * percent {
            let why = format!("{} of {size} RRsets of {zone} would be deleted at once", keys.len());
            out.push((hold_of(why, &keys), keys));
        }
    }
    out
}

fn terminating(plan: &Plan) -> impl Iterator<Item = &ObjectPlan> {
    plan.objects.values().filter(|o| o.standing == Standing::Terminating)
}

fn hold_of(why: String, keys: &[Key]) -> Hold {
    let what = keys.iter().map(|(_, name, rtype)| format!("{name} {rtype}")).collect();
    Hold::new(Brake::Deletes, why, what, keys.iter().map(|(zone, ..)| zone.clone()).collect())
}

/// Planned deletes of whose writer's uid and ground `of` accepts. A name that is written in the same PATCH does not disappear.
fn deletes(plan: &Plan, of: impl Fn(&str, DeleteReason) -> bool) -> Vec<Key> {
    let mut out = Vec::new();
    for (zone, zone_plan) in &plan.zones {
        for (name, change) in &zone_plan.names {
            for (rtype, change) in &change.types {
                if matches!(change, Change::Delete { by, why, .. } if of(&by.uid, *why)) {
                    out.push((zone.clone(), name.clone(), *rtype));
                }
            }
        }
    }
    out
}

/// RRsets that a zone has now.
fn size(snapshot: &Snapshot, zone: &Name) -> usize {
    let stored = snapshot.server.zones.as_ref().ok().and_then(|zones| zones.get(zone));
    let contents = stored.and_then(|z| z.contents.as_ref().ok());
    contents
        .map_or(0, |c| c.names.values().flat_map(BTreeMap::values).filter(|r| r.exists()).count())
}

/// What the objects that have given up some of these keys create in the same zone. A rename waits whole: written now, the
/// new names would make the zone so large that the next pass lets the old ones go.
fn renames(plan: &Plan, held: &[Key]) -> Vec<Key> {
    let mut out = Vec::new();
    let zones: BTreeSet<&Name> = held.iter().map(|(zone, ..)| zone).collect();
    for (zone, names) in zones.into_iter().filter_map(|z| Some((z, &plan.zones.get(z)?.names))) {
        let here = held.iter().filter(|(z, ..)| z == zone);
        let given_up =
            here.filter_map(|(_, name, rtype)| match names.get(name)?.types.get(rtype)? {
                Change::Delete { by, why: DeleteReason::Lost, .. } => Some(&by.uid),
                Change::Delete { .. } | Change::Replace { .. } | Change::Adopt { .. } => None,
            });
        let writers: BTreeSet<&String> = given_up.collect();
        for (name, change) in names {
            let new = |c: &Change| matches!(c, Change::Replace { from: None, by: Some(by), .. } if writers.contains(&by.uid));
            let new = change.types.iter().filter(|(_, c)| new(c));
            out.extend(new.map(|(rtype, _)| (zone.clone(), name.clone(), *rtype)));
        }
    }
    out
}

fn hold_keys(plan: &mut Plan, keys: &[Key], why: &str) {
    let held = keys.iter().map(|(zone, name, _)| ((zone.clone(), name.clone()), why.to_owned()));
    hold_names(plan, &held.collect());
}

/// `policy.deletes: never`: every delete waits, of RRsets and of zones.
fn hold_all(plan: &mut Plan) {
    let why = "policy.deletes is never".to_owned();
    let keys = deletes(plan, |_, _| true);
    let mut hold = hold_of(why.clone(), &keys);
    hold_keys(plan, &keys, &why);
    // What an heir writes over would be deleted alone if the server refused the heir.
    let names = plan.zones.values_mut().flat_map(|zone| zone.names.values_mut());
    for change in names.flat_map(|name| name.types.values_mut()) {
        if let Change::Replace { over, .. } = change {
            *over = None;
        }
    }
    let going: Vec<Name> =
        plan.zones.iter().filter(|(_, z)| z.goes()).map(|(name, _)| name.clone()).collect();
    for name in going {
        hold_zone(plan, &name, &why);
        hold.what.insert(name.to_string());
        hold.zones.insert(name);
    }
    for deletion in plan.objects.values_mut().filter_map(|o| o.deletion.as_mut()) {
        if deletion.takes.take().is_some() {
            deletion.held = Some(why.clone());
        }
    }
    if !hold.what.is_empty() {
        hold.digest = None;
        concern(plan, &hold);
        plan.holds.push(hold);
    }
}

/// Orphan zones that would go: all where no DNSZone is listed at all, or more than a person would let go by the way.
fn orphans_held(plan: &Plan, snapshot: &Snapshot) -> Option<Hold> {
    let orphan = |z: &super::ZonePlan| matches!(z.step, ZoneStep::DeleteOrphan { .. });
    let zones: BTreeSet<Name> =
        plan.zones.iter().filter(|(_, z)| orphan(z)).map(|(name, _)| name.clone()).collect();
    let why = if zones.is_empty() {
        return None;
    } else if snapshot.cluster.zones.is_empty() {
        "no DNSZone is listed although zones are marked for some".to_owned()
    } else if zones.len() > IMPLICIT_ZONES {
        format!("{} zones whose DNSZones are gone would be deleted at once", zones.len())
    } else {
        return None;
    };
    Some(Hold::new(Brake::Orphans, why, zones.iter().map(ToString::to_string).collect(), zones))
}

fn hold_zone(plan: &mut Plan, name: &Name, why: &str) {
    if let Some(zone) = plan.zones.get_mut(name) {
        zone.withhold(why);
    }
}

/// Half of the zones that were there, and at least three, are not in PowerDNS any more: that is a lost
/// database, or the wrong server, before it is the truth.
fn missing(plan: &Plan, snapshot: &Snapshot, released: &Released) -> Option<Hold> {
    let listed = snapshot.server.zones.as_ref().ok()?;
    let held =
        |o: &ObjectPlan| o.status.conditions.iter().any(|c| c.reason == reason::DELETION_HELD);
    // What we deleted ourselves is not missing, whether its DNSZone is let go by now or waits for something else.
    let ours = |o: &ObjectPlan| match &o.deletion {
        Some(_) => !o.domain.as_ref().is_some_and(|domain| released.expects(domain)),
        None => o.standing == Standing::Served,
    };
    let known = plan.objects.values();
    let known = known.filter(|o| ours(o) && (!o.status.nameservers.is_empty() || held(o)));
    let domains: BTreeSet<&Name> = known.filter_map(|o| o.domain.as_ref()).collect();
    let missing: BTreeSet<Name> =
        domains.iter().filter(|d| !listed.contains_key(**d)).map(|d| (*d).clone()).collect();
    if missing.len() < MISSING_FROM || missing.len() * 2 < domains.len() {
        return None;
    }
    let why = format!("{} of {} zones are missing from PowerDNS", missing.len(), domains.len());
    let what = missing.iter().map(ToString::to_string).collect();
    Some(Hold::new(Brake::Missing, why, what, missing))
}

/// Nothing is created anew, and nothing is let go because it is absent.
fn hold_missing(plan: &mut Plan, snapshot: &Snapshot, hold: &Hold) {
    let listed = |name: &Name| snapshot.server.zones.as_ref().is_ok_and(|z| z.contains_key(name));
    let names: Held = hold.zones.iter().flat_map(|zone| all_of(plan, zone, &hold.why)).collect();
    hold_names(plan, &names);
    for name in &hold.zones {
        if let Some(zone) = plan.zones.get_mut(name) {
            zone.withhold(&hold.why);
        }
    }
    for object in plan.objects.values_mut() {
        let concerned = object.domain.as_ref().is_some_and(|d| hold.zones.contains(d));
        if let Some(deletion) = object.deletion.as_mut().filter(|_| concerned) {
            deletion.held = Some(hold.message());
        }
    }
    // A set names every zone that it may have something in. One that is not known may be any.
    let there = plan.objects.iter().filter(|(_, o)| o.domain.as_ref().is_some_and(listed));
    let there: BTreeSet<String> = there.map(|(uid, _)| uid.clone()).collect();
    for set in plan.sets.values_mut() {
        let homeless = set.home.as_ref().is_some_and(|home| !listed(home));
        let mut zones = set.meta.owners.iter().filter(|o| is_zone(o)).peekable();
        let anywhere = zones.peek().is_none() || zones.any(|o| !there.contains(&o.uid));
        if set.going && (homeless || anywhere) {
            set.blocked.get_or_insert_with(|| hold.message());
        }
        if homeless && set.speaks_here {
            let names = set.status.names.iter().filter(|n| was_programmed(n));
            let lost = names.filter(|n| !set.raws.contains_key(&n.name));
            let lost: Vec<String> = lost.map(|n| n.name.clone()).collect();
            for name in lost {
                set.lost.entry(name).or_insert(None);
            }
        }
    }
}

/// Each zone concerned says so.
fn concern(plan: &mut Plan, hold: &Hold) {
    for object in plan.objects.values_mut() {
        if object.domain.as_ref().is_some_and(|d| hold.zones.contains(d))
            && object.standing == Standing::Served
        {
            object.programmed = ZoneProgrammed::Not(
                reason::DELETION_HELD,
                sentence::detailed(sentence::DELETION_HELD, &hold.message()),
            );
        }
    }
}

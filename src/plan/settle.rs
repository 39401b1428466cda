//! What the answers mean: the statuses to write, the objects to let go, and the summary of the pass.
//!
//! `Programmed=True` and every release come from here and from nowhere else, and rest on what was read
//! equal or acknowledged in this pass.

use std::collections::{BTreeMap, BTreeSet};

use super::Plan;
use super::census::Census;
use super::change::{Change, Verdict};
use super::events::{self, Event};
use super::objects::{Deletion, ObjectPlan, ZoneProgrammed};
use super::outcome::{Applied, Failure, Outcome};
use super::permission::MARKING;
use super::set_plan::{Controller, RawPlan, SetPlan, Trace};
use super::sets::was_programmed;
use super::statuses::{self, Said, StatusWrite, set_status, spelled, zone_status};
use super::summary::{Summary, Waiting, summarize};
use super::zone_plan::{ZonePlan, ZoneStep};
use super::zones::Standing;
use crate::api::conditions::{Truth, reason, sentence};
use crate::api::object::{Meta, Owner};
use crate::dns::name::Name;
use crate::dns::rrset::RecordType;

/// An object that is let go.
#[derive(Clone, Debug)]
pub struct Release {
    /// The object.
    pub meta: Meta,
    /// Finalizers that are not ours to take off.
    pub stay: Vec<String>,
}

/// What is left to do in Kubernetes once PowerDNS has answered.
#[derive(Clone, Debug, Default)]
pub struct Aftermath {
    /// Statuses that differ from what is stored.
    pub statuses: Vec<StatusWrite>,
    /// Record sets that lose our finalizer.
    pub set_releases: Vec<Release>,
    /// Record sets that lose owner references to DNSZones they have left: the complete new lists.
    pub repointed: Vec<(Meta, Vec<Owner>)>,
    /// DNSZones that lose our finalizer, once these record sets have lost theirs.
    pub zone_releases: Vec<(Release, BTreeSet<String>)>,
    /// Record sets of which every name was read equal or acknowledged in this pass, with their generation, by uid.
    pub proven: BTreeMap<String, i64>,
    /// Why a DNSZone is not as declared, or not gone, by uid.
    pub waiting: BTreeMap<String, String>,
    /// What changed for an object, for people.
    pub events: Vec<Event>,
    /// The pass in figures and names.
    pub summary: Summary,
    /// What is in which state; the summary gets it at the end.
    census: Census,
}

impl Aftermath {
    /// Uids of the objects that are written.
    pub(super) fn written(&self) -> impl Iterator<Item = &str> {
        let statuses = self.statuses.iter().map(|write| &write.meta);
        let zones = self.zone_releases.iter().map(|(release, _)| &release.meta);
        let sets = self.set_releases.iter().map(|release| &release.meta);
        let repointed = self.repointed.iter().map(|(meta, _)| meta);
        let all = statuses.chain(zones).chain(sets).chain(repointed);
        all.map(|meta| meta.uid.as_str())
    }
}

/// Settles a pass. `now` is RFC 3339 in seconds.
#[must_use]
pub fn settle(plan: &Plan, applied: &Applied, now: &str) -> Aftermath {
    let mut out = Aftermath::default();
    let mut waiting = Waiting::default();
    plan.objects.values().for_each(|object| out.census.zone(object));
    settle_sets(plan, applied, now, &mut out, &mut waiting);
    settle_zones(plan, applied, now, &mut out, &mut waiting);
    let stand = plan.objects.iter().filter(|(_, object)| object.stands);
    let unserved = stand.filter_map(|(uid, o)| Some((uid.clone(), statuses::unserved(o)?)));
    waiting.zones.extend(unserved);
    out.summary = summarize(plan, applied, &waiting);
    out.summary.census = std::mem::take(&mut out.census);
    out.waiting = waiting.zones;
    out
}

fn settle_sets(
    plan: &Plan,
    applied: &Applied,
    now: &str,
    out: &mut Aftermath,
    waiting: &mut Waiting,
) {
    let ends = ends(plan);
    for (uid, set) in &plan.sets {
        let ends = ends.get(uid.as_str()).copied();
        if set.stands {
            if set.controller == Controller::Ours {
                out.census.stands(set);
            }
            continue;
        }
        // What another controller serves, maybe on a server that is not read here, is its own to let go.
        if set.going && set.finalized && set.controller != Controller::OtherAccepted {
            match unproved(plan, applied, ends, set) {
                None => {
                    let stay = plan.finalizers.staying_on_set(&set.meta);
                    out.set_releases.push(Release { meta: set.meta.clone(), stay });
                    out.events.extend(set.homeless.then(|| events::homeless(set)));
                }
                Some(why) => {
                    out.census.waits(&set.meta);
                    out.statuses.extend(set_status(set, &pending_deletion(set, &why), now));
                    waiting.sets.insert(uid.clone(), why);
                }
            }
        } else if !set.going && set.controller != Controller::OtherAccepted {
            let keeps = set.accepted.is_ok() && plan.keeping.contains(uid);
            let names = names(plan, set, applied);
            let whole = statuses::whole(set, &names);
            if whole {
                out.proven.insert(uid.clone(), set.meta.generation);
            }
            let write = set_status(set, &names, now).filter(|_| !keeps);
            if set.controller == Controller::Ours {
                out.census.live(set, &names, (whole, write.as_ref()));
            }
            if let Some(write) = write {
                out.events.extend(events::of_set(set, &names, whole));
                out.statuses.push(write);
            }
            if let Some(owners) = &set.repointed
                && unproved(plan, applied, ends, set).is_none()
            {
                out.repointed.push((set.meta.clone(), owners.clone()));
            }
        }
    }
}

fn settle_zones(
    plan: &Plan,
    applied: &Applied,
    now: &str,
    out: &mut Aftermath,
    waiting: &mut Waiting,
) {
    // A set with a finalizer of somebody else's is still there afterwards.
    let gone = out.set_releases.iter().filter(|release| release.stay.is_empty());
    let released: BTreeSet<String> = gone.map(|release| release.meta.uid.clone()).collect();
    for (uid, object) in plan.objects.iter().filter(|(_, object)| !object.stands) {
        let left = object.entries.iter().filter(|(uid, _)| !released.contains(*uid));
        let count = i64::try_from(left.map(|(_, n)| n).sum::<usize>()).unwrap_or(i64::MAX);
        let shown = (nameservers(object, applied), count);
        if let Some(deletion) = &object.deletion {
            match zone_unproved(plan, applied, object, &waiting.sets) {
                None => {
                    let stay = plan.finalizers.staying_on_zone(&object.meta);
                    let release = Release { meta: object.meta.clone(), stay };
                    out.zone_releases.push((release, deletion.waits_for.clone()));
                    let taken = deletion.takes.as_ref().and_then(|z| plan.zones.get_key_value(z));
                    let told = taken.map(|(z, plan)| events::deleted(object, z, &plan.leftovers));
                    out.events.extend(told);
                }
                Some(why) => {
                    out.census.waits(&object.meta);
                    waiting.zones.insert(uid.clone(), why.clone());
                    let said = (Truth::False, reason::PENDING, why);
                    out.statuses.extend(zone_status(object, shown, None, said, now));
                }
            }
            continue;
        }
        if object.standing == Standing::Terminating
            || object.controller == Controller::OtherAccepted
        {
            continue;
        }
        let (accepted, programmed) = (accepted(object, shown.0), zone_programmed(object, applied));
        let unserved = [&accepted, &programmed].into_iter().find(|said| said.0 != Truth::True);
        if let Some((_, reason, message)) = unserved
            && object.controller == Controller::Ours
        {
            waiting.zones.insert(uid.clone(), format!("{reason}: {message}"));
        }
        let made = matches!(object.programmed, ZoneProgrammed::Created(_));
        let domain = object.domain.as_ref().filter(|_| made);
        if domain.is_some_and(|domain| failure_of(applied.zone(domain)).is_none()) {
            out.events.push(events::created(object));
        }
        let event = events::of_zone(object, &programmed);
        if let Some(write) = zone_status(object, shown, Some(accepted), programmed, now) {
            out.events.extend(event);
            out.statuses.push(write);
        }
    }
}

/// The ends of DNSZones, by the uids of the record sets that go with them.
fn ends(plan: &Plan) -> BTreeMap<&str, &Deletion> {
    let deletions = plan.objects.values().rev().filter_map(|o| o.deletion.as_ref());
    deletions.flat_map(|d| d.waits_for.iter().map(move |uid| (uid.as_str(), d))).collect()
}

/// Why it is not proved that nothing of a set is left; `None` if it is.
fn unproved(
    plan: &Plan,
    applied: &Applied,
    ends: Option<&Deletion>,
    set: &SetPlan,
) -> Option<String> {
    if let Some(why) = &set.blocked {
        return Some(why.clone());
    }
    // Its DNSZone's deletion speaks for it too: without notes nothing else would.
    if let Some(deletion) = ends {
        if let Some(why) = &deletion.held {
            return Some(why.clone());
        }
        if let Some(failure) = deletion.takes.as_ref().and_then(|z| failure_of(applied.zone(z))) {
            return Some(failure.condition().1);
        }
    }
    set.traces.iter().find_map(|trace| gone(plan, applied, trace).err())
}

/// Whether an RRset is proved deleted or overwritten.
fn gone(plan: &Plan, applied: &Applied, trace: &Trace) -> Result<(), String> {
    let Trace { zone, name, rtype } = trace;
    let zone_plan = plan.zones.get(zone);
    let deleted = zone_plan.is_some_and(ZonePlan::goes);
    let planned =
        zone_plan.is_some_and(|z| z.names.get(name).is_some_and(|c| c.types.contains_key(rtype)));
    let outcome = if deleted {
        applied.zone(zone)
    } else if planned {
        applied.gone(zone, name, *rtype)
    } else {
        let why = zone_plan.and_then(|z| z.withheld.as_deref()).unwrap_or("it is held");
        return Err(format!("{name} {rtype} is still in zone {zone}: {why}"));
    };
    match outcome {
        Outcome::Done(_) => Ok(()),
        Outcome::Failed(failure) => {
            Err(format!("{name} {rtype} in zone {zone}: {}", failure.condition().1))
        }
    }
}

fn zone_unproved(
    plan: &Plan,
    applied: &Applied,
    object: &ObjectPlan,
    waiting: &BTreeMap<String, String>,
) -> Option<String> {
    let deletion = object.deletion.as_ref()?;
    let blocking: Vec<String> = deletion
        .waits_for
        .iter()
        .filter(|uid| waiting.contains_key(*uid))
        .filter_map(|uid| plan.sets.get(uid).map(|s| s.meta.key().to_string()))
        .collect();
    let sets = (!blocking.is_empty()).then(|| spelled(blocking.iter().map(String::as_str)));
    let failure = deletion.takes.as_ref().and_then(|z| failure_of(applied.zone(z)));
    match (&deletion.held, failure, sets) {
        (None, None, None) => None,
        (None, None, Some(sets)) => Some(format!("deletion is waiting for {sets}")),
        // The sets wait for the zone's own end.
        (None, Some(failure), _) => Some(format!("deletion is waiting: {}", failure.condition().1)),
        (Some(why), _, None) => Some(format!("deletion is waiting: {why}")),
        (Some(why), _, Some(sets)) => Some(format!("deletion is waiting for {sets}: {why}")),
    }
}

/// What became of each raw name of a live set's spec, and of names that its spec lost.
fn names(plan: &Plan, set: &SetPlan, applied: &Applied) -> BTreeMap<String, Said> {
    let mut out: BTreeMap<String, Said> =
        set.raws.iter().map(|(raw, name)| (raw.clone(), said(plan, name, applied))).collect();
    let before = before(set);
    for (raw, said) in &mut out {
        keep_evidence(&before, raw, said);
    }
    for (raw, trace) in &set.lost {
        let outcome = trace.as_ref().map(|t| applied.gone(&t.zone, &t.name, t.rtype));
        let why = match outcome {
            Some(Outcome::Done(_)) => continue,
            Some(Outcome::Failed(failure)) => failure.condition().1,
            None => String::new(),
        };
        let message = sentence::detailed(sentence::NOT_IN_SPEC, &why);
        out.insert(raw.clone(), (Truth::False, reason::PENDING, message));
    }
    out
}

/// Names that its status says were programmed once, if it speaks of the zone that the set is in.
fn before(set: &SetPlan) -> BTreeSet<&str> {
    let names = set.status.names.iter().filter(|n| set.speaks_here && was_programmed(n));
    names.map(|n| n.name.as_str()).collect()
}

/// A name that was programmed and now is not, for a reason that leaves the RRset as it was, goes on saying so.
fn keep_evidence(before: &BTreeSet<&str>, raw: &str, said: &mut Said) {
    let (truth, reason, message) = said;
    let before = before.contains(raw);
    if *truth != Truth::True && before && matches!(*reason, reason::PENDING | reason::PDNS_ERROR) {
        message.push_str(sentence::PROGRAMMED_BEFORE);
    }
}

fn said(plan: &Plan, raw: &RawPlan, applied: &Applied) -> Said {
    let programmed = || {
        let remark = raw.remark.as_deref().unwrap_or_default();
        let message = sentence::detailed(sentence::NAME_PROGRAMMED, remark);
        (Truth::True, reason::PROGRAMMED, message)
    };
    match (&raw.verdict, &raw.target) {
        (Verdict::Not(reason, message), target) => {
            let zone = target.as_ref().map(|t| &t.zone);
            (Truth::False, reason, with_failed_mark(message, zone, applied))
        }
        (Verdict::Equal | Verdict::Sent, Some(t)) if applied.vanished(&t.zone) => {
            let (reason, message) = Failure::ZoneMissing.condition();
            (Truth::False, reason, message)
        }
        (Verdict::Equal | Verdict::Sent, Some(t)) if lacks_soa(plan, applied, &t.zone) => {
            let message = sentence::detailed(sentence::PENDING_NAME, "its zone has no SOA");
            (Truth::False, reason::PENDING, message)
        }
        (Verdict::Equal, Some(_)) => programmed(),
        (Verdict::Sent, Some(t)) => match applied.key(&t.zone, &t.name, t.rtype) {
            Outcome::Done(_) => programmed(),
            Outcome::Failed(failure) => {
                let (reason, message) = failure.condition();
                (Truth::False, reason, message)
            }
        },
        (Verdict::Equal | Verdict::Sent, None) => {
            (Truth::False, reason::PENDING, sentence::PENDING_NAME.to_owned())
        }
    }
}

/// A zone without an SOA answers nothing. One that is made gets it from PowerDNS if not from us.
fn lacks_soa(plan: &Plan, applied: &Applied, zone: &Name) -> bool {
    let made = |z: &ZonePlan| matches!(z.step, ZoneStep::Create { .. });
    let written = |z: &ZonePlan| {
        let soa = z.names.get(zone).and_then(|apex| apex.types.get(&RecordType::Soa));
        matches!(soa, Some(Change::Replace { .. }))
            && matches!(applied.key(zone, zone, RecordType::Soa), Outcome::Done(_))
    };
    plan.zones.get(zone).is_some_and(|z| z.no_soa && !made(z) && !written(z))
}

/// What waits for a mark that could not be written says why it could not.
fn with_failed_mark(message: &str, zone: Option<&Name>, applied: &Applied) -> String {
    let zone = zone.filter(|_| message.ends_with(MARKING));
    match zone.and_then(|zone| failure_of(applied.zone(zone))) {
        Some(failure) => format!("{message}: {}", failure.condition().1),
        None => message.to_owned(),
    }
}

fn pending_deletion(set: &SetPlan, why: &str) -> BTreeMap<String, Said> {
    let message =
        sentence::detailed(sentence::PENDING_NAME, &format!("its deletion is not proved: {why}"));
    let before = before(set);
    let waits = |raw: &String| {
        let mut said = (Truth::False, reason::PENDING, message.clone());
        keep_evidence(&before, raw, &mut said);
        (raw.clone(), said)
    };
    let mut out: BTreeMap<String, Said> = set.raws.keys().map(waits).collect();
    for raw in set.lost.keys() {
        let lost = sentence::detailed(sentence::NOT_IN_SPEC, why);
        out.insert(raw.clone(), (Truth::False, reason::PENDING, lost));
    }
    out
}

/// `status.nameservers` after this pass. A zone that could not be created has none: what has them counts as known
/// to have been in PowerDNS.
fn nameservers<'a>(object: &'a ObjectPlan, applied: &Applied) -> &'a [String] {
    let Some(domain) = &object.domain else { return &object.nameservers };
    let created = matches!(object.programmed, ZoneProgrammed::Created(_));
    if created && failure_of(applied.zone(domain)).is_some() {
        return &object.status.nameservers;
    }
    let ns = || failure_of(applied.key(domain, domain, RecordType::Ns));
    match &object.written_nameservers {
        Some(written) if ns().is_none() => written,
        Some(_) | None => &object.nameservers,
    }
}

fn accepted(object: &ObjectPlan, nameservers: &[String]) -> Said {
    match &object.standing {
        Standing::Served if nameservers.is_empty() => {
            (Truth::False, reason::PENDING, sentence::WAITING_FOR_NAMESERVERS.to_owned())
        }
        Standing::Served => (Truth::True, reason::ACCEPTED, sentence::ZONE_ACCEPTED.to_owned()),
        Standing::Waiting(reason, message) => (Truth::False, *reason, message.clone()),
        Standing::InUse => (Truth::False, reason::ZONE_IN_USE, sentence::ZONE_IN_USE.to_owned()),
        Standing::Terminating => {
            (Truth::False, reason::PENDING, sentence::zone_deleting(&object.meta.name))
        }
    }
}

fn zone_programmed(object: &ObjectPlan, applied: &Applied) -> Said {
    let yes = || {
        let remark = object.remark.as_deref().unwrap_or_default();
        (Truth::True, reason::PROGRAMMED, sentence::detailed(sentence::ZONE_PROGRAMMED, remark))
    };
    let no = |failure: &Failure| {
        let (reason, message) = failure.condition();
        let message = sentence::detailed(sentence::WAITING_FOR_DEFAULT_RECORDS, &message);
        (Truth::False, reason, message)
    };
    let Some(domain) = &object.domain else {
        return (Truth::False, reason::PENDING, sentence::WAITING_FOR_DEFAULT_RECORDS.to_owned());
    };
    let apex = |written: &BTreeSet<RecordType>| {
        let outcomes = written.iter().map(|t| applied.key(domain, domain, *t));
        outcomes.fold(None, |failed, outcome| failed.or(failure_of(outcome)))
    };
    let failed = match &object.programmed {
        ZoneProgrammed::Not(reason, message) => {
            return (Truth::False, *reason, with_failed_mark(message, Some(domain), applied));
        }
        _ if applied.vanished(domain) => Some(Failure::ZoneMissing),
        ZoneProgrammed::Created(written) => {
            failure_of(applied.zone(domain)).or_else(|| apex(written))
        }
        ZoneProgrammed::Read(written) => apex(written),
    };
    failed.map_or_else(yes, |failure| no(&failure))
}

fn failure_of(outcome: Outcome) -> Option<Failure> {
    match outcome {
        Outcome::Done(_) => None,
        Outcome::Failed(failure) => Some(failure),
    }
}

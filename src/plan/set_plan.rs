//! What a pass means for each DNSRecordSet: what must be on it before anything is written for it, what
//! is known of its names, and what must be proved gone before it is let go.

use std::collections::{BTreeMap, BTreeSet};

use super::World;
use super::change::{Change, Verdict};
use super::sets::{Place, SetFacts, is_zone, was_programmed};
use super::zone_plan::ZonePlan;
use super::zones::{ClassState, Standing, ZoneFacts, mark_of};
use crate::api::conditions::{Condition, Truth, kind, reason, sentence};
use crate::api::object::{Meta, ObjectKey, Owner, RecordSetStatus};
use crate::api::{API_VERSION, FINALIZER_RECORD_SET, KIND_ZONE};
use crate::dns::name::Name;
use crate::dns::rrset::RecordType;
use crate::dns::zone::owner_name;

/// Verdicts on claims, by record set uid and owner name.
pub(super) type Verdicts = BTreeMap<(String, Name), Verdict>;

/// One RRset in one PowerDNS zone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trace {
    /// The zone.
    pub zone: Name,
    /// Owner name.
    pub name: Name,
    /// Type.
    pub rtype: RecordType,
}

/// Metadata that must be on an object before the first write for it: the complete new lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secure {
    /// All finalizers.
    pub finalizers: Vec<String>,
    /// All owner references.
    pub owners: Vec<Owner>,
}

/// One record set's part of the plan.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct SetPlan {
    /// The object as listed.
    pub meta: Meta,
    /// Its status as listed.
    pub status: RecordSetStatus,
    /// The zone that it is in, or would be in if its DNSZone were served.
    pub home: Option<Name>,
    /// That zone was not read, since nothing has changed: what was said stands.
    pub stands: bool,
    /// Its `recordType`, if it is one.
    pub rtype: Option<RecordType>,
    /// Accepted, or the reason and message why not.
    pub accepted: Result<(), (&'static str, String)>,
    /// Each raw name of the spec.
    pub raws: BTreeMap<String, RawPlan>,
    /// An entry could not be read at all, so the whole can never be called programmed.
    pub partly_known: bool,
    /// It is Terminating, or its Terminating DNSZone takes it along.
    pub going: bool,
    /// It carries a finalizer that is ours to take off.
    pub finalized: bool,
    /// Its status speaks of the zone it is in, not of one that it has left.
    pub speaks_here: bool,
    /// Who serves its class.
    pub controller: Controller,
    /// It could not be secured, for this reason: nothing is claimed for it.
    pub unsecured: Option<String>,
    /// What is missing on it.
    pub secure: Option<Secure>,
    /// RRsets that must be proved gone: all that carry its uid if it is going, else those outside its zone.
    pub traces: BTreeSet<Trace>,
    /// Names that its status lists as programmed and its spec has lost, with the RRset that must go; `None`
    /// where that cannot be told in this pass.
    pub lost: BTreeMap<String, Option<Trace>>,
    /// It is going and was programmed, but neither a DNSZone nor a note tells where: what is left of it is nobody's.
    pub homeless: bool,
    /// Why absence cannot be proved in this pass.
    pub blocked: Option<String>,
    /// Owner references that may go once `traces` are proved gone: the complete new list.
    pub repointed: Option<Vec<Owner>>,
}

/// Who serves an object's class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// We do, or nobody.
    Ours,
    /// Another; that the object waits is no failure of ours.
    Other,
    /// Another, which has accepted it: nothing is said about it, or two controllers would overwrite each other's
    /// word for ever.
    OtherAccepted,
}

/// One raw name of a spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawPlan {
    /// The RRset it stands for, if it is an owner name of the zone.
    pub target: Option<Trace>,
    /// What is known before anything is sent.
    pub verdict: Verdict,
    /// Said with success, such as ignored values.
    pub remark: Option<String>,
}

/// Builds the record sets' part of the plan.
pub(super) fn set_plans(
    world: &World<'_>,
    zones: &BTreeMap<Name, ZonePlan>,
    verdicts: &Verdicts,
) -> BTreeMap<String, SetPlan> {
    let belongings = belongings(zones);
    let plans = world.sets.values().map(|facts| {
        let meta = &facts.set.meta;
        let zone = named_zone(world, facts);
        let accepted = matches!(facts.place, Place::Accepted(_));
        let uid = zone.map(|z| z.zone.meta.uid.as_str());
        let speaks_here = !accepted || facts.refers_only_to(uid);
        let secure = secure_set(world, facts);
        let repointed = repointed(world, facts, secure.as_ref());
        let watches = facts.going || repointed.is_some();
        let traces = traces(facts, &belongings);
        let unresolved = facts.going && facts.place == Place::Unresolved;
        let home = facts.place.domain();
        let plan = SetPlan {
            home: home.cloned(),
            stands: home.and_then(|h| zones.get(h)).is_some_and(|z| z.unchanged),
            rtype: facts.set.rtype.as_ref().ok().copied(),
            homeless: unresolved
                && traces.is_empty()
                && facts.set.status.names.iter().any(was_programmed),
            meta: meta.clone(),
            status: facts.set.status.clone(),
            accepted: facts.accepted.clone(),
            raws: raws(facts, verdicts),
            partly_known: facts.declared.partly_known,
            going: facts.going,
            finalized: world.policy.holds_set(meta),
            controller: zone
                .map_or(Controller::Ours, |z| controller_of_set(world, z, facts, zones)),
            unsecured: None,
            secure,
            lost: if speaks_here { lost(facts, zones) } else { BTreeMap::new() },
            speaks_here,
            blocked: watches.then(|| blocked(world, facts)).flatten(),
            traces,
            repointed,
        };
        (meta.uid.clone(), plan)
    });
    plans.collect()
}

/// RRsets by the uid of the set whose they are: that carry it, or that are deleted on its account.
fn belongings(zones: &BTreeMap<Name, ZonePlan>) -> BTreeMap<&str, BTreeSet<Trace>> {
    let mut out: BTreeMap<&str, BTreeSet<Trace>> = BTreeMap::new();
    for (zone, plan) in zones {
        let trace = |name: &Name, rtype| Trace { zone: zone.clone(), name: name.clone(), rtype };
        for (uid, keys) in &plan.carried {
            out.entry(uid).or_default().extend(keys.iter().map(|(name, t)| trace(name, *t)));
        }
        for (name, change) in &plan.names {
            for (rtype, change) in &change.types {
                if let Change::Delete { by, .. } = change {
                    out.entry(&by.uid).or_default().insert(trace(name, *rtype));
                }
            }
        }
    }
    out
}

/// RRsets whose disappearance matters to a set: all of its own if it is going, else those outside its zone.
fn traces(facts: &SetFacts<'_>, belongings: &BTreeMap<&str, BTreeSet<Trace>>) -> BTreeSet<Trace> {
    let home = match &facts.place {
        Place::Accepted(domain) if !facts.going => Some(domain),
        Place::Accepted(_) | Place::NotServed(_) | Place::Unresolved => None,
    };
    let its = belongings.get(facts.set.meta.uid.as_str()).into_iter().flatten();
    its.filter(|trace| Some(&trace.zone) != home).cloned().collect()
}

/// Why the absence of a set's RRsets cannot be proved: a zone that may hold some is unread.
fn blocked(world: &World<'_>, facts: &SetFacts<'_>) -> Option<String> {
    if let Err(why) = &world.snapshot.server.zones {
        return Some(why.clone());
    }
    let refs = facts.set.meta.owners.iter().filter(|o| is_zone(o));
    let listed = |uid: &str| world.zones.by_uid.get(uid).and_then(|f| f.domain.as_ref());
    let home = |uid: &str| listed(uid).or_else(|| world.index.marked(uid));
    let mut homes: Vec<Option<&Name>> = refs.map(|o| home(&o.uid)).collect();
    homes.push(facts.place.domain());
    let anywhere = !facts.going || homes.contains(&None);
    let mut unread = world.index.unread.iter();
    let concerns = unread.find(|(name, _)| anywhere || homes.contains(&Some(name)));
    concerns.map(|(name, why)| format!("zone {name}: {why}"))
}

fn raws(facts: &SetFacts<'_>, verdicts: &Verdicts) -> BTreeMap<String, RawPlan> {
    let uid = &facts.set.meta.uid;
    let mut out = BTreeMap::new();
    let not = |reason, message: &str| RawPlan {
        target: None,
        verdict: Verdict::Not(reason, message.to_owned()),
        remark: None,
    };
    let (waiting, why) = match &facts.accepted {
        Err((reason, message)) => (*reason, message.as_str()),
        Ok(()) => (reason::PENDING, sentence::PENDING_NAME),
    };
    for raw in facts.set.entries.iter().filter_map(|e| e.name.as_ref()) {
        out.insert(raw.clone(), not(waiting, why));
    }
    let (Place::Accepted(zone), Ok(rtype)) = (&facts.place, &facts.set.rtype) else {
        return out;
    };
    for (raw, why) in &facts.declared.bad_names {
        out.insert(raw.clone(), not(reason::PDNS_ERROR, why));
    }
    for (name, group) in &facts.declared.groups {
        let unsaid = || Verdict::Not(reason::PENDING, sentence::PENDING_NAME.to_owned());
        let verdict = verdicts.get(&(uid.clone(), name.clone())).cloned().unwrap_or_else(unsaid);
        let target = Trace { zone: zone.clone(), name: name.clone(), rtype: *rtype };
        let plan = RawPlan { target: Some(target), verdict, remark: group.remark.clone() };
        out.extend(group.raws.iter().map(|raw| (raw.clone(), plan.clone())));
    }
    out
}

/// Status names that were programmed and that the spec has lost, until their delete is proved.
fn lost(facts: &SetFacts<'_>, zones: &BTreeMap<Name, ZonePlan>) -> BTreeMap<String, Option<Trace>> {
    let spelled: BTreeSet<&String> =
        facts.set.entries.iter().filter_map(|e| e.name.as_ref()).collect();
    let lost = facts.set.status.names.iter();
    let lost = lost.filter(|n| was_programmed(n) && !spelled.contains(&n.name));
    let mut out = BTreeMap::new();
    let (Place::Accepted(zone), Ok(rtype)) = (&facts.place, &facts.set.rtype) else {
        return lost.map(|n| (n.name.clone(), None)).collect();
    };
    for status in lost {
        let Ok(name) = owner_name(&status.name, zone) else { continue };
        let plan = zones.get(zone);
        let change = plan.and_then(|p| p.names.get(&name)).and_then(|c| c.types.get(rtype));
        let ours =
            matches!(change, Some(Change::Delete { by, .. }) if by.uid == facts.set.meta.uid);
        if ours {
            let trace = Trace { zone: zone.clone(), name, rtype: *rtype };
            out.insert(status.name.clone(), Some(trace));
        } else if plan.is_none_or(|p| p.withheld.is_some())
            && !facts.declared.groups.contains_key(&name)
        {
            out.insert(status.name.clone(), None);
        }
    }
    out
}

/// Finalizer and owner reference of an accepted set; stale references to its DNSZone are replaced.
fn secure_set(world: &World<'_>, facts: &SetFacts<'_>) -> Option<Secure> {
    let meta = &facts.set.meta;
    if facts.going || facts.accepted.is_err() {
        return None;
    }
    let zone = &named_zone(world, facts)?.zone.meta;
    let mut finalizers = meta.finalizers.clone();
    if !meta.has_finalizer(FINALIZER_RECORD_SET) {
        finalizers.push(FINALIZER_RECORD_SET.to_owned());
    }
    let mut owners = staying(world, &meta.owners);
    owners.retain(|o| !(is_zone(o) && o.name == zone.name && o.uid != zone.uid));
    if !owners.iter().any(|o| o.uid == zone.uid) {
        owners.push(Owner {
            api_version: API_VERSION.to_owned(),
            kind: KIND_ZONE.to_owned(),
            name: zone.name.clone(),
            uid: zone.uid.clone(),
            rest: serde_json::Map::new(),
        });
    }
    let missing = finalizers != meta.finalizers || owners != meta.owners;
    missing.then_some(Secure { finalizers, owners })
}

/// The owner references of a set that was repointed, without those to the DNSZones it left.
fn repointed(
    world: &World<'_>,
    facts: &SetFacts<'_>,
    secure: Option<&Secure>,
) -> Option<Vec<Owner>> {
    if facts.going || facts.accepted.is_err() {
        return None;
    }
    let zone = &named_zone(world, facts)?.zone.meta;
    let left = |o: &Owner| is_zone(o) && o.name != zone.name && o.uid != zone.uid;
    let secured = secure.map_or(&facts.set.meta.owners, |s| &s.owners);
    secured.iter().any(left).then(|| secured.iter().filter(|o| !left(o)).cloned().collect())
}

/// Owner references without those to DNSZones that we are about to let go: the garbage collector would act on a
/// list of which nothing lives.
pub(super) fn staying(world: &World<'_>, owners: &[Owner]) -> Vec<Owner> {
    let goes = |uid: &str| {
        world.zones.by_uid.get(uid).is_some_and(|f| {
            f.standing == Standing::Terminating && world.policy.holds_zone(&f.zone.meta)
        })
    };
    owners.iter().filter(|o| !goes(&o.uid)).cloned().collect()
}

pub(super) fn named_zone<'a>(world: &World<'a>, facts: &SetFacts<'_>) -> Option<&'a ZoneFacts<'a>> {
    let key =
        ObjectKey { namespace: facts.set.meta.namespace.clone(), name: facts.set.zone.clone()? };
    world.zones.named(&key)
}

/// Who serves the class of the DNSZone that a set names. `Accepted` is another's word only where the set has not come
/// from a DNSZone of ours: then it is our own, of the zone that it has left.
fn controller_of_set(
    world: &World<'_>,
    zone: &ZoneFacts<'_>,
    facts: &SetFacts<'_>,
    zones: &BTreeMap<Name, ZonePlan>,
) -> Controller {
    let noted = || {
        let plan = zone.domain.as_ref().and_then(|d| zones.get(d));
        plan.is_some_and(|p| p.carried.contains_key(&facts.set.meta.uid))
    };
    let came =
        facts.set.meta.owners.iter().any(is_zone) && !facts.refers_to(Some(&zone.zone.meta.uid));
    match controller(world, zone, &facts.set.status.conditions, noted) {
        Controller::OtherAccepted if came => Controller::Other,
        all @ (Controller::Ours | Controller::Other | Controller::OtherAccepted) => all,
    }
}

/// Who serves an object's class. A DNSZone whose uid our mark carries is not left to another yet, nor is what an RRset in
/// its zone was noted for: a zone with an account of somebody else's text is never marked.
pub(super) fn controller(
    world: &World<'_>,
    zone: &ZoneFacts<'_>,
    conditions: &[Condition],
    noted: impl FnOnce() -> bool,
) -> Controller {
    let accepted = |c: &Condition| c.type_ == kind::ACCEPTED && c.status == Truth::True;
    if !matches!(zone.class, ClassState::Foreign(_)) {
        return Controller::Ours;
    }
    let domain = zone.domain.as_ref();
    let mark = domain.and_then(|d| mark_of(&world.snapshot.server, d, world.policy));
    let ours = mark.is_some_and(|m| m.names(&zone.zone.meta.uid));
    if !ours && conditions.iter().any(accepted) && !noted() {
        Controller::OtherAccepted
    } else {
        Controller::Other
    }
}

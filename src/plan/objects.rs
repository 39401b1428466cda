//! What a pass means for each DNSZone: its standing, what its status will rest on, and how it ends.

use std::collections::{BTreeMap, BTreeSet};

use super::change::{Change, NameChange};
use super::set_plan::{Controller, Secure, controller, staying};
use super::sets::SetFacts;
use super::zone_plan::{ZonePlan, ZoneStep};
use super::zones::{ClassState, Standing, ZoneFacts, servers};
use super::{Plan, World};
use crate::api::FINALIZER_ZONE;
use crate::api::conditions::{reason, sentence};
use crate::api::object::{Meta, Owner, ZoneStatus};
use crate::dns::name::Name;
use crate::dns::rdata::{Dialect, Rdata};
use crate::dns::rrset::RecordType;

/// One DNSZone's part of the plan.
#[derive(Clone, Debug)]
pub struct ObjectPlan {
    /// The object as listed.
    pub meta: Meta,
    /// Its status as listed.
    pub status: ZoneStatus,
    /// Its domain.
    pub domain: Option<Name>,
    /// Its zone was not read, since nothing has changed: what was said stands.
    pub stands: bool,
    /// What it may do.
    pub standing: Standing,
    /// Who serves its class.
    pub controller: Controller,
    /// Our finalizer is missing on a zone that is served.
    pub secure: Option<Secure>,
    /// `status.nameservers`.
    pub nameservers: Vec<String>,
    /// What it becomes once the apex NS of a record set, which this pass writes, is acknowledged.
    pub written_nameservers: Option<Vec<String>>,
    /// Entries of the record sets that name it, by uid: the sum is `status.recordCount`.
    pub entries: BTreeMap<String, usize>,
    /// What `Programmed` rests on.
    pub programmed: ZoneProgrammed,
    /// Said with success.
    pub remark: Option<String>,
    /// Present if it is Terminating with our finalizer.
    pub deletion: Option<Deletion>,
}

impl ObjectPlan {
    /// Why it cannot be served as things are, if so: reason and message.
    #[must_use]
    pub fn waits(&self) -> Option<String> {
        match (&self.standing, &self.programmed) {
            _ if self.controller != Controller::Ours || self.deletion.is_some() => None,
            (Standing::Waiting(reason, message), _)
            | (Standing::Served | Standing::InUse, ZoneProgrammed::Not(reason, message)) => {
                Some(format!("{reason}: {message}"))
            }
            (Standing::Served | Standing::InUse | Standing::Terminating, _) => None,
        }
    }
}

/// What a DNSZone's `Programmed` rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZoneProgrammed {
    /// Zone, SOA and NS were read, except for these apex RRsets that are being written.
    Read(BTreeSet<RecordType>),
    /// The zone's creation, with these apex RRsets.
    Created(BTreeSet<RecordType>),
    /// It is not: reason and message.
    Not(&'static str, String),
}

/// The end of a Terminating DNSZone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// Live record sets that name it: deleted in Kubernetes first.
    pub dependants: Vec<Meta>,
    /// Record sets that name another DNSZone by now and still refer to this one, with the owner references
    /// that stay.
    pub strip: Vec<(Meta, Vec<Owner>)>,
    /// Record sets that lose their reference to it while they are secured: uid.
    pub referrers: BTreeSet<String>,
    /// Record sets whose release it waits for: uid.
    pub waits_for: BTreeSet<String>,
    /// The PowerDNS zone that goes with it.
    pub takes: Option<Name>,
    /// Why nothing can be decided in this pass.
    pub held: Option<String>,
}

/// Builds the DNSZones' part of the plan.
pub(super) fn object_plans(world: &World<'_>, plan: &Plan) -> BTreeMap<String, ObjectPlan> {
    let plans = world.zones.by_uid.values().map(|facts| {
        let meta = &facts.zone.meta;
        let zone = facts.domain.as_ref().and_then(|d| plan.zones.get(d));
        let mut finalizers = meta.finalizers.clone();
        if !meta.has_finalizer(FINALIZER_ZONE) {
            finalizers.push(FINALIZER_ZONE.to_owned());
        }
        let lacks = facts.standing == Standing::Served && finalizers != meta.finalizers;
        let object = ObjectPlan {
            meta: meta.clone(),
            status: facts.zone.status.clone(),
            domain: facts.domain.clone(),
            stands: zone.is_some_and(|z| z.unchanged),
            standing: facts.standing.clone(),
            controller: controller_of_zone(world, facts, zone),
            secure: lacks.then(|| Secure { finalizers, owners: meta.owners.clone() }),
            nameservers: nameservers(world, facts),
            written_nameservers: zone.and_then(|z| written_nameservers(facts, z)),
            entries: sets_of(world, facts)
                .map(|s| (s.set.meta.uid.clone(), s.set.entries.len()))
                .collect(),
            programmed: programmed(facts, zone),
            remark: remark(world, facts),
            deletion: deletion(world, facts, zone),
        };
        (meta.uid.clone(), object)
    });
    plans.collect()
}

fn controller_of_zone(
    world: &World<'_>,
    facts: &ZoneFacts<'_>,
    zone: Option<&ZonePlan>,
) -> Controller {
    let noted = || {
        zone.is_some_and(|z| sets_of(world, facts).any(|s| z.carried.contains_key(&s.set.meta.uid)))
    };
    controller(world, facts, &facts.zone.status.conditions, noted)
}

fn sets_of<'a>(world: &World<'a>, facts: &ZoneFacts<'_>) -> impl Iterator<Item = &'a SetFacts<'a>> {
    world.index.naming(facts).iter().copied()
}

/// The class's servers as it spells them, sorted and without repeats; without any, the NS as read.
fn nameservers(world: &World<'_>, facts: &ZoneFacts<'_>) -> Vec<String> {
    let served = facts.standing == Standing::Served;
    let ClassState::Ours(class) = facts.class else {
        return facts.zone.status.nameservers.clone();
    };
    // Whoever has them counts as known to have been in PowerDNS: that is not said of a zone that nobody has looked for.
    if !served || world.snapshot.server.zones.is_err() {
        return facts.zone.status.nameservers.clone();
    }
    let declared: BTreeSet<String> = servers(class).usable.into_keys().map(str::to_owned).collect();
    if !declared.is_empty() {
        return declared.into_iter().collect();
    }
    let zones = world.snapshot.server.zones.as_ref().ok();
    let stored = zones.zip(facts.domain.as_ref()).and_then(|(zones, d)| zones.get(d));
    let contents = stored.and_then(|z| z.contents.as_ref().ok());
    let ns = contents.zip(facts.domain.as_ref()).and_then(|(c, d)| c.get(d, RecordType::Ns));
    ns.map_or_else(
        || facts.zone.status.nameservers.clone(),
        |ns| {
            let names: BTreeSet<String> = ns.records.iter().map(|r| r.content.clone()).collect();
            names.into_iter().collect()
        },
    )
}

/// The NS that a record set puts at the apex in this pass, where the class has no servers of its own.
fn written_nameservers(facts: &ZoneFacts<'_>, zone: &ZonePlan) -> Option<Vec<String>> {
    let ClassState::Ours(class) = facts.class else {
        return None;
    };
    let apex = zone.names.get(facts.domain.as_ref()?)?;
    let Some(Change::Replace { contents, .. }) = apex.types.get(&RecordType::Ns) else {
        return None;
    };
    let served = facts.standing == Standing::Served && servers(class).usable.is_empty();
    served.then(|| contents.values().iter().map(|ns| ns.print(Dialect::OLDEST)).collect())
}

fn programmed(facts: &ZoneFacts<'_>, zone: Option<&ZonePlan>) -> ZoneProgrammed {
    let waiting =
        || ZoneProgrammed::Not(reason::PENDING, sentence::WAITING_FOR_DEFAULT_RECORDS.to_owned());
    match &facts.standing {
        Standing::Served => {}
        Standing::InUse => {
            let message = sentence::ZONE_IN_USE.to_owned();
            return ZoneProgrammed::Not(reason::ZONE_IN_USE, message);
        }
        Standing::Waiting(..) | Standing::Terminating => return waiting(),
    }
    let Some((plan, domain)) = zone.zip(facts.domain.as_ref()) else {
        return waiting();
    };
    let replaced = |names: &BTreeMap<Name, NameChange>| -> BTreeSet<RecordType> {
        let apex = names.get(domain).map(|c| &c.types);
        let replaces =
            |t: &RecordType| apex.is_some_and(|a| matches!(a.get(t), Some(Change::Replace { .. })));
        [RecordType::Soa, RecordType::Ns].into_iter().filter(replaces).collect()
    };
    let written = replaced(&plan.names);
    match (&plan.step, &plan.withheld) {
        // PowerDNS makes an SOA itself where the POST has none; nobody makes the NS.
        (ZoneStep::Create { .. }, _) if written.contains(&RecordType::Ns) => {
            ZoneProgrammed::Created(written)
        }
        (ZoneStep::Create { .. }, _) => waiting(),
        (_, Some(why)) if plan.apex.is_empty() => ZoneProgrammed::Not(
            reason::PDNS_ERROR,
            sentence::detailed(sentence::WAITING_FOR_DEFAULT_RECORDS, why),
        ),
        // What is there is not what is wanted, and it is not its turn yet.
        (_, Some(why)) if !replaced(&plan.postponed).is_empty() => ZoneProgrammed::Not(
            reason::PENDING,
            sentence::detailed(sentence::WAITING_FOR_DEFAULT_RECORDS, why),
        ),
        _ if plan.others.is_some() => {
            let why = plan.others.as_deref().unwrap_or_default();
            ZoneProgrammed::Not(
                reason::PENDING,
                sentence::detailed(sentence::WAITING_FOR_DEFAULT_RECORDS, why),
            )
        }
        _ => {
            let all = plan.apex.union(&written).count() == 2;
            if all { ZoneProgrammed::Read(written) } else { waiting() }
        }
    }
}

/// A record set that declares other apex NS than the class has servers is obeyed, and said.
fn remark(world: &World<'_>, facts: &ZoneFacts<'_>) -> Option<String> {
    let (Standing::Served, ClassState::Ours(class)) = (&facts.standing, facts.class) else {
        return None;
    };
    let domain = facts.domain.as_ref()?;
    let servers = servers(class);
    if !servers.unusable.is_empty() {
        let which = servers.unusable.join(", ");
        return Some(format!("servers of the class that are no host names are left out: {which}"));
    }
    let servers: BTreeSet<Rdata> = servers.usable.into_values().collect();
    let declares = |s: &&SetFacts<'_>| {
        let group = s.declared.groups.get(domain);
        let ns = s.set.rtype == Ok(RecordType::Ns);
        ns && group.is_some_and(|g| g.contents.as_ref().is_ok_and(|c| *c.values() != servers))
    };
    let set = sets_of(world, facts).find(declares)?;
    let key = set.set.meta.key();
    (!servers.is_empty())
        .then(|| format!("the apex NS are those of DNSRecordSet {key}, not those of the class"))
}

fn deletion(world: &World<'_>, facts: &ZoneFacts<'_>, zone: Option<&ZonePlan>) -> Option<Deletion> {
    let meta = &facts.zone.meta;
    let other = controller_of_zone(world, facts, zone);
    if other == Controller::OtherAccepted
        || facts.standing != Standing::Terminating
        || !world.policy.holds_zone(meta)
    {
        return None;
    }
    let takes = zone
        .is_some_and(|z| matches!(&z.step, ZoneStep::Delete { by, .. } if *by == meta.uid))
        .then(|| facts.domain.clone())
        .flatten();
    let mine = || sets_of(world, facts);
    let held = match &world.snapshot.server.zones {
        Err(why) => Some(why.clone()),
        Ok(zones) => facts
            .domain
            .as_ref()
            .and_then(|d| zones.get(d))
            .and_then(|z| z.contents.as_ref().err().filter(|_| z.writable()).cloned()),
    };
    Some(Deletion {
        dependants: mine()
            .filter(|s| !s.set.meta.terminating)
            .map(|s| s.set.meta.clone())
            .collect(),
        waits_for: mine()
            .filter(|s| world.policy.holds_set(&s.set.meta))
            .map(|s| s.set.meta.uid.clone())
            .collect(),
        strip: strip(world, facts),
        referrers: referrers(world, facts).map(|s| s.set.meta.uid.clone()).collect(),
        takes,
        held,
    })
}

/// Live record sets of other DNSZones that still refer to this one.
fn referrers<'a>(
    world: &World<'a>,
    facts: &ZoneFacts<'_>,
) -> impl Iterator<Item = &'a SetFacts<'a>> {
    let (key, uid) = (facts.zone.meta.key(), facts.zone.meta.uid.clone());
    world.index.referring(&uid).iter().copied().filter(move |s| {
        let elsewhere = s.set.zone.as_ref().is_some_and(|zone| *zone != key.name);
        s.set.meta.namespace == key.namespace && elsewhere && !s.going
    })
}

/// The referrers that are not secured in this pass, which would take the reference off: those that are not
/// accepted anywhere.
fn strip(world: &World<'_>, facts: &ZoneFacts<'_>) -> Vec<(Meta, Vec<Owner>)> {
    let unaccepted = referrers(world, facts).filter(|s| s.accepted.is_err());
    unaccepted.map(|s| (s.set.meta.clone(), staying(world, &s.set.meta.owners))).collect()
}

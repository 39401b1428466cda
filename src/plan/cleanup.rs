//! What `cleanup` takes away: our finalizers from objects and, on demand, what is ours in PowerDNS. It owns the choice;
//! nothing here is about what objects declare now, because cleaning up ends that.
//!
//! | in PowerDNS | what happens |
//! |---|---|
//! | RRset with our note | deleted, whatever zone it is in |
//! | SOA or NS at the apex with our note, in a zone that stays | loses the note: without them the zone is dead |
//! | zone with our mark and nothing in it but ours and the apex | deleted |
//! | zone with our mark and anything else | loses the mark, stays |
//! | everything else | stays |

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::change::{Change, DeleteReason, NameChange, Party};
use super::diff::text;
use super::index::Index;
use super::note::{Mark, Writer, writer};
use super::sets::sets;
use super::settle::Release;
use super::snapshot::{ServerZone, StoredRrset, ZoneContents};
use super::stored::{has_foreign_note, outliving};
use super::zones::{ClassState, class_of, mark_of, zones};
use super::{Memory, Policy, Snapshot, World, ZonePlan, ZoneStep};
use crate::api::object::{ObjectKey, Zone};
use crate::dns::name::Name;
use crate::dns::rrset::RecordType;

/// Everything that is to be taken away; prints as one line for each thing.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Cleanup {
    /// By PowerDNS zone.
    pub zones: BTreeMap<Name, ZoneCleanup>,
    /// Record sets that lose our finalizer.
    pub sets: Vec<Release>,
    /// DNSZones that lose our finalizer, after the record sets.
    pub objects: Vec<Release>,
    /// What stays although somebody could take it for ours, with the reason.
    pub left: BTreeSet<String>,
    /// Zones of which it is not known what is ours, with the reason.
    pub unread: BTreeSet<String>,
}

/// What happens in one PowerDNS zone, in this order: a mark that is lost first would make what follows look foreign.
#[derive(Clone, Debug)]
pub struct ZoneCleanup {
    /// RRsets go, or the zone with them.
    pub records: ZonePlan,
    /// The mark goes.
    pub unmark: Option<ZonePlan>,
}

impl Cleanup {
    /// Whether nothing is left to take away.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.zones.is_empty()
            && self.sets.is_empty()
            && self.objects.is_empty()
            && self.unread.is_empty()
    }
}

/// Works out what is ours. PowerDNS counts only if it was read: a snapshot whose zones could not be had releases
/// finalizers alone.
pub fn cleanup(snapshot: &Snapshot, policy: &Policy) -> Cleanup {
    let (cluster, server) = (&snapshot.cluster, &snapshot.server);
    let zones = zones(cluster, server, policy);
    let sets = sets(&cluster.sets, &zones, policy);
    let memory = Memory::default();
    let index = Index::of(&snapshot.server, &zones, &sets, policy);
    let world =
        World { snapshot, memory: &memory, policy, zones: &zones, sets: &sets, index: &index };
    let mut out = Cleanup::default();
    for (domain, zone) in server.zones.iter().flatten().filter(|(_, zone)| zone.writable()) {
        match &zone.contents {
            Ok(contents) => one_zone(&world, domain, zone, contents, &mut out),
            Err(why) => drop(out.unread.insert(format!("zone {domain}: {why}"))),
        }
    }
    let others: BTreeMap<ObjectKey, String> = cluster
        .zones
        .iter()
        .filter_map(|z| Some((z.meta.key(), others(snapshot, z, policy)?)))
        .collect();
    let finalizers = policy.finalizers();
    for zone in cluster.zones.iter().filter(|z| policy.holds_zone(&z.meta)) {
        let key = zone.meta.key();
        match others.get(&key) {
            Some(why) => drop(out.left.insert(format!("DNSZone {key}: {why}"))),
            None => out.objects.push(Release {
                meta: zone.meta.clone(),
                stay: finalizers.staying_on_zone(&zone.meta),
            }),
        }
    }
    for set in cluster.sets.iter().filter(|s| policy.holds_set(&s.meta)) {
        let name = set.zone.clone().unwrap_or_default();
        let zone = ObjectKey { namespace: set.meta.namespace.clone(), name };
        match others.get(&zone) {
            Some(why) => {
                out.left.insert(format!("DNSRecordSet {}: {why}", set.meta.key()));
            }
            None => out.sets.push(Release {
                meta: set.meta.clone(),
                stay: finalizers.staying_on_set(&set.meta),
            }),
        }
    }
    out
}

/// Why a DNSZone is another's to let go. All daemons and dns-operator use one finalizer, so a class that is another
/// controller's speaks against us, unless the mark in PowerDNS says that we served it.
fn others(snapshot: &Snapshot, zone: &Zone, policy: &Policy) -> Option<String> {
    let ClassState::Foreign(class) = class_of(zone, &snapshot.cluster.classes, policy) else {
        return None;
    };
    let domain = zone.domain.as_deref().and_then(|d| Name::parse(d).ok());
    let mark = domain.and_then(|d| mark_of(&snapshot.server, &d, policy));
    let served = mark.is_some_and(|m| m.names(&zone.meta.uid));
    (!served).then(|| format!("its class is of controller {:?}, and not ours", class.controller))
}

fn one_zone(
    world: &World<'_>,
    domain: &Name,
    zone: &ServerZone,
    contents: &ZoneContents,
    out: &mut Cleanup,
) {
    let mark = Mark::read(&zone.account, world.policy);
    let ours = ours(world, domain, &mark, contents);
    let marked = is_marked(world, &mark, contents);
    if matches!(mark, Mark::Ours(_)) && !marked {
        let why = "its mark is ours, and may be for a DNSZone of a namespace that is not read";
        out.left.insert(format!("zone {domain}: {why}"));
    }
    let foreign = foreign(domain, contents, &ours);
    let whole = marked && foreign.is_empty() && !has_foreign_note(world, contents);
    if marked && !whole {
        let each = foreign.into_iter();
        out.left
            .extend(each.map(|(name, rtype)| format!("{name} {rtype}: nothing says it is ours")));
    }
    let plan = |step, names| ZonePlan { step, names, ..untouched(zone) };
    let (records, unmark) = if whole {
        let step = ZoneStep::DeleteOrphan { comments: outliving(world, zone) };
        (plan(step, BTreeMap::new()), None)
    } else {
        let names = changes(domain, contents, &ours, &mark);
        let (account, by) = (String::new(), String::new());
        let step = ZoneStep::Mark { account, expected: zone.account.clone(), by };
        (plan(ZoneStep::Keep, names), marked.then(|| plan(step, BTreeMap::new())))
    };
    if records.has_work() || unmark.is_some() {
        out.zones.insert(domain.clone(), ZoneCleanup { records, unmark });
    }
}

fn untouched(zone: &ServerZone) -> ZonePlan {
    ZonePlan { id: Some(zone.id.clone()), ..ZonePlan::default() }
}

/// Whether a mark of ours is certainly this configuration's. Without a limit to namespaces every mark of our `ownerId`
/// is; under one, another configuration may share it, and only an object or a note that we read tells.
fn is_marked(world: &World<'_>, mark: &Mark, contents: &ZoneContents) -> bool {
    let noted = || {
        let mut rrsets = contents.names.values().flat_map(BTreeMap::values);
        rrsets.any(|r| matches!(writer(&r.comments, world.policy), Writer::Ours(_)))
    };
    let all = world.policy.namespaces.is_empty();
    matches!(mark, Mark::Ours(_)) && (all || world.zones.marked(mark).is_some() || noted())
}

type Ours = BTreeMap<(Name, RecordType), Party>;

/// RRsets that are ours, with the object they were written for. A server without comments keeps no note: there it is
/// what an object of a zone with our mark has programmed, or declares exactly so.
fn ours(world: &World<'_>, domain: &Name, mark: &Mark, contents: &ZoneContents) -> Ours {
    let mut out = Ours::new();
    for (name, rtype, rrset) in modelled(contents) {
        if let Writer::Ours(note) = writer(&rrset.comments, world.policy)
            && let Ok(key) = note.object.parse()
        {
            out.insert((name.clone(), rtype), Party { uid: note.uid, key });
        }
    }
    let noted = world.snapshot.server.capabilities.is_none_or(|c| c.comments);
    if noted || !matches!(mark, Mark::Ours(_)) {
        return out;
    }
    for facts in world.index.home(domain) {
        let Ok(rtype) = facts.set.rtype else { continue };
        let mut names = facts.programmed_names(domain);
        let equal = |name: &Name, group: &super::desired::Group| {
            let stored = contents.get(name, rtype).and_then(|r| r.contents(rtype));
            stored.zip(group.contents.as_ref().ok()).is_some_and(|(s, d)| s.matches(d))
        };
        let declared = facts.declared.groups.iter().filter(|(name, group)| equal(name, group));
        names.extend(declared.map(|(name, _)| name.clone()));
        let there = |n: &Name| contents.get(n, rtype).is_some() && !contents.doubled.contains(n);
        for name in names.into_iter().filter(there) {
            let party = Party { uid: facts.set.meta.uid.clone(), key: facts.set.meta.key() };
            out.entry((name, rtype)).or_insert(party);
        }
    }
    out
}

/// RRsets of the types that we model, each at a name where the server shows no type twice.
fn modelled(contents: &ZoneContents) -> impl Iterator<Item = (&Name, RecordType, &StoredRrset)> {
    let names = contents.names.iter().filter(|(name, _)| !contents.doubled.contains(*name));
    names.flat_map(|(name, types)| {
        let there = types.iter().filter(|(_, rrset)| rrset.exists());
        there.filter_map(move |(word, rrset)| Some((name, word.parse().ok()?, rrset)))
    })
}

fn is_apex(domain: &Name, name: &Name, rtype: &str) -> bool {
    name == domain && matches!(rtype, "SOA" | "NS")
}

/// What is in a zone that is neither ours nor made with every zone.
fn foreign(domain: &Name, contents: &ZoneContents, ours: &Ours) -> Vec<(Name, String)> {
    let mut out = Vec::new();
    for (name, types) in &contents.names {
        for word in types.iter().filter(|(_, r)| r.exists()).map(|(word, _)| word) {
            let known = word.parse().is_ok_and(|t| ours.contains_key(&(name.clone(), t)));
            if !known && !is_apex(domain, name, word) {
                out.push((name.clone(), word.clone()));
            }
        }
    }
    out
}

/// The changes in a zone that stays.
fn changes(
    domain: &Name,
    contents: &ZoneContents,
    ours: &Ours,
    mark: &Mark,
) -> BTreeMap<Name, NameChange> {
    let mut out: BTreeMap<Name, NameChange> = BTreeMap::new();
    for ((name, rtype), by) in ours {
        let Some(rrset) = contents.get(name, *rtype) else { continue };
        let by = by.clone();
        let change = if !is_apex(domain, name, rtype.as_str()) {
            let (why, was) = (DeleteReason::Going, text(rrset));
            let unnoted = rrset.foreign_comments().count() == rrset.comments.len();
            Change::Delete { by, why, unnoted, was }
        } else if *mark != Mark::Other && rrset.foreign_comments().count() < rrset.comments.len() {
            Change::Adopt { comments: rrset.foreign_comments().cloned().collect(), by }
        } else {
            // In another owner's zone nothing is written but deletes.
            continue;
        };
        out.entry(name.clone()).or_default().types.insert(*rtype, change);
    }
    out
}

impl fmt::Display for Cleanup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for why in &self.unread {
            writeln!(f, "unread    {why}")?;
        }
        for (domain, zone) in &self.zones {
            if zone.records.goes() {
                writeln!(f, "delete    zone {domain}")?;
            }
            for (name, change) in &zone.records.names {
                for (rtype, change) in &change.types {
                    match change {
                        Change::Delete { by, was, .. } => {
                            writeln!(f, "delete    {name} {rtype} {was} of {}", by.key)?;
                        }
                        Change::Adopt { .. } | Change::Replace { .. } => {
                            writeln!(f, "unnote    {name} {rtype}")?;
                        }
                    }
                }
            }
            if zone.unmark.is_some() {
                writeln!(f, "unmark    zone {domain}")?;
            }
        }
        for set in &self.sets {
            writeln!(f, "release   DNSRecordSet {}", set.meta.key())?;
        }
        for zone in &self.objects {
            writeln!(f, "release   DNSZone {}", zone.meta.key())?;
        }
        self.left.iter().try_for_each(|left| writeln!(f, "leave     {left}"))
    }
}

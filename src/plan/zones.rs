//! Who holds which domain: the standing of every DNSZone, from its class, its age and the marks that
//! PowerDNS shows.

use std::collections::{BTreeMap, BTreeSet};

use super::Policy;
use super::note::{Mark, Writer, uid_digits, writer};
use super::snapshot::{Cluster, Server};
use crate::api::conditions::{Truth, kind, reason, sentence};
use crate::api::object::{Class, ObjectKey, Zone};
use crate::dns::name::Name;
use crate::dns::rdata::Rdata;
use crate::dns::rrset::RecordType;

/// A DNSZone's class as far as it concerns us.
#[derive(Clone, Copy, Debug)]
pub enum ClassState<'a> {
    /// `dnsZoneClassName` is empty or unreadable.
    Empty,
    /// No class of that name, or an undecodable one.
    Missing(&'a str),
    /// Its `controllerName` is none of ours.
    Foreign(&'a Class),
    /// Ours.
    Ours(&'a Class),
}

/// A class's name servers: the usable ones by their spelling, sorted and without repeats, and the rest.
#[derive(Clone, Debug, Default)]
pub struct Servers<'a> {
    /// The NS that each usable one stands for.
    pub usable: BTreeMap<&'a str, Rdata>,
    /// Those that are no host name.
    pub unusable: Vec<&'a str>,
}

/// Reads a class's name servers.
#[must_use]
pub fn servers(class: &Class) -> Servers<'_> {
    let mut out = Servers::default();
    for server in &class.servers {
        match Rdata::from_target(RecordType::Ns, server) {
            Ok(Some(ns)) => drop(out.usable.insert(server, ns)),
            Ok(None) | Err(_) => out.unusable.push(server),
        }
    }
    out
}

/// What a DNSZone may do in this pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It holds its domain and its class is ours: PowerDNS follows it.
    Served,
    /// Not served: condition reason and message, without any claim.
    Waiting(&'static str, String),
    /// Somebody else holds the domain.
    InUse,
    /// Deletion was asked for.
    Terminating,
}

/// One DNSZone with what was found out about it.
#[derive(Clone, Debug)]
pub struct ZoneFacts<'a> {
    /// The object.
    pub zone: &'a Zone,
    /// Its domain, if the raw text is a domain name.
    pub domain: Option<Name>,
    /// Its class.
    pub class: ClassState<'a>,
    /// What it may do.
    pub standing: Standing,
}

/// All DNSZones that are input, by uid and by key, and who holds each domain.
#[derive(Clone, Debug, Default)]
pub struct Zones<'a> {
    /// By uid.
    pub by_uid: BTreeMap<&'a str, ZoneFacts<'a>>,
    /// Uid by namespace/name.
    pub by_key: BTreeMap<ObjectKey, &'a str>,
    /// Uids by domain.
    pub by_domain: BTreeMap<Name, Vec<&'a str>>,
    /// Uid by the digits that a mark of it carries.
    by_digits: BTreeMap<String, &'a str>,
    /// Uid of the DNSZone that holds a domain, served or not.
    pub holders: BTreeMap<Name, &'a str>,
    /// No input, nor are their record sets: originals of a shadow in this same cluster, and those whose end
    /// another daemon owes.
    pub shadowed: BTreeSet<ObjectKey>,
}

impl<'a> Zones<'a> {
    /// The DNSZone of a namespace and name.
    #[must_use]
    pub fn named(&self, key: &ObjectKey) -> Option<&ZoneFacts<'a>> {
        self.by_uid.get(self.by_key.get(key)?)
    }

    /// The DNSZone that holds a domain.
    #[must_use]
    pub fn holder(&self, domain: &Name) -> Option<&ZoneFacts<'a>> {
        self.by_uid.get(self.holders.get(domain)?)
    }

    /// All DNSZones of a domain.
    pub fn of_domain(&self, domain: &Name) -> impl Iterator<Item = &ZoneFacts<'a>> {
        let uids = self.by_domain.get(domain).into_iter().flatten();
        uids.filter_map(|uid| self.by_uid.get(uid))
    }

    /// The DNSZone whose uid a mark carries.
    #[must_use]
    pub fn marked(&self, mark: &Mark) -> Option<&ZoneFacts<'a>> {
        let Mark::Ours(digits) = mark else { return None };
        self.by_uid.get(self.by_digits.get(digits)?)
    }
}

/// Works out the standing of every DNSZone.
#[must_use]
pub fn zones<'a>(cluster: &'a Cluster, server: &Server, policy: &Policy) -> Zones<'a> {
    let mut out = Zones { shadowed: shadowed(cluster, server, policy), ..Zones::default() };
    for zone in &cluster.zones {
        let key = zone.meta.key();
        let domain = zone.domain.as_deref().and_then(|d| Name::parse(d).ok());
        let class = class_of(zone, &cluster.classes, policy);
        // All daemons use one finalizer: the end of what another one serves on this server is its own.
        let others = zone.meta.terminating
            && matches!(class, ClassState::Foreign(_))
            && domain.as_ref().and_then(|d| mark_of(server, d, policy)) == Some(Mark::Other);
        if others {
            out.shadowed.insert(key);
            continue;
        }
        if out.shadowed.contains(&key) {
            continue;
        }
        let standing = standing_alone(zone, domain.as_ref(), class, policy);
        if let Some(domain) = &domain {
            out.by_domain.entry(domain.clone()).or_default().push(&zone.meta.uid);
        }
        out.by_digits.insert(uid_digits(&zone.meta.uid), &zone.meta.uid);
        out.by_key.insert(key, &zone.meta.uid);
        out.by_uid.insert(&zone.meta.uid, ZoneFacts { zone, domain, class, standing });
    }
    let domains = std::mem::take(&mut out.by_domain);
    for (domain, uids) in &domains {
        let mark = mark_of(server, domain, policy);
        if let Some(holder) = elect(&out, uids, mark.as_ref(), server.zones.is_err()) {
            out.holders.insert(domain.clone(), holder);
        }
        let holder = out.holders.get(domain).copied();
        let dead = mark.as_ref().filter(|mark| out.marked(mark).is_none());
        let noted = dead.map(|mark| is_of_another_namespace(server, domain, mark, policy));
        let (elsewhere, unseen) = (noted == Some(Some(true)), noted == Some(None));
        for uid in uids {
            let Some(facts) = out.by_uid.get_mut(uid) else { continue };
            let loses = holder.is_some_and(|h| h != facts.zone.meta.uid);
            // Without a list no mark is seen, and in a zone that is not read no note: who was told that the domain is in
            // use stays told so.
            let told = (server.zones.is_err() || unseen) && says_in_use(facts.zone);
            let other = mark == Some(Mark::Other) || elsewhere;
            if facts.standing == Standing::Served && (loses || told || other) {
                facts.standing = Standing::InUse;
            }
        }
    }
    out.by_domain = domains;
    out
}

/// The mark on a domain's PowerDNS zone; `None` if there is no such zone or the list is unknown.
#[must_use]
pub fn mark_of(server: &Server, domain: &Name, policy: &Policy) -> Option<Mark> {
    let zone = server.zones.as_ref().ok()?.get(domain)?;
    Some(Mark::read(&zone.account, policy))
}

/// Whether a zone with our mark holds an RRset that we noted for a namespace that is not read. The DNSZone that the mark
/// names is then most likely there as well, and alive. `None` if that cannot be told, since the zone could not be read.
fn is_of_another_namespace(
    server: &Server,
    domain: &Name,
    mark: &Mark,
    policy: &Policy,
) -> Option<bool> {
    if !matches!(mark, Mark::Ours(_)) || policy.namespaces.is_empty() {
        return Some(false);
    }
    let zone = server.zones.as_ref().ok()?.get(domain)?;
    let mut rrsets = zone.contents.as_ref().ok()?.names.values().flat_map(BTreeMap::values);
    Some(rrsets.any(|r| match writer(&r.comments, policy) {
        Writer::Other(note) => r.exists() && policy.is_ours(&note.owner),
        Writer::Nobody | Writer::Ours(_) => false,
    }))
}

/// The live DNSZone that the mark names keeps the domain, whatever its class says meanwhile; without
/// one the oldest that is served by class, then the first by namespace/name.
fn elect<'a>(
    zones: &Zones<'a>,
    uids: &[&'a str],
    mark: Option<&Mark>,
    blind: bool,
) -> Option<&'a str> {
    let of_domain = || uids.iter().filter_map(|uid| zones.by_uid.get(uid));
    let live = |f: &&ZoneFacts<'a>| f.standing != Standing::Terminating;
    if let Some(mark) = mark
        && let Some(marked) = of_domain().filter(live).find(|f| mark.names(&f.zone.meta.uid))
    {
        return Some(&marked.zone.meta.uid);
    }
    of_domain()
        .filter(|f| f.standing == Standing::Served)
        .min_by_key(|f| {
            // Without a list of marks, whoever was accepted before is the best guess; nothing is
            // written in such a pass, but a status could flip for nothing.
            let unseen = blind && !was_accepted(f.zone);
            (unseen, f.zone.meta.created, f.zone.meta.key())
        })
        .map(|f| f.zone.meta.uid.as_str())
}

fn was_accepted(zone: &Zone) -> bool {
    zone.status.conditions.iter().any(|c| c.type_ == kind::ACCEPTED && c.status == Truth::True)
}

fn says_in_use(zone: &Zone) -> bool {
    zone.status.conditions.iter().any(|c| c.reason == reason::ZONE_IN_USE)
}

/// The standing as far as the object and its class decide it.
fn standing_alone(
    zone: &Zone,
    domain: Option<&Name>,
    class: ClassState<'_>,
    policy: &Policy,
) -> Standing {
    if zone.meta.terminating {
        return Standing::Terminating;
    }
    if domain.is_none() {
        let raw = zone.domain.as_deref().unwrap_or_default();
        return Standing::Waiting(reason::PENDING, sentence::bad_domain(raw));
    }
    match class {
        ClassState::Empty => Standing::Waiting(reason::PENDING, sentence::NO_CLASS_NAME.to_owned()),
        ClassState::Missing(name) => {
            Standing::Waiting(reason::PENDING, sentence::class_not_found(name))
        }
        ClassState::Foreign(class) => {
            let ours: Vec<&str> = policy.controller_names.iter().map(String::as_str).collect();
            let message = sentence::class_foreign(&class.controller, &ours.join(", "));
            Standing::Waiting(reason::PENDING, message)
        }
        ClassState::Ours(_) => Standing::Served,
    }
}

pub(super) fn class_of<'a>(
    zone: &'a Zone,
    classes: &'a [Class],
    policy: &Policy,
) -> ClassState<'a> {
    let name = match zone.class.as_deref() {
        None | Some("") => return ClassState::Empty,
        Some(name) => name,
    };
    match classes.iter().find(|c| c.name == name) {
        None => ClassState::Missing(name),
        Some(class) if policy.controller_names.contains(&class.controller) => {
            ClassState::Ours(class)
        }
        Some(class) => ClassState::Foreign(class),
    }
}

/// Keys of DNSZones that have a provenance-marked shadow of the same domain in this very list.
///
/// Anybody who may create a DNSZone may write such a mark. It counts only in a namespace that the replicator makes
/// (`ns-<uid of the original's namespace>`), with a class of ours, and not against an original that already
/// holds the PowerDNS zone, nor one whose end we owe it.
fn shadowed(cluster: &Cluster, server: &Server, policy: &Policy) -> BTreeSet<ObjectKey> {
    let zones = &cluster.zones;
    let originals: BTreeMap<ObjectKey, &Zone> = zones.iter().map(|z| (z.meta.key(), z)).collect();
    let mut out = BTreeSet::new();
    for shadow in zones {
        let class_ours = matches!(class_of(shadow, &cluster.classes, policy), ClassState::Ours(_));
        let Some(upstream) = shadow.meta.upstream.as_ref().filter(|_| class_ours) else { continue };
        let key = ObjectKey { namespace: upstream.namespace.clone(), name: upstream.name.clone() };
        let Some(original) = originals.get(&key) else { continue };
        let made = shadow.meta.namespace.strip_prefix("ns-").is_some_and(is_uuid);
        let domain = original.domain.as_deref().and_then(|d| Name::parse(d).ok());
        let mark = domain.and_then(|d| mark_of(server, &d, policy));
        let holds = mark.is_some_and(|m| m.names(&original.meta.uid));
        let owed = original.meta.terminating && policy.holds_zone(&original.meta);
        if made && !holds && !owed && original.domain == shadow.domain {
            out.insert(key);
        }
    }
    out
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
}

//! What the plan of one zone turns on besides what the zone holds, as one number a zone: while it stays the same, a
//! zone that needed nothing needs nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::Policy;
use super::note::{Mark, uid_digits};
use super::snapshot::{Capabilities, Cluster, Server, ServerZone};
use crate::api::object::{Class, Meta, RecordSet, Zone};
use crate::dns::name::Name;

/// A number for each zone of the list that can be told unchanged at all. It covers the zone's serial, account and
/// kind, the server's capabilities, which zones are below it, and uid and version of every object that names it: its
/// DNSZones, those of names below, their classes, and the record sets that name or refer to one of them. Left out are
/// zones of which an object is being deleted.
#[derive(Clone, Debug, Default)]
pub struct Prints(BTreeMap<Name, u64>);

impl Prints {
    /// Works them out from the lists alone: nothing has to be read of a zone. An order of objects does not matter.
    #[must_use]
    pub fn of(cluster: &Cluster, server: &Server, policy: &Policy) -> Prints {
        let (Some(capabilities), Ok(listed)) = (server.capabilities, &server.zones) else {
            return Prints::default();
        };
        let mut sums = Sums::of(listed, capabilities);
        let homes = Homes::of(cluster, listed, policy);
        for zone in &cluster.zones {
            sums.zone(zone, class_of(zone, &cluster.classes), homes.marked(&zone.meta.uid));
        }
        for set in &cluster.sets {
            sums.add(&homes.of_set(set), object(&set.meta, None), set.meta.terminating);
        }
        Prints(sums.zones)
    }

    /// That of one zone.
    #[must_use]
    pub fn get(&self, zone: &Name) -> Option<u64> {
        self.0.get(zone).copied()
    }
}

/// A number for anything, the same in every process.
pub(super) fn number(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

fn object(meta: &Meta, class: Option<&Class>) -> u64 {
    let class = class.map(|c| (&c.name, &c.controller, &c.servers, c.default_ttl));
    number((&meta.uid, &meta.resource_version, class))
}

fn class_of<'a>(zone: &Zone, classes: &'a [Class]) -> Option<&'a Class> {
    classes.iter().find(|c| Some(&c.name) == zone.class.as_ref())
}

/// Sums of numbers, by zone.
struct Sums {
    zones: BTreeMap<Name, u64>,
}

impl Sums {
    fn of(listed: &BTreeMap<Name, ServerZone>, capabilities: Capabilities) -> Sums {
        let told = listed.iter().filter(|(_, z)| z.writable());
        let zones = told.filter_map(|(name, z)| {
            let Capabilities { version, comments, comments_outlive, single_writer } = capabilities;
            let server = (format!("{version:?}"), comments, comments_outlive, single_writer);
            // Without an SOA the serial is 0 and stays so.
            let serial = z.serial.filter(|serial| *serial != 0)?;
            Some((name.clone(), number((&z.id, &z.kind, &z.account, serial, server))))
        });
        let mut sums = Sums { zones: zones.collect() };
        for name in listed.keys() {
            let above: BTreeSet<Name> = name.ancestors().collect();
            sums.add(&above, number(name.as_str()), false);
        }
        sums
    }

    /// A DNSZone matters to its zone, and to the zones above its domain, whose names it may come to shadow.
    fn zone(&mut self, zone: &Zone, class: Option<&Class>, marked: &BTreeSet<Name>) {
        let domain = domain(zone);
        let own: BTreeSet<Name> = domain.iter().chain(marked).cloned().collect();
        self.add(&own, object(&zone.meta, class), zone.meta.terminating);
        let above = domain.iter().flat_map(Name::ancestors).filter(|name| !own.contains(name));
        self.add(&above.collect(), object(&zone.meta, class), false);
    }

    fn add(&mut self, zones: &BTreeSet<Name>, number: u64, restless: bool) {
        for name in zones {
            if restless {
                self.zones.remove(name);
            } else if let Some(sum) = self.zones.get_mut(name) {
                *sum = sum.wrapping_add(number);
            }
        }
    }
}

fn domain(zone: &Zone) -> Option<Name> {
    Name::parse(zone.domain.as_deref()?).ok()
}

/// Which zones an object may have to do with.
struct Homes<'a> {
    /// By namespace and name of a DNSZone.
    named: BTreeMap<(&'a str, &'a str), Name>,
    /// All of one namespace: a record set whose zone cannot be read may be of any of them.
    namespaces: BTreeMap<&'a str, BTreeSet<Name>>,
    /// By uid of a DNSZone.
    domains: BTreeMap<&'a str, Name>,
    /// By the digits of a uid that a mark carries: nothing keeps an account from being copied.
    marked: BTreeMap<String, BTreeSet<Name>>,
}

impl<'a> Homes<'a> {
    fn of(cluster: &'a Cluster, listed: &BTreeMap<Name, ServerZone>, policy: &Policy) -> Homes<'a> {
        let mut homes = Homes {
            named: BTreeMap::new(),
            namespaces: BTreeMap::new(),
            domains: BTreeMap::new(),
            marked: BTreeMap::new(),
        };
        for (zone, domain) in cluster.zones.iter().filter_map(|z| Some((z, domain(z)?))) {
            let Meta { namespace, name, uid, .. } = &zone.meta;
            homes.named.insert((namespace, name), domain.clone());
            homes.namespaces.entry(namespace).or_default().insert(domain.clone());
            homes.domains.insert(uid, domain);
        }
        for (name, zone) in listed {
            if let Mark::Ours(digits) = Mark::read(&zone.account, policy) {
                homes.marked.entry(digits).or_default().insert(name.clone());
            }
        }
        homes
    }

    fn marked(&self, uid: &str) -> &BTreeSet<Name> {
        const NONE: &BTreeSet<Name> = &BTreeSet::new();
        self.marked.get(&uid_digits(uid)).unwrap_or(NONE)
    }

    fn of_set(&self, set: &RecordSet) -> BTreeSet<Name> {
        let namespace = set.meta.namespace.as_str();
        let mut out: BTreeSet<Name> = match &set.zone {
            Some(zone) => self.named.get(&(namespace, zone)).into_iter().cloned().collect(),
            None => self.namespaces.get(namespace).cloned().unwrap_or_default(),
        };
        for owner in &set.meta.owners {
            out.extend(self.domains.get(owner.uid.as_str()).cloned());
            out.extend(self.marked(&owner.uid).iter().cloned());
        }
        out
    }
}

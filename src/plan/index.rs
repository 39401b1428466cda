//! What record sets and zones have to do with each other, looked up once for all zones of a pass: no step of the decision
//! may go through all of them for each of them.

use std::collections::{BTreeMap, BTreeSet};

use super::Policy;
use super::note::{Mark, uid_digits};
use super::sets::{Place, SetFacts, Sets};
use super::snapshot::{Server, ServerZone};
use super::zones::{Standing, ZoneFacts, Zones};
use crate::dns::name::Name;

/// Record sets and zones by what they are looked for. Lists are in the order of uids and names.
#[derive(Debug, Default)]
pub(crate) struct Index<'a> {
    /// Record sets by the domain that they are in, or would be in if their DNSZone were served.
    home: BTreeMap<&'a Name, Vec<&'a SetFacts<'a>>>,
    /// Record sets that name no DNSZone, or none that there is.
    pub(crate) homeless: Vec<&'a SetFacts<'a>>,
    /// Namespaces of record sets whose zone reference is unreadable: one may declare something in any zone of its namespace.
    pub(crate) unreferred: BTreeSet<&'a str>,
    /// Record sets by namespace and name of the DNSZone that they name.
    named: BTreeMap<&'a str, BTreeMap<&'a str, Vec<&'a SetFacts<'a>>>>,
    /// Record sets by the uids of their owner references.
    referring: BTreeMap<&'a str, Vec<&'a SetFacts<'a>>>,
    /// Zones on the server below each of its zones.
    below: BTreeMap<Name, Vec<&'a Name>>,
    /// Zones below each name that are served and not on the server: this pass makes them.
    coming: BTreeMap<Name, Vec<&'a Name>>,
    /// Zones by the digits that our mark on them carries.
    marked: BTreeMap<String, &'a Name>,
    /// Zones that could have been read and were not.
    pub(crate) unread: Vec<(&'a Name, &'a str)>,
}

impl<'a> Index<'a> {
    pub(crate) fn of(
        server: &'a Server,
        zones: &'a Zones<'a>,
        sets: &'a Sets<'a>,
        policy: &Policy,
    ) -> Index<'a> {
        let mut index = Index::default();
        for set in sets.values() {
            index.set(set);
        }
        let Ok(listed) = &server.zones else { return index };
        for (name, zone) in listed {
            index.listed(name, zone, policy);
        }
        let comes = |d: &&Name| {
            let holder = zones.holder(d);
            holder.is_some_and(|h| h.standing == Standing::Served) && !listed.contains_key(*d)
        };
        for domain in zones.holders.keys().filter(comes) {
            for above in domain.ancestors() {
                index.coming.entry(above).or_default().push(domain);
            }
        }
        index
    }

    fn set(&mut self, set: &'a SetFacts<'a>) {
        if let Some(domain) = set.place.domain() {
            self.home.entry(domain).or_default().push(set);
        }
        if set.place == Place::Unresolved {
            self.homeless.push(set);
        }
        let namespace = set.set.meta.namespace.as_str();
        if let Some(zone) = &set.set.zone {
            let named = self.named.entry(namespace).or_default();
            named.entry(zone).or_default().push(set);
        } else {
            self.unreferred.insert(namespace);
        }
        let uids: BTreeSet<&str> = set.set.meta.owners.iter().map(|o| o.uid.as_str()).collect();
        for uid in uids {
            self.referring.entry(uid).or_default().push(set);
        }
    }

    fn listed(&mut self, name: &'a Name, zone: &'a ServerZone, policy: &Policy) {
        for above in name.ancestors() {
            self.below.entry(above).or_default().push(name);
        }
        if let Mark::Ours(digits) = Mark::read(&zone.account, policy) {
            self.marked.entry(digits).or_insert(name);
        }
        if let Err(why) = &zone.contents
            && zone.writable()
            && !zone.unchanged()
        {
            self.unread.push((name, why));
        }
    }

    /// Record sets that are in a domain, or would be.
    pub(crate) fn home(&self, domain: &Name) -> &[&'a SetFacts<'a>] {
        self.home.get(domain).map_or(&[], Vec::as_slice)
    }

    /// Record sets that name a DNSZone.
    pub(crate) fn naming(&self, zone: &ZoneFacts<'_>) -> &[&'a SetFacts<'a>] {
        let meta = &zone.zone.meta;
        let named = self.named.get(meta.namespace.as_str());
        named.and_then(|named| named.get(meta.name.as_str())).map_or(&[], Vec::as_slice)
    }

    /// Record sets with an owner reference to this uid.
    pub(crate) fn referring(&self, uid: &str) -> &[&'a SetFacts<'a>] {
        self.referring.get(uid).map_or(&[], Vec::as_slice)
    }

    /// Zones on the server below this one.
    pub(crate) fn below(&self, zone: &Name) -> &[&'a Name] {
        self.below.get(zone).map_or(&[], Vec::as_slice)
    }

    /// Zones below this one that this pass makes.
    pub(crate) fn coming(&self, zone: &Name) -> &[&'a Name] {
        self.coming.get(zone).map_or(&[], Vec::as_slice)
    }

    /// The zone that is marked for the DNSZone of this uid.
    pub(crate) fn marked(&self, uid: &str) -> Option<&'a Name> {
        self.marked.get(&uid_digits(uid)).copied()
    }
}

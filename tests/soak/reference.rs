//! The intended state, worked out from the objects as they are and from what the server has: who holds a domain, which
//! record set has which key, what a note's writer still says of its RRset. Plain maps and text; no rule of it is the
//! product's code.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::model::{Rrset, Zone};
use crate::scene::{Mark, Party, Scene, Writer, finalized, stored, terminating, uid};
use crate::words::{Contents, at_or_below, coexist, groups};

/// One daemon's view of both states.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub scene: &'a Scene,
    pub party: &'a Party,
    /// The zones that the server had when it was listed, with their accounts: the longer ones shadow names.
    pub listed: &'a BTreeMap<String, String>,
    /// Zones in which there was no note of ours when they were listed: what objects say of them holds for the whole pass.
    pub unnoted: &'a BTreeSet<String>,
    /// Another daemon has written since: what it did may not be known.
    pub interrupted: bool,
}

/// Where a record set's names are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Home {
    Served(String),
    NotServed(String),
    Unresolved,
}

/// What has become of a key for the record set that a note names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes whatever else is at the name: its writer is being deleted.
    Going,
    /// … or declares it no more, or is gone.
    Lost,
    Gone,
    /// The writer has the name with another type now.
    Retyped,
    /// Nobody wrote it, or somebody who is gone, and the zone holds nothing but what is declared.
    Undeclared,
    Declared,
    Unknown,
}

/// One record set's claim to a key.
#[derive(Clone, Debug)]
pub struct Claim<'a> {
    pub uid: &'a str,
    pub key: String,
    pub created: &'a str,
    pub rtype: &'a str,
    pub raws: BTreeSet<String>,
    pub contents: Option<Contents>,
    pub refused: bool,
}

pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub fn domain(zone: &Value) -> String {
    format!("{}.", text(zone, "/spec/domainName"))
}

fn key(object: &Value) -> String {
    format!("{}/{}", text(object, "/metadata/namespace"), text(object, "/metadata/name"))
}

impl<'a> View<'a> {
    pub fn of(&self, plural: &'a str) -> impl Iterator<Item = &'a Value> + use<'a> {
        let namespace = &self.party.namespace;
        let all = self.scene.cluster.of(plural);
        all.filter(move |o| o["metadata"]["namespace"] == namespace.as_str())
    }

    pub fn stored_zone(&self, apex: &str) -> Option<&'a Zone> {
        self.scene.pdns.zones.get(apex)
    }

    pub fn class(&self, zone: &Value) -> Option<&'a Value> {
        let name = text(zone, "/spec/dnsZoneClassName");
        self.scene.cluster.of("dnszoneclasses").find(|c| c["metadata"]["name"] == name)
    }

    pub fn class_ours(&self, zone: &Value) -> bool {
        self.class(zone).is_some_and(|c| c["spec"]["controllerName"] == "powerdns")
    }

    /// Another controller has the class. Deleting such a zone may be another daemon's affair.
    pub fn class_alien(&self, zone: &Value) -> bool {
        self.class(zone).is_some() && !self.class_ours(zone)
    }

    /// One finalizer serves all daemons: the end of what another one has marked is its own affair.
    pub fn of_others(&self, zone: &Value) -> bool {
        self.class_alien(zone) && terminating(zone) && self.mark(&domain(zone)) == Mark::Other
    }

    /// The name servers of a DNSZone's class.
    pub fn servers(&self, zone: &Value) -> BTreeSet<String> {
        let servers = self.class(zone).map(|c| &c["spec"]["nameServerPolicy"]["static"]["servers"]);
        let servers = servers.and_then(Value::as_array).into_iter().flatten();
        servers.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// The live DNSZone that the mark names; else, the oldest one whose class is ours.
    pub fn holder(&self, apex: &str) -> Option<&'a Value> {
        let live = || self.of("dnszones").filter(|z| domain(z) == apex && !terminating(z));
        let account = self.stored_zone(apex).map_or("", |z| z.account.as_str());
        let marked = live().find(|z| self.party.mark(uid(z)) == account);
        let oldest = || {
            let age = |z: &&'a Value| (text(z, "/metadata/creationTimestamp"), key(z));
            live().filter(|z| self.class_ours(z)).min_by_key(age)
        };
        marked.or_else(oldest)
    }

    /// The holder, if PowerDNS follows it.
    pub fn served(&self, apex: &str) -> Option<&'a Value> {
        let mark = self.mark(apex);
        self.holder(apex).filter(|z| self.class_ours(z) && mark != Mark::Other)
    }

    pub fn mark(&self, apex: &str) -> Mark {
        let account = self.stored_zone(apex).map_or("", |z| z.account.as_str());
        self.party.read_mark(account)
    }

    /// Whether an orphan goes as a whole: nothing in it is another owner's, or a live record set's to keep.
    pub fn orphan_goes(&self, apex: &str) -> bool {
        let Some(zone) = self.stored_zone(apex) else { return false };
        let all = zone.rrsets.iter().filter(|(_, r)| !r.records.is_empty());
        let stays =
            |((name, rtype), rrset): (&(String, String), &Rrset)| match self.party.writer(rrset) {
                Writer::Nobody => false,
                Writer::Other => true,
                Writer::Ours(writer) => {
                    let fate = self.fate(apex, name, rtype, &writer);
                    matches!(fate, Fate::Retyped | Fate::Declared | Fate::Unknown)
                }
            };
        self.party.rules.orphans
            && self.mark(apex) == Mark::Ours
            && self.nobodys(apex)
            && !all.into_iter().any(stays)
    }

    /// Whether a zone is not another owner's and has no DNSZone: what live record sets have left in it goes all the same.
    pub fn nobodys(&self, apex: &str) -> bool {
        let account = self.stored_zone(apex).map_or("", |z| z.account.as_str());
        let known = |z: &Value| domain(z) == apex || self.party.mark(uid(z)) == account;
        self.mark(apex) != Mark::Other && !self.of("dnszones").any(known)
    }

    /// The DNSZone that a record set names.
    pub fn zone_of(&self, set: &Value) -> Option<&'a Value> {
        let name = text(set, "/spec/dnsZoneRef/name");
        self.of("dnszones").find(|z| z["metadata"]["name"] == name)
    }

    pub fn home(&self, set: &Value) -> Home {
        let Some(zone) = self.zone_of(set) else { return Home::Unresolved };
        let apex = domain(zone);
        if self.served(&apex).is_some_and(|holder| uid(holder) == uid(zone)) {
            Home::Served(apex)
        } else {
            Home::NotServed(apex)
        }
    }

    /// It is being deleted, or its DNSZone takes it along.
    pub fn going(&self, set: &Value) -> bool {
        let along = |z: &Value| terminating(z) && finalized("dnszones", z);
        terminating(set) || self.zone_of(set).is_some_and(along)
    }

    pub fn groups(&self, set: &Value, apex: &str) -> BTreeMap<String, crate::words::Group> {
        let ours = |z: &&Value| self.class_ours(z);
        let class = self.zone_of(set).filter(ours).and_then(|z| self.class(z));
        let ttl = class.and_then(|c| c["spec"]["defaults"]["defaultTTL"].as_i64());
        groups(set, apex, ttl.unwrap_or(300))
    }

    /// The claims to a zone's names by owner name, the first one first.
    pub fn claims(&self, apex: &str) -> BTreeMap<String, Vec<Claim<'a>>> {
        let mut out: BTreeMap<String, Vec<Claim<'a>>> = BTreeMap::new();
        for set in self.of("dnsrecordsets").filter(|s| !self.going(s)) {
            if self.home(set) != Home::Served(apex.to_owned()) {
                continue;
            }
            for (name, group) in self.groups(set, apex) {
                out.entry(name).or_default().push(Claim {
                    uid: uid(set),
                    key: key(set),
                    created: text(set, "/metadata/creationTimestamp"),
                    rtype: text(set, "/spec/recordType"),
                    raws: group.raws,
                    contents: group.contents,
                    refused: group.refused,
                });
            }
        }
        for (name, claims) in &mut out {
            let noted = |c: &Claim<'_>| {
                let zone = self.stored_zone(apex);
                let rrset = zone.and_then(|z| z.rrsets.get(&(name.clone(), c.rtype.to_owned())));
                let rrset = rrset.filter(|r| !r.records.is_empty());
                rrset.is_some_and(|r| self.party.writer(r) == Writer::Ours(c.uid.to_owned()))
            };
            claims.sort_by_cached_key(|c| (c.created, !noted(c), c.key.clone()));
        }
        out
    }

    /// Whether a longer zone on the server answers for a name; the delegation to it is the parent's.
    pub fn shadowed(&self, apex: &str, name: &str, rtype: &str) -> bool {
        let longer = self.listed.keys().filter(|z| *z != apex && at_or_below(z, apex));
        let mut longer = longer.filter(|z| at_or_below(name, z));
        longer.any(|z| !(rtype == "NS" && name == z))
    }

    /// Never deleted.
    pub fn protected(&self, apex: &str, name: &str, rtype: &str) -> bool {
        (name == apex && (rtype == "SOA" || rtype == "NS")) || self.shadowed(apex, name, rtype)
    }

    /// What is to be said of an RRset that carries this uid.
    pub fn fate(&self, apex: &str, name: &str, rtype: &str, writer: &str) -> Fate {
        let Some(set) = self.of("dnsrecordsets").find(|s| uid(s) == writer) else {
            return Fate::Gone;
        };
        if self.zone_of(set).is_some_and(|z| self.of_others(z)) {
            return Fate::Unknown;
        }
        if self.going(set) {
            return Fate::Going;
        }
        let refers = |zone: &Value| {
            let owners = set["metadata"]["ownerReferences"].as_array().into_iter().flatten();
            owners.into_iter().any(|o| o["uid"] == uid(zone))
        };
        match self.home(set) {
            Home::Served(home) if home == apex => match self.groups(set, apex).get(name) {
                None => Fate::Lost,
                Some(_) if set["spec"]["recordType"] == rtype => Fate::Declared,
                Some(_) => Fate::Retyped,
            },
            Home::Served(_) => Fate::Lost,
            Home::NotServed(home) if home != apex => Fate::Lost,
            Home::Unresolved if self.holder(apex).is_some_and(refers) => Fate::Lost,
            Home::NotServed(_) | Home::Unresolved => Fate::Unknown,
        }
    }

    /// Whether an RRset is what its writer left.
    pub fn as_written(&self, apex: &str, name: &str, rtype: &str, rrset: &Rrset) -> bool {
        let key = (apex.to_owned(), name.to_owned(), rtype.to_owned());
        self.scene.written.get(&key) == Some(&stored(rtype, rrset))
    }

    /// Who may delete a stored RRset, as far as it goes whatever stands beside it, or what its writer says.
    pub fn yields(
        &self,
        apex: &str,
        name: &str,
        rtype: &str,
        rrset: &Rrset,
    ) -> Option<(String, Fate)> {
        if self.protected(apex, name, rtype) {
            return None;
        }
        match self.party.writer(rrset) {
            Writer::Other => None,
            Writer::Nobody => {
                let told = self.evidence(apex, name, rtype).map(|uid| (uid, Fate::Going));
                let purged = || Some((String::new(), Fate::Undeclared));
                told.or_else(|| purged().filter(|_| self.purged(apex, name, rtype)))
            }
            Writer::Ours(writer) => match self.fate(apex, name, rtype, &writer) {
                Fate::Gone => {
                    let as_left = self.as_written(apex, name, rtype, rrset);
                    let may = as_left || self.purged(apex, name, rtype);
                    (may && self.holder(apex).is_some()).then_some((writer, Fate::Gone))
                }
                fate => Some((writer, fate)),
            },
        }
    }

    /// The claims to a name that are to be served, given what is stored there; oldest first, each with room for it.
    pub fn admitted(&self, apex: &str, name: &str, claims: &[Claim<'a>]) -> Vec<Claim<'a>> {
        let nothing = BTreeMap::new();
        let zone = self.stored_zone(apex);
        let here = zone.map_or(nothing, |z| z.at(name));
        let mut out: Vec<Claim<'a>> = Vec::new();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut removed: BTreeSet<&str> = BTreeSet::new();
        for (index, claim) in claims.iter().enumerate() {
            let Some(contents) = claim.contents.as_ref().filter(|_| seen.insert(claim.rtype))
            else {
                seen.insert(claim.rtype);
                continue;
            };
            let excluded = self.shadowed(apex, name, claim.rtype)
                || (claim.rtype == "CNAME" && (name == apex || here.contains_key("LOC")))
                || out.iter().any(|c| !coexist(c.rtype, claim.rtype))
                || here.get(claim.rtype).is_some_and(|r| {
                    let differs = stored(claim.rtype, r) != *contents;
                    (self.party.writer(r) == Writer::Other && differs)
                        || self.protects(apex, name, claim, r)
                });
            let rivals: Vec<&str> = here.keys().copied().collect();
            let rivals: Vec<&str> = rivals
                .into_iter()
                .filter(|t| !coexist(t, claim.rtype) && !removed.contains(t))
                .collect();
            let gives_way = |t: &&&str| {
                let Some((writer, fate)) = self.yields(apex, name, t, here[**t]) else {
                    return false;
                };
                let behind = claims[index..].iter().any(|c| c.uid == writer);
                match fate {
                    Fate::Going | Fate::Lost | Fate::Gone | Fate::Undeclared => true,
                    Fate::Retyped => behind || out.iter().any(|c| c.uid == writer),
                    Fate::Declared => behind,
                    Fate::Unknown => false,
                }
            };
            if !excluded && rivals.iter().filter(gives_way).count() == rivals.len() {
                removed.extend(rivals);
                out.push(claim.clone());
            }
        }
        out
    }
}

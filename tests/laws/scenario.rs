//! Worlds that collide: few domains, few names, mostly types that exclude each other, objects in every state of their
//! life, and a PowerDNS that others have written to. A scenario is plain small numbers, so that it shrinks; `build` makes
//! the world of it.

use dns_syncd::api::{FINALIZER_RECORD_SET, FINALIZER_ZONE};
use dns_syncd::dns::name::Name;
use dns_syncd::plan::note::{Note, mark};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::model::{Model, Zone};
use crate::vocabulary::{class, fingerprint, odd, value};
use crate::world::World;

pub const OWNER: &str = "laws";
pub const DOMAINS: [&str; 3] = ["example.test.", "sub.example.test.", "other.test."];
const RAWS: [&str; 10] = [
    "@",
    "www",
    "WWW",
    "www.example.test.",
    "*",
    "a.b",
    "sub",
    "www.sub",
    "www.other.test.",
    "a..b",
];
const OWNERS: [&str; 6] = ["", "www.", "*.", "a.b.", "sub.", "www.sub."];
pub const CLASSES: [&str; 5] = ["ours", "bare", "foreign", "missing", ""];

#[derive(Clone, Debug)]
pub struct Scenario {
    pub comments: bool,
    pub zones: Vec<ZoneSpec>,
    pub sets: Vec<SetSpec>,
    pub stored: Vec<StoredZone>,
}

#[derive(Clone, Debug)]
pub struct ZoneSpec {
    pub domain: usize,
    pub class: usize,
    pub created: u8,
    pub terminating: bool,
    pub finalizer: bool,
}

#[derive(Clone, Debug)]
pub struct SetSpec {
    /// A DNSZone by its place, modulo how many there are; past 9 one that does not exist.
    pub zone: usize,
    pub rtype: &'static str,
    pub created: u8,
    pub entries: Vec<EntrySpec>,
    pub terminating: bool,
    pub finalizer: bool,
    /// 0: none, 1: to its DNSZone, 2: to a uid that is gone.
    pub owner: u8,
    /// Its status says that its names are programmed.
    pub programmed: bool,
}

#[derive(Clone, Debug)]
pub struct EntrySpec {
    pub raw: usize,
    pub value: u8,
    pub ttl: Option<i64>,
    pub flaw: Flaw,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    None,
    Mismatched,
    Empty,
}

#[derive(Clone, Debug)]
pub struct StoredZone {
    pub domain: usize,
    pub account: Account,
    pub slave: bool,
    pub rrsets: Vec<StoredSpec>,
}

#[derive(Clone, Copy, Debug)]
pub enum Account {
    Empty,
    Ours(usize),
    Dead,
    Other,
    Free,
}

#[derive(Clone, Debug)]
pub struct StoredSpec {
    pub owner: usize,
    pub rtype: &'static str,
    pub values: Vec<u8>,
    pub ttl: i64,
    pub note: NoteSpec,
    /// The set that it is noted for declares its name.
    pub declared: bool,
    pub odd: bool,
    pub foreign_comment: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum NoteSpec {
    None,
    /// Of a set, with the right hash or a stale one.
    Of(usize, bool),
    Dead(bool),
    Other,
    Garbage,
}

pub fn zone_uid(i: usize) -> String {
    format!("00000000-0000-4000-8000-0000000000{i:02}")
}

pub fn set_uid(i: usize) -> String {
    format!("00000000-0000-4000-8000-0000000001{i:02}")
}

const DEAD_ZONE: &str = "00000000-0000-4000-8000-000000000777";
pub const DEAD_SET: &str = "00000000-0000-4000-8000-000000000888";

fn time(n: u8) -> String {
    format!("2026-01-01T00:00:0{}Z", n % 10)
}

fn rtype() -> impl Strategy<Value = &'static str> {
    const RARE: [&str; 8] = ["AAAA", "MX", "SRV", "CAA", "PTR", "TLSA", "HTTPS", "SVCB"];
    prop_oneof![
        14 => Just("A"), 7 => Just("CNAME"), 4 => Just("TXT"), 3 => Just("ALIAS"), 2 => Just("NS"), 1 => Just("SOA"),
        3 => proptest::sample::select(&RARE[..]),
    ]
}

fn often() -> impl Strategy<Value = bool> {
    proptest::bool::weighted(0.85)
}

fn seldom() -> impl Strategy<Value = bool> {
    proptest::bool::weighted(0.15)
}

/// Values 0 to 2; with `refusals` also those that the server alone refuses.
fn value_index(refusals: bool) -> impl Strategy<Value = u8> {
    if refusals { prop_oneof![12 => 0..3_u8, 1 => Just(3_u8)].boxed() } else { (0..3_u8).boxed() }
}

pub fn entry(refusals: bool) -> impl Strategy<Value = EntrySpec> {
    let raw = prop_oneof![3 => Just(0_usize), 12 => 1..4_usize, 5 => 4..8_usize, 1 => 8..10_usize];
    let ttl = prop_oneof![6 => Just(None), 3 => Just(Some(60)), 2 => Just(Some(300)), 1 => Just(Some(-1))];
    let flaw =
        prop_oneof![9 => Just(Flaw::None), 1 => Just(Flaw::Mismatched), 1 => Just(Flaw::Empty)];
    (raw, value_index(refusals), ttl, flaw).prop_map(|(raw, value, ttl, flaw)| EntrySpec {
        raw,
        value,
        ttl,
        flaw,
    })
}

fn zone() -> impl Strategy<Value = ZoneSpec> {
    let domain = prop_oneof![4 => Just(0_usize), 2 => Just(1_usize)];
    let class = prop_oneof![8 => Just(0_usize), 2 => Just(1_usize), 1 => 2..5_usize];
    (domain, class, 0..3_u8, seldom(), often()).prop_map(
        |(domain, class, created, terminating, finalizer)| ZoneSpec {
            domain,
            class,
            created,
            terminating,
            finalizer,
        },
    )
}

fn set(refusals: bool) -> impl Strategy<Value = SetSpec> {
    let zone = prop_oneof![12 => 0..4_usize, 1 => Just(10_usize)];
    let entries = vec(entry(refusals), 0..4);
    (zone, rtype(), 0..3_u8, entries, seldom(), often(), 0..3_u8, any::<bool>()).prop_map(
        |(zone, rtype, created, entries, terminating, finalizer, owner, programmed)| SetSpec {
            zone,
            rtype,
            created,
            entries,
            terminating,
            finalizer,
            owner,
            programmed,
        },
    )
}

fn stored() -> impl Strategy<Value = StoredZone> {
    let account = prop_oneof![
        5 => (0..3_usize).prop_map(Account::Ours), 2 => Just(Account::Empty), 1 => Just(Account::Dead),
        1 => Just(Account::Other), 1 => Just(Account::Free),
    ];
    let note = prop_oneof![
        4 => Just(NoteSpec::None), 8 => (0..6_usize, often()).prop_map(|(i, fresh)| NoteSpec::Of(i, fresh)),
        2 => often().prop_map(NoteSpec::Dead), 2 => Just(NoteSpec::Other), 1 => Just(NoteSpec::Garbage),
    ];
    let rtype = prop_oneof![12 => rtype(), 1 => Just("LOC")];
    let rrset = (
        prop_oneof![2 => Just(1_usize), 3 => 0..6_usize],
        rtype,
        vec(0..3_u8, 1..3),
        0..2_u8,
        note,
        any::<bool>(),
        seldom(),
        seldom(),
    )
        .prop_map(|(owner, rtype, values, ttl, note, declared, odd, foreign_comment)| StoredSpec {
            owner,
            rtype,
            values,
            ttl: 60 + 240 * i64::from(ttl),
            note,
            declared,
            odd,
            foreign_comment,
        });
    let domain = prop_oneof![4 => Just(0_usize), 2 => Just(1_usize), 1 => Just(2_usize)];
    (domain, account, proptest::bool::weighted(0.05), vec(rrset, 0..7))
        .prop_map(|(domain, account, slave, rrsets)| StoredZone { domain, account, slave, rrsets })
}

/// Any scenario; with `refusals` also with values that only the server refuses.
pub fn scenario(refusals: bool) -> impl Strategy<Value = Scenario> {
    (often(), vec(zone(), 1..4), vec(set(refusals), 0..7), vec(stored(), 0..3))
        .prop_map(|(comments, zones, sets, stored)| Scenario { comments, zones, sets, stored })
}

/// The entry as a spec has it.
pub fn entry_value(rtype: &str, entry: &EntrySpec) -> Value {
    let (mut field, _) = value(rtype, entry.value);
    let mut key = rtype.to_lowercase();
    if entry.flaw == Flaw::Mismatched {
        (key, field) = if rtype == "TXT" {
            ("a".to_owned(), value("A", 0).0)
        } else {
            ("txt".to_owned(), value("TXT", 0).0)
        };
    } else if entry.flaw == Flaw::Empty && field.get("content").is_some() {
        field = json!({"content": " "});
    }
    let mut out = json!({"name": RAWS[entry.raw], key: field});
    if let Some(ttl) = entry.ttl {
        out["ttl"] = json!(ttl);
    }
    out
}

fn deleted(meta: &mut Value, terminating: bool, finalizer: Option<&str>) {
    if terminating {
        meta["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
    }
    // Without any finalizer a terminating object would be gone.
    let finalizers: Vec<&str> =
        finalizer.into_iter().chain(terminating.then_some("example.test/other")).collect();
    meta["finalizers"] = json!(finalizers);
}

impl Scenario {
    /// The world of it.
    pub fn build(&self) -> World {
        let mut cluster = Cluster::default();
        for name in ["ours", "bare", "foreign"] {
            cluster.put("dnszoneclasses", class(name));
        }
        for (i, zone) in self.zones.iter().enumerate() {
            let mut object = json!({
                "metadata": {"name": format!("z{i}"), "namespace": "ns", "uid": zone_uid(i), "generation": 1,
                             "creationTimestamp": time(zone.created)},
                "spec": {"domainName": DOMAINS[zone.domain].trim_end_matches('.'), "dnsZoneClassName": CLASSES[zone.class]},
            });
            deleted(
                &mut object["metadata"],
                zone.terminating,
                zone.finalizer.then_some(FINALIZER_ZONE),
            );
            cluster.put("dnszones", object);
        }
        for (i, set) in self.sets.iter().enumerate() {
            cluster.put("dnsrecordsets", self.set_value(i, set));
        }
        let mut model = Model { comments: self.comments, ..Model::default() };
        for stored in &self.stored {
            let account = match stored.account {
                // A DNSZone's domain never changes: its mark stands on that domain's zone alone.
                Account::Ours(i) if self.zones[i % self.zones.len()].domain == stored.domain => {
                    mark(OWNER, &zone_uid(i % self.zones.len()))
                }
                Account::Empty | Account::Ours(_) => String::new(),
                Account::Dead => mark(OWNER, DEAD_ZONE),
                Account::Other => mark("somebody-else", DEAD_ZONE),
                Account::Free => "customer 17".to_owned(),
            };
            let apex = DOMAINS[stored.domain];
            model.create(&json!({"name": apex, "account": account, "rrsets": []}));
            for rrset in &stored.rrsets {
                self.store(&mut model, apex, rrset);
            }
            if stored.slave {
                "Slave".clone_into(&mut model.zones.get_mut(apex).unwrap().kind);
            }
        }
        World::new(cluster, model)
    }

    fn set_value(&self, i: usize, set: &SetSpec) -> Value {
        let zone = if set.zone > 9 { 10 } else { set.zone % self.zones.len() };
        let records: Vec<Value> = set.entries.iter().map(|e| entry_value(set.rtype, e)).collect();
        let mut object = json!({
            "metadata": {"name": format!("s{i}"), "namespace": "ns", "uid": set_uid(i), "generation": 1,
                         "creationTimestamp": time(set.created)},
            "spec": {"dnsZoneRef": {"name": format!("z{zone}")}, "recordType": set.rtype, "records": records},
        });
        deleted(
            &mut object["metadata"],
            set.terminating,
            set.finalizer.then_some(FINALIZER_RECORD_SET),
        );
        let uid = match set.owner {
            1 => Some(zone_uid(zone)),
            2 => Some(DEAD_ZONE.to_owned()),
            _ => None,
        };
        if let Some(uid) = uid {
            object["metadata"]["ownerReferences"] = json!([{
                "apiVersion": "dns.networking.miloapis.com/v1alpha1", "kind": "DNSZone", "name": format!("z{zone}"), "uid": uid,
            }]);
        }
        if set.programmed {
            let mut raws: Vec<&str> =
                set.entries.iter().map(|e| RAWS[e.raw]).chain(["www"]).collect();
            raws.sort_unstable();
            raws.dedup();
            let condition = json!({
                "type": "Programmed", "status": "True", "reason": "Programmed", "message": "x",
                "lastTransitionTime": time(0), "observedGeneration": 1,
            });
            let names: Vec<Value> =
                raws.iter().map(|r| json!({"name": r, "conditions": [condition]})).collect();
            object["status"] = json!({"recordSets": names});
        }
        object
    }

    /// Stores an RRset as somebody wrote it; what the server would refuse beside the rest is left out.
    fn store(&self, model: &mut Model, apex: &str, spec: &StoredSpec) {
        let its = if let NoteSpec::Of(i, _) = spec.note { self.sets.get(i) } else { None };
        let its = its.filter(|_| spec.declared);
        let entry = its.and_then(|set| set.entries.first());
        let declared = entry.and_then(|entry| crate::oracle::owner(RAWS[entry.raw], apex));
        let name = declared.unwrap_or_else(|| format!("{}{apex}", OWNERS[spec.owner]));
        // Half of what carries its note is of its type, half of a type that it had.
        let its = its.filter(|_| spec.values.len() == 1);
        let spec = &StoredSpec { rtype: its.map_or(spec.rtype, |s| s.rtype), ..spec.clone() };
        let mut texts: Vec<String> = spec.values.iter().map(|v| value(spec.rtype, *v).1).collect();
        texts.sort();
        texts.dedup();
        if matches!(spec.rtype, "SOA" | "CNAME") {
            texts.truncate(1);
        }
        let mut comments = Vec::new();
        if self.comments {
            comments.extend(
                spec.foreign_comment
                    .then(|| json!({"account": "hand", "content": "keep", "modified_at": 7})),
            );
            comments.extend(
                self.note(spec, &texts)
                    .map(|c| json!({"account": "dns-syncd", "content": c, "modified_at": 5})),
            );
        }
        if spec.odd {
            texts = texts.iter().map(|t| odd(spec.rtype, t)).collect();
        }
        let records: Vec<Value> = texts.iter().map(|t| json!({"content": t})).collect();
        let mut element = json!({"name": name, "type": spec.rtype, "changetype": "REPLACE", "ttl": spec.ttl, "records": records});
        if self.comments {
            element["comments"] = json!(comments);
        }
        model.patch(apex, &[element]);
        model.faults.clear();
    }

    fn note(&self, spec: &StoredSpec, texts: &[String]) -> Option<String> {
        let note = |owner: &str, object: &str, uid: &str, fresh: bool| {
            let hash = fingerprint(spec.rtype, spec.ttl, texts)?;
            let hash = if fresh { hash } else { "0123456789abcdef".to_owned() };
            Some(
                serde_json::to_string(&Note::new(owner, &object.parse().unwrap(), uid, hash))
                    .unwrap(),
            )
        };
        match spec.note {
            NoteSpec::None => None,
            NoteSpec::Of(i, fresh) if i < self.sets.len() => {
                note(OWNER, &format!("ns/s{i}"), &set_uid(i), fresh)
            }
            NoteSpec::Of(_, fresh) | NoteSpec::Dead(fresh) => {
                note(OWNER, "ns/dead", DEAD_SET, fresh)
            }
            NoteSpec::Other => note("somebody-else", "ns/dead", DEAD_SET, true),
            NoteSpec::Garbage => Some("{not a note".to_owned()),
        }
    }
}

/// All RRsets of a zone, its serial left out.
pub fn without_serial(zone: &Zone) -> Zone {
    let mut zone = zone.clone();
    for ((_, rtype), rrset) in &mut zone.rrsets {
        if rtype == "SOA" {
            rrset.records = rrset.records.iter().map(|r| crate::oracle::normal("SOA", r)).collect();
        }
    }
    zone
}

/// The name that tests use for a canonical text.
pub fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

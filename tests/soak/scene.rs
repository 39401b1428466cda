//! Both full states as plain data, and what a step does to them: operations that a user's client or a hand would send.
//! It reads notes and marks by itself, from what the documents say of them.

use std::collections::BTreeMap;

use data_encoding::{BASE32_NOPAD, HEXLOWER};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::cluster::{Cluster, Place};
use crate::model::{Model, Rrset, Zone};
use crate::steps::Step;
use crate::words::{CLASSES, Contents, DOMAINS, RAWS, class_spec, entry, normal, owner, text};

pub const API_VERSION: &str = "dns.networking.miloapis.com/v1alpha1";
pub const FINALIZERS: [(&str, &str); 2] = [
    ("dnszones", "dns.networking.miloapis.com/finalize-dnszone-downstream"),
    ("dnsrecordsets", "dns.networking.miloapis.com/finalize-dnsrecordset-downstream"),
];

/// Zone, owner name, type.
pub type Key = (String, String, String);

/// A daemon: its `ownerId`, its only namespace, and what its policy is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    pub owner: &'static str,
    pub namespace: String,
    pub rules: Rules,
}

/// Options of `policy` that are not the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// `takeover: protect`.
    pub protect: bool,
    /// `undeclared: delete`, sparing what `words::IGNORED` names.
    pub purge: bool,
    /// `orphanZones: delete`.
    pub orphans: bool,
}

impl Rules {
    /// The same on servers that other tests share: before an orphan goes, DNSZones of its domain are looked for in all
    /// namespaces, and theirs have the same domains.
    pub fn on_servers(self) -> Rules {
        Rules { orphans: false, ..self }
    }
}

/// What the objects are called.
#[derive(Clone, Debug)]
pub struct Places {
    pub parties: [Party; 2],
    /// Before the name of each class, since classes have no namespace.
    pub prefix: String,
}

impl Places {
    pub fn new(namespaces: [String; 2], prefix: String) -> Places {
        let [first, second] = namespaces;
        let party = |owner, namespace| Party { owner, namespace, rules: Rules::default() };
        Places { parties: [party("soak", first), party("rival", second)], prefix }
    }

    fn place(&self, who: usize, plural: &str, slot: usize) -> Place {
        let letter = if plural == "dnszones" { "z" } else { "s" };
        (plural.to_owned(), self.parties[who].namespace.clone(), format!("{letter}{slot}"))
    }

    pub fn class(&self, class: usize) -> String {
        format!("{}{}", self.prefix, CLASSES[class])
    }

    /// The classes that are there from the beginning.
    pub fn classes(&self) -> Vec<Op> {
        let class = |class: usize| {
            let controller = if CLASSES[class] == "alien" { "another" } else { "powerdns" };
            let spec = class_spec(class, controller, 2);
            let meta = json!({"name": self.class(class), "annotations": {"tie": "true"}});
            Op::Create(
                json!({"apiVersion": API_VERSION, "kind": "DNSZoneClass", "metadata": meta, "spec": spec}),
            )
        };
        (0..3).map(class).collect()
    }
}

/// Both states.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    pub cluster: Cluster,
    pub pdns: Model,
    /// What a daemon wrote last at a key, under the note that is there.
    pub written: BTreeMap<Key, Contents>,
}

/// One change as it is sent.
#[derive(Clone, Debug)]
pub enum Op {
    Create(Value),
    /// The spec's new members.
    Spec(Place, Value),
    Delete(Place),
    /// Finalizers stripped, then deleted.
    ForceDelete(Place),
    Patch(String, Value),
    Account(String, String),
    DropZone(String),
}

/// What an RRset's comments say of its writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Writer {
    Nobody,
    /// Uid of the record set.
    Ours(String),
    Other,
}

/// What a zone's account says of its holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    None,
    Ours,
    Other,
    Free,
}

impl Party {
    fn hash(&self) -> String {
        HEXLOWER.encode(&Sha256::digest(self.owner.as_bytes())[..3])
    }

    /// The account that marks a zone for a DNSZone of this uid.
    pub fn mark(&self, uid: &str) -> String {
        let bytes = HEXLOWER.decode(uid.replace('-', "").as_bytes()).unwrap();
        format!("ds:{}:{}", self.hash(), BASE32_NOPAD.encode(&bytes).to_lowercase())
    }

    pub fn read_mark(&self, account: &str) -> Mark {
        match account {
            "" => Mark::None,
            ours if ours.starts_with(&format!("ds:{}:", self.hash())) => Mark::Ours,
            other if other.starts_with("ds:") => Mark::Other,
            _ => Mark::Free,
        }
    }

    pub fn writer(&self, rrset: &Rrset) -> Writer {
        let ours = rrset.comments.iter().filter(|c| c.account == "dns-syncd");
        let notes: Vec<Value> =
            ours.filter_map(|c| serde_json::from_str(&c.content).ok()).collect();
        let notes: Vec<&Value> = notes.iter().filter(|n| n["h"].is_string()).collect();
        let inside = format!("{}/", self.namespace);
        let mine = |n: &&Value| {
            n["owner"] == self.owner && n["object"].as_str().is_some_and(|o| o.starts_with(&inside))
        };
        match notes.as_slice() {
            [] => Writer::Nobody,
            all if !all.iter().all(mine) => Writer::Other,
            [note, rest @ ..] if rest.iter().all(|n| n == note) => {
                Writer::Ours(note["uid"].as_str().unwrap_or_default().to_owned())
            }
            _ => Writer::Nobody,
        }
    }
}

/// What a server has, in the one spelling.
pub fn stored(rtype: &str, rrset: &Rrset) -> Contents {
    (rrset.ttl, rrset.records.iter().map(|r| normal(rtype, r)).collect())
}

pub fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

pub fn terminating(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Whether it has the finalizer that is ours on its kind.
pub fn finalized(plural: &str, object: &Value) -> bool {
    let finalizer = FINALIZERS.iter().find(|(p, _)| *p == plural).map(|(_, f)| *f);
    object["metadata"]["finalizers"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|f| f.as_str() == finalizer)
}

/// Whether a condition of this type is true, of an object's status or of a name in it.
pub fn is_true(conditions: &Value, kind: &str) -> bool {
    let mut all = conditions.as_array().into_iter().flatten();
    all.any(|c| c["type"] == kind && c["status"] == "True")
}

impl Scene {
    /// The account of each zone.
    pub fn accounts(&self) -> BTreeMap<String, String> {
        self.pdns.zones.iter().map(|(name, zone)| (name.clone(), zone.account.clone())).collect()
    }

    /// Learns what an accepted write of a daemon left at the keys that it names.
    pub fn learn(&mut self, apex: &str, rrsets: &Value) {
        let Some(zone) = self.pdns.zones.get(apex) else { return };
        for element in rrsets.as_array().into_iter().flatten() {
            let name = element["name"].as_str().unwrap_or_default().to_owned();
            let rtype = element["type"].as_str().unwrap_or_default().to_owned();
            if let Some(rrset) = zone.rrsets.get(&(name.clone(), rtype.clone())) {
                let contents = stored(&rtype, rrset);
                self.written.insert((apex.to_owned(), name, rtype), contents);
            }
        }
    }

    /// The key of an RRset of a zone by number; not its SOA, nor a mere shell of comments.
    fn key_at(&self, domain: usize, at: usize) -> Option<(&Zone, String, String)> {
        let zone = self.pdns.zones.get(DOMAINS[domain])?;
        let all = || zone.rrsets.iter().filter(|((_, t), r)| t != "SOA" && !r.records.is_empty());
        let ((name, rtype), _) = all().nth(at % all().count().max(1))?;
        Some((zone, name.clone(), rtype.clone()))
    }

    /// What a step means here; nothing if what it speaks of is not there.
    pub fn operations(&self, places: &Places, step: &Step) -> Vec<Op> {
        self.by_user(places, step).or_else(|| self.by_hand(step)).into_iter().collect()
    }

    fn by_user(&self, places: &Places, step: &Step) -> Option<Op> {
        let free = |who: &usize, plural: &str, slot: &usize| {
            let slots = (0..5).map(|i| places.place(*who, plural, (slot + i) % 5));
            slots.into_iter().find(|place| !self.cluster.objects.contains_key(place))
        };
        // Slots of what is there, in a ring: a step that speaks of nothing is none.
        let there = |who: &usize, plural: &str, slot: &usize| {
            let slots = (0..5).map(|i| places.place(*who, plural, i));
            let all: Vec<Place> =
                slots.filter(|place| self.cluster.objects.contains_key(place)).collect();
            all.get(slot % all.len().max(1)).cloned()
        };
        let zone = |who: &usize, slot: &usize| there(who, "dnszones", slot);
        let set = |who: &usize, slot: &usize| there(who, "dnsrecordsets", slot);
        // Seldom a DNSZone that is not there.
        let named = |who: &usize, slot: &usize| {
            let place = if *slot == 9 { None } else { zone(who, slot) };
            json!({"name": place.map_or("z9".to_owned(), |place| place.2)})
        };
        let class_place =
            |class: &usize| ("dnszoneclasses".to_owned(), String::new(), places.class(*class));
        let is_there = |place: &Place| self.cluster.objects.contains_key(place);
        let spec_of = |place: &Place| self.cluster.objects.get(place).map(|o| o["spec"].clone());
        Some(match step {
            Step::CreateZone { who, slot, domain, class, tie } => {
                let place = free(who, "dnszones", slot)?;
                let domain = DOMAINS[*domain].trim_end_matches('.');
                let spec = json!({"domainName": domain, "dnsZoneClassName": places.class(*class)});
                return self.create("DNSZone", &place, &spec, *tie);
            }
            Step::Reclass { who, slot, class } => {
                Op::Spec(zone(who, slot)?, json!({"dnsZoneClassName": places.class(*class)}))
            }
            Step::DeleteZone { who, slot } => Op::Delete(zone(who, slot)?),
            Step::ForceDeleteZone { who, slot } => Op::ForceDelete(zone(who, slot)?),
            Step::CreateSet { who, slot, zone, rtype, entries, tie } => {
                let records: Vec<Value> = entries.iter().map(|e| entry(rtype, e)).collect();
                let spec = json!({"dnsZoneRef": named(who, zone), "recordType": rtype, "records": records});
                return self.create(
                    "DNSRecordSet",
                    &free(who, "dnsrecordsets", slot)?,
                    &spec,
                    *tie,
                );
            }
            Step::Edit { who, slot, entries } => {
                let place = set(who, slot)?;
                let rtype = spec_of(&place)?["recordType"].as_str()?.to_owned();
                let records: Vec<Value> = entries.iter().map(|e| entry(&rtype, e)).collect();
                Op::Spec(place, json!({ "records": records }))
            }
            Step::Rename { who, slot, raw } => {
                let place = set(who, slot)?;
                let mut records = spec_of(&place)?["records"].clone();
                records[0]["name"] = json!(RAWS[*raw]);
                Op::Spec(place, json!({ "records": records }))
            }
            Step::Retype { who, slot, rtype, value } => {
                let place = set(who, slot)?;
                let spec = spec_of(&place)?;
                let raws = spec["records"].as_array()?.iter().filter_map(|r| r["name"].as_str());
                let retyped = |raw: &str| {
                    let raw = RAWS.iter().position(|r| *r == raw).unwrap_or(0);
                    let of =
                        crate::words::Entry { raw, value: *value, ttl: None, mismatched: false };
                    entry(rtype, &of)
                };
                let records: Vec<Value> = raws.map(retyped).collect();
                Op::Spec(place, json!({"recordType": rtype, "records": records}))
            }
            Step::Repoint { who, slot, zone } => {
                let zone = json!({"dnsZoneRef": named(who, zone)});
                Op::Spec(set(who, slot)?, zone)
            }
            Step::DeleteSet { who, slot } => Op::Delete(set(who, slot)?),
            Step::ForceDeleteSet { who, slot } => Op::ForceDelete(set(who, slot)?),
            Step::DeleteClass { class } => Op::Delete(Some(class_place(class)).filter(is_there)?),
            Step::RestoreClass { class, servers } => {
                let (place, spec) = (class_place(class), class_spec(*class, "powerdns", *servers));
                return self
                    .create("DNSZoneClass", &place, &spec, true)
                    .or(Some(Op::Spec(place, spec)));
            }
            Step::AlienateClass { class } => Op::Spec(
                Some(class_place(class)).filter(is_there)?,
                json!({"controllerName": "another"}),
            ),
            _ => return None,
        })
    }

    /// Creates an object where none is; `tie` asks for the time of the one created before.
    fn create(&self, kind: &str, place: &Place, spec: &Value, tie: bool) -> Option<Op> {
        if self.cluster.objects.contains_key(place) {
            return None;
        }
        let mut meta = json!({"name": place.2, "annotations": {"tie": tie.to_string()}});
        if !place.1.is_empty() {
            meta["namespace"] = json!(place.1);
        }
        Some(Op::Create(
            json!({"apiVersion": API_VERSION, "kind": kind, "metadata": meta, "spec": spec}),
        ))
    }

    fn by_hand(&self, step: &Step) -> Option<Op> {
        let patch = |domain: &usize, element: Value| {
            Op::Patch(DOMAINS[*domain].to_owned(), json!([element]))
        };
        let records =
            |rtype: &str, value: u8| json!([{"content": text(rtype, value), "disabled": false}]);
        let comments = |domain: &usize, at: &usize, comments: Value| {
            let (_, name, rtype) = self.key_at(*domain, *at)?;
            let comments = if self.pdns.comments { comments } else { return None };
            Some(patch(
                domain,
                json!({"name": name, "type": rtype, "changetype": "REPLACE", "comments": comments}),
            ))
        };
        let note =
            |content: &str| json!([{"account": "dns-syncd", "content": content, "modified_at": 9}]);
        match step {
            Step::HandEdit { domain, at, value } => {
                let (_, name, rtype) = self.key_at(*domain, *at)?;
                let records = records(&rtype, *value);
                Some(patch(
                    domain,
                    json!({"name": name, "type": rtype, "changetype": "REPLACE", "ttl": 300, "records": records}),
                ))
            }
            Step::HandDelete { domain, at } => {
                let (_, name, rtype) = self.key_at(*domain, *at)?;
                (rtype != "NS" || name != DOMAINS[*domain]).then(|| {
                    patch(domain, json!({"name": name, "type": rtype, "changetype": "DELETE"}))
                })
            }
            Step::HandMake { domain, name, rtype, value, commented } => {
                let name = owner(RAWS[*name], DOMAINS[*domain])?;
                let mut element = json!({"name": name, "type": rtype, "changetype": "REPLACE", "ttl": 300, "records": records(rtype, *value)});
                if *commented && self.pdns.comments {
                    element["comments"] =
                        json!([{"account": "hand", "content": "keep", "modified_at": 7}]);
                }
                Some(patch(domain, element))
            }
            Step::ForeignNote { domain, at } => {
                let content = r#"{"v":1,"owner":"third","object":"there/x","uid":"u","h":"00"}"#;
                comments(domain, at, note(content))
            }
            Step::GarbageNote { domain, at } => comments(domain, at, note("{not a note")),
            Step::StripNote { domain, at } => comments(domain, at, json!([])),
            Step::Account { domain, kind } => {
                let third =
                    Party { owner: "third", namespace: String::new(), rules: Rules::default() };
                let account = match kind {
                    0 | 1 => String::new(),
                    2 => third.mark("00000000-0000-4000-8000-000000000777"),
                    _ => "customer 17".to_owned(),
                };
                let there = self.pdns.zones.contains_key(DOMAINS[*domain]);
                there.then(|| Op::Account(DOMAINS[*domain].to_owned(), account))
            }
            Step::HandDeleteZone { domain } => {
                let there = self.pdns.zones.contains_key(DOMAINS[*domain]);
                there.then(|| Op::DropZone(DOMAINS[*domain].to_owned()))
            }
            _ => None,
        }
    }
}

//! Worlds written down by hand, for tests of one decision each: objects of few words, and whole passes without a request.

use std::collections::BTreeMap;

use dns_syncd::api::object::Owner;
use dns_syncd::api::{FINALIZER_RECORD_SET, FINALIZER_ZONE};
use dns_syncd::dns::name::Name;
use dns_syncd::dns::rrset::RecordType;
use dns_syncd::plan::batch::Limits;
use dns_syncd::plan::change::Change;
use dns_syncd::plan::note::{Note, mark};
use dns_syncd::plan::print::Printed;
use dns_syncd::plan::{
    Aftermath, Applied, Failure, Memory, Outcome, Plan, Policy, Proof, ZoneApplied, ZoneStep,
    decide, settle,
};
use serde_json::{Value, json};

use crate::cluster::{Cluster, Place};
use crate::model::{Comment, Model, Rrset, Zone};
use crate::plans::carry_out;
use crate::rig::policy;
use crate::scenario::{CLASSES, OWNER};
use crate::vocabulary::{class, fingerprint};
use crate::world::World;

/// The time of every pass.
pub const NOW: &str = "2026-01-03T00:00:00Z";

/// A world, and the daemon that looks at it.
#[derive(Clone)]
pub struct Scene {
    pub world: World,
    pub policy: Policy,
    pub memory: Memory,
}

/// The uid of an object of this name.
pub fn uid(name: &str) -> String {
    format!("u-{name}")
}

pub fn place(plural: &str, name: &str) -> Place {
    let namespace = if plural == "dnszoneclasses" { "" } else { "ns" };
    (plural.to_owned(), namespace.to_owned(), name.to_owned())
}

/// Entries of one type: raw names with their contents, of which blanks part the fields.
pub fn entries(rtype: &str, records: &[(&str, &str)]) -> Value {
    let entry = |(raw, content): &(&str, &str)| {
        let words: Vec<&str> = content.split(' ').collect();
        let data = match rtype {
            "MX" => json!({"preference": words[0].parse::<u16>().unwrap(), "exchange": words[1]}),
            "SOA" => json!({"mname": words[0], "rname": words[1]}),
            _ => json!({"content": content}),
        };
        json!({"name": raw, rtype.to_lowercase(): data})
    };
    records.iter().map(entry).collect()
}

impl Scene {
    /// Classes and nothing else, with a PowerDNS that keeps comments.
    pub fn new() -> Scene {
        let mut cluster = Cluster::default();
        for name in CLASSES.iter().filter(|name| !matches!(**name, "missing" | "")) {
            cluster.put("dnszoneclasses", class(name));
        }
        let pdns = Model { comments: true, ..Model::default() };
        Scene { world: World::new(cluster, pdns), policy: policy(), memory: Memory::default() }
    }

    /// Adds an object that is as old as there are objects.
    fn object(&mut self, plural: &str, kind: &str, name: &str, spec: &Value) {
        let age = self.world.cluster.objects.len();
        let meta = json!({"name": name, "namespace": "ns", "uid": uid(name), "generation": 1,
            "creationTimestamp": format!("2026-01-01T00:{:02}:{:02}Z", age / 60, age % 60)});
        let object = json!({"apiVersion": "dns.networking.miloapis.com/v1alpha1", "kind": kind,
            "metadata": meta, "spec": spec});
        self.world.cluster.put(plural, object);
    }

    /// Adds a DNSZone.
    pub fn zone(&mut self, name: &str, domain: &str, class: &str) {
        let spec = json!({"domainName": domain, "dnsZoneClassName": class});
        self.object("dnszones", "DNSZone", name, &spec);
    }

    /// Adds a DNSRecordSet.
    pub fn set(&mut self, name: &str, zone: &str, rtype: &str, records: &[(&str, &str)]) {
        let spec = json!({"dnsZoneRef": {"name": zone}, "recordType": rtype,
            "records": entries(rtype, records)});
        self.object("dnsrecordsets", "DNSRecordSet", name, &spec);
    }

    pub fn edit(&mut self, plural: &str, name: &str, edit: impl FnOnce(&mut Value)) {
        self.world.cluster.edit(&place(plural, name), edit);
    }

    /// Gives a record set other entries.
    pub fn declare(&mut self, name: &str, records: &[(&str, &str)]) {
        self.edit("dnsrecordsets", name, |set| {
            let rtype = set["spec"]["recordType"].as_str().unwrap().to_owned();
            set["spec"]["records"] = entries(&rtype, records);
        });
    }

    /// Asks for an object's deletion.
    pub fn delete(&mut self, plural: &str, name: &str) {
        self.world.cluster.delete(&place(plural, name));
    }

    /// Takes an object away with its finalizers, as `kubectl` can.
    pub fn vanish(&mut self, plural: &str, name: &str) {
        assert!(self.world.cluster.objects.remove(&place(plural, name)).is_some(), "{name}");
    }

    pub fn pdns(&mut self, apex: &str) -> &mut Zone {
        self.world.pdns.zones.get_mut(apex).unwrap()
    }

    /// Somebody writes an RRset into PowerDNS.
    pub fn store(&mut self, apex: &str, name: &str, rtype: &str, records: &[&str]) -> &mut Rrset {
        let records = records.iter().map(|&r| r.to_owned()).collect();
        let key = (name.to_owned(), rtype.to_owned());
        let rrset = Rrset { ttl: 300, records, comments: Vec::new() };
        self.pdns(apex).rrsets.insert(key.clone(), rrset);
        self.pdns(apex).rrsets.get_mut(&key).unwrap()
    }

    /// Somebody makes a zone in PowerDNS.
    pub fn made(&mut self, apex: &str, account: &str) {
        assert_eq!(self.world.pdns.create(&json!({"name": apex, "account": account})).0, 201);
    }

    /// The mark of this daemon for a DNSZone.
    pub fn mark(name: &str) -> String {
        mark(OWNER, &uid(name))
    }

    pub fn plan(&self) -> Plan {
        decide(&self.world.snapshot(), &self.memory, &self.policy)
    }

    /// The plan as it is printed.
    pub fn printed(&self) -> String {
        let dialect = self.world.snapshot().dialect();
        Printed { plan: &self.plan(), dialect }.to_string()
    }

    /// Secures, carries out and settles a plan, and writes down what comes of it.
    pub fn carry_out(&mut self, plan: &Plan) -> Aftermath {
        self.secure(plan);
        carry_out(&mut self.world, plan, Limits { rrsets: 500, bytes: 100_000 }).unwrap();
        self.settle(plan, &all_done(plan))
    }

    /// Settles a plan, and writes down what comes of it in Kubernetes.
    pub fn settle(&mut self, plan: &Plan, applied: &Applied) -> Aftermath {
        let after = settle(plan, applied, NOW);
        for write in &after.statuses {
            let plural = if write.kind == "DNSZone" { "dnszones" } else { "dnsrecordsets" };
            let status = write.body["status"].clone();
            self.edit(plural, &write.meta.name, |object| {
                for (field, value) in status.as_object().unwrap() {
                    object["status"][field] = value.clone();
                }
            });
        }
        let zones = after.zone_releases.iter().map(|(release, _)| ("dnszones", release));
        let sets = after.set_releases.iter().map(|release| ("dnsrecordsets", release));
        for (plural, release) in sets.chain(zones) {
            self.edit(plural, &release.meta.name, |object| {
                object["metadata"]["finalizers"] = json!(release.stay);
            });
        }
        self.world.cluster.collect();
        after
    }

    fn secure(&mut self, plan: &Plan) {
        let sets = plan.sets.values().map(|s| ("dnsrecordsets", &s.meta, &s.secure));
        let zones = plan.objects.values().map(|o| ("dnszones", &o.meta, &o.secure));
        for (plural, meta, secure) in sets.chain(zones) {
            let Some(secure) = secure else { continue };
            let owners: Vec<Value> = secure.owners.iter().map(Owner::to_value).collect();
            self.edit(plural, &meta.name, |object| {
                object["metadata"]["finalizers"] = json!(secure.finalizers);
                object["metadata"]["ownerReferences"] = json!(owners);
            });
        }
        let dependants = plan.objects.values().filter_map(|o| o.deletion.as_ref());
        for meta in dependants.flat_map(|d| &d.dependants) {
            self.delete("dnsrecordsets", &meta.name);
        }
    }

    /// One pass in which all is done.
    pub fn pass(&mut self) -> Aftermath {
        let plan = self.plan();
        self.carry_out(&plan)
    }

    /// Passes until everything is as it should be; a further one would do nothing.
    pub fn rest(&mut self) {
        for _ in 0..4 {
            self.pass();
        }
        let plan = self.plan();
        assert!(plan.zones.values().all(|zone| !zone.has_work()), "{:#?}", plan.zones);
        let after = settle(&plan, &Applied::default(), NOW);
        assert!(after.statuses.is_empty() && after.events.is_empty(), "{after:#?}");
    }

    /// One pass in all zones but one.
    pub fn rest_but(&mut self, apex: &str) {
        let mut plan = self.plan();
        plan.zones.retain(|zone, _| zone.as_str() != apex);
        self.carry_out(&plan);
    }

    /// A condition of an object, or of one of a record set's names.
    pub fn said(&self, plural: &str, name: &str, raw: Option<&str>, kind: &str) -> String {
        let object = &self.world.cluster.objects[&place(plural, name)];
        let names = object["status"]["recordSets"].as_array();
        let holder = match raw {
            None => Some(&object["status"]),
            Some(raw) => names.into_iter().flatten().find(|n| n["name"] == raw),
        };
        let conditions = holder.and_then(|h| h["conditions"].as_array()).into_iter().flatten();
        let text = |c: &Value, field: &str| c[field].as_str().unwrap().to_owned();
        let of_kind = conditions.into_iter().find(|c| c["type"] == kind);
        of_kind.map_or_else(String::new, |c| {
            format!("{} {}: {}", text(c, "status"), text(c, "reason"), text(c, "message"))
        })
    }
}

/// A comment that is a note for a record set of this name.
pub fn note(owner: &str, set: &str, rtype: &str, rrset: &Rrset) -> Comment {
    let hash = fingerprint(rtype, rrset.ttl, &rrset.records).unwrap_or_default();
    let key = format!("ns/{set}").parse().unwrap();
    let comment = Note::new(owner, &key, &uid(set), hash).to_comment(&[]);
    Comment { account: comment.account, content: comment.content, modified_at: 0 }
}

/// The answers of servers that do all that is asked of them.
pub fn all_done(plan: &Plan) -> Applied {
    let done = || Outcome::Done(Proof::of(204).unwrap());
    let zones = plan.zones.iter().filter(|(_, zone)| zone.has_work());
    let answers = zones.map(|(name, zone)| {
        let keys: BTreeMap<(Name, RecordType), Outcome> =
            changes_of(&zone.names).map(|(name, rtype, _)| ((name, rtype), done())).collect();
        let acked = keys.keys().cloned().collect();
        let step = (zone.step != ZoneStep::Keep).then(done);
        let step_acked = step.is_some();
        (
            name.clone(),
            ZoneApplied { zone: step, keys, acked, step_acked, ..ZoneApplied::default() },
        )
    });
    Applied { zones: answers.collect() }
}

/// The answers of a server at which everything fails in the same way.
pub fn all_failed(plan: &Plan, failure: &Failure) -> Applied {
    let mut applied = all_done(plan);
    for zone in applied.zones.values_mut() {
        let outcomes = zone.zone.iter_mut().chain(zone.keys.values_mut());
        outcomes.for_each(|outcome| *outcome = Outcome::Failed(failure.clone()));
        zone.acked.clear();
        zone.step_acked = false;
        zone.vanished = zone.misses_the_zone();
    }
    applied
}

type Names = BTreeMap<Name, dns_syncd::plan::change::NameChange>;

fn changes_of(names: &Names) -> impl Iterator<Item = (Name, RecordType, &Change)> {
    names.iter().flat_map(|(name, change)| change.types.iter().map(|(t, c)| (name.clone(), *t, c)))
}

/// What a plan does, by zone: `zone name type`.
pub fn changes(plan: &Plan) -> Vec<String> {
    let zones = plan.zones.iter();
    let each = zones.flat_map(|(zone, z)| {
        changes_of(&z.names).map(move |(name, rtype, change)| {
            let word = match change {
                Change::Replace { .. } => "replace",
                Change::Adopt { .. } => "adopt",
                Change::Delete { .. } => "delete",
            };
            format!("{word} {zone} {name} {rtype}")
        })
    });
    each.collect()
}

/// Whether an object has our finalizer.
pub fn finalized(scene: &Scene, plural: &str, name: &str) -> bool {
    let ours = if plural == "dnszones" { FINALIZER_ZONE } else { FINALIZER_RECORD_SET };
    let object = scene.world.cluster.objects.get(&place(plural, name));
    let finalizers = object.and_then(|o| o["metadata"]["finalizers"].as_array());
    finalizers.into_iter().flatten().any(|f| f == ours)
}

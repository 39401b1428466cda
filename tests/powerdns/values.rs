//! Whatever can be declared is written, reads back as the same value, and leaves nothing to do: on both backends, by
//! the POST that makes a zone and by the PATCH that changes it.

use std::collections::BTreeSet;

use dns_syncd::api::object::{Class, RecordSet, Zone};
use dns_syncd::dns::rdata::{Dialect, Version};
use dns_syncd::dns::rrset::{Contents, RecordType};
use dns_syncd::plan::brakes::Brakes;
use dns_syncd::plan::change::Verdict;
use dns_syncd::plan::snapshot::{Cluster, Snapshot};
use dns_syncd::plan::{self, Memory, Plan, Policy, ZoneStep};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};

use crate::rdata;
use crate::spec::entries;
use crate::support::objects;
use crate::support::pdns::{Backend, Release};
use crate::world::{Tuning, World, name, outcomes};

const ZONE: &str = "values.example.";

/// A type, and two contents of it that follow each other.
type Two = (Contents, Contents);

fn two(release: Release) -> impl Strategy<Value = Two> {
    let contents = move |rtype| {
        let sendable = move |c: &Contents| release < (5, 1, 0) || !has_empty_parameter(c);
        rdata::contents(rtype).prop_map(declarable).prop_filter("5.1 refuses it", sendable)
    };
    rdata::record_type().prop_flat_map(move |rtype| (contents(rtype), contents(rtype)))
}

/// A service binding's parameter of no bytes that is none of the flags: 5.1 takes no text for it, quoted or not.
fn has_empty_parameter(contents: &Contents) -> bool {
    let oldest = Dialect::of(Version { major: 4, minor: 7, patch: 3 });
    let binds = matches!(contents.rtype(), RecordType::Svcb | RecordType::Https);
    binds && contents.values().iter().any(|value| value.print(oldest).contains("=\"\""))
}

/// The server takes several ALIAS at a name, but of a record set's only the first counts.
fn declarable(contents: Contents) -> Contents {
    if contents.rtype() != RecordType::Alias {
        return contents;
    }
    let first = contents.values().first().cloned().unwrap();
    Contents::new(contents.ttl(), BTreeSet::from([first])).unwrap()
}

fn policy() -> Policy {
    let brakes = Brakes {
        deletes: true,
        implicit_percent: 30,
        implicit_total: 20,
        explicit_percent: Some(50),
    };
    Policy { request_timeout: 1000, ..Policy::new("test", brakes) }
}

/// A raw name for each of the contents; there is only one place for an SOA.
fn names(all: &[Two]) -> Vec<(usize, String)> {
    let mut apex = false;
    let mut out = Vec::new();
    for (at, (first, _)) in all.iter().enumerate() {
        if first.rtype() != RecordType::Soa {
            out.push((at, format!("n{at}")));
        } else if !std::mem::replace(&mut apex, true) {
            out.push((at, "@".to_owned()));
        }
    }
    out
}

/// What an API server would list, once the daemon has secured it.
fn listed(mut object: Value, uid: &str, finalizer: &str) -> Value {
    let meta = &mut object["metadata"];
    meta["uid"] = uid.into();
    meta["resourceVersion"] = "1".into();
    meta["generation"] = 1.into();
    meta["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
    meta["finalizers"] = json!([finalizer]);
    object
}

/// A cluster that declares each of the contents by a record set of its own.
fn cluster<'a>(declared: impl Iterator<Item = (&'a str, &'a Contents)>) -> Cluster {
    let zone = objects::zone("ns", "z", ZONE, "class");
    let zone = listed(zone, "zone-uid", dns_syncd::api::FINALIZER_ZONE);
    let class = objects::class("class", &["ns1.example.net."]);
    let sets = declared.map(|(raw, contents)| {
        let object = format!("set-{}", raw.replace('@', "apex"));
        let records = entries(raw, contents);
        let set = objects::record_set("ns", &object, "z", contents.rtype().as_str(), &records);
        let set = listed(set, &format!("uid-{raw}"), dns_syncd::api::FINALIZER_RECORD_SET);
        RecordSet::decode(&set).unwrap()
    });
    Cluster {
        sets: sets.collect(),
        zones: vec![Zone::decode(&zone).unwrap()],
        classes: vec![Class::decode(&class).unwrap()],
    }
}

async fn decide(world: &World, cluster: &Cluster) -> Plan {
    let snapshot = Snapshot { cluster: cluster.clone(), server: world.read().await };
    plan::decide(&snapshot, &Memory::default(), &policy())
}

/// Applies what a cluster declares, and checks that it is read back and that nothing is left to do.
async fn settle(world: &World, declared: &[(&str, &Contents)]) -> Result<(), TestCaseError> {
    let cluster = cluster(declared.iter().copied());
    let planned = decide(world, &cluster).await;
    for set in planned.sets.values() {
        for (raw, plan) in &set.raws {
            let fine = matches!(plan.verdict, Verdict::Sent | Verdict::Equal);
            prop_assert!(fine, "{} {}: {:?}", set.meta.name, raw, plan.verdict);
        }
    }
    for (zone, plan) in planned.zones.iter().filter(|(_, plan)| plan.has_work()) {
        let applied = world.apply(zone.as_str(), plan).await;
        let (_, failed) = outcomes(&applied);
        prop_assert!(failed.is_empty(), "{:?}", failed);
    }
    for (raw, contents) in declared {
        let owner = if *raw == "@" { ZONE.to_owned() } else { format!("{raw}.{ZONE}") };
        let stored = world.stored(ZONE, &owner, contents.rtype()).await;
        let same = stored.as_ref().is_some_and(|stored| stored.matches(contents));
        prop_assert!(same, "{} reads back as {:?}", raw, stored);
    }
    let again = decide(world, &cluster).await;
    let zone = &again.zones[&name(ZONE)];
    prop_assert_eq!(&zone.step, &ZoneStep::Keep);
    prop_assert!(zone.names.is_empty(), "a second pass would write {:?}", zone.names);
    let verdicts = again.sets.values().flat_map(|set| set.raws.values()).map(|raw| &raw.verdict);
    prop_assert!(verdicts.into_iter().all(|verdict| *verdict == Verdict::Equal));
    Ok(())
}

/// Deletes the zone, and before that its comments, which the next zone would find where they outlive it.
async fn remove(world: &World) {
    if world.pdns.comments_outlive_zones() && world.pdns.has_zone(ZONE).await {
        let zone = world.pdns.get_zone(ZONE).await;
        let clear = |rrset: &Value| json!({"name": rrset["name"], "type": rrset["type"], "changetype": "REPLACE", "comments": []});
        let rrsets: Vec<Value> = zone["rrsets"].as_array().unwrap().iter().map(clear).collect();
        assert_eq!(world.pdns.patch(ZONE, &json!({ "rrsets": rrsets })).await.0, 204);
    }
    world.pdns.delete_zone(ZONE).await;
}

fn every_value_reads_back(backend: Backend) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let world = runtime.block_on(World::new(backend, Tuning::default()));
    let config = Config { cases: 48, failure_persistence: None, ..Config::default() };
    let strategy = prop::collection::vec(two(world.pdns.version()), 1..16);
    let result = TestRunner::new(config).run(&strategy, |all| {
        let names = names(&all);
        let first: Vec<_> = names.iter().map(|(at, raw)| (raw.as_str(), &all[*at].0)).collect();
        let second: Vec<_> = names.iter().map(|(at, raw)| (raw.as_str(), &all[*at].1)).collect();
        runtime.block_on(async {
            let result = async {
                settle(&world, &first).await?;
                settle(&world, &second).await
            };
            let result = result.await;
            // Also after a failure: the next, smaller case begins anew.
            remove(&world).await;
            result
        })
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn every_value_reads_back_from_sqlite() {
    every_value_reads_back(Backend::Sqlite);
}

#[test]
fn every_value_reads_back_from_lmdb() {
    every_value_reads_back(Backend::Lmdb);
}

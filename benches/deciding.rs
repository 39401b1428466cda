//! What the pure middle of a pass costs: decoding, comparing, deciding, cutting into requests. No server is asked.
//!
//! `cargo bench --bench deciding` prints the time of each size beside its throughput: where the throughput stays, the time
//! grows with the size and no faster.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench may panic")]
#![allow(missing_docs, reason = "criterion's macro makes public items")]

use std::collections::BTreeMap;
use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dns_syncd::api::object::{Class, RecordSet, Zone};
use dns_syncd::api::{API_VERSION, FINALIZER_RECORD_SET, FINALIZER_ZONE};
use dns_syncd::dns::name::Name;
use dns_syncd::dns::rdata::{Dialect, Version};
use dns_syncd::dns::rrset::RecordType;
use dns_syncd::plan::batch::{self, Limits};
use dns_syncd::plan::brakes::Brakes;
use dns_syncd::plan::note::mark;
use dns_syncd::plan::prints::Prints;
use dns_syncd::plan::snapshot::{Capabilities, Cluster, Look, Server, ServerZone};
use dns_syncd::plan::{Applied, Memory, Policy, Snapshot, decide, settle};
use dns_syncd::powerdns::wire::{self, ZoneBody};
use serde_json::{Value, json};

const OWNER: &str = "bench";
const VERSION: Version = Version { major: 4, minor: 9, patch: 18 };

fn policy() -> Policy {
    let brakes = Brakes {
        deletes: true,
        implicit_percent: 30,
        implicit_total: 20,
        explicit_percent: Some(50),
    };
    Policy::new(OWNER, brakes)
}

fn uid(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

fn meta(name: &str, number: usize, finalizer: &str) -> Value {
    json!({"name": name, "namespace": "ns", "uid": uid(number), "resourceVersion": "1",
        "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z", "finalizers": [finalizer]})
}

/// So many zones with so many record sets each, of one A record.
fn cluster(zones: usize, sets: usize) -> Cluster {
    let class = json!({"metadata": {"name": "ours"}, "spec": {"controllerName": "powerdns",
        "nameServerPolicy": {"mode": "Static", "static": {"servers": ["ns1.example.net."]}}}});
    let zone = |z: usize| {
        let meta = meta(&format!("z{z}"), z, FINALIZER_ZONE);
        let spec = json!({"domainName": format!("z{z}.test"), "dnsZoneClassName": "ours"});
        Zone::decode(&json!({"metadata": meta, "spec": spec})).unwrap()
    };
    let set = |n: usize| {
        let (z, s) = (n / sets, n % sets);
        let mut meta = meta(&format!("s{n}"), zones + n, FINALIZER_RECORD_SET);
        meta["ownerReferences"] = json!([{"apiVersion": API_VERSION, "kind": "DNSZone",
            "name": format!("z{z}"), "uid": uid(z)}]);
        let address = format!("192.0.{}.{}", s / 250 % 250, s % 250);
        let record = json!({"name": format!("host-{s}"), "a": {"content": address}});
        let spec = json!({"dnsZoneRef": {"name": format!("z{z}")}, "recordType": "A",
            "records": [record]});
        RecordSet::decode(&json!({"metadata": meta, "spec": spec})).unwrap()
    };
    Cluster {
        classes: vec![Class::decode(&class).unwrap()],
        zones: (0..zones).map(zone).collect(),
        sets: (0..zones * sets).map(set).collect(),
    }
}

fn server(zones: BTreeMap<Name, ServerZone>) -> Server {
    let capabilities = Capabilities {
        version: VERSION,
        comments: true,
        comments_outlive: false,
        single_writer: false,
    };
    Server { capabilities: Some(capabilities), zones: Ok(zones) }
}

/// An estate that PowerDNS has nothing of.
fn fresh(zones: usize, sets: usize) -> Snapshot {
    Snapshot { cluster: cluster(zones, sets), server: server(BTreeMap::new()) }
}

/// The bodies that PowerDNS answers with once everything was written, by zone.
fn bodies(snapshot: &Snapshot) -> BTreeMap<Name, Value> {
    let dialect = Dialect::of(VERSION);
    let plan = decide(snapshot, &Memory::default(), &policy());
    let zones = plan.zones.iter().map(|(name, zone)| {
        let changes = zone.names.iter().flat_map(|(n, c)| c.types.iter().map(move |t| (n, t)));
        let rrsets = changes.map(|(n, (rtype, change))| batch::element(n, *rtype, change, dialect));
        (name.clone(), json!({"account": "", "rrsets": rrsets.collect::<Vec<_>>()}))
    });
    zones.collect()
}

/// The same estate, all of it served.
fn served(zones: usize, sets: usize) -> Snapshot {
    let snapshot = fresh(zones, sets);
    let bodies = bodies(&snapshot);
    let stored = snapshot.cluster.zones.iter().map(|zone| {
        let name = Name::parse(zone.domain.as_deref().unwrap()).unwrap();
        let body: ZoneBody = serde_json::from_value(bodies[&name].clone()).unwrap();
        let stored = ServerZone {
            id: name.to_string(),
            kind: "Native".to_owned(),
            account: mark(OWNER, &zone.meta.uid),
            serial: Some(1),
            read_began: 1_000_000,
            look: Look::Asked,
            serial_moves: true,
            contents: Ok(wire::contents(body.rrsets)),
        };
        (name, stored)
    });
    let server = server(stored.collect());
    let snapshot = Snapshot { server, ..snapshot };
    let plan = decide(&snapshot, &Memory::default(), &policy());
    assert!(plan.zones.values().all(|zone| !zone.has_work()), "it is not at rest");
    snapshot
}

fn decoding(c: &mut Criterion) {
    let text = bodies(&fresh(1, 2_399)).into_values().next().unwrap().to_string();
    let mut group = c.benchmark_group("decode a zone");
    group.throughput(Throughput::Elements(2_399));
    group.bench_function("2399 RRsets", |b| {
        b.iter(|| wire::contents(serde_json::from_str::<ZoneBody>(&text).unwrap().rrsets));
    });
}

fn comparing(c: &mut Criterion) {
    let snapshot = served(1, 2_399);
    let zones = snapshot.server.zones.unwrap();
    let contents = zones.into_values().next().unwrap().contents.unwrap();
    let stored: Vec<_> = contents.names.values().filter_map(|types| types.get("A")).collect();
    let wanted: Vec<_> = stored.iter().map(|r| r.contents(RecordType::A).unwrap()).collect();
    let mut group = c.benchmark_group("compare a zone");
    group.throughput(Throughput::Elements(2_399));
    group.bench_function("2399 RRsets", |b| {
        let equal = || {
            let pairs = stored.iter().zip(&wanted);
            pairs.filter(|(s, w)| s.contents(RecordType::A).unwrap().matches(w)).count()
        };
        b.iter(|| assert_eq!(black_box(equal()), 2_399));
    });
}

fn deciding(c: &mut Criterion) {
    let policy = policy();
    let mut group = c.benchmark_group("decide at rest");
    group.sample_size(10);
    for (zones, sets) in [(10, 100), (100, 100), (1_000, 100), (1_000, 10), (10_000, 10)] {
        let snapshot = served(zones, sets);
        group.throughput(Throughput::Elements((zones * sets) as u64));
        let id = BenchmarkId::from_parameter(format!("{zones} zones of {sets} RRsets"));
        group.bench_function(id, |b| b.iter(|| decide(&snapshot, &Memory::default(), &policy)));
    }
    group.finish();
    let snapshot = served(1_000, 100);
    let mut group = c.benchmark_group("tell what has changed");
    group.sample_size(10).throughput(Throughput::Elements(100_000));
    group.bench_function("1000 zones of 100 RRsets", |b| {
        b.iter(|| Prints::of(&snapshot.cluster, &snapshot.server, &policy));
    });
    group.finish();
    let plan = decide(&snapshot, &Memory::default(), &policy);
    let mut group = c.benchmark_group("settle at rest");
    group.sample_size(10).throughput(Throughput::Elements(100_000));
    group.bench_function("1000 zones of 100 RRsets", |b| {
        b.iter(|| settle(&plan, &Applied::default(), "2026-01-01T00:00:00Z"));
    });
}

fn cutting(c: &mut Criterion) {
    let plan = decide(&fresh(1, 100_000), &Memory::default(), &policy());
    let names = &plan.zones.values().next().unwrap().names;
    let limits = Limits { rrsets: 500, bytes: 1_500_000 };
    let mut group = c.benchmark_group("cut into requests");
    group.sample_size(10).throughput(Throughput::Elements(100_000));
    group.bench_function("100000 RRsets", |b| {
        let cut = || batch::batches(names, Dialect::of(VERSION), limits);
        b.iter_batched(|| (), |()| cut(), BatchSize::PerIteration);
    });
}

criterion_group!(benches, decoding, comparing, deciding, cutting);
criterion_main!(benches);

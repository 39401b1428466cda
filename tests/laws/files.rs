//! Manifests against a PowerDNS that a daemon fills from a cluster: the cluster's objects without anything that only the
//! cluster knows plan to what the daemon plans.

use dns_syncd::api::manifest::{read, uid};
use dns_syncd::api::object::{Meta, RecordSetStatus, ZoneStatus};
use dns_syncd::plan::by_name::{by_name, of_a_cluster};
use dns_syncd::plan::note::{Note, mark};
use dns_syncd::plan::{Memory, Plan, decide};

use crate::model::Comment;
use crate::scenario::OWNER;
use crate::scene::{Scene, changes};

/// What the files of the objects would plan to, without those of these names.
fn planned(scene: &Scene, without: &[&str]) -> Plan {
    let mut snapshot = scene.world.snapshot();
    let owner = scene.policy.owner_id.clone();
    let known = |kind: &str, meta: &mut Meta| {
        meta.uid = uid(&owner, kind, &meta.key());
        meta.created = 0;
        meta.owners.clear();
    };
    let cluster = &mut snapshot.cluster;
    cluster.zones.retain(|zone| !without.contains(&zone.meta.name.as_str()));
    cluster.sets.retain(|set| !without.contains(&set.meta.name.as_str()));
    for zone in &mut cluster.zones {
        known("DNSZone", &mut zone.meta);
        zone.status = ZoneStatus::default();
    }
    for set in &mut cluster.sets {
        known("DNSRecordSet", &mut set.meta);
        set.status = RecordSetStatus::default();
    }
    by_name(&mut snapshot, &scene.policy);
    decide(&snapshot, &Memory::default(), &scene.policy)
}

/// Two DNSZones of one domain, two record sets of one name, a CNAME beside an A: each time the one that is first by name
/// is not the one that has it.
#[test]
fn who_has_a_thing_keeps_it_among_files_too() {
    let mut scene = Scene::new();
    scene.zone("z", "a.test", "ours");
    scene.set("s", "z", "A", &[("www", "192.0.2.1"), ("@", "192.0.2.1")]);
    scene.rest();
    scene.zone("a", "a.test", "ours");
    scene.set("a-s", "a", "A", &[("www", "192.0.2.2")]);
    scene.set("b-www", "z", "A", &[("www", "192.0.2.3")]);
    scene.set("c-www", "z", "CNAME", &[("www", "t.test.")]);
    scene.rest();
    let plan = planned(&scene, &[]);
    assert!(!plan.differs(), "{:?}", changes(&plan));
    assert_eq!(changes(&plan), Vec::<String>::new());

    // The holder's file goes, and its zone passes on.
    let plan = planned(&scene, &["z", "s", "b-www", "c-www"]);
    assert!(plan.zones.values().all(|zone| !zone.goes()), "{:?}", changes(&plan));
    let text = format!("{:?}", changes(&plan));
    assert!(text.contains("a.test. A"), "{text}");
}

/// What a daemon wrote for a cluster is told from what was written for files: by the marks and notes alone.
#[test]
fn what_is_of_a_cluster_is_named() {
    let mut scene = Scene::new();
    scene.zone("y", "a.test", "ours");
    scene.set("s", "y", "A", &[("www", "192.0.2.1")]);
    scene.rest();
    let named = of_a_cluster(&scene.world.snapshot(), &scene.policy);
    let all = ["the mark of zone a.test.", "the note on www.a.test. A"].map(str::to_owned);
    assert_eq!(named, all.into());

    let mut files = Scene::new();
    let key = |name: &str| format!("ns/{name}").parse().unwrap();
    files.made("a.test.", &mark(OWNER, &uid(OWNER, "DNSZone", &key("z"))));
    let stored = files.store("a.test.", "www.a.test.", "A", &["192.0.2.1"]);
    let of_a_file = uid(OWNER, "DNSRecordSet", &key("s"));
    let note = Note::new(OWNER, &key("s"), &of_a_file, "00".into()).to_comment(&[]);
    let comment = Comment { account: note.account, content: note.content, modified_at: 0 };
    stored.comments.push(comment);
    assert_eq!(of_a_cluster(&files.world.snapshot(), &files.policy), [].into());
}

/// With `namespaces`, a mark says nothing by itself: only what is noted beside it tells whose it is.
#[test]
fn files_of_some_namespaces_end_nothing_of_others() {
    let mut scene = Scene::new();
    scene.policy.namespaces = ["ns".to_owned()].into();
    scene.zone("z", "a.test", "ours");
    scene.set("s", "z", "A", &[("www", "192.0.2.1")]);
    scene.rest();
    for (apex, noted) in [("o.test.", true), ("p.test.", false)] {
        scene.made(apex, &Scene::mark(apex));
        let stored = scene.store(apex, &format!("www.{apex}"), "A", &["192.0.2.1"]);
        let key = "other/s".parse().unwrap();
        let note = Note::new(OWNER, &key, "u-other", "00".into()).to_comment(&[]);
        let comment = Comment { account: note.account, content: note.content, modified_at: 0 };
        stored.comments.extend(noted.then_some(comment));
    }
    let plan = planned(&scene, &[]);
    assert_eq!(changes(&plan), Vec::<String>::new());
    let gone: Vec<String> = planned(&scene, &["z", "s"])
        .zones
        .iter()
        .filter(|(_, zone)| zone.goes())
        .map(|(name, _)| name.to_string())
        .collect();
    assert_eq!(gone, ["a.test."]);
}

/// A slip in a kind must not take away what the object declares.
#[test]
fn a_kind_of_our_group_that_there_is_not_is_refused() {
    let text = |kind: &str| {
        format!(
            "apiVersion: dns.networking.miloapis.com/v1alpha1\nkind: {kind}\nmetadata: {{name: x}}\n"
        )
    };
    let faults = |kind: &str| {
        read(&[("f.yaml".to_owned(), text(kind))], OWNER).map_or_else(|faults| faults.0, |_| vec![])
    };
    for kind in ["DNSRecordset", "DNSRecordSetList", "DNSRecord"] {
        assert_eq!(faults(kind), [format!("f.yaml:1: {kind}: there is no such kind")]);
    }
    for kind in ["DNSZoneDiscovery", "DNSOperator"] {
        assert_eq!(faults(kind), Vec::<String>::new());
    }
}

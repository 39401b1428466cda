//! What need not be read: a zone of which nothing has changed since it was read. Everything that could change what is to be
//! done in it must bring it back.

use std::collections::BTreeSet;

use dns_syncd::api::FINALIZER_RECORD_SET;
use dns_syncd::plan::summary::Summary;
use dns_syncd::sync::Asked;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::rig::Rig;
use crate::scenario::name;
use crate::scene::{Scene, entries, place};
use crate::world::World;

const INTERVAL: u64 = 1_000_000;
const ALL: [&str; 3] = ["a.test.", "b.test.", "hand.test."];

/// Two zones of ours, each with names that are served and one that is not, and a zone of nobody's.
fn scene() -> Scene {
    let mut scene = Scene::new();
    for zone in ["a", "b"] {
        scene.zone(zone, &format!("{zone}.test"), "ours");
        let records = [("www", "192.0.2.1"), ("ftp", "192.0.2.2"), ("bad", "nonsense")];
        scene.set(&format!("{zone}-s"), zone, "A", &records);
        scene.set(&format!("{zone}-late"), zone, "A", &[("www", "192.0.2.9")]);
    }
    scene.rest();
    scene.made("hand.test.", "");
    scene.store("hand.test.", "www.hand.test.", "A", &["192.0.2.7"]);
    scene.store("a.test.", "old.a.test.", "A", &["192.0.2.8"]);
    scene
}

fn rig(scene: &Scene) -> Rig {
    let mut rig = Rig::new();
    rig.syncer.policy.verify_interval = INTERVAL;
    rig.load(&scene.world, 500);
    rig
}

/// Makes a pass; the zones that it read.
fn pass(rig: &Rig) -> (BTreeSet<String>, Summary) {
    let summary = rig.pass().unwrap();
    let world = rig.world();
    let zones = world.reads.iter().filter_map(|path| path.rsplit_once("/zones/"));
    (zones.map(|(_, zone)| zone.to_owned()).collect(), summary)
}

fn read(rig: &Rig) -> BTreeSet<String> {
    pass(rig).0
}

fn zones(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Passes until nothing is read any more.
fn settled(scene: &Scene) -> Rig {
    let rig = rig(scene);
    for _ in 0..6 {
        if read(&rig).is_empty() {
            return rig;
        }
    }
    panic!("zones at rest are read again and again: {:?}", rig.world().reads);
}

#[test]
fn a_zone_at_rest_is_read_by_two_passes_and_then_told_as_before() {
    let rig = rig(&scene());
    let (first, second, third) = (pass(&rig), pass(&rig), pass(&rig));
    assert_eq!((first.0, &second.0), (zones(&ALL), &zones(&ALL)));
    assert_eq!((third.0, third.1.unchanged), (BTreeSet::new(), 3));
    let told = |summary: Summary| Summary { unchanged: 0, ..summary };
    assert_eq!(told(third.1), told(second.1.clone()));
    assert_eq!((second.1.equal, second.1.left_alone, second.1.held.len()), (4, 2, 4));
    assert!(rig.world().done.is_empty());
}

/// Others may have conditions of their own on a DNSZone, and a DNSZone of the same domain with objects of their own.
#[test]
fn what_others_say_is_not_told_as_ours() {
    let mut scene = scene();
    scene.zone("theirs", "a.test", "foreign");
    scene.set("their-s", "theirs", "A", &[("www", "192.0.2.1")]);
    let verified = json!({"type": "DomainVerified", "status": "False", "reason": "No", "message": "not yet",
        "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"});
    scene.edit("dnszones", "a", |zone| {
        zone["status"]["conditions"].as_array_mut().unwrap().insert(0, verified);
    });
    let rig = settled(&scene);
    let skipped = pass(&rig).1;
    rig.asked(Asked { all: true, ..Asked::default() });
    let whole = pass(&rig).1;
    assert_eq!((skipped.unchanged, whole.unchanged), (3, 0));
    assert_eq!(Summary { unchanged: 0, ..skipped }, whole);
}

/// Whoever has the zone of a DNSZone copied has its mark copied too: both are the end of that DNSZone's to tell.
#[test]
fn all_zones_of_one_mark_are_read_when_its_dnszone_goes() {
    let mut scene = scene();
    scene.made("0.test.", &Scene::mark("a"));
    let rig = settled(&scene);
    rig.world().cluster.objects.remove(&place("dnszones", "a")).unwrap();
    assert_eq!(read(&rig), zones(&["0.test.", "a.test."]));
}

type Change = fn(&mut World);

fn edit(cluster: &mut Cluster, plural: &str, name: &str, change: impl FnOnce(&mut Value)) {
    cluster.edit(&place(plural, name), change);
}

fn patch(world: &mut World, apex: &str, owner: &str, content: &str) {
    let records = json!([{"content": content, "disabled": false}]);
    let rrset = json!({"name": owner, "type": "A", "ttl": 300, "changetype": "REPLACE",
        "records": records});
    assert_eq!(world.pdns.patch(apex, &[rrset]).0, 204);
}

fn add(world: &mut World, name: &str, spec: &Value) {
    let mut scene = Scene { world: std::mem::take(world), ..Scene::new() };
    scene.set(name, "a", "A", &[]);
    scene.edit("dnsrecordsets", name, |set| set["spec"] = spec.clone());
    *world = scene.world;
}

#[test]
fn whatever_changes_is_read() {
    let cases: [(&str, &[&str], Change); 15] = [
        ("nothing", &[], |_| {}),
        ("a spec", &["a.test."], |w| {
            edit(&mut w.cluster, "dnsrecordsets", "a-s", |set| {
                set["spec"]["records"] = entries("A", &[("www", "192.0.2.3")]);
            });
        }),
        ("an annotation of a loser", &["b.test."], |w| {
            edit(&mut w.cluster, "dnsrecordsets", "b-late", |set| {
                set["metadata"]["annotations"] = json!({"dns-syncd/pause": "true"});
            });
        }),
        ("a deletion", &["a.test."], |w| w.cluster.delete(&place("dnsrecordsets", "a-s"))),
        ("an object that is gone", &["a.test."], |w| {
            w.cluster.objects.remove(&place("dnsrecordsets", "a-s")).unwrap();
        }),
        ("a set of another zone now", &["a.test.", "b.test."], |w| {
            edit(&mut w.cluster, "dnsrecordsets", "a-s", |set| {
                set["spec"]["dnsZoneRef"]["name"] = json!("b");
            });
        }),
        ("a new set", &["a.test."], |w| {
            let records = entries("A", &[("new", "192.0.2.4")]);
            let spec = json!({"dnsZoneRef": {"name": "a"}, "recordType": "A", "records": records});
            add(w, "new", &spec);
        }),
        ("a set that may be of any zone", &["a.test.", "b.test."], |w| {
            add(w, "odd", &json!({"dnsZoneRef": 7, "recordType": "A", "records": []}));
        }),
        ("a DNSZone", &["a.test."], |w| {
            edit(&mut w.cluster, "dnszones", "a", |zone| {
                zone["metadata"]["labels"] = json!({"x": "y"});
            });
        }),
        ("a class", &["a.test.", "b.test."], |w| {
            edit(&mut w.cluster, "dnszoneclasses", "ours", |class| {
                class["spec"]["nameServerPolicy"]["static"]["servers"] =
                    json!(["ns9.example.net."]);
            });
        }),
        ("a hand's write", &["a.test."], |w| patch(w, "a.test.", "www.a.test.", "192.0.2.55")),
        ("a hand's write elsewhere", &["hand.test."], |w| {
            patch(w, "hand.test.", "www.hand.test.", "192.0.2.55");
        }),
        ("a mark", &["b.test."], |w| {
            w.pdns.zones.get_mut("b.test.").unwrap().account = String::new();
        }),
        ("a zone below", &["a.test.", "www.a.test."], |w| {
            assert_eq!(w.pdns.create(&json!({"name": "www.a.test."})).0, 201);
        }),
        ("the server", &ALL, |w| w.pdns.comments = false),
    ];
    let scene = scene();
    for (what, expected, change) in cases {
        let rig = settled(&scene);
        change(&mut rig.world());
        assert_eq!(read(&rig), zones(expected), "{what}");
    }
}

/// What no list shows is found once in an interval, and not by all zones in the same pass.
#[test]
fn what_moves_no_serial_is_found_within_the_interval() {
    let rig = settled(&scene());
    let key = ("www.a.test.".to_owned(), "A".to_owned());
    let stored = |rig: &Rig| rig.world().pdns.zones["a.test."].rrsets[&key].records.clone();
    let right = stored(&rig);
    rig.world().pdns.zones.get_mut("a.test.").unwrap().rrsets.get_mut(&key).unwrap().records =
        vec!["192.0.2.55".to_owned()];
    Rig::later(INTERVAL / 2 - 1);
    assert_eq!(read(&rig), zones(&[]));
    assert_ne!(stored(&rig), right);
    Rig::later(INTERVAL / 2 + 10_000);
    assert_eq!(read(&rig), zones(&ALL));
    assert_eq!(stored(&rig), right);
}

#[test]
fn who_asks_gets_a_look() {
    let rig = settled(&scene());
    let ask = |asked| rig.asked(asked);
    ask(Asked { zones: [name("b.test.")].into(), ..Asked::default() });
    assert_eq!(read(&rig), zones(&["b.test."]));
    ask(Asked { all: true, ..Asked::default() });
    assert_eq!(read(&rig), zones(&ALL));
}

/// An outage may have been a restore: serials prove nothing after it.
#[test]
fn after_an_outage_everything_is_read() {
    let rig = settled(&scene());
    rig.world().pdns.unlisted = true;
    rig.pass();
    rig.world().pdns.unlisted = false;
    assert_eq!(read(&rig), zones(&ALL));
}

type Wait = fn(&mut Scene);

#[test]
fn a_zone_in_which_something_waits_is_read_each_time() {
    let cases: [(&str, Wait); 5] = [
        ("a pause with something to do", |s| {
            s.declare("a-s", &[("www", "192.0.2.3")]);
            s.edit("dnsrecordsets", "a-s", |set| {
                set["metadata"]["annotations"] = json!({"dns-syncd/pause": "true"});
            });
        }),
        ("a finalizer of somebody else's", |s| {
            s.edit("dnsrecordsets", "a-late", |set| {
                set["metadata"]["finalizers"] = json!(["somebody.else/waits"]);
            });
            s.delete("dnsrecordsets", "a-late");
        }),
        ("serials that nothing moves", |s| s.world.pdns.still = ["a.test.".to_owned()].into()),
        ("what a set has left behind under a brake", |s| {
            s.policy.brakes.deletes = false;
            s.vanish("dnsrecordsets", "a-s");
        }),
        ("a record that is refused", |s| s.declare("a-s", &[("www", crate::model::REFUSED)])),
    ];
    for (what, change) in cases {
        let mut scene = scene();
        change(&mut scene);
        let mut rig = rig(&scene);
        rig.syncer.policy = dns_syncd::plan::Policy { verify_interval: INTERVAL, ..scene.policy };
        (0..4).for_each(|_| drop(rig.pass()));
        let (read, summary) = pass(&rig);
        assert_eq!(read, zones(&["a.test."]), "{what}: {summary:#?}");
    }
}

/// A set that names no DNSZone may have written anywhere; that a zone at rest holds nothing of it is known.
#[test]
fn zones_at_rest_hold_nobody_who_goes() {
    let rig = settled(&scene());
    add(
        &mut rig.world(),
        "lost",
        &json!({"dnsZoneRef": {"name": "nowhere"}, "recordType": "A", "records": []}),
    );
    let lost = place("dnsrecordsets", "lost");
    rig.world().cluster.edit(&lost, |set| {
        set["metadata"]["finalizers"] = json!([FINALIZER_RECORD_SET]);
    });
    rig.world().cluster.delete(&lost);
    assert!(rig.world().cluster.objects.contains_key(&lost), "it waits for us");
    assert_eq!(read(&rig), zones(&[]));
    assert!(!rig.world().cluster.objects.contains_key(&lost), "nothing of it is anywhere");
}

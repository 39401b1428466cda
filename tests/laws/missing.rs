//! Zones that are not in PowerDNS any more: half of them, and it is a lost database or the wrong server before it is the truth.

use dns_syncd::api::FINALIZER_ZONE;
use dns_syncd::plan::brakes::Brakes;
use dns_syncd::plan::{Applied, Failure, ZoneStep, brake};
use serde_json::json;

use crate::braking::{OPEN, braked, scene, whys};
use crate::remembering::learn;
use crate::scenario::name;
use crate::scene::{Scene, all_done, all_failed, changes, finalized};

#[test]
fn zones_that_are_missing_are_made_anew_only_if_they_are_few() {
    for (zones, lost, held) in [(2, 2, false), (3, 3, true), (6, 3, true), (7, 3, false)] {
        let names: Vec<String> = (0..zones).map(|i| format!("z{i}")).collect();
        let all: Vec<(&str, usize)> = names.iter().map(|n| (n.as_str(), 1)).collect();
        let mut scene = scene(&all);
        for name in &names[..lost] {
            scene.world.pdns.zones.remove(&format!("{name}.test."));
        }
        // One that never was in PowerDNS says nothing.
        scene.zone("new", "new.test", "ours");
        says(&mut scene, "new", "Pending");
        let plan = braked(&scene, OPEN);
        let why = format!("{lost} of {zones} zones are missing from PowerDNS");
        assert_eq!(whys(&plan), if held { vec![why.as_str()] } else { vec![] });
        let made =
            plan.zones.values().filter(|z| matches!(z.step, ZoneStep::Create { .. })).count();
        assert_eq!(made, if held { 1 } else { lost + 1 });
    }
}

/// A status that is all there is to know of a DNSZone.
fn says(scene: &mut Scene, zone: &str, reason: &str) {
    let condition = json!({"type": "Programmed", "status": "False", "reason": reason});
    scene.edit("dnszones", zone, |zone| zone["status"] = json!({"conditions": [condition]}));
}

/// That it was held as missing tells that it was there.
#[test]
fn a_zone_without_name_servers_is_known_by_its_hold() {
    for (reason, held) in [("DeletionHeld", 1), ("Pending", 0)] {
        let mut scene = Scene::new();
        for zone in ["a", "b", "c"] {
            scene.zone(zone, &format!("{zone}.test"), "bare");
            says(&mut scene, zone, reason);
        }
        assert_eq!(braked(&scene, OPEN).holds.len(), held);
    }
}

#[test]
fn what_is_missing_proves_nothing() {
    let mut scene = scene(&[("a", 2), ("b", 1), ("c", 1), ("d", 1), ("e", 1)]);
    for apex in ["a.test.", "b.test.", "c.test."] {
        scene.world.pdns.zones.remove(apex);
    }
    scene.delete("dnszones", "b");
    scene.delete("dnsrecordsets", "a-0");
    scene.delete("dnszones", "d");
    scene.delete("dnsrecordsets", "e-0");
    let plan = braked(&scene, OPEN);
    let why = "3 of 5 zones are missing from PowerDNS";
    assert_eq!(whys(&plan), [why]);
    assert_eq!(plan.zones[&crate::scenario::name("a.test.")].withheld.as_deref(), Some(why));
    let held = |uid: &str| plan.objects[uid].deletion.as_ref().unwrap().held.clone();
    let message = plan.holds[0].message();
    assert!(message.starts_with(&format!("{why}: a.test., b.test., c.test.; digest ")));
    assert_eq!((held("u-b"), held("u-d")), (Some(message.clone()), None));
    assert_eq!(plan.sets["u-a-0"].blocked, Some(message));
    assert_eq!(plan.sets["u-a-1"].blocked, None);
    scene.carry_out(&plan);
    assert!(finalized(&scene, "dnsrecordsets", "a-0") && finalized(&scene, "dnszones", "b"));
    // What has to do with the others alone ends as ever.
    assert!(!finalized(&scene, "dnsrecordsets", "e-0"));
    assert_eq!(scene.plan().zones[&crate::scenario::name("e.test.")].carried.len(), 0);
    // It goes on being known that they were there, and the hold with it.
    assert_eq!(braked(&scene, OPEN).holds.len(), 1);
}

/// The switch for an incident lets nothing through that the brakes hold: an empty server stays as it is.
#[test]
fn with_deletes_off_what_is_missing_proves_nothing_either() {
    let mut scene = scene(&[("a", 1), ("b", 1), ("c", 1)]);
    scene.world.pdns.zones.clear();
    scene.delete("dnszones", "b");
    let plan = braked(&scene, Brakes { deletes: false, ..OPEN });
    assert_eq!(whys(&plan), ["3 of 3 zones are missing from PowerDNS"]);
    scene.carry_out(&plan);
    assert!(scene.world.pdns.zones.is_empty());
    assert!(finalized(&scene, "dnszones", "b") && finalized(&scene, "dnsrecordsets", "b-0"));
}

/// What we deleted is not missing, for as long as somebody else's finalizer keeps its DNSZone.
#[test]
fn what_we_deleted_is_not_missing_while_others_keep_its_object() {
    let mut scene = scene(&[("a", 1), ("b", 1), ("c", 1), ("d", 1)]);
    for zone in ["a", "b", "c"] {
        scene.edit("dnszones", zone, |zone| {
            zone["metadata"]["finalizers"] = json!([FINALIZER_ZONE, "example.org/theirs"]);
        });
        scene.delete("dnszones", zone);
    }
    scene.rest();
    assert_eq!(scene.world.pdns.zones.len(), 1);
    assert!(!finalized(&scene, "dnszones", "a"));
    assert!(braked(&scene, OPEN).holds.is_empty());
    scene.zone("heir", "a.test", "ours");
    let plan = braked(&scene, OPEN);
    assert!(matches!(plan.zones[&name("a.test.")].step, ZoneStep::Create { .. }));
}

/// The next pass of a process that saw, or may have had, its deletes carried out.
#[test]
fn what_we_deleted_is_not_missing_while_it_is_not_let_go() {
    let lost = Failure::Unknown("the connection was reset".to_owned());
    let refused = Failure::Status(403);
    for (failure, held) in [(None, 0), (Some(lost), 0), (Some(refused), 1)] {
        let mut scene = scene(&[("a", 1), ("b", 1), ("c", 1), ("d", 1)]);
        for zone in ["a", "b", "c"] {
            scene.delete("dnszones", zone);
            scene.delete("dnsrecordsets", &format!("{zone}-0"));
        }
        let plan = braked(&scene, OPEN);
        let applied = failure.map_or_else(|| all_done(&plan), |f| all_failed(&plan, &f));
        let snapshot = scene.world.snapshot();
        learn(&mut scene, &snapshot, &plan, &applied, 1);
        for zone in ["a", "b", "c"] {
            scene.world.pdns.zones.remove(&format!("{zone}.test."));
        }
        let again = |scene: &Scene| {
            brake(scene.plan(), &scene.world.snapshot(), OPEN, &scene.memory.released)
        };
        assert_eq!(again(&scene).holds.len(), held);
        // Another process knows nothing of it.
        let memory = std::mem::take(&mut scene.memory);
        assert_eq!(again(&scene).holds.len(), 1);
        scene.memory = memory;
        if held == 0 {
            let plan = again(&scene);
            scene.carry_out(&plan);
            assert!(!finalized(&scene, "dnszones", "a"));
            // Once it is let go, or there again, it is as any other.
            let (plan, applied) = (again(&scene), Applied::default());
            let snapshot = scene.world.snapshot();
            learn(&mut scene, &snapshot, &plan, &applied, 1);
            assert!(!scene.memory.released.expects(&name("a.test.")));
        }
    }
}

/// A zone that waits for its class is gone with the others: the brake counts it not, and what ends of it is held with them.
#[test]
fn what_ends_of_a_zone_that_waits_is_held_with_the_others() {
    let mut scene = scene(&[("a", 1), ("b", 1), ("c", 1), ("d", 1)]);
    scene.edit("dnszones", "d", |zone| zone["spec"]["dnsZoneClassName"] = json!("missing"));
    scene.rest();
    scene.world.pdns.zones.clear();
    scene.delete("dnsrecordsets", "d-0");
    let plan = braked(&scene, OPEN);
    assert_eq!(whys(&plan), ["3 of 3 zones are missing from PowerDNS"]);
    scene.carry_out(&plan);
    assert!(finalized(&scene, "dnsrecordsets", "d-0"));
}

/// On a server without comments the status alone tells what a live record set has given up.
#[test]
fn what_a_set_of_a_missing_zone_gave_up_stays_in_its_status() {
    let mut scene = scene(&[("a", 1), ("b", 1), ("c", 1)]);
    scene.world.pdns.comments = false;
    scene.rest();
    let database = scene.world.pdns.clone();
    scene.world.pdns.zones.clear();
    scene.declare("a-0", &[("other", "192.0.2.1")]);
    let plan = braked(&scene, OPEN);
    scene.carry_out(&plan);
    let said = scene.said("dnsrecordsets", "a-0", Some("n00"), "Programmed");
    assert!(said.contains("Record no longer present in spec"), "{said}");
    scene.world.pdns = database;
    assert!(changes(&scene.plan()).contains(&"delete a.test. n00.a.test. A".to_owned()));
}

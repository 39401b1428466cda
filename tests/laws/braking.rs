//! The brakes at their limits: one more is held, one less is let through.

use std::collections::BTreeSet;

use dns_syncd::plan::brakes::{Brake, Brakes};
use dns_syncd::plan::change::Change;
use dns_syncd::plan::release::Released;
use dns_syncd::plan::{Plan, ZoneStep, brake};
use serde_json::json;

use crate::scene::{Scene, changes, finalized};

/// Nothing is too much.
pub(crate) const OPEN: Brakes =
    Brakes { deletes: true, implicit_percent: 100, implicit_total: 1000, explicit_percent: None };

fn raw(i: usize) -> String {
    format!("n{i:02}")
}

/// A zone of which each RRset but SOA and NS has a set of its own.
fn add(scene: &mut Scene, zone: &str, sets: usize) {
    scene.zone(zone, &format!("{zone}.test"), "ours");
    for i in 0..sets {
        scene.set(&format!("{zone}-{i}"), zone, "A", &[(&raw(i), "192.0.2.1")]);
    }
}

pub(crate) fn scene(zones: &[(&str, usize)]) -> Scene {
    let mut scene = Scene::new();
    for (zone, sets) in zones {
        add(&mut scene, zone, *sets);
    }
    scene.rest();
    scene
}

pub(crate) fn braked(scene: &Scene, brakes: Brakes) -> Plan {
    brake(scene.plan(), &scene.world.snapshot(), brakes, &Released::default())
}

pub(crate) fn whys(plan: &Plan) -> Vec<&str> {
    plan.holds.iter().map(|hold| hold.why.as_str()).collect()
}

/// Sets without their finalizers, so that nobody asked for their end.
fn vanish(scene: &mut Scene, zone: &str, sets: usize) {
    for i in 0..sets {
        scene.vanish("dnsrecordsets", &format!("{zone}-{i}"));
    }
}

/// A zone has SOA and NS beside its sets.
#[test]
fn a_share_of_a_zone_is_held_when_its_objects_are_gone() {
    for (sets, gone, percent, held) in [
        (8, 3, 30, false),
        (8, 4, 30, true),
        (7, 6, 30, false),
        (8, 7, 70, false),
        (8, 7, 69, true),
        (28, 9, 30, false),
        (28, 10, 30, true),
    ] {
        let mut scene = scene(&[("a", sets)]);
        vanish(&mut scene, "a", gone);
        let brakes = Brakes { implicit_percent: percent, explicit_percent: Some(1), ..OPEN };
        let plan = braked(&scene, brakes);
        let why = format!("{gone} of {} RRsets of a.test. have lost their objects", sets + 2);
        assert_eq!(whys(&plan), if held { vec![why.as_str()] } else { vec![] });
        assert_eq!(changes(&plan).len(), if held { 0 } else { gone });
        assert!(
            plan.holds.iter().all(|hold| hold.brake == Brake::Deletes && hold.what.len() == gone)
        );
    }
}

#[test]
fn a_number_of_rrsets_and_of_zones_is_held_when_their_objects_are_gone() {
    let mut total = scene(&[("a", 7)]);
    vanish(&mut total, "a", 5);
    assert_eq!(changes(&braked(&total, Brakes { implicit_total: 5, ..OPEN })).len(), 5);
    let held = braked(&total, Brakes { implicit_total: 4, ..OPEN });
    assert_eq!(whys(&held), ["5 RRsets whose objects are gone would be deleted at once"]);
    assert!(changes(&held).is_empty());

    let mut zones = scene(&[("a", 2), ("b", 2), ("c", 2)]);
    vanish(&mut zones, "a", 1);
    vanish(&mut zones, "b", 1);
    assert!(whys(&braked(&zones, OPEN)).is_empty());
    vanish(&mut zones, "c", 1);
    let held = braked(&zones, OPEN);
    assert_eq!(whys(&held), ["RRsets whose objects are gone would be deleted in 3 zones"]);
    let names: Vec<&str> = held.holds[0].what.iter().map(String::as_str).collect();
    assert_eq!(names, ["n00.a.test. A", "n00.b.test. A", "n00.c.test. A"]);
    assert_eq!(held.holds[0].zones.len(), 3);
}

#[test]
fn an_empty_list_of_sets_is_no_reason_to_delete_what_was_written_for_some() {
    let mut noted = scene(&[("a", 1)]);
    assert!(braked(&noted, OPEN).holds.is_empty());
    vanish(&mut noted, "a", 1);
    let empty = ["no DNSRecordSet is listed although RRsets were written for some"];
    assert_eq!(whys(&braked(&noted, OPEN)), empty);

    let mut undeclared = scene(&[("a", 0)]);
    undeclared.policy.delete_undeclared = true;
    undeclared.store("a.test.", "www.a.test.", "A", &["192.0.2.9"]);
    assert_eq!(whys(&braked(&undeclared, OPEN)), empty);
    add(&mut undeclared, "b", 1);
    undeclared.rest_but("a.test.");
    assert_eq!(changes(&braked(&undeclared, OPEN)), ["delete a.test. www.a.test. A"]);
    let none = Brakes { implicit_total: 0, ..OPEN };
    let why = ["1 RRsets that no object declares would be deleted at once"];
    assert_eq!(whys(&braked(&undeclared, none)), why);
}

/// The same for what somebody asked for: sets are being deleted, or have lost names.
/// The live GET of such a set spares what it wrote, in each pass: no brake may wait for that.
#[test]
fn sets_of_a_zone_that_has_a_shadow_are_not_gone() {
    let mut scene = scene(&[("a", 7)]);
    let provenance = json!({"meta.datumapis.com/upstream-namespace": "ns", "meta.datumapis.com/upstream-name": "a"});
    let shadow = json!({"kind": "DNSZone", "spec": {"domainName": "a.test", "dnsZoneClassName": "ours"},
        "metadata": {"name": "shadow", "namespace": "ns-0a1b2c3d-0000-4000-8000-00000000000f", "uid": "u-shadow",
            "creationTimestamp": "2026-01-02T00:00:00Z", "annotations": provenance}});
    scene.world.cluster.put("dnszones", shadow);
    scene.pdns("a.test.").account = Scene::mark("shadow");
    vanish(&mut scene, "a", 2);
    let few = |implicit_total| Brakes { implicit_total, ..OPEN };
    assert_eq!(changes(&scene.plan()).len(), 7);
    assert!(whys(&braked(&scene, few(2))).is_empty());
    let held = braked(&scene, few(1));
    assert_eq!(whys(&held), ["2 RRsets whose objects are gone would be deleted at once"]);
}

#[test]
fn a_share_of_a_large_zone_is_held_although_it_was_asked_for() {
    for (sets, gone, percent, held) in [
        (18, 10, Some(50), false),
        (18, 11, Some(50), true),
        (17, 17, Some(50), false),
        (18, 18, None, false),
        (28, 9, Some(29), true),
        (28, 9, Some(30), false),
    ] {
        let mut scene = scene(&[("a", sets)]);
        for i in 0..gone {
            scene.delete("dnsrecordsets", &format!("a-{i}"));
        }
        let plan = braked(&scene, Brakes { explicit_percent: percent, ..OPEN });
        let why = format!("{gone} of {} RRsets of a.test. would be deleted at once", sets + 2);
        assert_eq!(whys(&plan), if held { vec![why.as_str()] } else { vec![] });
        assert_eq!(changes(&plan).len(), if held { 0 } else { gone });
    }
}

const HALF: Brakes = Brakes { explicit_percent: Some(50), ..OPEN };

/// One set with all names of a zone.
fn one_set(names: usize) -> Scene {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "ours");
    let names: Vec<String> = (0..names).map(raw).collect();
    let records: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), "192.0.2.1")).collect();
    scene.set("s", "a", "A", &records);
    scene.set("t", "a", "TXT", &[("t", "x")]);
    scene.rest();
    scene
}

#[test]
fn a_rename_waits_whole() {
    let mut scene = one_set(18);
    let renamed: Vec<String> = (0..18).map(|i| format!("m{i:02}")).collect();
    let records: Vec<(&str, &str)> = renamed.iter().map(|n| (n.as_str(), "192.0.2.1")).collect();
    scene.declare("s", &records);
    scene.declare("t", &[("t", "x"), ("u", "y")]);
    assert_eq!(changes(&scene.plan()).len(), 37);
    // What another set creates does not wait.
    assert_eq!(changes(&braked(&scene, HALF)), ["replace a.test. u.a.test. TXT"]);
    scene.declare("s", &records[..6]);
    assert_eq!(changes(&braked(&scene, HALF)), ["replace a.test. u.a.test. TXT"]);
}

#[test]
fn a_zone_that_ends_takes_all_of_it_along() {
    let mut scene = scene(&[("a", 20)]);
    scene.delete("dnszones", "a");
    let plan = braked(&scene, HALF);
    assert!(plan.holds.is_empty() && plan.zones.values().all(dns_syncd::plan::ZonePlan::goes));
    // Another owner's note keeps the zone, and its sets go one by one.
    let rrset = scene.store("a.test.", "theirs.a.test.", "A", &["192.0.2.7"]);
    let note = crate::scene::note("other", "x", "A", rrset);
    rrset.comments.push(note);
    let plan = braked(&scene, HALF);
    assert!(plan.holds.is_empty(), "{:?}", plan.holds);
    assert_eq!(changes(&plan).len(), 20);
    // So it is with what has moved to another DNSZone before.
    scene.zone("b", "b.test", "ours");
    for i in 0..20 {
        scene.edit("dnsrecordsets", &format!("a-{i}"), |set| {
            set["spec"]["dnsZoneRef"]["name"] = json!("b");
        });
        scene.delete("dnsrecordsets", &format!("a-{i}"));
    }
    let plan = braked(&scene, HALF);
    let gone = changes(&plan).iter().filter(|c| c.starts_with("delete a.test.")).count();
    assert_eq!((gone, plan.holds.len()), (20, 0));
}

/// Whoever else ends of a domain says nothing about the sets of the DNSZone that is served.
#[test]
fn a_loser_that_ends_lifts_no_brake() {
    let mut scene = scene(&[("a", 18)]);
    scene.zone("b", "a.test", "ours");
    scene.edit("dnszones", "b", |zone| {
        let finalizer = dns_syncd::api::FINALIZER_ZONE;
        zone["metadata"]["finalizers"] = json!([finalizer]);
    });
    scene.delete("dnszones", "b");
    for i in 0..18 {
        scene.delete("dnsrecordsets", &format!("a-{i}"));
    }
    assert_eq!(braked(&scene, HALF).holds.len(), 1);
}

/// An heir writes over what goes; refused, it would leave that to a delete of its own.
#[test]
fn with_deletes_off_a_refused_heir_is_no_reason_to_delete() {
    let mut scene = scene(&[("a", 1)]);
    scene.set("heir", "a", "A", &[("n00", "192.0.2.2")]);
    scene.rest();
    scene.delete("dnsrecordsets", "a-0");
    for (deletes, alone) in [(true, 1), (false, 0)] {
        let plan = braked(&scene, Brakes { deletes, ..OPEN });
        assert_eq!(changes(&plan), ["replace a.test. n00.a.test. A"]);
        let names = plan.zones.values().flat_map(|zone| zone.names.values());
        let over = |c: &&Change| matches!(c, Change::Replace { over: Some(_), .. });
        assert_eq!(names.flat_map(|name| name.types.values()).filter(over).count(), alone);
    }
}

#[test]
fn with_deletes_off_nothing_goes() {
    let mut scene = scene(&[("a", 2), ("b", 1), ("c", 1)]);
    let never = Brakes { deletes: false, ..OPEN };
    assert!(braked(&scene, never).holds.is_empty());
    scene.delete("dnsrecordsets", "a-0");
    scene.declare("a-1", &[("n01", "192.0.2.2")]);
    scene.declare("c-0", &[("n00", "192.0.2.2")]);
    scene.delete("dnszones", "b");
    let plan = braked(&scene, never);
    let kept = ["replace a.test. n01.a.test. A", "replace c.test. n00.c.test. A"];
    assert_eq!(changes(&plan), kept);
    assert!(plan.zones.values().all(|zone| zone.step == ZoneStep::Keep));
    let message = "policy.deletes is never: b.test., n00.a.test. A";
    assert_eq!(
        plan.holds.iter().map(dns_syncd::plan::brakes::Hold::message).collect::<Vec<_>>(),
        [message]
    );
    let deletion = plan.objects["u-b"].deletion.as_ref().unwrap();
    assert_eq!(
        (deletion.held.as_deref(), &deletion.takes),
        (Some("policy.deletes is never"), &None)
    );
    scene.carry_out(&plan);
    assert!(finalized(&scene, "dnszones", "b") && finalized(&scene, "dnsrecordsets", "a-0"));
    let said = scene.said("dnszones", "a", None, "Programmed");
    let held = "False DeletionHeld: Deletes are held until somebody releases them: ";
    assert_eq!(said, format!("{held}{message}"));
    assert!(scene.said("dnszones", "c", None, "Programmed").starts_with("True"));
}

#[test]
fn orphans_go_by_twos() {
    for (count, listed, held) in [
        (2, true, None),
        (3, true, Some("3 zones whose DNSZones are gone would be deleted at once")),
        (1, false, Some("no DNSZone is listed although zones are marked for some")),
    ] {
        let mut scene = Scene::new();
        scene.policy.delete_orphan_zones = true;
        if listed {
            scene.zone("z", "z.test", "missing");
        }
        for i in 0..count {
            scene.made(&format!("o{i}.test."), &Scene::mark("dead"));
        }
        let plan = braked(&scene, OPEN);
        assert_eq!(whys(&plan), held.into_iter().collect::<Vec<_>>());
        assert!(
            plan.holds.iter().all(|hold| hold.brake == Brake::Orphans && hold.zones.len() == count)
        );
        let goes = plan.zones.values().filter(|zone| zone.goes()).count();
        assert_eq!(goes, if held.is_some() { 0 } else { count });
    }
}

/// Half of the zones that were there, and at least three.
/// In a zone that others filled, statuses alone tell what was written for whom, and only for as long as no note stands in it.
/// So nothing is noted there while something that goes by this is held.
#[test]
fn what_is_known_by_evidence_is_still_known_when_its_hold_ends() {
    let never = Brakes { deletes: false, ..OPEN };
    let pause = |scene: &mut Scene, pause: &str| {
        scene.edit("dnsrecordsets", "a-0", |set| {
            set["metadata"]["annotations"] = json!({"dns-syncd/pause": pause});
        });
    };
    for paused in [false, true] {
        let mut scene = scene(&[("a", 3)]);
        scene.pdns("a.test.").rrsets.values_mut().for_each(|rrset| rrset.comments.clear());
        scene.delete("dnsrecordsets", "a-0");
        scene.declare("a-1", &[("n01", "192.0.2.9"), ("new", "192.0.2.9")]);
        if paused {
            pause(&mut scene, "true");
        }
        let plan = braked(&scene, if paused { OPEN } else { never });
        let written = ["replace a.test. n01.a.test. A", "replace a.test. new.a.test. A"];
        assert_eq!(changes(&plan), written);
        scene.carry_out(&plan);
        assert!(finalized(&scene, "dnsrecordsets", "a-0"));
        assert!(scene.said("dnsrecordsets", "a-1", None, "Programmed").starts_with("True"));
        let held = braked(&scene, if paused { OPEN } else { never });
        assert_eq!(changes(&held), Vec::<String>::new(), "nothing is written twice");
        pause(&mut scene, "false");
        let plan = braked(&scene, OPEN);
        assert!(changes(&plan).contains(&"delete a.test. n00.a.test. A".to_owned()));
        scene.rest();
        assert!(!finalized(&scene, "dnsrecordsets", "a-0"));
        let noted = scene.pdns("a.test.").rrsets.values().filter(|r| !r.comments.is_empty());
        assert_eq!(noted.count(), 3);
    }
}

#[test]
fn a_hold_is_let_through_by_its_digest() {
    let mut scene = scene(&[("a", 8)]);
    vanish(&mut scene, "a", 4);
    let brakes = Brakes { implicit_percent: 30, ..OPEN };
    let plan = braked(&scene, brakes);
    let hold = plan.holds[0].clone();
    let digest = hold.digest.clone().unwrap();
    let message = format!(
        "4 of 10 RRsets of a.test. have lost their objects: n00.a.test. A, n01.a.test. A, n02.a.test. A and 1 more; \
         digest {digest}"
    );
    assert_eq!((hold.message(), digest.len()), (message, 12));
    let released = Released::digests(&BTreeSet::from([digest]));
    let plan = brake(scene.plan(), &scene.world.snapshot(), brakes, &released);
    assert_eq!(
        (plan.holds.len(), plan.let_through, changes(&scene.plan()).len()),
        (0, vec![hold], 4)
    );
    // Three are spelled out without more.
    scene.set("a-0", "a", "A", &[("n00", "192.0.2.1")]);
    let three = braked(&scene, Brakes { implicit_total: 2, ..OPEN });
    assert!(
        three.holds[0].message().contains(": n01.a.test. A, n02.a.test. A, n03.a.test. A; digest ")
    );
}

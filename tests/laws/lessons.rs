//! What must be the same for a failure to be known again, and what else a pass teaches the next: crashes, releases, marks.

use std::collections::BTreeMap;

use dns_syncd::plan::batch::Limits;
use dns_syncd::plan::release::Released;
use dns_syncd::plan::{Applied, Failure, Outcome, Plan, Proof, ZoneStep};

use crate::plans::carry_out;
use crate::remembering::{A, learn, pass, recalled, refused, scene, stopped};
use crate::scenario::name;
use crate::scene::{Scene, all_done, all_failed};

#[test]
fn a_batch_that_the_server_dies_of_twice_goes_name_by_name() {
    let mut scene = scene();
    scene.declare("a-s", &[("www", "192.0.2.2"), ("ftp", "192.0.2.2")]);
    let crashed = |plan: &Plan| {
        let mut applied = stopped(plan);
        let zone = applied.zones.get_mut(&name(A)).unwrap();
        zone.crashed = plan.zones[&name(A)].names.keys().cloned().collect();
        applied
    };
    let singly = |scene: &Scene| recalled(scene, 0).zones[&name(A)].known.singly.len();
    pass(&mut scene, 0, crashed);
    assert_eq!(singly(&scene), 0);
    pass(&mut scene, 1_000, crashed);
    assert_eq!(singly(&scene), 2);
    pass(&mut scene, 3_000, stopped);
    assert_eq!(singly(&scene), 0, "it did not die of it");
    pass(&mut scene, 7_000, crashed);
    assert_eq!(singly(&scene), 0);
    // Once the name is found the others do not wait.
    pass(&mut scene, 20_000, |plan| {
        let mut applied = crashed(plan);
        let zone = applied.zones.get_mut(&name(A)).unwrap();
        let failure = Failure::Unknown("gone".to_owned());
        zone.isolated.insert(name("www.a.test."), (None, failure));
        applied
    });
    assert_eq!(scene.memory.backed_off(), (0, 1));
}

/// What stands alone goes ahead alone, and is no part of what failed; so is a type that was done.
#[test]
fn only_what_failed_must_be_the_same_to_be_known() {
    let mut scene = scene();
    scene.set("txt", "a", "TXT", &[("www", "x")]);
    scene.declare("a-s", &[("www", "192.0.2.2"), ("ftp", "192.0.2.1")]);
    pass(&mut scene, 0, |plan| {
        let mut applied = refused(plan, "www.a.test.");
        let keys = &mut applied.zones.get_mut(&name(A)).unwrap().keys;
        let (_, txt) = keys.iter_mut().find(|((_, t), _)| t.as_str() == "TXT").unwrap();
        *txt = Outcome::Done(Proof::of(200).unwrap());
        applied
    });
    assert!(
        recalled(&scene, 1).zones[&name(A)].known.names.is_empty(),
        "the TXT is yet to be read"
    );
    let mut txt = scene.plan();
    txt.zones.retain(|_, zone| {
        zone.names.get_mut(&name("www.a.test.")).is_some_and(|c| {
            c.types.retain(|t, _| t.as_str() == "TXT");
            true
        })
    });
    let before = scene.memory.clone();
    carry_out(&mut scene.world, &txt, Limits { rrsets: 9, bytes: 9_999 }).unwrap();
    assert_eq!(recalled(&scene, 1).zones[&name(A)].known.names.len(), 1);
    // A delete that its writer asked for stands alone.
    scene.memory = before;
    scene.edit("dnsrecordsets", "txt", |set| set["spec"]["records"] = serde_json::json!([]));
    let plan = recalled(&scene, 1);
    assert_eq!(plan.zones[&name(A)].names[&name("www.a.test.")].types.len(), 2);
    assert_eq!(plan.zones[&name(A)].known.names.len(), 1);
    // What a set with another version of the server wants is not known to fail.
    let mut plan = scene.plan();
    scene.memory.recall(&mut plan, None, 1);
    assert!(plan.zones[&name(A)].known.names.is_empty());
}

#[test]
fn a_release_ends_when_it_is_carried_out_in_all_its_zones() {
    let mut scene = scene();
    scene.policy.brakes.implicit_total = 0;
    let none = scene.policy.brakes;
    for set in ["a-s", "b-s"] {
        scene.vanish("dnsrecordsets", set);
    }
    scene.set("other", "a", "A", &[("x", "192.0.2.1")]);
    let braked = |scene: &Scene| {
        let plan = scene.plan();
        dns_syncd::plan::brake(plan, &scene.world.snapshot(), none, &scene.memory.released)
    };
    let hold = braked(&scene).holds[0].clone();
    scene.memory.released.grant(Released::holds([hold].iter()), 0);
    let plan = braked(&scene);
    assert_eq!((plan.holds.len(), plan.let_through.len()), (0, 1));
    let snapshot = scene.world.snapshot();
    let fails = |only: &str| {
        let mut applied = all_done(&plan);
        for zone in applied.zones.values_mut() {
            let keys = zone.keys.iter_mut().filter(|((name, _), _)| name.as_str() == only);
            keys.for_each(|(_, o)| *o = Outcome::Failed(Failure::Status(500)));
        }
        applied
    };
    learn(&mut scene, &snapshot, &plan, &fails("www.b.test."), 1);
    assert!(braked(&scene).holds.is_empty());
    learn(&mut scene, &snapshot, &plan, &all_failed(&plan, &Failure::Status(500)), 1);
    assert!(braked(&scene).holds.is_empty());
    // Struck out of the plan, since it could not be proved, it was not carried out either.
    let mut struck = plan.clone();
    struck.zones.get_mut(&name(A)).unwrap().names.remove(&name("www.a.test."));
    learn(&mut scene, &snapshot, &struck, &all_done(&struck), 1);
    assert!(braked(&scene).holds.is_empty());
    // What fails beside it has not been let through.
    learn(&mut scene, &snapshot, &plan, &fails("x.a.test."), 1);
    assert_eq!(braked(&scene).holds.len(), 1);
}

#[test]
fn a_mark_is_known_from_when_it_was_acknowledged() {
    let mut scene = Scene::new();
    scene.made(A, "");
    scene.zone("a", "a.test", "ours");
    pass(&mut scene, 5, |plan| {
        assert!(matches!(plan.zones[&name(A)].step, ZoneStep::Mark { .. }));
        let mut applied = all_done(plan);
        applied.zones.get_mut(&name(A)).unwrap().marked_at = Some(4);
        applied
    });
    assert_eq!(scene.memory.marks, BTreeMap::from([(name(A), 4)]));
    scene.world.pdns.zones.remove(A);
    scene.vanish("dnszones", "a");
    pass(&mut scene, 6, |_| Applied::default());
    assert!(scene.memory.marks.is_empty());
}

/// Two deletes are not one.
#[test]
fn a_further_delete_at_a_name_is_another_matter() {
    let mut scene = scene();
    scene.set("txt", "a", "TXT", &[("www", "x")]);
    scene.rest();
    scene.declare("a-s", &[("ftp", "192.0.2.1")]);
    pass(&mut scene, 0, |plan| refused(plan, "www.a.test."));
    let known = |scene: &Scene| recalled(scene, 1).zones[&name(A)].known.names.len();
    assert_eq!(known(&scene), 1);
    scene.edit("dnsrecordsets", "txt", |set| set["spec"]["records"] = serde_json::json!([]));
    assert_eq!(known(&scene), 0);
}

#[test]
fn an_orphan_is_untold_until_somebody_was_told_of_it() {
    let mut scene = scene();
    scene.made("o.test.", &Scene::mark("gone"));
    let (plan, snapshot) = (scene.plan(), scene.world.snapshot());
    let untold = |scene: &Scene| scene.memory.untold(&plan, &snapshot);
    let orphan = ("o.test.".to_owned(), Scene::mark("gone"));
    assert_eq!(untold(&scene), [orphan.clone()].into());
    scene.memory.told(&plan, &["other.test.".to_owned()].into());
    assert_eq!(untold(&scene), [orphan.clone()].into());
    scene.memory.told(&plan, &[orphan.0].into());
    assert_eq!(untold(&scene), [].into());
}

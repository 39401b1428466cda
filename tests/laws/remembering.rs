//! What one pass leaves for the next, to the millisecond: waits, what rests, what keeps its word, what is given up.

use std::collections::BTreeMap;

use dns_syncd::plan::memory::{Lesson, Trouble};
use dns_syncd::plan::prints::Prints;
use dns_syncd::plan::snapshot::Look;
use dns_syncd::plan::{Applied, Failure, Memory, Outcome, Plan, Proof, Snapshot};

use crate::scenario::name;
use crate::scene::{NOW, Scene, all_done, all_failed, uid};

pub const A: &str = "a.test.";

/// Two zones of one set each, all served.
pub fn scene() -> Scene {
    let mut scene = Scene::new();
    for zone in ["a", "b"] {
        scene.zone(zone, &format!("{zone}.test"), "ours");
        scene.set(&format!("{zone}-s"), zone, "A", &[("www", "192.0.2.1"), ("ftp", "192.0.2.1")]);
    }
    scene.rest();
    scene
}

/// Takes in a pass; each wait is the longest that it may be.
pub fn learn(scene: &mut Scene, snapshot: &Snapshot, plan: &Plan, applied: &Applied, now: u64) {
    let settled = dns_syncd::plan::settle(plan, applied, NOW);
    let lesson =
        Lesson { snapshot, prints: &Prints::default(), plan, applied, aftermath: &settled };
    scene.memory.learn(lesson, now, || 1.0);
}

/// A pass with these answers, which changes nothing.
pub fn pass(scene: &mut Scene, now: u64, answer: impl FnOnce(&Plan) -> Applied) {
    let snapshot = scene.world.snapshot();
    let plan = recalled(scene, now);
    let applied = answer(&plan);
    learn(scene, &snapshot, &plan, &applied, now);
}

/// The plan with what is remembered.
pub fn recalled(scene: &Scene, now: u64) -> Plan {
    let mut plan = scene.plan();
    let version = scene.world.snapshot().server.capabilities.map(|c| c.version);
    scene.memory.recall(&mut plan, version, now);
    plan
}

pub fn stopped(plan: &Plan) -> Applied {
    let mut applied = all_failed(plan, &Failure::Status(500));
    applied.zones.values_mut().for_each(|zone| zone.stopped = true);
    applied
}

#[test]
fn a_server_is_asked_again_within_two_seconds_and_forgets_what_it_made_fail() {
    let mut scene = scene();
    scene.declare("a-s", &[("www", "192.0.2.2")]);
    pass(&mut scene, 0, stopped);
    assert_eq!(scene.memory.backed_off(), (1, 0));
    scene.world.pdns.unlisted = true;
    for (now, wait) in [(100, 900), (200, 800), (5_000, 0)] {
        pass(&mut scene, now, |_| Applied::default());
        assert_eq!(scene.memory.wait(now), Some(wait), "the zone is the first to be due");
    }
    assert_eq!(scene.memory.turn, 4);
    scene.memory.forget(|_| true);
    assert_eq!(scene.memory.wait(10_000), Some(50_100), "the end of grace");
    for (now, wait) in [(10_000, 1_000), (20_000, 2_000), (30_000, 2_000)] {
        pass(&mut scene, now, |_| Applied::default());
        assert_eq!(scene.memory.wait(now), Some(wait));
    }
    let server = scene.memory.troubles(30_500);
    assert_eq!((server.len(), server[0].what, server[0].next_try_milliseconds), (1, "read", 1_500));
    assert_eq!((server[0].failures, &server[0].zone), (3, &None));
    scene.world.pdns.unlisted = false;
    pass(&mut scene, 40_000, |_| Applied::default());
    assert_eq!((scene.memory.wait(40_000), scene.memory.backed_off()), (None, (0, 0)));
}

#[test]
fn a_server_that_is_back_clears_what_its_zones_failed_of() {
    let mut scene = scene();
    scene.world.pdns.unread.insert(A.to_owned());
    scene.declare("b-s", &[("www", "192.0.2.2")]);
    pass(&mut scene, 0, stopped);
    assert_eq!(scene.memory.backed_off(), (2, 0));
    scene.world.pdns.unlisted = true;
    pass(&mut scene, 1, |_| Applied::default());
    (scene.world.pdns.unlisted, scene.world.pdns.unread) = Default::default();
    pass(&mut scene, 2, |_| Applied::default());
    assert_eq!((scene.memory.backed_off(), scene.memory.wait(2)), ((0, 0), None));
}

#[test]
fn a_zone_that_cannot_be_read_rests_for_longer_each_time() {
    let mut scene = scene();
    scene.world.pdns.unread.insert(A.to_owned());
    let mut now = 0;
    for wait in [1_000, 2_000, 4_000] {
        pass(&mut scene, now, |_| Applied::default());
        assert_eq!(scene.memory.wait(now), Some(wait));
        assert!(scene.memory.resting(now + wait).is_empty());
        let resting = scene.memory.resting(now + wait - 1);
        assert_eq!(
            resting.into_iter().collect::<Vec<_>>(),
            [(name(A), "it answers 500".to_owned())]
        );
        now += wait;
    }
    let trouble = Trouble {
        zone: Some(name(A)),
        name: None,
        rtype: None,
        what: "read",
        why: Some("it answers 500".to_owned()),
        failures: 3,
        next_try_milliseconds: 1,
    };
    assert_eq!(scene.memory.troubles(now - 1), [trouble]);
    // It was not asked, so it did not fail.
    let mut resting = scene.world.snapshot();
    let zones = resting.server.zones.as_mut().unwrap();
    zones.get_mut(&name(A)).unwrap().look = Look::Resting;
    let plan = scene.plan();
    learn(&mut scene, &resting, &plan, &Applied::default(), now);
    assert_eq!(scene.memory.troubles(now)[0].failures, 3);
    scene.memory.forget(|zone| *zone == name("b.test."));
    assert_eq!(scene.memory.backed_off(), (1, 0));
    scene.memory.forget(|zone| *zone == name(A));
    assert_eq!(scene.memory.backed_off(), (0, 0));
    pass(&mut scene, now, |_| Applied::default());
    assert_eq!(scene.memory.troubles(now)[0].failures, 1);
    // A zone that is gone has no trouble.
    scene.world.pdns.zones.remove(A);
    pass(&mut scene, now, |_| Applied::default());
    assert_eq!(scene.memory.wait(now), None);
}

/// A minute from the first pass that could not read.
#[test]
fn what_was_proven_keeps_its_word_for_a_minute() {
    let mut scene = scene();
    pass(&mut scene, 0, |_| Applied::default());
    scene.pdns(A).kind = "Slave".to_owned();
    let keeps =
        |scene: &Scene, now: u64| recalled(scene, now).keeping.into_iter().collect::<Vec<_>>();
    assert_eq!(keeps(&scene, 99), ["u-a-s"], "nothing is remembered of the outage yet");
    pass(&mut scene, 100, |_| Applied::default());
    assert_eq!(scene.memory.wait(100), Some(60_000));
    assert_eq!(scene.memory.wait(60_099), Some(1));
    assert_eq!(scene.memory.wait(60_100), None);
    assert_eq!((keeps(&scene, 60_099), keeps(&scene, 60_100)), (vec![uid("a-s")], vec![]));
    // It goes on from the first time.
    pass(&mut scene, 50_000, |_| Applied::default());
    assert_eq!((keeps(&scene, 60_099), keeps(&scene, 60_100)), (vec![uid("a-s")], vec![]));
    // An edit has not been proven.
    let before = scene.clone();
    scene.declare("a-s", &[("www", "192.0.2.9")]);
    assert!(keeps(&scene, 200).is_empty());
    scene = before;
    // A list that cannot be had begins the minute for all, and a zone that stays unread goes on with it.
    scene.memory = Memory::default();
    scene.pdns(A).kind = "Native".to_owned();
    pass(&mut scene, 0, |_| Applied::default());
    scene.world.pdns.unlisted = true;
    assert_eq!(keeps(&scene, 1), ["u-a-s", "u-b-s"]);
    pass(&mut scene, 1_000, |_| Applied::default());
    assert_eq!((keeps(&scene, 60_999).len(), keeps(&scene, 61_000).len()), (2, 0));
    scene.world.pdns.unlisted = false;
    scene.pdns(A).kind = "Slave".to_owned();
    pass(&mut scene, 30_000, |_| Applied::default());
    assert_eq!((keeps(&scene, 60_999), keeps(&scene, 61_000)), (vec![uid("a-s")], vec![]));
    // Read again, a zone begins anew.
    scene.pdns(A).kind = "Native".to_owned();
    pass(&mut scene, 40_000, |_| Applied::default());
    scene.pdns(A).kind = "Slave".to_owned();
    pass(&mut scene, 50_000, |_| Applied::default());
    assert_eq!((keeps(&scene, 109_999).len(), keeps(&scene, 110_000).len()), (1, 0));
}

#[test]
fn what_was_not_proven_keeps_nothing() {
    let mut scene = scene();
    scene.world.pdns.unread.insert(A.to_owned());
    pass(&mut scene, 0, |_| Applied::default());
    assert!(recalled(&scene, 1).keeping.is_empty());
    scene.world.pdns.unread.clear();
    scene.declare("a-s", &[("www", "192.0.2.2")]);
    pass(&mut scene, 2, |plan| all_failed(plan, &Failure::Status(500)));
    scene.world.pdns.unread.insert(A.to_owned());
    assert!(recalled(&scene, 3).keeping.is_empty(), "it was not served when it was last read");
}

#[test]
fn a_zone_that_fails_rests_until_its_time_or_until_something_else_is_wanted() {
    let mut scene = scene();
    scene.declare("a-s", &[("www", "192.0.2.2"), ("ftp", "192.0.2.1")]);
    let mut now = 0;
    for wait in [1_000, 2_000] {
        pass(&mut scene, now, stopped);
        assert_eq!(scene.memory.wait(now), Some(wait));
        let known = |now: u64| recalled(&scene, now).zones[&name(A)].known.zone.clone();
        let said = known(now + wait - 1).unwrap();
        assert!(said.remembered && said.stopped && said.keys.len() == 1);
        assert_eq!(known(now + wait), None);
        now += wait;
    }
    let trouble = &scene.memory.troubles(now)[0];
    assert_eq!((trouble.what, trouble.failures, trouble.next_try_milliseconds), ("write", 2, 0));
    assert_eq!((&trouble.zone, &trouble.why), (&Some(name(A)), &None));
    let mut other = scene.clone();
    other.declare("a-s", &[("www", "192.0.2.3"), ("ftp", "192.0.2.1")]);
    assert_eq!(recalled(&other, 0).zones[&name(A)].known.zone, None);
    // What is remembered teaches nothing.
    pass(&mut scene, 0, |plan| {
        let known = plan.zones[&name(A)].known.zone.clone().unwrap();
        Applied { zones: BTreeMap::from([(name(A), known)]) }
    });
    assert_eq!(scene.memory.troubles(0)[0].failures, 2);
    // A zone that gets on, if only in pieces, does not wait for longer each time.
    scene.declare("a-s", &[("www", "192.0.2.2"), ("ftp", "192.0.2.2")]);
    pass(&mut scene, now, |plan| {
        let mut applied = stopped(plan);
        let keys = &mut applied.zones.get_mut(&name(A)).unwrap().keys;
        *keys.values_mut().next().unwrap() = Outcome::Done(Proof::of(200).unwrap());
        applied
    });
    assert_eq!((scene.memory.wait(now), scene.memory.troubles(now)[0].failures), (Some(1_000), 1));
    let known = &recalled(&scene, now).zones[&name(A)].known;
    assert!(known.zone.is_none(), "what was done is wanted no more by then");
    scene.memory.forget(|zone| *zone != name(A));
    assert_eq!(scene.memory.backed_off(), (1, 0));
    scene.memory.forget(|zone| *zone == name(A));
    assert_eq!(scene.memory.backed_off(), (0, 0));
    pass(&mut scene, now, stopped);
    pass(&mut scene, now, all_done);
    assert_eq!(scene.memory.backed_off(), (0, 0));
    pass(&mut scene, now, stopped);
    pass(&mut scene, now, |_| Applied::default());
    assert_eq!(scene.memory.backed_off(), (0, 0), "nothing was to be written any more");
}

/// Answers in which one name was refused alone.
pub fn refused(plan: &Plan, owner: &str) -> Applied {
    let mut applied = all_done(plan);
    let zone = applied.zones.get_mut(&name(A)).unwrap();
    let failure = Failure::Refused("no".to_owned());
    for ((name, rtype), outcome) in &mut zone.keys {
        if name.as_str() == owner {
            *outcome = Outcome::Failed(failure.clone());
            zone.isolated.insert(name.clone(), (Some(*rtype), failure.clone()));
            zone.acked.remove(&(name.clone(), *rtype));
        }
    }
    applied
}

#[test]
fn a_refused_name_rests_alone_and_is_sent_alone_afterwards() {
    const WWW: &str = "www.a.test.";
    let mut scene = scene();
    scene.declare("a-s", &[("www", "192.0.2.2"), ("ftp", "192.0.2.1")]);
    let mut now = 0;
    for wait in [1_000, 2_000] {
        pass(&mut scene, now, |plan| refused(plan, WWW));
        assert_eq!((scene.memory.backed_off(), scene.memory.wait(now)), ((0, 1), None));
        let known = recalled(&scene, now + wait - 1).zones[&name(A)].known.clone();
        let (rtype, failure) = &known.names[&name(WWW)];
        assert_eq!((rtype.unwrap().as_str(), failure), ("A", &Failure::Refused("no".to_owned())));
        assert!(known.singly.is_empty() && known.in_vain.is_empty());
        let known = recalled(&scene, now + wait).zones[&name(A)].known.clone();
        assert!(known.names.is_empty() && known.singly.contains(&name(WWW)));
        now += wait;
    }
    let trouble = &scene.memory.troubles(now - 500)[0];
    let why = "The DNS record was rejected as invalid. Check the record type and value: no";
    assert_eq!((trouble.name.clone(), trouble.why.as_deref()), (Some(name(WWW)), Some(why)));
    assert_eq!((trouble.failures, trouble.next_try_milliseconds, trouble.what), (2, 500, "write"));
    assert_eq!((trouble.rtype.unwrap().as_str(), &trouble.zone), ("A", &Some(name(A))));
    // Somebody who asks has it tried at once; it goes on being known.
    let mut other = scene.clone();
    other.memory.forget(|_| true);
    assert_eq!(other.memory.backed_off(), (0, 0));
    // Another content is tried at once, and counts anew.
    scene.declare("a-s", &[("www", "192.0.2.3"), ("ftp", "192.0.2.1")]);
    let known = recalled(&scene, 0).zones[&name(A)].known.clone();
    assert!(known.names.is_empty() && known.singly.is_empty());
    pass(&mut scene, 0, |plan| refused(plan, WWW));
    assert_eq!(scene.memory.troubles(0)[0].failures, 1);
    // Nothing is forgotten while the name is not even tried, nor while nothing can be decided.
    pass(&mut scene, 500, |plan| {
        let mut applied = all_done(plan);
        applied.zones.get_mut(&name(A)).unwrap().keys.clear();
        applied
    });
    scene.world.pdns.unread.insert(A.to_owned());
    pass(&mut scene, 600, |_| Applied::default());
    assert_eq!(scene.memory.backed_off(), (1, 1));
    scene.world.pdns.unread.clear();
    pass(&mut scene, 1_000, all_done);
    assert_eq!(scene.memory.backed_off(), (0, 0));
    pass(&mut scene, 1_000, |plan| refused(plan, WWW));
    scene.declare("a-s", &[("www", "192.0.2.1"), ("ftp", "192.0.2.1")]);
    pass(&mut scene, 1_001, |_| Applied::default());
    assert_eq!(scene.memory.backed_off(), (0, 0), "it is right by now");
}

#[test]
fn what_is_acknowledged_three_times_without_being_read_is_in_vain() {
    const WWW: &str = "www.a.test.";
    let mut scene = scene();
    scene.declare("a-s", &[("www", "192.0.2.2"), ("ftp", "192.0.2.1")]);
    for now in 0..2 {
        pass(&mut scene, now, all_done);
        assert_eq!(scene.memory.in_vain(), 0);
    }
    // Another content is another matter.
    let mut other = scene.clone();
    other.declare("a-s", &[("www", "192.0.2.3"), ("ftp", "192.0.2.1")]);
    pass(&mut other, 2, all_done);
    assert_eq!(other.memory.in_vain(), 0);
    pass(&mut scene, 2, all_done);
    assert_eq!((scene.memory.in_vain(), scene.memory.backed_off()), (1, (0, 1)));
    let why = "A is to be 300 192.0.2.2 and reads 300 192.0.2.1".to_owned();
    let known = |scene: &Scene, now| recalled(scene, now).zones[&name(A)].known.clone();
    assert_eq!(known(&scene, 1_001).names[&name(WWW)], (None, Failure::InVain(why.clone())));
    let due = known(&scene, 1_002);
    assert_eq!((due.names.len(), &due.in_vain[&name(WWW)]), (0, &Failure::InVain(why.clone())));
    // Who asks has it tried, and it goes on counting; what was said stays although something else is read by now.
    scene.memory.forget(|_| true);
    assert_eq!((scene.memory.in_vain(), known(&scene, 0).in_vain.len()), (1, 1));
    scene.store(A, WWW, "A", &["192.0.2.77"]).ttl = 60;
    pass(&mut scene, 1_002, all_done);
    assert_eq!(known(&scene, 1_003).names[&name(WWW)], (None, Failure::InVain(why)));
}

#[test]
fn deletes_notes_and_steps_can_be_in_vain_as_well() {
    let mut scene = scene();
    scene.declare("a-s", &[("www", "192.0.2.1")]);
    let rrsets = &mut scene.pdns("b.test.").rrsets;
    rrsets.get_mut(&("www.b.test.".to_owned(), "A".to_owned())).unwrap().comments.clear();
    scene.zone("c", "c.test", "ours");
    for now in 0..3 {
        assert!(!recalled(&scene, now).zones[&name("c.test.")].known.step_in_vain);
        pass(&mut scene, now, all_done);
    }
    let plan = recalled(&scene, 3);
    let why = |zone: &str, owner: &str| match &plan.zones[&name(zone)].known.names[&name(owner)] {
        (None, Failure::InVain(why)) => why.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(why(A, "ftp.a.test."), "A is to go and reads 300 192.0.2.1");
    assert_eq!(why("b.test.", "www.b.test."), "the note on A is not kept");
    let reads = "NS is to be 3600 ns1.example.net. | ns2.example.net. and reads nothing";
    let soa = "SOA is to be 3600 ns1.example.net. hostmaster.c.test. 0 10800 3600 604800 3600 and reads nothing";
    let said = why("c.test.", "c.test.");
    assert!(said == reads || said == soa, "{said}");
    assert!(plan.zones[&name("c.test.")].known.step_in_vain);
    // It rests meanwhile, and what an acknowledgement says of it is no proof.
    let rests = plan.zones[&name("c.test.")].known.zone.as_ref().map(|z| z.zone.clone());
    let in_vain = |z: &Option<Outcome>| matches!(z, Some(Outcome::Failed(Failure::InVain(_))));
    assert!(rests.as_ref().is_some_and(in_vain), "{rests:?}");
    // A step that was not acknowledged does not count, and one that is over is forgotten.
    pass(&mut scene, 3, |_| Applied::default());
    assert!(!recalled(&scene, 3).zones[&name("c.test.")].known.step_in_vain);
}

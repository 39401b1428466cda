//! Laws of whole passes: the product against both models, until it comes to rest.

use std::cell::RefCell;

use dns_syncd::plan::Memory;
use proptest::prelude::*;

use crate::edits::{Edit, apply, edits};
use crate::law;
use crate::oracle;
use crate::rig::Rig;
use crate::scenario::{OWNER, Scenario, scenario, without_serial};
use crate::scene::{Scene, place};
use crate::vocabulary::note_of;
use crate::world::{Trouble, World};

/// One run: a world, what happens once it is at rest, what goes wrong then, and how large requests may be.
type Run = (Scenario, Vec<Edit>, Option<(Trouble, usize)>, usize);

fn run() -> impl Strategy<Value = Run> {
    let trouble = prop_oneof![
        3 => Just(Trouble::Killed), 2 => Just(Trouble::PowerDnsDown), 1 => Just(Trouble::ClusterDown),
        2 => Just(Trouble::AnswerLost), 2 => Just(Trouble::Touched), 2 => Just(Trouble::Unread),
    ];
    let trouble = proptest::option::weighted(0.7, (trouble, 0..8_usize));
    (scenario(true), edits(true), trouble, prop_oneof![1..4_usize, Just(500_usize)])
}

/// Makes the passes of a run and gives what was seen against one law.
fn watched(
    rig: &mut Rig,
    (scenario, edits, trouble, rrsets): &Run,
    law: &str,
) -> Result<(), TestCaseError> {
    rig.load(&scenario.build(), *rrsets);
    rig.disturb(*trouble);
    rig.pass();
    rig.disturb(None);
    rig.pass();
    rig.pass();
    {
        let mut world = rig.world();
        apply(edits, &mut world);
    }
    rig.disturb(*trouble);
    rig.pass();
    rig.disturb(None);
    rig.pass();
    let seen: Vec<String> = rig
        .world()
        .violations
        .iter()
        .filter(|(l, _)| *l == law)
        .map(|(_, text)| text.clone())
        .collect();
    prop_assert!(seen.is_empty(), "{}", seen.join("\n"));
    Ok(())
}

fn watched_law(cases: u32, name: &str) {
    let rig = RefCell::new(Rig::new());
    law(cases, &run(), |run| watched(&mut rig.borrow_mut(), &run, name));
}

/// A law between a world and what passes make of it until they come to rest, at first and after edits.
fn at_rest_law(check: impl Fn(&World, &World) -> Result<(), TestCaseError>) {
    let rig = RefCell::new(Rig::new());
    law(50, &(scenario(true), edits(true)), |(scenario, edits)| {
        let mut rig = rig.borrow_mut();
        let mut before = scenario.build();
        for edits in [&[] as &[Edit], &edits] {
            apply(edits, &mut before);
            rig.load(&before, 500);
            rig.rest()?;
            let after = rig.world().clone();
            check(&before, &after)?;
            before = after;
        }
        Ok(())
    });
}

/// Once passes have come to rest, what the oldest valid claimant of each name declares is what is served, with its note,
/// and nothing is left of writers that are gone or have lost the name.
#[test]
fn applying_the_diff_gives_the_desired_state() {
    at_rest_law(|before, after| {
        let wrong = oracle::desired_state(before, after);
        let said = wrong.join("\n");
        prop_assert!(wrong.is_empty(), "{said}\nfrom {:#?}\nto {:#?}", before.pdns, after.pdns);
        Ok(())
    });
}

/// A pass after which nothing failed and no object vanished leaves nothing to do: the next writes nothing, anywhere.
#[test]
fn second_diff_is_empty() {
    let rig = RefCell::new(Rig::new());
    law(50, &(scenario(true), edits(true)), |(scenario, edits)| {
        let mut rig = rig.borrow_mut();
        rig.load(&scenario.build(), 500);
        rig.rest()?;
        apply(&edits, &mut rig.world());
        loop {
            let objects = rig.world().cluster.objects.len();
            let summary = rig.pass().unwrap();
            if rig.world().done.is_empty() {
                return Ok(());
            }
            if summary.zones_marked == 0
                && summary.failed.is_empty()
                && rig.world().cluster.objects.len() == objects
            {
                let did = rig.world().writes.clone();
                rig.pass();
                let again = &rig.world().writes;
                prop_assert!(again.is_empty(), "again {again:#?}\nafter {did:#?}");
            }
        }
    });
}

/// Killed after any request, or left without an answer, or with objects touched meanwhile: new passes end where an
/// undisturbed one does.
#[test]
fn any_prefix_then_a_new_pass_converges() {
    let rig = RefCell::new(Rig::new());
    let disturbed = run().prop_filter_map("a run with trouble", |(s, e, t, n)| Some((s, e, t?, n)));
    law(50, &disturbed, |(scenario, edits, trouble, rrsets)| {
        let mut rig = rig.borrow_mut();
        rig.load(&scenario.build(), rrsets);
        rig.rest()?;
        let mut start = rig.world().clone();
        apply(&edits, &mut start);
        rig.load(&start, rrsets);
        rig.rest()?;
        let undisturbed = rig.world().clone();

        rig.load(&start, rrsets);
        rig.disturb(Some(trouble));
        rig.pass();
        rig.disturb(None);
        rig.syncer.memory = tokio::sync::Mutex::new(Memory::default());
        rig.rest()?;
        let end = rig.world().clone();
        let zones = |w: &World| -> Vec<_> {
            w.pdns.zones.iter().map(|(n, z)| (n.clone(), without_serial(z))).collect()
        };
        prop_assert_eq!(zones(&end), zones(&undisturbed));
        let objects = |w: &World| -> Vec<_> { w.cluster.objects.keys().cloned().collect() };
        prop_assert_eq!(objects(&end), objects(&undisturbed));
        Ok(())
    });
}

/// All changes of a name go in one request: between any two requests it is as it was, or as it will be.
#[test]
fn between_batches_a_name_is_old_or_new() {
    watched_law(40, "old or new");
}

/// An object loses our finalizer only when nothing that carries its uid, or its mark, is left where it may be deleted.
#[test]
fn released_means_gone() {
    watched_law(40, "released");
}

/// `Programmed=True` is said only of what is served at that moment.
#[test]
fn true_means_served() {
    watched_law(40, "true");
}

/// No note is written for an object that has not our finalizer, its owner reference and `Accepted` yet.
#[test]
fn objects_are_secured_before_the_first_write() {
    watched_law(40, "secured first");
}

/// No request is of a kind that servers should never see: an emptied RRset, a serial that goes down, a finalizer on what
/// is being deleted, a status with one key twice.
#[test]
fn nothing_is_sent_that_no_server_should_see() {
    watched_law(40, "strict");
}

/// A short API key can be part of a name or a value. The rig's is `key`, and what it says is not to be shown is contents
/// all the same: else a zone reads as absent, and what it holds as somebody else's or gone.
#[test]
fn a_key_in_what_is_read_is_contents() {
    let mut scene = Scene::new();
    scene.zone("k", "key.test", "ours");
    scene.zone("a", "a.test", "ours");
    scene.set("t", "k", "TXT", &[("www", "monkey")]);
    scene.set("s", "a", "A", &[("key", "192.0.2.1")]);
    let mut rig = Rig::new();
    rig.load(&scene.world, 500);
    rig.pass();
    let summary = rig.pass().unwrap();
    assert!(summary.clean() && rig.world().writes.is_empty(), "{summary:#?}");
    rig.world().cluster.delete(&place("dnsrecordsets", "s"));
    rig.pass();
    let world = rig.world();
    let stored = world.pdns.zones["a.test."].at("key.a.test.").len();
    let there = world.cluster.objects.contains_key(&place("dnsrecordsets", "s"));
    assert_eq!((stored, there), (0, false));
}

/// What others wrote stays as it is, to the last byte: what nobody declares and no object of ours accounts for, what
/// carries another owner's note, and every comment that is not ours, with its time.
#[test]
fn foreign_data_is_never_touched() {
    at_rest_law(|before, after| {
        let touched = touched(before, after);
        prop_assert!(touched.is_empty(), "{}", touched.join("\n"));
        Ok(())
    });
}

fn touched(before: &World, after: &World) -> Vec<String> {
    let mut out = Vec::new();
    for (apex, old) in &before.pdns.zones {
        let others = |r: &crate::model::Rrset| note_of(r).is_some_and(|(owner, _)| owner != OWNER);
        let Some(new) = after.pdns.zones.get(apex) else {
            let deleted = before
                .cluster
                .of("dnszones")
                .any(|z| oracle::domain(z) == *apex && oracle::terminating(z));
            let kept = old.rrsets.values().any(others)
                || !(old.account.is_empty() || old.account.starts_with("ds:"));
            if !deleted || kept {
                out.push(format!("zone {apex} was deleted"));
            }
            continue;
        };
        if old.account != new.account && !(old.account.is_empty() || old.account.starts_with("ds:"))
        {
            out.push(format!("the account of {apex} was overwritten"));
        }
        let (old, new) = (without_serial(old), without_serial(new));
        for (key, was) in &old.rrsets {
            let is = new.rrsets.get(key);
            let foreign = |r: &crate::model::Rrset| -> Vec<_> {
                r.comments.iter().filter(|c| c.account != "dns-syncd").cloned().collect()
            };
            if is.is_some_and(|is| foreign(is) != foreign(was)) {
                out.push(format!("{key:?}: comments of others changed from {was:?} to {is:?}"));
            }
            let (name, rtype) = (&key.0, key.1.as_str());
            let nobodys = note_of(was).is_none() && !oracle::accounted(before, apex, name, rtype);
            if (nobodys || others(was)) && is != Some(was) {
                out.push(format!("{key:?} is not ours and became {is:?} from {was:?}"));
            }
        }
    }
    out
}

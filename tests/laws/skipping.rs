//! Leaving zones unread changes nothing: of two daemons in equal worlds, one that reads every zone and one that leaves out
//! what has not changed, both write the same and say the same after each pass.

use std::cell::RefCell;

use dns_syncd::plan::summary::Summary;
use proptest::prelude::*;
use serde_json::Value;

use crate::edits::{Edit, apply, edits};
use crate::law;
use crate::rig::Rig;
use crate::scenario::{DOMAINS, scenario};
use crate::world::World;

/// Longer than any of these worlds lasts.
const INTERVAL: u64 = 100_000_000;

/// Objects and zones as far as both worlds can agree: versions and times are each API server's own.
fn everything(world: &World) -> String {
    let objects = world.cluster.objects.iter().filter(|(place, _)| place.0 != "events");
    let objects = objects.map(|(place, object)| {
        let mut object = object.clone();
        object["metadata"]["resourceVersion"] = Value::Null;
        without_times(&mut object);
        format!("{place:?} {object:#}\n")
    });
    let zones = world.pdns.zones.iter();
    let zones = zones.map(|(name, zone)| format!("{name} {} {:?}\n", zone.account, zone.rrsets));
    objects.chain(zones).collect()
}

fn without_times(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("lastTransitionTime");
            members.values_mut().for_each(without_times);
        }
        Value::Array(all) => all.iter_mut().for_each(without_times),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The summary without what is to differ. What was programmed before is said of the pass that looked.
fn told(summary: Option<Summary>) -> String {
    let summary = summary.map(|s| Summary { unchanged: 0, wait: None, ..s });
    format!("{summary:#?}").replace("; it was programmed before", "")
}

/// A pass of both; how many zones the second one left unread.
fn same(full: &Rig, skipping: &Rig, when: &str) -> Result<usize, TestCaseError> {
    let (all, some) = (full.pass(), skipping.pass());
    let unread = some.as_ref().map_or(0, |summary| summary.unchanged);
    let (left, right) = (everything(&full.world()), everything(&skipping.world()));
    prop_assert!(left == right, "{when}: read\n{left}\nnot read\n{right}");
    let (left, right) = (told(all), told(some));
    prop_assert!(left == right, "{when}: read\n{left}\nnot read\n{right}");
    Ok(unread)
}

#[test]
fn leaving_zones_unread_changes_nothing() {
    let rigs = RefCell::new((Rig::new(), Rig::new()));
    let unread = RefCell::new(0);
    law(25, &(scenario(true), edits(true)), |(scenario, edits): (_, Vec<Edit>)| {
        let mut rigs = rigs.borrow_mut();
        let (full, skipping) = &mut *rigs;
        skipping.syncer.policy.verify_interval = INTERVAL;
        full.load(&scenario.build(), 500);
        skipping.load(&scenario.build(), 500);
        for pass in 0..5 {
            *unread.borrow_mut() += same(full, skipping, &format!("pass {pass}"))?;
        }
        for edit in &edits {
            for rig in [&*full, &*skipping] {
                let mut world = rig.world();
                apply(std::slice::from_ref(edit), &mut world);
                // By hand means through the API, which moves the serial.
                if let Edit::ByHand(domain, ..) = edit
                    && let Some(zone) = world.pdns.zones.get_mut(DOMAINS[*domain])
                {
                    zone.bump(DOMAINS[*domain]);
                }
            }
            for pass in 0..3 {
                *unread.borrow_mut() += same(full, skipping, &format!("{edit:?}, pass {pass}"))?;
            }
        }
        Ok(())
    });
    assert!(unread.into_inner() > 0, "every zone was read in each pass");
}

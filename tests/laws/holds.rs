//! The law that nothing unread is absent, and what it means piece by piece.

use std::collections::BTreeMap;

use dns_syncd::dns::name::Name;
use dns_syncd::dns::rrset::RecordType;
use dns_syncd::plan::change::{Change, DeleteReason};
use dns_syncd::plan::guard::questions;
use dns_syncd::plan::{
    Applied, Evidence, LiveObject, Memory, Plan, ZoneStep, confirm, decide, settle,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::cluster::Place;
use crate::law;
use crate::oracle::{domain, terminating, zone_of};
use crate::rig::policy;
use crate::scenario::{DEAD_SET, name, scenario, set_uid};
use crate::world::World;

/// What of a state could not be read.
#[derive(Clone, Debug)]
enum Gap {
    Zone(usize),
    List,
    Reference(usize),
    Type(usize),
    EntryName(usize),
    Class,
    Live,
    /// The set was lost while it was being secured.
    Lost(usize),
}

fn gap() -> impl Strategy<Value = Gap> {
    let set = || 0..4_usize;
    prop_oneof![
        1 => (0..3_usize).prop_map(Gap::Zone),
        1 => Just(Gap::List),
        4 => set().prop_map(Gap::Reference),
        4 => set().prop_map(Gap::Type),
        4 => set().prop_map(Gap::EntryName),
        1 => Just(Gap::Class),
        2 => Just(Gap::Live),
        2 => set().prop_map(Gap::Lost),
    ]
}

type Deletes = BTreeMap<(Name, Name, RecordType), (String, DeleteReason)>;

fn deletes(plan: &Plan) -> Deletes {
    let mut out = Deletes::new();
    for (zone, plan) in &plan.zones {
        for (name, change) in &plan.names {
            for (rtype, change) in &change.types {
                if let Change::Delete { by, why, .. } = change {
                    out.insert((zone.clone(), name.clone(), *rtype), (by.uid.clone(), *why));
                }
            }
        }
    }
    out
}

fn place(i: usize) -> Place {
    ("dnsrecordsets".to_owned(), "ns".to_owned(), format!("s{i}"))
}

fn class() -> Place {
    ("dnszoneclasses".to_owned(), String::new(), "ours".to_owned())
}

/// Makes a gap in what can be read.
fn tear(world: &mut World, gap: &Gap) {
    let mut spoil = |i: usize, field: &str, value: Value| {
        world.cluster.edit(&place(i), |set| set["spec"][field] = value);
    };
    match gap {
        Gap::Zone(i) => {
            let unread = world.pdns.zones.keys().nth(*i).cloned();
            world.pdns.unread.extend(unread);
        }
        Gap::List => world.pdns.unlisted = true,
        Gap::Reference(i) => spoil(*i, "dnsZoneRef", json!(7)),
        Gap::Type(i) => spoil(*i, "recordType", json!("FUTURE")),
        Gap::EntryName(i) => spoil(*i, "records", json!([{"name": 7}])),
        Gap::Class => drop(world.cluster.objects.remove(&class())),
        Gap::Live | Gap::Lost(_) => {}
    }
}

/// The plan of a world after it was confirmed with that gap in the evidence.
fn confirmed(world: &World, gap: Option<&Gap>) -> Plan {
    let plan = decide(&world.snapshot(), &Memory::default(), &policy());
    let unknown = matches!(gap, Some(Gap::Live));
    let answer = if unknown { LiveObject::Unknown } else { LiveObject::Gone };
    let live = questions(&plan).into_iter().map(|key| (key, answer.clone())).collect();
    let mut evidence = Evidence { live, ..Evidence::default() };
    if let Some(Gap::Lost(i)) = gap {
        evidence.lost_sets.insert(set_uid(*i), "it changed".to_owned());
    }
    confirm(plan, &evidence)
}

/// What could not be read causes no delete: a gap in what is known never adds one to the plan of the complete state, and
/// takes away those that rest on what is missing.
#[test]
fn a_hold_never_yields_a_delete() {
    law(2_000, &(scenario(false), gap()), |(scenario, gap)| {
        let mut world = scenario.build();
        let all = deletes(&confirmed(&world, None));
        tear(&mut world, &gap);
        let plan = confirmed(&world, Some(&gap));
        let left = deletes(&plan);
        for (key, (uid, why)) in &left {
            // What claimants ask for may come to light when one that outranks them cannot be read.
            let asked = *why != DeleteReason::Implicit;
            let said = format!("{gap:?} adds a delete: {key:?} of {uid}, {why:?}");
            prop_assert!(asked || all.contains_key(key), "{said}");
        }
        prop_assert!(
            borne(&world, &gap, &plan, &left),
            "{gap:?} and still {left:?} in {:?}",
            plan.zones
        );
        Ok(())
    });
}

/// Whether nothing is left that rests on what is missing.
fn borne(world: &World, gap: &Gap, plan: &Plan, left: &Deletes) -> bool {
    let set = |i: usize| world.cluster.objects.get(&place(i));
    let implicit = |why: &DeleteReason| *why == DeleteReason::Implicit;
    match gap {
        Gap::Zone(_) => world.pdns.unread.iter().all(|apex| {
            let zone = &plan.zones[&name(apex)];
            zone.names.is_empty() && zone.step == ZoneStep::Keep
        }),
        Gap::List => plan.zones.values().all(|z| !z.has_work()),
        Gap::Reference(i) => set(*i).is_none_or(|set| {
            left.values()
                .all(|(uid, why)| !implicit(why) && (*uid != set_uid(*i) || terminating(set)))
        }),
        // What it left in another zone it has lost, whatever it declares.
        Gap::Type(i) | Gap::EntryName(i) => {
            let home = set(*i).and_then(|s| zone_of(world, s)).map(domain);
            left.iter().all(|((zone, ..), (uid, why))| {
                let its = *uid == set_uid(*i) && *why != DeleteReason::Going;
                !its || home.as_deref() != Some(zone.as_str())
            })
        }
        Gap::Live => left.values().all(|(uid, why)| !implicit(why) && uid != DEAD_SET),
        Gap::Lost(i) => left.values().all(|(uid, _)| *uid != set_uid(*i)),
        Gap::Class => true,
    }
}

/// What could not be read is no proof of absence: nobody is let go on the word of a list that failed, and no set whose
/// RRsets are in a zone that did not answer.
#[test]
fn what_is_unread_releases_nobody() {
    let unread = prop_oneof![8 => (0..3_usize).prop_map(Gap::Zone), 1 => Just(Gap::List)];
    law(1_000, &(scenario(false), unread), |(scenario, gap)| {
        let mut world = scenario.build();
        tear(&mut world, &gap);
        let plan = confirmed(&world, Some(&gap));
        let aftermath = settle(&plan, &Applied::default(), "2026-01-03T00:00:00Z");
        let released = aftermath.set_releases;
        if matches!(gap, Gap::List) {
            prop_assert!(released.is_empty() && aftermath.zone_releases.is_empty(), "{released:?}");
        }
        for meta in &released {
            let left = world
                .cluster
                .uid(&meta.meta.uid)
                .and_then(|set| world.set_left(set, &meta.meta.uid));
            prop_assert!(left.is_none(), "{} is let go, but {left:?}", meta.meta.key());
        }
        Ok(())
    });
}

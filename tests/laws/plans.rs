//! Laws of the plan and of its requests, without any request being made.

use std::collections::BTreeMap;

use dns_syncd::dns::name::Name;
use dns_syncd::dns::rdata::Dialect;
use dns_syncd::dns::rrset::RecordType;
use dns_syncd::plan::batch::{Limits, batches, element};
use dns_syncd::plan::change::NameChange;
use dns_syncd::plan::note::mark;
use dns_syncd::plan::print::Printed;
use dns_syncd::plan::{Memory, Plan, Policy, Snapshot, ZoneStep, decide};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::{Value, json};

use crate::edits::{apply, edits};
use crate::law;
use crate::oracle;
use crate::rig::policy;
use crate::scenario::{OWNER, scenario, zone_uid};
use crate::world::World;

fn dialect(snapshot: &Snapshot) -> Dialect {
    Dialect::of(snapshot.server.capabilities.unwrap().version)
}

fn limits() -> impl Strategy<Value = Limits> {
    (1..6_usize, 100..2_000_usize).prop_map(|(rrsets, bytes)| Limits { rrsets, bytes })
}

/// Batches are the plan in pieces: together they hold every change once, none parts a name, each keeps to the limits
/// unless it is one name alone, and the deletes of each come first.
#[test]
fn batches_concatenate_to_the_plan() {
    law(400, &(scenario(true), limits()), |(scenario, limits)| {
        let snapshot = scenario.build().snapshot();
        let dialect = dialect(&snapshot);
        for zone in decide(&snapshot, &Memory::default(), &policy()).zones.values() {
            let mut rest: BTreeMap<Name, NameChange> = zone.names.clone();
            for batch in batches(&zone.names, dialect, limits) {
                for (name, change) in &batch.names {
                    let planned = rest.remove(name);
                    prop_assert_eq!(
                        planned.as_ref(),
                        Some(change),
                        "{} is parted or sent twice",
                        name
                    );
                }
                let sent = batch.to_json(dialect);
                prop_assert_eq!(
                    sent.len(),
                    batch.names.values().map(|c| c.types.len()).sum::<usize>()
                );
                let bytes: usize = sent.iter().map(|e| e.to_string().len() + 1).sum();
                let fits = sent.len() <= limits.rrsets && bytes <= limits.bytes;
                prop_assert!(fits || batch.names.len() == 1, "{bytes} bytes in {sent:?}");
                let deletes: Vec<bool> = sent.iter().map(|e| e["changetype"] == "DELETE").collect();
                prop_assert!(
                    deletes.is_sorted_by(|a, b| a >= b),
                    "a delete after a write: {sent:?}"
                );
            }
            prop_assert!(rest.is_empty(), "never sent: {rest:?}");
        }
        Ok(())
    });
}

/// Carries out a plan at the model alone; what is refused breaks the law.
pub fn carry_out(world: &mut World, plan: &Plan, limits: Limits) -> Result<(), TestCaseError> {
    let dialect = dialect(&world.snapshot());
    for (apex, zone) in &plan.zones {
        let model = &mut world.pdns;
        match &zone.step {
            ZoneStep::Keep => {}
            ZoneStep::Create { account, .. } => {
                let body = json!({"name": apex.as_str(), "account": account, "rrsets": []});
                prop_assert_eq!(model.create(&body).0, 201);
            }
            ZoneStep::Mark { account, .. } | ZoneStep::Remark { account, .. } => {
                account.clone_into(&mut model.zones.get_mut(apex.as_str()).unwrap().account);
            }
            ZoneStep::Delete { .. } | ZoneStep::DeleteOrphan { .. } => {
                model.zones.remove(apex.as_str());
                continue;
            }
        }
        let mut names = zone.names.clone();
        let soa = names.get_mut(apex).and_then(|apex| apex.types.remove(&RecordType::Soa));
        let mut requests: Vec<Vec<Value>> =
            batches(&names, dialect, limits).iter().map(|b| b.to_json(dialect)).collect();
        // The apex SOA has a request of its own, with a serial that is not lower than the stored one.
        let serial = world.pdns.zones.get(apex.as_str()).and_then(|z| z.serial(apex.as_str()));
        let serial = (serial.unwrap_or(1) + 1_000).to_string();
        requests.extend(soa.map(|soa| {
            let mut sent = element(apex, RecordType::Soa, &soa, dialect);
            if let Some(content) = sent["records"][0]["content"].as_str() {
                let mut fields: Vec<&str> = content.split(' ').collect();
                fields[2] = &serial;
                sent["records"][0]["content"] = json!(fields.join(" "));
            }
            vec![sent]
        }));
        for sent in requests {
            let (status, said) = world.pdns.patch(apex.as_str(), &sent);
            prop_assert_eq!(status, 204, "{} refused {:#?}", said, sent);
        }
    }
    prop_assert!(world.pdns.faults.is_empty(), "{:?}", world.pdns.faults);
    Ok(())
}

/// What the plan decides to send is never refused: collisions are decided before, not by the server.
#[test]
fn every_batch_is_accepted() {
    law(400, &(scenario(false), limits()), |(scenario, limits)| {
        let mut world = scenario.build();
        let plan = decide(&world.snapshot(), &Memory::default(), &policy());
        carry_out(&mut world, &plan, limits)
    });
}

/// Carried out, plans give the desired state, as whole passes do; without requests there is time for many more worlds.
#[test]
fn carrying_out_the_plan_gives_the_desired_state() {
    law(1_000, &(scenario(false), edits(false)), |(scenario, edits)| {
        let mut world = scenario.build();
        let limits = Limits { rrsets: 500, bytes: 100_000 };
        for edits in [Vec::new(), edits] {
            apply(&edits, &mut world);
            let before = world.clone();
            // Mark, write, follow what the first write has moved.
            for _ in 0..3 {
                let plan = decide(&world.snapshot(), &Memory::default(), &policy());
                carry_out(&mut world, &plan, limits)?;
            }
            let plan = decide(&world.snapshot(), &Memory::default(), &policy());
            let busy = plan.zones.iter().find(|(_, zone)| zone.has_work());
            prop_assert!(busy.is_none(), "work is left: {busy:#?}");
            let wrong = oracle::desired_state(&before, &world);
            prop_assert!(
                wrong.is_empty(),
                "{}\nfrom {before:#?}\nto {:#?}",
                wrong.join("\n"),
                world.pdns
            );
        }
        Ok(())
    });
}

/// The plan of a state is always the same bytes, however the lists were ordered.
#[test]
fn printed_plan_does_not_depend_on_input_order() {
    let shuffled = scenario(true).prop_flat_map(|scenario| {
        let cluster = scenario.build().snapshot().cluster;
        let sets = Just(cluster.sets.clone()).prop_shuffle();
        (
            Just(scenario),
            sets,
            Just(cluster.zones).prop_shuffle(),
            Just(cluster.classes).prop_shuffle(),
        )
    });
    law(400, &shuffled, |(scenario, sets, zones, classes)| {
        let mut snapshot = scenario.build().snapshot();
        let dialect = dialect(&snapshot);
        let plan = decide(&snapshot, &Memory::default(), &policy());
        (snapshot.cluster.sets, snapshot.cluster.zones, snapshot.cluster.classes) =
            (sets, zones, classes);
        let other = decide(&snapshot, &Memory::default(), &policy());
        prop_assert_eq!(
            Printed { plan: &plan, dialect }.to_string(),
            Printed { plan: &other, dialect }.to_string()
        );
        prop_assert_eq!(format!("{plan:?}"), format!("{other:?}"));
        Ok(())
    });
}

/// In a zone that is being marked, nothing else is written; in one that we marked, nothing before a read that began a
/// request time-out after the mark was acknowledged: until then another daemon's mark may still land.
#[test]
fn nothing_is_written_before_the_mark_has_lasted() {
    law(400, &scenario(true), |scenario| {
        let snapshot = scenario.build().snapshot();
        let zones = snapshot.server.zones.as_ref().unwrap();
        let marks = zones.keys().map(|apex| (apex.clone(), 5)).collect();
        let policy = Policy { request_timeout: 10, ..policy() };
        let mut memory = Memory::default();
        memory.marks = marks;
        let plan = decide(&snapshot, &memory, &policy);
        for (apex, zone) in zones {
            let plan = &plan.zones[apex];
            let uids = (0..scenario.zones.len()).filter(|i| {
                let spec = &scenario.zones[*i];
                !spec.terminating && spec.class < 2
            });
            let held = uids.map(zone_uid).any(|uid| zone.account == mark(OWNER, &uid));
            let marking = matches!(plan.step, ZoneStep::Mark { .. });
            prop_assert!(!(held || marking) || plan.names.is_empty(), "{apex}: {:?}", plan.names);
        }
        Ok(())
    });
}

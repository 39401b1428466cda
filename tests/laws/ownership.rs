//! Laws of what a plan may touch: what others wrote, what nobody accounts for, and what its writer still declares.

use dns_syncd::plan::change::{Change, DeleteReason, NameChange};
use dns_syncd::plan::note::mark;
use dns_syncd::plan::{Memory, ZoneStep, decide};
use proptest::prelude::*;
use serde_json::Value;

use crate::law;
use crate::model::{Rrset, Zone};
use crate::oracle::{self, Claim, accounted};
use crate::rig::policy;
use crate::scenario::{OWNER, scenario};
use crate::vocabulary::{as_written, note_of};
use crate::world::World;

/// No plan takes away or overwrites what others wrote: another owner's RRsets, zones with another's account or with such
/// RRsets, what no object of ours accounts for, and comments that are not ours.
#[test]
fn foreign_data_is_in_no_plan() {
    law(2_000, &scenario(true), |scenario| {
        let world = scenario.build();
        for (apex, plan) in decide(&world.snapshot(), &Memory::default(), &policy()).zones {
            let Some(zone) = world.pdns.zones.get(apex.as_str()) else { continue };
            let free = !zone.account.is_empty() && !zone.account.starts_with("ds:");
            prop_assert!(!free || plan.step == ZoneStep::Keep, "{apex}: {:?}", plan.step);
            if matches!(plan.step, ZoneStep::Delete { .. }) {
                prop_assert!(!zone.rrsets.values().any(others), "{apex} is deleted");
            }
            for (name, change) in &plan.names {
                for (rtype, change) in &change.types {
                    let why = trespass(
                        &world,
                        apex.as_str(),
                        zone,
                        (name.as_str(), rtype.as_str()),
                        change,
                    );
                    prop_assert!(
                        why.is_none(),
                        "{}: {change:?} at {name}",
                        why.unwrap_or_default()
                    );
                }
            }
        }
        Ok(())
    });
}

fn others(rrset: &Rrset) -> bool {
    note_of(rrset).is_some_and(|(owner, _)| owner != OWNER)
}

/// What is wrong with a change of one RRset, as far as it is somebody else's.
fn trespass(
    world: &World,
    apex: &str,
    zone: &Zone,
    (name, rtype): (&str, &str),
    change: &Change,
) -> Option<&'static str> {
    let ours = mark(OWNER, "x");
    let theirs = zone.account.starts_with("ds:") && !zone.account.starts_with(&ours[..10]);
    let Some(was) = zone.rrsets.get(&(name.to_owned(), rtype.to_owned())) else {
        return theirs.then_some("in a zone of others");
    };
    let (noted, delete) = (note_of(was).is_some(), matches!(change, Change::Delete { .. }));
    let noted_beside = || {
        zone.rrsets.iter().any(|((n, t), r)| {
            let kept =
                matches!(t.as_str(), "SOA" | "NS" | "LOC") || oracle::shadowed(world, apex, n);
            !kept && !r.records.is_empty() && note_of(r).is_some_and(|(owner, _)| owner == OWNER)
        })
    };
    let implicit = matches!(change, Change::Delete { why: DeleteReason::Implicit, .. });
    let foreign: Vec<i64> =
        was.comments.iter().filter(|c| c.account != "dns-syncd").map(|c| c.modified_at).collect();
    let sent = match change {
        Change::Replace { comments, .. } => comments.clone(),
        Change::Adopt { comments, .. } => Some(comments.clone()),
        Change::Delete { .. } => None,
    };
    let sent: Option<Vec<i64>> = sent.map(|sent| {
        sent.iter().filter(|c| c.account != "dns-syncd").map(|c| c.modified_at).collect()
    });
    [
        (others(was), "of another owner"),
        (rtype != "NS" && oracle::shadowed(world, apex, name), "where a longer zone answers"),
        (theirs && !(delete && noted), "in a zone of others"),
        (!noted && !accounted(world, apex, name, rtype), "nobody accounts for it"),
        (!noted && delete && noted_beside(), "without a note where notes of ours are read"),
        (implicit && !as_written(rtype, was), "changed by hand since its writer is gone"),
        (sent.is_some_and(|sent| sent != foreign), "without the comments of others"),
    ]
    .into_iter()
    .find_map(|(wrong, why)| wrong.then_some(why))
}

/// An RRset whose writer still declares its name goes only together with what takes its place: the writer's own new type,
/// or an older claim that excludes it. A writer whose entry is no good keeps what it has.
#[test]
fn what_is_declared_yields_only_to_what_takes_its_place() {
    law(2_000, &scenario(true), |scenario| {
        let world = scenario.build();
        let plan = decide(&world.snapshot(), &Memory::default(), &policy());
        for (apex, zone) in &plan.zones {
            let mine = |z: &&Value| oracle::domain(z) == apex.as_str() && oracle::wanted(z);
            let holders = world.cluster.of("dnszones").filter(mine);
            let claims: Vec<_> = holders.map(|z| oracle::claims(&world, z)).collect();
            for (name, change) in &zone.names {
                let here: Vec<&Claim<'_>> =
                    claims.iter().filter_map(|c| c.get(name.as_str())).flatten().collect();
                for (rtype, delete) in &change.types {
                    let replaced = replaced(&here, change, rtype.as_str(), delete);
                    prop_assert!(replaced, "{delete:?} at {name}, where there are {here:?}");
                }
            }
        }
        Ok(())
    });
}

/// Whether a change is no delete of something still declared, or has what takes its place beside it.
fn replaced(here: &[&Claim<'_>], change: &NameChange, rtype: &str, delete: &Change) -> bool {
    let Change::Delete { by, .. } = delete else { return true };
    let Some(writer) = here.iter().find(|c| c.uid == by.uid) else { return true };
    here.iter().any(|claim| {
        let own = claim.uid == by.uid && claim.rtype != rtype;
        let older = claim.created <= writer.created && !oracle::coexist(claim.rtype, rtype);
        let kept = claim.rtype.parse().is_ok_and(|t| match change.types.get(&t) {
            Some(Change::Delete { .. }) => false,
            // Equal already, since a valid claim that wins is written or equal.
            Some(Change::Replace { .. } | Change::Adopt { .. }) | None => true,
        });
        (own || older) && kept && claim.group.contents.is_some()
    })
}

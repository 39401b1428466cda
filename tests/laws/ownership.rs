//! Laws of what a plan may touch: what others wrote, what nobody accounts for, and what its writer still declares.

use dns_syncd::plan::change::{Change, DeleteReason};
use dns_syncd::plan::note::mark;
use dns_syncd::plan::{Memory, ZoneStep, decide};
use proptest::prelude::*;

use crate::law;
use crate::model::{Rrset, Zone};
use crate::oracle::{self, accounted};
use crate::scenario::{OWNER, scenario};
use crate::vocabulary::{as_written, note_of};
use crate::world::{World, policy};

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
        (theirs && !(delete && noted), "in a zone of others"),
        (!noted && !accounted(world, apex, name, rtype), "nobody accounts for it"),
        (!noted && delete && noted_beside(), "without a note where notes of ours are read"),
        (implicit && !as_written(rtype, was), "changed by hand since its writer is gone"),
        (sent.is_some_and(|sent| sent != foreign), "without the comments of others"),
    ]
    .into_iter()
    .find_map(|(wrong, why)| wrong.then_some(why))
}

/// An RRset that its writer still declares goes only for an older claim of a type that excludes it: also a writer whose
/// entry is no good any more keeps what it has.
#[test]
fn what_is_declared_yields_only_to_an_older_claim() {
    law(2_000, &scenario(true), |scenario| {
        let world = scenario.build();
        let plan = decide(&world.snapshot(), &Memory::default(), &policy());
        for (apex, zone) in &plan.zones {
            let holders = world
                .cluster
                .of("dnszones")
                .filter(|z| oracle::domain(z) == apex.as_str() && oracle::wanted(z));
            let claims: Vec<_> = holders.map(|z| oracle::claims(&world, z)).collect();
            for (name, change) in &zone.names {
                for (rtype, change) in &change.types {
                    let Change::Delete { by, .. } = change else { continue };
                    let here: Vec<_> =
                        claims.iter().filter_map(|c| c.get(name.as_str())).flatten().collect();
                    let Some(its) =
                        here.iter().find(|c| c.uid == by.uid && c.rtype == rtype.as_str())
                    else {
                        continue;
                    };
                    let older = here
                        .iter()
                        .any(|c| c.created <= its.created && !oracle::coexist(c.rtype, its.rtype));
                    prop_assert!(older, "{change:?} at {name}, which {its:?} declares");
                }
            }
        }
        Ok(())
    });
}

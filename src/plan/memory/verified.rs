//! Which zones need no look: they were read in full, nothing was to be done in them, and nothing that decides about
//! them has changed since.

use std::collections::{BTreeMap, BTreeSet};

use super::super::prints::{Prints, number};
use super::super::settle::Aftermath;
use super::super::snapshot::Snapshot;
use super::super::{Plan, ZonePlan};
use super::Memory;
use crate::dns::name::Name;

/// The first passes of a process read everything: what the one before it had under way may still land.
const FULL: usize = 2;

/// A zone that was read and needed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verified {
    /// When it was read, in milliseconds on the pass's clock.
    at: u64,
    /// What decided about it.
    print: u64,
    /// RRsets in it that nobody declares and that stay.
    left_alone: usize,
}

impl Memory {
    /// Zones that need no look at `now`. Each is read again once in `interval` milliseconds, and not all at once.
    #[must_use]
    pub fn unchanged(&self, prints: &Prints, interval: u64, now: u64) -> BTreeSet<Name> {
        if self.turn < FULL {
            return BTreeSet::new();
        }
        let unchanged = |(name, verified): &(&Name, &Verified)| {
            prints.get(name) == Some(verified.print) && now < verified.at + share(name, interval)
        };
        self.verified.iter().filter(unchanged).map(|(name, _)| name.clone()).collect()
    }

    /// RRsets that an unchanged zone leaves alone.
    pub(in super::super) fn left_alone(&self, zone: &Name) -> usize {
        self.verified.get(zone).map_or(0, |verified| verified.left_alone)
    }

    /// Keeps what a pass has shown to need nothing, and forgets the rest.
    pub(super) fn learn_verified(
        &mut self,
        (snapshot, prints): (&Snapshot, &Prints),
        plan: &Plan,
        aftermath: &Aftermath,
    ) {
        let Ok(listed) = &snapshot.server.zones else {
            self.verified.clear();
            return;
        };
        let restless = restless(plan, aftermath);
        let mut verified = BTreeMap::new();
        for (name, zone) in listed {
            let Some((planned, print)) = plan.zones.get(name).zip(prints.get(name)) else {
                continue;
            };
            if zone.unchanged() {
                verified.extend(self.verified.get_key_value(name).map(|(n, v)| (n.clone(), *v)));
            } else if zone.contents.is_ok()
                && zone.serial_moves
                && quiet(planned)
                && !restless.contains(name)
            {
                let (at, left_alone) = (zone.read_began, planned.leftovers.len());
                verified.insert(name.clone(), Verified { at, print, left_alone });
            }
        }
        self.verified = verified;
    }
}

/// Whether a zone needed nothing and nothing in it waits.
fn quiet(zone: &ZonePlan) -> bool {
    zone.steady
        && zone.withheld.is_none()
        && !zone.has_work()
        && zone.known == super::Known::default()
}

/// Zones of which an object was, or was to be, written in this pass, or that a brake holds.
fn restless<'a>(plan: &'a Plan, aftermath: &'a Aftermath) -> BTreeSet<&'a Name> {
    let mut out: BTreeSet<&Name> = plan.holds.iter().flat_map(|hold| &hold.zones).collect();
    let written: BTreeSet<&str> = aftermath.written().collect();
    for (uid, set) in &plan.sets {
        let restless = set.secure.is_some()
            || set.unsecured.is_some()
            || set.going
            || set.repointed.is_some()
            || written.contains(uid.as_str());
        out.extend(set.home.as_ref().filter(|_| restless));
    }
    for (uid, object) in &plan.objects {
        let restless =
            object.secure.is_some() || object.deletion.is_some() || written.contains(uid.as_str());
        out.extend(object.domain.as_ref().filter(|_| restless));
    }
    out
}

/// Between half of the interval and all of it, by the zone's name: zones that were read together part.
fn share(name: &Name, interval: u64) -> u64 {
    let half = interval / 2;
    interval - half + number(name).checked_rem(half + 1).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_part_within_the_second_half_of_the_interval() {
        let share = |name: &str| share(&Name::parse(name).unwrap(), 1_000);
        let shares: BTreeSet<u64> = (0..50).map(|n| share(&format!("z{n}.test"))).collect();
        assert!(shares.len() > 40, "{shares:?}");
        assert!(shares.iter().all(|s| (500..=1_000).contains(s)), "{shares:?}");
        assert_eq!(super::share(&Name::parse("a").unwrap(), 0), 0);
    }
}

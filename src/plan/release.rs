//! What a person lets through of what the brakes hold: exactly that, once, and not for long.

use std::collections::{BTreeMap, BTreeSet};

use super::Plan;
use super::brakes::{Brake, Hold};
use super::outcome::{Applied, Failure, Outcome};
use super::zones::Standing;
use crate::dns::name::Name;

/// How long a release counts, in milliseconds: a pass may fail, but nobody stands by a decision of yesterday.
const LASTS: u64 = 600_000;

/// Releases by digest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Released {
    granted: BTreeMap<String, Granted>,
    /// Zones that were deleted by this process, or may have been, for DNSZones that are not let go yet.
    deleted: BTreeSet<Name>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Granted {
    /// The hold that was shown; `None` where the digest alone is known.
    hold: Option<(Brake, BTreeSet<String>)>,
    /// On the pass's clock; `None` until a pass has taken it in.
    until: Option<u64>,
}

impl Released {
    /// Exactly these holds.
    #[must_use]
    pub fn holds<'a>(holds: impl Iterator<Item = &'a Hold>) -> Released {
        let granted = |hold: &Hold| {
            let shown = Some((hold.brake, hold.what.clone()));
            Some((hold.digest.clone()?, Granted { hold: shown, until: None }))
        };
        Released { granted: holds.filter_map(granted).collect(), ..Released::default() }
    }

    /// Whatever has one of these digests.
    #[must_use]
    pub fn digests(digests: &BTreeSet<String>) -> Released {
        let granted = |digest: &String| (digest.clone(), Granted { hold: None, until: None });
        Released { granted: digests.iter().map(granted).collect(), ..Released::default() }
    }

    /// Adds further ones.
    pub fn extend(&mut self, other: Released) {
        self.granted.extend(other.granted);
    }

    /// Adds those of a person who asks at `now`.
    pub fn grant(&mut self, asked: Released, now: u64) {
        let until = Some(now + LASTS);
        self.granted
            .extend(asked.granted.into_iter().map(|(digest, g)| (digest, Granted { until, ..g })));
    }

    /// Takes in which zones were to go: a DELETE that has no good answer may have been carried out. Those that are listed
    /// `still`, or that no DNSZone ends for any more, are forgotten.
    pub fn learn_deleted(&mut self, plan: &Plan, applied: &Applied, still: impl Fn(&Name) -> bool) {
        let ending = plan.objects.values().filter(|o| o.deletion.is_some());
        let ending: BTreeSet<&Name> = ending.filter_map(|o| o.domain.as_ref()).collect();
        self.deleted.retain(|zone| ending.contains(zone) && !still(zone));
        for (name, _) in plan.zones.iter().filter(|(_, zone)| zone.goes()) {
            if let Some(
                Outcome::Done(_)
                | Outcome::Failed(
                    Failure::Unknown(_) | Failure::Status(500..) | Failure::ZoneMissing,
                ),
            ) = applied.zones.get(name).and_then(|answers| answers.zone.as_ref())
            {
                self.deleted.insert(name.clone());
            }
        }
    }

    /// Whether the absence of a zone is this process's own doing.
    #[must_use]
    pub fn expects(&self, zone: &Name) -> bool {
        self.deleted.contains(zone)
    }

    /// Whether nothing is held here that was not let through.
    #[must_use]
    pub fn covers(&self, hold: &Hold) -> bool {
        self.granted.iter().any(|(digest, g)| g.covers(digest, hold))
    }

    /// Ends what has had its time, and what a pass carried out to the end: these holds without a failure.
    pub fn expire<'a>(&mut self, now: u64, done: impl Iterator<Item = &'a Hold>) {
        self.granted.retain(|_, g| g.until.is_none_or(|until| now < until));
        for hold in done {
            self.granted.retain(|digest, g| !g.covers(digest, hold));
        }
    }
}

impl Granted {
    /// Whether a hold is what was let through under this digest, or what is left of it after a pass that failed in its
    /// middle.
    fn covers(&self, digest: &String, hold: &Hold) -> bool {
        let left = |(brake, what): &(Brake, BTreeSet<String>)| {
            *brake == hold.brake && hold.what.is_subset(what)
        };
        hold.digest.as_ref() == Some(digest) || self.hold.as_ref().is_some_and(left)
    }
}

impl Hold {
    /// Whether all that was let through has been done, whatever became of the rest of its zones.
    pub(super) fn is_carried_out(&self, plan: &Plan, applied: &Applied) -> bool {
        let done = |outcome: &Outcome| matches!(outcome, Outcome::Done(_));
        if self.brake != Brake::Deletes {
            // A missing zone for which nobody is served is let go by its absence.
            let served = plan.objects.values().filter(|o| o.standing == Standing::Served);
            let served: BTreeSet<&Name> = served.filter_map(|o| o.domain.as_ref()).collect();
            let lost = |zone: &Name| self.brake == Brake::Missing && !served.contains(zone);
            let ended = |zone: &Name| applied.zones.get(zone)?.zone.as_ref().map(done);
            return self.zones.iter().all(|zone| lost(zone) || ended(zone) == Some(true));
        }
        let zones = self.zones.iter().filter_map(|zone| applied.zones.get(zone));
        let keys = zones.flat_map(|zone| &zone.keys).filter(|(_, outcome)| done(outcome));
        let gone: BTreeSet<String> = keys.map(|((name, t), _)| format!("{name} {t}")).collect();
        self.what.is_subset(&gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(what: &[&str]) -> Hold {
        let what = what.iter().map(|&w| w.to_owned()).collect();
        Hold::new(Brake::Deletes, "why".to_owned(), what, BTreeSet::new())
    }

    #[test]
    fn a_release_covers_what_was_shown_and_what_is_left_of_it() {
        let mut released = Released::default();
        released.grant(Released::holds([hold(&["a A", "b A"])].iter()), 0);
        assert!(released.covers(&hold(&["a A", "b A"])) && released.covers(&hold(&["b A"])));
        assert!(!released.covers(&hold(&["a A", "b A", "c A"])), "more than was shown");
        let other = Hold { brake: Brake::Missing, ..hold(&["b A"]) };
        assert!(!released.covers(&other), "another brake");
    }

    #[test]
    fn a_release_ends_with_its_time_or_once_it_is_carried_out() {
        let mut released = Released::default();
        released.grant(Released::holds([hold(&["a A", "b A"]), hold(&["c A"])].iter()), 0);
        released.expire(1, [hold(&["b A"])].iter());
        assert!(!released.covers(&hold(&["a A", "b A"])), "it was for once");
        released.expire(LASTS - 1, [].iter());
        assert!(released.covers(&hold(&["c A"])));
        released.expire(LASTS, [].iter());
        assert!(!released.covers(&hold(&["c A"])));
    }
}

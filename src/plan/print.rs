//! A plan as text for people and for review: the same state prints the same bytes, sorted.

use std::fmt::{self, Display};

use super::Plan;
use super::change::{Change, Verdict};
use super::document::text;
use super::set_plan::{Controller, RawPlan};
use super::zone_plan::{ZonePlan, ZoneStep};
use crate::api::conditions::reason;
use crate::dns::name::Name;
use crate::dns::rdata::Dialect;
use crate::dns::rrset::RecordType;

/// Prints a plan; `dialect` decides how contents are spelt.
#[derive(Debug)]
pub struct Printed<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The server's way to write texts.
    pub dialect: Dialect,
}

impl Plan {
    /// Whether a pass would change anything that is served. Adoptions and marks are no difference.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.zones.values().any(|zone| {
            let step = zone.goes() || matches!(zone.step, ZoneStep::Create { .. });
            let served = |c: &Change| !matches!(c, Change::Adopt { .. });
            step || zone
                .names
                .values()
                .chain(zone.postponed.values())
                .flat_map(|n| n.types.values())
                .any(served)
        })
    }

    /// Whether something declared cannot be served as things are.
    #[must_use]
    pub fn holds(&self) -> bool {
        let not = |raw: &RawPlan| matches!(raw.verdict, Verdict::Not(..)) && !self.postpones(raw);
        self.blind.is_some()
            || !self.holds.is_empty()
            || self.objects.values().any(|o| o.waits().is_some())
            || self
                .sets
                .values()
                .filter(|s| !s.going && s.controller == Controller::Ours)
                .any(|s| s.accepted.is_err() || s.raws.values().any(not))
    }
}

impl Plan {
    /// Whether a name waits only because its zone is written a little later. The loser of an election has another
    /// reason, although the winner's change is at its name.
    pub(super) fn postpones(&self, raw: &RawPlan) -> bool {
        if !matches!(raw.verdict, Verdict::Not(reason::PENDING, _)) {
            return false;
        }
        let target = raw.target.as_ref();
        let change = target.and_then(|t| self.zones.get(&t.zone)?.postponed.get(&t.name));
        change.zip(target).is_some_and(|(change, t)| change.types.contains_key(&t.rtype))
    }
}

impl Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan { zones, sets, objects, orphans, holds, blind, .. } = self.plan;
        if let Some(why) = blind {
            writeln!(f, "unread    everything: {why}")?;
        }
        for (name, zone) in zones {
            self.zone(f, name, zone)?;
        }
        for hold in holds {
            writeln!(f, "braked    {}", hold.message())?;
        }
        let stays = |name: &&Name| !zones.get(*name).is_some_and(ZonePlan::goes);
        for name in orphans.iter().filter(stays) {
            writeln!(f, "orphan    {name} has our mark and no DNSZone; it stays")?;
        }
        let mut lines: Vec<String> = Vec::new();
        for set in sets.values() {
            let key = set.meta.key();
            if set.going {
                let why = set.blocked.as_ref().map(|w| format!("; waits: {w}")).unwrap_or_default();
                lines.push(format!("release   DNSRecordSet {key} once its RRsets are gone{why}"));
                continue;
            }
            if let Err((reason, message)) = &set.accepted {
                lines.push(format!("refused   DNSRecordSet {key}: {reason}: {message}"));
                continue;
            }
            for (raw, plan) in &set.raws {
                if let Verdict::Not(reason, message) = &plan.verdict
                    && !self.plan.postpones(plan)
                {
                    lines.push(format!("held      DNSRecordSet {key} {raw}: {reason}: {message}"));
                }
            }
        }
        for object in objects.values() {
            let key = object.meta.key();
            if object.deletion.is_some() {
                lines.push(format!("release   DNSZone {key} once its record sets are"));
            } else if let Some(why) = object.waits() {
                lines.push(format!("refused   DNSZone {key}: {why}"));
            }
        }
        lines.sort();
        lines.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        if !self.plan.differs() && lines.is_empty() && orphans.is_empty() && blind.is_none() {
            writeln!(f, "nothing to change")?;
        }
        Ok(())
    }
}

impl Printed<'_> {
    fn zone(&self, f: &mut fmt::Formatter<'_>, name: &Name, zone: &ZonePlan) -> fmt::Result {
        match &zone.step {
            ZoneStep::Keep => {}
            ZoneStep::Create { .. } => writeln!(f, "create    zone {name}")?,
            ZoneStep::Mark { .. } => writeln!(f, "mark      zone {name} as ours")?,
            ZoneStep::Remark { .. } => writeln!(f, "mark      zone {name} for another DNSZone")?,
            ZoneStep::Delete { .. } => writeln!(f, "delete    zone {name}")?,
            ZoneStep::DeleteOrphan { .. } => writeln!(f, "delete    zone {name}, an orphan")?,
        }
        if let Some(why) = zone.withheld.as_ref().filter(|_| zone.id.is_some()) {
            let then = if zone.postponed.is_empty() { "" } else { "; then:" };
            writeln!(f, "withheld  zone {name}: {why}{then}")?;
        }
        for (owner, change) in zone.names.iter().chain(&zone.postponed) {
            for (rtype, change) in &change.types {
                self.change(f, owner, *rtype, change)?;
            }
        }
        let word = if zone.goes() { "with it  " } else { "leave    " };
        for left in &zone.leftovers {
            writeln!(f, "{word} {} {}: {}", left.name, left.rtype, left.why)?;
        }
        Ok(())
    }

    fn change(
        &self,
        f: &mut fmt::Formatter<'_>,
        name: &Name,
        rtype: RecordType,
        change: &Change,
    ) -> fmt::Result {
        match change {
            Change::Replace { contents, from, by, .. } => {
                let to = text(contents, self.dialect);
                let by = by.as_ref().map_or("the class".to_owned(), |p| p.key.to_string());
                match from {
                    None => writeln!(f, "create    {name} {rtype} {to} for {by}"),
                    Some(from) => writeln!(f, "replace   {name} {rtype} {from} -> {to} for {by}"),
                }
            }
            Change::Adopt { by, .. } => writeln!(f, "adopt     {name} {rtype} for {}", by.key),
            Change::Delete { by, why, was, unnoted: _ } => {
                writeln!(f, "delete    {name} {rtype} {was} of {}: {why}", by.key)
            }
        }
    }
}

//! What a pass tells of an object once, when it changes: the events of its transitions. A state that stays is in the
//! conditions, and makes no event.

use std::collections::BTreeMap;

use super::change::Leftover;
use super::objects::ObjectPlan;
use super::set_plan::SetPlan;
use super::statuses::{Said, spelled};
use crate::api::conditions::{Condition, Truth, kind, reason};
use crate::api::object::Meta;
use crate::api::{KIND_RECORD_SET, KIND_ZONE};
use crate::dns::name::Name;

/// Bytes of an event's note that the API server takes; it calls them characters.
const NOTE: usize = 1024;
/// Reasons of names, the gravest first: it names the state of their record set.
const GRAVEST: [&str; 5] =
    [reason::PDNS_ERROR, reason::CONFLICT, reason::NOT_OWNER, reason::ZONE_IN_USE, reason::PENDING];

/// One event of `events.k8s.io/v1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Kind of the object that it is about.
    pub kind: &'static str,
    /// The object.
    pub meta: Meta,
    /// A status tells it too.
    pub transition: bool,
    /// Something that people may have to look at.
    pub warning: bool,
    /// The reason of the new condition, or what was done.
    pub reason: &'static str,
    /// For people; at most 1024 bytes.
    pub note: String,
}

fn event(kind: &'static str, meta: &Meta, reason: &'static str, note: &str) -> Event {
    let good = matches!(reason, reason::PROGRAMMED | "ZoneCreated" | "ZoneDeleted");
    let told_by_status =
        !matches!(reason, "ZoneCreated" | "ZoneRecreated" | "ZoneDeleted" | RELEASED);
    let note = note.get(..note.floor_char_boundary(NOTE)).unwrap_or_default().to_owned();
    Event { kind, meta: meta.clone(), transition: told_by_status, warning: !good, reason, note }
}

/// The event of a record set whose state changes. One that was not served yet and goes on waiting makes none.
pub(super) fn of_set(set: &SetPlan, names: &BTreeMap<String, Said>, whole: bool) -> Option<Event> {
    let stored = set.status.names.iter().flat_map(|n| &n.conditions);
    let before = if is_true(&set.status.conditions) {
        reason::PROGRAMMED
    } else {
        gravest(stored.filter(|c| c.status != Truth::True).map(|c| c.reason.as_str()))
    };
    let failing = || names.iter().filter(|(_, said)| said.0 != Truth::True);
    let after = if whole { reason::PROGRAMMED } else { gravest(failing().map(|(_, said)| said.1)) };
    let waits = after == reason::PENDING && before != reason::PROGRAMMED;
    if after == before || waits {
        return None;
    }
    let first = failing().find(|(_, said)| said.1 == after);
    let note = first.map_or_else(
        || format!("{} names are served", names.len()),
        |(name, said)| format!("{name}: {}", said.2),
    );
    Some(event(KIND_RECORD_SET, &set.meta, after, &note))
}

/// The event of a DNSZone whose `Programmed` changes; also of other deletes that are held now.
pub(super) fn of_zone(object: &ObjectPlan, programmed: &Said) -> Option<Event> {
    let (_, after, message) = programmed;
    let before = object.status.conditions.iter().find(|c| c.type_ == kind::PROGRAMMED);
    let reason = before.map_or(reason::PENDING, |c| c.reason.as_str());
    let held_anew =
        *after == reason::DELETION_HELD && before.is_some_and(|c| c.message != *message);
    let waits = *after == reason::PENDING && reason != reason::PROGRAMMED;
    let changes = (reason != *after && !waits) || held_anew;
    changes.then(|| event(KIND_ZONE, &object.meta, after, message))
}

/// The event of a zone that was created in PowerDNS, for the first time or again.
pub(super) fn created(object: &ObjectPlan) -> Event {
    let domain = object.domain.as_ref().map(ToString::to_string).unwrap_or_default();
    if object.status.nameservers.is_empty() {
        event(KIND_ZONE, &object.meta, "ZoneCreated", &format!("zone {domain} was created"))
    } else {
        let note = format!("zone {domain} was missing from PowerDNS and was created again");
        event(KIND_ZONE, &object.meta, "ZoneRecreated", &note)
    }
}

/// The event of a zone that was deleted with its DNSZone, and of what went with it although nobody's note claimed it.
pub(super) fn deleted(object: &ObjectPlan, zone: &Name, left: &[Leftover]) -> Event {
    let each: Vec<String> = left.iter().map(|l| format!("{} {}", l.name, l.rtype)).collect();
    let with = match each.len() {
        0 => String::new(),
        n => format!(
            ", and with it {n} RRsets that nobody's note claimed: {}",
            spelled(each.iter().map(String::as_str))
        ),
    };
    event(KIND_ZONE, &object.meta, "ZoneDeleted", &format!("zone {zone} was deleted{with}"))
}

/// The event of a record set that is let go although nothing tells where it was written.
/// A record set was let go although nothing tells where it was written.
pub const RELEASED: &str = "ReleasedWithoutZone";

pub(super) fn homeless(set: &SetPlan) -> Event {
    let note = "it was let go: its DNSZone does not exist and no note tells where it was written; RRsets that are left of it are nobody's";
    event(KIND_RECORD_SET, &set.meta, RELEASED, note)
}

fn is_true(conditions: &[Condition]) -> bool {
    conditions.iter().any(|c| c.type_ == kind::PROGRAMMED && c.status == Truth::True)
}

fn gravest<'a>(reasons: impl Iterator<Item = &'a str>) -> &'static str {
    let rank = |reason: &str| GRAVEST.iter().position(|r| *r == reason);
    reasons.filter_map(rank).min().and_then(|i| GRAVEST.get(i)).unwrap_or(&reason::PENDING)
}

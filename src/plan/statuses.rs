//! The statuses of a pass as they are written: conditions merged into stored ones, lists bounded, and nothing
//! at all where nothing would change.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::objects::ObjectPlan;
use super::set_plan::{Controller, SetPlan};
use crate::api::conditions::{Condition, Desired, Truth, kind, merge, reason, sentence};
use crate::api::object::{Meta, NameStatus};

/// Names that a status lists one by one; beyond that only those that are not programmed.
const LISTED_NAMES: usize = 500;
/// Names that the aggregate condition's message spells out.
const SPELLED_NAMES: usize = 10;

/// One status to write, as a merge patch of the status subresource.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusWrite {
    /// `DNSZone` or `DNSRecordSet`.
    pub kind: &'static str,
    /// The object.
    pub meta: Meta,
    /// `{"status": …}` with the fields that are ours.
    pub body: Value,
}

/// What a condition says: status, reason, message.
pub(super) type Said = (Truth, &'static str, String);

/// A record set's status, if it differs from what is stored.
pub(super) fn set_status(
    set: &SetPlan,
    names: &BTreeMap<String, Said>,
    now: &str,
) -> Option<StatusWrite> {
    let (truth, reason, message) = match &set.accepted {
        Ok(()) => (Truth::True, reason::ACCEPTED, sentence::SET_ACCEPTED.to_owned()),
        Err((reason, message)) => (Truth::False, *reason, message.clone()),
    };
    let failing =
        || names.iter().filter(|(_, said)| said.0 != Truth::True).map(|(n, _)| n.as_str());
    let programmed = if whole(set, names) {
        let count = (names.len() > LISTED_NAMES).then(|| format!("{} names", names.len()));
        let message = sentence::detailed(sentence::ALL_PROGRAMMED, &count.unwrap_or_default());
        (Truth::True, reason::PROGRAMMED, message)
    } else {
        let which = spelled(failing());
        let message = sentence::detailed(sentence::NOT_ALL_PROGRAMMED, &which);
        (Truth::False, reason::PENDING, message)
    };
    let meta = &set.meta;
    let desired = vec![
        Desired { type_: kind::ACCEPTED, truth, reason, message },
        desired_programmed(programmed),
    ];
    let conditions = merge(&set.status.conditions, desired, meta.generation, now);
    let listed = names
        .iter()
        .filter(|(_, said)| names.len() <= LISTED_NAMES || said.0 != Truth::True)
        .take(LISTED_NAMES);
    let stored = set.status.names.iter().rev();
    let stored: BTreeMap<&str, &[Condition]> =
        stored.map(|n| (n.name.as_str(), n.conditions.as_slice())).collect();
    let listed: Vec<NameStatus> = listed
        .map(|(name, said)| {
            let old = stored.get(name.as_str()).copied().unwrap_or_default();
            let conditions =
                merge(old, vec![desired_programmed(said.clone())], meta.generation, now);
            NameStatus { name: name.clone(), conditions }
        })
        .collect();
    if conditions == set.status.conditions && listed == set.status.names {
        return None;
    }
    let names: Vec<Value> = listed
        .iter()
        .map(|n| json!({"name": n.name, "conditions": values(&n.conditions)}))
        .collect();
    let body = json!({"status": {"conditions": values(&conditions), "recordSets": names}});
    Some(StatusWrite { kind: crate::api::KIND_RECORD_SET, meta: meta.clone(), body })
}

/// Whether every name of an accepted set's spec is served.
pub(super) fn whole(set: &SetPlan, names: &BTreeMap<String, Said>) -> bool {
    let served = names.values().all(|said| said.0 == Truth::True);
    served && set.accepted.is_ok() && !set.partly_known && !names.is_empty()
}

/// Names that a set's stored status says are not programmed, with the condition that says so.
pub(super) fn unprogrammed(set: &SetPlan) -> impl Iterator<Item = (&str, &Condition)> {
    set.status.names.iter().filter_map(|n| {
        let mut conditions = n.conditions.iter();
        let not = |c: &&Condition| c.type_ == kind::PROGRAMMED && c.status != Truth::True;
        Some((n.name.as_str(), conditions.find(not)?))
    })
}

/// Why a DNSZone is not served, as its stored status says it.
pub(super) fn unserved(object: &ObjectPlan) -> Option<String> {
    // Others may have conditions of their own there.
    let said = |kind| object.status.conditions.iter().find(move |c| c.type_ == kind);
    let mut ours = [kind::ACCEPTED, kind::PROGRAMMED].into_iter().filter_map(said);
    let unserved = ours.find(|c| c.status != Truth::True)?;
    (object.controller == Controller::Ours)
        .then(|| format!("{}: {}", unserved.reason, unserved.message))
}

/// The status that says a set is accepted, written before anything is written for it; `None` if stored.
#[must_use]
pub fn accepted_first(set: &SetPlan, now: &str) -> Option<StatusWrite> {
    let says = |c: &Condition| c.type_ == kind::ACCEPTED && c.status == Truth::True;
    if set.going || set.accepted.is_err() || set.status.conditions.iter().any(says) {
        return None;
    }
    let desired = Desired {
        type_: kind::ACCEPTED,
        truth: Truth::True,
        reason: reason::ACCEPTED,
        message: sentence::SET_ACCEPTED.to_owned(),
    };
    let conditions = merge(&set.status.conditions, vec![desired], set.meta.generation, now);
    let body = json!({"status": {"conditions": values(&conditions)}});
    Some(StatusWrite { kind: crate::api::KIND_RECORD_SET, meta: set.meta.clone(), body })
}

/// A DNSZone's status, if it differs. Fields of others (`domainRef`) are never sent.
pub(super) fn zone_status(
    object: &ObjectPlan,
    (nameservers, count): (&[String], i64),
    accepted: Option<Said>,
    programmed: Said,
    now: &str,
) -> Option<StatusWrite> {
    let mut desired = Vec::new();
    if let Some((truth, reason, message)) = accepted {
        desired.push(Desired { type_: kind::ACCEPTED, truth, reason, message });
    }
    desired.push(desired_programmed(programmed));
    let meta = &object.meta;
    let conditions = merge(&object.status.conditions, desired, meta.generation, now);
    let unchanged = conditions == object.status.conditions
        && nameservers == object.status.nameservers
        && object.status.record_count == Some(count);
    if unchanged {
        return None;
    }
    let body = json!({"status": {
        "conditions": values(&conditions),
        "nameservers": nameservers,
        "recordCount": count,
    }});
    Some(StatusWrite { kind: crate::api::KIND_ZONE, meta: meta.clone(), body })
}

fn desired_programmed((truth, reason, message): Said) -> Desired {
    Desired { type_: kind::PROGRAMMED, truth, reason, message }
}

fn values(conditions: &[Condition]) -> Vec<Value> {
    conditions.iter().map(Condition::to_value).collect()
}

/// A bounded enumeration: `a, b and 3 more`.
pub(super) fn spelled<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let shown = names.iter().take(SPELLED_NAMES).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SPELLED_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

//! What the last pass saw and left, for a person who asks.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};

use super::Plan;
use super::brakes::Hold;
use super::memory::Trouble;
use super::snapshot::Snapshot;
use crate::api::object::ObjectKey;
use crate::dns::name::Name;

/// Everything that a pass leaves to be asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    /// PowerDNS' version; absent while it could not be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What it can do; absent like its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Abilities>,
    /// Why PowerDNS could not be read at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
    /// Every DNSZone.
    #[serde(serialize_with = "by_key")]
    pub zones: BTreeMap<ObjectKey, ZoneView>,
    /// What the brakes hold, with the digests by which it is released.
    pub holds: Vec<Hold>,
    /// What failed and waits for its next try.
    pub troubles: Vec<Trouble>,
    /// Zones with our mark whose DNSZone is gone.
    pub orphans: BTreeSet<Name>,
}

/// What a server can do, as far as passes turn on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Abilities {
    /// It keeps comments, and so notes.
    pub comments: bool,
    /// Comments outlive their zone.
    pub comments_outlive_zones: bool,
    /// Writes go one at a time.
    pub single_writer: bool,
}

/// One DNSZone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ZoneView {
    /// Its zone; absent if its domain is no name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<Name>,
    /// Why it is not as declared, in the words of its condition; absent if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
    /// Names and types that it holds.
    pub rrsets: usize,
}

impl View {
    /// What a pass saw and left; `waiting` is why a DNSZone is not as declared, by uid.
    #[must_use]
    pub fn of(plan: &Plan, snapshot: &Snapshot, waiting: &BTreeMap<String, String>) -> View {
        let zone = |(uid, object): (&String, &super::ObjectPlan)| {
            let rrsets = object.entries.values().sum();
            let waits = waiting.get(uid).cloned();
            (object.meta.key(), ZoneView { domain: object.domain.clone(), waits, rrsets })
        };
        let server = snapshot.server.capabilities;
        View {
            server: server.map(|c| c.version.to_string()),
            capabilities: server.map(|c| Abilities {
                comments: c.comments,
                comments_outlive_zones: c.comments_outlive,
                single_writer: c.single_writer,
            }),
            unread: plan.blind.clone(),
            zones: plan.objects.iter().map(zone).collect(),
            holds: plan.holds.clone(),
            troubles: Vec::new(),
            orphans: plan.orphans.clone(),
        }
    }
}

fn by_key<S: Serializer>(
    zones: &BTreeMap<ObjectKey, ZoneView>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(zones.iter().map(|(key, zone)| (key.to_string(), zone)))
}

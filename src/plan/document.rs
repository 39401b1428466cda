//! A plan as data, for programs: the same state gives the same bytes, sorted.

use serde::Serialize;

use super::Plan;
use super::brakes::Hold;
use super::change::{Change, Leftover, Party, Verdict};
use super::zone_plan::{ZonePlan, ZoneStep};
use crate::dns::name::Name;
use crate::dns::rdata::Dialect;
use crate::dns::rrset::{Contents, RecordType};

/// Everything that a pass would do, and what it would leave with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    /// Whether anything that is served would change. Adoptions and marks are no difference.
    pub differs: bool,
    /// Why PowerDNS could not be read at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
    /// Zones with something to say.
    pub zones: Vec<Zone>,
    /// What the brakes hold.
    pub holds: Vec<Hold>,
    /// Zones with our mark whose DNSZone is gone.
    pub orphans: Vec<Name>,
    /// Names that are not programmed, and objects that are not served or are let go.
    pub waits: Vec<Wait>,
}

/// What would happen to one zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Zone {
    /// The zone.
    pub zone: Name,
    /// `keep`, `create`, `mark` or `delete`.
    pub step: &'static str,
    /// Why its names wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withheld: Option<String>,
    /// RRsets that change.
    pub changes: Vec<RrsetChange>,
    /// RRsets that nobody declares and that stay, unless the zone goes.
    pub leftovers: Vec<Left>,
}

/// What would happen to one RRset. Contents are `TTL rdata | rdata`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RrsetChange {
    /// Owner name.
    pub name: Name,
    /// Type.
    #[serde(rename = "type")]
    pub rtype: RecordType,
    /// `create`, `replace`, `adopt` or `delete`.
    pub action: &'static str,
    /// What is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What it becomes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// namespace/name of the record set it is written for or was written by; absent for the class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why it goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// An RRset that nobody declares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Left {
    /// Owner name.
    pub name: Name,
    /// Type word as the server has it.
    #[serde(rename = "type")]
    pub rtype: String,
    /// Why it stays.
    pub why: String,
}

/// Something declared that is not served as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Wait {
    /// `DNSZone` or `DNSRecordSet`.
    pub kind: &'static str,
    /// namespace/name.
    pub object: String,
    /// The name as the spec has it; absent where the object as a whole waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Why, in the words of the condition.
    pub why: String,
}

impl Document {
    /// Turns a plan into data; `dialect` decides how contents are spelt.
    #[must_use]
    pub fn of(plan: &Plan, dialect: Dialect) -> Document {
        let zones = plan.zones.iter().map(|(name, zone)| one_zone(name, zone, dialect));
        let silent = |z: &Zone| {
            z.step == "keep"
                && z.withheld.is_none()
                && z.changes.is_empty()
                && z.leftovers.is_empty()
        };
        Document {
            differs: plan.differs(),
            unread: plan.blind.clone(),
            zones: zones.filter(|z| !silent(z)).collect(),
            holds: plan.holds.clone(),
            orphans: plan.orphans.iter().cloned().collect(),
            waits: waits(plan),
        }
    }
}

fn one_zone(name: &Name, zone: &ZonePlan, dialect: Dialect) -> Zone {
    let step = match &zone.step {
        ZoneStep::Keep => "keep",
        ZoneStep::Create { .. } => "create",
        ZoneStep::Mark { .. } | ZoneStep::Remark { .. } => "mark",
        ZoneStep::Delete { .. } | ZoneStep::DeleteOrphan { .. } => "delete",
    };
    let names = zone.names.iter().chain(&zone.postponed);
    let changes = names.flat_map(|(owner, change)| {
        change.types.iter().map(|(rtype, change)| one_change(owner, *rtype, change, dialect))
    });
    let left =
        |l: &Leftover| Left { name: l.name.clone(), rtype: l.rtype.clone(), why: l.why.clone() };
    Zone {
        zone: name.clone(),
        step,
        withheld: zone.withheld.clone().filter(|_| zone.id.is_some()),
        changes: changes.collect(),
        leftovers: zone.leftovers.iter().map(left).collect(),
    }
}

fn one_change(name: &Name, rtype: RecordType, change: &Change, dialect: Dialect) -> RrsetChange {
    let key = |party: &Party| party.key.to_string();
    let (action, from, to, by, why) = match change {
        Change::Replace { contents, from, by, .. } => {
            let action = if from.is_some() { "replace" } else { "create" };
            let to = Some(text(contents, dialect));
            (action, from.clone(), to, by.as_ref().map(key), None)
        }
        Change::Adopt { by, .. } => ("adopt", None, None, Some(key(by)), None),
        Change::Delete { by, why, was, unnoted: _ } => {
            ("delete", Some(was.clone()), None, Some(key(by)), Some(why.to_string()))
        }
    };
    RrsetChange { name: name.clone(), rtype, action, from, to, by, why }
}

/// TTL and rdata, sorted.
pub(super) fn text(contents: &Contents, dialect: Dialect) -> String {
    let values = contents.values().iter();
    let mut values: Vec<String> = values.map(|v| v.print(dialect)).collect();
    values.sort();
    format!("{} {}", contents.ttl().get(), values.join(" | "))
}

fn waits(plan: &Plan) -> Vec<Wait> {
    let mut out = Vec::new();
    for set in plan.sets.values() {
        let mut push = |name: Option<&String>, why: String| {
            let object = set.meta.key().to_string();
            out.push(Wait { kind: "DNSRecordSet", object, name: name.cloned(), why });
        };
        if set.going {
            let why = set.blocked.as_ref().map(|w| format!("; waits: {w}")).unwrap_or_default();
            push(None, format!("it is let go once its RRsets are gone{why}"));
            continue;
        }
        if let Err((reason, message)) = &set.accepted {
            push(None, format!("{reason}: {message}"));
            continue;
        }
        for (raw, name) in &set.raws {
            if let Verdict::Not(reason, message) = &name.verdict
                && !plan.postpones(name)
            {
                push(Some(raw), format!("{reason}: {message}"));
            }
        }
    }
    for object in plan.objects.values() {
        let why = if object.deletion.is_some() {
            Some("it is let go once its record sets are".to_owned())
        } else {
            object.waits()
        };
        let key = object.meta.key().to_string();
        out.extend(why.map(|why| Wait { kind: "DNSZone", object: key, name: None, why }));
    }
    out.sort();
    out
}

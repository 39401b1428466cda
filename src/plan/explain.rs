//! Why a name is what it is: who declares it, who won and why, what PowerDNS holds there, and what the next pass does
//! about it. It decides nothing; it puts together what the plan and the snapshot say of one name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::brakes::Hold;
use super::change::Verdict;
use super::document::{self, Document, RrsetChange};
use super::note::{Mark, Writer, writer};
use super::sets::{Place, SetFacts, sets};
use super::snapshot::StoredRrset;
use super::zones::{Standing, Zones, zones};
use super::{Plan, Policy, SetPlan, Snapshot};
use crate::api::conditions::reason;
use crate::api::object::{Meta, ObjectKey};
use crate::dns::name::Name;

/// What is known of one name; prints for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explained {
    /// The name.
    pub name: Name,
    /// The longest zone that it lies in, and whose that is.
    pub zone: String,
    /// Each type that somebody declares or PowerDNS holds there.
    pub types: Vec<OneType>,
    /// What the brakes hold, anywhere.
    pub holds: Vec<String>,
}

/// One type at the name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OneType {
    /// The type's word.
    #[serde(rename = "type")]
    pub rtype: String,
    /// Who declares it, in the order in which they are asked.
    pub claims: Vec<Claimed>,
    /// Who has it, and why it and nobody else.
    pub winner: Option<String>,
    /// What PowerDNS holds and who wrote that.
    pub stored: String,
    /// What the next pass does.
    pub next: String,
    /// What DNS answered, if it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<String>,
}

/// One record set that declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Claimed {
    /// namespace/name.
    pub object: String,
    /// When it was created, RFC 3339.
    pub created: String,
    /// What became of it, in the words of its condition.
    pub verdict: String,
}

/// Puts together what is known of a name, of one type or of all.
#[must_use]
pub fn explain(
    snapshot: &Snapshot,
    plan: &Plan,
    policy: &Policy,
    name: &Name,
    only: Option<&str>,
) -> Explained {
    let zones = zones(&snapshot.cluster, &snapshot.server, policy);
    let sets = sets(&snapshot.cluster.sets, &zones, policy);
    let around = plan.zones.keys().filter(|zone| name.is_at_or_below(zone));
    let zone = around.max_by_key(|zone| zone.label_count());
    let document = Document::of(plan, snapshot.dialect());
    let server = snapshot.server.zones.as_ref();
    let contents = match (server, zone) {
        (Err(why), _) => Err(why),
        (Ok(zones), Some(zone)) => zones.get(zone).map(|z| z.contents.as_ref()).transpose(),
        (Ok(_), None) => Ok(None),
    };
    let claims = sets
        .values()
        .filter(|facts| declares(facts, name))
        .filter_map(|facts| Some((facts, plan.sets.get(&facts.set.meta.uid)?)));
    let here = Here {
        name,
        policy,
        planned: document.zones.iter().find(|z| Some(&z.zone) == zone),
        stored: contents.map(|c| c.and_then(|c| c.names.get(name))),
        claims: claims.collect(),
    };
    let types = match only {
        Some(only) => BTreeSet::from([only.to_owned()]),
        None => here.types(),
    };
    Explained {
        name: name.clone(),
        zone: whose(zone, &zones, snapshot, plan, policy),
        types: types.into_iter().map(|rtype| here.one(rtype)).collect(),
        holds: plan.holds.iter().map(Hold::message).collect(),
    }
}

/// Everything about the name, of all types.
struct Here<'a> {
    name: &'a Name,
    policy: &'a Policy,
    planned: Option<&'a document::Zone>,
    /// RRsets by type, if there are any, or why that is not known.
    stored: Result<Option<&'a BTreeMap<String, StoredRrset>>, &'a String>,
    claims: Vec<(&'a SetFacts<'a>, &'a SetPlan)>,
}

impl Here<'_> {
    fn changes(&self) -> impl Iterator<Item = &RrsetChange> {
        let all = self.planned.into_iter().flat_map(|zone| &zone.changes);
        all.filter(|change| change.name == *self.name)
    }

    /// Types that are declared, stored or about to be.
    fn types(&self) -> BTreeSet<String> {
        let stored = self.stored.ok().flatten().into_iter().flatten();
        let stored = stored.filter(|(_, rrset)| rrset.exists()).map(|(word, _)| word.clone());
        let declared = self.claims.iter().map(|(facts, _)| type_of(facts));
        stored.chain(declared).chain(self.changes().map(|c| c.rtype.to_string())).collect()
    }

    fn one(&self, rtype: String) -> OneType {
        let of_type = self.claims.iter().filter(|(facts, _)| type_of(facts) == rtype).copied();
        let rrset = self.stored.map(|types| types?.get(&rtype).filter(|r| r.exists()));
        let noted = rrset.ok().flatten().map(|r| writer(&r.comments, self.policy));
        let (claims, winner) = ranked(of_type.collect(), noted.as_ref(), self.name);
        let stored = match rrset {
            Err(why) => format!("not known: {why}"),
            Ok(None) => "nothing".to_owned(),
            Ok(Some(rrset)) => held(rrset, noted.as_ref()),
        };
        let next = self.next(&rtype);
        OneType { rtype, claims, winner, stored, next, dns: None }
    }

    fn next(&self, rtype: &str) -> String {
        let Some(zone) = self.planned else { return "nothing".to_owned() };
        if zone.step == "delete" {
            return "it goes with its zone".to_owned();
        }
        if let Some(change) = self.changes().find(|c| c.rtype.as_str() == rtype) {
            return sentence(change, zone.withheld.as_ref());
        }
        let mut left = zone.leftovers.iter();
        let left = left.find(|l| l.name == *self.name && l.rtype == rtype);
        left.map_or("nothing".to_owned(), |left| format!("it stays: {}", left.why))
    }
}

fn type_of(facts: &SetFacts<'_>) -> String {
    facts.set.rtype.as_ref().map_or("?".to_owned(), ToString::to_string)
}

/// Whether a record set spells the name, whatever else is wrong with it.
fn declares(facts: &SetFacts<'_>, name: &Name) -> bool {
    match &facts.place {
        Place::Accepted(zone) | Place::NotServed(Some(zone)) => {
            facts.spelled_names(zone).contains(name)
        }
        Place::NotServed(None) | Place::Unresolved => false,
    }
}

/// The claims in the order of the election, and who won it.
fn ranked(
    claims: Vec<(&SetFacts<'_>, &SetPlan)>,
    noted: Option<&Writer>,
    name: &Name,
) -> (Vec<Claimed>, Option<String>) {
    let noted = match noted {
        Some(Writer::Ours(note)) => Some(note.uid.as_str()),
        Some(Writer::Nobody | Writer::Other(_)) | None => None,
    };
    let rank = |meta: &Meta| (meta.created, noted != Some(meta.uid.as_str()), meta.key());
    let mut claims = claims;
    claims.sort_by_key(|(facts, _)| rank(&facts.set.meta));
    let stands = |(_, plan): &&(&SetFacts<'_>, &SetPlan)| {
        let lost = |v: &Verdict| matches!(v, Verdict::Not(why, _) if *why == reason::NOT_OWNER);
        !plan.going && plan.accepted.is_ok() && verdict(plan, name).is_some_and(|v| !lost(v))
    };
    let winner = claims.iter().find(stands).map(|(facts, _)| {
        let meta = &facts.set.meta;
        let same = claims.iter().filter(|(f, _)| f.set.meta.created == meta.created).count() > 1;
        let first = claims.first().is_some_and(|(f, _)| f.set.meta.uid == meta.uid);
        let why = match (claims.len(), first, same) {
            (1, _, _) => "nobody else declares it",
            (_, false, _) => "those before it are not served or are being deleted",
            (_, true, false) => "it is the oldest",
            (_, true, true) if noted == Some(meta.uid.as_str()) => {
                "none is older, and the RRset has its note"
            }
            (_, true, true) => "none is older, and it is the first by namespace/name",
        };
        format!("{}: {why}", meta.key())
    });
    let said = claims.iter().map(|(facts, plan)| {
        let meta = &facts.set.meta;
        let created = jiff::Timestamp::from_second(meta.created);
        Claimed {
            object: meta.key().to_string(),
            created: created.map_or("at an unknown time".to_owned(), |t| t.to_string()),
            verdict: words(plan, name),
        }
    });
    (said.collect(), winner)
}

fn verdict<'a>(plan: &'a SetPlan, name: &Name) -> Option<&'a Verdict> {
    let here = |t: &super::set_plan::Trace| t.name == *name;
    let raw = plan.raws.values().find(|raw| raw.target.as_ref().is_some_and(here));
    raw.map(|raw| &raw.verdict)
}

fn words(plan: &SetPlan, name: &Name) -> String {
    if plan.going {
        return "it is being deleted".to_owned();
    }
    if let Err((reason, message)) = &plan.accepted {
        return format!("{reason}: {message}");
    }
    match verdict(plan, name) {
        Some(Verdict::Equal) => "served as declared".to_owned(),
        Some(Verdict::Sent) => "to be written by the next pass".to_owned(),
        Some(Verdict::Not(reason, message)) => format!("{reason}: {message}"),
        None => "it is no owner name in the zone".to_owned(),
    }
}

/// What is stored, and by whom.
fn held(rrset: &StoredRrset, writer: Option<&Writer>) -> String {
    let off = |disabled| if disabled { " (disabled)" } else { "" };
    let mut records: Vec<String> =
        rrset.records.iter().map(|r| format!("{}{}", r.content, off(r.disabled))).collect();
    records.sort_unstable();
    let by = match writer {
        Some(Writer::Ours(note)) => format!("noted by us for {}", note.object),
        Some(Writer::Other(note)) => {
            format!("noted by owner {:?} for {}: not ours to touch", note.owner, note.object)
        }
        Some(Writer::Nobody) | None => "without a note".to_owned(),
    };
    format!("{} {}, {by}", rrset.ttl, records.join(" | "))
}

/// A change in words; a zone that is withheld has it later.
fn sentence(change: &RrsetChange, withheld: Option<&String>) -> String {
    let for_whom = change.by.as_deref().unwrap_or("the class");
    let from = change.from.as_deref().unwrap_or_default();
    let to = change.to.as_deref().unwrap_or_default();
    let what = match change.action {
        "create" => format!("create {to} for {for_whom}"),
        "replace" => format!("replace {from} -> {to} for {for_whom}"),
        "adopt" => format!("adopt it for {for_whom}"),
        _ => {
            let why = change.why.as_deref().unwrap_or_default();
            format!("delete {from} of {for_whom}: {why}")
        }
    };
    withheld.map_or(what.clone(), |why| format!("{what}, once this is over: {why}"))
}

/// The zone, the DNSZone that holds it, and its mark.
fn whose(
    zone: Option<&Name>,
    zones: &Zones<'_>,
    snapshot: &Snapshot,
    plan: &Plan,
    policy: &Policy,
) -> String {
    let Some(zone) = zone else { return "none that is declared here or in PowerDNS".to_owned() };
    let object = |key: ObjectKey, why: &str| format!("DNSZone {key}{why}");
    // A DNSZone that is being deleted holds nothing any more, and what is there is its own all the same.
    let ending = || zones.of_domain(zone).find(|facts| facts.standing == Standing::Terminating);
    let holder = zones.holder(zone).or_else(ending).map(|facts| {
        let why = match &facts.standing {
            Standing::Served => String::new(),
            Standing::Waiting(reason, message) => format!(" ({reason}: {message})"),
            Standing::InUse => " (another holds the domain)".to_owned(),
            Standing::Terminating => " (it is being deleted)".to_owned(),
        };
        object(facts.zone.meta.key(), &why)
    });
    let server = snapshot.server.zones.as_ref();
    let mark = match server.map(|zones| zones.get(zone)) {
        Err(why) => format!("PowerDNS not read: {why}"),
        Ok(None) => "not in PowerDNS".to_owned(),
        Ok(Some(stored)) => match Mark::read(&stored.account, policy) {
            Mark::None => "no mark".to_owned(),
            Mark::Ours(_) => "our mark".to_owned(),
            Mark::Other => "another owner's mark".to_owned(),
            Mark::FreeText => format!("account {:?}", stored.account),
        },
    };
    let withheld = plan.zones.get(zone).and_then(|z| z.withheld.as_ref());
    let withheld = withheld.map(|why| format!(", withheld: {why}")).unwrap_or_default();
    format!("{zone} of {}, {mark}{withheld}", holder.unwrap_or_else(|| "no DNSZone".to_owned()))
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Explained { name, zone, types, holds } = self;
        writeln!(f, "name      {name}")?;
        writeln!(f, "zone      {zone}")?;
        if types.is_empty() {
            writeln!(f, "nobody declares it, and PowerDNS holds nothing there")?;
        }
        for OneType { rtype, claims, winner, stored, next, dns } in types {
            writeln!(f, "\ntype      {rtype}")?;
            if claims.is_empty() {
                writeln!(f, "claim     of no DNSRecordSet")?;
            }
            for Claimed { object, created, verdict } in claims {
                writeln!(f, "claim     {object}, created {created}: {verdict}")?;
            }
            if let Some(winner) = winner {
                writeln!(f, "winner    {winner}")?;
            }
            writeln!(f, "stored    {stored}")?;
            if let Some(answer) = dns {
                writeln!(f, "dns       {answer}")?;
            }
            writeln!(f, "next      {next}")?;
        }
        holds.iter().try_for_each(|hold| writeln!(f, "braked    {hold}"))
    }
}

impl Explained {
    /// Adds what DNS answered, by type.
    pub fn answer(&mut self, answers: &BTreeMap<String, String>) {
        for one in &mut self.types {
            one.dns = answers.get(&one.rtype).cloned();
        }
    }
}

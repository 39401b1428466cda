//! What should be, worked out from the objects' JSON by other means than the product's: the vocabulary of the scenarios
//! read backwards. It says nothing where the answer would take the product's own finesse.

use std::collections::{BTreeMap, BTreeSet};

use dns_syncd::plan::note::mark;
use serde_json::Value;

use crate::model::{NAMELESS, REFUSED, Rrset};
use crate::scenario::{CLASSES, DOMAINS, OWNER};
use crate::vocabulary::{as_written, note_of, value};
use crate::world::World;

/// What one set declares at one owner name.
#[derive(Clone, Debug)]
pub struct Group {
    pub raws: BTreeSet<String>,
    /// TTL and values in normal form; `None` if it is invalid.
    pub contents: Option<(i64, BTreeSet<String>)>,
    /// The server alone would refuse it.
    pub refused: bool,
}

/// One set's claim.
#[derive(Clone, Debug)]
pub struct Claim<'a> {
    pub uid: &'a str,
    pub created: &'a str,
    pub rtype: &'a str,
    pub group: Group,
}

/// A text as equality sees it: no case, no serial, no parting of strings.
pub fn normal(rtype: &str, text: &str) -> String {
    let text = text.to_lowercase();
    match rtype {
        "TXT" => text.replace("\" \"", ""),
        "SOA" => {
            let mut fields: Vec<&str> = text.split(' ').collect();
            fields[2] = "0";
            fields.join(" ")
        }
        _ => text,
    }
}

/// TTL and values of an RRset.
pub fn stored(rtype: &str, rrset: &Rrset) -> (i64, BTreeSet<String>) {
    (rrset.ttl, rrset.records.iter().map(|r| normal(rtype, r)).collect())
}

/// A CNAME stands alone, an ALIAS without addresses.
pub fn coexist(a: &str, b: &str) -> bool {
    let alias = |x: &str, y: &str| x == "ALIAS" && (y == "A" || y == "AAAA");
    a == b || (a != "CNAME" && b != "CNAME" && !alias(a, b) && !alias(b, a))
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub fn uid(object: &Value) -> &str {
    text(object, "/metadata/uid")
}

pub fn terminating(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

pub fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().any(|f| f == finalizer)
}

/// The domain of a DNSZone with a final dot.
pub fn domain(zone: &Value) -> String {
    format!("{}.", text(zone, "/spec/domainName"))
}

/// The DNSZone that a set names.
pub fn zone_of<'a>(world: &'a World, set: &Value) -> Option<&'a Value> {
    let name = set.pointer("/spec/dnsZoneRef/name")?;
    world.cluster.of("dnszones").find(|z| z["metadata"]["name"] == *name)
}

/// Whether a DNSZone is live and its class ours.
pub fn wanted(zone: &Value) -> bool {
    !terminating(zone) && CLASSES[..2].contains(&text(zone, "/spec/dnsZoneClassName"))
}

/// The owner name that a raw name stands for.
pub fn owner(raw: &str, apex: &str) -> Option<String> {
    let raw = raw.to_lowercase();
    match raw.as_str() {
        "@" => Some(apex.to_owned()),
        bad if bad.contains("..") => None,
        absolute if absolute.ends_with('.') => (absolute == apex
            || absolute.ends_with(&format!(".{apex}")))
        .then(|| absolute.to_owned()),
        relative => Some(format!("{relative}.{apex}")),
    }
}

/// What a set declares in its zone; `None` if it hides a name or its type.
pub fn groups(set: &Value, zone: &Value) -> Option<BTreeMap<String, Group>> {
    let apex = domain(zone);
    let rtype = set.pointer("/spec/recordType")?.as_str()?;
    if value(rtype, 0).0 == value("?", 0).0 && !["CNAME", "ALIAS", "NS", "PTR"].contains(&rtype) {
        return None;
    }
    let default = if text(zone, "/spec/dnsZoneClassName") == "bare" { 60 } else { 300 };
    let mut entries: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for entry in set.pointer("/spec/records")?.as_array()? {
        if let Some(name) = owner(entry["name"].as_str()?, &apex) {
            entries.entry(name).or_default().push(entry);
        }
    }
    let group = |name: &str, entries: &[&Value]| {
        let raws = entries.iter().filter_map(|e| e["name"].as_str()).map(str::to_owned).collect();
        let texts: Option<Vec<Option<String>>> = entries.iter().map(|e| render(rtype, e)).collect();
        let texts: Option<Vec<String>> = texts.map(|t| t.into_iter().flatten().collect());
        let ttls: Vec<i64> = entries.iter().map(|e| e["ttl"].as_i64().unwrap_or(default)).collect();
        let placed = rtype != "SOA" || name == apex;
        let good = placed && ttls.iter().all(|t| *t >= 0);
        let texts = texts.filter(|t| good && !t.is_empty());
        let values: Option<BTreeSet<String>> = texts.map(|mut t| {
            match rtype {
                "CNAME" | "ALIAS" => t.truncate(1),
                "SOA" => drop(t.drain(..t.len() - 1)),
                _ => {}
            }
            t.iter().map(|t| normal(rtype, t)).collect()
        });
        let refused = values.iter().flatten().any(|v| v == REFUSED || v == NAMELESS);
        Group { raws, contents: values.map(|v| (ttls[0], v)), refused }
    };
    Some(entries.iter().map(|(name, e)| (name.clone(), group(name, e))).collect())
}

/// One entry's text; inner `None` for an empty one, which counts for nothing.
#[expect(clippy::option_option, reason = "no value and no good value are two things")]
fn render(rtype: &str, entry: &Value) -> Option<Option<String>> {
    let field = entry.get(rtype.to_lowercase())?;
    if field["content"] == " " {
        return (rtype != "TXT").then_some(None);
    }
    (0..4).map(|i| value(rtype, i)).find(|(f, _)| f == field).map(|(_, text)| Some(text))
}

/// The claims of live, accepted sets to one zone's names, by owner name.
pub fn claims<'a>(world: &'a World, holder: &Value) -> BTreeMap<String, Vec<Claim<'a>>> {
    let mut out: BTreeMap<String, Vec<Claim<'a>>> = BTreeMap::new();
    for set in world.cluster.of("dnsrecordsets").filter(|s| !terminating(s)) {
        let mine = zone_of(world, set).is_some_and(|z| uid(z) == uid(holder));
        for (name, group) in groups(set, holder).filter(|_| mine).into_iter().flatten() {
            let (created, rtype) =
                (text(set, "/metadata/creationTimestamp"), text(set, "/spec/recordType"));
            out.entry(name).or_default().push(Claim { uid: uid(set), created, rtype, group });
        }
    }
    out
}

/// The DNSZone that a domain's PowerDNS zone must follow once everything has settled: the one its mark names, else the
/// oldest. `None` where nobody is served; an error where the server does not show what it must.
pub fn holder<'a>(
    before: &World,
    after: &'a World,
    apex: &str,
) -> Result<Option<&'a Value>, String> {
    let of_domain =
        || after.cluster.of("dnszones").filter(|z| domain(z) == apex && !terminating(z));
    let marked = |account: &str| of_domain().find(|z| mark(OWNER, uid(z)) == account);
    let stored = before.pdns.zones.get(apex);
    let account = stored.map_or("", |z| z.account.as_str());
    let foreign = account.starts_with("ds:") && !account.starts_with(&mark(OWNER, "x")[..10]);
    if stored.is_some_and(|z| z.kind == "Slave") || foreign {
        return Ok(None);
    }
    let holder = marked(account).or_else(|| {
        of_domain()
            .filter(|z| wanted(z))
            .min_by_key(|z| (text(z, "/metadata/creationTimestamp"), text(z, "/metadata/name")))
    });
    let Some(holder) = holder.filter(|z| wanted(z)) else {
        return Ok(None);
    };
    let now = after.pdns.zones.get(apex).ok_or(format!("zone {apex} is not there"))?;
    let free = !account.is_empty() && !account.starts_with("ds:");
    let right = if free { account.to_owned() } else { mark(OWNER, uid(holder)) };
    if now.account != right {
        return Err(format!("zone {apex} has the account {:?}, not {right:?}", now.account));
    }
    Ok(Some(holder))
}

/// Whether a longer zone on the server answers for a name.
pub fn shadowed(world: &World, apex: &str, name: &str) -> bool {
    let below = |z: &str| z != apex && z.ends_with(&format!(".{apex}"));
    world.pdns.zones.keys().any(|z| below(z) && (name == z || name.ends_with(&format!(".{z}"))))
}

/// What differs from the desired state once passes have come to rest, where it is simple to say.
pub fn desired_state(before: &World, after: &World) -> Vec<String> {
    let mut out = Vec::new();
    for apex in DOMAINS {
        let holder = match holder(before, after, apex) {
            Ok(Some(holder)) => holder,
            Ok(None) => continue,
            Err(why) => {
                out.push(why);
                continue;
            }
        };
        let claims = claims(after, holder);
        for (name, claims) in &claims {
            if !shadowed(after, apex, name) && !claims.iter().any(|c| c.group.refused) {
                out.extend(served(before, after, apex, name, claims));
            }
        }
        if !after.pdns.unread.contains(apex) {
            out.extend(leftovers(after, apex, holder, &claims));
        }
    }
    out
}

/// Each type's oldest claimant is what is served at a name, if nothing there excludes it.
fn served(
    before: &World,
    after: &World,
    apex: &str,
    name: &str,
    claims: &[Claim<'_>],
) -> Vec<String> {
    let mut out = Vec::new();
    let old = before.pdns.zones.get(apex).map(|z| z.at(name)).unwrap_or_default();
    let now = after.pdns.zones[apex].at(name);
    for claim in claims {
        let excluded = claims.iter().any(|c| !coexist(c.rtype, claim.rtype))
            || (claim.rtype == "CNAME" && name == apex);
        let foreign =
            old.get(claim.rtype).and_then(|r| note_of(r)).is_some_and(|(o, _)| o != OWNER);
        let rivals = || claims.iter().filter(|c| c.rtype == claim.rtype);
        let oldest = rivals().map(|c| c.created).min();
        let winners: Vec<&Claim<'_>> = rivals().filter(|c| Some(c.created) == oldest).collect();
        // What the winner itself wrote with another type goes with its new one; all else may have a reason to stay.
        let obstacle = old.iter().any(|(t, r)| {
            let its = |(o, u): &(String, String)| o == OWNER && winners.iter().all(|w| w.uid == u);
            !coexist(t, claim.rtype) && !note_of(r).as_ref().is_some_and(its)
        });
        if excluded || obstacle || foreign || winners.iter().any(|w| w.group.contents.is_none()) {
            continue;
        }
        let here = now.get(claim.rtype).map(|r| stored(claim.rtype, r));
        let right: Vec<&&Claim<'_>> = winners.iter().filter(|w| w.group.contents == here).collect();
        if right.is_empty() {
            out.push(format!(
                "{name} {} is {here:?}, not what one of {winners:?} declares",
                claim.rtype
            ));
        }
        let noted = now.get(claim.rtype).and_then(|r| note_of(r));
        let noted = noted.is_some_and(|(o, u)| o == OWNER && winners.iter().any(|w| w.uid == u));
        if after.pdns.comments && !noted {
            out.push(format!("{name} {} does not carry the note of its winner", claim.rtype));
        }
    }
    out
}

/// RRsets with our note whose writer is gone, or no longer declares the name.
fn leftovers(
    after: &World,
    apex: &str,
    holder: &Value,
    claims: &BTreeMap<String, Vec<Claim<'_>>>,
) -> Vec<String> {
    // A list without any record set beside notes of ours is taken for a mistake.
    let listed = after.cluster.of("dnsrecordsets").next().is_some();
    let mut out = Vec::new();
    for ((name, rtype), rrset) in
        after.pdns.zones[apex].rrsets.iter().filter(|(_, r)| !r.records.is_empty())
    {
        let protected =
            (name == apex && matches!(rtype.as_str(), "SOA" | "NS")) || shadowed(after, apex, name);
        // What goes together with a write that is refused stays with it.
        let refused = claims.get(name).is_some_and(|c| c.iter().any(|c| c.group.refused));
        let ours = note_of(rrset).filter(|(owner, _)| owner == OWNER && !protected && !refused);
        let Some((_, writer)) = ours else {
            continue;
        };
        let left = match after.cluster.uid(&writer) {
            // A hash that does not fit keeps it: somebody changed it by hand.
            None => listed && as_written(rtype, rrset),
            Some(set) => {
                let here = zone_of(after, set).is_some_and(|z| uid(z) == uid(holder));
                here && groups(set, holder).is_some_and(|g| !g.contains_key(name))
            }
        };
        if left {
            out.push(format!("{name} {rtype} of {writer} is left over"));
        }
    }
    out
}

/// Whether an object of ours may have something to say about an RRset without a note: it declares it or says that it did,
/// or it is what a class declares at the apex.
pub fn accounted(world: &World, apex: &str, name: &str, rtype: &str) -> bool {
    if name == apex && matches!(rtype, "SOA" | "NS") {
        return true;
    }
    world.cluster.of("dnsrecordsets").any(|set| {
        let declared = set["spec"]["records"].as_array().into_iter().flatten();
        let said = set["status"]["recordSets"].as_array().into_iter().flatten();
        let mut raws = declared.chain(said).filter_map(|e| e["name"].as_str());
        set["spec"]["recordType"] == rtype
            && raws.any(|raw| owner(raw, apex).as_deref() == Some(name))
    })
}

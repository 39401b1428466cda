//! Who wrote an RRset that carries no note: on servers without comments, and at the first contact with a zone
//! that the incumbent filled, only the objects' own word tells.

use std::collections::BTreeMap;

use super::World;
use super::change::{DeleteReason, Party};
use super::claims::Claim;
use super::desired::declared;
use super::diff::protected;
use super::note::{Mark, Writer, writer};
use super::sets::{Place, SetFacts};
use super::snapshot::ZoneContents;
use super::zones::{ClassState, mark_of};
use crate::api::object::ObjectKey;
use crate::dns::name::Name;
use crate::dns::rrset::RecordType;

/// Note-less RRsets that we wrote all the same, in a zone without notes of ours (first contact, or a
/// server without comments): what a Terminating set spells or had programmed, and what a live set had
/// programmed and its spec has lost. Nothing that a live set claims, validly or not, is among them.
pub(super) fn evidence(
    world: &World<'_>,
    domain: &Name,
    contents: &ZoneContents,
    claims: &BTreeMap<Name, Vec<Claim<'_>>>,
) -> BTreeMap<(Name, RecordType), (Party, DeleteReason)> {
    let mut out = BTreeMap::new();
    let holder = world.zones.holder(domain).map(|h| h.zone.meta.uid.as_str());
    let mark = mark_of(&world.snapshot.server, domain, world.policy);
    let below = world.index.below(domain);
    let nobodys = |name: &Name, rtype: RecordType| {
        let policy = world.policy;
        let claimed = claims.get(name).into_iter().flatten().any(|c| c.rtype == rtype);
        let stored = contents.get(name, rtype);
        let writer = stored.map(|r| writer(&r.comments, policy));
        writer == Some(Writer::Nobody) && !claimed && !protected(domain, below, name, rtype)
    };
    let mut sets: Vec<&SetFacts<'_>> = world.index.home(domain).to_vec();
    sets.extend(&world.index.homeless);
    // Of two that had one name programmed, the word of the same one stands in each pass.
    sets.sort_by_key(|facts| &facts.set.meta.uid);
    for facts in sets {
        let Ok(rtype) = facts.set.rtype else { continue };
        let (names, why) = if facts.going {
            if !world.policy.holds_set(&facts.set.meta)
                || !belonged(facts, domain, holder, mark.as_ref())
            {
                continue;
            }
            let mut names = facts.spelled_names(domain);
            names.extend(facts.programmed_names(domain));
            // What others may have written goes only where it is what the set itself would have written.
            names.retain(|name| !world.policy.protect || own(world, facts, domain, name, contents));
            (names, DeleteReason::Going)
        } else if facts.place == Place::Accepted(domain.clone())
            && !facts.declared.partly_known
            && facts.refers_only_to(holder)
        {
            let lost = facts.programmed_names(domain).into_iter();
            let lost = lost.filter(|n| !facts.declared.groups.contains_key(n)).collect();
            (lost, DeleteReason::Lost)
        } else {
            continue;
        };
        let party = Party { uid: facts.set.meta.uid.clone(), key: facts.set.meta.key() };
        for name in names.into_iter().filter(|n| nobodys(n, rtype)) {
            out.insert((name, rtype), (party.clone(), why));
        }
    }
    out
}

/// Whether what is stored is what a going set's spec declares.
fn own(
    world: &World<'_>,
    facts: &SetFacts<'_>,
    domain: &Name,
    name: &Name,
    contents: &ZoneContents,
) -> bool {
    let Ok(rtype) = facts.set.rtype else { return false };
    let zone = facts
        .set
        .zone
        .as_ref()
        .map(|zone| ObjectKey { namespace: facts.set.meta.namespace.clone(), name: zone.clone() });
    let class = zone.and_then(|key| world.zones.named(&key)).map(|zone| zone.class);
    let ttl = match class {
        Some(ClassState::Ours(class)) => class.default_ttl,
        _ => None,
    };
    let declared = declared(facts.set, domain, ttl);
    let group = declared.groups.get(name).and_then(|g| g.contents.as_ref().ok());
    let stored = contents.get(name, rtype).and_then(|r| r.contents(rtype));
    group.zip(stored).is_some_and(|(declared, stored)| stored.matches(declared))
}

/// Whether a going set's contents lay in this zone: its DNSZone has the domain, and nobody else holds it or
/// the mark still carries that DNSZone's uid; or that object is gone and the mark carries its uid.
fn belonged(
    facts: &SetFacts<'_>,
    domain: &Name,
    holder: Option<&str>,
    mark: Option<&Mark>,
) -> bool {
    let marked = facts.set.meta.owners.iter().any(|o| mark.is_some_and(|m| m.names(&o.uid)));
    match &facts.place {
        Place::Accepted(zone) => zone == domain,
        Place::NotServed(zone) => {
            let rival = holder.is_some_and(|uid| !facts.refers_to(Some(uid)));
            zone.as_ref() == Some(domain) && (!rival || marked)
        }
        Place::Unresolved => marked,
    }
}

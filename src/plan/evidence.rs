//! Who wrote an RRset that carries no note: on servers without comments, and at the first contact with a zone
//! that the incumbent filled, only the objects' own word tells.

use std::collections::BTreeMap;

use super::World;
use super::change::{Change, DeleteReason, NameChange, Party};
use super::claims::Claim;
use super::desired::declared;
use super::diff::protected;
use super::note::{Mark, Note, Writer, writer};
use super::set_plan::{Controller, controller, named_zone};
use super::sets::{Place, SetFacts, is_zone};
use super::snapshot::ZoneContents;
use super::zones::{ClassState, mark_of};
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
            let belonged = belonged(world, facts, domain, holder, mark.as_ref());
            let told = || tells_of(world, facts, domain);
            if !world.policy.holds_set(&facts.set.meta) || !(belonged || told()) {
                continue;
            }
            let mut names = facts.programmed_names(domain);
            if belonged && may_have_written(world, facts, mark.as_ref()) {
                names.extend(facts.spelled_names(domain));
            }
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

/// What stays without a note, in a zone without notes, and was programmed by a live set that still declares it: its claim is
/// refused or loses now. It gets that set's note, or notes beside it would end all that tells whose it is.
pub(super) fn unadopted(
    world: &World<'_>,
    domain: &Name,
    contents: &ZoneContents,
    names: &BTreeMap<Name, NameChange>,
) -> BTreeMap<(Name, RecordType), Change> {
    let (below, policy) = (world.index.below(domain), world.policy);
    let holder = world.zones.holder(domain).map(|h| h.zone.meta.uid.as_str());
    let mut out = BTreeMap::new();
    for facts in world.index.home(domain) {
        let meta = &facts.set.meta;
        // Its status speaks of the zone that it refers to.
        let here = facts.place == Place::Accepted(domain.clone()) && facts.refers_only_to(holder);
        let Some(rtype) = facts.set.rtype.as_ref().ok().filter(|_| here && !facts.going) else {
            continue;
        };
        let declared = |name: &Name| facts.declared.groups.contains_key(name);
        for name in facts.programmed_names(domain).into_iter().filter(declared) {
            let written = names.get(&name).is_some_and(|change| change.types.contains_key(rtype));
            let stored = contents.get(&name, *rtype).filter(|_| !written);
            let Some(stored) = stored.filter(|r| writer(&r.comments, policy) == Writer::Nobody)
            else {
                continue;
            };
            let others = policy.protect && !own(world, facts, domain, &name, contents);
            if others || protected(domain, below, &name, *rtype) {
                continue;
            }
            let hash = stored.contents(*rtype).map(|c| c.fingerprint()).unwrap_or_default();
            let note = Note::new(&policy.owner_id, &meta.key(), &meta.uid, hash);
            let foreign = stored.foreign_comments().cloned();
            let comments = foreign.chain([note.to_comment(&stored.comments)]).collect();
            let by = Party { uid: meta.uid.clone(), key: meta.key() };
            out.entry((name, *rtype)).or_insert(Change::Adopt { comments, by });
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
    let class = named_zone(world, facts).map(|zone| zone.class);
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
    world: &World<'_>,
    facts: &SetFacts<'_>,
    domain: &Name,
    holder: Option<&str>,
    mark: Option<&Mark>,
) -> bool {
    let marked = facts.set.meta.owners.iter().any(|o| mark.is_some_and(|m| m.names(&o.uid)));
    match &facts.place {
        Place::Accepted(zone) => zone == domain && arrived(world, facts),
        Place::NotServed(zone) => {
            let rival = holder.is_some_and(|uid| !facts.refers_to(Some(uid)));
            let came = || !rival && arrived(world, facts) && !is_anothers(world, facts);
            zone.as_ref() == Some(domain) && (marked || came())
        }
        Place::Unresolved => marked,
    }
}

/// Whether a going set's status speaks of this zone, whoever holds it by now: the mark passes to an heir before what the set
/// had programmed is deleted, and only the status tells of that if the deletes fail.
fn tells_of(world: &World<'_>, facts: &SetFacts<'_>, domain: &Name) -> bool {
    let named = named_zone(world, facts).map(|zone| zone.zone.meta.uid.as_str());
    facts.place == Place::NotServed(Some(domain.clone()))
        && facts.refers_only_to(named)
        && !is_anothers(world, facts)
}

/// Whether something may have been written for a set in the zone of the DNSZone that it names: a reference to that one is
/// put on before. Who has only references to others was repointed and ended before any pass.
fn arrived(world: &World<'_>, facts: &SetFacts<'_>) -> bool {
    let Some(zone) = named_zone(world, facts).map(|f| &f.zone.meta) else { return false };
    let mut others = false;
    for owner in facts.set.meta.owners.iter().filter(|o| is_zone(o)) {
        // The one that had this name before counts: uids change when a cluster is restored.
        if owner.uid == zone.uid || owner.name == zone.name {
            return true;
        }
        others = true;
    }
    !others
}

/// Whether another controller serves the DNSZone that a set names: what it wrote need not be on this server.
fn is_anothers(world: &World<'_>, facts: &SetFacts<'_>) -> bool {
    let conditions = &facts.set.status.conditions;
    named_zone(world, facts).is_some_and(|zone| {
        controller(world, zone, conditions, || false) == Controller::OtherAccepted
    })
}

/// Whether a going set's spec alone tells what was written for it. Where no class has its DNSZone served, and no mark tells
/// that it once was, only what its status has programmed does.
fn may_have_written(world: &World<'_>, facts: &SetFacts<'_>, mark: Option<&Mark>) -> bool {
    named_zone(world, facts).is_none_or(|zone| {
        let served = matches!(zone.class, ClassState::Ours(_) | ClassState::Missing(_));
        served || mark.is_some_and(|m| m.names(&zone.zone.meta.uid))
    })
}

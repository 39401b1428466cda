//! What the RRsets that a zone holds now say, taken together: whose they are and what would outlive them.

use std::collections::{BTreeMap, BTreeSet};

use super::World;
use super::change::Leftover;
use super::note::{Writer, writer};
use super::sets::Hold;
use super::snapshot::{ServerZone, StoredRrset, ZoneContents};
use crate::dns::name::Name;
use crate::dns::rrset::RecordType;

/// What carries comments that would outlive its zone.
pub(super) fn outliving(world: &World<'_>, zone: &ServerZone) -> BTreeSet<(Name, String)> {
    let outlive = world.snapshot.server.capabilities.is_some_and(|c| c.comments_outlive);
    let contents = zone.contents.as_ref().ok().filter(|_| outlive);
    let names = contents.into_iter().flat_map(|c| &c.names);
    let all = names.flat_map(|(name, types)| types.iter().map(move |(t, r)| (name, t, r)));
    all.filter(|(_, _, r)| !r.comments.is_empty())
        .map(|(name, rtype, _)| (name.clone(), rtype.clone()))
        .collect()
}

pub(super) fn has_foreign_note(world: &World<'_>, contents: &ZoneContents) -> bool {
    let policy = world.policy;
    let rrsets = contents.names.values().flat_map(BTreeMap::values).filter(|r| r.exists());
    rrsets.into_iter().any(|r| matches!(writer(&r.comments, policy), Writer::Other(_)))
}

/// Whether a live set's RRset is in a zone that no DNSZone is served for: one that has not given it up keeps it, although
/// its own DNSZone is missing.
pub(super) fn has_kept(world: &World<'_>, zone: &Name, contents: &ZoneContents) -> bool {
    let rrsets = contents
        .names
        .iter()
        .flat_map(|(name, types)| types.iter().map(move |(t, r)| (name, t, r)));
    rrsets.into_iter().filter(|(_, _, r)| r.exists()).any(|(name, word, r)| {
        let Writer::Ours(note) = writer(&r.comments, world.policy) else { return false };
        let hold = world.sets.get(note.uid.as_str()).zip(word.parse().ok());
        let hold = hold.map(|(set, rtype)| set.hold(zone, None, name, rtype));
        hold.is_some_and(|hold| !matches!(hold, Hold::Going | Hold::Lost))
    })
}

/// RRsets without a note of ours, SOA and NS at the apex apart: what people may miss if the zone goes.
pub(super) fn noteless(world: &World<'_>, domain: &Name, contents: &ZoneContents) -> Vec<Leftover> {
    let policy = world.policy;
    let mut out = Vec::new();
    for (name, types) in &contents.names {
        for (rtype, rrset) in types.iter().filter(|(_, r)| r.exists()) {
            let apex = name == domain && matches!(rtype.as_str(), "SOA" | "NS");
            let writer = writer(&rrset.comments, policy);
            if writer == Writer::Nobody && !apex {
                let why = "no note claims it; it goes with its zone".to_owned();
                out.push(Leftover { name: name.clone(), rtype: rtype.clone(), why, uid: None });
            }
        }
    }
    out
}

/// RRsets with our note, by the uid that it carries, without those that are never deleted: apex SOA and
/// NS, and what a longer zone shadows. They hold no release.
pub(super) fn noted(
    world: &World<'_>,
    domain: &Name,
    contents: &ZoneContents,
) -> BTreeMap<String, BTreeSet<(Name, RecordType)>> {
    let policy = world.policy;
    let below = world.index.below(domain);
    let mut out: BTreeMap<String, BTreeSet<(Name, RecordType)>> = BTreeMap::new();
    for (name, types) in &contents.names {
        for (word, rrset) in types.iter().filter(|(_, r)| r.exists()) {
            let written = writer(&rrset.comments, policy);
            if let (Writer::Ours(note), Ok(rtype)) = (written, word.parse())
                && !super::diff::protected(domain, below, name, rtype)
            {
                out.entry(note.uid).or_default().insert((name.clone(), rtype));
            }
        }
    }
    out
}

/// Whether a zone of ours has contents and yet no note of ours: it existed before, and may have been marked only
/// just now. A server without comments never tells.
pub(super) fn unwritten(world: &World<'_>, domain: &Name, zone: &ServerZone) -> bool {
    let comments = world.snapshot.server.capabilities.is_some_and(|c| c.comments);
    let Ok(contents) = &zone.contents else { return false };
    let policy = world.policy;
    let names = contents.names.iter();
    let all = names.flat_map(|(name, types)| types.iter().map(move |(t, r)| (name, t, r)));
    let mut others = all.filter(|(name, rtype, r)| {
        r.exists() && !(*name == domain && matches!(rtype.as_str(), "SOA" | "NS"))
    });
    let ours = |r: &StoredRrset| matches!(writer(&r.comments, policy), Writer::Ours(_));
    let any = contents.names.values().flat_map(BTreeMap::values).any(ours);
    comments && !any && others.next().is_some()
}

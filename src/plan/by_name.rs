//! Objects from manifests against a PowerDNS that a daemon fills from a cluster: the uids there are the cluster's, so notes
//! and marks are read by namespace/name and domain instead. What they tell of and no manifest declares counts as being
//! deleted, because that is what taking its manifest away does.

use std::collections::{BTreeMap, BTreeSet};

use super::Policy;
use super::note::{Mark, Note, Writer, mark, uid_of_digits, writer};
use super::snapshot::{Cluster, ServerZone, Snapshot, StoredRrset};
use crate::api::manifest::uid;
use crate::api::object::{Meta, ObjectKey, Owner, RecordSet, RecordSetStatus, Zone, ZoneStatus};
use crate::api::{API_VERSION, FINALIZER_RECORD_SET, FINALIZER_ZONE, KIND_RECORD_SET, KIND_ZONE};
use crate::dns::name::Name;
use crate::dns::rrset::RecordType;

/// The version of a UUID that manifests get and API servers never give.
const OF_MANIFESTS: char = '5';

/// What is ours in PowerDNS and was not written for manifests: where it is, in words. Whoever applies manifests under an
/// owner id that has any of this takes it away from a daemon.
#[must_use]
pub fn of_a_cluster(snapshot: &Snapshot, policy: &Policy) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for (name, zone) in snapshot.server.zones.iter().flatten() {
        if let Mark::Ours(digits) = Mark::read(&zone.account, policy)
            && uid_of_digits(&digits).is_none_or(|uid| uid.chars().nth(14) != Some(OF_MANIFESTS))
        {
            out.insert(format!("the mark of zone {name}"));
        }
        for (owner, word, note) in notes(zone, policy) {
            let made = note.object.parse().ok().map(|key| uid(&note.owner, KIND_RECORD_SET, &key));
            if made.as_ref() != Some(&note.uid) {
                out.insert(format!("the note on {owner} {word}"));
            }
        }
    }
    out
}

/// Gives notes and marks the uids of the objects that they mean, and adds what no manifest declares as Terminating.
pub fn by_name(snapshot: &mut Snapshot, policy: &Policy) {
    let Snapshot { cluster, server } = snapshot;
    let Ok(zones) = &mut server.zones else { return };
    let declared: BTreeSet<ObjectKey> = cluster.sets.iter().map(|set| set.meta.key()).collect();
    for (domain, zone) in zones.iter_mut() {
        let noted = noted(zone, policy);
        let home = home(cluster, domain, zone, &noted, policy);
        for (key, rtype) in &noted {
            if declared.contains(key) {
                refer(cluster, key, home.as_ref());
            } else {
                cluster.sets.push(removed_set(policy, key, *rtype, home.as_ref()));
            }
        }
        rename(zone, policy);
        // An account that is somebody's text stays theirs.
        let marked = matches!(Mark::read(&zone.account, policy), Mark::Ours(_));
        if let Some(home) = home.filter(|_| marked) {
            zone.account = mark(&policy.owner_id, &home.uid);
        }
    }
    // One record set can have had names in several zones.
    let mut seen = BTreeSet::new();
    cluster.sets.retain(|set| seen.insert(set.meta.uid.clone()));
}

/// The DNSZone that a PowerDNS zone belongs to.
struct Home {
    uid: String,
    name: String,
}

/// The one that declares the domain; among several the one that what is noted there names. A zone with our mark, or with
/// notes of ours, whose domain no manifest declares goes with its DNSZone, which is added.
fn home(
    cluster: &mut Cluster,
    domain: &Name,
    zone: &ServerZone,
    noted: &BTreeMap<ObjectKey, RecordType>,
    policy: &Policy,
) -> Option<Home> {
    let marked = match Mark::read(&zone.account, policy) {
        Mark::Ours(digits) => Some(uid_of_digits(&digits)?),
        Mark::None | Mark::FreeText if !noted.is_empty() => None,
        Mark::None | Mark::FreeText | Mark::Other => return None,
    };
    // With `namespaces`, only notes tell whose a mark is.
    let all = policy.namespaces.is_empty();
    if !all && (noted.is_empty() || notes_elsewhere(zone, policy)) {
        return None;
    }
    let of_domain =
        |z: &&Zone| z.domain.as_deref().and_then(|d| Name::parse(d).ok()).as_ref() == Some(domain);
    let named = |namespace: &str, name: &str| {
        let set = |s: &&RecordSet| s.meta.namespace == namespace && s.zone.as_deref() == Some(name);
        cluster.sets.iter().filter(set).any(|s| noted.contains_key(&s.meta.key()))
    };
    let first = |z: &&Zone| (!named(&z.meta.namespace, &z.meta.name), z.meta.key());
    if let Some(zone) = cluster.zones.iter().filter(of_domain).min_by_key(first) {
        return Some(Home { uid: zone.meta.uid.clone(), name: zone.meta.name.clone() });
    }
    let key = removed_name(cluster, domain, noted);
    let uid = marked.unwrap_or_else(|| uid(&policy.owner_id, KIND_ZONE, &key));
    let meta = terminating(&key, uid, FINALIZER_ZONE);
    let home = Home { uid: meta.uid.clone(), name: meta.name.clone() };
    // It was served, so its class was one of ours.
    let ours = cluster.classes.iter().find(|c| policy.controller_names.contains(&c.controller));
    let class = ours.map(|class| class.name.clone());
    let (domain, status) = (Some(domain.as_str().to_owned()), ZoneStatus::default());
    cluster.zones.push(Zone { meta, domain, class, status });
    Some(home)
}

/// How a DNSZone that no manifest declares is called: as the record sets that are noted in it call it, or, where none is
/// left, by its domain.
fn removed_name(
    cluster: &Cluster,
    domain: &Name,
    noted: &BTreeMap<ObjectKey, RecordType>,
) -> ObjectKey {
    let taken = |key: &ObjectKey| cluster.zones.iter().any(|z| z.meta.key() == *key);
    let left = cluster.sets.iter().filter(|s| noted.contains_key(&s.meta.key()));
    let mut names = left.filter_map(|s| {
        let key = ObjectKey { namespace: s.meta.namespace.clone(), name: s.zone.clone()? };
        (!taken(&key)).then_some(key)
    });
    names.next().unwrap_or_else(|| ObjectKey {
        namespace: noted.keys().next().map_or_else(String::new, |key| key.namespace.clone()),
        name: domain.as_str().trim_end_matches('.').to_owned(),
    })
}

/// What an object that is being deleted looks like.
fn terminating(key: &ObjectKey, uid: String, finalizer: &str) -> Meta {
    Meta {
        namespace: key.namespace.clone(),
        name: key.name.clone(),
        uid,
        resource_version: String::new(),
        generation: 1,
        created: 0,
        changed: 0,
        terminating: true,
        deleted: None,
        finalizers: vec![finalizer.to_owned()],
        owners: Vec::new(),
        upstream: None,
        paused: false,
    }
}

fn removed_set(
    policy: &Policy,
    key: &ObjectKey,
    rtype: RecordType,
    home: Option<&Home>,
) -> RecordSet {
    let uid = uid(&policy.owner_id, KIND_RECORD_SET, key);
    RecordSet {
        meta: terminating(key, uid, FINALIZER_RECORD_SET),
        zone: home.map(|home| home.name.clone()),
        rtype: Ok(rtype),
        entries: Vec::new(),
        status: RecordSetStatus::default(),
    }
}

/// The reference that the daemon puts on what it writes: it tells where a record set was that names another zone by now.
fn refer(cluster: &mut Cluster, key: &ObjectKey, home: Option<&Home>) {
    let set = cluster.sets.iter_mut().find(|set| set.meta.key() == *key);
    let (Some(set), Some(home)) = (set, home) else { return };
    if !set.meta.owners.iter().any(|owner| owner.uid == home.uid) {
        set.meta.owners.push(Owner {
            api_version: API_VERSION.to_owned(),
            kind: KIND_ZONE.to_owned(),
            name: home.name.clone(),
            uid: home.uid.clone(),
            rest: serde_json::Map::new(),
        });
    }
}

/// Record sets that are noted in a zone, with a type of theirs there.
fn noted(zone: &ServerZone, policy: &Policy) -> BTreeMap<ObjectKey, RecordType> {
    let all = notes(zone, policy).into_iter();
    all.filter_map(|(_, word, note)| Some((note.object.parse().ok()?, word.parse().ok()?)))
        .collect()
}

/// Our notes in a zone.
fn notes<'a>(zone: &'a ServerZone, policy: &Policy) -> Vec<(&'a Name, &'a str, Note)> {
    rrsets(zone)
        .filter_map(|(name, word, rrset)| match writer(&rrset.comments, policy) {
            Writer::Ours(note) => Some((name, word, note)),
            Writer::Nobody | Writer::Other(_) => None,
        })
        .collect()
}

/// Whether something in a zone is noted for a namespace that is not ours to look at.
fn notes_elsewhere(zone: &ServerZone, policy: &Policy) -> bool {
    rrsets(zone).any(|(_, _, rrset)| match writer(&rrset.comments, policy) {
        Writer::Other(note) => policy.is_ours(&note.owner),
        Writer::Nobody | Writer::Ours(_) => false,
    })
}

fn rrsets(zone: &ServerZone) -> impl Iterator<Item = (&Name, &str, &StoredRrset)> {
    let names = zone.contents.iter().flat_map(|contents| &contents.names);
    let all = names.flat_map(|(name, types)| types.iter().map(move |(word, r)| (name, word, r)));
    all.filter(|(_, _, rrset)| rrset.exists()).map(|(name, word, r)| (name, word.as_str(), r))
}

/// Gives every note of ours the uid of the manifest of that name.
fn rename(zone: &mut ServerZone, policy: &Policy) {
    let names = zone.contents.iter_mut().flat_map(|contents| contents.names.values_mut());
    for rrset in names.flat_map(BTreeMap::values_mut) {
        let Writer::Ours(mut note) = writer(&rrset.comments, policy) else { continue };
        let Ok(key) = note.object.parse::<ObjectKey>() else { continue };
        note.uid = uid(&policy.owner_id, KIND_RECORD_SET, &key);
        let comment = note.to_comment(&rrset.comments);
        rrset.comments = rrset.foreign_comments().cloned().collect();
        rrset.comments.push(comment);
    }
}

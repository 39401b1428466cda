//! What users, other clients and accidents do between two passes.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::cluster::{Cluster, Place};
use crate::scenario::{CLASSES, DOMAINS, EntrySpec, entry, entry_value};
use crate::vocabulary::value;
use crate::world::World;

#[derive(Clone, Debug)]
pub enum Edit {
    DeleteSet(usize),
    /// Gone without its finalizer having been asked.
    LoseSet(usize),
    /// The same name with another uid.
    RecreateSet(usize),
    Retype(usize, &'static str, Vec<EntrySpec>),
    Records(usize, Vec<EntrySpec>),
    Repoint(usize, usize),
    DeleteZone(usize),
    LoseZone(usize),
    Reclass(usize, usize),
    /// Somebody changes what is stored at a place and leaves the comments.
    ByHand(usize, usize, u8),
    /// Somebody empties the account of a zone.
    Unmark(usize),
}

/// Any edits; with `refusals` also to values that only the server refuses.
pub fn edits(refusals: bool) -> impl Strategy<Value = Vec<Edit>> {
    let set = || 0..6_usize;
    let rtype = proptest::sample::select(&["A", "CNAME", "TXT", "ALIAS", "NS", "AAAA"][..]);
    let entries = move || vec(entry(refusals), 0..3);
    let edit = prop_oneof![
        3 => set().prop_map(Edit::DeleteSet),
        2 => set().prop_map(Edit::LoseSet),
        1 => set().prop_map(Edit::RecreateSet),
        4 => (set(), rtype, entries()).prop_map(|(i, t, e)| Edit::Retype(i, t, e)),
        4 => (set(), entries()).prop_map(|(i, e)| Edit::Records(i, e)),
        3 => (set(), 0..4_usize).prop_map(|(i, z)| Edit::Repoint(i, z)),
        4 => (0..3_usize).prop_map(Edit::DeleteZone),
        1 => (0..3_usize).prop_map(Edit::LoseZone),
        1 => (0..3_usize, 0..5_usize).prop_map(|(z, c)| Edit::Reclass(z, c)),
        2 => (0..2_usize, 0..12_usize, 0..3_u8).prop_map(|(d, i, v)| Edit::ByHand(d, i, v)),
        1 => (0..2_usize).prop_map(Edit::Unmark),
    ];
    vec(edit, 0..5)
}

fn set(i: usize) -> Place {
    ("dnsrecordsets".to_owned(), "ns".to_owned(), format!("s{i}"))
}

fn zone(i: usize) -> Place {
    ("dnszones".to_owned(), "ns".to_owned(), format!("z{i}"))
}

/// Makes all edits, in order.
pub fn apply(edits: &[Edit], world: &mut World) {
    for edit in edits {
        edit.apply(world);
    }
}

impl Edit {
    fn apply(&self, world: &mut World) {
        let cluster = &mut world.cluster;
        match self {
            Edit::DeleteSet(i) => cluster.delete(&set(*i)),
            Edit::LoseSet(i) => drop(cluster.objects.remove(&set(*i))),
            Edit::RecreateSet(i) => recreate(cluster, *i),
            Edit::Retype(i, rtype, entries) => cluster.edit(&set(*i), |object| {
                object["spec"]["recordType"] = json!(rtype);
                object["spec"]["records"] = entries.iter().map(|e| entry_value(rtype, e)).collect();
            }),
            Edit::Records(i, entries) => cluster.edit(&set(*i), |object| {
                let rtype = object["spec"]["recordType"].as_str().unwrap_or_default().to_owned();
                object["spec"]["records"] =
                    entries.iter().map(|e| entry_value(&rtype, e)).collect();
            }),
            Edit::Repoint(i, z) => cluster.edit(&set(*i), |object| {
                object["spec"]["dnsZoneRef"]["name"] = json!(format!("z{z}"));
            }),
            Edit::DeleteZone(i) => cluster.delete(&zone(*i)),
            Edit::LoseZone(i) => {
                cluster.objects.remove(&zone(*i));
                cluster.collect();
            }
            Edit::Reclass(i, class) => cluster.edit(&zone(*i), |object| {
                object["spec"]["dnsZoneClassName"] = Value::from(CLASSES[*class]);
            }),
            Edit::ByHand(domain, i, v) => by_hand(world, DOMAINS[*domain], *i, *v),
            Edit::Unmark(domain) => {
                if let Some(zone) = world.pdns.zones.get_mut(DOMAINS[*domain]) {
                    zone.account.clear();
                }
            }
        }
    }
}

fn recreate(cluster: &mut Cluster, i: usize) {
    let Some(mut object) = cluster.objects.remove(&set(i)) else { return };
    let meta = &object["metadata"];
    let (name, created) = (meta["name"].clone(), meta["creationTimestamp"].clone());
    let uid = format!("00000000-0000-4000-8000-0000000002{i:02}");
    object["metadata"] = json!({
        "name": name, "namespace": "ns", "uid": uid, "generation": 1, "creationTimestamp": created,
    });
    object["status"] = json!({});
    cluster.put("dnsrecordsets", object);
}

fn by_hand(world: &mut World, apex: &str, i: usize, v: u8) {
    let Some(zone) = world.pdns.zones.get_mut(apex) else { return };
    let count = zone.rrsets.len().max(1);
    if let Some(((_, rtype), rrset)) = zone.rrsets.iter_mut().nth(i % count)
        && rtype != "SOA"
        && !rrset.records.is_empty()
    {
        rrset.records = vec![value(rtype, v).1];
    }
}

//! The annotation `dns-syncd/pause: "true"`: what carries it stays as it is, in PowerDNS and in Kubernetes.

use std::collections::BTreeSet;

use super::guard::{hold_names, hold_zones_of, names_touching};
use super::zones::{Standing, mark_of};
use super::{Plan, World};
use crate::api::PAUSE;
use crate::api::object::Meta;
use crate::dns::name::Name;

/// Whether the PowerDNS zone of a DNSZone's domain is its own to hold: the mark carries its uid, or that of no DNSZone of
/// that domain and nobody else is served there. Anybody may make a DNSZone of any domain, and must not hold another's by it.
fn has_its_domain(world: &World<'_>, uid: &str) -> bool {
    let Some(domain) = world.zones.by_uid.get(uid).and_then(|f| f.domain.as_ref()) else {
        return false;
    };
    let mark = mark_of(&world.snapshot.server, domain, world.policy);
    let mut marked = world.zones.of_domain(domain).map(|f| f.zone.meta.uid.as_str());
    if let Some(owner) = marked.find(|uid| mark.as_ref().is_some_and(|m| m.names(uid))) {
        return owner == uid;
    }
    let holder = world.zones.holder(domain).filter(|h| h.standing == Standing::Served);
    holder.is_none_or(|h| h.zone.meta.uid == uid)
}

/// Names at which something is a set's, whether or not it declares them still: an heir writes over that in its own name.
fn carried(plan: &Plan, uid: &str) -> BTreeSet<(Name, Name)> {
    let zones = plan.zones.iter().filter_map(|(zone, p)| Some((zone, p.carried.get(uid)?)));
    zones
        .flat_map(|(zone, keys)| keys.iter().map(|(name, _)| (zone.clone(), name.clone())))
        .collect()
}

/// No zone goes that holds something of a set, whatever that set names and refers to by now.
fn stay(plan: &mut Plan, set: &Meta, why: &str) {
    for (name, zone) in &mut plan.zones {
        if !zone.goes() || !zone.carried.contains_key(&set.uid) {
            continue;
        }
        zone.withhold(why);
        let deletions = plan.objects.values_mut().filter_map(|o| o.deletion.as_mut());
        for deletion in deletions.filter(|d| d.takes.as_ref() == Some(name)) {
            deletion.takes = None;
            deletion.held = Some(format!("DNSRecordSet {} is {why}", set.key()));
        }
    }
}

/// Holds everything that a paused object has to do with.
pub(super) fn pause(mut plan: Plan, world: &World<'_>) -> Plan {
    let why = format!("paused by the annotation {PAUSE}");
    let cluster = &world.snapshot.cluster;
    for zone in cluster.zones.iter().filter(|z| z.meta.paused) {
        let holds = has_its_domain(world, &zone.meta.uid);
        if holds {
            hold_zones_of(&mut plan, &zone.meta.uid, &why);
        }
        if let Some(object) = plan.objects.get_mut(&zone.meta.uid) {
            // Whose zone passes to it in this pass is written for, and so has its finalizer.
            object.secure = object.secure.take().filter(|_| !holds);
            if let Some(deletion) = &mut object.deletion {
                deletion.dependants.clear();
                deletion.strip.clear();
                deletion.takes = None;
                deletion.held = Some(why.clone());
            }
        }
    }
    let paused = cluster.sets.iter().filter(|s| s.meta.paused);
    let uids = paused.clone().map(|s| (s.meta.uid.as_str(), why.as_str())).collect();
    let mut held = names_touching(&plan, &uids);
    let reason = |name| (name, why.clone());
    for set in paused {
        held.extend(carried(&plan, &set.meta.uid).into_iter().map(reason));
        stay(&mut plan, &set.meta, &why);
        if let Some(set) = plan.sets.get_mut(&set.meta.uid) {
            let traces = set.traces.iter().map(|t| (t.zone.clone(), t.name.clone()));
            held.extend(traces.map(reason));
            set.secure = None;
            set.repointed = None;
            if set.going {
                set.blocked = Some(why.clone());
            }
        }
        let key = set.meta.key();
        for object in plan.objects.values_mut() {
            let Some(deletion) = &mut object.deletion else { continue };
            let waits = deletion.waits_for.contains(&set.meta.uid);
            // With the zone would go what it left there, and itself by the garbage collector.
            let refers = deletion.referrers.contains(&set.meta.uid);
            if waits || refers || deletion.dependants.iter().any(|m| m.uid == set.meta.uid) {
                deletion.dependants.retain(|m| m.uid != set.meta.uid);
                deletion.strip.retain(|(m, _)| m.uid != set.meta.uid);
                deletion.held = Some(format!("DNSRecordSet {key} is {why}"));
                if let Some(zone) = deletion.takes.take().and_then(|z| plan.zones.get_mut(&z)) {
                    zone.withhold(&why);
                }
            }
        }
    }
    hold_names(&mut plan, &held);
    plan
}

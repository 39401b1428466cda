//! The annotation `dns-syncd/pause: "true"`: what carries it stays as it is, in PowerDNS and in Kubernetes.

use std::collections::BTreeSet;

use super::Plan;
use super::guard::{hold_name, hold_zones_of, names_touching};
use super::snapshot::Cluster;
use crate::api::PAUSE;
use crate::dns::name::Name;

/// Holds everything that a paused object has to do with.
pub(super) fn pause(mut plan: Plan, cluster: &Cluster) -> Plan {
    let why = format!("paused by the annotation {PAUSE}");
    for zone in cluster.zones.iter().filter(|z| z.meta.paused) {
        hold_zones_of(&mut plan, &zone.meta.uid, &why);
        if let Some(object) = plan.objects.get_mut(&zone.meta.uid) {
            object.secure = None;
            if let Some(deletion) = &mut object.deletion {
                deletion.dependants.clear();
                deletion.strip.clear();
                deletion.takes = None;
                deletion.held = Some(why.clone());
            }
        }
    }
    for set in cluster.sets.iter().filter(|s| s.meta.paused) {
        let mut held: BTreeSet<(Name, Name)> = names_touching(&plan, &set.meta.uid);
        if let Some(set) = plan.sets.get_mut(&set.meta.uid) {
            held.extend(set.traces.iter().map(|t| (t.zone.clone(), t.name.clone())));
            set.secure = None;
            set.repointed = None;
            if set.going {
                set.blocked = Some(why.clone());
            }
        }
        for (zone, name) in held {
            hold_name(&mut plan, &zone, &name, &why);
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
    plan
}

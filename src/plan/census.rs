//! How many names and objects are in which state after a pass, and since when: what the metrics tell of them.

use std::collections::BTreeMap;

use super::objects::ObjectPlan;
use super::set_plan::{Controller, SetPlan};
use super::statuses::{self, Said, StatusWrite};
use crate::api::conditions::{Truth, kind, reason};
use crate::api::object::Meta;

/// The figures of one pass. Times are Unix seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Names of record sets that are not programmed, by the reason of their condition.
    pub unprogrammed: BTreeMap<&'static str, usize>,
    /// Names that accepted record sets declare by type, and those of them that are served as declared.
    pub declared: BTreeMap<&'static str, (usize, usize)>,
    /// DNSZones whose class is another controller's.
    pub foreign: usize,
    /// Objects that are being deleted and wait for this daemon.
    pub terminating: usize,
    /// When the oldest of these was deleted.
    pub oldest_deletion: Option<i64>,
    /// When the specs were changed of those record sets that came to be programmed in this pass.
    pub programmed: Vec<i64>,
}

impl Census {
    /// Counts a live record set and what became of its names; `write` is its status, if it changes.
    pub(super) fn live(
        &mut self,
        set: &SetPlan,
        names: &BTreeMap<String, Said>,
        (whole, write): (bool, Option<&StatusWrite>),
    ) {
        let served = names.values().filter(|said| said.0 == Truth::True).count();
        self.declares(set, served);
        for (_, reason, _) in names.values().filter(|said| said.0 != Truth::True) {
            *self.unprogrammed.entry(reason).or_default() += 1;
        }
        let said = set.status.conditions.iter().any(|c| {
            let current = c.observed_generation == set.meta.generation;
            c.type_ == kind::PROGRAMMED && c.status == Truth::True && current
        });
        if whole && write.is_some() && !said {
            self.programmed.push(set.meta.changed);
        }
    }

    /// Counts a record set of which nothing has changed.
    pub(super) fn stands(&mut self, set: &SetPlan) {
        let served = set.raws.len().saturating_sub(statuses::unprogrammed(set).count());
        self.declares(set, served);
        for (_, condition) in statuses::unprogrammed(set) {
            let known = reason::ALL.iter().find(|reason| **reason == condition.reason);
            *self.unprogrammed.entry(known.copied().unwrap_or(reason::PENDING)).or_default() += 1;
        }
    }

    fn declares(&mut self, set: &SetPlan, served: usize) {
        if let (Some(rtype), Ok(())) = (set.rtype, &set.accepted) {
            let (all, programmed) = self.declared.entry(rtype.as_str()).or_default();
            (*all, *programmed) = (*all + set.raws.len(), *programmed + served);
        }
    }

    /// Counts an object that is being deleted and cannot be let go yet.
    pub(super) fn waits(&mut self, meta: &Meta) {
        self.terminating += 1;
        self.oldest_deletion = self.oldest_deletion.into_iter().chain(meta.deleted).min();
    }

    /// Counts a DNSZone.
    pub(super) fn zone(&mut self, object: &ObjectPlan) {
        self.foreign += usize::from(object.controller != Controller::Ours);
    }
}

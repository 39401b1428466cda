//! What one pass remembers of what failed, so that the next does not run into the same wall: one memory for the
//! server, its zones and their names. Losing it costs requests, never correctness.
//!
//! ```text
//! read      resting(now): zones whose reading waits; unchanged(…): zones that need no look
//! recall    a plan with what is known to fail, and what keeps its word through an outage
//! learn     the answers of a pass
//! wait      how long until another pass can help
//! troubles  all that, for a person
//! ```

mod learn;
mod recall;
mod show;
mod verified;

use std::collections::{BTreeMap, BTreeSet};

pub use learn::Lesson;
pub use show::Trouble;

use super::Plan;
use super::change::{Change, NameChange};
use super::note::NOTE_ACCOUNT;
use super::outcome::{Failure, ZoneApplied};
use super::release::Released;
use super::snapshot::Snapshot;
use crate::dns::name::Name;
use crate::dns::rdata::Version;
use crate::dns::rrset::RecordType;

/// Milliseconds of the first wait; doubled after every further failure.
const FIRST: u64 = 1_000;
/// Longest wait for the server, in milliseconds.
const SERVER: u64 = 2_000;
/// Longest wait for a zone.
const ZONE: u64 = 300_000;
/// Longest wait for a name.
const NAME: u64 = 3_600_000;
/// How long a set that was proven keeps its word while its zone cannot be read, in milliseconds.
const GRACE: u64 = 60_000;
/// Acknowledged so often in a row without coming to be read: then it is no coincidence.
const IN_VAIN: u32 = 3;
/// So often in a row the server went away while a batch was sent: then it is sent name by name.
const CRASHES: u32 = 2;

/// What one pass leaves for the next. Times are milliseconds on the pass's clock.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// When each zone's mark was acknowledged.
    pub marks: BTreeMap<Name, u64>,
    /// What a person lets through.
    pub released: Released,
    /// Passes so far: zones take turns at being first.
    pub turn: usize,
    server: Option<Backoff>,
    reads: BTreeMap<Name, (Backoff, String)>,
    writes: BTreeMap<Name, ZoneRow>,
    names: BTreeMap<(Name, Name), NameRow>,
    /// What was acknowledged for an RRset, and in how many passes running.
    acked: BTreeMap<(Name, Name, RecordType), (String, u32)>,
    /// The same for the step of a zone.
    steps: BTreeMap<Name, (String, u32)>,
    /// Since when the list cannot be had.
    blind: Option<u64>,
    /// Since when a zone cannot be read.
    unread: BTreeMap<Name, u64>,
    /// Zones that needed nothing when they were read.
    verified: BTreeMap<Name, verified::Verified>,
    /// Orphans that somebody was told of.
    orphans: BTreeSet<Name>,
    /// Generation of each record set that the last look at its zone proved, by uid.
    proven: BTreeMap<String, i64>,
}

/// How often something failed in a row, and when it is worth another try.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Backoff {
    failures: u32,
    next: u64,
}

impl Backoff {
    /// One failure more. `roll` is uniform in 0…1: the wait is anything up to the doubled one ("full jitter"), so
    /// that daemons that failed together do not come back together.
    fn after(before: Option<Backoff>, now: u64, longest: u64, roll: f64) -> Backoff {
        let failures = before.map_or(0, |b| b.failures).saturating_add(1);
        let doubled = FIRST.checked_shl(failures - 1).unwrap_or(longest).min(longest);
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most an hour in milliseconds"
        )]
        let wait = (doubled as f64 * roll.clamp(0.0, 1.0)) as u64;
        Backoff { failures, next: now + wait }
    }

    fn rests(&self, now: u64) -> bool {
        self.next > now
    }
}

/// A zone's requests that failed for no fault of one name.
#[derive(Clone, Debug)]
struct ZoneRow {
    backoff: Backoff,
    /// Names and contents that were not written, so that a change of them is tried at once.
    wanted: String,
    /// What the failing pass said, to be said again.
    answers: ZoneApplied,
    /// Names that were under way when the server went away, and how often in a row.
    suspects: BTreeSet<Name>,
    crashes: u32,
}

/// A name that failed alone.
#[derive(Clone, Debug)]
struct NameRow {
    backoff: Backoff,
    wanted: String,
    rtype: Option<RecordType>,
    failure: Failure,
    /// The server acknowledges it, and something else is read: an acknowledgement proves nothing here.
    in_vain: bool,
}

/// What is known about a zone's plan before it is carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Nothing is sent: the answers of the last try.
    pub zone: Option<ZoneApplied>,
    /// Names that are not sent, with the type at fault and the failure.
    pub names: BTreeMap<Name, (Option<RecordType>, Failure)>,
    /// Names whose acknowledgement proves nothing, with what to say instead.
    pub in_vain: BTreeMap<Name, Failure>,
    /// The same for the zone's own step.
    pub step_in_vain: bool,
    /// Names that are sent one by one.
    pub singly: BTreeSet<Name>,
}

impl Memory {
    /// Zones that are not read now, with the reason, since reading them failed a short while ago.
    #[must_use]
    pub fn resting(&self, now: u64) -> BTreeMap<Name, String> {
        let rests = self.reads.iter().filter(|(_, (backoff, _))| backoff.rests(now));
        rests.map(|(zone, (_, why))| (zone.clone(), why.clone())).collect()
    }

    /// Forgets what failed in some zones: somebody says that it is worth another try. What was acknowledged in vain is
    /// tried too, and goes on counting: where each edit brings a nudge, it would never be found out otherwise.
    pub fn forget(&mut self, of: impl Fn(&Name) -> bool) {
        self.server = None;
        self.verified.retain(|zone, _| !of(zone));
        self.reads.retain(|zone, _| !of(zone));
        self.writes.retain(|zone, _| !of(zone));
        self.names.retain(|(zone, _), row| row.in_vain || !of(zone));
        for (_, row) in self.names.iter_mut().filter(|((zone, _), _)| of(zone)) {
            row.backoff = Backoff::default();
        }
    }

    /// Milliseconds until another pass can do more than this one, if there is such a time: when the server or a zone
    /// is worth another try, or a claim made through an outage runs out. Refused names wait for the interval.
    #[must_use]
    pub fn wait(&self, now: u64) -> Option<u64> {
        let tries = self.server.iter().chain(self.reads.values().map(|(backoff, _)| backoff));
        let tries = tries.chain(self.writes.values().map(|row| &row.backoff)).map(|b| b.next);
        let since = self.blind.iter().chain(self.unread.values());
        let graces = since.map(|since| since + GRACE).filter(|end| *end > now);
        tries.chain(graces).min().map(|at| at.saturating_sub(now))
    }

    /// Zones whose DNSZone is gone, with the mark that they carry, and that nobody was told of.
    #[must_use]
    pub fn untold(&self, plan: &Plan, snapshot: &Snapshot) -> BTreeMap<String, String> {
        let zones = snapshot.server.zones.as_ref();
        let mark = |zone| zones.ok().and_then(|zones| zones.get(zone)).map(|z| z.account.clone());
        let found = plan.orphans.difference(&self.orphans);
        found.filter_map(|zone| Some((zone.to_string(), mark(zone)?))).collect()
    }

    /// Somebody was told of these orphans of a plan.
    pub fn told(&mut self, plan: &Plan, orphans: &BTreeSet<String>) {
        let told = plan.orphans.iter().filter(|zone| orphans.contains(zone.as_str()));
        self.orphans.extend(told.cloned());
    }

    /// Figures for the metrics: zones and names that wait for their next try.
    #[must_use]
    pub fn backed_off(&self) -> (usize, usize) {
        let zones: BTreeSet<&Name> = self.reads.keys().chain(self.writes.keys()).collect();
        (zones.len(), self.names.len())
    }

    /// Names that the server acknowledges without serving them.
    #[must_use]
    pub fn in_vain(&self) -> usize {
        self.names.values().filter(|row| row.in_vain).count()
    }
}

/// What a name's change wants of the server, as text: equal texts would meet with the same refusal. Deletes that
/// stand on their own are no part of it where something is written, since they go ahead alone; nor are types that `of`
/// does not accept.
fn wanted(name: &NameChange, version: Option<Version>, of: impl Fn(RecordType) -> bool) -> String {
    let writing = name.types.values().any(|c| !matches!(c, Change::Delete { .. }));
    let mut out = version.map(|v| format!("{v:?}")).unwrap_or_default();
    for (rtype, change) in name.types.iter().filter(|(rtype, _)| of(**rtype)) {
        let alone = matches!(change, Change::Delete { why, .. } if why.stands_alone());
        if !(writing && alone) {
            out.push_str(&wanted_one(*rtype, change));
        }
    }
    out
}

fn wanted_one(rtype: RecordType, change: &Change) -> String {
    match change {
        Change::Replace { contents, .. } => format!(" {rtype}={}", contents.fingerprint()),
        Change::Delete { .. } => format!(" {rtype}-"),
        Change::Adopt { comments, .. } => {
            let ours = comments.iter().filter(|c| c.account == NOTE_ACCOUNT);
            format!(" {rtype}+{}", ours.map(|c| c.content.as_str()).collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_are_anything_below() {
        let mut backoff = None;
        let mut waits = Vec::new();
        for _ in 0..70 {
            let next = Backoff::after(backoff, 10, ZONE, 1.0);
            waits.push(next.next - 10);
            backoff = Some(next);
        }
        assert_eq!(waits[..4], [1_000, 2_000, 4_000, 8_000]);
        assert_eq!(waits[69], ZONE);
        assert_eq!(Backoff::after(backoff, 10, ZONE, 0.0).next, 10);
        assert_eq!(Backoff::after(None, 10, ZONE, 0.5).next, 510);
    }
}

//! Sending one batch of names so that a bad one costs itself alone: the name that a refusal names is cut out, else the
//! batch is halved.
//!
//! Bounds, for n names of which k are bad. Named by the text: k requests more. Not named: at most 1 + 2k·⌈log₂ n⌉ in all.
//! A 5xx or a connection that breaks: the same, with one read before each halving, and given up once two single names
//! have failed with nothing written in between, nor a third one from the other end of what is left: a server that fails
//! everything costs ⌈log₂ n⌉ + 3 writes.

use std::collections::BTreeSet;

use super::apply::{Names, Task};
use super::client::{Error, Lost};
use super::wire::{contents, offender};
use crate::dns::name::Name;
use crate::dns::rrset::RecordType;
use crate::plan::batch::Batch;
use crate::plan::change::{Change, NameChange};
use crate::plan::snapshot::{Comment, ZoneContents};
use crate::plan::{Failure, Outcome, Proof};

/// Names that fail alone in a row before it is the server that fails.
const FAILING: usize = 2;

impl Task<'_> {
    /// Sends one batch; gives what is to be sent next in its place, last first.
    ///
    /// # Errors
    /// With the failure that may strike any request, so that nothing more is worth sending.
    pub(super) async fn send(&mut self, mut batch: Batch) -> Result<Vec<Batch>, Failure> {
        let rrsets = batch.to_json(self.applier.dialect);
        let error = match self.client().patch(self.id, rrsets).await {
            Ok(proof) => {
                self.failing.clear();
                batch.names.iter().for_each(|(name, change)| self.done(name, change, proof));
                return Ok(Vec::new());
            }
            Err(error) => error,
        };
        let failure = self.failed(&error);
        let Error::Status { status: status @ (400 | 413 | 422), text, .. } = error else {
            return self.unknown(batch, &error, failure).await;
        };
        let named =
            offender(&text).filter(|(name, _)| status == 422 && batch.names.contains_key(name));
        let Some((name, rtype)) = named else {
            return Ok(match batch.clone().halves() {
                Some((first, second)) => vec![second, first],
                None => self.refused(batch, None, &failure),
            });
        };
        let refused = batch.names.remove(&name).unwrap_or_default();
        let alone = Batch { names: Names::from([(name, refused)]) };
        let mut next = self.refused(alone, rtype, &failure);
        if !batch.names.is_empty() {
            next.push(batch);
        }
        Ok(next)
    }

    /// After an answer that tells neither whether the batch was carried out nor what is wrong with it: the zone is read
    /// again. What is there as wanted is proved; the rest is halved, or left where the server itself is in trouble.
    async fn unknown(
        &mut self,
        batch: Batch,
        error: &Error,
        failure: Failure,
    ) -> Result<Vec<Batch>, Failure> {
        if !error.may_be_content() {
            batch.names.iter().for_each(|(name, change)| self.fail(name, change, &failure));
            return Err(failure);
        }
        let body = match self.client().zone(self.id).await {
            Ok(body) => body,
            Err(reading) => {
                // It may be this very batch that the server died of.
                let died = matches!(error, Error::Transport(Lost::Reset | Lost::Cut));
                let gone = matches!(reading, Error::Transport(Lost::Refused | Lost::Reset));
                self.crashed(&batch, died && gone, &failure);
                return Err(failure);
            }
        };
        let read = contents(body.rrsets);
        let mut rest = Names::new();
        for (name, change) in batch.names {
            match Proof::of(200).filter(|_| carried_out(&name, &change, &read)) {
                Some(proof) => self.done(&name, &change, proof),
                None => drop(rest.insert(name, change)),
            }
        }
        let rest = Batch { names: rest };
        if rest.names.is_empty() {
            return Ok(Vec::new());
        }
        if let Some((first, second)) = rest.clone().halves() {
            return Ok(vec![second, first]);
        }
        self.failing.extend(rest.names.keys().cloned());
        let next = self.refused(rest, None, &failure);
        if self.failing.len() < FAILING {
            return Ok(next);
        }
        // It is not these names that fail.
        self.out.isolated.retain(|name, _| !self.failing.contains(name));
        Err(failure)
    }

    /// Whether the names that failed in a row are to blame, and not the server: it takes another name, the last one in
    /// `queue`, which is as far from them as can be. Bad ones are often neighbours, and would keep all the others waiting.
    pub(super) async fn is_well(&mut self, queue: &mut [Batch], failure: &Failure) -> bool {
        // What must go before any note is written is not overtaken.
        let ordered = queue.iter().any(|batch| !batch.unnoted().is_empty());
        let Some(last) = queue.first_mut().filter(|_| self.failing.len() >= FAILING && !ordered)
        else {
            return false;
        };
        let Some((name, change)) = last.names.pop_last() else { return false };
        let probe = Batch { names: Names::from([(name.clone(), change.clone())]) };
        let sent = self.client().patch(self.id, probe.to_json(self.applier.dialect)).await;
        let Ok(proof) = sent else {
            last.names.insert(name, change);
            return false;
        };
        self.done(&name, &change, proof);
        for name in self.failing.drain(..) {
            self.out.isolated.insert(name, (None, failure.clone()));
        }
        true
    }

    fn crashed(&mut self, batch: &Batch, gone: bool, failure: &Failure) {
        batch.names.iter().for_each(|(name, change)| self.fail(name, change, failure));
        if !gone {
            return;
        }
        self.out.crashed = batch.names.keys().cloned().collect();
        let mut names = batch.names.keys();
        if let (Some(name), None) = (names.next(), names.next())
            && self.known.singly.contains(name)
        {
            let why = "PowerDNS goes away whenever it is sent".to_owned();
            let failure = Failure::Unknown(why);
            let change = batch.names.get(name).cloned().unwrap_or_default();
            self.fail(name, &change, &failure);
            self.out.isolated.insert(name.clone(), (None, failure));
        }
    }

    /// Takes out of `names` what is known to fail, and gives what of it goes ahead all the same.
    pub(super) fn known_to_fail(&mut self, names: &mut Names) -> Vec<Batch> {
        let mut out = Vec::new();
        for (name, (rtype, failure)) in &self.known.names {
            if let Some(change) = names.remove(name) {
                out.extend(self.set_aside(name.clone(), change, *rtype, failure));
            }
        }
        out
    }

    /// Names that were refused, each whole.
    fn refused(&mut self, batch: Batch, rtype: Option<RecordType>, why: &Failure) -> Vec<Batch> {
        let mut next = Vec::new();
        for (name, change) in batch.names {
            self.out.isolated.insert(name.clone(), (rtype, why.clone()));
            next.extend(self.set_aside(name, change, rtype, why));
        }
        next
    }

    /// Writes down a name that fails, whole; deletes that its writers asked for themselves go on alone, unless
    /// the writer is the one that was refused.
    fn set_aside(
        &mut self,
        name: Name,
        change: NameChange,
        rtype: Option<RecordType>,
        why: &Failure,
    ) -> Option<Batch> {
        let writes = |c: &Change| !matches!(c, Change::Delete { .. });
        let refused: BTreeSet<String> = change
            .types
            .iter()
            .filter(|(t, c)| writes(c) && rtype.is_none_or(|r| r == **t))
            .filter_map(|(_, c)| match c {
                Change::Replace { by, .. } => by.as_ref().map(|p| p.uid.clone()),
                Change::Adopt { by, .. } | Change::Delete { by, .. } => Some(by.uid.clone()),
            })
            .collect();
        let writing = change.types.values().any(writes);
        // The note of an heir alone changes nothing that is served, and who had the RRset before waits for it.
        let replaces = change.types.values().any(|c| matches!(c, Change::Replace { .. }));
        let mut alone = NameChange::default();
        for (t, c) in change.types {
            if let Change::Replace { over: Some((by, why)), from: Some(was), .. } = &c
                && !refused.contains(&by.uid)
            {
                self.for_others.insert((name.clone(), t));
                let (by, why, was) = (by.clone(), *why, was.clone());
                alone.types.insert(t, Change::Delete { by, why, unnoted: false, was });
            }
            let outcome = match &c {
                Change::Delete { by, why: reason, .. }
                    if writing && reason.stands_alone() && !refused.contains(&by.uid) =>
                {
                    alone.types.insert(t, c);
                    continue;
                }
                Change::Adopt { by, .. } if replaces && !refused.contains(&by.uid) => {
                    alone.types.insert(t, c);
                    continue;
                }
                Change::Delete { .. } | Change::Replace { .. } | Change::Adopt { .. } => {
                    match rtype.filter(|r| *r != t) {
                        Some(other) => {
                            Failure::NameHeld(format!("{other} at this name was refused"))
                        }
                        None => why.clone(),
                    }
                }
            };
            self.out.keys.insert((name.clone(), t), Outcome::Failed(outcome));
        }
        (!alone.types.is_empty()).then(|| Batch { names: Names::from([(name, alone)]) })
    }
}

/// Whether a name reads as its change wants it.
fn carried_out(name: &Name, change: &NameChange, read: &ZoneContents) -> bool {
    let same = |wanted: &[Comment], there: &[Comment]| {
        let key = |c: &Comment| (c.account.clone(), c.content.clone());
        let set = |all: &[Comment]| all.iter().map(key).collect::<BTreeSet<_>>();
        set(wanted) == set(there)
    };
    change.types.iter().all(|(rtype, change)| {
        let there = read.get(name, *rtype);
        match change {
            Change::Delete { .. } => there.is_none(),
            Change::Adopt { comments, .. } => there.is_some_and(|r| same(comments, &r.comments)),
            Change::Replace { contents, comments, .. } => there.is_some_and(|r| {
                r.contents(*rtype).is_some_and(|c| c.matches(contents))
                    && comments.as_ref().is_none_or(|wanted| same(wanted, &r.comments))
            }),
        }
    })
}

//! What becomes of a stored RRset that no admitted claim covers: whose it is, and on what ground it goes.

use super::super::change::{Change, DeleteReason, Party};
use super::super::claims::Claim;
use super::super::note::{Note, Writer};
use super::super::sets::Hold;
use super::{Decision, Here};
use crate::api::object::ObjectKey;
use crate::dns::rrset::RecordType;

impl<'v> Decision<'v, '_> {
    /// Whether a stored RRset that no admitted claim covers goes, and on what ground.
    pub(super) fn goes(&self, rtype: RecordType, here: &Here<'v>) -> Option<(Party, DeleteReason)> {
        let (party, fate) = self.fate(rtype, here)?;
        let written = self.accepted.iter().any(|c| c.uid() == party.uid);
        let why = match fate {
            Ok(why) => why,
            // The old type goes only in the PATCH that writes the new one.
            Err(Hold::Retyped) if written => DeleteReason::Retyped,
            Err(_) => return None,
        };
        Some((party, why))
    }

    /// Whose RRset a claim overwrites, if that one is another's that goes or has given it up.
    pub(super) fn overwritten(
        &self,
        claim: &Claim<'v>,
        here: &Here<'v>,
    ) -> Option<(Party, DeleteReason)> {
        let (party, fate) = self.fate(claim.rtype, here)?;
        let why = fate.ok().filter(|why| why.stands_alone())?;
        (party.uid != claim.uid()).then_some((party, why))
    }

    /// Whose a stored RRset is, and either the ground on which it goes whatever else is at the name, or what
    /// its writer still says of it. `None` if it is nobody's that we know, or must stay.
    pub(super) fn fate(
        &self,
        rtype: RecordType,
        here: &Here<'v>,
    ) -> Option<(Party, Result<DeleteReason, Hold>)> {
        if self.protected(rtype) {
            return None;
        }
        let sure = |(party, why)| (party, Ok(why));
        let note = match &here.writer {
            Writer::Other(_) => return None,
            Writer::Nobody => {
                return self.evidence(rtype).or_else(|| self.undeclared(rtype)).map(sure);
            }
            Writer::Ours(note) => note,
        };
        let Some(writer) = self.view.sets.get(note.uid.as_str()) else {
            return self.implicit(rtype, here, note).map(sure);
        };
        let party = Party { uid: note.uid.clone(), key: writer.set.meta.key() };
        let fate = match writer.hold(self.view.zone, self.view.holder, self.name, rtype) {
            Hold::Going => Ok(DeleteReason::Going),
            Hold::Lost => Ok(DeleteReason::Lost),
            hold @ (Hold::Retyped | Hold::Declared | Hold::Unknown) => Err(hold),
        };
        Some((party, fate))
    }

    /// The object is not on the list: it goes if the note's fingerprint is what is read.
    fn implicit(
        &self,
        rtype: RecordType,
        here: &Here<'v>,
        note: &Note,
    ) -> Option<(Party, DeleteReason)> {
        let key: ObjectKey = note.object.parse().ok()?;
        let unchanged = here.rrset.contents(rtype).is_some_and(|c| c.fingerprint() == note.h);
        let goes = unchanged || self.undeclared(rtype).is_some();
        if !goes || self.view.holder.is_none() || self.guarded(&key) {
            return None;
        }
        Some((Party { uid: note.uid.clone(), key }, DeleteReason::Implicit))
    }

    /// SOA and NS at the apex never go. What a record set had written there loses its note once that set has done with it.
    pub(super) fn forget_at_apex(&mut self, claims: &[Claim<'v>]) {
        for rtype in [RecordType::Soa, RecordType::Ns] {
            let Some(Here { writer: Writer::Ours(note), .. }) = self.here.get(&rtype) else {
                continue;
            };
            let Ok(key) = note.object.parse::<ObjectKey>() else { continue };
            let claimed = claims.iter().any(|c| c.rtype == rtype);
            if self.name != self.view.zone || claimed || !self.is_done_with(rtype, note, &key) {
                continue;
            }
            let by = Party { uid: note.uid.clone(), key };
            if let Some(comments) = self.comments(rtype, None) {
                self.out.change.types.entry(rtype).or_insert(Change::Adopt { comments, by });
            }
        }
    }

    fn is_done_with(&self, rtype: RecordType, note: &Note, key: &ObjectKey) -> bool {
        let Some(writer) = self.view.sets.get(note.uid.as_str()) else {
            return self.view.holder.is_some() && !self.guarded(key);
        };
        match writer.hold(self.view.zone, self.view.holder, self.name, rtype) {
            Hold::Going | Hold::Lost | Hold::Retyped => true,
            Hold::Declared | Hold::Unknown => false,
        }
    }

    /// A record set whose spec is only partly known may declare what is here: nothing implicit goes.
    fn guarded(&self, key: &ObjectKey) -> bool {
        self.view.hidden || self.view.unreferred.contains(key.namespace.as_str())
    }

    /// What nobody declares, in a zone that is to hold nothing else. A name that somebody declares something at is not
    /// ignored.
    fn undeclared(&self, rtype: RecordType) -> Option<(Party, DeleteReason)> {
        let ignored = self.declared.is_empty() && self.view.policy.ignores(self.name);
        let party = self.view.purges.as_ref().filter(|_| !ignored)?;
        let undeclared = !self.declared.contains(&rtype);
        undeclared.then(|| (party.clone(), DeleteReason::Undeclared))
    }

    fn evidence(&self, rtype: RecordType) -> Option<(Party, DeleteReason)> {
        self.view.evidence.get(&(self.name.clone(), rtype)).cloned()
    }
}

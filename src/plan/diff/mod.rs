//! The decision about one owner name of one zone: who may write what there, and what goes.
//!
//! | stored, of one type   | declared, wins          | declared, held back | not declared              |
//! |-----------------------|-------------------------|---------------------|---------------------------|
//! | nothing               | replace                 | –                   | –                         |
//! | equal, note right     | –                       | stays               | goes if its writer lost it|
//! | equal, no/stale note  | adopt                   | stays               | stays: nobody's           |
//! | different             | replace                 | stays               | goes if its writer lost it|
//! | another owner's note  | equal: –, else Conflict | stays               | stays                     |
//!
//! Writes and deletes of a name stand in one `NameChange`; coexistence is decided here, so that no
//! request is sent that the server must refuse.

mod fate;

use std::collections::{BTreeMap, BTreeSet};

use super::change::{Change, ClaimVerdict, DeleteReason, Leftover, NameChange, Party, Verdict};
use super::claims::{Claim, ZoneView};
use super::note::{Note, Writer, writer};
use super::sets::Hold;
use super::snapshot::{Comment, StoredRrset};
use crate::api::conditions::{reason, sentence};
use crate::dns::name::Name;
use crate::dns::rrset::{Contents, RecordType};

/// What was decided about one name.
#[derive(Default)]
pub(super) struct NameDecision {
    pub(super) change: NameChange,
    pub(super) verdicts: Vec<ClaimVerdict>,
    pub(super) leftovers: Vec<Leftover>,
    /// What another owner's note keeps at the apex against the class, for people.
    pub(super) others: Option<String>,
}

/// One stored RRset of a modelled type with its writer.
struct Here<'a> {
    rrset: &'a StoredRrset,
    writer: Writer,
}

/// Decides one name. `from_class` is what the class declares there, at the apex only.
pub(super) fn decide_name(
    view: &ZoneView<'_>,
    name: &Name,
    claims: &[Claim<'_>],
    from_class: &BTreeMap<RecordType, Contents>,
    stored: Option<&BTreeMap<String, StoredRrset>>,
) -> NameDecision {
    let mut here = BTreeMap::new();
    let mut unmodelled = Vec::new();
    for (word, rrset) in stored.into_iter().flatten().filter(|(_, r)| r.exists()) {
        match word.parse::<RecordType>() {
            Ok(rtype) => {
                let writer = writer(&rrset.comments, view.policy);
                here.insert(rtype, Here { rrset, writer });
            }
            Err(_) => unmodelled.push(word.as_str()),
        }
    }
    let shells = stored.into_iter().flatten().filter(|(_, r)| !r.exists());
    let shells: BTreeMap<RecordType, &StoredRrset> =
        shells.filter_map(|(word, r)| Some((word.parse().ok()?, r))).collect();
    let mut decision = Decision {
        view,
        name,
        here,
        shells,
        unmodelled,
        accepted: Vec::new(),
        removed: BTreeMap::new(),
        declared: claims.iter().map(|c| c.rtype).chain(from_class.keys().copied()).collect(),
        out: NameDecision::default(),
    };
    decision.elect(claims);
    decision.write_accepted();
    decision.write_from_class(from_class);
    decision.sweep(claims, from_class);
    decision.forget_at_apex(claims);
    decision.rename_owner();
    decision.out
}

/// RRsets that go, with their writer and the ground.
type Going = BTreeMap<RecordType, (Party, DeleteReason)>;

struct Decision<'v, 'a> {
    view: &'v ZoneView<'a>,
    name: &'v Name,
    here: BTreeMap<RecordType, Here<'v>>,
    shells: BTreeMap<RecordType, &'v StoredRrset>,
    unmodelled: Vec<&'v str>,
    accepted: Vec<Claim<'v>>,
    removed: Going,
    /// Types that somebody declares here, validly or not.
    declared: BTreeSet<RecordType>,
    out: NameDecision,
}

impl<'v> Decision<'v, '_> {
    /// Ranks the claims, gives same-type losers their verdict, and admits the winners one by one,
    /// oldest first, each with what must go for it.
    fn elect(&mut self, claims: &[Claim<'v>]) {
        let mut ranked: Vec<Claim<'v>> = claims.to_vec();
        ranked.sort_by_cached_key(|c| {
            let noted = self.here.get(&c.rtype).and_then(|h| match &h.writer {
                Writer::Ours(note) => Some(note.uid.as_str()),
                Writer::Nobody | Writer::Other(_) => None,
            });
            c.rank(noted)
        });
        let mut winners: BTreeMap<RecordType, Party> = BTreeMap::new();
        for (index, claim) in ranked.iter().enumerate() {
            if let Some(winner) = winners.get(&claim.rtype) {
                let message = sentence::detailed(sentence::NOT_OWNER, &winner.key.to_string());
                self.verdict(claim, Verdict::Not(reason::NOT_OWNER, message));
                continue;
            }
            winners.insert(claim.rtype, claim.party());
            let rest = ranked.get(index..).unwrap_or_default();
            match self.admit(claim, rest) {
                Ok(goes) => {
                    self.removed.extend(goes);
                    self.accepted.push(claim.clone());
                }
                Err((reason, message)) => self.verdict(claim, Verdict::Not(reason, message)),
            }
        }
    }

    /// Whether a winner's contents may be written here, and which RRsets must go in the same PATCH. `rest` is the claim
    /// with all that stand behind it.
    fn admit(
        &self,
        claim: &Claim<'v>,
        rest: &[Claim<'v>],
    ) -> Result<Going, (&'static str, String)> {
        let conflict =
            |detail: &str| (reason::CONFLICT, sentence::detailed(sentence::CONFLICT, detail));
        let longer = [self.view.below, self.view.coming];
        let shadow = longer.iter().find_map(|zones| shadowing(zones, self.name, claim.rtype));
        if let Some(zone) = shadow {
            return Err(conflict(&format!("the zone {zone} on the same server answers for it")));
        }
        let contents = claim.contents.map_err(|m| (reason::PDNS_ERROR, m.to_owned()))?;
        if claim.rtype == RecordType::Cname && self.name == self.view.zone {
            return Err(conflict(
                "a zone's apex holds SOA and NS; use ALIAS there instead of CNAME",
            ));
        }
        let rival = self.accepted.iter().find(|a| !a.rtype.coexists_with(claim.rtype));
        if let Some(rival) = rival {
            let holder = rival.facts.set.meta.key();
            return Err(conflict(&format!("{} of DNSRecordSet {holder}", rival.rtype)));
        }
        if let (RecordType::Cname, Some(word)) = (claim.rtype, self.unmodelled.first()) {
            return Err(conflict(&format!("{word} that this daemon does not manage")));
        }
        if let Some(Here { rrset, writer: Writer::Other(note) }) = self.here.get(&claim.rtype)
            && !rrset.contents(claim.rtype).is_some_and(|c| c.matches(contents))
        {
            let detail = format!("{} written by the owner {:?}", claim.rtype, note.owner);
            return Err(conflict(&detail));
        }
        if self.is_protected_from(claim, contents) {
            let detail =
                format!("{} that nobody's note claims; policy.takeover is protect", claim.rtype);
            return Err(conflict(&detail));
        }
        let mut goes = BTreeMap::new();
        for (rtype, here) in &self.here {
            if *rtype == claim.rtype
                || rtype.coexists_with(claim.rtype)
                || self.removed.contains_key(rtype)
            {
                continue;
            }
            let why = self.yields(*rtype, here, rest).ok_or_else(|| {
                conflict(&format!("{rtype} {} stays", self.describe_to(claim, here)))
            })?;
            goes.insert(*rtype, why);
        }
        Ok(goes)
    }

    /// Whether others wrote what is there otherwise, and it is to stay. SOA and NS at the apex are made with the zone, by
    /// nobody in particular.
    fn is_protected_from(&self, claim: &Claim<'v>, contents: &Contents) -> bool {
        let stored = self.here.get(&claim.rtype).filter(|h| h.writer == Writer::Nobody);
        let apex =
            self.name == self.view.zone && matches!(claim.rtype, RecordType::Soa | RecordType::Ns);
        self.view.policy.protect
            && stored.is_some()
            && !apex
            && !self.reads_equal(claim.rtype, contents)
            && !claim.had_programmed(self.view, self.name)
    }

    /// Whether a stored RRset of an incompatible type gives way to the first of these claims.
    fn yields(
        &self,
        rtype: RecordType,
        here: &Here<'v>,
        rest: &[Claim<'v>],
    ) -> Option<(Party, DeleteReason)> {
        let (party, fate) = self.fate(rtype, here)?;
        let mine = |c: &Claim<'v>| c.uid() == party.uid;
        // Its writer makes the claim itself, or lost the key to it: it stands behind it in age.
        let behind = rest.iter().any(mine);
        let why = match fate {
            Ok(why) => why,
            Err(Hold::Retyped) if behind || self.accepted.iter().any(mine) => DeleteReason::Retyped,
            Err(Hold::Declared) if behind => DeleteReason::Outranked,
            Err(_) => return None,
        };
        Some((party, why))
    }

    /// Turns admitted claims into replaces, adoptions, or nothing.
    fn write_accepted(&mut self) {
        let accepted = std::mem::take(&mut self.accepted);
        for claim in &accepted {
            let Ok(contents) = claim.contents else {
                continue;
            };
            let equal = self.reads_equal(claim.rtype, contents);
            if let Some(change) = self.write(claim, contents, equal) {
                self.out.change.types.insert(claim.rtype, change);
            }
            self.verdict(claim, if equal { Verdict::Equal } else { Verdict::Sent });
        }
        self.accepted = accepted;
    }

    fn reads_equal(&self, rtype: RecordType, contents: &Contents) -> bool {
        let stored = self.here.get(&rtype).and_then(|h| h.rrset.contents(rtype));
        stored.is_some_and(|c| c.matches(contents))
    }

    /// What an admitted claim takes: nothing if contents and note are right.
    fn write(&self, claim: &Claim<'v>, contents: &Contents, equal: bool) -> Option<Change> {
        let party = claim.party();
        let note =
            Note::new(&self.view.policy.owner_id, &party.key, &party.uid, contents.fingerprint());
        let stored = self.here.get(&claim.rtype);
        let comments = self.comments(claim.rtype, Some(&note));
        if !equal {
            return Some(Change::Replace {
                contents: contents.clone(),
                comments,
                from: stored.map(|h| text(h.rrset)),
                over: stored.and_then(|h| self.overwritten(claim, h)),
                by: Some(party),
            });
        }
        match stored.map(|h| &h.writer) {
            Some(Writer::Other(_)) => None,
            Some(Writer::Ours(old)) if *old == note => None,
            _ => comments.map(|comments| Change::Adopt { comments, by: party }),
        }
    }

    /// What the class declares at the apex: never noted, stored TTL kept by the caller.
    fn write_from_class(&mut self, from_class: &BTreeMap<RecordType, Contents>) {
        for (rtype, contents) in from_class {
            let stored = self.here.get(rtype);
            let equal = self.reads_equal(*rtype, contents);
            if let Some(Here { writer: Writer::Other(note), .. }) = stored {
                let kept = || format!("{rtype} noted by the owner {:?}", note.owner);
                self.out.others = (!equal).then(kept).or(self.out.others.take());
                continue;
            }
            if equal {
                continue;
            }
            let change = Change::Replace {
                contents: contents.clone(),
                comments: stored.and_then(|_| self.comments(*rtype, None)),
                from: stored.map(|h| text(h.rrset)),
                over: None,
                by: None,
            };
            self.out.change.types.insert(*rtype, change);
        }
    }

    /// Deletes what we wrote and nobody declares any more, and lists what stays.
    fn sweep(&mut self, claims: &[Claim<'v>], from_class: &BTreeMap<RecordType, Contents>) {
        let admitted: BTreeSet<RecordType> = self.accepted.iter().map(|c| c.rtype).collect();
        let waits = claims.iter().any(|c| !admitted.contains(&c.rtype));
        for (rtype, here) in &self.here {
            if admitted.contains(rtype) || from_class.contains_key(rtype) {
                continue;
            }
            // It may be what a retype left, until the new type can be written.
            let alone = self.goes(*rtype, here);
            let alone = alone.filter(|(_, why)| !waits || *why != DeleteReason::Undeclared);
            if let Some((by, why)) = self.removed.get(rtype).cloned().or(alone) {
                let unnoted = here.writer == Writer::Nobody && why != DeleteReason::Undeclared;
                let change = Change::Delete { by, why, unnoted, was: text(here.rrset) };
                self.out.change.types.insert(*rtype, change);
            } else if !claims.iter().any(|c| c.rtype == *rtype) && !self.protected(*rtype) {
                self.out.leftovers.push(Leftover {
                    name: self.name.clone(),
                    rtype: rtype.to_string(),
                    why: self.describe(here),
                    uid: match &here.writer {
                        Writer::Ours(note) => Some(note.uid.clone()),
                        Writer::Nobody | Writer::Other(_) => None,
                    },
                });
            }
        }
        for word in &self.unmodelled {
            self.out.leftovers.push(Leftover {
                name: self.name.clone(),
                rtype: (*word).to_owned(),
                why: "of a type that is not managed here".to_owned(),
                uid: None,
            });
        }
    }

    /// What stays with a note of a previous owner id gets it under the present one, or it would be another owner's once
    /// that id is taken out of the configuration.
    fn rename_owner(&mut self) {
        for (rtype, here) in &self.here {
            let Writer::Ours(note) = &here.writer else { continue };
            let owner = &self.view.policy.owner_id;
            let Ok(key) = note.object.parse() else { continue };
            let by = Party { uid: note.uid.clone(), key };
            let renamed = Note::new(owner, &by.key, &by.uid, note.h.clone());
            if note.owner != *owner
                && let Some(comments) = self.comments(*rtype, Some(&renamed))
            {
                self.out.change.types.entry(*rtype).or_insert(Change::Adopt { comments, by });
            }
        }
    }

    fn protected(&self, rtype: RecordType) -> bool {
        protected(self.view.zone, self.view.below, self.name, rtype)
    }

    /// The comments to send with a write: others' as they are, and our note. `None` where the server
    /// keeps none, since the mere key would fail the whole request there.
    fn comments(&self, rtype: RecordType, note: Option<&Note>) -> Option<Vec<Comment>> {
        if !self.view.comments {
            return None;
        }
        let stored = self.here.get(&rtype).map(|h| h.rrset).or(self.shells.get(&rtype).copied());
        let mut comments: Vec<Comment> =
            stored.into_iter().flat_map(StoredRrset::foreign_comments).cloned().collect();
        let old = stored.map_or(&[] as &[Comment], |r| &r.comments);
        comments.extend(note.map(|n| n.to_comment(old)));
        Some(comments)
    }

    fn verdict(&mut self, claim: &Claim<'v>, verdict: Verdict) {
        self.out.verdicts.push(ClaimVerdict {
            uid: claim.uid().to_owned(),
            name: self.name.clone(),
            verdict,
        });
    }

    /// The same for a claimant's condition, which never names another tenant.
    fn describe_to(&self, claim: &Claim<'v>, here: &Here<'v>) -> String {
        match &here.writer {
            Writer::Ours(note) if !note.object.starts_with(&claim.namespace()) => {
                "of another DNSRecordSet".to_owned()
            }
            Writer::Nobody | Writer::Ours(_) | Writer::Other(_) => self.describe(here),
        }
    }

    /// Why a stored RRset is where it is, for people.
    fn describe(&self, here: &Here<'v>) -> String {
        match &here.writer {
            Writer::Nobody => "that nobody's note claims".to_owned(),
            Writer::Other(note) => format!("noted by the owner {:?}", note.owner),
            Writer::Ours(note) if self.view.sets.contains_key(note.uid.as_str()) => {
                format!("of DNSRecordSet {}", note.object)
            }
            Writer::Ours(note) => {
                format!("of DNSRecordSet {}, which is not listed, but changed since", note.object)
            }
        }
    }
}

/// Never deleted: a zone without its apex SOA or NS is dead, and what a longer zone shadows is held.
pub(super) fn protected(zone: &Name, below: &[&Name], name: &Name, rtype: RecordType) -> bool {
    let apex = name == zone && matches!(rtype, RecordType::Soa | RecordType::Ns);
    apex || shadowing(below, name, rtype).is_some()
}

/// The longer zone on the server that answers for a name; the delegation at its apex is the parent's.
fn shadowing<'a>(below: &[&'a Name], name: &Name, rtype: RecordType) -> Option<&'a Name> {
    let zone = below.iter().find(|z| name.is_at_or_below(z))?;
    let delegation = rtype == RecordType::Ns && name == *zone;
    (!delegation).then_some(*zone)
}

/// Stored records as one line: `300 "a" "b"`.
pub(super) fn text(rrset: &StoredRrset) -> String {
    let mut records: Vec<&str> = rrset.records.iter().map(|r| r.content.as_str()).collect();
    records.sort_unstable();
    format!("{} {}", rrset.ttl, records.join(" | "))
}

//! What the servers answered to one pass's requests. Only this can become a claim of success:
//! `Proof` has no other source than an answer, and `settle` takes nothing else.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::conditions::{reason, sentence};
use crate::dns::name::Name;
use crate::dns::rrset::RecordType;

/// A 2xx answer, or a 404 that proves absence. It cannot be made without a status code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof(());

impl Proof {
    /// The proof that lies in a status code: 2xx means done (RFC 9110 §15.3).
    #[must_use]
    pub fn of(status: u16) -> Option<Proof> {
        (200..300).contains(&status).then_some(Proof(()))
    }
}

/// How one planned change ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The server acknowledged it.
    Done(Proof),
    /// It was not done, or nobody knows.
    Failed(Failure),
}

/// Why a change has no proof. Each class has its own sentence, and none is ever success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// 422 that names this RRset, or that was narrowed down to it.
    Refused(String),
    /// The same, for a fault that has a sentence of its own.
    RefusedAs(&'static str),
    /// 422: something else is at the name.
    Conflict(String),
    /// Another RRset of the same name was refused, and a name is never half changed.
    NameHeld(String),
    /// 404 on the zone.
    ZoneMissing,
    /// 401: the API key is wrong; nothing can be done for anybody.
    Unauthorized,
    /// Another status the server gave.
    Status(u16),
    /// No answer, or one that could not be read: the change may have been made.
    Unknown(String),
    /// It was never sent, because something before it failed.
    NotSent(String),
    /// Whatever answered is not PowerDNS; its status.
    NotPowerDns(u16),
    /// It was acknowledged several times in a row, and something else is read; both texts.
    InVain(String),
}

impl Failure {
    /// Condition reason and message. The server's text stays in the log: it can hold contents of others.
    #[must_use]
    pub fn condition(&self) -> (&'static str, String) {
        let detailed = |s: &str, d: &str| sentence::detailed(s, d);
        match self {
            Failure::Refused(detail) => (reason::PDNS_ERROR, detailed(sentence::REJECTED, detail)),
            Failure::RefusedAs(sentence) => (reason::PDNS_ERROR, (*sentence).to_owned()),
            Failure::Conflict(detail) => (reason::CONFLICT, detailed(sentence::CONFLICT, detail)),
            Failure::NameHeld(detail) => {
                (reason::PENDING, detailed(sentence::PENDING_NAME, detail))
            }
            Failure::ZoneMissing => (reason::PDNS_ERROR, sentence::ZONE_NOT_FOUND.to_owned()),
            Failure::Unauthorized => {
                (reason::PDNS_ERROR, detailed(sentence::FAILED, "PowerDNS refused the API key"))
            }
            Failure::Status(code) if *code >= 500 => {
                (reason::PDNS_ERROR, sentence::INTERNAL.to_owned())
            }
            Failure::Status(code) => {
                (reason::PDNS_ERROR, detailed(sentence::FAILED, &format!("status {code}")))
            }
            Failure::Unknown(detail) => (reason::PDNS_ERROR, detailed(sentence::FAILED, detail)),
            Failure::NotSent(detail) => (reason::PENDING, detailed(sentence::PENDING_NAME, detail)),
            Failure::NotPowerDns(code) => {
                let detail = format!("what answered {code} is not PowerDNS");
                (reason::PDNS_ERROR, detailed(sentence::FAILED, &detail))
            }
            Failure::InVain(detail) => {
                let detail = format!("PowerDNS acknowledges it without serving it: {detail}");
                (reason::PDNS_ERROR, detailed(sentence::FAILED, &detail))
            }
        }
    }
}

/// The answers of one pass, by PowerDNS zone.
#[derive(Clone, Debug, Default)]
pub struct Applied {
    /// Zones that were written to or tried.
    pub zones: BTreeMap<Name, ZoneApplied>,
}

impl ZoneApplied {
    /// Whether all of it was done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let mut outcomes = self.zone.iter().chain(self.keys.values());
        !self.stopped && outcomes.all(|outcome| matches!(outcome, Outcome::Done(_)))
    }

    /// Whether one of the answers is that there is no such zone.
    #[must_use]
    pub fn misses_the_zone(&self) -> bool {
        let mut outcomes = self.zone.iter().chain(self.keys.values());
        outcomes.any(|outcome| *outcome == Outcome::Failed(Failure::ZoneMissing))
    }
}

/// The answers for one zone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct ZoneApplied {
    /// The zone's creation, marking or deletion, whichever the plan asked for.
    pub zone: Option<Outcome>,
    /// Milliseconds on the pass's clock when a mark was acknowledged.
    pub marked_at: Option<u64>,
    /// Each RRset change that was tried.
    pub keys: BTreeMap<(Name, RecordType), Outcome>,
    /// What a refused write was to overwrite, deleted alone for its own writer; `keys` tells of the write.
    pub overwritten: BTreeMap<(Name, RecordType), Outcome>,
    /// Nothing was sent: these are the answers of an earlier pass.
    pub remembered: bool,
    /// A request failed for no fault of one name, so that the rest was not tried.
    pub stopped: bool,
    /// Names that failed alone, with the type at fault, where it is known.
    pub isolated: BTreeMap<Name, (Option<RecordType>, Failure)>,
    /// RRset changes that were acknowledged, whatever `keys` says of them.
    pub acked: BTreeSet<(Name, RecordType)>,
    /// The same for the zone's own step.
    pub step_acked: bool,
    /// Names that were being sent when the server went away.
    pub crashed: BTreeSet<Name>,
    /// PowerDNS said that it has no such zone, in this pass or in the one that is remembered: it went after it was read.
    pub vanished: bool,
}

impl Applied {
    /// The outcome of one RRset's change. A deleted zone proves every RRset in it gone.
    #[must_use]
    pub fn key(&self, zone: &Name, name: &Name, rtype: RecordType) -> Outcome {
        self.zones
            .get(zone)
            .and_then(|z| z.keys.get(&(name.clone(), rtype)))
            .cloned()
            .unwrap_or_else(|| Outcome::Failed(Failure::NotSent("not reached in this pass".into())))
    }

    /// Whether what stood at a key before is gone: overwritten, or deleted where the write was refused.
    #[must_use]
    pub fn gone(&self, zone: &Name, name: &Name, rtype: RecordType) -> Outcome {
        let alone = self.zones.get(zone).and_then(|z| z.overwritten.get(&(name.clone(), rtype)));
        alone.cloned().unwrap_or_else(|| self.key(zone, name, rtype))
    }

    /// Whether the zone went after it was read, with whatever was read or acknowledged in it.
    #[must_use]
    pub fn vanished(&self, zone: &Name) -> bool {
        self.zones.get(zone).is_some_and(|answers| answers.vanished)
    }

    /// The outcome of the zone's own creation, marking or deletion.
    #[must_use]
    pub fn zone(&self, zone: &Name) -> Outcome {
        self.zones
            .get(zone)
            .and_then(|z| z.zone.clone())
            .unwrap_or_else(|| Outcome::Failed(Failure::NotSent("not reached in this pass".into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done() -> Outcome {
        Outcome::Done(Proof::of(204).unwrap())
    }

    #[test]
    fn only_what_is_acknowledged_is_proof() {
        for (status, proves) in [(199, false), (200, true), (299, true), (300, false), (404, false)]
        {
            assert_eq!(Proof::of(status).is_some(), proves, "{status}");
        }
    }

    #[test]
    fn each_failure_has_a_reason_and_a_sentence_of_its_own() {
        let text = || "detail".to_owned();
        for (failure, reason, sentence) in [
            (
                Failure::Refused(text()),
                reason::PDNS_ERROR,
                "The DNS record was rejected as invalid. Check the record type and value: detail",
            ),
            (Failure::RefusedAs("as it is"), reason::PDNS_ERROR, "as it is"),
            (
                Failure::Conflict(text()),
                reason::CONFLICT,
                "A conflicting record already exists for this name. Remove the existing record and try again: detail",
            ),
            (Failure::NameHeld(text()), reason::PENDING, "Record not yet programmed: detail"),
            (Failure::ZoneMissing, reason::PDNS_ERROR, sentence::ZONE_NOT_FOUND),
            (
                Failure::Unauthorized,
                reason::PDNS_ERROR,
                "Failed to apply DNS record. It will be retried automatically: PowerDNS refused the API key",
            ),
            (Failure::Status(500), reason::PDNS_ERROR, sentence::INTERNAL),
            (
                Failure::Status(499),
                reason::PDNS_ERROR,
                "Failed to apply DNS record. It will be retried automatically: status 499",
            ),
            (
                Failure::Unknown(text()),
                reason::PDNS_ERROR,
                "Failed to apply DNS record. It will be retried automatically: detail",
            ),
            (Failure::NotSent(text()), reason::PENDING, "Record not yet programmed: detail"),
            (
                Failure::NotPowerDns(404),
                reason::PDNS_ERROR,
                "Failed to apply DNS record. It will be retried automatically: what answered 404 is not PowerDNS",
            ),
            (
                Failure::InVain(text()),
                reason::PDNS_ERROR,
                "Failed to apply DNS record. It will be retried automatically: PowerDNS acknowledges it without serving it: detail",
            ),
        ] {
            assert_eq!(failure.condition(), (reason, sentence.to_owned()));
        }
    }

    #[test]
    fn a_zone_is_done_if_all_of_it_is() {
        let failed = || Outcome::Failed(Failure::Status(500));
        let key = (Name::parse("a").unwrap(), RecordType::A);
        let zone = |zone: Option<Outcome>, of_key: Outcome, stopped| ZoneApplied {
            zone,
            keys: BTreeMap::from([(key.clone(), of_key)]),
            stopped,
            ..ZoneApplied::default()
        };
        for (applied, is_done) in [
            (ZoneApplied::default(), true),
            (zone(None, done(), false), true),
            (zone(Some(done()), done(), false), true),
            (zone(Some(failed()), done(), false), false),
            (zone(Some(done()), failed(), false), false),
            (zone(Some(done()), done(), true), false),
        ] {
            assert_eq!(applied.is_done(), is_done, "{applied:?}");
        }
    }

    #[test]
    fn a_zone_is_missed_by_the_server_that_says_so() {
        let missing = || Outcome::Failed(Failure::ZoneMissing);
        let of = |zone, of_key: Outcome| {
            let key = (Name::parse("a").unwrap(), RecordType::A);
            let keys = BTreeMap::from([(key, of_key)]);
            ZoneApplied { zone, keys, ..ZoneApplied::default() }.misses_the_zone()
        };
        let failed = || Outcome::Failed(Failure::Status(404));
        assert!(of(None, missing()) && of(Some(missing()), done()));
        assert!(!of(None, done()) && !of(Some(failed()), failed()));
        let zone = Name::parse("z").unwrap();
        let vanished = ZoneApplied { vanished: true, ..ZoneApplied::default() };
        let mut applied = Applied { zones: BTreeMap::from([(zone.clone(), vanished)]) };
        assert!(applied.vanished(&zone));
        applied.zones.insert(zone.clone(), ZoneApplied::default());
        assert!(!applied.vanished(&zone) && !Applied::default().vanished(&zone));
    }

    #[test]
    fn what_was_not_reached_has_no_proof_and_a_delete_alone_speaks_for_what_stood_there() {
        let (zone, name) = (Name::parse("z").unwrap(), Name::parse("a.z").unwrap());
        let mut applied = Applied::default();
        let unreached = Outcome::Failed(Failure::NotSent("not reached in this pass".to_owned()));
        for outcome in [
            applied.key(&zone, &name, RecordType::A),
            applied.gone(&zone, &name, RecordType::A),
            applied.zone(&zone),
        ] {
            assert_eq!(outcome, unreached);
        }
        let answers = applied.zones.entry(zone.clone()).or_default();
        let refused = Outcome::Failed(Failure::Refused("no".to_owned()));
        answers.zone = Some(done());
        answers.keys.insert((name.clone(), RecordType::A), refused.clone());
        answers.keys.insert((name.clone(), RecordType::Mx), done());
        answers.overwritten.insert((name.clone(), RecordType::A), done());
        assert_eq!(applied.zone(&zone), done());
        assert_eq!(applied.key(&zone, &name, RecordType::A), refused);
        assert_eq!(applied.gone(&zone, &name, RecordType::A), done());
        assert_eq!(applied.gone(&zone, &name, RecordType::Mx), done());
    }
}

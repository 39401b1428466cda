//! Carrying out one zone's plan: one request at a time, each outcome written down, a refused name cut
//! out so that its neighbours are served.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::client::{Client, Error};
use super::wire::{contents, offender};
use crate::dns::name::Name;
use crate::dns::rdata::{Dialect, Rdata, Soa, serial_lt};
use crate::dns::rrset::{Contents, RecordType};
use crate::plan::batch::{Batch, Limits, batches, element, replace};
use crate::plan::change::{Change, NameChange};
use crate::plan::{Failure, Outcome, Proof, ZoneApplied, ZonePlan, ZoneStep};

/// What every zone's task needs.
#[derive(Debug)]
pub struct Applier<'a> {
    /// The server.
    pub client: &'a Client,
    /// Its way to write texts.
    pub dialect: Dialect,
    /// How large a request may be.
    pub limits: Limits,
}

/// Carries out the plan of one zone. `now` gives milliseconds on the pass's clock.
pub async fn apply_zone(
    applier: &Applier<'_>,
    zone: &Name,
    plan: &ZonePlan,
    now: impl Fn() -> u64,
) -> ZoneApplied {
    let mut task = Task {
        applier,
        zone,
        id: plan.id.as_deref().unwrap_or(zone.as_str()),
        out: ZoneApplied::default(),
    };
    let mut names = plan.names.clone();
    let step = match &plan.step {
        ZoneStep::Keep => None,
        ZoneStep::Create { account, .. } => Some(task.create(account, &mut names).await),
        ZoneStep::Mark { account, expected, .. } | ZoneStep::Remark { account, expected, .. } => {
            Some(task.mark(account, expected).await)
        }
        ZoneStep::Delete { comments, .. } => Some(task.delete(comments).await),
    };
    match step {
        Some(Err(failure)) => {
            for (name, change) in &names {
                task.fail(name, change, &failure);
            }
            task.out.zone = Some(Outcome::Failed(failure));
        }
        Some(Ok(proof)) => {
            task.out.zone = Some(Outcome::Done(proof));
            if matches!(plan.step, ZoneStep::Mark { .. }) {
                task.out.marked_at = Some(now());
            }
            task.write(names).await;
        }
        None => task.write(names).await,
    }
    task.out
}

struct Task<'a> {
    applier: &'a Applier<'a>,
    zone: &'a Name,
    id: &'a str,
    out: ZoneApplied,
}

type Names = BTreeMap<Name, NameChange>;

impl Task<'_> {
    fn client(&self) -> &Client {
        self.applier.client
    }

    /// Creates the zone with as many RRsets as fit; what was sent is taken out of `names`. After any
    /// error but a refusal the zone may exist: it is left for the next pass, which reads it.
    async fn create(&mut self, account: &str, names: &mut Names) -> Result<Proof, Failure> {
        let first = batches(names, self.applier.dialect, self.applier.limits).into_iter().next();
        let first = first.unwrap_or_else(|| Batch { names: Names::new() });
        match self.post(account, &first).await {
            Ok(proof) => {
                for (name, change) in &first.names {
                    names.remove(name);
                    self.done(name, change, proof);
                }
                Ok(proof)
            }
            Err(Error::Status { status: 422, text }) => {
                tracing::warn!(zone = %self.zone, "zone refused with its records; created bare");
                tracing::debug!(zone = %self.zone, text, "refused");
                let bare = self.bare_apex(&first);
                let proof = self.post(account, &bare).await.map_err(|e| self.failed(&e))?;
                for (name, change) in &bare.names {
                    self.done(name, change, proof);
                    if let Some(left) = names.get_mut(name) {
                        left.types.retain(|t, _| !change.types.contains_key(t));
                    }
                }
                names.retain(|_, change| !change.types.is_empty());
                Ok(proof)
            }
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// What the class made of the apex, without what record sets declare.
    fn bare_apex(&self, batch: &Batch) -> Batch {
        let mut apex = batch.names.get(self.zone).cloned().unwrap_or_default();
        apex.types.retain(|_, change| matches!(change, Change::Replace { by: None, .. }));
        Batch { names: Names::from([(self.zone.clone(), apex)]) }
    }

    async fn post(&self, account: &str, batch: &Batch) -> Result<Proof, Error> {
        let mut rrsets = batch.to_json(self.applier.dialect);
        for rrset in rrsets.iter_mut().filter_map(Value::as_object_mut) {
            rrset.remove("changetype");
        }
        let body = json!({
            "name": self.zone.as_str(), "kind": "Native", "soa_edit_api": "DEFAULT",
            "account": account, "nameservers": [], "rrsets": rrsets,
        });
        self.client().create(&body).await
    }

    /// Sets the mark if the account is still what the plan saw.
    async fn mark(&self, account: &str, expected: &str) -> Result<Proof, Failure> {
        let now = self.client().head(self.id).await.map_err(|e| self.failed(&e))?;
        if now.account != expected {
            return Err(Failure::NotSent("the zone's account changed meanwhile".to_owned()));
        }
        self.client().set_account(self.id, account).await.map_err(|e| self.failed(&e))
    }

    /// Deletes the zone. A 404 counts only if the list, asked again, does not have it either.
    async fn delete(&self, comments: &BTreeSet<(Name, String)>) -> Result<Proof, Failure> {
        let commented: Vec<&(Name, String)> = comments.iter().collect();
        for some in commented.chunks(self.applier.limits.rrsets.max(1)) {
            let clear = |(name, rtype): &&(Name, String)| json!({"name": name.as_str(), "type": rtype, "changetype": "REPLACE", "comments": []});
            let cleared = self.client().patch(self.id, some.iter().map(clear).collect()).await;
            cleared.map_err(|e| self.failed(&e))?;
        }
        match self.client().delete(self.id).await {
            Err(Error::Status { status: 404, .. }) => {
                let found = self.client().find(self.zone.as_str()).await;
                match found.map_err(|e| self.failed(&e))? {
                    None => Proof::of(200).ok_or(Failure::ZoneMissing),
                    Some(_) => Err(Failure::ZoneMissing),
                }
            }
            other => other.map_err(|e| self.failed(&e)),
        }
    }

    /// Writes names in batches, and the apex SOA apart. After a failure that may strike any request, the
    /// rest of the zone is not tried.
    async fn write(&mut self, mut names: Names) {
        let soa = names.get_mut(self.zone).and_then(|apex| apex.types.remove(&RecordType::Soa));
        names.retain(|_, change| !change.types.is_empty());
        let mut queue = batches(&names, self.applier.dialect, self.applier.limits);
        queue.reverse();
        let mut stopped: Option<Failure> = None;
        while let Some(batch) = queue.pop() {
            if stopped.is_some() {
                let why = Failure::NotSent("an earlier request for the zone failed".to_owned());
                batch.names.iter().for_each(|(name, change)| self.fail(name, change, &why));
                continue;
            }
            match self.send(batch).await {
                Ok(follow_up) => queue.extend(follow_up),
                Err(failure) => stopped = Some(failure),
            }
        }
        if let Some(change) = soa {
            let outcome = match stopped {
                None => self.write_soa(&change).await.map_or_else(Outcome::Failed, Outcome::Done),
                Some(failure) => Outcome::Failed(failure),
            };
            self.out.keys.insert((self.zone.clone(), RecordType::Soa), outcome);
        }
    }

    /// Sends one batch. A refusal gives what is to be sent next: the rest without the refused name, or two
    /// halves where the text names none. With n names and k bad ones that is one request more for each that is
    /// named, and at most 1 + 2k·⌈log₂ n⌉ in all where none is.
    async fn send(&mut self, mut batch: Batch) -> Result<Vec<Batch>, Failure> {
        let rrsets = batch.to_json(self.applier.dialect);
        let error = match self.client().patch(self.id, rrsets).await {
            Ok(proof) => {
                batch.names.iter().for_each(|(name, change)| self.done(name, change, proof));
                return Ok(Vec::new());
            }
            Err(error) => error,
        };
        let failure = self.failed(&error);
        let Error::Status { status: status @ (400 | 413 | 422), text } = error else {
            batch.names.iter().for_each(|(name, change)| self.fail(name, change, &failure));
            return Err(failure);
        };
        let named =
            offender(&text).filter(|(name, _)| status == 422 && batch.names.contains_key(name));
        let Some((name, rtype)) = named else {
            return Ok(match batch.clone().halves() {
                Some((first, second)) => vec![second, first],
                None => self.refuse_all(batch, None, &failure),
            });
        };
        let refused = batch.names.remove(&name).unwrap_or_default();
        let alone = Batch { names: Names::from([(name, refused)]) };
        let mut next = self.refuse_all(alone, rtype, &failure);
        if !batch.names.is_empty() {
            next.push(batch);
        }
        Ok(next)
    }

    /// Writes down a refused name, whole; deletes that its writers asked for themselves go on alone,
    /// unless the writer is the one that was refused.
    fn refuse_all(&mut self, batch: Batch, rtype: Option<RecordType>, why: &Failure) -> Vec<Batch> {
        let mut next = Vec::new();
        for (name, change) in batch.names {
            let writes = |c: &Change| !matches!(c, Change::Delete { .. });
            let refused: Vec<String> = change
                .types
                .iter()
                .filter(|(t, c)| writes(c) && rtype.is_none_or(|r| r == **t))
                .filter_map(|(_, c)| match c {
                    Change::Replace { by, .. } => by.as_ref().map(|p| p.uid.clone()),
                    Change::Adopt { by, .. } | Change::Delete { by, .. } => Some(by.uid.clone()),
                })
                .collect();
            let writing = change.types.values().any(writes);
            let mut alone = NameChange::default();
            for (t, c) in change.types {
                let outcome = match &c {
                    Change::Delete { by, why: reason, .. }
                        if writing && reason.stands_alone() && !refused.contains(&by.uid) =>
                    {
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
            if !alone.types.is_empty() {
                next.push(Batch { names: Names::from([(name, alone)]) });
            }
        }
        next
    }

    /// Writes the apex SOA in a request of its own; new contents directly after reading the stored ones, with a
    /// serial that is not lower (RFC 1982): the server takes any serial it is sent.
    async fn write_soa(&self, change: &Change) -> Result<Proof, Failure> {
        let dialect = self.applier.dialect;
        let rrset = match change {
            Change::Replace { contents, comments, .. } => {
                let raised = self.not_lowered(contents).await?;
                replace(
                    self.zone,
                    raised.as_ref().unwrap_or(contents),
                    comments.as_deref(),
                    dialect,
                )
            }
            Change::Adopt { .. } | Change::Delete { .. } => {
                element(self.zone, RecordType::Soa, change, dialect)
            }
        };
        self.client().patch(self.id, vec![rrset]).await.map_err(|e| self.failed(&e))
    }

    /// The declared SOA with the stored serial, where its own is lower or not given.
    async fn not_lowered(&self, declared: &Contents) -> Result<Option<Contents>, Failure> {
        let body = self.client().zone(self.id).await.map_err(|e| self.failed(&e))?;
        let stored = contents(body.rrsets);
        let stored = stored.get(self.zone, RecordType::Soa);
        let stored = stored.and_then(|r| r.contents(RecordType::Soa));
        let serial = stored.as_ref().and_then(soa).map(Soa::serial);
        Ok(match (soa(declared), serial) {
            (Some(soa), Some(serial)) if soa.serial() == 0 || serial_lt(soa.serial(), serial) => {
                Contents::new(declared.ttl(), [Rdata::Soa(soa.with_serial(serial))].into())
            }
            _ => None,
        })
    }

    /// Logs an error and gives the failure's class. A server's text can quote contents: it is for debugging.
    fn failed(&self, error: &Error) -> Failure {
        if let Error::Status { status, text } = error {
            let about = offender(text).map(|(name, _)| name.to_string()).unwrap_or_default();
            tracing::warn!(zone = %self.zone, status, about, "PowerDNS refused a request");
            tracing::debug!(zone = %self.zone, status, text, "PowerDNS refused a request");
        } else {
            tracing::warn!(zone = %self.zone, %error, "PowerDNS request failed");
        }
        error.failure()
    }

    fn done(&mut self, name: &Name, change: &NameChange, proof: Proof) {
        for rtype in change.types.keys() {
            self.out.keys.insert((name.clone(), *rtype), Outcome::Done(proof));
        }
    }

    fn fail(&mut self, name: &Name, change: &NameChange, failure: &Failure) {
        for rtype in change.types.keys() {
            self.out.keys.insert((name.clone(), *rtype), Outcome::Failed(failure.clone()));
        }
    }
}

/// The SOA in an SOA RRset.
fn soa(contents: &Contents) -> Option<&Soa> {
    contents.values().iter().find_map(
        |value| {
            if let Rdata::Soa(soa) = value { Some(soa) } else { None }
        },
    )
}

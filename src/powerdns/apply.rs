//! Carrying out one zone's plan: the zone's own step, then its names, one request at a time, each outcome written
//! down. `isolation` sends a batch, `serial` the apex SOA.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::client::{Client, Error};
use super::wire::offender;
use crate::dns::name::Name;
use crate::dns::rdata::Dialect;
use crate::dns::rrset::RecordType;
use crate::plan::batch::{Batch, Limits, batches};
use crate::plan::change::{Change, NameChange};
use crate::plan::memory::Known;
use crate::plan::{Failure, Outcome, Proof, ZoneApplied, ZonePlan, ZoneStep};

/// Longest time that one zone's requests may take together in one pass, in milliseconds: what is left then waits for the
/// next.
const DEADLINE: u64 = 30_000;

/// What every zone's task needs.
#[derive(Debug)]
pub struct Applier<'a> {
    /// The server.
    pub client: &'a Client,
    /// Its way to write texts.
    pub dialect: Dialect,
    /// How large a request may be.
    pub limits: Limits,
    /// A new zone inherits comments of one that is gone.
    pub comments_outlive: bool,
}

/// Carries out the plan of one zone. `now` gives milliseconds on the pass's clock.
pub async fn apply_zone(
    applier: &Applier<'_>,
    zone: &Name,
    plan: &ZonePlan,
    now: impl Fn() -> u64 + Sync,
) -> ZoneApplied {
    let mut task = Task {
        applier,
        zone,
        id: plan.id.as_deref().unwrap_or(zone.as_str()),
        known: &plan.known,
        until: now() + DEADLINE,
        now: &now,
        out: ZoneApplied::default(),
        failing: Vec::new(),
        for_others: BTreeSet::new(),
    };
    if let Some(before) = &plan.known.zone {
        task.say_again(before, plan);
        return task.out;
    }
    let mut names = plan.names.clone();
    match task.step(&plan.step, &mut names).await {
        Some(Err(failure)) => {
            for (name, change) in &names {
                task.fail(name, change, &failure);
            }
            task.out.zone = Some(Outcome::Failed(failure));
            task.out.stopped = true;
        }
        Some(Ok(proof)) => {
            task.out.zone = Some(task.step_outcome(proof));
            if matches!(plan.step, ZoneStep::Mark { .. }) {
                task.out.marked_at = Some(now());
            }
            task.write(names).await;
        }
        None => task.write(names).await,
    }
    task.out.vanished = task.out.misses_the_zone();
    task.out
}

pub(super) struct Task<'a> {
    pub(super) applier: &'a Applier<'a>,
    pub(super) zone: &'a Name,
    pub(super) id: &'a str,
    pub(super) known: &'a Known,
    until: u64,
    now: &'a (dyn Fn() -> u64 + Sync),
    pub(super) out: ZoneApplied,
    /// Names that failed alone in a row, each for no fault that the server told.
    pub(super) failing: Vec<Name>,
    /// Keys whose write was refused, and of which only what it was to overwrite is deleted.
    pub(super) for_others: BTreeSet<(Name, RecordType)>,
}

pub(super) type Names = BTreeMap<Name, NameChange>;

impl Task<'_> {
    pub(super) fn client(&self) -> &Client {
        self.applier.client
    }

    /// Nothing is sent: what the last try said is said again, to the letter.
    fn say_again(&mut self, before: &ZoneApplied, plan: &ZonePlan) {
        let unsent = || Outcome::Failed(not_tried());
        let again = |outcome: Option<&Outcome>| match outcome {
            Some(Outcome::Failed(failure)) => Outcome::Failed(failure.clone()),
            Some(Outcome::Done(_)) | None => unsent(),
        };
        for (name, change) in &plan.names {
            for rtype in change.types.keys() {
                let key = (name.clone(), *rtype);
                let outcome = again(before.keys.get(&key));
                self.out.keys.insert(key, outcome);
            }
        }
        if plan.step != ZoneStep::Keep {
            self.out.zone = Some(again(before.zone.as_ref()));
        }
        // A server that shows a zone and misses it at each write would have it come and go in the statuses.
        self.out.vanished = before.vanished;
        self.out.remembered = true;
    }

    async fn step(&mut self, step: &ZoneStep, names: &mut Names) -> Option<Result<Proof, Failure>> {
        match step {
            ZoneStep::Keep => None,
            ZoneStep::Create { account, .. } => Some(self.create(account, names).await),
            ZoneStep::Mark { account, expected, .. }
            | ZoneStep::Remark { account, expected, .. } => {
                Some(self.mark(account, expected).await)
            }
            ZoneStep::Delete { expected: Some(expected), comments, .. } => {
                Some(self.delete_unmarked(expected, comments).await)
            }
            ZoneStep::Delete { comments, .. } | ZoneStep::DeleteOrphan { comments } => {
                Some(self.delete(comments).await)
            }
        }
    }

    fn step_outcome(&mut self, proof: Proof) -> Outcome {
        self.out.step_acked = true;
        if self.known.step_in_vain {
            let why = "the zone itself is not as acknowledged".to_owned();
            return Outcome::Failed(Failure::InVain(why));
        }
        Outcome::Done(proof)
    }

    /// Creates the zone with as many RRsets as fit; what was sent is taken out of `names`. What the records may be to
    /// blame for leaves a zone without them; after any other error it may exist, and the next pass reads it.
    async fn create(&mut self, account: &str, names: &mut Names) -> Result<Proof, Failure> {
        if self.applier.comments_outlive {
            return self.create_among_comments(account, names).await;
        }
        let mut fit = names.clone();
        fit.retain(|name, _| !self.known.names.contains_key(name));
        let first = batches(&fit, self.applier.dialect, self.applier.limits).into_iter().next();
        let first = first.unwrap_or_else(|| Batch { names: Names::new() });
        let error = match self.post(account, &first).await {
            Ok(proof) => {
                for (name, change) in &first.names {
                    names.remove(name);
                    self.done(name, change, proof);
                }
                return Ok(proof);
            }
            Err(error) => error,
        };
        let failure = self.failed(&error);
        let bare = self.bare_apex(&first);
        let refused = matches!(error, Error::Status { status: 400 | 413 | 422, .. });
        let may_be_records = refused || (error.may_be_content() && self.absent().await);
        if !may_be_records || bare == first {
            return Err(failure);
        }
        tracing::warn!(zone = %self.zone, "zone refused with its records; created bare");
        self.create_bare(account, &bare, names).await
    }

    /// Where a zone inherits comments, it is made bare and they are cleared at its apex; the rest follows by PATCH,
    /// which replaces them.
    async fn create_among_comments(
        &mut self,
        account: &str,
        names: &mut Names,
    ) -> Result<Proof, Failure> {
        let bare = self.bare_apex(&Batch { names: names.clone() });
        let proof = self.create_bare(account, &bare, names).await?;
        let clear = |rtype: &str| json!({"name": self.zone.as_str(), "type": rtype, "changetype": "REPLACE", "comments": []});
        let cleared =
            self.client().patch(self.zone.as_str(), vec![clear("SOA"), clear("NS")]).await;
        cleared.map_err(|e| self.failed(&e))?;
        Ok(proof)
    }

    async fn create_bare(
        &mut self,
        account: &str,
        bare: &Batch,
        names: &mut Names,
    ) -> Result<Proof, Failure> {
        let proof = self.post(account, bare).await.map_err(|e| self.failed(&e))?;
        for (name, change) in &bare.names {
            self.done(name, change, proof);
            if let Some(left) = names.get_mut(name) {
                left.types.retain(|t, _| !change.types.contains_key(t));
            }
        }
        names.retain(|_, change| !change.types.is_empty());
        Ok(proof)
    }

    /// Whether the list, asked again, does not have the zone.
    async fn absent(&self) -> bool {
        matches!(self.client().find(self.zone.as_str()).await, Ok(None))
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
        self.expect(expected).await?;
        self.client().set_account(self.id, account).await.map_err(|e| self.failed(&e))
    }

    /// Whether the account is still what the plan saw.
    async fn expect(&self, account: &str) -> Result<(), Failure> {
        let now = self.client().head(self.id).await.map_err(|e| self.failed(&e))?;
        if now.account == account {
            return Ok(());
        }
        Err(Failure::NotSent("the zone's account changed meanwhile".to_owned()))
    }

    /// Deletes a zone without a mark, unless somebody marks it meanwhile.
    async fn delete_unmarked(
        &self,
        expected: &str,
        comments: &BTreeSet<(Name, String)>,
    ) -> Result<Proof, Failure> {
        match self.expect(expected).await {
            Ok(()) | Err(Failure::ZoneMissing) => self.delete(comments).await,
            Err(failure) => Err(failure),
        }
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
            Err(error @ Error::Status { status: 404, .. }) => {
                let failure = self.failed(&error);
                let found = self.client().find(self.zone.as_str()).await;
                match found.map_err(|e| self.failed(&e))? {
                    None => Proof::of(200).ok_or(failure),
                    Some(_) => Err(failure),
                }
            }
            other => other.map_err(|e| self.failed(&e)),
        }
    }

    /// Writes names in batches, and the apex SOA apart. After a failure that may strike any request, the
    /// rest of the zone is not tried.
    async fn write(&mut self, mut names: Names) {
        let mut queue = self.known_to_fail(&mut names);
        let soa = names.get_mut(self.zone).and_then(|apex| apex.types.remove(&RecordType::Soa));
        names.retain(|_, change| !change.types.is_empty());
        let singly = names.extract_if(.., |name, _| self.known.singly.contains(name));
        let singly: Vec<Batch> =
            singly.map(|(name, change)| Batch { names: Names::from([(name, change)]) }).collect();
        queue.extend(singly.into_iter().rev());
        let mut all = batches(&names, self.applier.dialect, self.applier.limits);
        all.reverse();
        queue.append(&mut all);
        let mut stopped: Option<Failure> = None;
        while let Some(batch) = queue.pop() {
            if stopped.is_none() && (self.now)() > self.until {
                stopped = Some(Failure::NotSent("the zone's time in this pass is over".to_owned()));
            }
            if stopped.is_some() {
                let why = not_tried();
                batch.names.iter().for_each(|(name, change)| self.fail(name, change, &why));
                continue;
            }
            let unnoted = batch.unnoted();
            match self.send(batch).await {
                Ok(follow_up) => queue.extend(follow_up),
                Err(failure) if self.is_well(&mut queue, &failure).await => {}
                Err(failure) => stopped = Some(failure),
            }
            // A note written after one of these failed would end the evidence that it rests on.
            let failed = unnoted.iter().find_map(|key| match self.out.keys.get(key) {
                Some(Outcome::Failed(failure)) => Some(failure.clone()),
                Some(Outcome::Done(_)) | None => None,
            });
            stopped = stopped.or(failed);
        }
        if let Some(change) = soa {
            match stopped {
                None => self.soa(&change).await,
                Some(ref failure) => {
                    let key = (self.zone.clone(), RecordType::Soa);
                    self.out.keys.insert(key, Outcome::Failed(failure.clone()));
                }
            }
        }
        self.out.stopped |= stopped.is_some();
    }

    /// Logs an error and gives the failure's class. A server's text can quote contents: it is for debugging.
    pub(super) fn failed(&self, error: &Error) -> Failure {
        if let Error::Status { status, text, .. } = error {
            let about = offender(text).map(|(name, _)| name.to_string()).unwrap_or_default();
            tracing::warn!(zone = %self.zone, status, about, "PowerDNS refused a request");
            tracing::debug!(zone = %self.zone, status, text, "PowerDNS refused a request");
        } else {
            tracing::warn!(zone = %self.zone, %error, "PowerDNS request failed");
        }
        error.failure()
    }

    pub(super) fn done(&mut self, name: &Name, change: &NameChange, proof: Proof) {
        let in_vain = self.known.in_vain.get(name);
        for rtype in change.types.keys() {
            let key = (name.clone(), *rtype);
            if self.for_others.contains(&key) {
                self.out.overwritten.insert(key, Outcome::Done(proof));
                continue;
            }
            let outcome = match in_vain {
                Some(failure) => Outcome::Failed(failure.clone()),
                None => Outcome::Done(proof),
            };
            self.out.acked.insert(key.clone());
            self.out.keys.insert(key, outcome);
        }
    }

    pub(super) fn fail(&mut self, name: &Name, change: &NameChange, failure: &Failure) {
        for rtype in change.types.keys() {
            let key = (name.clone(), *rtype);
            let outcome = Outcome::Failed(failure.clone());
            let others = self.for_others.contains(&key);
            let out = if others { &mut self.out.overwritten } else { &mut self.out.keys };
            out.insert(key, outcome);
        }
    }
}

fn not_tried() -> Failure {
    Failure::NotSent("an earlier request for the zone failed".to_owned())
}

//! Who may run passes: the holder of a Kubernetes `Lease`. This file takes it, renews it and lets it go; what a Lease
//! means is in `record`, who is who in `identity`, and what a holder may still begin is up to the [`Fence`].
#![expect(clippy::disallowed_methods, reason = "a lease is about the time that is left")]

pub mod identity;
pub mod record;

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::cluster::{self, Error};
use crate::fence::Fence;
use crate::metrics::Metrics;
use record::{Claim, Observed, Step};

/// Which Lease, and how it is held.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What it says while it is ours.
    pub claim: Claim,
    /// The holder gives it up if no renewal was acknowledged for so long.
    pub renew_deadline: Duration,
    /// Between two renewals, and between two looks at another's.
    pub retry_period: Duration,
    /// How long a request of a holder that vanished may still be under way at PowerDNS.
    pub aftermath: Duration,
}

/// One process that wants the lease.
pub struct Candidate<'a> {
    client: &'a cluster::Client,
    fence: &'a Fence,
    metrics: &'a Metrics,
    terms: Terms,
    began: Instant,
}

/// The lease was taken.
struct Won {
    /// When the request was sent that took it: it counts from there.
    sent: Instant,
    /// Its last holder did not let it go.
    unclean: bool,
}

/// Whose the lease is, as `lead` tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing<'a> {
    /// Another process has it.
    Rival(&'a str),
    /// This one has it.
    Ours,
    /// This one had it.
    Over,
}

/// Why there is no lease to be had.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// Another process has it, and lives.
    #[error("the lease {lease} is held by {holder}")]
    Held {
        /// Namespace and name of the Lease.
        lease: String,
        /// Who has it.
        holder: String,
    },
    /// The API server does not give it.
    #[error("failed to take the lease {lease}: {why}")]
    Failed {
        /// Namespace and name of the Lease.
        lease: String,
        /// Why.
        why: Error,
    },
    /// The process is stopping.
    #[error("the process is stopping")]
    Stopping,
    /// It was lost before the work was done.
    #[error("the lease {lease} was lost; what was under way was cut short")]
    Lost {
        /// Namespace and name of the Lease.
        lease: String,
    },
}

impl<'a> Candidate<'a> {
    /// A candidate; nothing is sent yet.
    #[must_use]
    pub fn new(
        client: &'a cluster::Client,
        fence: &'a Fence,
        metrics: &'a Metrics,
        terms: Terms,
    ) -> Candidate<'a> {
        Candidate { client, fence, metrics, terms, began: Instant::now() }
    }

    /// Works each time that the lease is ours, until `stop`. `work` gets a token that is cancelled when the lease is lost
    /// or the process stops, and returns once its last request has its answer. `standing` hears whose it is.
    pub async fn lead(
        &self,
        stop: &CancellationToken,
        standing: impl Fn(Standing<'_>),
        mut work: impl AsyncFnMut(&CancellationToken),
    ) {
        let mut seen = Observed::default();
        // The wait after an unclean end, which was cut short.
        let mut owed = false;
        while !stop.is_cancelled() {
            let Some(mut won) = self.campaign(&mut seen, stop, &standing).await else { return };
            won.unclean |= owed;
            standing(Standing::Ours);
            let (done, _) = self.hold(&mut seen, &won, stop, &mut work).await;
            owed = won.unclean && done.is_none();
            standing(Standing::Over);
        }
    }

    /// Works once, with the lease taken for that time.
    ///
    /// # Errors
    /// If it is not to be had, or was lost meanwhile. Whether its holder lives is known once it renews, or does not.
    pub async fn lead_once<T>(
        &self,
        stop: &CancellationToken,
        mut work: impl AsyncFnMut(&CancellationToken) -> T,
    ) -> Result<T, Refused> {
        let mut seen = Observed::default();
        let mut first = None;
        let won = loop {
            let action = self.look(&mut seen).await.map_err(|why| self.failed(why))?;
            if let Step::Wait { holder, until } = action {
                if seen.changed_after(*first.get_or_insert(self.now())) {
                    return Err(Refused::Held { lease: self.lease(), holder });
                }
                if !self.pause(until, stop).await {
                    return Err(Refused::Stopping);
                }
                continue;
            }
            match self.claim(&mut seen).await {
                Ok(sent) => break Won { sent, unclean: action.is_unclean() },
                // Somebody else was first.
                Err(error) if error.code() == Some(409) => {}
                Err(why) => return Err(self.failed(why)),
            }
        };
        let (done, lost) = self.hold(&mut seen, &won, stop, &mut work).await;
        match done {
            _ if lost => Err(Refused::Lost { lease: self.lease() }),
            Some(done) => Ok(done),
            None => Err(Refused::Stopping),
        }
    }

    /// Waits for the lease; `None` once the process stops.
    async fn campaign(
        &self,
        seen: &mut Observed,
        stop: &CancellationToken,
        standing: &impl Fn(Standing<'_>),
    ) -> Option<Won> {
        let (mut known, mut trouble) = (String::new(), String::new());
        // It stays so though the answer to the claim gets lost, after which the lease looks like ours.
        let mut unclean = false;
        while !stop.is_cancelled() {
            let attempt = async {
                let action = self.look(seen).await?;
                if let Step::Wait { holder, until } = action {
                    return Ok(Err((holder, until)));
                }
                unclean |= action.is_unclean();
                self.claim(seen).await.map(Ok)
            };
            let mut until = self.now() + self.terms.retry_period;
            match attempt.await {
                Ok(Ok(sent)) => return Some(Won { sent, unclean }),
                Ok(Err((holder, free))) => {
                    if holder != known {
                        tracing::info!(lease = self.lease(), holder, "another has the lease");
                    }
                    standing(Standing::Rival(&holder));
                    (until, known, trouble) = (until.min(free), holder, String::new());
                }
                // Somebody else was first.
                Err(error) if error.code() == Some(409) => {}
                Err(error) => {
                    let said = error.to_string();
                    if said != trouble {
                        tracing::warn!(lease = self.lease(), %error, "the lease is not to be had");
                    }
                    trouble = said;
                }
            }
            self.pause(until, stop).await;
        }
        None
    }

    /// Works under the lease, renewing it until the work has ended or the lease is lost; then lets it go, if it is still
    /// ours. Says what came of the work, and whether the lease was lost.
    async fn hold<T>(
        &self,
        seen: &mut Observed,
        won: &Won,
        stop: &CancellationToken,
        work: &mut impl AsyncFnMut(&CancellationToken) -> T,
    ) -> (Option<T>, bool) {
        let Won { sent, unclean } = *won;
        tracing::info!(
            lease = self.lease(),
            identity = self.terms.claim.identity,
            unclean,
            "the lease is ours"
        );
        self.fence.set(Some(sent + self.terms.claim.duration));
        self.metrics.leader(true);
        self.metrics.moved();
        let (cut, ended) = (stop.child_token(), CancellationToken::new());
        let work = async {
            if unclean {
                // What its last holder sent before it vanished may only now reach PowerDNS.
                tokio::select! {
                    () = cut.cancelled() => {}
                    () = tokio::time::sleep(self.terms.aftermath) => {}
                }
            }
            let done = if cut.is_cancelled() { None } else { Some(work(&cut).await) };
            ended.cancel();
            done
        };
        let (done, lost) = tokio::join!(work, self.renew(seen, sent, &cut, &ended));
        self.fence.set(None);
        self.metrics.leader(false);
        // Who did not wait long enough leaves that to the next one, who does if the lease runs out.
        if !lost && (done.is_some() || !unclean) {
            self.release(seen).await;
        }
        (done, lost)
    }

    /// Renews until `ended`; if that fails for too long or another has the lease, shuts the fence, cancels `cut` and says
    /// that it is lost.
    async fn renew(
        &self,
        seen: &mut Observed,
        mut sent: Instant,
        cut: &CancellationToken,
        ended: &CancellationToken,
    ) -> bool {
        let mut next = sent + self.terms.retry_period;
        loop {
            let given_up = sent + self.terms.renew_deadline;
            let attempt = async {
                tokio::time::sleep_until(next).await;
                // From one to the next, whatever the answer takes: the lease counts from there too.
                next = Instant::now() + self.terms.retry_period;
                self.again(seen).await
            };
            let answer = tokio::select! {
                () = ended.cancelled() => return false,
                answer = tokio::time::timeout_at(given_up, attempt) => answer,
            };
            let why = match answer {
                // Time may have passed unseen, while the process was stopped.
                Ok(Ok(acknowledged)) if Instant::now() < given_up => {
                    sent = acknowledged;
                    self.fence.set(Some(sent + self.terms.claim.duration));
                    continue;
                }
                Ok(Err(Renewal::Unanswered(error))) if Instant::now() < given_up => {
                    tracing::warn!(lease = self.lease(), %error, "the lease was not renewed");
                    continue;
                }
                Ok(Err(Renewal::Taken)) => format!("{:?} has it", seen.holder()),
                Ok(_) | Err(_) => "no renewal was acknowledged in time".to_owned(),
            };
            self.fence.set(None);
            cut.cancel();
            tracing::error!(
                lease = self.lease(),
                why,
                "the lease is lost: nothing more is written"
            );
            ended.cancelled().await;
            return true;
        }
    }

    /// One renewal, and another if the Lease was touched by somebody who left it ours.
    async fn again(&self, seen: &mut Observed) -> Result<Instant, Renewal> {
        match self.claim(seen).await {
            Err(error) if error.code() == Some(409) => {
                let step = self.look(seen).await.map_err(Renewal::Unanswered)?;
                if step != Step::Renew {
                    return Err(Renewal::Taken);
                }
                self.claim(seen).await.map_err(Renewal::Unanswered)
            }
            Err(error) if error.code() == Some(404) => {
                // Deleted: another may create it at once.
                seen.see(None, self.now());
                Err(Renewal::Taken)
            }
            other => other.map_err(Renewal::Unanswered),
        }
    }

    /// Lets the lease go, so that the next one need not wait. If that fails, it runs out.
    async fn release(&self, seen: &mut Observed) {
        let mut answer = self.put(&seen.released(&wall())).await;
        if matches!(&answer, Err(error) if error.code() == Some(409))
            && matches!(self.look(seen).await, Ok(Step::Renew))
        {
            answer = self.put(&seen.released(&wall())).await;
        }
        match answer {
            Ok(_) => tracing::info!(lease = self.lease(), "the lease was let go"),
            Err(error) => tracing::warn!(lease = self.lease(), %error, "the lease was not let go"),
        }
    }

    async fn look(&self, seen: &mut Observed) -> Result<Step, Error> {
        let Terms { namespace, name, claim, .. } = &self.terms;
        let lease = self.client.lease(namespace, name, self.limit()).await?;
        let now = self.now();
        seen.see(lease, now);
        Ok(seen.step(claim, now))
    }

    /// Writes the Lease as ours; says when that was sent.
    async fn claim(&self, seen: &mut Observed) -> Result<Instant, Error> {
        let sent = Instant::now();
        let lease = self.put(&seen.claimed(&self.terms.claim, &wall())).await?;
        seen.see(Some(lease), self.now());
        Ok(sent)
    }

    async fn put(&self, lease: &serde_json::Value) -> Result<serde_json::Value, Error> {
        let Terms { namespace, name, .. } = &self.terms;
        self.client.put_lease(namespace, name, lease, self.limit()).await
    }

    /// Sleeps until then, but no longer than until the next look is due; `false` if the process stops.
    async fn pause(&self, until: Duration, stop: &CancellationToken) -> bool {
        let wait = until.saturating_sub(self.now()).min(self.terms.retry_period);
        tokio::select! {
            () = stop.cancelled() => false,
            () = tokio::time::sleep(wait) => true,
        }
    }

    fn failed(&self, why: Error) -> Refused {
        Refused::Failed { lease: self.lease(), why }
    }

    /// Namespace and name.
    fn lease(&self) -> String {
        format!("{}/{}", self.terms.namespace, self.terms.name)
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// For one request about the lease: a second one must fit before the deadline.
    fn limit(&self) -> Duration {
        self.terms.renew_deadline / 2
    }
}

/// Why a renewal is none.
enum Renewal {
    /// The lease is another's, or nobody's.
    Taken,
    /// Nobody knows.
    Unanswered(Error),
}

/// The wall clock as a Lease tells it, for people.
fn wall() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

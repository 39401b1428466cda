//! `dns-syncd run`: the daemon. Every task is joined; one that ends unasked ends the process.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use super::{FAILED, StartError, fence, syncer, terms};
use crate::admin::{self, Access, Admin};
use crate::config::Config;
use crate::fence::Fence;
use crate::lease::identity::reached_at;
use crate::lease::{Candidate, Standing, Terms};
use crate::schedule::Schedule;
use crate::sync::Syncer;
use crate::trigger::{self, Trigger};

/// Shortest time that nothing may move before `/healthz` fails, in milliseconds.
const DEADLINE: u64 = 60_000;
/// How late a tick may be before the scheduler counts as gone.
const LATE: Duration = Duration::from_secs(30);
/// Longest time that the listener's clients may take to finish once the daemon stops.
const DRAIN: Duration = Duration::from_secs(2);

/// Runs until `stop` is cancelled.
///
/// # Errors
/// If the clients, the listener or the schedule cannot be set up.
pub async fn run(config: &Config, stop: &CancellationToken) -> Result<u8, StartError> {
    let failed = |what, why: String| StartError::Setup { what, why };
    let (fence, elects) = fence(config);
    let syncer = Arc::new(syncer(config, &fence, stop).await?);
    let listener = TcpListener::bind(config.http.listen)
        .await
        .map_err(|e| failed("the listener of http.listen", e.to_string()))?;
    let port = listener.local_addr().map_or(config.http.listen.port(), |a| a.port());
    let trigger = Trigger::default();
    if elects {
        trigger.stand_by(None);
    }
    let mut schedule = Schedule::start(&config.interval, &trigger)
        .await
        .map_err(|e| failed("the schedule of interval", e.to_string()))?;
    let forward =
        admin::forwarder().map_err(|e| failed("the client for other replicas", e.to_string()))?;
    let admin = Arc::new(admin(config, &trigger, &syncer, forward));
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        owner_id = config.owner_id,
        listen = %config.http.listen,
        powerdns = config.powerdns.url,
        "dns-syncd runs"
    );
    let ended = CancellationToken::new();
    let guard = ended.clone().drop_guard();
    let mut listening = tokio::spawn(admin::serve(listener, admin, ended));
    let address = reached_at(config.http.advertise.as_deref(), config.pod.ip.as_deref(), port);
    let election = elects.then(|| (&fence, terms(config, &syncer, address.as_deref())));
    let (unasked, code) = tokio::select! {
        () = passes(election, &syncer, &trigger, stop) => (None, 0),
        result = &mut listening => (Some(result), FAILED),
        () = schedule.died(LATE) => {
            tracing::error!("the scheduler's task died");
            (None, FAILED)
        }
    };
    drop(guard);
    if let Err(error) = schedule.stop().await {
        tracing::warn!(%error, "the scheduler did not stop");
    }
    let result = match unasked {
        Some(result) => result,
        None => tokio::time::timeout(DRAIN, &mut listening).await.unwrap_or_else(|_| {
            // A client that never ends its request must not hold the process for ever.
            listening.abort();
            Ok(Ok(()))
        }),
    };
    Ok(listened(result, code))
}

/// The exit code, which is this one if the listener's task ended well.
fn listened(ended: Result<std::io::Result<()>, JoinError>, code: u8) -> u8 {
    match ended {
        Ok(Ok(())) => {
            tracing::info!("dns-syncd has stopped");
            code
        }
        Ok(Err(error)) => {
            tracing::error!(%error, "the listener failed");
            FAILED
        }
        Err(error) => {
            tracing::error!(%error, "the listener's task died");
            FAILED
        }
    }
}

/// Runs passes until `stop`: always, or with an election while the lease is held.
async fn passes(
    election: Option<(&Fence, Terms)>,
    syncer: &Syncer,
    trigger: &Trigger,
    stop: &CancellationToken,
) {
    if let Some((fence, terms)) = election {
        let candidate = Candidate::new(&syncer.cluster, fence, &syncer.metrics, terms);
        let standing = |standing: Standing<'_>| match standing {
            Standing::Rival(holder) => trigger.stand_by(Some(holder)),
            Standing::Ours => trigger.begin(),
            Standing::Over => trigger.stand_by(None),
        };
        let work = async |cut: &CancellationToken| {
            trigger::run(syncer, trigger, cut).await;
            syncer.forget().await;
        };
        candidate.lead(stop, standing, work).await;
    } else {
        syncer.metrics.leader(true);
        trigger::run(syncer, trigger, stop).await;
    }
    trigger.end();
}

/// What the listener needs.
fn admin(
    config: &Config,
    trigger: &Trigger,
    syncer: &Arc<Syncer>,
    forward: reqwest::Client,
) -> Admin {
    Admin {
        trigger: trigger.clone(),
        metrics: syncer.metrics.clone(),
        access: Access {
            token: config.http.token_file.clone(),
            hmac: config.http.hmac_secret_file.clone(),
            admin: config.http.admin_token_file.clone(),
            anonymous: config.http.allow_anonymous_nudge,
        },
        syncer: Some(syncer.clone()),
        deadline: DEADLINE.max(3 * syncer.policy.request_timeout),
        limiter: admin::limiter(),
        forward,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[tokio::test]
    async fn a_task_that_died_makes_the_process_fail() {
        let died = tokio::spawn(async { panic!("by test") }).await;
        assert_eq!(listened(died, 0), FAILED);
        assert_eq!(listened(Ok(Err(io::Error::other("by test"))), 0), FAILED);
        // One that ended well and unasked has its code from the caller.
        assert_eq!(listened(Ok(Ok(())), FAILED), FAILED);
        assert_eq!(listened(Ok(Ok(())), 0), 0);
    }
}

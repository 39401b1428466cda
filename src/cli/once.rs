//! `dns-syncd once`: one pass, and further ones only while a new mark has to last.
#![expect(clippy::disallowed_methods, reason = "a new mark has to last one request time-out")]
#![expect(clippy::print_stdout, reason = "printing is what the command is for")]

use std::collections::BTreeSet;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{FAILED, StartError, fence, syncer, terms};
use crate::config::Config;
use crate::lease::Candidate;
use crate::plan::brakes::Hold;
use crate::plan::release::Released;
use crate::sync::{Asked, Syncer};

/// Makes one pass and prints its summary as JSON. After marking a zone that existed before, it waits until the mark
/// has lasted and makes the pass that writes into it.
///
/// # Errors
/// If the clients cannot be set up.
pub async fn once(
    config: &Config,
    released: &BTreeSet<String>,
    stop: &CancellationToken,
) -> Result<u8, StartError> {
    let (fence, needed) = fence(config);
    let syncer = syncer(config, &fence, stop).await?;
    if !needed {
        return Ok(rounds(config, &syncer, released, stop).await);
    }
    let terms = terms(config, &syncer, None);
    let candidate = Candidate::new(&syncer.cluster, &fence, &syncer.metrics, terms);
    let work = async |cut: &CancellationToken| rounds(config, &syncer, released, cut).await;
    Ok(candidate.lead_once(stop, work).await.unwrap_or_else(|error| {
        tracing::error!(%error, "the lease is not ours, and only its holder makes passes");
        FAILED
    }))
}

/// The exit code.
async fn rounds(
    config: &Config,
    syncer: &Syncer,
    released: &BTreeSet<String>,
    stop: &CancellationToken,
) -> u8 {
    if !released.is_empty() && !held_now(syncer, released).await {
        return FAILED;
    }
    syncer.asked(Asked { released: Released::digests(released), ..Asked::default() }).await;
    for round in [Round::First, Round::AfterMarks] {
        let summary = match syncer.pass().await {
            Ok(passed) => passed.summary,
            Err(error) => {
                tracing::error!(%error, "no pass: the cluster's state could not be read");
                return FAILED;
            }
        };
        println!("{}", serde_json::to_string(&summary).unwrap_or_default());
        // A mark that a backend does not keep would make rounds for ever.
        if summary.marking == 0 || round == Round::AfterMarks || stop.is_cancelled() {
            return if summary.clean() { 0 } else { FAILED };
        }
        let lasts = config.powerdns.request_timeout + Duration::from_millis(50);
        tokio::select! {
            () = stop.cancelled() => return FAILED,
            () = tokio::time::sleep(lasts) => {}
        }
    }
    FAILED
}

/// Whether each digest names a hold of now. One that does not was given for something else, so that nothing is done
/// at all.
async fn held_now(syncer: &Syncer, released: &BTreeSet<String>) -> bool {
    let plan = match syncer.plan().await {
        Ok((_, plan)) => plan,
        Err(error) => {
            tracing::error!(%error, "no pass: the cluster's state could not be read");
            return false;
        }
    };
    let held: BTreeSet<&String> = plan.holds.iter().filter_map(|h| h.digest.as_ref()).collect();
    let unknown: Vec<&String> = released.iter().filter(|d| !held.contains(d)).collect();
    if !unknown.is_empty() {
        let holds: Vec<String> = plan.holds.iter().map(Hold::message).collect();
        tracing::error!(?unknown, ?holds, "--release: no hold of now has that digest");
    }
    unknown.is_empty()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    First,
    AfterMarks,
}

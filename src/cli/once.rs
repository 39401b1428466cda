//! `dns-syncd once`: one pass, and further ones only while a new mark has to last.
#![expect(clippy::disallowed_methods, reason = "a new mark has to last one request time-out")]
#![expect(clippy::print_stdout, reason = "printing is what the command is for")]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::manifests::offline;
use super::progress::progress;
use super::{FAILED, StartError, fence, syncer, terms};
use crate::config::Config;
use crate::lease::Candidate;
use crate::offline::Offline;
use crate::plan::Plan;
use crate::plan::brakes::Hold;
use crate::plan::release::Released;
use crate::plan::summary::Summary;
use crate::sync::{Asked as Ask, Syncer};

/// What is asked of `once`.
#[derive(Clone, Debug, clap::Args)]
pub struct Asked {
    /// Let through what the hold of this digest holds, in this pass alone; see the zone's condition.
    #[arg(long, value_name = "DIGEST")]
    pub release: Vec<String>,
    /// Declare the objects in this folder's YAML files instead of a cluster's, under an ownerId of their own, and print the
    /// statuses that they would get; one run at a time.
    #[arg(long, value_name = "DIR")]
    pub manifests: Option<PathBuf>,
}

/// Makes one pass and prints its summary as JSON. After marking a zone that existed before, it waits until the mark
/// has lasted and makes the pass that writes into it.
///
/// # Errors
/// If the clients cannot be set up.
pub async fn once(
    config: &Config,
    asked: &Asked,
    stop: &CancellationToken,
) -> Result<u8, StartError> {
    let released: BTreeSet<String> = asked.release.iter().cloned().collect();
    if let Some(folder) = &asked.manifests {
        let offline = offline(config, folder, stop)?;
        return Ok(on_manifests(config, &offline, &released, stop).await);
    }
    let (fence, needed) = fence(config);
    let syncer = syncer(config, &fence, stop).await?;
    if !needed {
        return Ok(on_cluster(config, &syncer, &released, stop).await);
    }
    let terms = terms(config, &syncer, None);
    let candidate = Candidate::new(&syncer.cluster, &fence, &syncer.metrics, terms);
    let work = async |cut: &CancellationToken| on_cluster(config, &syncer, &released, cut).await;
    Ok(candidate.lead_once(stop, work).await.unwrap_or_else(|error| {
        tracing::error!(%error, "the lease is not ours, and only its holder makes passes");
        FAILED
    }))
}

/// The exit code.
async fn on_cluster(
    config: &Config,
    syncer: &Syncer,
    released: &BTreeSet<String>,
    stop: &CancellationToken,
) -> u8 {
    let unread = |error| {
        tracing::error!(%error, "no pass: the cluster's state could not be read");
    };
    if !released.is_empty() {
        match syncer.plan().await {
            Ok((_, plan)) if holds_all(&plan, released) => {}
            Ok(_) => return FAILED,
            Err(error) => {
                unread(error);
                return FAILED;
            }
        }
    }
    syncer.asked(Ask { released: Released::digests(released), ..Ask::default() }).await;
    let pass = async || {
        let _shown = progress("a pass", &syncer.metrics);
        syncer.pass().await.map(|passed| passed.summary).map_err(unread).ok()
    };
    rounds(config, pass, stop).await
}

/// The exit code. Each status is a line before the summary's.
async fn on_manifests(
    config: &Config,
    offline: &Offline,
    released: &BTreeSet<String>,
    stop: &CancellationToken,
) -> u8 {
    if !released.is_empty() && !holds_all(&offline.plan().await.1, released) {
        return FAILED;
    }
    offline.release(Released::digests(released)).await;
    let pass = async || {
        let passed =
            offline.pass().await.map_err(|error| tracing::error!(%error, "no pass")).ok()?;
        for status in &passed.statuses {
            let (kind, key) = (status.kind, status.meta.key());
            let line = json!({
                "kind": kind, "namespace": key.namespace, "name": key.name, "status": status.body["status"],
            });
            println!("{line}");
        }
        Some(passed.summary)
    };
    rounds(config, pass, stop).await
}

/// The exit code.
async fn rounds(
    config: &Config,
    pass: impl AsyncFn() -> Option<Summary>,
    stop: &CancellationToken,
) -> u8 {
    for round in [Round::First, Round::AfterMarks] {
        let Some(summary) = pass().await else { return FAILED };
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
fn holds_all(plan: &Plan, released: &BTreeSet<String>) -> bool {
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

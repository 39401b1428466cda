//! `dns-syncd cleanup`: what an installation leaves in the cluster goes, and on demand what it wrote into PowerDNS.
#![expect(clippy::print_stdout, reason = "printing is what the command is for")]

use tokio_util::sync::CancellationToken;

use super::progress::progress;
use super::{FAILED, StartError, fence, syncer, terms};
use crate::cluster;
use crate::config::Config;
use crate::fence::Fence;
use crate::lease::Candidate;
use crate::plan::Snapshot;
use crate::plan::cleanup::{Cleanup, cleanup as decide};
use crate::plan::snapshot::Server;
use crate::powerdns::{self, Applier, Reading};
use crate::sync::Syncer;

/// How often what is left is taken away again: for what somebody changed meanwhile, and for zones with more RRsets than
/// one round has time for.
const ROUNDS: usize = 5;

/// What is asked of `cleanup`.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Asked {
    /// Delete what is ours in PowerDNS first: RRsets with our note, zones with our mark that hold nothing else.
    #[arg(long)]
    pub purge: bool,
    /// Print what would be done, and write nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// Takes our finalizers off all objects, and with `--purge` deletes what is ours in PowerDNS before that. It is done once
/// everything, read anew, shows nothing of it.
///
/// # Errors
/// If the clients cannot be set up, or if `--purge` is to delete although `policy.deletes` is `never`.
pub async fn cleanup(
    config: &Config,
    asked: Asked,
    stop: &CancellationToken,
) -> Result<u8, StartError> {
    if asked.purge && !config.policy.deletes {
        let why = "policy.deletes is \"never\"".to_owned();
        return Err(StartError::Setup { what: "--purge", why });
    }
    let dry = asked.dry_run || config.dry_run;
    let (fence, needed) = if dry { (Fence::default(), false) } else { fence(config) };
    let syncer = syncer(config, &fence, stop).await?;
    if !needed {
        return Ok(rounds(&syncer, asked.purge, dry, stop).await);
    }
    let terms = terms(config, &syncer, None);
    let candidate = Candidate::new(&syncer.cluster, &fence, &syncer.metrics, terms);
    let work = async |cut: &CancellationToken| rounds(&syncer, asked.purge, dry, cut).await;
    Ok(candidate.lead_once(stop, work).await.unwrap_or_else(|error| {
        tracing::error!(%error, "the lease is not ours: does a daemon run?");
        FAILED
    }))
}

/// The exit code.
async fn rounds(syncer: &Syncer, purge: bool, dry: bool, stop: &CancellationToken) -> u8 {
    for round in 0..ROUNDS {
        let shown = progress("looking for what is left", &syncer.metrics);
        let gathered = gather(syncer, purge).await;
        drop(shown);
        let Some(snapshot) = gathered else {
            return FAILED;
        };
        let found = decide(&snapshot, &syncer.policy);
        if !found.is_done() || round == 0 {
            print!("{found}");
        }
        if found.is_done() {
            return 0;
        }
        if dry {
            return if found.unread.is_empty() { 0 } else { FAILED };
        }
        let shown = progress("taking it away", &syncer.metrics);
        let taken = take_away(syncer, &snapshot, &found).await;
        drop(shown);
        if !taken || stop.is_cancelled() {
            return FAILED;
        }
    }
    tracing::error!("there is always more to take away: does a daemon run beside this?");
    FAILED
}

/// Both sides, PowerDNS only for `--purge`: what is left to release must not wait for a server that is gone.
async fn gather(syncer: &Syncer, purge: bool) -> Option<Snapshot> {
    let cluster = match cluster::remains(&syncer.cluster, &syncer.policy.namespaces).await {
        Ok(cluster) => cluster,
        Err(error) => {
            tracing::error!(%error, "nothing is done: the cluster's state could not be read");
            return None;
        }
    };
    if !purge {
        let server = Server { capabilities: None, zones: Err("not asked".to_owned()) };
        return Some(Snapshot { cluster, server });
    }
    let reading = Reading { concurrency: syncer.concurrency, turn: 0, resting: [].into() };
    let server = powerdns::read(&syncer.powerdns, &reading, |_| [].into(), || now(syncer)).await;
    if let Err(why) = &server.zones {
        tracing::error!(why, "nothing is done: PowerDNS could not be read");
        return None;
    }
    Some(Snapshot { cluster, server })
}

fn now(syncer: &Syncer) -> u64 {
    (syncer.clock)(&syncer.metrics)
}

/// One round; gives whether another may do what this one did not. Finalizers go only if everything in PowerDNS went: they
/// are what makes an object wait for that.
async fn take_away(syncer: &Syncer, snapshot: &Snapshot, found: &Cleanup) -> bool {
    let capabilities = snapshot.server.capabilities;
    let applier = Applier {
        client: &syncer.powerdns,
        dialect: snapshot.dialect(),
        limits: syncer.limits,
        comments_outlive: capabilities.is_some_and(|c| c.comments_outlive),
    };
    let (mut gone, mut some) = (found.unread.is_empty(), false);
    for (name, zone) in &found.zones {
        for plan in [Some(&zone.records), zone.unmark.as_ref()].into_iter().flatten() {
            let answers = powerdns::apply_zone(&applier, name, plan, || now(syncer)).await;
            some |= !answers.acked.is_empty();
            if !answers.is_done() {
                tracing::error!(zone = %name, "not everything in this zone could be taken away");
                gone = false;
                break;
            }
        }
    }
    if !gone {
        tracing::error!("no finalizer is taken off: what they wait for is still in PowerDNS");
        return some;
    }
    let failed = cluster::let_go(&syncer.cluster, &found.sets, &found.objects).await;
    for why in &failed {
        tracing::error!(why, "a finalizer could not be taken off");
    }
    // What somebody changed meanwhile is read anew.
    failed.iter().all(|why| why.contains("answered 409"))
}

//! After PowerDNS has answered: statuses, owner references of what was repointed, and the finalizers of what is
//! proved gone; record sets before their zones.

use std::collections::BTreeSet;

use futures::stream::{self, StreamExt};
use serde_json::{Value, json};

use super::Versions;
use super::client::{Client, Error};
use super::secure::owner_references;
use crate::api::object::{Meta, Owner};
use crate::api::{KIND_RECORD_SET, KIND_ZONE};
use crate::metrics::Stage;
use crate::plan::Aftermath;
use crate::plan::events::RELEASED;
use crate::plan::settle::Release;
use crate::plan::statuses::StatusWrite;

/// Records an aftermath; gives what could not be written, `kind namespace/name: why`, sorted. A 409 means that
/// somebody changed the object meanwhile: the next pass sees it. A transition whose status was not written is told
/// once it is, or each pass would tell it anew.
pub async fn record(
    client: &Client,
    aftermath: &mut Aftermath,
    versions: &Versions,
) -> Vec<String> {
    let mut failed = Vec::new();
    let Aftermath { statuses, repointed, set_releases, zone_releases, .. } = &*aftermath;
    let releases = set_releases.len() + zone_releases.len();
    client.metrics.stage(Stage::Record, statuses.len() + repointed.len() + releases);
    let statuses = aftermath
        .statuses
        .iter()
        .map(|w| async move { (w.kind, &w.meta, status(client, w, versions).await) });
    let unwritten = collect(client, statuses, &mut failed).await;
    aftermath.events.retain(|event| !event.transition || !unwritten.contains(&event.meta.uid));
    let repointed = aftermath.repointed.iter().map(|(meta, owners)| async move {
        (KIND_RECORD_SET, meta, repoint(client, meta, owners, versions).await)
    });
    collect(client, repointed, &mut failed).await;
    let sets = aftermath.set_releases.iter().map(|it| async move {
        (KIND_RECORD_SET, &it.meta, release(client, KIND_RECORD_SET, it, versions).await)
    });
    let kept = collect(client, sets, &mut failed).await;
    let zones = aftermath.zone_releases.iter();
    let zones = zones.filter(|(_, after)| after.is_disjoint(&kept)).map(|(it, _)| async move {
        (KIND_ZONE, &it.meta, release(client, KIND_ZONE, it, versions).await)
    });
    collect(client, zones, &mut failed).await;
    aftermath.events.retain(|event| event.reason != RELEASED || !kept.contains(&event.meta.uid));
    failed.sort();
    failed
}

/// Takes our finalizers off, of record sets first and of DNSZones only if that went well: a DNSZone that is gone would
/// leave its record sets to the garbage collector and their finalizers to nobody. Gives what could not be written, sorted.
pub async fn let_go(client: &Client, sets: &[Release], zones: &[Release]) -> Vec<String> {
    let versions = Versions::default();
    let mut failed = Vec::new();
    for (kind, releases) in [(KIND_RECORD_SET, sets), (KIND_ZONE, zones)] {
        if failed.is_empty() {
            let each = releases.iter();
            let each = each
                .map(|it| async { (kind, &it.meta, release(client, kind, it, &versions).await) });
            collect(client, each, &mut failed).await;
        }
    }
    failed.sort();
    failed
}

/// Runs requests side by side; notes failures and gives the uids that they concern.
async fn collect<'a, F>(
    client: &Client,
    requests: impl Iterator<Item = F>,
    failed: &mut Vec<String>,
) -> BTreeSet<String>
where
    F: Future<Output = (&'static str, &'a Meta, Result<(), Error>)>,
{
    let mut uids = BTreeSet::new();
    let mut answers = stream::iter(requests).buffer_unordered(client.concurrency);
    while let Some((kind, meta, answer)) = answers.next().await {
        client.metrics.advance(1);
        if let Err(error) = answer {
            uids.insert(meta.uid.clone());
            failed.push(format!("{kind} {}: {error}", meta.key()));
        }
    }
    uids
}

async fn status(client: &Client, write: &StatusWrite, versions: &Versions) -> Result<(), Error> {
    let meta = &write.meta;
    let mut body = write.body.clone();
    let version = versions.of(&meta.uid, &meta.resource_version);
    body["metadata"] = json!({ "resourceVersion": version });
    gone_is_done(client.patch(write.kind, &meta.key(), true, &body).await, versions)
}

async fn repoint(
    client: &Client,
    meta: &Meta,
    owners: &[Owner],
    versions: &Versions,
) -> Result<(), Error> {
    gone_is_done(owner_references(client, meta, owners, versions).await, versions)
}

/// Takes the finalizers off that are ours to take off, and no other.
async fn release(
    client: &Client,
    kind: &str,
    Release { meta, stay }: &Release,
    versions: &Versions,
) -> Result<(), Error> {
    let version = versions.of(&meta.uid, &meta.resource_version);
    let body = json!({"metadata": {"resourceVersion": version, "finalizers": stay}});
    gone_is_done(client.patch(kind, &meta.key(), false, &body).await, versions)
}

/// An object that is gone needs nothing any more.
fn gone_is_done(answer: Result<Value, Error>, versions: &Versions) -> Result<(), Error> {
    match answer {
        Ok(object) => versions.learn(&object),
        Err(error) if error.code() == Some(404) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

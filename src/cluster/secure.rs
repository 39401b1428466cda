//! Before the first write to PowerDNS: finalizers, owner references and `Accepted` on the objects it is
//! written for, deletes and references of what goes with a Terminating DNSZone, and the live GETs that
//! implicit deletes turn on. What goes wrong here becomes evidence against the plan.

use std::collections::BTreeMap;

use futures::stream::{self, StreamExt};
use serde_json::{Value, json};

use super::Versions;
use super::client::{Client, Error};
use crate::api::object::{Meta, Owner};
use crate::api::{KIND_RECORD_SET, KIND_ZONE};
use crate::metrics::Stage;
use crate::plan::guard::{domain, questions};
use crate::plan::set_plan::{Secure, SetPlan};
use crate::plan::statuses::accepted_first;
use crate::plan::{Evidence, LiveObject, Plan, ZonePlan, ZoneStep};

/// Secures a plan. `now` is RFC 3339 in seconds.
pub async fn secure(client: &Client, plan: &Plan, versions: &Versions, now: &str) -> Evidence {
    let mut evidence = Evidence::default();
    let zones = plan.objects.values().filter_map(|o| Some((&o.meta, o.secure.as_ref()?)));
    client.metrics.stage(Stage::Secure, zones.clone().count());
    let zones = zones.map(|(meta, wanted)| async move {
        (meta.uid.clone(), metadata(client, KIND_ZONE, meta, versions, wanted).await)
    });
    evidence.lost_zones = failures(client, zones).await;
    let sets =
        plan.sets.values().filter(|s| s.secure.is_some() || accepted_first(s, now).is_some());
    let (mut kept, mut astray) = (Vec::new(), BTreeMap::new());
    for set in sets {
        match lost_owner(set, &evidence.lost_zones) {
            Some(why) => drop(astray.insert(set.meta.uid.clone(), why.clone())),
            None => kept.push(set),
        }
    }
    client.metrics.stage(Stage::Secure, kept.len());
    let sets = kept.into_iter().map(|set| async move {
        (set.meta.uid.clone(), secure_set(client, set, versions, now).await)
    });
    evidence.lost_sets = failures(client, sets).await;
    evidence.lost_sets.append(&mut astray);
    for object in plan.objects.values() {
        let Some(deletion) = &object.deletion else {
            continue;
        };
        let doomed = deletion
            .dependants
            .iter()
            .map(|meta| async move { (meta.uid.clone(), doom(client, meta, versions).await) });
        evidence.kept_sets.extend(failures(client, doomed).await);
        let stripped = deletion.strip.iter().map(|(meta, owners)| async move {
            (object.meta.uid.clone(), strip(client, meta, owners, versions).await)
        });
        evidence.unstripped.extend(failures(client, stripped).await);
    }
    let Evidence { live, domains, .. } = ask(client, plan).await;
    Evidence { live, domains, ..evidence }
}

/// Asks for each object that an implicit delete turns on, and lists DNSZones again if an orphan would go.
pub async fn ask(client: &Client, plan: &Plan) -> Evidence {
    let orphan = |z: &ZonePlan| matches!(z.step, ZoneStep::DeleteOrphan { .. });
    let domains = if plan.zones.values().any(orphan) {
        client.list("dnszones", None, domain).await.ok().map(|all| all.into_iter().collect())
    } else {
        None
    };
    let asked = questions(plan).into_iter().map(|key| async move {
        let live = match client.get(KIND_RECORD_SET, &key).await {
            Ok(object) => object
                .pointer("/metadata/uid")
                .and_then(Value::as_str)
                .map_or(LiveObject::Unknown, |uid| LiveObject::Uid(uid.to_owned())),
            Err(error) if error.code() == Some(404) => LiveObject::Gone,
            Err(_) => LiveObject::Unknown,
        };
        (key, live)
    });
    let live = stream::iter(asked).buffer_unordered(client.concurrency).collect().await;
    Evidence { live, domains, ..Evidence::default() }
}

/// Why the DNSZone that a set would get an owner reference to was lost, if it was: without our finalizer it may be gone, and
/// the garbage collector takes what refers to nothing else.
fn lost_owner<'a>(set: &SetPlan, lost_zones: &'a BTreeMap<String, String>) -> Option<&'a String> {
    set.secure.as_ref()?.owners.iter().find_map(|owner| lost_zones.get(&owner.uid))
}

/// Runs requests side by side and keeps what failed, with the reason.
async fn failures<F>(client: &Client, requests: impl Iterator<Item = F>) -> BTreeMap<String, String>
where
    F: Future<Output = (String, Result<(), Error>)>,
{
    let answers = stream::iter(requests).buffer_unordered(client.concurrency);
    answers
        .inspect(|_| client.metrics.advance(1))
        .filter_map(|(uid, answer)| async move { Some((uid, answer.err()?.to_string())) })
        .collect()
        .await
}

async fn secure_set(
    client: &Client,
    set: &SetPlan,
    versions: &Versions,
    now: &str,
) -> Result<(), Error> {
    if let Some(wanted) = &set.secure {
        metadata(client, KIND_RECORD_SET, &set.meta, versions, wanted).await?;
    }
    if let Some(write) = accepted_first(set, now) {
        let mut body = write.body;
        let version = versions.of(&set.meta.uid, &set.meta.resource_version);
        body["metadata"] = json!({ "resourceVersion": version });
        let key = set.meta.key();
        versions.learn(&client.patch(KIND_RECORD_SET, &key, true, &body).await?);
    }
    Ok(())
}

/// Finalizers and owner references in one patch that fails if the object changed since it was listed.
async fn metadata(
    client: &Client,
    kind: &str,
    meta: &Meta,
    versions: &Versions,
    wanted: &Secure,
) -> Result<(), Error> {
    let owners: Vec<Value> = wanted.owners.iter().map(Owner::to_value).collect();
    let body = json!({"metadata": {
        "resourceVersion": versions.of(&meta.uid, &meta.resource_version),
        "finalizers": wanted.finalizers,
        "ownerReferences": owners,
    }});
    versions.learn(&client.patch(kind, &meta.key(), false, &body).await?);
    Ok(())
}

/// Deletes a record set with its DNSZone; gone already is as good.
async fn doom(client: &Client, meta: &Meta, versions: &Versions) -> Result<(), Error> {
    let version = versions.of(&meta.uid, &meta.resource_version);
    match client.delete(KIND_RECORD_SET, &meta.key(), &meta.uid, &version).await {
        Ok(object) => {
            versions.learn(&object);
            Ok(())
        }
        Err(error) if error.code() == Some(404) => Ok(()),
        Err(error) => Err(error),
    }
}

async fn strip(
    client: &Client,
    meta: &Meta,
    owners: &[Owner],
    versions: &Versions,
) -> Result<(), Error> {
    versions.learn(&owner_references(client, meta, owners, versions).await?);
    Ok(())
}

/// Gives a record set this list of owner references.
pub(super) async fn owner_references(
    client: &Client,
    meta: &Meta,
    owners: &[Owner],
    versions: &Versions,
) -> Result<Value, Error> {
    let owners: Vec<Value> = owners.iter().map(Owner::to_value).collect();
    let version = versions.of(&meta.uid, &meta.resource_version);
    let body = json!({"metadata": {"resourceVersion": version, "ownerReferences": owners}});
    client.patch(KIND_RECORD_SET, &meta.key(), false, &body).await
}

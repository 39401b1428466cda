//! Events of `events.k8s.io/v1`. They are for people: one that cannot be written is logged, and no pass fails for it.

use std::collections::{BTreeMap, BTreeSet};

use data_encoding::HEXLOWER;
use futures::stream::{self, StreamExt};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::client::{Client, Error};
use super::lease;
use crate::api::API_VERSION;
use crate::plan::events::Event;

/// Bytes of the name of who tells that the API server takes: a pod's name can be longer.
const INSTANCE: usize = 128;

/// Who tells, and what stands for it in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reporter {
    /// This process.
    pub instance: String,
    /// The namespace of the Lease, which is the same object whoever of several replicas reports.
    pub namespace: String,
    /// The name of the Lease. It need not exist.
    pub lease: String,
}

/// Writes events. `now` is RFC 3339 in whole seconds, in UTC.
pub async fn tell(client: &Client, events: &[Event], reporter: &Reporter, now: &str) {
    let bodies = events.iter().map(|event| {
        let Event { kind, meta, transition: _, warning, reason, note } = event;
        let about = json!({"apiVersion": API_VERSION, "kind": kind, "namespace": meta.namespace,
                           "name": meta.name, "uid": meta.uid});
        let name = json!({"generateName": format!("{}-", meta.name)});
        body(&name, &about, (*warning, reason, note), reporter, now)
    });
    let writes = bodies.map(async |body| write(client, &body).await);
    stream::iter(writes).buffer_unordered(client.concurrency).collect::<Vec<_>>().await;
}

/// Tells of zones whose DNSZone is gone, given with the mark that they carry. No object is left to tell it of, so that the event is the Lease's.
///
/// Zone and mark make its name: whoever finds the same orphan after a restart, or in another replica, finds the event too,
/// and writes none while that is kept. Those of which there is an event now, or which the API server will not have told:
/// asking again in each pass would not change its mind.
pub async fn tell_orphans(
    client: &Client,
    orphans: BTreeMap<String, String>,
    reporter: &Reporter,
    now: &str,
) -> BTreeSet<String> {
    let Reporter { namespace, lease: name, .. } = reporter;
    let about = json!({"apiVersion": lease::API_VERSION, "kind": "Lease",
                       "namespace": namespace, "name": name});
    let writes = orphans.into_iter().map(async |(zone, mark)| {
        let digest = HEXLOWER.encode(&Sha256::digest(format!("{zone} {mark}")));
        let id = json!({"name": format!("{name}.{}", digest.get(..16).unwrap_or_default())});
        let note = format!("zone {zone} has our mark, and its DNSZone is gone: nobody declares it");
        let body = body(&id, &about, (true, "OrphanFound", &note), reporter, now);
        let told = client.has_event(namespace, text(&id["name"])).await
            || write(client, &body).await.is_none_or(|error| {
                error.code().is_some_and(|code| (400..500).contains(&code) && code != 429)
            });
        told.then_some(zone)
    });
    let told = stream::iter(writes).buffer_unordered(client.concurrency);
    told.filter_map(async |zone| zone).collect().await
}

/// An event in the namespace of what it is about; `name` gives its name, or how that begins.
fn body(
    name: &Value,
    about: &Value,
    (warning, reason, note): (bool, &str, &str),
    reporter: &Reporter,
    now: &str,
) -> Value {
    let mut metadata = name.clone();
    let instance = &reporter.instance;
    let instance = instance.get(..instance.floor_char_boundary(INSTANCE)).unwrap_or_default();
    metadata["namespace"] = about["namespace"].clone();
    json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": metadata,
        "eventTime": format!("{}.000000Z", now.trim_end_matches('Z')),
        "reportingController": "dns-syncd", "reportingInstance": instance,
        "action": "Sync", "type": if warning { "Warning" } else { "Normal" },
        "reason": reason, "note": note, "regarding": about,
    })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Writes one event; why it could not be.
async fn write(client: &Client, body: &Value) -> Option<Error> {
    let about = &body["regarding"];
    let namespace = text(&about["namespace"]);
    let error = client.event(namespace, body).await.err()?;
    tracing::debug!(%error, namespace, object = %about["name"], "an event was not written");
    Some(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_with_a_long_name_is_named_in_part() {
        let reporter = |instance: String| Reporter {
            instance,
            namespace: "dns".to_owned(),
            lease: "dns-syncd".to_owned(),
        };
        for (name, shown) in [("p".repeat(253), 128), ("p".repeat(63), 63)] {
            let (id, about) = (json!({"name": "a"}), json!({"namespace": "dns"}));
            let now = "2026-01-01T00:00:00Z";
            let body = body(&id, &about, (true, "Reason", "note"), &reporter(name), now);
            assert_eq!(text(&body["reportingInstance"]).len(), shown);
        }
    }
}

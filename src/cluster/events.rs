//! Events of `events.k8s.io/v1`. They are for people: one that cannot be written is logged, and no pass fails for it.

use futures::stream::{self, StreamExt};
use serde_json::json;

use super::client::Client;
use crate::api::API_VERSION;
use crate::plan::events::Event;

/// Writes events. `now` is RFC 3339 in whole seconds, in UTC; `instance` names this process.
pub async fn tell(client: &Client, events: &[Event], instance: &str, now: &str) {
    let time = format!("{}.000000Z", now.trim_end_matches('Z'));
    let writes = events.iter().map(|event| {
        let Event { kind, meta, transition: _, warning, reason, note } = event;
        let body = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"generateName": format!("{}-", meta.name), "namespace": meta.namespace},
            "eventTime": time, "reportingController": "dns-syncd", "reportingInstance": instance,
            "action": "Sync", "type": if *warning { "Warning" } else { "Normal" },
            "reason": reason, "note": note,
            "regarding": {"apiVersion": API_VERSION, "kind": kind, "namespace": meta.namespace,
                          "name": meta.name, "uid": meta.uid},
        });
        async move {
            if let Err(error) = client.event(&meta.namespace, &body).await {
                tracing::debug!(%error, object = %meta.key(), "an event was not written");
            }
        }
    });
    stream::iter(writes).buffer_unordered(client.concurrency).collect::<()>().await;
}

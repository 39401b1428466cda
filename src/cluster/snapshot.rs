//! The complete lists of our kinds, decoded object by object.

use std::collections::BTreeSet;

use serde_json::Value;

use super::client::{Client, Error};
use crate::api::object::{Class, RecordSet, Zone};
use crate::metrics::Stage;
use crate::plan::snapshot::Cluster;

/// Lists record sets, zones and classes, in this order, then checks the three CRDs. Kubernetes is read before
/// PowerDNS: what carries our note there was then written for an object at most as new as these lists.
///
/// # Errors
/// If anything of it is incomplete: there is no pass on half a state.
pub async fn snapshot(client: &Client, namespaces: &BTreeSet<String>) -> Result<Cluster, Error> {
    let places = places(namespaces);
    let mut cluster = Cluster::default();
    client.metrics.stage(Stage::List, 0);
    for place in &places {
        cluster.sets.extend(client.list("dnsrecordsets", *place, RecordSet::decode).await?);
    }
    for place in &places {
        cluster.zones.extend(client.list("dnszones", *place, Zone::decode).await?);
    }
    cluster.classes = client.list("dnszoneclasses", None, Class::decode).await?;
    for plural in ["dnsrecordsets", "dnszones", "dnszoneclasses"] {
        client.check_crd(plural).await?;
    }
    Ok(cluster)
}

/// The same lists for a cluster that is being cleaned up: the CRDs may be Terminating, and a kind whose CRD is gone has
/// no objects.
///
/// # Errors
/// If a list is incomplete for another reason.
pub async fn remains(client: &Client, namespaces: &BTreeSet<String>) -> Result<Cluster, Error> {
    let mut cluster = Cluster::default();
    for place in &places(namespaces) {
        cluster.sets.extend(left(client, "dnsrecordsets", *place, RecordSet::decode).await?);
        cluster.zones.extend(left(client, "dnszones", *place, Zone::decode).await?);
    }
    cluster.classes = left(client, "dnszoneclasses", None, Class::decode).await?;
    Ok(cluster)
}

async fn left<T: Send + 'static>(
    client: &Client,
    plural: &str,
    place: Option<&str>,
    each: fn(&Value) -> Option<T>,
) -> Result<Vec<T>, Error> {
    match client.list(plural, place, each).await {
        Err(error) if error.code() == Some(404) && client.has_no_crd(plural).await => {
            Ok(Vec::new())
        }
        other => other,
    }
}

/// Where to list: the namespaces, or all at once.
fn places(namespaces: &BTreeSet<String>) -> Vec<Option<&str>> {
    if namespaces.is_empty() {
        return vec![None];
    }
    namespaces.iter().map(|n| Some(n.as_str())).collect()
}

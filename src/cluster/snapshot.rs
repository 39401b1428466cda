//! The complete lists of our kinds, decoded object by object.

use std::collections::BTreeSet;

use super::client::{Client, Error};
use crate::api::object::{Class, RecordSet, Zone};
use crate::plan::snapshot::Cluster;

/// Lists record sets, zones and classes, in this order, then checks the three CRDs. Kubernetes is read before
/// PowerDNS: what carries our note there was then written for an object at most as new as these lists.
///
/// # Errors
/// If anything of it is incomplete: there is no pass on half a state.
pub async fn snapshot(client: &Client, namespaces: &BTreeSet<String>) -> Result<Cluster, Error> {
    let places: Vec<Option<&str>> = if namespaces.is_empty() {
        vec![None]
    } else {
        namespaces.iter().map(|n| Some(n.as_str())).collect()
    };
    let mut cluster = Cluster::default();
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

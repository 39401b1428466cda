//! Our resources: what users declare, and what the daemon says about it.
//!
//! Owns the shapes of `DNSZoneClass`, `DNSZone` and `DNSRecordSet`, their CRDs, how a listed object is decoded, and
//! how conditions are merged. It does not own what a record means ([`crate::dns`]) nor what is to be done about it
//! (the plan). No I/O and no clock here: time is a parameter.

pub mod conditions;
pub mod entry;
pub mod immutable;
pub mod manifest;
pub mod object;
pub mod schema;
pub mod v1alpha1;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;

use v1alpha1::{DNSRecordSet, DNSZone, DNSZoneClass};

/// API group of all our kinds.
pub const GROUP: &str = "dns.networking.miloapis.com";
/// The one version.
pub const VERSION: &str = "v1alpha1";
/// `apiVersion` of our objects, as owner references spell it.
pub const API_VERSION: &str = "dns.networking.miloapis.com/v1alpha1";
/// Kind of a zone class.
pub const KIND_CLASS: &str = "DNSZoneClass";
/// Kind of a zone.
pub const KIND_ZONE: &str = "DNSZone";
/// Kind of a record set.
pub const KIND_RECORD_SET: &str = "DNSRecordSet";

/// Finalizer that the daemon puts on a zone.
pub const FINALIZER_ZONE: &str = "dns.networking.miloapis.com/finalize-dnszone-downstream";
/// Finalizer that the daemon puts on a record set.
pub const FINALIZER_RECORD_SET: &str =
    "dns.networking.miloapis.com/finalize-dnsrecordset-downstream";

/// Finalizer of dns-operator's replicator on a zone.
pub const UPSTREAM_FINALIZER_ZONE: &str = "dns.networking.miloapis.com/finalize-dnszone";
/// Finalizer of dns-operator's replicator on a record set.
pub const UPSTREAM_FINALIZER_RECORD_SET: &str = "dns.networking.miloapis.com/finalize-dnsrecordset";
/// Annotation that holds a zone or a record set as it is while it is `"true"`.
pub const PAUSE: &str = "dns-syncd/pause";

/// The CRDs of our three kinds, by plural name: record sets, zone classes, zones.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    let mut crds = vec![DNSRecordSet::crd(), DNSZoneClass::crd(), DNSZone::crd()];
    let schemas = crds
        .iter_mut()
        .flat_map(|crd| &mut crd.spec.versions)
        .filter_map(|version| version.schema.as_mut()?.open_api_v3_schema.as_mut());
    schemas.for_each(plain);
    crds
}

/// One CRD as YAML: the contents of its file in `config/crd`.
///
/// # Panics
/// Never: strings, numbers, lists and maps with string keys always print.
#[must_use]
pub fn crd_yaml(crd: &CustomResourceDefinition) -> String {
    #[expect(clippy::expect_used, reason = "see Panics")]
    serde_saphyr::to_string(crd).expect("a CRD prints as YAML")
}

/// CRDs as one YAML stream; the same bytes on every run.
#[must_use]
pub fn crds_yaml(crds: &[CustomResourceDefinition]) -> String {
    let documents: Vec<String> = crds.iter().map(crd_yaml).collect();
    documents.join("---\n")
}

/// Takes off a generated schema what Rust's types add to the interface: optional is not nullable (the API server
/// drops a `null` instead of storing it), and the width of a small number is in its bounds.
fn plain(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    schema.title = None;
    if schema.format.as_deref().is_some_and(|format| format.starts_with("uint")) {
        schema.format = None;
    }
    schema.properties.iter_mut().flatten().for_each(|(_, property)| plain(property));
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        plain(items);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        plain(values);
    }
}

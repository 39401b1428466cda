//! The three kinds that the daemon serves, as typed resources: specs, statuses, schema rules.
//!
//! Owns what goes into the CRDs, field by field and rule by rule; it is the interface of dns-operator v0.6.8, so
//! bounds, patterns and messages are not ours to improve. What the daemon reads in a pass is decoded by
//! [`super::object`], which survives what does not fit these types.
//!
//! Field documentation here is the text that `kubectl explain` shows.

#![expect(
    unreachable_pub,
    reason = "KubeSchema repeats each struct, `pub` and all, inside a function"
)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::entry::RecordEntry;
use crate::dns::rrset::RecordType;

/// Whose zones these are: the controller that serves them and the name servers that it announces.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "dns.networking.miloapis.com",
    version = "v1alpha1",
    kind = "DNSZoneClass",
    plural = "dnszoneclasses",
    status = "DNSZoneClassStatus",
    derive = "PartialEq",
    cel,
    doc = "A class of zones: the controller that serves them and the name servers that it announces.",
    annotation("discovery.miloapis.com/parent-contexts", "Project"),
    printcolumn = r#"{"name":"Accepted","type":"string","jsonPath":".status.conditions[?(@.type==\"Accepted\")].status"}"#,
    printcolumn = r#"{"name":"Programmed","type":"string","jsonPath":".status.conditions[?(@.type==\"Programmed\")].status"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct DNSZoneClassSpec {
    /// Name of the controller that serves zones of this class; `powerdns` for this daemon.
    pub controller_name: String,
    /// How zones of this class get their name servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_server_policy: Option<NameServerPolicy>,
    /// Defaults for zones of this class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defaults: Option<ZoneDefaults>,
}

/// How zones get their name servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NameServerPolicy {
    /// The way; `Static` takes the servers as listed.
    pub mode: NameServerMode,
    /// The servers of the `Static` way.
    #[serde(rename = "static", default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<StaticNameServers>,
}

/// The ways to choose name servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NameServerMode {
    /// As listed.
    Static,
}

/// A fixed list of name servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StaticNameServers {
    /// Absolute host names, with or without a final dot.
    pub servers: Vec<String>,
}

/// Defaults of a class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ZoneDefaults {
    /// TTL in seconds of records that declare none.
    #[serde(rename = "defaultTTL", default, skip_serializing_if = "Option::is_none")]
    pub default_ttl: Option<i64>,
}

/// What is observed of a class; the daemon writes nothing here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DNSZoneClassStatus {
    /// Conditions of the class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "condition_list")]
    pub conditions: Option<Vec<Condition>>,
}

/// A zone to be served.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "dns.networking.miloapis.com",
    version = "v1alpha1",
    kind = "DNSZone",
    plural = "dnszones",
    namespaced,
    status = "DNSZoneStatus",
    derive = "PartialEq",
    cel,
    doc = "A DNS zone to be served.",
    annotation("discovery.miloapis.com/parent-contexts", "Project"),
    printcolumn = r#"{"name":"Accepted","type":"string","jsonPath":".status.conditions[?(@.type==\"Accepted\")].status"}"#,
    printcolumn = r#"{"name":"Programmed","type":"string","jsonPath":".status.conditions[?(@.type==\"Programmed\")].status"}"#,
    printcolumn = r#"{"name":"Records","type":"integer","jsonPath":".status.recordCount"}"#,
    selectable = ".spec.domainName",
    selectable = ".status.domainRef.name"
)]
#[serde(rename_all = "camelCase")]
pub struct DNSZoneSpec {
    /// The zone's domain: lower-case labels, no final dot. It cannot be changed.
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
    )]
    #[x_kube(
        validation = (
            "oldSelf == '' || self == oldSelf",
            "A domain name is immutable and cannot be changed after creation"
        ),
        validation = ("self.contains('.')", "Must have at least two segments separated by dots")
    )]
    pub domain_name: String,
    /// Name of the class whose controller serves the zone.
    pub dns_zone_class_name: String,
}

/// What is observed of a zone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DNSZoneStatus {
    /// Name servers to which the domain has to be delegated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nameservers: Option<Vec<String>>,
    /// Number of records declared by the record sets of this zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "integer")]
    pub record_count: Option<i64>,
    /// Conditions of the zone: Accepted, Programmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "condition_list")]
    pub conditions: Option<Vec<Condition>>,
    /// The domain registration that belongs to the zone; written by others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain_ref: Option<DomainRef>,
}

/// A domain registration and what is known of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DomainRef {
    /// Name of the Domain object.
    pub name: String,
    /// What was observed of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<DomainRefStatus>,
}

/// What was observed of a domain registration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DomainRefStatus {
    /// Name servers to which the domain is delegated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nameservers: Option<Vec<DelegatedServer>>,
}

/// A name server to which a domain is delegated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DelegatedServer {
    /// Host name.
    pub hostname: String,
    /// Addresses of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ips: Option<Vec<ServerAddress>>,
}

/// An address of a name server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerAddress {
    /// The address.
    pub address: String,
    /// Who holds the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registrant_name: Option<String>,
}

/// Records of one type in one zone.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "dns.networking.miloapis.com",
    version = "v1alpha1",
    kind = "DNSRecordSet",
    plural = "dnsrecordsets",
    namespaced,
    status = "DNSRecordSetStatus",
    derive = "PartialEq",
    cel,
    doc = "Records of one type in one zone.",
    annotation("discovery.miloapis.com/parent-contexts", "Project"),
    printcolumn = r#"{"name":"Accepted","type":"string","jsonPath":".status.conditions[?(@.type==\"Accepted\")].status"}"#,
    printcolumn = r#"{"name":"Programmed","type":"string","jsonPath":".status.conditions[?(@.type==\"Programmed\")].status"}"#,
    selectable = ".spec.dnsZoneRef.name",
    selectable = ".spec.recordType"
)]
#[serde(rename_all = "camelCase")]
pub struct DNSRecordSetSpec {
    /// The zone, in the same namespace.
    // `x-kubernetes-map-type` is for objects with named members too.
    #[x_kube(merge_strategy = MapMerge::Atomic)]
    pub dns_zone_ref: DNSZoneRef,
    /// The type of all records.
    pub record_type: RecordType,
    /// The records; several may share a name.
    #[schemars(length(min = 1))]
    pub records: Vec<RecordEntry>,
}

/// A zone in the same namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = ("self.name != ''", "dnsZoneRef.name must be set"))]
pub struct DNSZoneRef {
    /// Name of the DNSZone.
    // Empty by default and refused when empty, so that leaving it out gives the rule's message.
    #[serde(default)]
    pub name: String,
}

/// What is observed of a record set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DNSRecordSetStatus {
    /// Conditions of the set: Accepted, Programmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "condition_list")]
    pub conditions: Option<Vec<Condition>>,
    /// Conditions of each name in the set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_sets: Option<Vec<NameConditions>>,
}

/// Conditions of one name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NameConditions {
    /// The name as the spec spells it.
    pub name: String,
    /// Conditions of the name: Programmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "condition_list")]
    pub conditions: Option<Vec<Condition>>,
}

/// A bare integer, as Go's `int` appears in a CRD.
fn integer(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer"})
}

/// A list of conditions that is a map by `type`, with the bounds that Kubernetes' own API conventions put on
/// `metav1.Condition`; the crate's schema of that type has none.
fn condition_list(generator: &mut SchemaGenerator) -> Schema {
    let mut condition = Condition::json_schema(generator);
    let bounds = [
        ("lastTransitionTime", json_schema!({"format": "date-time"})),
        ("message", json_schema!({"maxLength": 32768})),
        ("observedGeneration", json_schema!({"minimum": 0})),
        (
            "reason",
            json_schema!({"minLength": 1, "maxLength": 1024, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"}),
        ),
        ("status", json_schema!({"enum": ["True", "False", "Unknown"]})),
        (
            "type",
            json_schema!({
                "maxLength": 316,
                "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
            }),
        ),
    ];
    for (field, mut bound) in bounds {
        if let Some(property) = condition
            .pointer_mut(&format!("/properties/{field}"))
            .and_then(serde_json::Value::as_object_mut)
        {
            property.append(bound.ensure_object());
        }
    }
    json_schema!({
        "type": "array",
        "items": condition,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"]
    })
}

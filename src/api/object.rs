//! Listed objects as the plan sees them: slim, and decoded so that nothing in them can fail a pass.
//!
//! Owns the reading of one list item in two steps, first metadata and raw spec, then each entry alone: what does
//! not decode is carried as such ("unreadable"), never as "absent", because absence deletes. It does not judge
//! what it reads.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::conditions::Condition;
use super::entry::RecordFields;
use super::v1alpha1::{DNSZoneClassSpec, NameServerMode, NameServerPolicy};
use crate::dns::rrset::RecordType;

/// Namespace and name of an object; prints as `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Text that is not `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not of the form namespace/name")]
pub struct KeyError(String);

impl FromStr for ObjectKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        match text.split_once('/') {
            Some((namespace, name))
                if !namespace.is_empty() && !name.is_empty() && !name.contains('/') =>
            {
                Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err(KeyError(text.to_owned())),
        }
    }
}

/// The metadata that decisions turn on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: String,
    /// Version of the object that was listed.
    pub resource_version: String,
    /// Generation of the spec; 0 if it is not given.
    pub generation: i64,
    /// Creation in Unix seconds. An object that does not say counts as the youngest, so that it takes nothing
    /// from any other.
    pub created: i64,
    /// When its spec was written last, in Unix seconds, as far as the API server tells; else its creation.
    pub changed: i64,
    /// Deletion was asked for.
    pub terminating: bool,
    /// When, in Unix seconds.
    pub deleted: Option<i64>,
    /// Finalizers.
    pub finalizers: Vec<String>,
    /// Owner references.
    pub owners: Vec<Owner>,
    /// The object in another cluster or namespace whose shadow this is.
    pub upstream: Option<Upstream>,
    /// It stays as it is.
    pub paused: bool,
}

/// The original of a shadow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// Namespace of the original.
    pub namespace: String,
    /// Name of the original.
    pub name: String,
}

/// One owner reference, complete enough to be written back as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// API version of the owner.
    pub api_version: String,
    /// Kind of the owner.
    pub kind: String,
    /// Name of the owner.
    pub name: String,
    /// Uid of the owner.
    pub uid: String,
    /// All other members: `controller`, `blockOwnerDeletion`, and what we do not know.
    pub rest: Map<String, Value>,
}

impl Owner {
    fn decode(value: &Value) -> Option<Self> {
        let mut rest = value.as_object()?.clone();
        let mut take = |member: &str| match rest.remove(member) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let [api_version, kind, name, uid] = ["apiVersion", "kind", "name", "uid"].map(&mut take);
        Some(Self { api_version, kind, name, uid, rest })
    }

    /// The reference as the API spells it.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut out = self.rest.clone();
        for (member, text) in [
            ("apiVersion", &self.api_version),
            ("kind", &self.kind),
            ("name", &self.name),
            ("uid", &self.uid),
        ] {
            out.insert(member.to_owned(), Value::String(text.clone()));
        }
        Value::Object(out)
    }
}

impl Meta {
    /// Reads the metadata of an object; `None` without a name and a uid, without which nothing can be done to it.
    fn decode(object: &Value) -> Option<Self> {
        let meta = object.get("metadata")?;
        let text = |member: &str| string(meta.get(member));
        Some(Self {
            namespace: text("namespace").unwrap_or_default(),
            name: text("name").filter(|name| !name.is_empty())?,
            uid: text("uid").filter(|uid| !uid.is_empty())?,
            resource_version: text("resourceVersion").unwrap_or_default(),
            generation: meta.get("generation").and_then(Value::as_i64).unwrap_or_default(),
            created: seconds(meta.get("creationTimestamp")).unwrap_or(i64::MAX),
            changed: changed(meta).or(seconds(meta.get("creationTimestamp"))).unwrap_or_default(),
            deleted: seconds(meta.get("deletionTimestamp")),
            terminating: meta.get("deletionTimestamp").is_some_and(|time| !time.is_null()),
            finalizers: strings(meta.get("finalizers")),
            owners: items(meta.get("ownerReferences")).filter_map(Owner::decode).collect(),
            upstream: upstream(meta),
            paused: meta.pointer("/annotations").and_then(|a| a.get(super::PAUSE)?.as_str())
                == Some("true"),
        })
    }

    /// Namespace and name.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        ObjectKey { namespace: self.namespace.clone(), name: self.name.clone() }
    }

    /// Whether it carries a finalizer.
    #[must_use]
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|there| there == finalizer)
    }
}

/// The newest time at which somebody wrote the spec. The API server notes who wrote which fields when; a status is written by
/// way of a subresource, and our own finalizers and owner references are no spec.
fn changed(meta: &Value) -> Option<i64> {
    let of_spec = |entry: &&Value| entry.pointer("/fieldsV1/f:spec").is_some();
    items(meta.get("managedFields")).filter(of_spec).filter_map(|e| seconds(e.get("time"))).max()
}

/// Provenance from the annotations, else from the labels of the same keys, where it stood before they outgrew the
/// length of a label.
fn upstream(meta: &Value) -> Option<Upstream> {
    let provenance = |key: &str| {
        let of = |place: &str| string(meta.get(place)?.get(key)).filter(|text| !text.is_empty());
        of("annotations").or_else(|| of("labels"))
    };
    Some(Upstream {
        namespace: provenance("meta.datumapis.com/upstream-namespace")?,
        name: provenance("meta.datumapis.com/upstream-name")?,
    })
}

/// A zone, whether or not its spec decodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Metadata.
    pub meta: Meta,
    /// `spec.domainName` as it stands there; read apart, because a zone keeps its claim whatever else is wrong.
    pub domain: Option<String>,
    /// `spec.dnsZoneClassName`; `None` if it is unreadable.
    pub class: Option<String>,
    /// Status.
    pub status: ZoneStatus,
}

/// What a zone's status says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneStatus {
    /// Name servers.
    pub nameservers: Vec<String>,
    /// Number of declared records.
    pub record_count: Option<i64>,
    /// Conditions.
    pub conditions: Vec<Condition>,
}

impl Zone {
    /// Reads one list item; `None` only without a name and a uid.
    #[must_use]
    pub fn decode(object: &Value) -> Option<Self> {
        let spec = |member: &str| string(object.get("spec")?.get(member));
        let status = object.get("status").unwrap_or(&Value::Null);
        Some(Self {
            meta: Meta::decode(object)?,
            domain: spec("domainName"),
            class: spec("dnsZoneClassName"),
            status: ZoneStatus {
                nameservers: strings(status.get("nameservers")),
                record_count: status.get("recordCount").and_then(Value::as_i64),
                conditions: Condition::decode_list(status),
            },
        })
    }
}

/// A record set, whether or not its spec decodes.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordSet {
    /// Metadata.
    pub meta: Meta,
    /// Name of the zone in `spec.dnsZoneRef`; `None` if it is unreadable or empty.
    pub zone: Option<String>,
    /// `spec.recordType`, or why it is none.
    pub rtype: Result<RecordType, String>,
    /// The entries. A `spec.records` that is no list is one entry without a name, for it could hold any.
    pub entries: Vec<Entry>,
    /// Status.
    pub status: RecordSetStatus,
}

/// One entry of a record set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name as spelt; `None` if it is unreadable, and then the entry could stand for any name.
    pub name: Option<String>,
    /// The TTL in seconds, of any size; `None` if there is none.
    pub ttl: Option<i64>,
    /// The data, or why the entry does not decode.
    pub fields: Result<RecordFields, String>,
}

/// What a record set's status says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordSetStatus {
    /// Conditions of the set.
    pub conditions: Vec<Condition>,
    /// Conditions by name (`status.recordSets`).
    pub names: Vec<NameStatus>,
}

/// What the status says of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameStatus {
    /// The name as the spec spells or spelt it.
    pub name: String,
    /// Its conditions.
    pub conditions: Vec<Condition>,
}

impl RecordSet {
    /// Reads one list item; `None` only without a name and a uid.
    #[must_use]
    pub fn decode(object: &Value) -> Option<Self> {
        let spec = object.get("spec").unwrap_or(&Value::Null);
        let status = object.get("status").unwrap_or(&Value::Null);
        let zone = spec.get("dnsZoneRef").and_then(|zone| string(zone.get("name")));
        Some(Self {
            meta: Meta::decode(object)?,
            zone: zone.filter(|name| !name.is_empty()),
            rtype: record_type(spec.get("recordType")),
            entries: match spec.get("records") {
                Some(Value::Array(records)) => records.iter().map(Entry::decode).collect(),
                _ => vec![Entry {
                    name: None,
                    ttl: None,
                    fields: Err("spec.records is not a list".to_owned()),
                }],
            },
            status: RecordSetStatus {
                conditions: Condition::decode_list(status),
                names: items(status.get("recordSets")).filter_map(NameStatus::decode).collect(),
            },
        })
    }
}

impl Entry {
    fn decode(entry: &Value) -> Self {
        let name = string(entry.get("name"));
        let (ttl, unreadable_ttl) = match entry.get("ttl") {
            None | Some(Value::Null) => (None, None),
            Some(ttl) => (
                ttl.as_i64(),
                ttl.as_i64().is_none().then(|| format!("ttl: {ttl} is not a whole number")),
            ),
        };
        let fields = match (&name, unreadable_ttl) {
            (None, _) => Err("name: missing or not a text".to_owned()),
            (Some(_), Some(error)) => Err(error),
            (Some(_), None) => RecordFields::decode(entry),
        };
        Self { name, ttl, fields }
    }
}

impl NameStatus {
    fn decode(value: &Value) -> Option<Self> {
        Some(Self { name: string(value.get("name"))?, conditions: Condition::decode_list(value) })
    }
}

/// A zone class that decodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Name.
    pub name: String,
    /// `spec.controllerName`.
    pub controller: String,
    /// Name servers of the `Static` policy as spelt; empty without one.
    pub servers: Vec<String>,
    /// `spec.defaults.defaultTTL` in seconds, of any size.
    pub default_ttl: Option<i64>,
}

impl Class {
    /// Reads one list item; an undecodable class reads as missing, which stops writes and claims nothing.
    #[must_use]
    pub fn decode(object: &Value) -> Option<Self> {
        let name = string(object.get("metadata")?.get("name")).filter(|name| !name.is_empty())?;
        let spec = DNSZoneClassSpec::deserialize(object.get("spec")?).ok()?;
        let servers = match spec.name_server_policy {
            Some(NameServerPolicy { mode: NameServerMode::Static, fixed }) => {
                fixed.map(|fixed| fixed.servers)
            }
            None => None,
        };
        Some(Self {
            name,
            controller: spec.controller_name,
            servers: servers.unwrap_or_default(),
            default_ttl: spec.defaults.and_then(|defaults| defaults.default_ttl),
        })
    }
}

fn record_type(value: Option<&Value>) -> Result<RecordType, String> {
    match value {
        Some(Value::String(word)) => {
            word.parse().map_err(|_| format!("recordType: {word:?} is not known"))
        }
        Some(other) => Err(format!("recordType: {other} is not a text")),
        None => Err("recordType: missing".to_owned()),
    }
}

fn string(value: Option<&Value>) -> Option<String> {
    value?.as_str().map(str::to_owned)
}

fn items(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

fn strings(value: Option<&Value>) -> Vec<String> {
    items(value).filter_map(|item| string(Some(item))).collect()
}

/// Unix seconds of an RFC 3339 time.
fn seconds(value: Option<&Value>) -> Option<i64> {
    value?.as_str()?.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second)
}

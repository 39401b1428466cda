//! Objects of our kinds from YAML texts, for commands that read no cluster: decoded as a listed object is, with what an
//! API server would have added, and refused where it would have refused them.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value, json};
use serde_saphyr::Spanned;
use uuid::Uuid;

use super::object::{Class, ObjectKey, RecordSet, Zone};
use super::schema::Rules;
use super::{API_VERSION, FINALIZER_RECORD_SET, FINALIZER_ZONE, GROUP};
use super::{KIND_CLASS, KIND_RECORD_SET, KIND_ZONE};

/// All objects are as old as each other, whenever they are read: what PowerDNS shows decides who was first.
const CREATED: &str = "2000-01-01T00:00:00Z";
/// What else there is of our group: for upstream, and the incumbent's configuration.
const KNOWN: [&str; 2] = ["DNSZoneDiscovery", "DNSOperator"];
/// The longest name of an object.
const MAX_NAME: usize = 253;

/// What the texts hold, complete: a text with a fault never becomes one of these.
#[derive(Clone, Debug, Default)]
pub struct Manifests {
    /// All classes.
    pub classes: Vec<Class>,
    /// All DNSZones.
    pub zones: Vec<Zone>,
    /// All DNSRecordSets.
    pub sets: Vec<RecordSet>,
    /// How many documents were of each other kind, by `apiVersion kind`.
    pub ignored: BTreeMap<String, usize>,
}

/// What is wrong, `file:line: why`, everything at once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Faults(pub Vec<String>);

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

/// The uid of an object that no API server gave one: the same for the same owner, kind and key, and of a version that API
/// servers do not make.
#[must_use]
pub fn uid(owner: &str, kind: &str, key: &ObjectKey) -> String {
    let name = format!("{GROUP}/{owner}/{kind}/{key}");
    Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()).to_string()
}

/// Reads texts, each with the name to call it by; every object gets the uid that it has for this owner.
///
/// # Errors
/// If anything in them is not what an API server would take, or is there twice.
pub fn read(texts: &[(String, String)], owner: &str) -> Result<Manifests, Faults> {
    let mut reader = Reader {
        owner,
        rules: [KIND_CLASS, KIND_ZONE, KIND_RECORD_SET]
            .into_iter()
            .filter_map(|kind| Some((kind, Rules::of(kind)?)))
            .collect(),
        seen: BTreeMap::new(),
        out: Manifests::default(),
        faults: Vec::new(),
    };
    for (file, text) in texts {
        reader.text(file, text);
    }
    if reader.faults.is_empty() { Ok(reader.out) } else { Err(Faults(reader.faults)) }
}

struct Reader<'a> {
    owner: &'a str,
    rules: BTreeMap<&'static str, Rules>,
    /// Where each object was seen.
    seen: BTreeMap<(&'static str, ObjectKey), String>,
    out: Manifests,
    faults: Vec<String>,
}

impl Reader<'_> {
    fn text(&mut self, file: &str, text: &str) {
        // An excerpt in an error could be of a Secret that lies beside.
        let options = serde_saphyr::options! { with_snippet: false };
        let mut bytes = text.as_bytes();
        let documents = serde_saphyr::read_with_options::<_, Spanned<Value>>(&mut bytes, options);
        for (at, document) in documents.enumerate() {
            match document {
                Ok(document) => {
                    let place = format!("{file}:{}", document.referenced.line());
                    self.document(&place, document.value);
                }
                Err(error) => self.faults.push(format!("{file}: document {}: {error}", at + 1)),
            }
        }
    }

    fn document(&mut self, place: &str, mut object: Value) {
        drop_nulls(&mut object);
        let word = |member: &str| object.get(member).and_then(Value::as_str).map(str::to_owned);
        let (Some(version), Some(kind)) = (word("apiVersion"), word("kind")) else {
            self.faults.push(format!("{place}: it is no object: apiVersion or kind is missing"));
            return;
        };
        if (version.as_str(), kind.as_str()) == ("v1", "List") {
            let items = object.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take);
            for (at, item) in items.unwrap_or_default().into_iter().enumerate() {
                self.document(&format!("{place}: item {}", at + 1), item);
            }
            return;
        }
        let ours = [KIND_CLASS, KIND_ZONE, KIND_RECORD_SET].into_iter().find(|k| *k == kind);
        match ours {
            Some(kind) if version == API_VERSION => self.object(place, kind, object),
            // Of our group, so it was meant for us: left out, what it declares would read as taken away.
            _ if version.split('/').next() == Some(GROUP) && !KNOWN.contains(&kind.as_str()) => {
                let why = match ours {
                    Some(_) => format!("its apiVersion must be {API_VERSION}"),
                    None => "there is no such kind".to_owned(),
                };
                self.faults.push(format!("{place}: {kind}: {why}"));
            }
            _ => *self.out.ignored.entry(format!("{version} {kind}")).or_default() += 1,
        }
    }

    fn object(&mut self, place: &str, kind: &'static str, mut object: Value) {
        let meta = object.get("metadata").cloned().unwrap_or_default();
        let word = |member: &str| meta.get(member).and_then(Value::as_str).unwrap_or_default();
        let (name, namespace) = (word("name").to_owned(), word("namespace").to_owned());
        let key = ObjectKey { namespace, name };
        let mut wrong = misnamed(kind, &key);
        if meta.get("deletionTimestamp").is_some() {
            wrong.push("metadata.deletionTimestamp: it is being deleted".to_owned());
        }
        let known = ["apiVersion", "kind", "metadata", "spec", "status"];
        let members = object.as_object().into_iter().flat_map(Map::keys);
        wrong.extend(
            members.filter(|m| !known.contains(&m.as_str())).map(|m| format!("{m}: unknown field")),
        );
        if let Some(rules) = self.rules.get(kind) {
            wrong.extend(rules.faults(&object));
        }
        let shown = if kind == KIND_CLASS { key.name.clone() } else { key.to_string() };
        if let Some(before) = self.seen.insert((kind, key.clone()), place.to_owned()) {
            wrong.push(format!("it is in {before} too"));
        }
        if !wrong.is_empty() {
            self.faults.extend(wrong.iter().map(|why| format!("{place}: {kind} {shown}: {why}")));
            return;
        }
        complete(&mut object, kind, &meta, &uid(self.owner, kind, &key));
        let taken = match kind {
            KIND_CLASS => Class::decode(&object).map(|class| self.out.classes.push(class)),
            KIND_ZONE => Zone::decode(&object).map(|zone| self.out.zones.push(zone)),
            _ => RecordSet::decode(&object).map(|set| self.out.sets.push(set)),
        };
        if taken.is_none() {
            self.faults.push(format!("{place}: {kind} {shown}: it cannot be read"));
        }
    }
}

/// What an API server says to an object's name and namespace.
fn misnamed(kind: &str, key: &ObjectKey) -> Vec<String> {
    let label = |text: &str| {
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        text.bytes().all(inner)
            && !text.is_empty()
            && !text.starts_with('-')
            && !text.ends_with('-')
    };
    let mut out = Vec::new();
    if key.name.len() > MAX_NAME || !key.name.split('.').all(label) {
        out.push("metadata.name: must be lower-case letters, digits, '-' and '.'".to_owned());
    }
    if kind != KIND_CLASS && key.namespace.is_empty() {
        out.push("metadata.namespace: missing".to_owned());
    } else if kind != KIND_CLASS && (key.namespace.len() > 63 || !label(&key.namespace)) {
        out.push("metadata.namespace: must be lower-case letters, digits and '-'".to_owned());
    }
    out
}

/// What an API server and the daemon would have put on it; what they have put on it elsewhere is of another cluster.
fn complete(object: &mut Value, kind: &str, meta: &Value, uid: &str) {
    let mut kept = Map::new();
    for member in ["name", "namespace", "labels", "annotations"] {
        kept.extend(meta.get(member).map(|value| (member.to_owned(), value.clone())));
    }
    let finalizers = match kind {
        KIND_ZONE => json!([FINALIZER_ZONE]),
        KIND_RECORD_SET => json!([FINALIZER_RECORD_SET]),
        _ => json!([]),
    };
    kept.extend([
        ("uid".to_owned(), json!(uid)),
        ("creationTimestamp".to_owned(), json!(CREATED)),
        ("generation".to_owned(), json!(1)),
        ("finalizers".to_owned(), finalizers),
    ]);
    if let Some(object) = object.as_object_mut() {
        object.insert("metadata".to_owned(), Value::Object(kept));
        object.remove("status");
    }
}

/// An API server stores no `null` where none is allowed.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

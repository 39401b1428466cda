//! Examples of our kinds in YAML fences: they decode, pass the rules of the CRDs, and render.

use dns_syncd::api::object::{Class, RecordSet, Zone};
use dns_syncd::api::v1alpha1::{DNSRecordSet, DNSZone, DNSZoneClass};
use dns_syncd::dns::name::Name;
use dns_syncd::plan::desired::declared;
use kube::core::cel::ValidationErrors;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::markdown::split;

/// The objects of our kinds in a text's YAML fences, or why a fence is no YAML.
fn objects(text: &str) -> Vec<Result<Value, String>> {
    let (_, fences) = split(text);
    let mut out = Vec::new();
    for fence in fences.iter().filter(|f| f.language == "yaml" && f.text.contains("kind: DNS")) {
        match serde_saphyr::from_multiple::<Value>(&fence.text) {
            Ok(objects) => out.extend(objects.into_iter().map(Ok)),
            Err(error) => out.push(Err(error.to_string())),
        }
    }
    out
}

/// How many examples a text has.
pub(crate) fn count(text: &str) -> usize {
    objects(text).len()
}

/// Why examples in a text would not be accepted.
pub(crate) fn refused(text: &str) -> Vec<String> {
    objects(text).into_iter().flat_map(|object| object.map_or_else(|e| vec![e], faults)).collect()
}

fn faults(mut object: Value) -> Vec<String> {
    object["metadata"]["uid"] = json!("u");
    match object["kind"].as_str().unwrap_or_default() {
        "DNSZoneClass" => {
            let decoded =
                Class::decode(&object).is_none().then(|| "the class does not decode".to_owned());
            typed(&object, |class: &DNSZoneClass| class.validate_cel())
                .into_iter()
                .chain(decoded)
                .collect()
        }
        "DNSZone" => {
            let zone = Zone::decode(&object).and_then(|z| z.domain);
            let decoded = zone.is_none().then(|| "the zone has no domain".to_owned());
            typed(&object, |zone: &DNSZone| zone.validate_cel())
                .into_iter()
                .chain(decoded)
                .collect()
        }
        "DNSRecordSet" => {
            let found = typed(&object, |set: &DNSRecordSet| set.validate_cel());
            if found.is_empty() { unrendered(&object) } else { found }
        }
        other => vec![format!("unknown kind {other}")],
    }
}

/// What the typed resource and its rules refuse.
fn typed<T: DeserializeOwned>(
    object: &Value,
    rules: impl Fn(&T) -> Result<(), ValidationErrors>,
) -> Vec<String> {
    match serde_json::from_value::<T>(object.clone()) {
        Err(error) => vec![error.to_string()],
        Ok(typed) => {
            let errors = rules(&typed).err().map(ValidationErrors::into_vec).unwrap_or_default();
            errors.into_iter().map(|e| e.message).collect()
        }
    }
}

/// What of a record set would not be served. Examples of documents lie in `shop.example`.
fn unrendered(object: &Value) -> Vec<String> {
    let zone = Name::parse("shop.example").unwrap();
    let Some(set) = RecordSet::decode(object) else {
        return vec!["the record set does not decode".to_owned()];
    };
    let declared = declared(&set, &zone, None);
    let invalid = declared.groups.into_values().filter_map(|g| g.contents.err());
    declared.bad_names.into_values().chain(invalid).collect()
}

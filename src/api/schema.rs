//! Objects that meet no API server, against the schema and the rules of their CRD: what a server would refuse is refused
//! here, in words that name the field.
//!
//! It knows the keywords that our CRDs use and no others; a test holds both lists against each other.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use kube::core::cel::{
    CompiledSchema, ValidationErrors, Validator, apply_defaults, compile_schema,
};
use regex::Regex;
use serde_json::{Map, Value};

use super::crds;

/// Keywords that are looked at, or mean nothing for one object alone. CEL rules are `x-kubernetes-validations`.
pub const KEYWORDS: [&str; 17] = [
    "additionalProperties",
    "default",
    "description",
    "enum",
    "format",
    "items",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "pattern",
    "properties",
    "required",
    "type",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
];

/// What an API server would hold against objects of one kind.
pub struct Rules {
    schema: Value,
    compiled: CompiledSchema,
    patterns: BTreeMap<String, Regex>,
}

impl Rules {
    /// Those of a kind of ours; `None` for any other.
    #[must_use]
    pub fn of(kind: &str) -> Option<Rules> {
        let crd = crds().into_iter().find(|crd| crd.spec.names.kind == kind)?;
        let version = crd.spec.versions.into_iter().next()?;
        let schema = serde_json::to_value(version.schema?.open_api_v3_schema?).ok()?;
        let mut patterns = BTreeMap::new();
        collect_patterns(&schema, &mut patterns);
        Some(Rules { compiled: compile_schema(&schema), schema, patterns })
    }

    /// What is wrong with an object's spec, `field: why`; rules are looked at once its shape is right. Members that are
    /// `null` must have been taken off, as an API server does.
    #[must_use]
    pub fn faults(&self, object: &Value) -> Vec<String> {
        let mut out = Vec::new();
        let Some(spec) = object.get("spec") else {
            return vec!["spec: missing".to_owned()];
        };
        let schema = self.schema.pointer("/properties/spec").unwrap_or(&Value::Null);
        self.shape("spec", schema, spec, &mut out);
        if out.is_empty() {
            let object = apply_defaults(&self.schema, object);
            let rules = Validator::new().validate_compiled(&self.compiled, &object, None);
            let broken = rules.err().map(ValidationErrors::into_vec).unwrap_or_default();
            out.extend(broken.into_iter().map(|e| format!("{}: {}", e.field_path, e.message)));
        }
        out
    }

    fn shape(&self, path: &str, schema: &Value, value: &Value, out: &mut Vec<String>) {
        match (schema.get("type").and_then(Value::as_str), value) {
            (Some("object"), Value::Object(members)) => self.members(path, schema, members, out),
            (Some("array"), Value::Array(items)) => {
                let count = items.len();
                let few = bound(schema, "minItems").filter(|least| count < *least);
                out.extend(few.map(|least| format!("{path}: must have at least {least} items")));
                let each = schema.get("items").unwrap_or(&Value::Null);
                for (at, item) in items.iter().enumerate() {
                    self.shape(&format!("{path}[{at}]"), each, item, out);
                }
            }
            (Some("string"), Value::String(text)) => self.text(path, schema, text, out),
            (Some("integer"), Value::Number(number)) if number.is_i64() => {
                let number = number.as_f64().unwrap_or_default();
                let limit = |word: &str| schema.get(word).and_then(Value::as_f64);
                let low = limit("minimum").filter(|least| number < *least);
                out.extend(low.map(|least| format!("{path}: must be at least {least}")));
                let high = limit("maximum").filter(|most| number > *most);
                out.extend(high.map(|most| format!("{path}: must be at most {most}")));
            }
            (wanted, _) => {
                out.push(format!("{path}: must be of type {}", wanted.unwrap_or("unknown")));
            }
        }
    }

    fn members(
        &self,
        path: &str,
        schema: &Value,
        members: &Map<String, Value>,
        out: &mut Vec<String>,
    ) {
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let missing = required.filter_map(Value::as_str).filter(|m| !members.contains_key(*m));
        out.extend(missing.map(|member| format!("{path}.{member}: missing")));
        for (member, value) in members {
            let path = format!("{path}.{member}");
            let known = schema.get("properties").and_then(|p| p.get(member));
            match known.or_else(|| schema.get("additionalProperties").filter(|s| s.is_object())) {
                Some(schema) => self.shape(&path, schema, value, out),
                None => out.push(format!("{path}: unknown field")),
            }
        }
    }

    fn text(&self, path: &str, schema: &Value, text: &str, out: &mut Vec<String>) {
        let length = text.chars().count();
        let short = bound(schema, "minLength").filter(|least| length < *least);
        out.extend(short.map(|least| format!("{path}: must have at least {least} characters")));
        let long = bound(schema, "maxLength").filter(|most| length > *most);
        out.extend(long.map(|most| format!("{path}: must have at most {most} characters")));
        let word = |keyword: &str| schema.get(keyword).and_then(Value::as_str);
        if let Some(pattern) = word("pattern")
            && self.patterns.get(pattern).is_some_and(|p| !p.is_match(text))
        {
            out.push(format!("{path}: {text:?} does not match {pattern}"));
        }
        let fits = match word("format") {
            Some("ipv4") => text.parse::<Ipv4Addr>().is_ok(),
            Some("ipv6") => text.parse::<Ipv6Addr>().is_ok(),
            Some(_) | None => true,
        };
        if !fits {
            out.push(format!("{path}: {text:?} is no {}", word("format").unwrap_or_default()));
        }
        let allowed = schema.get("enum").and_then(Value::as_array);
        if allowed.is_some_and(|all| !all.iter().any(|one| one == text)) {
            out.push(format!("{path}: {text:?} is none of the values that it may have"));
        }
    }
}

fn bound(schema: &Value, keyword: &str) -> Option<usize> {
    schema.get(keyword)?.as_u64()?.try_into().ok()
}

/// Compiles each pattern once: a record set has thousands of entries.
fn collect_patterns(schema: &Value, out: &mut BTreeMap<String, Regex>) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(pattern)) = members.get("pattern")
                && let Ok(regex) = Regex::new(pattern)
            {
                out.insert(pattern.clone(), regex);
            }
            members.values().for_each(|member| collect_patterns(member, out));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_patterns(item, out)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

//! The schema, field by field: it is the interface of dns-operator v0.6.8, so a change here is a change of the API.

use std::collections::BTreeSet;

use super::{api, crd, printed};
use kube::Resource;
use serde_json::{Value, json};

use dns_syncd::api::v1alpha1::DNSZone;

/// The only version of a kind's CRD.
fn version(kind: &str) -> Value {
    crd(kind)["spec"]["versions"][0].clone()
}

/// The schema at a path of properties; `[]` steps into a list's items.
fn schema(kind: &str, path: &str) -> Value {
    let mut at = version(kind)["schema"]["openAPIV3Schema"].clone();
    for step in path.split('.') {
        at = if step == "[]" { at["items"].clone() } else { at["properties"][step].clone() };
        assert!(!at.is_null(), "{kind}: no {step} in {path}");
    }
    at
}

/// The schema at a path without its descriptions.
fn bare(kind: &str, path: &str) -> Value {
    fn strip(value: &mut Value) {
        if let Some(object) = value.as_object_mut() {
            object.retain(|key, value| key != "description" || !value.is_string());
            object.values_mut().for_each(strip);
        }
    }
    let mut schema = schema(kind, path);
    strip(&mut schema);
    schema
}

#[test]
fn names_and_scope() {
    let named = |kind: &str| {
        let crd = crd(kind);
        let names = &crd["spec"]["names"];
        assert_eq!(
            crd["metadata"]["annotations"],
            json!({"discovery.miloapis.com/parent-contexts": "Project"})
        );
        assert_eq!(crd["spec"]["group"], api::GROUP);
        assert_eq!(crd["spec"]["versions"][0]["name"], api::VERSION);
        assert_eq!(crd["spec"]["versions"][0]["subresources"], json!({"status": {}}));
        format!(
            "{} {} {}",
            names["plural"].as_str().unwrap(),
            names["singular"].as_str().unwrap(),
            crd["spec"]["scope"].as_str().unwrap()
        )
    };
    assert_eq!(named(api::KIND_CLASS), "dnszoneclasses dnszoneclass Cluster");
    assert_eq!(named(api::KIND_ZONE), "dnszones dnszone Namespaced");
    assert_eq!(named(api::KIND_RECORD_SET), "dnsrecordsets dnsrecordset Namespaced");
    assert_eq!(DNSZone::api_version(&()), api::API_VERSION);
}

#[test]
fn columns_and_selectable_fields() {
    let columns = |kind: &str| -> Vec<String> {
        let version = version(kind);
        let columns = version["additionalPrinterColumns"].as_array().unwrap();
        columns
            .iter()
            .map(|column| {
                let text = |key: &str| column[key].as_str().unwrap().to_owned();
                format!("{} {} {}", text("name"), text("type"), text("jsonPath"))
            })
            .collect()
    };
    let accepted = r#"Accepted string .status.conditions[?(@.type=="Accepted")].status"#;
    let programmed = r#"Programmed string .status.conditions[?(@.type=="Programmed")].status"#;
    assert_eq!(columns("DNSZoneClass"), [accepted, programmed]);
    assert_eq!(columns("DNSRecordSet"), [accepted, programmed]);
    assert_eq!(columns("DNSZone"), [accepted, programmed, "Records integer .status.recordCount"]);

    let selectable = |kind: &str| version(kind)["selectableFields"].clone();
    assert_eq!(selectable("DNSZoneClass"), Value::Null);
    assert_eq!(
        selectable("DNSZone"),
        json!([{"jsonPath": ".spec.domainName"}, {"jsonPath": ".status.domainRef.name"}])
    );
    assert_eq!(
        selectable("DNSRecordSet"),
        json!([{"jsonPath": ".spec.dnsZoneRef.name"}, {"jsonPath": ".spec.recordType"}])
    );
}

#[test]
fn schema_of_zones_and_classes() {
    assert_eq!(
        bare("DNSZone", "spec"),
        json!({
            "type": "object",
            "required": ["dnsZoneClassName", "domainName"],
            "properties": {
                "dnsZoneClassName": {"type": "string"},
                "domainName": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 253,
                    "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
                    "x-kubernetes-validations": [
                        {
                            "rule": "oldSelf == '' || self == oldSelf",
                            "message": "A domain name is immutable and cannot be changed after creation"
                        },
                        {
                            "rule": "self.contains('.')",
                            "message": "Must have at least two segments separated by dots"
                        }
                    ]
                }
            }
        })
    );
    assert_eq!(
        bare("DNSZoneClass", "spec"),
        json!({
            "type": "object",
            "required": ["controllerName"],
            "properties": {
                "controllerName": {"type": "string"},
                "nameServerPolicy": {
                    "type": "object",
                    "required": ["mode"],
                    "properties": {
                        "mode": {"type": "string", "enum": ["Static"]},
                        "static": {
                            "type": "object",
                            "required": ["servers"],
                            "properties": {"servers": {"type": "array", "items": {"type": "string"}}}
                        }
                    }
                },
                "defaults": {
                    "type": "object",
                    "properties": {"defaultTTL": {"type": "integer", "format": "int64"}}
                }
            }
        })
    );
    let status = bare("DNSZone", "status");
    assert_eq!(status["properties"]["recordCount"], json!({"type": "integer"}));
    assert_eq!(
        status["properties"]["domainRef"]["properties"]["status"]["properties"]["nameservers"]["items"],
        json!({
            "type": "object",
            "required": ["hostname"],
            "properties": {
                "hostname": {"type": "string"},
                "ips": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["address"],
                        "properties": {"address": {"type": "string"}, "registrantName": {"type": "string"}}
                    }
                }
            }
        })
    );
}

#[test]
fn schema_of_record_sets() {
    let spec = bare("DNSRecordSet", "spec");
    assert_eq!(spec["required"], json!(["dnsZoneRef", "recordType", "records"]));
    assert_eq!(
        spec["properties"]["recordType"],
        json!({
            "type": "string",
            "enum": [
                "A", "AAAA", "ALIAS", "CNAME", "TXT", "MX", "SRV", "CAA", "NS", "SOA", "PTR", "TLSA", "HTTPS", "SVCB"
            ]
        })
    );
    assert_eq!(
        spec["properties"]["dnsZoneRef"],
        json!({
            "type": "object",
            "properties": {"name": {"type": "string", "default": ""}},
            "x-kubernetes-map-type": "atomic",
            "x-kubernetes-validations": [{"rule": "self.name != ''", "message": "dnsZoneRef.name must be set"}]
        })
    );
    assert_eq!(spec["properties"]["records"]["minItems"], json!(1));
    assert_eq!(spec["properties"]["records"]["maxItems"], Value::Null);
    assert_eq!(spec["properties"]["records"]["items"]["required"], json!(["name"]));
}

#[test]
fn schema_of_entries() {
    let small = |max: f64| json!({"type": "integer", "minimum": 0.0, "maximum": max});
    let (int, int32) = (json!({"type": "integer"}), json!({"type": "integer", "format": "int32"}));
    let (text, filled) = (json!({"type": "string"}), json!({"type": "string", "minLength": 1}));
    let content = |schema: Value| json!({"type": "object", "required": ["content"], "properties": {"content": schema}});
    let labels = |label: &str| {
        let pattern = format!(r"^{label}(\.{label})*\.?$");
        content(json!({"type": "string", "minLength": 1, "maxLength": 253, "pattern": pattern}))
    };
    let target = labels("[A-Za-z0-9_]([-A-Za-z0-9_]{0,61}[A-Za-z0-9_])?");
    let binding = json!({
        "type": "object",
        "required": ["priority", "target"],
        "properties": {
            "priority": small(65535.0),
            "target": text,
            "params": {"type": "object", "additionalProperties": text}
        }
    });
    let expected = json!({
        "name": {"type": "string", "minLength": 1, "pattern": "^(@|[A-Za-z0-9*._-]+)$"},
        "ttl": {"type": "integer", "format": "int64"},
        "a": content(json!({"type": "string", "format": "ipv4"})),
        "aaaa": content(json!({"type": "string", "format": "ipv6"})),
        "alias": target,
        "cname": target,
        "ns": labels("[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?"),
        "txt": content(text.clone()),
        "ptr": content(text.clone()),
        "mx": {
            "type": "object",
            "required": ["exchange", "preference"],
            "properties": {"preference": small(65535.0), "exchange": filled}
        },
        "srv": {
            "type": "object",
            "required": ["port", "priority", "target", "weight"],
            "properties": {
                "priority": small(65535.0), "weight": small(65535.0), "port": small(65535.0), "target": filled
            }
        },
        "caa": {
            "type": "object",
            "required": ["flag", "tag", "value"],
            "properties": {
                "flag": small(255.0), "tag": {"type": "string", "pattern": "^[a-z0-9]+$"}, "value": filled
            }
        },
        "tlsa": {
            "type": "object",
            "required": ["certData", "matchingType", "selector", "usage"],
            "properties": {"usage": int, "selector": int, "matchingType": int, "certData": text}
        },
        "https": binding,
        "svcb": binding,
        "soa": {
            "type": "object",
            "required": ["mname", "rname"],
            "properties": {
                "mname": filled, "rname": filled,
                "serial": int32, "refresh": int32, "retry": int32, "expire": int32, "ttl": int32
            }
        }
    });
    let entry = bare("DNSRecordSet", "spec.records.[]");
    for (field, schema) in expected.as_object().unwrap() {
        assert_eq!(&entry["properties"][field], schema, "{field}");
    }
    let fields = entry["properties"].as_object().unwrap().len();
    assert_eq!(fields, expected.as_object().unwrap().len(), "a field that nobody expects");
}

#[test]
fn conditions_are_maps_by_type_with_the_bounds_of_kubernetes() {
    let places = [
        ("DNSZoneClass", "status.conditions"),
        ("DNSZone", "status.conditions"),
        ("DNSRecordSet", "status.conditions"),
        ("DNSRecordSet", "status.recordSets.[].conditions"),
    ];
    for (kind, path) in places {
        let list = bare(kind, path);
        assert_eq!(list["x-kubernetes-list-type"], "map", "{kind} {path}");
        assert_eq!(list["x-kubernetes-list-map-keys"], json!(["type"]), "{kind} {path}");
        let condition = &list["items"]["properties"];
        assert_eq!(condition["status"]["enum"], json!(["True", "False", "Unknown"]));
        assert_eq!(condition["message"], json!({"type": "string", "maxLength": 32768}));
        assert_eq!(
            condition["lastTransitionTime"],
            json!({"type": "string", "format": "date-time"})
        );
    }
    assert_eq!(schema("DNSRecordSet", "status.recordSets")["x-kubernetes-list-type"], Value::Null);
    assert!(!printed().contains("nullable"), "optional must not become nullable");
}

/// A keyword that is not looked at would let through what an API server refuses.
#[test]
fn manifests_are_held_against_every_keyword_of_a_spec() {
    fn words(schema: &Value, out: &mut BTreeSet<String>) {
        let Some(members) = schema.as_object() else { return };
        for (word, value) in members {
            out.insert(word.clone());
            match word.as_str() {
                "properties" => value.as_object().unwrap().values().for_each(|v| words(v, out)),
                "items" | "additionalProperties" => words(value, out),
                _ => {}
            }
        }
    }
    let mut used = BTreeSet::new();
    for kind in ["DNSZoneClass", "DNSZone", "DNSRecordSet"] {
        words(&version(kind)["schema"]["openAPIV3Schema"]["properties"]["spec"], &mut used);
    }
    let known: BTreeSet<String> = api::schema::KEYWORDS.iter().map(|w| (*w).to_owned()).collect();
    assert_eq!(used, known);
}

//! The CRDs and the samples: files equal the generator, and the rules accept and refuse what they must. The parts
//! in `crd/` pin the schema, the decoding of listed objects, and conditions.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "crd/conditions.rs"]
mod conditions;
#[path = "crd/decoding.rs"]
mod decoding;
#[path = "crd/immutable.rs"]
mod immutable;
#[path = "crd/schema.rs"]
mod schema;

use std::fs;
use std::path::{Path, PathBuf};

use dns_syncd::api::object::{Class, RecordSet, Zone};
use dns_syncd::api::v1alpha1::{DNSRecordSet, DNSZone, DNSZoneClass};
use dns_syncd::api::{self, crd_yaml, crds};
use kube::CustomResourceExt;
use kube::core::cel::ValidationErrors;
use serde_json::{Value, json};

fn config(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("config").join(folder)
}

/// The files of a folder of `config`, by name, with their text.
fn files(folder: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = fs::read_dir(config(folder))
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// What `dns-syncd crds` prints.
fn printed() -> String {
    api::crds_yaml(&crds())
}

fn crd(kind: &str) -> Value {
    let crd = crds().into_iter().find(|crd| crd.spec.names.kind == kind).unwrap();
    serde_json::to_value(crd).unwrap()
}

#[test]
fn files_equal_the_generator() {
    let fresh = Path::new(env!("CARGO_TARGET_TMPDIR")).join("crd");
    fs::create_dir_all(&fresh).unwrap();
    let mut expected: Vec<(String, String)> = crds()
        .iter()
        .map(|crd| (format!("{}.yaml", crd.spec.names.plural), crd_yaml(crd)))
        .collect();
    expected.sort();
    for (name, text) in &expected {
        fs::write(fresh.join(name), text).unwrap();
    }
    assert!(
        files("crd") == expected,
        "config/crd is not what the types say. `cargo run -- crds` prints the CRDs; to take them over: \
         cp {}/*.yaml config/crd/",
        fresh.display()
    );
}

#[test]
fn the_stream_holds_every_crd_and_does_not_change() {
    let stream: Vec<Value> = serde_saphyr::from_multiple(&printed()).unwrap();
    let names: Vec<&str> =
        stream.iter().map(|crd| crd["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, [DNSRecordSet::crd_name(), DNSZoneClass::crd_name(), DNSZone::crd_name()]);
    assert_eq!(printed(), printed());
}

fn zone(domain: &str, class: &str) -> DNSZone {
    serde_json::from_value(json!({
        "apiVersion": api::API_VERSION, "kind": "DNSZone", "metadata": {"name": "z"},
        "spec": {"domainName": domain, "dnsZoneClassName": class}
    }))
    .unwrap()
}

fn record_set(zone: &str, rtype: &str) -> DNSRecordSet {
    serde_json::from_value(json!({
        "apiVersion": api::API_VERSION, "kind": "DNSRecordSet", "metadata": {"name": "s"},
        "spec": {
            "dnsZoneRef": {"name": zone}, "recordType": rtype, "records": [{"name": "www", "a": {"content": "192.0.2.1"}}]
        }
    }))
    .unwrap()
}

fn messages(result: Result<(), ValidationErrors>) -> Vec<String> {
    let errors = result.err().map(ValidationErrors::into_vec).unwrap_or_default();
    errors.into_iter().map(|error| error.message).collect()
}

#[test]
fn rules_refuse() {
    assert_eq!(
        messages(zone("example", "c").validate_cel()),
        ["Must have at least two segments separated by dots"]
    );
    assert_eq!(
        messages(zone("example.org", "c").validate_cel_update(&zone("example.com", "c"))),
        ["A domain name is immutable and cannot be changed after creation"]
    );
    assert_eq!(messages(record_set("", "A").validate_cel()), ["dnsZoneRef.name must be set"]);
}

#[test]
fn rules_accept() {
    let none: [&str; 0] = [];
    assert_eq!(messages(zone("example.com", "").validate_cel()), none);
    assert_eq!(
        messages(zone("example.com", "b").validate_cel_update(&zone("example.com", "a"))),
        none
    );
    let old = record_set("one", "A");
    assert_eq!(messages(old.validate_cel()), none);
    assert_eq!(
        messages(record_set("two", "TXT").validate_cel_update(&old)),
        none,
        "both are mutable"
    );
}

#[test]
fn samples_decode_and_pass_the_rules() {
    let mut covered = Vec::new();
    for (file, text) in files("samples") {
        assert!(text.starts_with("# "), "{file} begins with an explanation");
        let mut object: Value = serde_saphyr::from_str(&text).unwrap();
        object["metadata"]["uid"] = json!("u");
        match object["kind"].as_str().unwrap() {
            "Namespace" => assert_eq!(object["metadata"]["name"], "dns-demo"),
            "DNSZoneClass" => {
                let class = Class::decode(&object).unwrap();
                assert_eq!((class.controller.as_str(), class.default_ttl), ("powerdns", Some(300)));
                assert_eq!(class.servers, ["ns1.demo.example.", "ns2.demo.example."]);
                let typed: DNSZoneClass = serde_json::from_value(object).unwrap();
                typed.validate_cel().unwrap();
            }
            "DNSZone" => {
                assert_eq!(Zone::decode(&object).unwrap().domain.as_deref(), Some("demo.example"));
                let typed: DNSZone = serde_json::from_value(object).unwrap();
                typed.validate_cel().unwrap();
            }
            "DNSRecordSet" => {
                let set = RecordSet::decode(&object).unwrap();
                assert_eq!(set.zone.as_deref(), Some("demo-example"), "{file}");
                for entry in &set.entries {
                    assert!(entry.name.is_some() && entry.fields.is_ok(), "{file}: {entry:?}");
                }
                let typed: DNSRecordSet = serde_json::from_value(object).unwrap();
                typed.validate_cel().unwrap();
                covered.push(set.rtype.unwrap());
            }
            other => panic!("{file}: unexpected kind {other}"),
        }
    }
    covered.sort();
    covered.dedup();
    assert_eq!(covered.len(), 14, "one record set per type: {covered:?}");
}

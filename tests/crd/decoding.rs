//! Decoding of listed objects: what the incumbent and others have stored reads, and what is malformed stays
//! "unreadable" where it is instead of hiding or emptying its neighbours.

use dns_syncd::api::object::{Class, Entry, Meta, ObjectKey, RecordSet, Zone};
use serde_json::{Value, json};

/// An object with metadata that decodes and the given spec and status.
fn object(spec: &Value, status: &Value) -> Value {
    let mut object = json!({"metadata": {"namespace": "ns", "name": "n", "uid": "u"}});
    for (member, value) in [("spec", spec), ("status", status)] {
        if !value.is_null() {
            object[member] = value.clone();
        }
    }
    object
}

fn set(spec: &Value) -> RecordSet {
    RecordSet::decode(&object(spec, &Value::Null)).unwrap()
}

/// The one entry of a set of that type.
fn entry(entry: &Value) -> Entry {
    let set = set(&json!({"dnsZoneRef": {"name": "z"}, "recordType": "A", "records": [entry]}));
    set.entries.into_iter().next().unwrap()
}

fn meta(members: &Value) -> Meta {
    let mut object = object(&Value::Null, &Value::Null);
    object["metadata"].as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    Zone::decode(&object).unwrap().meta
}

#[test]
fn metadata_reads_in_full() {
    let owner = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "anchor", "uid": "o", "controller": true, "future": {"x": 1}
    });
    let meta = meta(&json!({
        "resourceVersion": "7", "generation": 3, "creationTimestamp": "2026-01-02T03:04:05Z",
        "deletionTimestamp": "2026-01-03T00:00:00Z", "finalizers": ["a", "b"], "ownerReferences": [owner],
        "annotations": {"meta.datumapis.com/upstream-namespace": "up"},
        "labels": {"meta.datumapis.com/upstream-namespace": "old", "meta.datumapis.com/upstream-name": "zone"},
        "managedFields": [{"manager": "x"}]
    }));
    assert_eq!(
        (meta.resource_version.as_str(), meta.generation, meta.created),
        ("7", 3, 1_767_323_045)
    );
    assert!(meta.terminating && meta.has_finalizer("b") && !meta.has_finalizer("c"));
    assert_eq!(meta.owners[0].to_value(), owner, "written back as it was");
    let upstream = meta.upstream.as_ref().unwrap();
    assert_eq!((upstream.namespace.as_str(), upstream.name.as_str()), ("up", "zone"));
    assert_eq!(meta.key().to_string(), "ns/n");
}

#[test]
fn metadata_defaults_take_nothing_from_others() {
    let meta =
        meta(&json!({"creationTimestamp": "soon", "deletionTimestamp": null, "finalizers": null}));
    assert_eq!(meta.created, i64::MAX, "an unknown age is the youngest");
    assert!(!meta.terminating && meta.finalizers.is_empty() && meta.upstream.is_none());
    for unusable in [
        json!({}),
        json!({"metadata": {"name": "n"}}),
        json!({"metadata": {"name": "", "uid": "u"}}),
    ] {
        assert!(Zone::decode(&unusable).is_none() && RecordSet::decode(&unusable).is_none());
    }
}

#[test]
fn keys_print_and_parse() {
    let key: ObjectKey = "ns/zone".parse().unwrap();
    assert_eq!(key, ObjectKey { namespace: "ns".to_owned(), name: "zone".to_owned() });
    for wrong in ["", "zone", "/zone", "ns/", "a/b/c"] {
        assert!(wrong.parse::<ObjectKey>().is_err(), "{wrong}");
    }
}

#[test]
fn stored_objects_of_the_incumbent_read() {
    let zone = Zone::decode(&object(
        &json!({"domainName": "example.com", "dnsZoneClassName": "c", "later": true}),
        &json!({"conditions": null, "nameservers": ["ns2.", "ns1."], "recordCount": 4, "domainRef": {"name": "d"}}),
    ))
    .unwrap();
    assert_eq!((zone.domain.as_deref(), zone.class.as_deref()), (Some("example.com"), Some("c")));
    assert_eq!((zone.status.nameservers.len(), zone.status.record_count), (2, Some(4)));
    assert!(zone.status.conditions.is_empty());

    let spec = json!({"dnsZoneRef": {"name": "z"}, "recordType": "TXT", "records": [
        {"name": "@", "ttl": null, "txt": {"content": "", "later": 1}, "a": null, "later": []}
    ]});
    let set = RecordSet::decode(&object(&spec, &Value::Null)).unwrap();
    assert_eq!(set.zone.as_deref(), Some("z"));
    assert_eq!(set.rtype.unwrap(), "TXT".parse().unwrap());
    assert_eq!(set.entries[0].fields.as_ref().unwrap().txt.as_ref().unwrap().content, "");
    assert!(set.status.conditions.is_empty() && set.status.names.is_empty());
}

#[test]
fn a_garbage_condition_hides_no_other() {
    let good = json!({
        "type": "Programmed", "status": "True", "reason": "Programmed", "message": "m",
        "lastTransitionTime": "2026-01-01T00:00:00Z"
    });
    let conditions = json!([7, {"type": "Accepted"}, {"type": "Accepted", "status": "true"}, good]);
    let status = json!({
        "conditions": conditions,
        "recordSets": [{"conditions": []}, {"name": "www", "conditions": conditions}, {"name": "@"}]
    });
    let status = RecordSet::decode(&object(&Value::Null, &status)).unwrap().status;
    assert_eq!(status.conditions.len(), 1);
    assert_eq!(status.conditions[0].to_value(), good);
    let names: Vec<(&str, usize)> =
        status.names.iter().map(|name| (name.name.as_str(), name.conditions.len())).collect();
    assert_eq!(names, [("www", 1), ("@", 0)]);
}

#[test]
fn one_malformed_entry_does_not_hide_the_others() {
    let set = set(&json!({"dnsZoneRef": {"name": "z"}, "recordType": "MX", "records": [
        {"name": "a", "mx": {"preference": 10, "exchange": "m."}},
        {"name": "b", "mx": {"preference": 70000, "exchange": "m."}},
        "nonsense",
        {"mx": {"preference": 10, "exchange": "m."}},
        {"name": "c", "ttl": -1, "mx": {"preference": 10, "exchange": "m."}}
    ]}));
    let read: Vec<(Option<&str>, Option<i64>, bool)> =
        set.entries.iter().map(|e| (e.name.as_deref(), e.ttl, e.fields.is_ok())).collect();
    assert_eq!(
        read,
        [
            (Some("a"), None, true),
            (Some("b"), None, false),
            (None, None, false),
            (None, None, false),
            (Some("c"), Some(-1), true),
        ]
    );
}

#[test]
fn errors_name_the_field_the_value_and_the_range() {
    let cases = [
        (
            json!({"mx": {"preference": 70000, "exchange": "m."}}),
            "mx: preference: 70000 is not a whole number from 0 to 65535",
        ),
        (json!({"mx": {"preference": 1}}), "mx: missing field `exchange`"),
        (
            json!({"caa": {"flag": 256, "tag": "issue", "value": "x"}}),
            "caa: flag: 256 is not a whole number from 0 to 255",
        ),
        (
            json!({"soa": {"mname": "a", "rname": "b", "serial": -1}}),
            "soa: serial: -1 is not a whole number from 0 to 4294967295",
        ),
        (
            json!({"tlsa": {"usage": 3.5, "selector": 1, "matchingType": 1, "certData": ""}}),
            "tlsa: usage: 3.5 is not a whole number from 0 to 255",
        ),
        (
            json!({"https": {"priority": "1", "target": ""}}),
            "https: priority: \"1\" is not a whole number from 0 to 65535",
        ),
        (
            json!({"svcb": {"priority": 1, "target": "", "params": {"port": 443}}}),
            "svcb: params: port: invalid type: integer `443`, expected a string",
        ),
        (
            json!({"a": "192.0.2.1"}),
            "a: invalid type: string \"192.0.2.1\", expected struct Ipv4Content",
        ),
        (json!({"ttl": "60"}), "ttl: \"60\" is not a whole number"),
        (json!({"ttl": 1e30}), "ttl: 1e+30 is not a whole number"),
    ];
    for (mut raw, error) in cases {
        raw["name"] = json!("www");
        assert_eq!(entry(&raw).fields.unwrap_err(), error);
    }
}

#[test]
fn numbers_read_in_their_full_width() {
    let raw = json!({"name": "@", "soa": {"mname": "a", "rname": "b", "serial": 4_294_967_295_u32, "ttl": null}});
    let soa = entry(&raw).fields.unwrap().soa.unwrap();
    assert_eq!((soa.serial, soa.refresh, soa.ttl), (Some(u32::MAX), None, None));
    let raw = json!({"name": "@", "ttl": 9_223_372_036_854_775_807_i64, "https": {"priority": 1, "target": "", "params": null}});
    let entry = entry(&raw);
    assert_eq!(entry.ttl, Some(i64::MAX));
    assert!(entry.fields.unwrap().https.unwrap().params.is_empty());
}

#[test]
fn unreadable_is_not_absent() {
    let bare = set(&Value::Null);
    assert_eq!((bare.zone, bare.rtype), (None, Err("recordType: missing".to_owned())));
    for records in [Value::Null, json!(null), json!({}), json!("x")] {
        let set = set(&json!({"recordType": "WKS", "dnsZoneRef": "z", "records": records}));
        assert_eq!(
            (set.entries.len(), set.entries[0].name.as_deref()),
            (1, None),
            "it could hold any name"
        );
        assert_eq!(set.rtype, Err("recordType: \"WKS\" is not known".to_owned()));
        assert_eq!(set.zone, None);
    }
    assert_eq!(set(&json!({"dnsZoneRef": {"name": ""}})).zone, None);
    assert!(set(&json!({"records": []})).entries.is_empty());
}

#[test]
fn an_undecodable_zone_keeps_its_raw_domain() {
    let zone = Zone::decode(&object(
        &json!({"domainName": "Example.COM.", "dnsZoneClassName": 7}),
        &json!("nonsense"),
    ))
    .unwrap();
    assert_eq!((zone.domain.as_deref(), zone.class), (Some("Example.COM."), None));
    assert_eq!(Zone::decode(&object(&json!([]), &Value::Null)).unwrap().domain, None);
}

#[test]
fn an_undecodable_class_reads_as_missing() {
    let class = |spec: Value| Class::decode(&json!({"metadata": {"name": "c"}, "spec": spec}));
    let bare =
        class(json!({"controllerName": "powerdns", "later": 1, "defaults": {"defaultTTL": -5}}))
            .unwrap();
    assert_eq!(
        (bare.name.as_str(), bare.controller.as_str(), bare.default_ttl),
        ("c", "powerdns", Some(-5))
    );
    assert!(bare.servers.is_empty());
    for wrong in [
        Value::Null,
        json!({}),
        json!({"controllerName": 1}),
        json!({"controllerName": "powerdns", "nameServerPolicy": {"mode": "Magic"}}),
        json!({"controllerName": "powerdns", "nameServerPolicy": {"mode": "Static", "static": {"servers": [1]}}}),
        json!({"controllerName": "powerdns", "defaults": {"defaultTTL": "300"}}),
    ] {
        assert!(class(wrong.clone()).is_none(), "{wrong}");
    }
}

//! The opt-in rules are the generated schemas and three rules more.

use dns_syncd::api::immutable::immutable;
use serde_json::{Value, json};

use super::{api, crds};

/// The CRDs of a kind, plain and with the rules.
fn both(kind: &str) -> [Value; 2] {
    let find = |crds: Vec<_>| {
        let values = crds.into_iter().map(|crd| serde_json::to_value(&crd).unwrap());
        let mut of_kind = values.filter(|crd: &Value| crd["spec"]["names"]["kind"] == kind);
        of_kind.next().unwrap()
    };
    [find(crds()), find(immutable(crds()))]
}

/// The rules of a field of the spec.
fn rules<'a>(crd: &'a mut Value, field: &str) -> &'a mut Value {
    let whole = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    &mut whole["properties"]["spec"]["properties"][field]["x-kubernetes-validations"]
}

#[test]
fn three_fields_gain_a_transition_rule_and_nothing_else_changes() {
    let mut found = Vec::new();
    for (kind, fields) in [
        (api::KIND_RECORD_SET, ["recordType", "dnsZoneRef"].as_slice()),
        (api::KIND_ZONE, &["dnsZoneClassName"]),
        (api::KIND_CLASS, &[]),
    ] {
        let [mut plain, mut frozen] = both(kind);
        for field in fields {
            let before = rules(&mut plain, field).take();
            let mut after = rules(&mut frozen, field).take();
            let added = after.as_array_mut().unwrap().pop().unwrap();
            assert_eq!(after, if before.is_null() { json!([]) } else { before }, "{field}");
            assert!(added["rule"].as_str().unwrap().contains("oldSelf"), "{added}");
            found.push(added["message"].as_str().unwrap().to_owned());
        }
        assert_eq!(plain, frozen, "{kind}");
    }
    assert!(found.iter().all(|message| message.contains("is immutable")), "{found:?}");
    assert_eq!(found.len(), 3);
}

#[test]
fn a_domain_cannot_be_changed_with_or_without_them() {
    for mut crd in both(api::KIND_ZONE) {
        let rules = rules(&mut crd, "domainName").to_string();
        assert!(rules.contains("self == oldSelf"), "{rules}");
    }
}

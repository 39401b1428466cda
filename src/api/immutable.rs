//! The opt-in rules of `dns-syncd crds --immutable`: what an object is cannot be changed after its creation.
//!
//! The daemon follows such changes, so nothing depends on the rules. They are for people who would rather have the
//! mistake refused than followed. They are added to the generated schemas; there is no second copy of those.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, ValidationRule,
};

use super::{KIND_RECORD_SET, KIND_ZONE};

/// Kind, field of its spec, CEL transition rule, and what is said of it. A DNSZone's `domainName` has such a rule in
/// every CRD. A zone without a class has not been anybody's yet, so it may still be given one.
const RULES: [(&str, &str, &str, &str); 3] = [
    (
        KIND_RECORD_SET,
        "recordType",
        "self == oldSelf",
        "recordType is immutable: create another DNSRecordSet instead",
    ),
    (
        KIND_RECORD_SET,
        "dnsZoneRef",
        "self.name == oldSelf.name",
        "dnsZoneRef is immutable: create another DNSRecordSet instead",
    ),
    (
        KIND_ZONE,
        "dnsZoneClassName",
        "oldSelf == '' || self == oldSelf",
        "dnsZoneClassName is immutable once it is set: create another DNSZone instead",
    ),
];

/// The same CRDs with the rules.
#[must_use]
pub fn immutable(mut crds: Vec<CustomResourceDefinition>) -> Vec<CustomResourceDefinition> {
    for (kind, field, rule, message) in RULES {
        let crds = crds.iter_mut().filter(|crd| crd.spec.names.kind == kind);
        for schema in crds.flat_map(|crd| spec_fields(crd, field)) {
            schema.x_kubernetes_validations.get_or_insert_default().push(ValidationRule {
                rule: rule.to_owned(),
                message: Some(message.to_owned()),
                ..ValidationRule::default()
            });
        }
    }
    crds
}

/// A field of the spec, in each version.
fn spec_fields<'a>(
    crd: &'a mut CustomResourceDefinition,
    field: &'a str,
) -> impl Iterator<Item = &'a mut JSONSchemaProps> {
    crd.spec.versions.iter_mut().filter_map(move |version| {
        let whole = version.schema.as_mut()?.open_api_v3_schema.as_mut()?;
        let spec = whole.properties.as_mut()?.get_mut("spec")?;
        spec.properties.as_mut()?.get_mut(field)
    })
}

//! Kubernetes objects as plain JSON: builders, and the calls that tests make as a user would.

use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams,
};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

/// Group and version of our kinds.
pub const API_VERSION: &str = "dns.networking.miloapis.com/v1alpha1";

/// A DNSZoneClass of controller `powerdns` with these name servers.
pub fn class(name: &str, servers: &[&str]) -> Value {
    json!({
        "apiVersion": API_VERSION, "kind": "DNSZoneClass", "metadata": {"name": name},
        "spec": {"controllerName": "powerdns", "nameServerPolicy": {"mode": "Static", "static": {"servers": servers}}},
    })
}

/// A DNSZone.
pub fn zone(namespace: &str, name: &str, domain: &str, class: &str) -> Value {
    json!({
        "apiVersion": API_VERSION, "kind": "DNSZone", "metadata": {"name": name, "namespace": namespace},
        "spec": {"domainName": domain, "dnsZoneClassName": class},
    })
}

/// A DNSRecordSet; `records` is the array of its entries.
pub fn record_set(namespace: &str, name: &str, zone: &str, rtype: &str, records: &Value) -> Value {
    json!({
        "apiVersion": API_VERSION, "kind": "DNSRecordSet", "metadata": {"name": name, "namespace": namespace},
        "spec": {"dnsZoneRef": {"name": zone}, "recordType": rtype, "records": records},
    })
}

/// All objects of a kind, in every namespace.
pub fn everywhere(client: &Client, gvk: &GroupVersionKind) -> Api<DynamicObject> {
    Api::all_with(client.clone(), &ApiResource::from_gvk(gvk))
}

/// The objects of one of our namespaced kinds, in the order of their names.
pub async fn list(client: &Client, namespace: &str, plural: &str) -> Vec<Value> {
    let kind = if plural == "dnszones" { "DNSZone" } else { "DNSRecordSet" };
    let (group, version) = API_VERSION.split_once('/').unwrap();
    let gvk = GroupVersionKind::gvk(group, version, kind);
    let resource = ApiResource::from_gvk_with_plural(&gvk, plural);
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
    // Items of a list do not say what they are.
    let named = |object: &DynamicObject| {
        let mut object = value(object);
        object["apiVersion"] = json!(API_VERSION);
        object["kind"] = json!(kind);
        object
    };
    api.list(&ListParams::default()).await.unwrap().items.iter().map(named).collect()
}

/// The collection that holds the object, and its name there.
fn place(client: &Client, object: &Value) -> (Api<DynamicObject>, String) {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let version = text(&object["apiVersion"]).unwrap();
    let (group, version) = version.split_once('/').unwrap_or(("", &version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(
        group,
        version,
        object["kind"].as_str().unwrap(),
    ));
    let api = match text(&object["metadata"]["namespace"]) {
        Some(namespace) => Api::namespaced_with(client.clone(), &namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    (api, text(&object["metadata"]["name"]).unwrap())
}

fn value(object: &DynamicObject) -> Value {
    serde_json::to_value(object).unwrap()
}

/// Creates the object and returns it as stored.
pub async fn create(client: &Client, object: &Value) -> Value {
    try_create(client, object).await.unwrap_or_else(|error| panic!("{object}: {error}"))
}

/// Creates the object, unless the API server refuses it.
///
/// # Errors
/// What the API server answered.
pub async fn try_create(client: &Client, object: &Value) -> kube::Result<Value> {
    let (api, _) = place(client, object);
    let object = serde_json::from_value(object.clone()).unwrap();
    api.create(&PostParams::default(), &object).await.map(|stored| value(&stored))
}

/// Server-side apply as field manager `test`, by force; returns the object as stored.
pub async fn apply(client: &Client, object: &Value) -> Value {
    let (api, name) = place(client, object);
    let stored = api.patch(&name, &PatchParams::apply("test").force(), &Patch::Apply(object)).await;
    value(&stored.unwrap_or_else(|error| panic!("{object}: {error}")))
}

/// Merge patch of the object that `object` names.
pub async fn patch(client: &Client, object: &Value, change: &Value) -> Value {
    try_patch(client, object, change).await.unwrap()
}

/// The same, unless the API server refuses it.
///
/// # Errors
/// What the API server answered.
pub async fn try_patch(client: &Client, object: &Value, change: &Value) -> kube::Result<Value> {
    let (api, name) = place(client, object);
    let patched = api.patch(&name, &PatchParams::default(), &Patch::Merge(change)).await;
    patched.map(|object| value(&object))
}

/// Merge patch of its status: `{"status": {…}}`.
pub async fn patch_status(client: &Client, object: &Value, change: &Value) -> Value {
    let (api, name) = place(client, object);
    value(&api.patch_status(&name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap())
}

/// Asks for its deletion; finalizers may keep it.
pub async fn delete(client: &Client, object: &Value) {
    delete_with(client, object, &DeleteParams::default()).await;
}

/// The same with a propagation policy: `DeleteParams::foreground()`.
pub async fn delete_with(client: &Client, object: &Value, how: &DeleteParams) {
    let (api, name) = place(client, object);
    api.delete(&name, how).await.unwrap();
}

/// The object as it is now, if it is there.
pub async fn get(client: &Client, object: &Value) -> Option<Value> {
    let (api, name) = place(client, object);
    api.get_opt(&name).await.unwrap().as_ref().map(value)
}

/// Its finalizers, sorted; empty if it is gone.
pub async fn finalizers(client: &Client, object: &Value) -> Vec<String> {
    let (api, name) = place(client, object);
    let mut finalizers = api
        .get_opt(&name)
        .await
        .unwrap()
        .map(|object| object.finalizers().to_vec())
        .unwrap_or_default();
    finalizers.sort();
    finalizers
}

/// Status, reason and message of a condition of an object, or of an element of `status.recordSets`.
pub fn condition(object: &Value, condition: &str) -> Option<(String, String, String)> {
    let conditions =
        object["conditions"].as_array().or_else(|| object["status"]["conditions"].as_array())?;
    let found = conditions.iter().find(|found| found["type"] == condition)?;
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    Some((text("status"), text("reason"), text("message")))
}

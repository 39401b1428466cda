//! A model of the API server for our three kinds: lists, merge patches with the version they build on, the status
//! subresource, deletion by finalizers, and the garbage collector. It owns no rule of the product.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::model::Answer;

const API: &str = "/apis/dns.networking.miloapis.com/v1alpha1/";

/// Kind in plural, namespace, name.
pub type Place = (String, String, String);

/// All objects.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    pub objects: BTreeMap<Place, Value>,
    version: u64,
    events: BTreeSet<String>,
    /// There is no garbage collector: what has lost all its owners stays.
    pub uncollected: bool,
    /// What the API server refuses, and no client should have sent.
    pub faults: Vec<String>,
}

fn status(code: u16, reason: &str) -> Answer {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": reason, "reason": reason, "code": code,
    });
    (code, body)
}

impl Cluster {
    /// Stores an object as a user's client would have, whatever it is.
    pub fn put(&mut self, plural: &str, mut object: Value) {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let place = (plural.to_owned(), text("namespace"), text("name"));
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(place, object);
    }

    /// All objects of a kind.
    pub fn of(&self, plural: &str) -> impl Iterator<Item = &Value> {
        self.objects.iter().filter(move |((p, _, _), _)| p == plural).map(|(_, object)| object)
    }

    /// The object of a uid.
    pub fn uid(&self, uid: &str) -> Option<&Value> {
        self.objects.values().find(|o| o["metadata"]["uid"] == uid)
    }

    /// Changes an object's spec as a user would.
    pub fn edit(&mut self, place: &Place, edit: impl FnOnce(&mut Value)) {
        if let Some(mut object) = self.objects.get(place).cloned() {
            let before = object["spec"].clone();
            edit(&mut object);
            if object["spec"] != before {
                object["metadata"]["generation"] =
                    json!(object["metadata"]["generation"].as_i64().unwrap_or(0) + 1);
            }
            self.put(&place.0, object);
        }
    }

    /// Asks for an object's deletion; it stays while it has finalizers.
    pub fn delete(&mut self, place: &Place) {
        self.edit(place, |object| {
            if object["metadata"]["deletionTimestamp"].is_null() {
                object["metadata"]["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
                // To be deleted is a new generation.
                object["metadata"]["generation"] =
                    json!(object["metadata"]["generation"].as_i64().unwrap_or(0) + 1);
            }
        });
        self.collect();
    }

    /// Removes what is being deleted and has no finalizer, and deletes what has lost all its owners.
    pub fn collect(&mut self) {
        let empty = |o: &Value| o["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty);
        self.objects.retain(|_, o| o["metadata"]["deletionTimestamp"].is_null() || !empty(o));
        if self.uncollected {
            return;
        }
        let uids: BTreeSet<String> = self
            .objects
            .values()
            .filter_map(|o| o["metadata"]["uid"].as_str())
            .map(str::to_owned)
            .collect();
        let orphan = |o: &Value| {
            let owners = o["metadata"]["ownerReferences"].as_array();
            let gone = |r: &Value| r["uid"].as_str().is_none_or(|uid| !uids.contains(uid));
            owners.is_some_and(|owners| !owners.is_empty() && owners.iter().all(gone))
        };
        let doomed: Vec<Place> = self
            .objects
            .iter()
            .filter(|(_, o)| orphan(o) && o["metadata"]["deletionTimestamp"].is_null())
            .map(|(place, _)| place.clone())
            .collect();
        for place in doomed {
            self.delete(&place);
        }
    }

    /// Events are kept only if they have a name of their own, which can be asked for.
    fn event(&mut self, method: &str, path: &str, body: &Value) -> Answer {
        match (method, body["metadata"]["name"].as_str()) {
            ("GET", _) if self.events.contains(path) => (200, json!({"kind": "Event"})),
            ("POST", None) => (201, body.clone()),
            ("POST", Some(name)) if self.events.insert(format!("{path}/{name}")) => {
                (201, body.clone())
            }
            ("POST", Some(_)) => status(409, "AlreadyExists"),
            _ => status(404, "NotFound"),
        }
    }

    /// Answers one request.
    pub fn answer(&mut self, method: &str, path: &str, body: &Value) -> Answer {
        if path.starts_with("/apis/apiextensions.k8s.io/") {
            return (200, json!({"metadata": {"name": "crd"}}));
        }
        if path.starts_with("/apis/events.k8s.io/v1/namespaces/") {
            return self.event(method, path, body);
        }
        let Some(rest) = path.strip_prefix(API) else {
            return status(404, "NotFound");
        };
        let parts: Vec<&str> = rest.split('/').collect();
        match (method, parts.as_slice()) {
            ("GET", [plural]) => {
                let items: Vec<&Value> = self.of(plural).collect();
                (200, json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items}))
            }
            ("GET", ["namespaces", namespace, plural]) => {
                let inside = |o: &&Value| o["metadata"]["namespace"] == *namespace;
                let items: Vec<&Value> = self.of(plural).filter(inside).collect();
                (200, json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items}))
            }
            (_, ["namespaces", namespace, plural, name, sub @ ..]) => {
                let place = ((*plural).to_owned(), (*namespace).to_owned(), (*name).to_owned());
                let Some(object) = self.objects.get(&place).cloned() else {
                    return status(404, "NotFound");
                };
                match method {
                    "GET" => (200, object),
                    "PATCH" => self.patch(&place, object, !sub.is_empty(), body),
                    "DELETE" => {
                        let wanted = &body["preconditions"];
                        let same = |field: &str| {
                            wanted[field].is_null() || wanted[field] == object["metadata"][field]
                        };
                        if !same("uid") || !same("resourceVersion") {
                            return status(409, "Conflict");
                        }
                        self.delete(&place);
                        (200, self.objects.get(&place).cloned().unwrap_or(object))
                    }
                    _ => status(405, "MethodNotAllowed"),
                }
            }
            _ => status(404, "NotFound"),
        }
    }

    fn patch(&mut self, place: &Place, old: Value, subresource: bool, body: &Value) -> Answer {
        let version = &body["metadata"]["resourceVersion"];
        if !version.is_null() && *version != old["metadata"]["resourceVersion"] {
            return status(409, "Conflict");
        }
        let mut new = old.clone();
        let part = if subresource { "status" } else { "metadata" };
        merge(&mut new[part], &body[part]);
        if let Some(why) = refused(&old, &new) {
            self.faults.push(format!("{place:?}: {why}"));
            return status(422, "Invalid");
        }
        if new == old {
            return (200, old);
        }
        self.put(&place.0, new.clone());
        self.collect();
        (200, self.objects.get(place).cloned().unwrap_or(new))
    }
}

/// What the API server does not let pass.
fn refused(old: &Value, new: &Value) -> Option<String> {
    let finalizers = |o: &Value| -> BTreeSet<String> {
        let list = o["metadata"]["finalizers"].as_array().into_iter().flatten();
        list.filter_map(|f| f.as_str()).map(str::to_owned).collect()
    };
    if !old["metadata"]["deletionTimestamp"].is_null()
        && !finalizers(new).is_subset(&finalizers(old))
    {
        return Some("a finalizer was added to a terminating object".to_owned());
    }
    let unique = |list: &Value, key: &str| {
        let all: Vec<&Value> = list.as_array().into_iter().flatten().map(|c| &c[key]).collect();
        (1..all.len()).all(|i| !all[..i].contains(&all[i]))
    };
    let status = &new["status"];
    let names = status["recordSets"].as_array().into_iter().flatten();
    let mut lists = names.map(|n| &n["conditions"]).chain([&status["conditions"]]);
    if !unique(&status["recordSets"], "name") || !lists.all(|l| unique(l, "type")) {
        return Some("a list of the status has one key twice".to_owned());
    }
    None
}

/// A JSON merge patch (RFC 7386).
fn merge(into: &mut Value, patch: &Value) {
    let Some(members) = patch.as_object() else {
        *into = patch.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (key, value) in members {
        if value.is_null() {
            into.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut into[key.as_str()], value);
        }
    }
}

//! The bare client: it sends requests that were recorded of a pass, with the parallelism of a pass, and does nothing else.

use std::collections::BTreeMap;

use axum::http;
use futures::stream::{self, StreamExt};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::apiserver::ApiServer;
use crate::support::estate::Estate;
use crate::support::http_client;
use crate::support::recorder::{Request, Server};

/// As many requests to PowerDNS, and writes to the API server, as a daemon has under way at most by default.
const TO_POWERDNS: usize = 4;
const TO_KUBERNETES: usize = 16;

pub struct Bare {
    kube: kube::Client,
    http: reqwest::Client,
    powerdns: String,
    key: String,
    /// Zones that are written to side by side.
    writers: usize,
}

/// A write, its body as text.
pub struct Write {
    method: String,
    path: String,
    body: String,
}

impl Bare {
    pub async fn new(estate: &Estate) -> Bare {
        let pdns = &estate.pdns;
        let kube = ApiServer::shared().client().await;
        // PowerDNS before 4.9.2 on sqlite refuses one of two.
        let writers = if pdns.has_one_writer() { 1 } else { TO_POWERDNS };
        let (powerdns, key) = (pdns.url(), pdns.key().to_owned());
        Bare { kube, http: http_client(), powerdns, key, writers }
    }

    /// The reads of a pass: lists one after the other, page by page, then PowerDNS' lists, then its zones side by side.
    pub async fn reads(&self, recorded: &[Request]) {
        let reads = || recorded.iter().filter(|r| r.method == "GET");
        for read in reads().filter(|r| r.server == Server::Kubernetes) {
            if !read.path.contains("continue=") {
                self.pages(&read.path).await;
            }
        }
        let powerdns = reads().filter(|r| r.server == Server::PowerDns);
        let (zones, lists): (Vec<_>, Vec<_>) = powerdns.partition(|r| r.path.contains("/zones/"));
        for list in lists {
            self.to_powerdns(&list.method, &list.path, None).await;
        }
        let zones = zones.into_iter().map(|r| self.to_powerdns("GET", &r.path, None));
        stream::iter(zones).buffer_unordered(TO_POWERDNS).collect::<()>().await;
    }

    /// The writes to PowerDNS of a pass: zones side by side, those of one zone in order. `rewrite` makes other names or
    /// contents of the recorded ones.
    pub async fn zones_writes(&self, recorded: &[Request], rewrite: impl Fn(&str) -> String) {
        let mut zones: BTreeMap<String, Vec<Write>> = BTreeMap::new();
        for write in recorded.iter().filter(|r| r.server == Server::PowerDns && r.is_write()) {
            let body = write.body.as_ref().map(|b| rewrite(&b.to_string())).unwrap_or_default();
            let made = write.body.as_ref().and_then(|b| b["name"].as_str()).map(str::to_owned);
            let zone = made.unwrap_or_else(|| write.path.clone());
            let method = write.method.clone();
            zones.entry(zone).or_default().push(Write { method, path: rewrite(&write.path), body });
        }
        let zones = zones.into_values().map(|writes| async move {
            for Write { method, path, body } in writes {
                self.to_powerdns(&method, &path, Some(body)).await;
            }
        });
        stream::iter(zones).buffer_unordered(self.writers).collect::<()>().await;
    }

    /// The writes to the API server of a pass, for objects of another namespace with these other uids.
    pub fn kubernetes_writes(
        recorded: &[Request],
        (from, to): (&str, &str),
        uids: &BTreeMap<String, String>,
    ) -> Vec<Write> {
        let writes = recorded.iter().filter(|r| r.server == Server::Kubernetes && r.is_write());
        let write = |write: &Request| {
            let mut body = write.body.clone().unwrap_or_default();
            // Another object has other versions.
            if let Some(meta) = body["metadata"].as_object_mut() {
                meta.remove("resourceVersion");
                meta.remove("uid");
            }
            for owner in body["metadata"]["ownerReferences"].as_array_mut().into_iter().flatten() {
                let other = owner["uid"].as_str().and_then(|uid| uids.get(uid));
                owner["uid"] = json!(other);
            }
            let text = body.to_string().replace(from, to);
            Write { method: write.method.clone(), path: write.path.replace(from, to), body: text }
        };
        writes.map(write).collect()
    }

    /// Sends them, as many side by side as a pass does.
    pub async fn write_to_kubernetes(&self, writes: Vec<Write>) {
        let writes = writes.into_iter().map(|write| self.to_kubernetes(write));
        stream::iter(writes).buffer_unordered(TO_KUBERNETES).collect::<()>().await;
    }

    async fn pages(&self, path: &str) {
        let mut next = path.to_owned();
        loop {
            let request = http::Request::get(&next).body(Vec::new()).unwrap();
            let text = self.kube.request_text(request).await.unwrap();
            // Lists of custom resources have it at their end.
            let end = text.get(text.len().saturating_sub(2000)..).unwrap_or(&text);
            let token =
                end.split_once("\"continue\":\"").and_then(|(_, rest)| rest.split_once('"'));
            let Some((token, _)) = token.filter(|(token, _)| !token.is_empty()) else { return };
            next = format!("{path}&continue={token}");
        }
    }

    async fn to_kubernetes(&self, Write { method, path, body }: Write) {
        let kind =
            if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = http::Request::builder().method(method.as_str()).uri(path);
        let request = request.header("content-type", kind).body(body.into_bytes()).unwrap();
        self.kube.request_text(request).await.unwrap();
    }

    async fn to_powerdns(&self, method: &str, path: &str, body: Option<String>) {
        let url = format!("{}{path}", self.powerdns);
        let mut request = self.http.request(Method::from_bytes(method.as_bytes()).unwrap(), url);
        request = request.header("X-API-Key", &self.key);
        if let Some(body) = body {
            request = request.body(body);
        }
        let answer = request.send().await.unwrap();
        let status = answer.status();
        let text = answer.bytes().await.unwrap();
        assert!(
            status.is_success(),
            "{method} {path}: {status} {}",
            String::from_utf8_lossy(&text)
        );
    }
}

/// Without what comes after the last write to PowerDNS: until then nothing of it is served.
pub fn until_last_write(mut recorded: Vec<Request>) -> Vec<Request> {
    let last = recorded.iter().rposition(|r| r.server == Server::PowerDns && r.is_write());
    recorded.truncate(last.map_or(0, |at| at + 1));
    recorded
}

/// The uid of an object.
pub fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

//! Whether the models are like the servers: what was sent to them in a sequence, by daemons, users and hands, is sent to a
//! real `pdns_server` and a real kube-apiserver, and status codes and contents must be the same.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::model::{REFUSED, Zone};
use crate::real::zone;
use crate::scene::{Op, Places, stored};
use crate::servers::{Exchange, Journal, plural};
use crate::support::apiserver::ApiServer;
use crate::support::pdns::Pdns;
use crate::support::random;
use crate::words::DOMAINS;

const GROUP: &str = "/apis/dns.networking.miloapis.com/v1alpha1";

/// Real servers to replay to.
pub struct Replay {
    runtime: tokio::runtime::Runtime,
    pub places: Places,
    target: Target,
}

struct Target {
    pdns: Pdns,
    http: reqwest::Client,
    /// Real uids by those of the model.
    uids: BTreeMap<String, String>,
    compared: usize,
}

/// What a zone has as far as it can be compared: its serial and the order of records are the server's.
type Comparable =
    (String, BTreeMap<(String, String), (i64, BTreeSet<String>, BTreeSet<(String, String)>)>);

fn comparable(zone: &Zone) -> Comparable {
    let there = zone.rrsets.iter().filter(|(_, r)| !r.records.is_empty());
    let rrsets = there.map(|((name, rtype), rrset)| {
        let (ttl, mut records) = stored(rtype, rrset);
        if rtype == "SOA" {
            // Its serial, and the numbers that the server's own default has.
            records = records
                .iter()
                .map(|r| r.split(' ').take(2).collect::<Vec<_>>().join(" "))
                .collect();
        }
        let comments = rrset.comments.iter().map(|c| (c.account.clone(), c.content.clone()));
        ((name.clone(), rtype.clone()), (ttl, records, comments.collect()))
    });
    (zone.account.clone(), rrsets.collect())
}

impl Replay {
    pub fn new() -> Replay {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let api = ApiServer::shared();
        let (places, pdns) = runtime.block_on(async {
            let namespaces = [api.namespace("soak").await, api.namespace("rival").await];
            (Places::new(namespaces, format!("soak-{}-", random())), Pdns::sqlite().await)
        });
        let ca = reqwest::Certificate::from_pem_bundle(&std::fs::read(api.ca()).unwrap()).unwrap();
        let mut headers = reqwest::header::HeaderMap::new();
        headers.insert("authorization", format!("Bearer {}", api.token()).parse().unwrap());
        let http =
            reqwest::Client::builder().tls_certs_only(ca).no_proxy().default_headers(headers);
        let http = http.timeout(Duration::from_secs(30)).build().unwrap();
        Replay {
            runtime,
            places,
            target: Target { pdns, http, uids: BTreeMap::new(), compared: 0 },
        }
    }

    /// Requests whose answers were compared.
    pub fn compared(&self) -> usize {
        self.target.compared
    }

    /// Replays what happened; what differs first.
    ///
    /// # Errors
    /// The request, and both answers.
    pub fn replay(&mut self, journal: &[Journal]) -> Result<(), String> {
        let Replay { runtime, places, target } = self;
        runtime.block_on(async {
            target.clear(places).await;
            for (at, entry) in journal.iter().enumerate() {
                let told = target.repeat(entry).await;
                told.map_err(|why| format!("entry {at} of {}: {why}", journal.len()))?;
            }
            Ok(())
        })
    }
}

/// Whether a real server can be asked the same: the models refuse a value that no server does, and take any LOC.
pub fn replayable(journal: &[Journal]) -> bool {
    let text = |entry: &Journal| match entry {
        Journal::Sent(exchange) => exchange.body.to_string(),
        Journal::Did(op) => format!("{op:?}"),
    };
    let differs = |text: String| text.contains(REFUSED) || text.contains("String(\"LOC\")");
    !journal.iter().any(|entry| differs(text(entry)))
}

impl Target {
    async fn api(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let url = format!("{}{path}", ApiServer::shared().url());
        let mut request = self.http.request(Method::from_bytes(method.as_bytes()).unwrap(), url);
        if !body.is_null() {
            let kind =
                if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
            request = request.header("content-type", kind).body(body.to_string());
        }
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        (status, serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap_or_default())
    }

    async fn clear(&mut self, places: &Places) {
        for domain in DOMAINS {
            self.pdns.delete_zone(domain).await;
        }
        for party in &places.parties {
            // An event that is there is not told again.
            let events = format!("/apis/events.k8s.io/v1/namespaces/{}/events", party.namespace);
            self.api("DELETE", &events, &Value::Null).await;
            for plural in ["dnszones", "dnsrecordsets"] {
                let path = format!("{GROUP}/namespaces/{}/{plural}", party.namespace);
                let (_, list) = self.api("GET", &path, &Value::Null).await;
                for object in list["items"].as_array().into_iter().flatten() {
                    self.force_delete(&format!(
                        "{path}/{}",
                        object["metadata"]["name"].as_str().unwrap()
                    ))
                    .await;
                }
            }
        }
        for class in 0..3 {
            self.force_delete(&format!("{GROUP}/dnszoneclasses/{}", places.class(class))).await;
        }
        self.uids.clear();
    }

    async fn force_delete(&self, path: &str) {
        self.api("PATCH", path, &json!({"metadata": {"finalizers": null}})).await;
        self.api("DELETE", path, &Value::Null).await;
    }

    async fn repeat(&mut self, entry: &Journal) -> Result<(), String> {
        match entry {
            Journal::Did(op) => self.operate(op).await,
            Journal::Sent(exchange) if exchange.powerdns => self.ask_powerdns(exchange).await,
            Journal::Sent(exchange) => self.ask_cluster(exchange).await,
        }
    }

    async fn operate(&mut self, op: &Op) -> Result<(), String> {
        match op {
            Op::Create(object) => {
                let mut new = object.clone();
                let uid = new["metadata"]["uid"].take();
                new["metadata"] = json!({"name": new["metadata"]["name"], "namespace": new["metadata"]["namespace"]});
                let path = match new["metadata"]["namespace"].as_str() {
                    Some(namespace) => {
                        format!("{GROUP}/namespaces/{namespace}/{}", plural(&new["kind"]))
                    }
                    None => format!("{GROUP}/{}", plural(&new["kind"])),
                };
                let (status, stored) = self.api("POST", &path, &new).await;
                if status != 201 {
                    return Err(format!("creating {new} gives {status} {stored}"));
                }
                let real = stored["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
                self.uids.insert(uid.as_str().unwrap_or_default().to_owned(), real);
            }
            Op::Spec(place, spec) => {
                let (status, said) =
                    self.api("PATCH", &path_of(place), &json!({ "spec": spec })).await;
                if status != 200 {
                    return Err(format!("{place:?} given {spec}: {status} {said}"));
                }
            }
            Op::Delete(place) => drop(self.api("DELETE", &path_of(place), &Value::Null).await),
            Op::ForceDelete(place) => self.force_delete(&path_of(place)).await,
            Op::Patch(apex, rrsets) => {
                self.pdns.patch(apex, &json!({ "rrsets": rrsets })).await;
            }
            Op::Account(apex, account) => {
                self.pdns.put_zone(apex, &json!({ "account": account })).await;
            }
            Op::DropZone(apex) => drop(self.pdns.delete_zone(apex).await),
        }
        Ok(())
    }

    async fn ask_powerdns(&mut self, exchange: &Exchange) -> Result<(), String> {
        let Exchange { method, path, query, body, answer: (status, model), .. } = exchange;
        // A model that answers 500 was told to fail; who the server is is no matter of contents.
        if *status == 500 || path.is_empty() || path == "/config" {
            return Ok(());
        }
        let query = if query.is_empty() { String::new() } else { format!("?{query}") };
        let sent = (!body.is_null()).then_some(body);
        let verb = Method::from_bytes(method.as_bytes()).unwrap();
        let (real_status, real) = self.pdns.call(verb, &format!("{path}{query}"), sent).await;
        let said = || {
            format!("{method} {path} {body}\nmodel: {status} {model}\nserver: {real_status} {real}")
        };
        if real_status != *status {
            return Err(said());
        }
        let same = match (method.as_str(), path.as_str()) {
            ("GET", "/zones") => {
                let names = |list: &Value| -> BTreeSet<String> {
                    let zones = list.as_array().into_iter().flatten();
                    zones.map(|z| format!("{} {} {}", z["name"], z["account"], z["kind"])).collect()
                };
                names(model) == names(&real)
            }
            ("GET", _) if *status == 200 && !query.contains("rrsets=false") => {
                comparable(&zone(model)) == comparable(&zone(&real))
            }
            _ => true,
        };
        self.compared += 1;
        if same { Ok(()) } else { Err(said()) }
    }

    async fn ask_cluster(&mut self, exchange: &Exchange) -> Result<(), String> {
        let Exchange { method, path, body, answer: (status, model), .. } = exchange;
        if *status == 500 || path.starts_with("/apis/apiextensions") {
            return Ok(());
        }
        let mut sent: Value = serde_json::from_str(&self.realised(body)).unwrap();
        let object = path.trim_end_matches("/status");
        // The version that it builds on is the newest, or it is not.
        for place in ["/metadata/resourceVersion", "/preconditions/resourceVersion"] {
            if let Some(version) = sent.pointer_mut(place).filter(|v| !v.is_null()) {
                let (_, now) = self.api("GET", object, &Value::Null).await;
                let stale = *status == 409;
                *version =
                    if stale { json!("1") } else { now["metadata"]["resourceVersion"].clone() };
            }
        }
        let (real_status, real) = self.api(method, path, &sent).await;
        let model: Value = serde_json::from_str(&self.realised(model)).unwrap();
        let said = || {
            format!("{method} {path} {sent}\nmodel: {status} {model}\nserver: {real_status} {real}")
        };
        if real_status != *status {
            return Err(said());
        }
        // Of an event it matters whether it is there.
        let event = path.starts_with("/apis/events.k8s.io/");
        if method == "DELETE" || *status != 200 || event {
            return Ok(());
        }
        let listed = path.ends_with("/dnszoneclasses");
        let all = |answer: &Value| -> BTreeSet<String> {
            let one = || std::slice::from_ref(answer);
            let items = answer["items"].as_array().map_or(one(), Vec::as_slice);
            let ours = |o: &&Value| {
                let name = o["metadata"]["name"].as_str().unwrap_or_default();
                !listed || model.to_string().contains(&format!("\"{name}\""))
            };
            items.iter().filter(ours).map(known).collect()
        };
        self.compared += 1;
        if all(&model) == all(&real) { Ok(()) } else { Err(said()) }
    }

    /// A text of the model's with the uids of the real server.
    fn realised(&self, value: &Value) -> String {
        let text = value.to_string();
        self.uids.iter().fold(text, |text, (model, real)| text.replace(model, real))
    }
}

/// What of an object is the model's as much as the server's.
fn known(object: &Value) -> String {
    let meta = &object["metadata"];
    let empty =
        |v: &Value| if v.as_array().is_some_and(Vec::is_empty) { Value::Null } else { v.clone() };
    let status = if object["status"].as_object().is_some_and(|s| !s.is_empty()) {
        &object["status"]
    } else {
        &Value::Null
    };
    json!([
        meta["name"],
        meta["uid"],
        meta["deletionTimestamp"].is_null(),
        empty(&meta["finalizers"]),
        empty(&meta["ownerReferences"]),
        object["spec"],
        status,
    ])
    .to_string()
}

fn path_of((plural, namespace, name): &crate::cluster::Place) -> String {
    if namespace.is_empty() {
        return format!("{GROUP}/{plural}/{name}");
    }
    format!("{GROUP}/namespaces/{namespace}/{plural}/{name}")
}

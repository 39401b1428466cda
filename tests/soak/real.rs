//! The same steps against a real `pdns_server` and a real kube-apiserver, behind the proxy that makes the faults. What is
//! right is asked of the same reference model, of the zones' JSON and of DNS.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dns_syncd::config::Secret;
use dns_syncd::plan::Memory;
use dns_syncd::plan::summary::Summary;
use dns_syncd::powerdns::{Key, Options};
use dns_syncd::sync::Syncer;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use reqwest::Method;
use serde_json::{Value, json};

use crate::cluster::Place;
use crate::model::{Comment, Model, Rrset, Zone};
use crate::reference::View;
use crate::rig::{digests, lets_through, policy, syncer};
use crate::scene::{Op, Places, Rules, Scene, stored};
use crate::servers::plural;
use crate::steps::{At, Fault, Step};
use crate::support::apiserver::{self, ApiServer};
use crate::support::objects;
use crate::support::pdns::Pdns;
use crate::support::proxy::Proxy;
use crate::support::query::query;
use crate::support::random;
use crate::support::recorder::{Action, Recorder, Request, Server};
use crate::words::{DOMAINS, at_or_below};

/// Longest time that a request to PowerDNS may take.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Passes that a quiet point may take.
const PASSES: usize = 14;

/// Both servers, and the daemon before them.
pub struct Real {
    runtime: tokio::runtime::Runtime,
    world: World,
}

struct World {
    client: kube::Client,
    places: Places,
    pdns: Pdns,
    recorder: Recorder,
    daemon: Syncer,
    /// Requests of earlier passes.
    before: usize,
    /// What the daemon left at keys; the rest is read anew before each step.
    scene: Scene,
    _proxies: (Proxy, Proxy),
}

impl Real {
    pub fn new() -> Real {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let world = runtime.block_on(World::new());
        Real { runtime, world }
    }

    /// Empties both servers.
    pub fn clear(&mut self, rrsets: usize, rules: Rules) {
        let world = &mut self.world;
        world.daemon.limits.rrsets = rrsets;
        world.places.parties[0].rules = rules;
        world.daemon.policy = policy(&world.places.parties[0], 0);
        self.runtime.block_on(self.world.clear());
    }

    /// Makes a step; what is wrong then.
    ///
    /// # Errors
    /// What is wrong.
    pub fn step(&mut self, step: &Step) -> Result<(), String> {
        self.runtime.block_on(self.world.step(step))
    }
}

impl World {
    async fn new() -> World {
        let api = ApiServer::shared();
        let client = api.client().await;
        let namespace = api.namespace("soak").await;
        let places = Places::new([namespace, "nobody".to_owned()], format!("soak-{}-", random()));
        let pdns = Pdns::sqlite().await;
        let recorder = Recorder::default();
        let to_pdns = Proxy::to_pdns(&pdns.url(), &recorder).await;
        let to_api = Proxy::to_apiserver(api, &recorder).await;
        let options = Options {
            url: to_pdns.url().to_owned(),
            server_id: "localhost".to_owned(),
            key: Key::Inline(Secret::new(pdns.key().to_owned())),
            request_timeout: TIMEOUT,
            authorities: None,
        };
        let kube = apiserver::client(to_api.kubeconfig()).await;
        let daemon = syncer(kube, options, policy(&places.parties[0], 0), 500);
        World {
            client,
            places,
            pdns,
            recorder,
            daemon,
            before: 0,
            scene: Scene::default(),
            _proxies: (to_pdns, to_api),
        }
    }

    fn restart(&mut self) {
        self.daemon.memory = tokio::sync::Mutex::new(Memory::default());
    }

    async fn clear(&mut self) {
        self.restart();
        self.recorder.heal();
        self.look().await;
        let places: Vec<_> = self.scene.cluster.objects.keys().cloned().collect();
        for place in places {
            self.operate(&Op::ForceDelete(place)).await;
        }
        for domain in DOMAINS {
            self.pdns.delete_zone(domain).await;
        }
        self.scene.written.clear();
        for op in self.places.classes() {
            self.operate(&op).await;
        }
    }

    /// Reads both states, past the proxies.
    async fn look(&mut self) {
        let mut objects = BTreeMap::new();
        let namespace = &self.places.parties[0].namespace;
        for kind in ["DNSZone", "DNSRecordSet"] {
            let gvk = GroupVersionKind::gvk("dns.networking.miloapis.com", "v1alpha1", kind);
            let resource = ApiResource::from_gvk(&gvk);
            let api: Api<DynamicObject> =
                Api::namespaced_with(self.client.clone(), namespace, &resource);
            for object in api.list(&ListParams::default()).await.unwrap().items {
                let object = serde_json::to_value(object).unwrap();
                objects.insert(place(&object, kind), object);
            }
        }
        for class in self.places.classes() {
            let Op::Create(class) = class else { continue };
            if let Some(object) = objects::get(&self.client, &class).await {
                objects.insert(place(&object, "DNSZoneClass"), object);
            }
        }
        self.scene.cluster.objects = objects;
        self.scene.pdns = Model { comments: true, ..Model::default() };
        for listed in self.pdns.list().await {
            let name = listed["name"].as_str().unwrap().to_owned();
            // A delete of a pass that was given up may arrive in between.
            let answer = self.pdns.call(Method::GET, &format!("/zones/{name}"), None).await;
            let there = (answer.0 == 200).then(|| (name, zone(&answer.1)));
            self.scene.pdns.zones.extend(there);
        }
    }

    async fn operate(&self, op: &Op) {
        let object = |place: &Place| self.scene.cluster.objects[place].clone();
        match op {
            // What the API server refuses was no step.
            Op::Create(new) => {
                let mut new = new.clone();
                new["metadata"]["annotations"] = Value::Null;
                if new["kind"] != "DNSZoneClass" {
                    new["metadata"]["namespace"] = json!(self.places.parties[0].namespace);
                }
                drop(objects::try_create(&self.client, &new).await);
            }
            Op::Spec(place, spec) => {
                let change = json!({ "spec": spec });
                drop(objects::try_patch(&self.client, &object(place), &change).await);
            }
            Op::Delete(place) => objects::delete(&self.client, &object(place)).await,
            Op::ForceDelete(place) => {
                let object = object(place);
                let strip = json!({"metadata": {"finalizers": null}});
                drop(objects::try_patch(&self.client, &object, &strip).await);
                if objects::get(&self.client, &object).await.is_some() {
                    objects::delete(&self.client, &object).await;
                }
            }
            Op::Patch(apex, rrsets) => {
                self.pdns.patch(apex, &json!({ "rrsets": rrsets })).await;
            }
            Op::Account(apex, account) => {
                self.pdns.put_zone(apex, &json!({ "account": account })).await;
            }
            Op::DropZone(apex) => {
                self.pdns.delete_zone(apex).await;
            }
        }
    }

    async fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Pass { who: 0, fault } => {
                self.pass(*fault, &BTreeSet::new()).await;
            }
            Step::Pass { .. } | Step::Restart { .. } => self.restart(),
            Step::Quiet => return self.quiet().await,
            _ => {
                self.look().await;
                for op in self.scene.operations(&self.places, step) {
                    self.operate(&op).await;
                }
            }
        }
        Ok(())
    }

    /// One pass; how it ended, unless it was killed or the cluster could not be read.
    async fn pass(&mut self, fault: Option<Fault>, released: &BTreeSet<String>) -> Option<Summary> {
        self.look().await;
        self.recorder.heal();
        self.recorder.clear();
        self.disturb(fault);
        let recorder = self.recorder.clone();
        let dead = async move {
            if !matches!(fault, Some(Fault::Killed(_))) {
                return std::future::pending().await;
            }
            while !recorder.is_cut() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        self.daemon.asked(lets_through(released)).await;
        let (died, summary) = tokio::select! {
            biased;
            () = dead => (true, None),
            passed = self.daemon.pass() => (false, passed.ok().map(|p| p.summary)),
        };
        self.recorder.release();
        self.recorder.heal();
        if died {
            self.restart();
        }
        let requests = self.recorder.requests();
        self.before = requests.last().map_or(self.before, |r| r.seq);
        for request in requests.iter().filter(|r| accepted(r) && r.server == Server::PowerDns) {
            self.learn(request);
        }
        summary
    }

    /// What an accepted write left at the keys that it names; notes alone are put on what was there before.
    fn learn(&mut self, request: &Request) {
        let Some(body) = &request.body else { return };
        let apex = body["name"].as_str().map(str::to_owned);
        let apex = apex.or_else(|| Some(request.path.rsplit_once("/zones/")?.1.to_owned()));
        let apex = apex.unwrap_or_default();
        for element in body["rrsets"].as_array().into_iter().flatten() {
            let text = |f: &str| element[f].as_str().unwrap_or_default().to_owned();
            let place = (text("name"), text("type"));
            let was = self.scene.pdns.zones.get(&apex).and_then(|z| z.rrsets.get(&place));
            let sent = element["records"].is_array().then(|| rrset(element));
            if let Some(now) = sent.as_ref().or(was).map(|r| stored(&place.1, r)) {
                self.scene.written.insert((apex.clone(), place.0, place.1), now);
            }
        }
    }

    fn disturb(&self, fault: Option<Fault>) {
        let Some(fault) = fault else { return };
        let (recorder, before) = (&self.recorder, self.before);
        let fails = |server: Server| match server {
            Server::PowerDns => Action::Answer(500, json!({"error": "Internal Server Error"})),
            Server::Kubernetes => Action::Answer(
                500,
                json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "down", "reason": "InternalError", "code": 500}),
            ),
        };
        let down = |server: Server, from: At, reset: bool| {
            let action = if reset { Action::Reset } else { fails(server) };
            let was = counted(from, before, At::was);
            recorder.always(move |r| was(r) && r.server == server, action);
        };
        let one = |at: At, action: Action| recorder.next(counted(at, before, At::is), action);
        match fault {
            Fault::Killed(At::Request(n)) => recorder.cut_after(n + 1, |_| true),
            Fault::Killed(At::Write(n)) => recorder.cut_after(n + 1, Request::is_write),
            Fault::PowerDnsDown(from, reset) => down(Server::PowerDns, from, reset),
            Fault::ClusterDown(from, reset) => down(Server::Kubernetes, from, reset),
            Fault::One500(at) => {
                for server in [Server::PowerDns, Server::Kubernetes] {
                    let is = counted(at, before, At::is);
                    recorder.next(move |r| is(r) && r.server == server, fails(server));
                }
            }
            Fault::Lost(at) => one(at, Action::Reset),
            // Objects cannot be touched at a moment here, and there is one daemon; an answer that never comes takes the
            // place of both.
            Fault::Touched(at) | Fault::Rival(at) => {
                let was = counted(at, before, At::was);
                recorder.next(move |r| was(r) && r.server == Server::PowerDns, Action::Hang);
            }
            Fault::Swallowed(at) | Fault::Lied(at) => one(at, Action::ForwardThenDrop),
            Fault::Cut(at) => one(at, Action::Truncate(9)),
            Fault::Late(at) => one(at, Action::Delay(TIMEOUT + TIMEOUT / 10)),
            Fault::Unread(domain) => {
                let end = format!("/zones/{}", DOMAINS[domain]);
                recorder.always(
                    move |r| r.method == "GET" && r.path.ends_with(&end),
                    fails(Server::PowerDns),
                );
            }
        }
    }

    async fn quiet(&mut self) -> Result<(), String> {
        self.restart();
        let mut released = BTreeSet::new();
        for round in 0.. {
            let Some(summary) = self.pass(None, &released).await else {
                return Err("a pass without a fault did not come to its end".to_owned());
            };
            released = digests(&summary);
            let done: Vec<Request> = self.recorder.writes().into_iter().filter(accepted).collect();
            // On a busy machine a request may take too long.
            if done.is_empty() && released.is_empty() && !summary.again {
                break;
            }
            if round == PASSES {
                return Err(format!("passes do not come to rest; the last one wrote {done:#?}"));
            }
        }
        self.look().await;
        let listed = self.scene.accounts();
        let view = View {
            scene: &self.scene,
            party: &self.places.parties[0],
            listed: &listed,
            unnoted: &BTreeSet::new(),
            interrupted: false,
        };
        let mut wrong = view.unrest();
        wrong.extend(self.unanswered(&view).await);
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    }

    /// What DNS answers otherwise than the reference intends.
    async fn unanswered(&self, view: &View<'_>) -> Vec<String> {
        let mut out = Vec::new();
        for apex in DOMAINS.into_iter().filter(|apex| view.served(apex).is_some()) {
            let Some(zone) = view.stored_zone(apex) else { continue };
            // At and below a delegation the server refers to others.
            let cuts: Vec<&String> = zone
                .rrsets
                .keys()
                .filter(|(n, t)| t == "NS" && n != apex)
                .map(|(n, _)| n)
                .collect();
            let referred = |name: &str| cuts.iter().any(|cut| at_or_below(name, cut));
            for (name, claims) in view.claims(apex) {
                for claim in view.admitted(apex, &name, &claims) {
                    // An ALIAS is answered by a resolver, which is not here.
                    let asked = claim.rtype != "ALIAS" && !referred(&name);
                    let Some((ttl, values)) = claim.contents.filter(|_| asked) else {
                        continue;
                    };
                    let answer = query(self.pdns.dns_addr(), &name, claim.rtype).await;
                    let answers: BTreeSet<String> = answer
                        .answers
                        .iter()
                        .map(|a| crate::words::normal(claim.rtype, a))
                        .collect();
                    if answers != values || answer.ttl().map(i64::from) != Some(ttl) {
                        out.push(format!(
                            "DNS says {answer:?} for {name} {}, not {ttl} {values:?}",
                            claim.rtype
                        ));
                    }
                }
            }
            let gone = self.scene.written.keys().filter(|(a, name, rtype)| {
                a == apex && !zone.rrsets.contains_key(&(name.clone(), rtype.clone()))
            });
            let wild = zone.rrsets.keys().any(|(name, _)| name.starts_with('*'));
            let gone = gone.filter(|(_, n, t)| {
                !wild && t != "ALIAS" && !view.listed.contains_key(n) && !view.shadowed(apex, n, t)
            });
            for (_, name, rtype) in gone {
                let answer = query(self.pdns.dns_addr(), name, rtype).await;
                if !answer.answers.is_empty() || answer.is_timeout() {
                    out.push(format!("DNS says {answer:?} for {name} {rtype}, which is gone"));
                }
            }
        }
        out
    }
}

/// A rule that counts what it is asked about, from the request after `before` on.
fn counted(
    at: At,
    before: usize,
    hit: fn(At, usize, usize, bool) -> bool,
) -> impl Fn(&Request) -> bool + Send + Sync + 'static {
    let writes = AtomicUsize::new(0);
    move |request| {
        let write = request.is_write();
        let earlier = writes.fetch_add(usize::from(write), Ordering::Relaxed);
        hit(at, request.seq - before - 1, earlier, write)
    }
}

fn place(object: &Value, kind: &str) -> Place {
    let text = |f: &str| object["metadata"][f].as_str().unwrap_or_default().to_owned();
    (plural(&json!(kind)).to_owned(), text("namespace"), text("name"))
}

fn accepted(request: &Request) -> bool {
    request.is_write() && request.status.is_some_and(|s| s < 300)
}

/// A zone's JSON as plain data.
pub fn zone(body: &Value) -> Zone {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let rrsets = body["rrsets"].as_array().into_iter().flatten();
    let rrsets = rrsets.map(|r| ((text(&r["name"]), text(&r["type"])), rrset(r)));
    Zone { account: text(&body["account"]), kind: text(&body["kind"]), rrsets: rrsets.collect() }
}

fn rrset(value: &Value) -> Rrset {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let records = value["records"].as_array().into_iter().flatten();
    let comments = value["comments"].as_array().into_iter().flatten();
    let comment = |c: &Value| Comment {
        account: text(&c["account"]),
        content: text(&c["content"]),
        modified_at: c["modified_at"].as_i64().unwrap_or_default(),
    };
    Rrset {
        ttl: value["ttl"].as_i64().unwrap_or_default(),
        records: records.map(|r| text(&r["content"])).collect(),
        comments: comments.map(comment).collect(),
    }
}

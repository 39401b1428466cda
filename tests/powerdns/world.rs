//! One server, one client of the product for it, and plans made by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use dns_syncd::config::Secret;
use dns_syncd::dns::name::Name;
use dns_syncd::dns::rdata::{Dialect, Rdata, Version};
use dns_syncd::dns::rrset::{Contents, RecordType, Ttl};
use dns_syncd::metrics::Metrics;
use dns_syncd::plan::batch::Limits;
use dns_syncd::plan::change::{Change, NameChange};
use dns_syncd::plan::snapshot::Server;
use dns_syncd::plan::{Failure, Outcome, ZoneApplied, ZonePlan, ZoneStep};
use dns_syncd::powerdns::{self, Applier, Client, Key, Limiter, Options, Reading};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::install_tls;
use crate::support::pdns::{self, Backend, Pdns};
use crate::support::proxy::Proxy;
use crate::support::recorder::{Recorder, Request};

/// How the client is limited.
#[derive(Clone, Copy)]
pub(crate) struct Tuning {
    pub(crate) per_second: u32,
    pub(crate) burst: u32,
    pub(crate) concurrency: usize,
    pub(crate) timeout: Duration,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning { per_second: 100_000, burst: 100_000, concurrency: 8, timeout: TIMEOUT }
    }
}

/// A request's time-out where a test does not wait for one.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);
/// Where one does.
pub(crate) const SHORT: Duration = Duration::from_secs(1);

/// A server behind a recording proxy, and a client that has asked what the server can do.
pub(crate) struct World {
    pub(crate) pdns: Pdns,
    pub(crate) recorder: Recorder,
    pub(crate) client: Client,
    proxy: Proxy,
}

impl World {
    pub(crate) async fn new(backend: Backend, tuning: Tuning) -> World {
        let pdns = Pdns::start(pdns::Options { backend, extra: Vec::new() }).await;
        let recorder = Recorder::default();
        let proxy = Proxy::to_pdns(&pdns.url(), &recorder).await;
        let client = client(proxy.url(), pdns.key(), tuning);
        client.refresh_key().await.unwrap();
        let version = client.capabilities().await.unwrap().version;
        assert_eq!(*VERSION.get_or_init(|| version), version);
        recorder.clear();
        World { pdns, recorder, client, proxy }
    }

    /// On the backend of this run, without limits.
    pub(crate) async fn usual() -> World {
        World::new(Backend::of_this_run(), Tuning::default()).await
    }

    /// Another client of the same server.
    pub(crate) fn client_with(&self, key: &str, tuning: Tuning) -> Client {
        client(self.proxy.url(), key, tuning)
    }

    /// An empty zone, made past the product.
    pub(crate) async fn zone(&self, zone: &str) {
        let zone = json!({"name": zone, "kind": "Native", "nameservers": ["ns1.example.net."]});
        self.pdns.create_zone(&zone).await;
    }

    pub(crate) async fn apply(&self, zone: &str, plan: &ZonePlan) -> ZoneApplied {
        apply_with(&self.client, zone, plan).await
    }

    pub(crate) async fn read(&self) -> Server {
        read(&self.client).await
    }

    /// The contents of one RRset, as the product reads them.
    pub(crate) async fn stored(
        &self,
        zone: &str,
        owner: &str,
        rtype: RecordType,
    ) -> Option<Contents> {
        let server = self.read().await;
        let zones = server.zones.unwrap();
        let contents = zones.get(&name(zone))?.contents.as_ref().unwrap();
        contents.get(&name(owner), rtype)?.contents(rtype)
    }

    /// The requests of method PATCH that reached the proxy.
    pub(crate) fn patches(&self) -> Vec<Request> {
        self.recorder.writes().into_iter().filter(|r| r.method == "PATCH").collect()
    }
}

fn client(url: &str, key: &str, tuning: Tuning) -> Client {
    install_tls();
    let number = |n: u32| NonZeroU32::new(n).unwrap();
    let limiter = Limiter::new(number(tuning.per_second), number(tuning.burst), tuning.concurrency);
    let options = Options {
        url: url.to_owned(),
        server_id: "localhost".to_owned(),
        key: Key::Inline(Secret::new(key.to_owned())),
        request_timeout: tuning.timeout,
        authorities: None,
    };
    let metrics = Arc::new(Metrics::new().unwrap());
    Client::new(options, limiter, metrics, CancellationToken::new()).unwrap()
}

pub(crate) async fn read(client: &Client) -> Server {
    let reading = Reading { concurrency: 4, turn: 1, resting: BTreeMap::new() };
    powerdns::read(client, &reading, |_| BTreeSet::new(), || 0).await
}

pub(crate) async fn apply_with(client: &Client, zone: &str, plan: &ZonePlan) -> ZoneApplied {
    let limits = Limits { rrsets: 500, bytes: 1_500_000 };
    let applier = Applier { client, dialect: dialect(), limits, comments_outlive: false };
    powerdns::apply_zone(&applier, &name(zone), plan, || 7).await
}

/// That of all servers of this run, known from the first one on.
static VERSION: OnceLock<Version> = OnceLock::new();

fn dialect() -> Dialect {
    Dialect::of(*VERSION.get().unwrap())
}

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// An A RRset.
pub(crate) fn a(address: &str) -> Contents {
    one(Rdata::parse(RecordType::A, address).unwrap())
}

/// An RRset of one value, for a minute.
pub(crate) fn one(value: Rdata) -> Contents {
    Contents::new(Ttl::new(60).unwrap(), BTreeSet::from([value])).unwrap()
}

/// A plan that writes these into a zone that exists, whatever is there.
pub(crate) fn writes(zone: &str, rrsets: impl IntoIterator<Item = (String, Contents)>) -> ZonePlan {
    let mut names: BTreeMap<Name, NameChange> = BTreeMap::new();
    for (owner, contents) in rrsets {
        let change = Change::Replace {
            contents: contents.clone(),
            comments: None,
            from: None,
            by: None,
            over: None,
        };
        names.entry(name(&owner)).or_default().types.insert(contents.rtype(), change);
    }
    ZonePlan { id: Some(zone.to_owned()), names, ..ZonePlan::default() }
}

/// The same, into a zone that is created for it.
pub(crate) fn creates(rrsets: impl IntoIterator<Item = (String, Contents)>) -> ZonePlan {
    let step = ZoneStep::Create { account: "mark".to_owned(), by: "uid".to_owned() };
    ZonePlan { id: None, step, ..writes("", rrsets) }
}

/// `n0.<zone>` and so on with an A record each.
pub(crate) fn many(zone: &str, count: usize) -> Vec<(String, Contents)> {
    (0..count).map(|n| (format!("n{n}.{zone}"), a("192.0.2.1"))).collect()
}

/// How many keys were acknowledged, and the failures of the others.
pub(crate) fn outcomes(applied: &ZoneApplied) -> (usize, BTreeMap<String, Failure>) {
    let mut done = 0;
    let mut failed = BTreeMap::new();
    for ((name, rtype), outcome) in &applied.keys {
        match outcome {
            Outcome::Done(_) => done += 1,
            Outcome::Failed(failure) => {
                failed.insert(format!("{name} {rtype}"), failure.clone());
            }
        }
    }
    (done, failed)
}

/// Whether a request's body names an RRset of this owner.
pub(crate) fn mentions(request: &Request, owner: &str) -> bool {
    let rrsets = request.body.as_ref().and_then(|body| body["rrsets"].as_array());
    rrsets.into_iter().flatten().any(|rrset: &Value| rrset["name"] == owner)
}

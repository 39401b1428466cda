//! The product between both models: its own `Syncer`, as often as there are daemons, with the API server's model called
//! directly and PowerDNS' behind a listener. A restart is a new memory.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::response::Response;
use dns_syncd::cluster;
use dns_syncd::config::Secret;
use dns_syncd::metrics::Metrics;
use dns_syncd::plan::batch::Limits;
use dns_syncd::plan::brakes::Brakes;
use dns_syncd::plan::release::Released;
use dns_syncd::plan::summary::Summary;
use dns_syncd::plan::{Memory, Policy};
use dns_syncd::powerdns::{self, Key, Limiter, Options};
use dns_syncd::sync::{Asked, Syncer};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

use crate::scene::{Party, Places, Rules};
use crate::servers::{Interruption, Reply, Servers, Shared};
use crate::steps::{Fault, Step};
use crate::support::http;
use crate::words::IGNORED;

/// Passes of each daemon that a quiet point may take.
const PASSES: usize = 14;

/// Both models and the daemons.
pub struct Rig {
    runtime: tokio::runtime::Runtime,
    pub shared: Shared,
    /// By the number of RRsets that a request may hold.
    daemons: BTreeMap<usize, [Syncer; 2]>,
    /// How large requests are in this world.
    rrsets: usize,
    interruptions: UnboundedReceiver<Interruption>,
    /// Zones that were not read at quiet points, since nothing had changed.
    pub unchanged: usize,
}

/// Sizes of requests.
const SIZES: [usize; 3] = [500, 2, 1];

/// How one daemon is set up. The brakes hold next to nothing: sequences are about what is decided, not how much of it.
pub fn policy(party: &Party, request_timeout: u64) -> Policy {
    let brakes = Brakes {
        deletes: true,
        implicit_percent: 100,
        implicit_total: 1_000_000,
        explicit_percent: None,
    };
    Policy {
        namespaces: [party.namespace.clone()].into(),
        request_timeout,
        // Longer than any sequence: what has changed must be seen all the same.
        verify_interval: 3_600_000,
        protect: party.rules.protect,
        delete_undeclared: party.rules.purge,
        delete_orphan_zones: party.rules.orphans,
        ignore: vec![glob::Pattern::new(IGNORED).unwrap()],
        ..Policy::new(party.owner, brakes)
    }
}

/// A daemon of these clients.
pub fn syncer(kube: kube::Client, options: Options, policy: Policy, rrsets: usize) -> Syncer {
    let many = NonZeroU32::new(1_000_000).unwrap();
    let metrics = Arc::new(Metrics::new().unwrap());
    let stop = CancellationToken::new();
    let limiter = Limiter::new(many, many, 4);
    let reporter = cluster::Reporter {
        instance: "soak".to_owned(),
        namespace: policy.namespaces.first().cloned().unwrap_or_default(),
        lease: "dns-syncd".to_owned(),
    };
    Syncer {
        cluster: cluster::Client::new(kube, (many, many), 4, metrics.clone(), stop.clone()),
        powerdns: powerdns::Client::new(options, limiter, metrics.clone(), stop).unwrap(),
        policy,
        limits: Limits { rrsets, bytes: 1_000_000 },
        concurrency: 4,
        reporter,
        // What failed is worth another try at once: sequences do not wait.
        chance: || 0.0,
        clock: Metrics::now,
        metrics,
        memory: tokio::sync::Mutex::new(Memory::default()),
    }
}

/// What the digests of a pass's holds are, to let them through.
pub fn digests(summary: &Summary) -> BTreeSet<String> {
    let held = summary.held.iter().filter_map(|held| held.rsplit_once("digest "));
    held.map(|(_, digest)| digest.to_owned()).collect()
}

impl Rig {
    /// Starts listeners and daemons. Everything runs on this thread.
    pub fn new() -> Rig {
        Rig::with(&Places::new(["ns".to_owned(), "rival".to_owned()], String::new()))
    }

    /// The same with these names.
    pub fn with(places: &Places) -> Rig {
        crate::support::install_tls();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (interrupt, interruptions) = unbounded_channel();
        let shared = Shared::new(places.clone(), interrupt);
        let daemon = |who: usize, rrsets: usize| {
            let options = Options {
                url: listen(&shared, who),
                server_id: "localhost".to_owned(),
                key: Key::Inline(Secret::new("key".to_owned())),
                request_timeout: Duration::from_secs(10),
                authorities: None,
            };
            let policy = policy(&places.parties[who], 0);
            syncer(cluster_client(&shared, who), options, policy, rrsets)
        };
        let both = |rrsets| (rrsets, [daemon(0, rrsets), daemon(1, rrsets)]);
        let daemons = runtime.block_on(async { SIZES.map(both).into() });
        Rig { runtime, shared, daemons, rrsets: SIZES[0], interruptions, unchanged: 0 }
    }

    /// Puts an empty world in place, with requests of at most `rrsets` RRsets.
    pub fn clear(&mut self, comments: bool, rrsets: usize, rules: [Rules; 2]) {
        let parties = self.shared.lock().clear(comments, rules);
        self.rrsets = rrsets;
        for (daemon, party) in self.daemons.get_mut(&rrsets).into_iter().flatten().zip(&parties) {
            daemon.policy = policy(party, 0);
        }
        (0..2).for_each(|who| self.restart(who));
    }

    fn restart(&self, who: usize) {
        *self.daemons[&self.rrsets][who].memory.try_lock().unwrap() = Memory::default();
    }

    /// One pass; `None` if it did not come to its end, or the cluster could not be read.
    fn pass(
        &mut self,
        who: usize,
        fault: Option<Fault>,
        released: &BTreeSet<String>,
    ) -> Option<Summary> {
        let death = self.shared.lock().begin(who, fault);
        let daemons = &self.daemons[&self.rrsets];
        let (shared, interruptions) = (&self.shared, &mut self.interruptions);
        let (dead, summary) = self.runtime.block_on(async {
            daemons[who].asked(lets_through(released)).await;
            let mut pass = pin!(daemons[who].pass());
            loop {
                tokio::select! {
                    biased;
                    () = death.notified() => return (true, None),
                    Some((other, waits)) = interruptions.recv() => {
                        shared.lock().begin(other, None);
                        drop(daemons[other].pass().await);
                        shared.lock().end(other);
                        waits.send(()).unwrap_or_default();
                    }
                    passed = &mut pass => return (false, passed.ok().map(|p| p.summary)),
                }
            }
        });
        self.shared.lock().end(who);
        if dead {
            self.restart(who);
        }
        summary
    }

    /// Makes a step; what is wrong then.
    pub fn step(&mut self, step: &Step, rival: bool) -> Result<(), String> {
        match step {
            Step::Pass { who, fault } => {
                self.shared.lock().done.clear();
                self.pass(*who, *fault, &BTreeSet::new());
            }
            Step::Restart { who } => self.restart(*who),
            Step::Quiet => return self.quiet(rival),
            _ => {
                let mut servers = self.shared.lock();
                for op in servers.scene.operations(&servers.places, step) {
                    servers.operate(&op);
                }
            }
        }
        seen(&mut self.shared.lock())
    }

    /// Nothing fails any more: passes until one of each daemon writes nothing, then everything must be right.
    fn quiet(&mut self, rival: bool) -> Result<(), String> {
        let daemons = if rival { 2 } else { 1 };
        // A new memory: what waits after a failure is tried at once.
        (0..daemons).for_each(|who| self.restart(who));
        let mut released = vec![BTreeSet::new(); daemons];
        for round in 0.. {
            self.shared.lock().done.clear();
            for (who, released) in released.iter_mut().enumerate() {
                let Some(summary) = self.pass(who, None, released) else {
                    return Err("a pass without a fault did not come to its end".to_owned());
                };
                *released = digests(&summary);
                seen(&mut self.shared.lock())?;
            }
            let done = self.shared.lock().done.clone();
            if done.is_empty() && released.iter().all(BTreeSet::is_empty) {
                break;
            }
            if round == PASSES && !self.shared.lock().scene.pdns.comments && rival {
                // In a zone whose account is somebody's text neither owner can know the other there.
                return Ok(());
            }
            if round == PASSES {
                return Err(format!("passes do not come to rest; the last ones wrote {done:#?}"));
            }
        }
        let wrong = self.shared.lock().unrest();
        if !wrong.is_empty() && self.shared.lock().scene.pdns.comments {
            return Err(wrong.join("\n"));
        }
        for who in 0..daemons {
            self.restart(who);
            self.shared.lock().done.clear();
            // The first passes of a process read everything.
            let mut summary = None;
            for _ in 0..3 {
                summary = self.pass(who, None, &BTreeSet::new());
            }
            let servers = self.shared.lock();
            if !servers.done.is_empty() {
                return Err(format!("at rest a new process writes {:#?}", servers.done));
            }
            self.unchanged += summary.map_or(0, |summary| summary.unchanged);
        }
        seen(&mut self.shared.lock())
    }
}

fn seen(servers: &mut Servers) -> Result<(), String> {
    let violations = std::mem::take(&mut servers.violations);
    if violations.is_empty() { Ok(()) } else { Err(violations.join("\n")) }
}

/// The API server's model as the transport of a client.
fn cluster_client(shared: &Shared, who: usize) -> kube::Client {
    let shared = shared.clone();
    let app = Router::new().fallback(move |request: Request| {
        let shared = shared.clone();
        async move {
            let (head, body) = request.into_parts();
            let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
            let body = serde_json::from_slice(&body).unwrap_or_default();
            let query = head.uri.query().unwrap_or_default();
            let request = [head.method.as_str(), head.uri.path(), query];
            let (status, text, whole) = match shared.answer(who, false, request, &body).await {
                Reply::Answer((status, body)) => (status, body.to_string(), true),
                Reply::Cut((status, body)) => (status, body.to_string(), false),
                Reply::Reset => (200, String::new(), false),
                Reply::Dead => std::future::pending().await,
            };
            let half = text.len() / 2;
            let body = if whole { Body::from(text) } else { broken(&text[..half]) };
            Response::builder().status(status).body(body).unwrap()
        }
    });
    kube::Client::new(app, "default")
}

/// A body that ends in an error.
fn broken(text: &str) -> Body {
    let begun = Ok(axum::body::Bytes::from(text.to_owned()));
    let end = Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
    Body::from_stream(futures::stream::iter([begun, end]))
}

/// PowerDNS' model behind a listener of its own.
fn listen(shared: &Shared, who: usize) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (listener, shared) = (TcpListener::from_std(listener).unwrap(), shared.clone());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let shared = shared.clone();
            // A client that is gone needs no answer.
            tokio::spawn(async move { drop(serve(&shared, who, stream).await) });
        }
    });
    url
}

async fn serve(shared: &Shared, who: usize, mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let Some(raw) = http::read(&mut stream, &mut Vec::new()).await? else { return Ok(()) };
    // What a killed client sent may be read only now: a dead process must not write after its death.
    if http::is_gone(&stream)? {
        return Ok(());
    }
    let body: Value = serde_json::from_slice(&raw.body).unwrap_or_default();
    let (path, query) = raw.path.split_once('?').unwrap_or((&raw.path, ""));
    let path = path.strip_prefix("/api/v1/servers/localhost").unwrap_or("/none");
    match shared.answer(who, true, [&raw.method, path, query], &body).await {
        Reply::Answer((status, body)) => {
            http::write(&mut stream, &http::Reply::json(status, &body), true, None).await
        }
        Reply::Cut((status, body)) => {
            let reply = http::Reply::json(status, &body);
            http::write(&mut stream, &reply, true, Some(reply.body.len() / 2)).await
        }
        Reply::Reset => stream.set_zero_linger(),
        Reply::Dead => Ok(()),
    }
}

/// What somebody asks for who lets go what these digests name.
pub fn lets_through(digests: &BTreeSet<String>) -> Asked {
    Asked { released: Released::digests(digests), ..Asked::default() }
}

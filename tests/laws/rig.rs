//! Both models behind one loopback listener, and the product's own `Syncer` before it: what a pass does in a law is what
//! the daemon sends.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri};
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
use proptest::test_runner::TestCaseError;
use tokio_util::sync::CancellationToken;

use crate::scenario::{DOMAINS, OWNER};
use crate::world::{Trouble, World};

/// The listener and the product.
pub struct Rig {
    runtime: tokio::runtime::Runtime,
    world: Arc<Mutex<World>>,
    pub syncer: Syncer,
}

/// Brakes that hold next to nothing: the laws are about what is decided, not about how much of it.
const OPEN: Brakes = Brakes {
    deletes: true,
    implicit_percent: 100,
    implicit_total: 1_000_000,
    explicit_percent: None,
};

pub fn policy() -> Policy {
    Policy { request_timeout: 0, ..Policy::new(OWNER, OPEN) }
}

async fn serve(
    State(world): State<Arc<Mutex<World>>>,
    method: Method,
    uri: Uri,
    body: Bytes,
) -> (StatusCode, String) {
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let mut world = world.lock().unwrap_or_else(PoisonError::into_inner);
    if uri.path().starts_with("/api/v1/servers") && world.dies_of(&body) {
        drop(world);
        // The connection breaks, as with a process that is gone.
        std::panic::resume_unwind(Box::new("the server is gone"));
    }
    let (status, body) =
        world.answer(method.as_str(), uri.path(), uri.query().unwrap_or_default(), &body);
    let body = if status == 204 { String::new() } else { body.to_string() };
    (StatusCode::from_u16(status).unwrap(), body)
}

thread_local! {
    /// Milliseconds by which a rig's clock is ahead: each test has a thread of its own.
    static LATER: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

impl Rig {
    /// Starts the listener. Everything runs on this thread.
    pub fn new() -> Rig {
        drop(rustls::crypto::ring::default_provider().install_default());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let world = Arc::new(Mutex::new(World::default()));
        let app = Router::new().fallback(serve).with_state(world.clone());
        let syncer = runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
            syncer(&url)
        });
        Rig { runtime, world, syncer }
    }

    /// Puts another world in place, with requests of at most `rrsets` RRsets.
    pub fn load(&mut self, world: &World, rrsets: usize) {
        *self.world() = world.clone();
        self.syncer.limits = Limits { rrsets, bytes: 100_000 };
        self.syncer.memory = tokio::sync::Mutex::new(Memory::default());
    }

    /// The world as it is.
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets something go wrong from the next request on, or nothing any more.
    pub fn disturb(&self, trouble: Option<(Trouble, usize)>) {
        let mut world = self.world();
        let unread = trouble.filter(|(t, _)| *t == Trouble::Unread);
        world.pdns.unread = unread.map(|(_, at)| DOMAINS[at % 2].to_owned()).into_iter().collect();
        world.trouble = trouble;
    }

    /// One pass; `None` if the cluster could not be read. What the brakes would hold is let through: how much may
    /// go at once is no law of what goes.
    pub fn pass(&self) -> Option<Summary> {
        let planned = self.runtime.block_on(self.syncer.plan());
        let holds = planned.into_iter().flat_map(|(_, plan)| plan.holds);
        let released = holds.filter_map(|hold| hold.digest).collect();
        self.world().begin();
        let released = Released::digests(&released);
        let asked = Asked { released, ..Asked::default() };
        self.runtime.block_on(self.syncer.asked(asked));
        let summary = self.runtime.block_on(self.syncer.pass()).ok().map(|passed| passed.summary);
        self.world().end();
        summary
    }

    /// One pass in which nothing that a brake holds is let through; with it how many holds there were and how many
    /// zones PowerDNS had before.
    pub fn held_pass(&self) -> (Summary, (usize, usize)) {
        let before = self.world().pdns.zones.len();
        self.world().begin();
        let summary = self.runtime.block_on(self.syncer.pass()).unwrap().summary;
        self.world().end();
        let holds = summary.holds;
        (summary, (holds, before))
    }

    /// Lets time go by on the pass's clock.
    pub fn later(milliseconds: u64) {
        LATER.set(LATER.get() + milliseconds);
    }

    /// Somebody asks for a pass.
    pub fn forget(&self) {
        self.asked(Asked { all: true, ..Asked::default() });
    }

    /// Somebody asks for this.
    pub fn asked(&self, asked: Asked) {
        self.runtime.block_on(self.syncer.asked(asked));
    }

    /// When the loop would make the next pass early.
    pub fn wait(&self) -> Option<u64> {
        let memory = self.runtime.block_on(self.syncer.memory.lock());
        memory.wait(self.syncer.metrics.now() + LATER.get())
    }

    /// Passes until one changes nothing: what is refused is sent again each time, and refused again.
    pub fn rest(&self) -> Result<(), TestCaseError> {
        for _ in 0..8 {
            self.pass();
            if self.world().done.is_empty() {
                return Ok(());
            }
        }
        let world = self.world();
        Err(TestCaseError::fail(format!(
            "passes do not come to rest; the last one wrote {:#?}",
            world.done
        )))
    }
}

fn syncer(url: &str) -> Syncer {
    let many = NonZeroU32::new(1_000_000).unwrap();
    let metrics = Arc::new(Metrics::new().unwrap());
    let stop = CancellationToken::new();
    let kube = kube::Client::try_from(kube::Config::new(url.parse().unwrap())).unwrap();
    let options = Options {
        url: url.to_owned(),
        server_id: "localhost".to_owned(),
        key: Key::Inline(Secret::new("key".to_owned())),
        request_timeout: Duration::from_secs(10),
        authorities: None,
    };
    let limiter = Limiter::new(many, many, 4);
    Syncer {
        cluster: cluster::Client::new(kube, (many, many), 4, metrics.clone(), stop.clone()),
        powerdns: powerdns::Client::new(options, limiter, metrics.clone(), stop).unwrap(),
        policy: policy(),
        limits: Limits { rrsets: 500, bytes: 1_500_000 },
        concurrency: 4,
        // What failed is worth another try at once: the laws do not wait.
        chance: || 0.0,
        reporter: cluster::Reporter {
            instance: "laws".to_owned(),
            namespace: "laws".to_owned(),
            lease: "dns-syncd".to_owned(),
        },
        clock: |metrics| metrics.now() + LATER.get(),
        metrics,
        memory: tokio::sync::Mutex::new(Memory::default()),
    }
}

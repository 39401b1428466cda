//! Two configurations for one estate, and what can be seen of who holds the lease.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::apiserver::ApiServer;
use crate::support::daemon::{self, ConfigFile, Running};
use crate::support::estate::Estate;
use crate::support::objects;
use crate::support::proxy::Proxy;
use crate::support::recorder::{Recorder, Request, Server};
use crate::support::wait_for;

/// Long enough for anything on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// The terms of these tests: short, and as tight as the configuration allows them to be told apart.
pub(crate) const LEASE: Duration = Duration::from_secs(4);
pub(crate) const TIMEOUT: Duration = Duration::from_secs(1);
pub(crate) const RETRY: Duration = Duration::from_millis(500);
/// For what the machine adds.
pub(crate) const SLACK: Duration = Duration::from_secs(2);

/// An estate whose own configuration and recorder are the first replica's, and the second one's beside it.
pub(crate) struct Pair {
    pub(crate) estate: Estate,
    /// What the second one sends.
    pub(crate) recorder: Recorder,
    pub(crate) second: ConfigFile,
    /// The token that both take for an administrator's.
    pub(crate) admin: String,
    _proxies: (Proxy, Proxy),
}

/// A configuration that takes part in the election of the estate's namespace.
fn elects(config: ConfigFile, namespace: &str) -> ConfigFile {
    let terms = json!({"leaseNamespace": namespace, "leaseDuration": "4s", "renewDeadline": "3s",
                       "retryPeriod": "500ms"});
    config
        .with("leaderElection", terms)
        .with("http.advertise", json!("127.0.0.1"))
        .with("powerdns.requestTimeout", json!("1s"))
        .with("powerdns.requestsPerSecond", json!(5000))
        .with("powerdns.burst", json!(5000))
        // One write after the other, so that a pass has many.
        .with("powerdns.maxBatchRrsets", json!(1))
}

impl Pair {
    pub(crate) async fn new(prefix: &str) -> Pair {
        let mut estate = Estate::new(prefix).await;
        let (api, recorder) = (ApiServer::shared(), Recorder::default());
        let to_pdns = Proxy::to_pdns(&estate.pdns.url(), &recorder).await;
        let to_api = Proxy::to_apiserver(api, &recorder).await;
        let (key, namespace) = (estate.pdns.key(), &estate.namespace);
        let second = daemon::config(to_api.kubeconfig(), to_pdns.url(), key, "test", namespace);
        let (first, admin) = elects(estate.config, namespace).with_secret("http.adminTokenFile");
        let file = value(&first)["http"]["adminTokenFile"].clone();
        let second = elects(second, namespace).with("http.adminTokenFile", file);
        estate.config = first;
        Pair { estate, recorder, second, admin, _proxies: (to_pdns, to_api) }
    }

    /// Both run; the first one holds the lease.
    pub(crate) async fn run(&self) -> (Running, Running) {
        let first = daemon::run(&self.estate.config).await;
        self.held_by(&self.estate.config).await;
        let second = daemon::run(&self.second).await;
        wait_for("the second one has seen the holder", PATIENCE, || async {
            second.log().contains("another has the lease").then_some(())
        })
        .await;
        (first, second)
    }

    /// The Lease as it is now.
    pub(crate) async fn lease(&self) -> Option<Value> {
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "dns-syncd", "namespace": self.estate.namespace}});
        self.estate.get(&lease).await
    }

    /// Who holds it now; empty if nobody.
    pub(crate) async fn holder(&self) -> String {
        let lease = self.lease().await.unwrap_or_default();
        lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the process of this configuration holds it; says when that was.
    pub(crate) async fn held_by(&self, config: &ConfigFile) -> Instant {
        wait_for("it holds the lease", PATIENCE, || async {
            is_of(&self.holder().await, config).then(Instant::now)
        })
        .await
    }

    /// A zone with so many record sets: as many writes.
    pub(crate) async fn zone(&self, name: &str, domain: &str, sets: usize) {
        self.estate.zone(name, domain).await;
        for n in 0..sets {
            let record = [(format!("n{n}"), format!("192.0.2.{n}"))];
            let record: Vec<(&str, &str)> = record.iter().map(|(a, b)| (&**a, &**b)).collect();
            self.estate.a(&format!("{name}-{n}"), name, &record).await;
        }
    }

    /// Waits until this record set is served and says so.
    pub(crate) async fn programmed(&self, name: &str) {
        let set = objects::record_set(&self.estate.namespace, name, "", "A", &json!([]));
        wait_for("it is programmed", PATIENCE, || async {
            let set = self.estate.get(&set).await?;
            (objects::condition(&set, "Programmed")?.0 == "True").then_some(())
        })
        .await;
    }
}

/// Waits until a process makes no passes.
pub(crate) async fn stands_by(daemon: &Running) {
    wait_for("it stands by", PATIENCE, || async {
        daemon.metrics().await.contains("dns_syncd_leader 0").then_some(())
    })
    .await;
}

/// What a configuration says.
pub(crate) fn value(config: &ConfigFile) -> Value {
    serde_json::from_str(&std::fs::read_to_string(config.path()).unwrap()).unwrap()
}

/// Whether this is the identity of the process of a configuration: it names where that listens.
pub(crate) fn is_of(identity: &str, config: &ConfigFile) -> bool {
    let listen = value(config)["http"]["listen"].as_str().unwrap().to_owned();
    identity.ends_with(&format!("@{listen}"))
}

/// Whether a request is about the lease.
pub(crate) fn is_lease(request: &Request) -> bool {
    request.path.split('?').next().unwrap().contains("/leases")
}

/// Whether a request renews it, takes it or lets it go.
pub(crate) fn writes_lease(request: &Request) -> bool {
    is_lease(request) && request.is_write()
}

/// A change in PowerDNS.
pub(crate) fn changes(request: &Request) -> bool {
    request.server == Server::PowerDns && request.is_write()
}

/// What was sent of that kind, in order.
pub(crate) fn sent(recorder: &Recorder, of: fn(&Request) -> bool) -> Vec<Request> {
    recorder.requests().into_iter().filter(of).collect()
}

/// Waits until so many were sent.
pub(crate) async fn wait_for_sent(recorder: &Recorder, of: fn(&Request) -> bool, count: usize) {
    wait_for("the requests", PATIENCE, || {
        std::future::ready((sent(recorder, of).len() >= count).then_some(()))
    })
    .await;
}

/// Each change began while the lease would outlive it by a second, counted from when the newest acknowledged renewal had
/// been sent.
#[track_caller]
pub(crate) fn assert_fenced(recorder: &Recorder, lease: Duration, timeout: Duration) {
    // From the look at the clock to the proxy.
    const WAY: Duration = Duration::from_millis(250);
    let renewals = sent(recorder, writes_lease);
    for change in sent(recorder, changes) {
        let known = |r: &&Request| r.answered.is_some_and(|at| at <= change.arrived);
        let good = |r: &&Request| matches!(r.status, Some(200 | 201));
        let newest = renewals.iter().filter(known).rfind(good).expect("it was held");
        let (latest, room) = (newest.arrived + lease, timeout + Duration::from_secs(1));
        let late = (change.arrived + room).saturating_duration_since(latest);
        assert!(late < WAY, "{late:?} too late: {change:#?}\n{newest:#?}");
    }
}

/// When the lease was last acknowledged, counted from when the renewal came.
pub(crate) fn last_renewal(recorder: &Recorder) -> Instant {
    let renewals = sent(recorder, writes_lease);
    renewals.iter().rfind(|r| matches!(r.status, Some(200 | 201))).unwrap().arrived
}

/// No change of one was under way, until the server was done with it, while one of the other was.
#[track_caller]
pub(crate) fn assert_exclusive(first: &Recorder, second: &Recorder) {
    let done = |r: &Request| r.answered.unwrap_or_else(Instant::now);
    for ours in sent(first, changes) {
        for theirs in sent(second, changes) {
            let apart = done(&ours) <= theirs.arrived || done(&theirs) <= ours.arrived;
            assert!(apart, "two writers at a time:\n{ours:#?}\n{theirs:#?}");
        }
    }
}

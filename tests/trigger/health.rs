//! Liveness of the loop itself, beside real servers, with a deadline so short that nobody waits for a minute.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use dns_syncd::admin::{self, Access, Admin};
use dns_syncd::cluster::{self, Reporter};
use dns_syncd::config::Secret;
use dns_syncd::metrics::Metrics;
use dns_syncd::plan::batch::Limits;
use dns_syncd::plan::brakes::Brakes;
use dns_syncd::plan::{Memory, Policy};
use dns_syncd::powerdns::{self, Key, Limiter, Options};
use dns_syncd::sync::{Asked, Syncer};
use dns_syncd::trigger::{self, Trigger};
use reqwest::StatusCode;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::support::estate::Estate;
use crate::support::recorder::{Action, Request, Server};
use crate::support::{http_client, install_tls, wait_for};
use crate::watch::{PATIENCE, powerdns_url};

/// How long nothing may move, in milliseconds.
const DEADLINE: u64 = 1500;
/// A request's time-out: longer, so that a server that hangs is seen before it gives up.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What runs passes in one namespace, one request after the other.
fn syncer(estate: &Estate, metrics: &Arc<Metrics>, stop: &CancellationToken) -> Syncer {
    install_tls();
    let many = NonZeroU32::new(10_000).unwrap();
    let options = Options {
        url: powerdns_url(&estate.config),
        server_id: "localhost".to_owned(),
        key: Key::Inline(Secret::new(estate.pdns.key().to_owned())),
        request_timeout: TIMEOUT,
        authorities: None,
    };
    let limiter = Limiter::new(many, many, 1);
    let (metrics, stop) = (metrics.clone(), stop.clone());
    let kube = estate.client.clone();
    let brakes =
        Brakes { deletes: true, implicit_percent: 30, implicit_total: 20, explicit_percent: None };
    Syncer {
        cluster: cluster::Client::new(kube, (many, many), 4, metrics.clone(), stop.clone()),
        powerdns: powerdns::Client::new(options, limiter, metrics.clone(), stop).unwrap(),
        policy: Policy {
            controller_names: ["powerdns".to_owned()].into(),
            namespaces: [estate.namespace.clone()].into(),
            ..Policy::new("test", brakes)
        },
        limits: Limits { rrsets: 500, bytes: 1_500_000 },
        concurrency: 1,
        reporter: Reporter {
            instance: "test".to_owned(),
            namespace: estate.namespace.clone(),
            lease: "dns-syncd".to_owned(),
        },
        chance: || 0.0,
        clock: Metrics::now,
        metrics,
        memory: tokio::sync::Mutex::new(Memory::default()),
    }
}

fn to_powerdns(request: &Request) -> bool {
    request.server == Server::PowerDns
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_first_pass_that_moves_is_healthy_and_one_that_hangs_is_not() {
    let estate = Estate::new("health").await;
    for n in 0..8 {
        estate.zone(&format!("z{n}"), &format!("health{n}.example")).await;
    }
    // Each zone is made by several requests: the pass takes a multiple of the deadline.
    estate.recorder.always(to_powerdns, Action::Delay(Duration::from_millis(500)));
    let (trigger, stop) = (Trigger::default(), CancellationToken::new());
    let metrics = Arc::new(Metrics::new().unwrap());
    let admin = Arc::new(Admin {
        trigger: trigger.clone(),
        metrics: metrics.clone(),
        access: Access::default(),
        syncer: None,
        limiter: admin::limiter(),
        forward: http_client(),
        deadline: DEADLINE,
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/healthz", listener.local_addr().unwrap());
    let serving = tokio::spawn(admin::serve(listener, admin, stop.clone()));
    let syncer = syncer(&estate, &metrics, &stop);
    tokio::join!(trigger::run(&syncer, &trigger, &stop), async {
        look_on(&estate, &syncer, &trigger, &url).await;
        stop.cancel();
    });
    serving.await.unwrap().unwrap();
}

/// A long first pass, one that waits for a plan after a long rest, and one that hangs.
async fn look_on(estate: &Estate, syncer: &Syncer, trigger: &Trigger, url: &str) {
    let client = http_client();
    let health = || async { client.get(url).send().await.unwrap().status() };
    let began = std::time::Instant::now();
    let mut first = Box::pin(trigger.ended(1));
    while futures::poll!(&mut first).is_pending() {
        assert_eq!(health().await, StatusCode::OK, "after {:?}", began.elapsed());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(began.elapsed() > Duration::from_millis(2 * DEADLINE), "it was no long one");
    assert!(trigger.state().last.unwrap().ok);

    estate.recorder.heal();
    // As a plan does.
    let held = syncer.memory.lock().await;
    tokio::time::sleep(Duration::from_millis(DEADLINE + 200)).await;
    let pass = trigger.nudge(Asked::default()).unwrap();
    wait_for("the pass begins", PATIENCE, || async {
        (trigger.state().started == pass).then_some(())
    })
    .await;
    assert_eq!(health().await, StatusCode::OK, "it has only just begun");
    drop(held);
    trigger.ended(pass).await.unwrap();

    estate.recorder.always(to_powerdns, Action::Hang);
    let pass = trigger.nudge(Asked::default()).unwrap();
    wait_for("health fails", PATIENCE, || async {
        (health().await == StatusCode::SERVICE_UNAVAILABLE).then_some(())
    })
    .await;
    // The request's time-out ends what hung, and the loop goes on by itself.
    estate.recorder.heal();
    wait_for("health is back", PATIENCE, || async {
        (health().await == StatusCode::OK).then_some(())
    })
    .await;
    trigger.ended(pass).await.unwrap();
}

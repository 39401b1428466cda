//! Two daemons with different `ownerId`s on one PowerDNS, each with a namespace of its own.

use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::apiserver::ApiServer;
use crate::support::daemon::{self, ConfigFile};
use crate::support::estate::{Estate, a_records, native, rr};
use crate::support::objects;
use crate::support::proxy::Proxy;
use crate::support::query::query;
use crate::support::recorder::{Action, Recorder, Request};
use crate::support::wait_for;

/// The second daemon; the estate is the first one's.
struct Second<'a> {
    first: &'a Estate,
    namespace: String,
    recorder: Recorder,
    config: ConfigFile,
    _proxy: Proxy,
}

impl<'a> Second<'a> {
    async fn beside(first: &'a Estate) -> Self {
        let api = ApiServer::shared();
        let namespace = api.namespace("second").await;
        let recorder = Recorder::default();
        let proxy = Proxy::to_pdns(&first.pdns.url(), &recorder).await;
        let key = first.pdns.key();
        let config = daemon::config(api.kubeconfig(), proxy.url(), key, "second", &namespace)
            .with("powerdns.requestTimeout", json!("1s"));
        Second { first, namespace, recorder, config, _proxy: proxy }
    }

    async fn zone(&self, name: &str, domain: &str) -> Value {
        let zone = objects::zone(&self.namespace, name, domain, &self.first.class);
        objects::create(&self.first.client, &zone).await
    }

    async fn a(&self, name: &str, zone: &str, record: (&str, &str)) -> Value {
        let records = a_records(&[record]);
        let set = objects::record_set(&self.namespace, name, zone, "A", &records);
        objects::create(&self.first.client, &set).await
    }

    /// One pass; its exit code.
    async fn once(&self) -> i32 {
        daemon::once(&self.config).await.code.unwrap()
    }

    fn writes(&self) -> Vec<Request> {
        self.recorder.writes()
    }
}

async fn served(e: &Estate, name: &str) -> Vec<String> {
    query(e.pdns.dns_addr(), name, "A").await.answers
}

/// Passes of both in turn, after which the next ones write nothing to PowerDNS.
async fn alternate(e: &Estate, second: &Second<'_>) {
    for _ in 0..3 {
        daemon::once(&e.config).await;
        second.once().await;
    }
    e.recorder.clear();
    second.recorder.clear();
    for _ in 0..2 {
        daemon::once(&e.config).await;
        second.once().await;
    }
    assert!(e.recorder.writes().is_empty(), "{:#?}", e.recorder.writes());
    assert!(second.writes().is_empty(), "{:#?}", second.writes());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_domain_is_handed_over_only_when_the_first_ones_zone_is_gone() {
    let e = Estate::new("twosame").await;
    let second = Second::beside(&e).await;
    let zone = e.zone("z", "twosame.example").await;
    e.a("www", "z", &[("www", "192.0.2.1")]).await;
    e.once().await;
    let theirs = second.zone("z", "twosame.example").await;
    let set = second.a("www", "z", ("www", "198.51.100.1")).await;
    alternate(&e, &second).await;
    for object in [&theirs, &set] {
        let (truth, reason, message) = e.programmed(object).await;
        let says = (truth.as_str(), reason.as_str());
        assert!(matches!(says, ("False", "DNSZoneInUse" | "Pending")), "{reason}: {message}");
        assert!(!message.contains(&e.namespace), "it names no other tenant: {message}");
    }
    assert_eq!(e.programmed(&theirs).await.1, "DNSZoneInUse");
    // Its end takes nothing of the first one's, and it waits for nobody.
    e.delete(&theirs).await;
    second.once().await;
    assert!(e.get(&theirs).await.is_none());
    e.delete(&set).await;
    assert!(e.get(&set).await.is_none(), "nothing was ever written for it");
    assert!(second.writes().is_empty(), "{:#?}", second.writes());
    assert_eq!(served(&e, "www.twosame.example").await, ["192.0.2.1"]);

    let theirs = second.zone("z", "twosame.example").await;
    let set = second.a("www", "z", ("www", "198.51.100.1")).await;
    e.delete(&zone).await;
    second.once().await;
    assert_eq!(e.programmed(&theirs).await.1, "DNSZoneInUse", "until the first has let it go");
    assert_eq!(served(&e, "www.twosame.example").await, ["192.0.2.1"]);
    e.once().await;
    assert!(e.get(&zone).await.is_none() && !e.pdns.has_zone("twosame.example").await);
    assert_eq!(second.once().await, 0);
    assert_eq!(e.programmed(&set).await.0, "True");
    let back = e.zone("z", "twosame.example").await;
    e.a("www", "z", &[("www", "192.0.2.1")]).await;
    alternate(&e, &second).await;
    assert_eq!(e.programmed(&back).await.1, "DNSZoneInUse");
    assert_eq!(served(&e, "www.twosame.example").await, ["198.51.100.1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_domain_of_another_daemon_and_its_parent_leave_each_other_alone() {
    let e = Estate::new("twochild").await;
    let second = Second::beside(&e).await;
    e.zone("parent", "twochild.example").await;
    let ours = e.a("www", "parent", &[("www", "192.0.2.1"), ("www.sub", "192.0.2.2")]).await;
    e.once().await;
    assert_eq!(served(&e, "www.sub.twochild.example").await, ["192.0.2.2"]);
    let child = second.zone("child", "sub.twochild.example").await;
    second.a("www", "child", ("www", "198.51.100.1")).await;
    let gone = second.a("gone", "child", ("gone", "198.51.100.2")).await;
    assert_eq!(second.once().await, 0);
    alternate(&e, &second).await;
    assert_eq!(served(&e, "www.twochild.example").await, ["192.0.2.1"]);
    assert_eq!(served(&e, "www.sub.twochild.example").await, ["198.51.100.1"]);
    let names = e.get(&ours).await.unwrap()["status"]["recordSets"].clone();
    let (_, reason, message) = objects::condition(&names[1], "Programmed").unwrap();
    assert_eq!(reason, "Conflict", "{message}");
    // What lies below the cut is still the parent's, and is held there.
    let held = e.pdns.contents("twochild.example", "www.sub.twochild.example.", "A").await;
    assert_eq!(held, ["192.0.2.2"]);

    e.delete(&gone).await;
    alternate(&e, &second).await;
    assert!(query(e.pdns.dns_addr(), "gone.sub.twochild.example", "A").await.is_nxdomain());
    assert_eq!(served(&e, "www.sub.twochild.example").await, ["198.51.100.1"]);
    e.delete(&child).await;
    assert_eq!(second.once().await, 0);
    assert!(e.get(&child).await.is_none() && !e.pdns.has_zone("sub.twochild.example").await);
    e.once().await;
    assert_eq!(e.programmed(&ours).await.0, "True");
    assert_eq!(served(&e, "www.sub.twochild.example").await, ["192.0.2.2"]);
    alternate(&e, &second).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_that_mark_a_zone_at_once_the_last_one_has_it_whole() {
    let e = Estate::new("tworace").await;
    let second = Second::beside(&e).await;
    let there = json!([rr("www.tworace.example.", "203.0.113.1")]);
    e.pdns.create_zone(&native("tworace.example.", there)).await;
    let ours = e.zone("z", "tworace.example").await;
    let theirs = second.zone("z", "tworace.example").await;
    let records = [("www", "192.0.2.1"), ("first", "192.0.2.1")];
    let first_set = e.a("www", "z", &records).await;
    let second_set = second.a("www", "z", ("www", "198.51.100.1")).await;
    // The second's mark was sent when there was none, and arrives just after the first's.
    let marks = |r: &Request| r.method == "PUT";
    let marked = CancellationToken::new();
    second.recorder.next(marks, Action::Until(marked.clone()));
    let sent = || async { second.writes().into_iter().find(marks) };
    let acked =
        || async { e.recorder.requests().into_iter().find(|r| marks(r) && r.answered.is_some()) };
    let limit = Duration::from_secs(20);
    let first = async {
        wait_for("the second's mark is on its way", limit, sent).await;
        daemon::once(&e.config).await
    };
    let arrival = async {
        wait_for("the first's mark is acknowledged", limit, acked).await;
        marked.cancel();
    };
    let (_, output, ()) = tokio::join!(second.once(), first, arrival);
    assert_ne!(output.code, Some(0), "it has lost the zone: {output:#?}");
    let patches = e
        .recorder
        .writes()
        .into_iter()
        .filter(|r| r.path.contains("/zones/") && r.method == "PATCH");
    assert_eq!(patches.count(), 0, "and wrote nothing in it");
    alternate(&e, &second).await;
    assert_eq!(e.programmed(&ours).await.1, "DNSZoneInUse");
    assert_eq!(e.programmed(&first_set).await.0, "False");
    assert_eq!(e.programmed(&theirs).await.0, "True");
    assert_eq!(e.programmed(&second_set).await.0, "True");
    assert_eq!(served(&e, "www.tworace.example").await, ["198.51.100.1"]);
    let dns = e.pdns.dns_addr();
    assert!(query(dns, "first.tworace.example", "A").await.is_nxdomain());
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_zone_of_neither_each_writes_and_deletes_its_own() {
    let e = Estate::noted("twofree").await;
    let second = Second::beside(&e).await;
    let mut free = native("twofree.example.", json!([rr("hand.twofree.example.", "203.0.113.1")]));
    free["account"] = json!("platform");
    e.pdns.create_zone(&free).await;
    let zone = e.zone("z", "twofree.example").await;
    e.a("first", "z", &[("first", "192.0.2.1"), ("both", "192.0.2.1")]).await;
    e.once().await;
    let theirs = second.zone("z", "twofree.example").await;
    let own = second.a("second", "z", ("second", "198.51.100.1")).await;
    let both = second.a("both", "z", ("both", "198.51.100.1")).await;
    alternate(&e, &second).await;
    assert_eq!(e.programmed(&own).await.0, "True");
    let name = e.get(&both).await.unwrap()["status"]["recordSets"][0].clone();
    assert_eq!(objects::condition(&name, "Programmed").unwrap().1, "Conflict", "{name}");
    assert_eq!(served(&e, "both.twofree.example").await, ["192.0.2.1"]);

    e.delete(&zone).await;
    e.once().await;
    assert!(e.get(&zone).await.is_none());
    assert!(query(e.pdns.dns_addr(), "first.twofree.example", "A").await.is_nxdomain());
    for (name, address) in [("hand", "203.0.113.1"), ("second", "198.51.100.1")] {
        assert_eq!(served(&e, &format!("{name}.twofree.example")).await, [address]);
    }
    assert_eq!(second.once().await, 0);
    assert_eq!(served(&e, "both.twofree.example").await, ["198.51.100.1"], "it is free now");
    e.delete(&theirs).await;
    second.once().await;
    assert!(e.get(&theirs).await.is_none());
    assert_eq!(e.pdns.get_zone("twofree.example").await["account"], json!("platform"));
    assert_eq!(served(&e, "hand.twofree.example").await, ["203.0.113.1"]);
    assert!(served(&e, "second.twofree.example").await.is_empty());
}

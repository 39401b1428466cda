//! Outages seen by the running daemon, which passes every second: what is tried again and when, at which rate, what is
//! said meanwhile, and that nobody has to touch anything.

use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::{Value, json};

use crate::support::daemon::{self, Running};
use crate::support::estate::{Estate, a_records};
use crate::support::pdns::{Backend, Options};
use crate::support::query::query;
use crate::support::recorder::{Action, Request, Server};
use crate::support::{objects, wait_for};

/// Longer than anything here takes on a machine that is busy with other tests.
const LONG: Duration = Duration::from_mins(1);
/// How long failing tries are watched, with a pass each second.
const WATCHED: Duration = Duration::from_secs(12);

async fn estate(prefix: &str) -> Estate {
    Estate::new(prefix).await.reconfigured("interval", json!("1s"))
}

async fn until_said(estate: &Estate, object: &Value, status: &str) {
    wait_for(&format!("Programmed={status} of {}", object["metadata"]["name"]), LONG, || async {
        let now = estate.get(object).await.unwrap();
        objects::condition(&now, "Programmed").is_some_and(|c| c.0 == status).then_some(())
    })
    .await;
}

async fn until_all_said(estate: &Estate, objects: &[Value], status: &str) {
    join_all(objects.iter().map(|object| until_said(estate, object, status))).await;
}

async fn until_served(estate: &Estate, name: &str, address: &str) {
    let dns = estate.pdns.dns_addr();
    wait_for(&format!("{address} at {name}"), LONG, || async {
        (query(dns, name, "A").await.answers == [address]).then_some(())
    })
    .await;
}

fn version(object: &Value) -> Value {
    object["metadata"]["resourceVersion"].clone()
}

/// A series' value; 0 before it is counted for the first time.
async fn metric(daemon: &Running, series: &str) -> u64 {
    let text = daemon.metrics().await;
    let line = text.lines().find_map(|line| line.strip_prefix(series));
    line.map_or(0, |value| value.trim().parse().unwrap())
}

/// The requests to PowerDNS so far that write to a zone.
fn tries(estate: &Estate, zone: &str) -> Vec<Request> {
    let path = format!("/zones/{zone}.");
    estate.writes_to(Server::PowerDns).into_iter().filter(|r| r.path.ends_with(&path)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_outage_an_edit_is_served_soon_and_what_was_proven_never_wavered() {
    let estate = estate("outages").await;
    let zone = estate.zone("z", "outages.example").await;
    let www = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    let kept = estate.a("kept", "z", &[("kept", "192.0.2.2")]).await;
    let mut daemon = daemon::run(&estate.config).await;
    let all = [zone.clone(), www.clone(), kept.clone()];
    until_all_said(&estate, &all, "True").await;
    let before = estate.get(&kept).await.unwrap();

    estate.pdns.stop().await;
    let stopped = Instant::now();
    until_said(&estate, &zone, "False").await;
    let edit = json!({"records": a_records(&[("www", "192.0.2.3")])});
    estate.edit(&www, edit).await;
    until_said(&estate, &www, "False").await;
    assert!(stopped.elapsed() < Duration::from_secs(20), "at once, and not after a grace");
    assert!(estate.programmed(&zone).await.2.contains("no answer from PowerDNS"));
    assert_eq!(estate.programmed(&kept).await.0, "True", "it was proven");

    estate.pdns.restart().await;
    let back = Instant::now();
    until_served(&estate, "www.outages.example", "192.0.2.3").await;
    until_all_said(&estate, &all, "True").await;
    assert!(back.elapsed() < Duration::from_secs(15), "{:?}", back.elapsed());
    let now = estate.get(&kept).await.unwrap();
    assert_eq!(version(&now), version(&before), "nothing was ever written about it");
    assert_eq!(daemon.terminate().await.code, Some(0));
}

/// One zone whose writes meet with 503, one name that is refused, and a neighbour: tried ever more seldom, said once,
/// and at once when somebody asks.
#[tokio::test(flavor = "multi_thread")]
async fn what_fails_is_tried_ever_more_seldom_and_at_once_when_somebody_asks() {
    let estate = estate("seldom").await;
    for zone in ["down", "bad", "good"] {
        estate.zone(zone, &format!("{zone}.example")).await;
    }
    let good = estate.a("good", "good", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    until_said(&estate, &good, "True").await;
    let down = |r: &Request| r.method == "PATCH" && r.path.ends_with("/zones/down.example.");
    let bad = |r: &Request| r.method == "PATCH" && r.path.ends_with("/zones/bad.example.");
    let refused = json!({"error": "RRset www.bad.example. IN A: refused by test"});
    estate.recorder.always(down, Action::Answer(503, json!({"error": "overloaded"})));
    estate.recorder.always(bad, Action::Answer(422, refused));
    let names: Vec<String> = (0..60).map(|n| format!("n{n:02}")).collect();
    let sets = names.iter().map(async |name| estate.a(name, "down", &[(name, "192.0.2.1")]).await);
    let sets = join_all(sets).await;
    let set = estate.a("bad", "bad", &[("www", "192.0.2.1")]).await;
    // The first pass finds all of them: what comes later says that it waits before it fails.
    let mut daemon = daemon::run(&estate.config).await;
    until_all_said(&estate, &sets, "False").await;
    until_said(&estate, &set, "False").await;

    estate.recorder.clear();
    let began = Instant::now();
    estate.edit(&good, json!({"records": a_records(&[("www", "192.0.2.2")])})).await;
    until_served(&estate, "www.good.example", "192.0.2.2").await;
    assert!(began.elapsed() < Duration::from_secs(8), "its neighbours wait for nothing");
    tokio::time::sleep(WATCHED.saturating_sub(began.elapsed())).await;
    // Down to two names and one more, a try is ⌈log₂ 60⌉ + 3 writes; passes there were about twelve.
    assert_seldom(&tries(&estate, "down.example"), 9, began);
    assert_seldom(&tries(&estate, "bad.example"), 1, began);
    let said = estate.writes_to(Server::Kubernetes);
    // The events of the pass that said it may come after its statuses.
    let told = |r: &Request| r.path.contains("dnsrecordsets/good") || r.path.contains("/events");
    let said: Vec<_> = said.iter().filter(|r| !told(r)).collect();
    assert!(said.iter().all(|r| r.path.contains("dnszones/good")), "said once: {said:#?}");
    assert!(metric(&daemon, "dns_syncd_backed_off_zones").await >= 1);
    assert!(metric(&daemon, "dns_syncd_backed_off_names").await >= 1);

    estate.recorder.clear();
    let (status, report) = daemon.nudge("30s").await;
    assert_eq!((status, &report["ok"]), (200, &json!(false)), "{report}");
    assert!(!tries(&estate, "down.example").is_empty(), "somebody asked");
    assert!(!tries(&estate, "bad.example").is_empty(), "somebody asked");
    estate.recorder.heal();
    let (status, report) = daemon.nudge("30s").await;
    assert_eq!((status, &report["ok"]), (200, &json!(true)), "{report}");
    until_all_said(&estate, &sets, "True").await;
    until_said(&estate, &set, "True").await;
    assert_eq!(daemon.terminate().await.code, Some(0));
}

/// Of a try a second there would be twelve, and no gap of two seconds. Waits are random up to 1, 2, 4, 8 s …: that nine
/// of them, or none over two seconds, fit into the time is less likely than one in ten thousand.
fn assert_seldom(writes: &[Request], each: usize, began: Instant) {
    let times: Vec<Instant> = writes.iter().map(|r| r.arrived).collect();
    assert!(times.len() <= 9 * each, "{} writes, {each} a try", times.len());
    let ends = [began].into_iter().chain(times.iter().copied());
    let gaps = ends.zip(times.iter().copied().chain([began + WATCHED]));
    let longest = gaps.map(|(from, to)| to.saturating_duration_since(from)).max().unwrap();
    assert!(longest > Duration::from_secs(2), "tried at least every {longest:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_failing_sets_never_exceed_the_rate() {
    let estate = estate("rate").await.reconfigured("powerdns.requestsPerSecond", json!(10));
    let estate = estate.reconfigured("powerdns.burst", json!(5));
    let zones = (0..6)
        .map(async |nth| estate.zone(&format!("z{nth}"), &format!("z{nth}.rate.example")).await);
    let zones = join_all(zones).await;
    let mut daemon = daemon::run(&estate.config).await;
    until_all_said(&estate, &zones, "True").await;
    let overloaded = || Action::Answer(503, json!({"error": "overloaded"}));
    estate.recorder.always(|r| r.server == Server::PowerDns && r.is_write(), overloaded());
    estate.recorder.clear();
    let sets = (0..60).map(async |n: usize| {
        let (name, zone) = (format!("n{n:02}"), format!("z{}", n % 6));
        estate.a(&name, &zone, &[(&name, "192.0.2.1")]).await
    });
    let sets = join_all(sets).await;
    until_all_said(&estate, &sets, "False").await;
    // Each zone is halved down to two names: 6 writes, with 6 looks at what became of them, 72 in all and at once.
    let asked = || estate.recorder.requests().into_iter().filter(|r| r.server == Server::PowerDns);
    let most = || async { (asked().count() >= 72).then_some(()) };
    wait_for("as many requests as there were to be", LONG, most).await;
    let times: Vec<Instant> = asked().map(|r| r.arrived).collect();
    let most = most_within(&times, Duration::from_secs(1));
    // What was sent within a second may arrive within less.
    assert!(most <= 5 + 10 + 5, "{most} requests within a second");

    // Nothing but the first question is asked of a server that answers everything with 503.
    estate.recorder.always(|r| r.server == Server::PowerDns, overloaded());
    let passed = daemon.nudge("30s").await;
    assert_eq!(passed.0, 200);
    estate.recorder.clear();
    let began = Instant::now();
    let five = || async { (asked().count() >= 5).then_some(()) };
    wait_for("five more questions", LONG, five).await;
    let asked: Vec<Request> = asked().collect();
    assert!(asked.iter().all(|r| r.path.ends_with("/servers/localhost")), "{asked:#?}");
    // Chance may make a wait as short as a tenth of a second.
    assert!(began.elapsed() >= Duration::from_millis(350), "{:?}", began.elapsed());
    assert!(estate.writes_to(Server::Kubernetes).is_empty(), "it was said before");

    estate.recorder.heal();
    until_all_said(&estate, &sets, "True").await;
    assert_eq!(daemon.terminate().await.code, Some(0));
}

fn most_within(times: &[Instant], window: Duration) -> usize {
    let from = |start: &Instant| {
        times.iter().filter(|t| **t >= *start && t.duration_since(*start) < window).count()
    };
    times.iter().map(from).max().unwrap_or_default()
}

/// The pass that runs when the last edit is made, the one that sees it, and one that begins before the answer is asked for.
const PASSES: usize = 3;

/// On LMDB, where writers do not wait for each other: one zone hangs, twenty others finish in their time.
#[tokio::test(flavor = "multi_thread")]
async fn a_zone_that_hangs_keeps_no_other_waiting() {
    let lmdb = Options { backend: Backend::Lmdb, extra: Vec::new() };
    let estate = Estate::with("hangs", lmdb).await.reconfigured("interval", json!("1s"));
    let estate = estate.reconfigured("powerdns.requestTimeout", json!("2s"));
    let zones: Vec<String> =
        (0..20).map(|n| format!("n{n:02}")).chain(["hung".to_owned()]).collect();
    let mut sets = Vec::new();
    for zone in &zones {
        estate.zone(zone, &format!("{zone}.hangs.example")).await;
        sets.push(estate.a(zone, zone, &[("www", "192.0.2.1")]).await);
    }
    let mut daemon = daemon::run(&estate.config).await;
    until_all_said(&estate, &sets, "True").await;
    let hung = sets.pop().unwrap();
    // Passes that begin between the last edit and the last answer: how long they take is the machine's affair.
    let edit = async |address: &str| {
        let list = |r: &Request| r.server == Server::PowerDns && r.path.contains("/zones?");
        let passes = || estate.recorder.requests().into_iter().filter(list).count();
        let spec = json!({"records": a_records(&[("www", address)])});
        join_all(sets.iter().map(|set| estate.edit(set, spec.clone()))).await;
        let before = passes();
        let served = zones.iter().take(20).map(|zone| format!("www.{zone}.hangs.example"));
        join_all(served.map(async |name| until_served(&estate, &name, address).await)).await;
        passes() - before
    };
    assert!(edit("192.0.2.2").await <= PASSES);

    // Its write hangs: the others are written beside it.
    let patch = |r: &Request| r.method == "PATCH" && r.path.ends_with("/zones/hung.hangs.example.");
    estate.recorder.always(patch, Action::Hang);
    let spec = json!({"records": a_records(&[("www", "192.0.2.3")])});
    estate.edit(&hung, spec).await;
    assert!(edit("192.0.2.3").await <= PASSES);
    until_said(&estate, &hung, "False").await;

    // Its reading hangs too: a pass waits for that once, and then lets it rest.
    let read = |r: &Request| r.method == "GET" && r.path.ends_with("/zones/hung.hangs.example.");
    estate.recorder.always(read, Action::Hang);
    assert!(edit("192.0.2.4").await <= PASSES);
    estate.recorder.heal();
    daemon.nudge("30s").await;
    until_said(&estate, &hung, "True").await;
    assert_eq!(daemon.terminate().await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_with_what_others_wrote_is_no_failure_and_ends_with_it() {
    let estate = estate("conflict").await;
    let zone = estate.zone("z", "conflict.example").await;
    let mut daemon = daemon::run(&estate.config).await;
    until_said(&estate, &zone, "True").await;
    let hand = |change: &str| {
        json!({"rrsets": [{"name": "www.conflict.example.", "type": "CNAME", "ttl": 300,
            "changetype": change, "records": [{"content": "elsewhere.example.net.", "disabled": false}]}]})
    };
    assert_eq!(estate.pdns.patch("conflict.example", &hand("REPLACE")).await.0, 204);
    let www = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    until_said(&estate, &www, "False").await;
    let set = estate.get(&www).await.unwrap();
    let said = objects::condition(&set["status"]["recordSets"][0], "Programmed").unwrap();
    assert_eq!((said.0.as_str(), said.1.as_str()), ("False", "Conflict"), "{}", said.2);

    estate.recorder.clear();
    let of = async |result: &str| {
        metric(&daemon, &format!("dns_syncd_passes_total{{result=\"{result}\"}}")).await
    };
    let passes = async || of("ok").await + of("failed").await;
    let before = passes().await;
    let two = || async { (passes().await >= before + 2).then_some(()) };
    wait_for("two more passes", LONG, two).await;
    assert_eq!(of("failed").await, 0);
    assert_eq!(metric(&daemon, "dns_syncd_failed_changes").await, 0);
    assert!(metric(&daemon, "dns_syncd_held").await >= 1);
    // The event of the transition comes after its status.
    let event = |r: &Request| r.path.contains("/apis/events.k8s.io/");
    let writes: Vec<Request> = estate.recorder.writes();
    assert!(writes.iter().all(event), "nothing is tried, and it was said before: {writes:#?}");

    assert_eq!(estate.pdns.patch("conflict.example", &hand("DELETE")).await.0, 204);
    let removed = Instant::now();
    until_served(&estate, "www.conflict.example", "192.0.2.1").await;
    until_said(&estate, &www, "True").await;
    assert!(removed.elapsed() < Duration::from_secs(10), "{:?}", removed.elapsed());
    assert_eq!(daemon.terminate().await.code, Some(0));
}

//! Truthful when the server as a whole cannot be reached or is not PowerDNS, when an answer is lost after the fact, and
//! when a zone goes between reading and writing.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::join_all;
use serde_json::{Value, json};

use crate::support::daemon;
use crate::support::estate::{Estate, a_records};
use crate::support::query::query;
use crate::support::recorder::{Action, Request, Server};
use crate::support::{objects, wait_for};

const FAILED: &str = "Failed to apply DNS record. It will be retried automatically";
const SECRET: &str = "secret of the server";
const DESCRIPTION: &str = "/servers/localhost";
const CONFIG: &str = "/servers/localhost/config";
const LIST: &str = "/zones?dnssec=false";

/// One way in which the server cannot be read: which GET, what happens to it, and what is said.
type Row = (&'static str, Action, &'static str);

fn rows() -> Vec<Row> {
    let error = |status| Action::Answer(status, json!({ "error": SECRET }));
    let page = |status| Action::Text(status, format!("<html>{SECRET}</html>"));
    let unreadable = "PowerDNS gave an unreadable answer";
    let reset = "no answer from PowerDNS (the connection was reset)";
    vec![
        (DESCRIPTION, error(401), "PowerDNS refused the API key"),
        (DESCRIPTION, error(404), "PowerDNS answered 404"),
        (DESCRIPTION, page(404), "what answered 404 is not PowerDNS"),
        (DESCRIPTION, Action::Redirect, "what answered 302 is not PowerDNS"),
        (DESCRIPTION, Action::Answer(200, json!({"type": "Server"})), unreadable),
        (DESCRIPTION, Action::Reset, reset),
        (CONFIG, error(500), "PowerDNS answered 500"),
        (LIST, error(401), "PowerDNS refused the API key"),
        (LIST, error(500), "PowerDNS answered 500"),
        (LIST, page(502), "PowerDNS answered 502"),
        (LIST, error(503), "PowerDNS answered 503"),
        (LIST, Action::Text(404, String::new()), "what answered 404 is not PowerDNS"),
        (LIST, Action::Reset, reset),
        (LIST, Action::ForwardThenDrop, reset),
        (LIST, Action::Hang, "no answer from PowerDNS (time-out)"),
        (LIST, Action::Truncate(9), "no answer from PowerDNS (the answer was cut off)"),
        (LIST, page(200), unreadable),
        (LIST, Action::Text(200, r#"[{"id": "z."#.to_owned()), unreadable),
        (LIST, Action::Answer(200, json!({"zones": SECRET})), unreadable),
        (LIST, Action::Answer(200, json!([{"name": SECRET}])), unreadable),
    ]
}

/// A served zone with one record set of one host.
struct Pair {
    zone: Value,
    set: Value,
}

impl Pair {
    async fn new(estate: &Estate, label: &str) -> Pair {
        let zone = estate.zone(label, &format!("{label}.example")).await;
        let set = estate.a(label, label, &[("www", "192.0.2.1")]).await;
        Pair { zone, set }
    }

    async fn is_true(&self, estate: &Estate) -> [bool; 2] {
        let zone = estate.programmed(&self.zone).await.0 == "True";
        [zone, estate.programmed(&self.set).await.0 == "True"]
    }

    /// What the one host says.
    async fn host(&self, estate: &Estate) -> (String, String, String) {
        let set = estate.get(&self.set).await.unwrap();
        objects::condition(&set["status"]["recordSets"][0], "Programmed").unwrap()
    }

    /// Both must say `False` with this cause; the host was served before.
    async fn assert_waits(&self, estate: &Estate, why: &str, context: &str) {
        let told = |reason: &str, message: String| ("False".to_owned(), reason.to_owned(), message);
        let zone = told("PDNSError", format!("Waiting for default records: {why}"));
        assert_eq!(estate.programmed(&self.zone).await, zone, "{context}");
        let set = told("Pending", "One or more records not yet programmed: www".to_owned());
        assert_eq!(estate.programmed(&self.set).await, set, "{context}");
        let why = why.strip_prefix(&format!("{FAILED}: ")).unwrap_or(why);
        let host = told("PDNSError", format!("{FAILED}: {why}; it was programmed before"));
        assert_eq!(self.host(estate).await, host, "{context}");
    }

    async fn stored(&self, estate: &Estate) -> [Option<Value>; 2] {
        [estate.get(&self.zone).await, estate.get(&self.set).await]
    }
}

/// Two passes with the fault, one after it.
async fn blind(estate: &Estate, pair: &Pair, (path, action, why): Row) {
    let context = format!("{path}: {action:?}");
    let speaks = action.told().contains(SECRET);
    estate.recorder.always(
        move |r| r.server == Server::PowerDns && r.method == "GET" && r.path.ends_with(path),
        action,
    );
    estate.recorder.clear();
    let first = daemon::once(&estate.config).await;
    assert_eq!(first.code, Some(1), "{context}");
    assert!(first.stdout.contains(&format!("PowerDNS could not be read: {why}")), "{context}");
    pair.assert_waits(estate, why, &context).await;
    let requests = estate.recorder.requests().into_iter();
    let requests: Vec<Request> = requests.filter(|r| r.server == Server::PowerDns).collect();
    assert!(requests.len() <= 3 && !requests.iter().any(Request::is_write), "{requests:#?}");
    let above: String = first.stderr.lines().filter(|l| !l.contains("DEBUG")).collect();
    assert!(!above.contains(SECRET), "{context}: {above}");
    assert_eq!(first.stderr.contains(SECRET), speaks, "{context}: {}", first.stderr);
    let stored = pair.stored(estate).await;
    assert!(!format!("{stored:?}").contains(SECRET), "{context}: {stored:?}");

    estate.recorder.clear();
    assert_eq!(daemon::once(&estate.config).await.code, Some(1), "{context}");
    assert_eq!(pair.stored(estate).await, stored, "{context}");
    assert!(estate.recorder.writes().is_empty(), "{context}: what lasts is said once");
    estate.recorder.heal();
    estate.once().await;
    assert_eq!(pair.is_true(estate).await, [true, true], "{context}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_be_read_makes_nothing_programmed_and_is_not_written() {
    let worlds = (0..4).map(|nth| async move {
        let estate = Estate::new("blindly").await;
        let pair = Pair::new(&estate, "z").await;
        estate.once().await;
        for row in rows().into_iter().skip(nth).step_by(4) {
            blind(&estate, &pair, row).await;
        }
    });
    join_all(worlds).await;
}

/// No proxy stands between: nobody listens.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_down_is_said_to_refuse_connections() {
    let estate = Estate::new("down").await;
    let url = json!(estate.pdns.url());
    let estate = estate.reconfigured("powerdns.url", url);
    let pair = Pair::new(&estate, "z").await;
    estate.once().await;
    estate.pdns.stop().await;
    estate.once_failing().await;
    pair.assert_waits(&estate, "no answer from PowerDNS (connection refused)", "stopped").await;
    estate.recorder.clear();
    estate.once_failing().await;
    assert!(estate.recorder.writes().is_empty(), "what lasts is said once");
    estate.pdns.restart().await;
    estate.once().await;
    assert_eq!(pair.is_true(&estate).await, [true, true]);
}

/// Zones that were declared while nobody could look for them have not vanished: no brake holds their creation.
#[tokio::test(flavor = "multi_thread")]
async fn zones_declared_in_an_outage_are_made_when_it_is_over() {
    let estate = Estate::new("early").await;
    let pairs = ["one", "two", "three"].map(|label| Pair::new(&estate, label));
    let pairs = join_all(pairs).await;
    estate.recorder.always(|r| r.server == Server::PowerDns, Action::Reset);
    estate.once_failing().await;
    estate.once_failing().await;
    estate.recorder.heal();
    estate.once().await;
    for pair in pairs {
        assert_eq!(pair.is_true(&estate).await, [true, true]);
    }
}

/// A list that hides a zone leads to a POST that the server refuses with a real 409.
#[tokio::test(flavor = "multi_thread")]
async fn a_zone_that_the_list_hides_is_neither_served_nor_made_anew() {
    let estate = Estate::new("hidden").await;
    let pair = Pair::new(&estate, "hidden").await;
    estate.once().await;
    let serial = estate.pdns.serial("hidden.example").await;
    estate.recorder.always(
        |r| r.server == Server::PowerDns && r.path.ends_with(LIST),
        Action::Answer(200, json!([])),
    );
    estate.recorder.clear();
    estate.once_failing().await;
    pair.assert_waits(&estate, &format!("{FAILED}: status 409"), "hidden").await;
    let writes = estate.writes_to(Server::PowerDns);
    let writes: Vec<_> = writes.iter().map(|r| (r.method.as_str(), r.status)).collect();
    assert_eq!(writes, [("POST", Some(409))]);
    estate.recorder.clear();
    estate.once_failing().await;
    assert!(estate.writes_to(Server::Kubernetes).is_empty(), "what lasts is said once");
    estate.recorder.heal();
    estate.once().await;
    assert_eq!(pair.is_true(&estate).await, [true, true]);
    assert_eq!(estate.pdns.serial("hidden.example").await, serial, "nothing was written");
}

/// Each write takes effect and its answer is lost: it is no success, and the next pass reads it instead of sending it again.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_lost_is_no_success_until_it_is_read() {
    let estate = Estate::new("lost").await;
    let (patched, deleted) =
        (Pair::new(&estate, "patched").await, Pair::new(&estate, "deleted").await);
    estate.once().await;
    estate.edit(&patched.set, json!({"records": a_records(&[("www", "192.0.2.2")])})).await;
    let (posted, cut) = (Pair::new(&estate, "posted").await, Pair::new(&estate, "cut").await);
    estate.delete(&deleted.set).await;
    estate.delete(&deleted.zone).await;
    let recorder = &estate.recorder;
    let about = |method: &'static str, zone: &'static str| {
        move |r: &Request| {
            let posted = r.body.as_ref().is_some_and(|body| body["name"] == zone);
            r.method == method && (posted || r.path.ends_with(&format!("/zones/{zone}")))
        }
    };
    recorder.next(about("PATCH", "patched.example."), Action::ForwardThenDrop);
    recorder.next(about("POST", "posted.example."), Action::ForwardThenDrop);
    recorder.next(about("POST", "cut.example."), Action::Truncate(1));
    recorder.next(about("DELETE", "deleted.example."), Action::ForwardThenDrop);
    // The zone is read before it is written, and not afterwards.
    let (reads, read) = (AtomicUsize::new(0), about("GET", "patched.example."));
    let afterwards = move |r: &Request| read(r) && reads.fetch_add(1, Ordering::Relaxed) == 1;
    recorder.always(afterwards, Action::Reset);
    estate.once_failing().await;

    let lost = |how: &str| format!("{FAILED}: no answer from PowerDNS ({how})");
    let reset = lost("the connection was reset");
    assert_eq!(patched.host(&estate).await.2, format!("{reset}; it was programmed before"));
    assert_eq!(patched.is_true(&estate).await, [true, false]);
    for (pair, why) in [(&posted, &reset), (&cut, &lost("the answer was cut off"))] {
        assert_eq!(pair.host(&estate).await.2, *why);
        let zone = format!("Waiting for default records: {why}");
        assert_eq!(estate.programmed(&pair.zone).await.2, zone);
    }
    let waits = estate.programmed(&deleted.zone).await;
    assert_eq!(waits.2, format!("deletion is waiting: {reset}"));
    let dns = estate.pdns.dns_addr();
    assert_eq!(query(dns, "www.patched.example", "A").await.answers, ["192.0.2.2"]);
    assert!(estate.pdns.has_zone("posted.example").await, "it took effect");
    assert!(!estate.pdns.has_zone("deleted.example").await, "it took effect");

    recorder.clear();
    estate.once().await;
    let again = estate.writes_to(Server::PowerDns).into_iter();
    let again: Vec<String> = again.map(|r| format!("{} {}", r.method, r.path)).collect();
    // What a zone is to hold follows it where it is made bare.
    let zones = ["posted.example.", "cut.example."];
    let zones = estate.pdns.comments_outlive_zones().then_some(zones).into_iter().flatten();
    let bare: BTreeSet<String> =
        zones.map(|zone| format!("PATCH /api/v1/servers/localhost/zones/{zone}")).collect();
    assert_eq!(again.len(), bare.len(), "nothing is sent twice: {again:?}");
    assert_eq!(BTreeSet::from_iter(again), bare);
    for pair in [&patched, &posted, &cut] {
        assert_eq!(pair.is_true(&estate).await, [true, true]);
    }
    assert_eq!(deleted.stored(&estate).await, [None, None]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_that_goes_between_reading_and_writing_is_said_to_be_missing_and_made_anew() {
    let estate = Estate::new("between").await.reconfigured("powerdns.requestTimeout", json!("9s"));
    let pair = Pair::new(&estate, "between").await;
    let equal = estate.a("equal", "between", &[("equal", "192.0.2.3")]).await;
    estate.once().await;
    estate.edit(&pair.set, json!({"records": a_records(&[("www", "192.0.2.2")])})).await;
    let patch = |r: &Request| r.server == Server::PowerDns && r.method == "PATCH";
    estate.recorder.clear();
    estate.recorder.next(patch, Action::Delay(Duration::from_millis(500)));
    let deleted = async {
        let sent = || async { estate.recorder.requests().iter().any(patch).then_some(()) };
        wait_for("the write", Duration::from_secs(20), sent).await;
        estate.pdns.delete_zone("between.example").await
    };
    let (_, (status, _)) = tokio::join!(estate.once_failing(), deleted);
    assert_eq!(status, 204);
    let said = pair.host(&estate).await;
    assert_eq!(said.1, "PDNSError");
    let missing = "The DNS zone could not be found. It may still be provisioning.";
    assert_eq!(said.2, format!("{missing}; it was programmed before"));
    // Nor is what was read equal before it went.
    let waits = estate.programmed(&pair.zone).await;
    assert_eq!(waits.2, format!("Waiting for default records: {missing}"));
    assert_eq!(estate.programmed(&equal).await.0, "False");
    estate.once().await;
    assert_eq!(pair.is_true(&estate).await, [true, true]);
    assert_eq!(estate.programmed(&equal).await.0, "True");
    let dns = estate.pdns.dns_addr();
    assert_eq!(query(dns, "www.between.example", "A").await.answers, ["192.0.2.2"]);
}

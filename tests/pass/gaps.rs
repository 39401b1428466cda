//! Changes under the eyes of a resolver: questions every 5 ms while a name is handed over, renamed, respelled, retyped
//! or repointed.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hickory_proto::op::{Message, Query, ResponseCode};
use hickory_proto::rr::{Name, RecordType};
use serde_json::json;
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::support::estate::{Estate, a_records};
use crate::support::pdns::{Backend, Options};
use crate::support::query::query;
use crate::support::wait_for;

/// What one question got.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    /// Records of the type that was asked for.
    Records(Vec<String>),
    NoData,
    NxDomain,
    /// Another code, another answer than to this question, or none within a second.
    Nothing(String),
}

/// How many answers before a change and after it make what was seen in between worth something.
const ENOUGH: usize = 20;

/// Asks in a task of its own until it is stopped.
struct Resolver {
    seen: Arc<Mutex<Vec<Seen>>>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Resolver {
    /// Asks for `name` every 5 ms, for each of `types` in turn; it has begun when this returns.
    async fn start(e: &Estate, name: &str, types: &[&str]) -> Self {
        let name = Name::from_ascii(format!("{name}.")).unwrap();
        let questions = types.iter().map(|t| Query::query(name.clone(), t.parse().unwrap()));
        let (seen, stop) = (Arc::default(), CancellationToken::new());
        let asking = ask(e.pdns.dns_addr(), questions.collect(), Arc::clone(&seen), stop.clone());
        let resolver = Self { seen, stop, task: tokio::spawn(asking) };
        resolver.hears_more().await;
        resolver
    }

    async fn hears_more(&self) {
        let count = || self.seen.lock().unwrap().len();
        let then = count() + ENOUGH;
        let enough = || async { (count() >= then).then_some(()) };
        wait_for("answers", Duration::from_secs(20), enough).await;
    }

    /// Everything that it saw, in order.
    async fn end(self) -> Vec<Seen> {
        self.hears_more().await;
        self.stop.cancel();
        self.task.await.unwrap();
        let seen = std::mem::take(&mut *self.seen.lock().unwrap());
        let bad = seen.iter().find(|seen| matches!(seen, Seen::Nothing(_)));
        assert_eq!(bad, None, "no such answer is excused");
        seen
    }
}

async fn ask(
    addr: SocketAddr,
    questions: Vec<Query>,
    seen: Arc<Mutex<Vec<Seen>>>,
    stop: CancellationToken,
) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.connect(addr).await.unwrap();
    let mut ticks = tokio::time::interval(Duration::from_millis(5));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // It ends only after the last of its questions, so that what belongs together is whole.
    while !stop.is_cancelled() {
        for question in &questions {
            ticks.tick().await;
            let answer = tokio::time::timeout(Duration::from_secs(1), one(&socket, question)).await;
            let answer = answer.unwrap_or_else(|_| Seen::Nothing("no answer".to_owned()));
            seen.lock().unwrap().push(answer);
        }
    }
}

async fn one(socket: &UdpSocket, question: &Query) -> Seen {
    let mut message = Message::query();
    message.add_query(question.clone());
    socket.send(&message.to_vec().unwrap()).await.unwrap();
    let mut buffer = vec![0; 512];
    let length = socket.recv(&mut buffer).await.unwrap();
    let answer = Message::from_vec(&buffer[..length]).unwrap();
    let wanted = |t: RecordType| t == question.query_type();
    let records = answer.answers.iter().filter(|record| wanted(record.record_type()));
    let mut contents: Vec<String> = records.map(|record| record.data.to_string()).collect();
    contents.sort();
    let code = answer.metadata.response_code;
    if answer.metadata.id != message.metadata.id {
        Seen::Nothing("the answer to another question".to_owned())
    } else if code == ResponseCode::NXDomain {
        Seen::NxDomain
    } else if code != ResponseCode::NoError {
        Seen::Nothing(code.to_string())
    } else if contents.is_empty() {
        Seen::NoData
    } else {
        Seen::Records(contents)
    }
}

fn records(contents: &[&str]) -> Seen {
    Seen::Records(contents.iter().map(|&content| content.to_owned()).collect())
}

/// What was seen, without repetitions: how often it changed, and to what.
fn steps(seen: Vec<Seen>) -> Vec<Seen> {
    let mut out = seen;
    out.dedup();
    out
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_handed_over_never_fails() {
    let e = Estate::new("gaphand").await;
    let winner_zone = e.zone("a", "gaphand.example").await;
    let winner = e.a("a-winner", "a", &[("www", "192.0.2.1")]).await;
    e.a("b-heir", "a", &[("WWW", "192.0.2.2")]).await;
    e.once_failing().await;
    e.zone("b", "gaphand.example").await;
    e.a("c-heir", "b", &[("www", "192.0.2.3")]).await;
    e.once_failing().await;
    let name = Resolver::start(&e, "www.gaphand.example", &["A"]).await;
    let apex = Resolver::start(&e, "gaphand.example", &["NS"]).await;
    e.delete(&winner).await;
    e.once_failing().await;
    assert!(e.get(&winner).await.is_none());
    // And then the zone itself, of which another DNSZone is the heir.
    e.delete(&winner_zone).await;
    e.once().await;
    assert!(e.get(&winner_zone).await.is_none());
    e.assert_quiet().await;
    let held = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(|address| records(&[address]));
    assert_eq!(steps(name.end().await), held);
    assert_eq!(steps(apex.end().await), [records(&["ns1.example.net.", "ns2.example.net."])]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_name_serves_under_one_of_its_names() {
    let e = Estate::new("gapname").await;
    e.zone("z", "gapname.example").await;
    let set = e.a("s", "z", &[("a", "192.0.2.1")]).await;
    e.once().await;
    let (a, b) = (
        Resolver::start(&e, "a.gapname.example", &["A"]).await,
        Resolver::start(&e, "b.gapname.example", &["A"]).await,
    );
    e.edit(&set, json!({"records": a_records(&[("b", "192.0.2.1")])})).await;
    e.once().await;
    e.assert_quiet().await;
    assert_eq!(steps(a.end().await), [records(&["192.0.2.1"]), Seen::NxDomain]);
    assert_eq!(steps(b.end().await), [Seen::NxDomain, records(&["192.0.2.1"])]);
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_old_name_is_gone_the_new_one_is_there() {
    for backend in [Backend::Sqlite, Backend::Lmdb] {
        renames(Estate::with("gapboth", Options { backend, extra: Vec::new() }).await).await;
    }
}

async fn renames(e: Estate) {
    e.zone("z", "gapboth.example").await;
    let set = e.a("s", "z", &[("n0", "192.0.2.1")]).await;
    e.once().await;
    for n in 0..5 {
        let (old, new) = (format!("n{n}.gapboth.example"), format!("n{}.gapboth.example", n + 1));
        let dns = e.pdns.dns_addr();
        // The old name is asked first: where it is gone, the new one must have come before it was asked.
        let watch = tokio::spawn(async move {
            let mut both = 0;
            loop {
                let old = query(dns, &old, "A").await;
                let new = query(dns, &new, "A").await;
                assert!(!old.answers.is_empty() || !new.answers.is_empty(), "{old:?} {new:?}");
                both += 1;
                if old.answers.is_empty() {
                    return both;
                }
            }
        });
        let renamed = format!("n{}", n + 1);
        e.edit(&set, json!({"records": a_records(&[(&renamed, "192.0.2.1")])})).await;
        e.once().await;
        assert!(watch.await.unwrap() > 10, "it watched while it happened");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_respelled_name_never_fails() {
    let e = Estate::new("gapspell").await;
    e.zone("z", "gapspell.example").await;
    let set = e.a("s", "z", &[("www", "192.0.2.1")]).await;
    e.once().await;
    let name = Resolver::start(&e, "www.gapspell.example", &["A"]).await;
    for spelling in ["WWW", "www.gapspell.example.", "Www.GapSpell.example.", "www"] {
        e.edit(&set, json!({"records": a_records(&[(spelling, "192.0.2.1")])})).await;
        e.once().await;
    }
    assert_eq!(steps(name.end().await), [records(&["192.0.2.1"])]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retyped_name_has_its_old_type_or_its_new_one() {
    let e = Estate::noted("gaptype").await;
    e.zone("z", "gaptype.example").await;
    let set = e.a("s", "z", &[("www", "192.0.2.1")]).await;
    e.once().await;
    let aaaa = json!({"recordType": "AAAA", "records": [{"name": "www", "aaaa": {"content": "2001:db8::1"}}]});
    let a = json!({"recordType": "A", "records": a_records(&[("www", "192.0.2.1")])});
    for (spec, types) in [(aaaa, ["A", "AAAA"]), (a, ["AAAA", "A"])] {
        let name = Resolver::start(&e, "www.gaptype.example", &types).await;
        e.edit(&set, spec).await;
        e.once().await;
        e.assert_quiet().await;
        let seen = name.end().await;
        assert!(!seen.contains(&Seen::NxDomain), "the name is always there");
        // The old type is asked first: where it is gone, the new one must have come before it was asked.
        let gap = seen.chunks(2).position(|pair| pair == [Seen::NoData, Seen::NoData]);
        assert_eq!(gap, None, "neither type, {types:?}");
        let old: Vec<Seen> = seen.iter().step_by(2).cloned().collect();
        let new: Vec<Seen> = seen.iter().skip(1).step_by(2).cloned().collect();
        let has = |rtype: &str| records(&[if rtype == "A" { "192.0.2.1" } else { "2001:db8::1" }]);
        assert_eq!(steps(old), [has(types[0]), Seen::NoData]);
        assert_eq!(steps(new), [Seen::NoData, has(types[1])]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repointed_name_goes_and_comes_once() {
    let e = Estate::noted("gappoint").await;
    e.zone("one", "gappoint-one.example").await;
    e.zone("two", "gappoint-two.example").await;
    let set = e.a("s", "one", &[("www", "192.0.2.1")]).await;
    e.a("beside", "two", &[("beside", "192.0.2.2")]).await;
    e.once().await;
    let mut watched = Vec::new();
    for name in
        ["www.gappoint-one.example", "www.gappoint-two.example", "beside.gappoint-two.example"]
    {
        watched.push(Resolver::start(&e, name, &["A"]).await);
    }
    e.edit(&set, json!({"dnsZoneRef": {"name": "two"}})).await;
    e.once().await;
    e.assert_quiet().await;
    let www = records(&["192.0.2.1"]);
    let expected = [
        vec![www.clone(), Seen::NxDomain],
        vec![Seen::NxDomain, www],
        vec![records(&["192.0.2.2"])],
    ];
    for (resolver, expected) in watched.into_iter().zip(expected) {
        assert_eq!(steps(resolver.end().await), expected);
    }
}

//! RRsets without a note: at first contact and on servers without comments only the objects' own word tells whose
//! they are, and it must neither be lost nor believed too far.

use serde_json::json;
use std::time::Duration;

use crate::support::daemon;
use crate::support::estate::{Estate, a_records, native, rr};
use crate::support::objects;
use crate::support::pdns::{Backend, Options};
use crate::support::query::query;
use crate::support::recorder::{Action, Request, Server};

const SET: &str = "dns.networking.miloapis.com/finalize-dnsrecordset-downstream";

async fn lmdb(prefix: &str) -> Estate {
    Estate::with(prefix, Options { backend: Backend::Lmdb, extra: Vec::new() }).await
}

async fn served(e: &Estate, name: &str) -> Vec<String> {
    query(e.pdns.dns_addr(), name, "A").await.answers
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminating_set_of_an_unmarked_zone_waits_for_its_rrset() {
    let e = Estate::new("fone").await;
    e.pdns
        .create_zone(&native(
            "fone.example.",
            json!([rr("www.fone.example.", "192.0.2.1"), rr("x.fone.example.", "192.0.2.2")]),
        ))
        .await;
    e.zone("z", "fone.example").await;
    e.a("x", "z", &[("x", "192.0.2.2")]).await;
    let www = e.a("www", "z", &[("www", "192.0.2.1")]).await;
    objects::patch(&e.client, &www, &json!({"metadata": {"finalizers": [SET]}})).await;
    e.delete(&www).await;
    daemon::once(&e.config).await;
    let left = served(&e, "www.fone.example").await;
    assert!(left.is_empty() || e.get(&www).await.is_some(), "released, and still served: {left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_speaks_of_the_zone_that_its_set_has_left() {
    // A zone that is marked first, and one whose account is somebody's own text and that is written at once.
    for account in ["", "ops"] {
        let e = Estate::new("ftwo").await;
        let mut hand =
            native("ftwo-new.example.", json!([rr("a.ftwo-new.example.", "192.0.2.99")]));
        hand["account"] = json!(account);
        e.pdns.create_zone(&hand).await;
        e.zone("one", "ftwo-old.example").await;
        e.zone("two", "ftwo-new.example").await;
        let s = e.a("s", "one", &[("a", "192.0.2.1")]).await;
        e.once().await;
        let moved =
            json!({"dnsZoneRef": {"name": "two"}, "records": a_records(&[("b", "192.0.2.1")])});
        e.edit(&s, moved).await;
        e.once().await;
        e.once().await;
        assert_eq!(served(&e, "a.ftwo-new.example").await, ["192.0.2.99"], "hand-made, never ours");
        assert_eq!(served(&e, "b.ftwo-new.example").await, ["192.0.2.1"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loser_that_goes_takes_nothing_of_the_holder() {
    let e = lmdb("fthree").await;
    e.zone("z", "fthree.example").await;
    let holder = e.a("holder", "z", &[("www", "192.0.2.1")]).await;
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let loser = e.a("loser", "z", &[("www", "192.0.2.2")]).await;
    e.once_failing().await;
    assert_eq!(served(&e, "www.fthree.example").await, ["192.0.2.1"]);
    e.edit(
        &holder,
        json!({"records": [{"name": "www", "ttl": -1, "a": {"content": "192.0.2.1"}}]}),
    )
    .await;
    e.once_failing().await;
    assert_eq!(served(&e, "www.fthree.example").await, ["192.0.2.1"]);
    e.delete(&loser).await;
    daemon::once(&e.config).await;
    assert_eq!(served(&e, "www.fthree.example").await, ["192.0.2.1"], "the holder's RRset stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_comments_a_name_renamed_in_an_outage_goes() {
    let e = lmdb("ffour").await;
    e.zone("z", "ffour.example").await;
    let s = e.a("s", "z", &[("a", "192.0.2.1")]).await;
    e.once().await;
    e.pdns.stop().await;
    e.once_failing().await;
    e.edit(&s, json!({"records": a_records(&[("b", "192.0.2.1")])})).await;
    e.once_failing().await;
    e.pdns.restart().await;
    e.once().await;
    let a = served(&e, "a.ffour.example").await;
    e.delete(&s).await;
    e.once().await;
    assert!(a.is_empty(), "left over: {a:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_comments_a_name_renamed_while_the_class_is_missing_goes() {
    let e = lmdb("ffive").await;
    e.zone("z", "ffive.example").await;
    let s = e.a("s", "z", &[("a", "192.0.2.1")]).await;
    e.once().await;
    let class = objects::class(&e.class, &["ns1.example.net.", "ns2.example.net."]);
    e.delete(&class).await;
    e.once_failing().await;
    e.edit(&s, json!({"records": a_records(&[("b", "192.0.2.1")])})).await;
    e.once_failing().await;
    objects::create(&e.client, &class).await;
    e.once().await;
    let a = served(&e, "a.ffive.example").await;
    assert!(a.is_empty(), "left over: {a:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_comments_an_heir_zone_keeps_nothing_of_the_zone_that_went() {
    let e = lmdb("fsix").await;
    let winner = e.zone("winner", "fsix.example").await;
    let set = e.a("w", "winner", &[("only-w", "192.0.2.1")]).await;
    e.once().await;
    e.zone("loser", "fsix.example").await;
    e.once_failing().await;
    e.delete(&winner).await;
    daemon::once(&e.config).await;
    daemon::once(&e.config).await;
    assert!(e.get(&set).await.is_none());
    let left = served(&e, "only-w.fsix.example").await;
    assert!(left.is_empty(), "left over: {left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_comments_a_set_renamed_and_deleted_in_an_outage_leaves_nothing() {
    let e = lmdb("ffifteen").await;
    e.zone("z", "ffifteen.example").await;
    let s = e.a("s", "z", &[("a", "192.0.2.1")]).await;
    e.once().await;
    e.pdns.stop().await;
    e.edit(&s, json!({"records": a_records(&[("b", "192.0.2.1")])})).await;
    e.delete(&s).await;
    e.once_failing().await;
    e.pdns.restart().await;
    daemon::once(&e.config).await;
    assert!(e.get(&s).await.is_none());
    let left = served(&e, "a.ffifteen.example").await;
    assert!(left.is_empty(), "left over: {left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn at_first_contact_what_goes_goes_before_any_note_is_written() {
    let e = Estate::new("feighteen").await;
    let mut zone = native(
        "feighteen.example.",
        json!([
            rr("aaa.feighteen.example.", "192.0.2.1"),
            rr("www.feighteen.example.", "192.0.2.2")
        ]),
    );
    zone["account"] = json!("ops"); // free text: written at once, never marked
    e.pdns.create_zone(&zone).await;
    e.zone("z", "feighteen.example").await;
    e.a("aaa", "z", &[("aaa", "192.0.2.1")]).await;
    let www = e.a("www", "z", &[("www", "192.0.2.2")]).await;
    objects::patch(&e.client, &www, &json!({"metadata": {"finalizers": [SET]}})).await;
    e.delete(&www).await;
    let config = e.config.with("powerdns.maxBatchRrsets", json!(1));
    e.recorder.next(
        |r: &Request| {
            r.method == "PATCH"
                && r.server == Server::PowerDns
                && r.body.as_ref().is_some_and(|b| b.to_string().contains("\"DELETE\""))
        },
        Action::Reset,
    );
    daemon::once(&config).await;
    assert!(objects::get(&e.client, &www).await.is_some(), "still held after the first pass");
    daemon::once(&config).await;
    let left = query(e.pdns.dns_addr(), "www.feighteen.example", "A").await.answers;
    assert!(
        left.is_empty() || objects::get(&e.client, &www).await.is_some(),
        "released, and still served: {left:?}"
    );
}

//! One of the two sides comes back from a backup: objects with other uids, or a PowerDNS that is older than they are.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::daemon;
use crate::support::estate::{Estate, a_records, rr};
use crate::support::incumbent::Incumbent;
use crate::support::objects;
use crate::support::pdns::{Backend, Options};
use crate::support::query::query;
use crate::support::recorder::{Request, Server};

/// Removes an object whatever holds it, as losing etcd does.
async fn lose(e: &Estate, object: &Value) {
    objects::patch(&e.client, object, &json!({"metadata": {"finalizers": null}})).await;
    e.delete(object).await;
    assert!(e.get(object).await.is_none());
}

/// Creates an object as a backup has it: finalizers and owner references of then, no status, and a new uid.
async fn restore(e: &Estate, object: &Value) -> Value {
    let mut object = object.clone();
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.retain(|field, _| {
        matches!(field.as_str(), "name" | "namespace" | "finalizers" | "ownerReferences")
    });
    objects::create(&e.client, &object).await
}

fn deleting(r: &Request) -> bool {
    let body = r.body.as_ref().map(Value::to_string).unwrap_or_default();
    r.server == Server::PowerDns && (r.method == "DELETE" || body.contains("\"DELETE\""))
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_that_come_back_with_new_uids_are_the_same_to_powerdns() {
    let e = Estate::noted("etcd").await;
    e.zone("z", "etcd.example").await;
    for n in 0..12 {
        e.a(&format!("s{n:02}"), "z", &[(&format!("n{n}"), "192.0.2.1")]).await;
    }
    e.once().await;
    let stored = e.pdns.all("etcd.example").await;
    let old = Incumbent::start(&e);
    let (zones, mut sets) = (old.list("dnszones").await, old.list("dnsrecordsets").await);
    for object in sets.iter().chain(&zones) {
        lose(&e, object).await;
    }
    e.recorder.clear();
    // Nothing is there, then the zone alone: a pass in between believes neither.
    daemon::once(&e.config).await;
    let zone = restore(&e, &zones[0]).await;
    e.once_failing().await;
    assert_eq!(e.programmed(&zone).await.1, "DeletionHeld");
    let missing: Vec<Value> = sets.drain(..2).collect();
    let mut restored = Vec::new();
    for set in &sets {
        restored.push(restore(&e, set).await);
    }
    assert!(!e.recorder.writes().iter().any(deleting), "{:#?}", e.recorder.writes());
    assert_eq!(e.pdns.all("etcd.example").await, stored);

    let summary = e.once().await;
    assert_eq!((&summary["adopted"], &summary["replaced"]), (&json!(10), &json!(0)), "{summary}");
    assert_eq!(summary["deleted"], json!(2), "those whose objects stayed away: {summary}");
    let mut expected = stored.clone();
    expected.retain(|(name, _), _| !["n0.etcd.example.", "n1.etcd.example."].contains(&&**name));
    assert_eq!(e.pdns.all("etcd.example").await, expected);
    let note = e.pdns.note("etcd.example", "n5.etcd.example.", "A").await.unwrap();
    assert_eq!(note["uid"], restored[3]["metadata"]["uid"]);
    for set in &restored {
        let now = e.get(set).await.unwrap();
        let owners = now["metadata"]["ownerReferences"].as_array().unwrap();
        assert_eq!((owners.len(), &owners[0]["uid"]), (1, &zone["metadata"]["uid"]), "{owners:?}");
        assert_eq!(objects::condition(&now, "Programmed").unwrap().0, "True");
    }
    e.assert_quiet().await;
    // What comes late is made again.
    restore(&e, &missing[0]).await;
    e.once().await;
    assert_eq!(query(e.pdns.dns_addr(), "n0.etcd.example", "A").await.answers, ["192.0.2.1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_without_any_set_is_not_believed() {
    let e = Estate::noted("none").await;
    let zone = e.zone("z", "none.example").await;
    // Too few for any share of a zone to count.
    let sets = [
        e.a("s1", "z", &[("n1", "192.0.2.1")]).await,
        e.a("s2", "z", &[("n2", "192.0.2.1")]).await,
    ];
    e.once().await;
    let stored = e.pdns.all("none.example").await;
    for set in &sets {
        lose(&e, set).await;
    }
    e.once_failing().await;
    assert_eq!(e.programmed(&zone).await.1, "DeletionHeld");
    assert_eq!(e.pdns.all("none.example").await, stored);
    restore(&e, &sets[0]).await;
    e.once().await;
    let dns = e.pdns.dns_addr();
    assert_eq!(query(dns, "n1.none.example", "A").await.answers, ["192.0.2.1"]);
    assert!(query(dns, "n2.none.example", "A").await.is_nxdomain(), "one that is there vouches");
}

/// The database's files, with what a write-ahead log may hold beside it.
fn files(e: &Estate) -> Vec<PathBuf> {
    let database = e.pdns.database();
    let beside = |end: &str| PathBuf::from(format!("{}{end}", database.display()));
    vec![beside(""), beside("-wal"), beside("-shm")]
}

/// Stops PowerDNS and keeps what it has.
async fn backup(e: &Estate) {
    e.pdns.stop().await;
    for file in files(e).iter().filter(|file| file.exists()) {
        std::fs::copy(file, format!("{}.kept", file.display())).unwrap();
    }
    e.pdns.restart().await;
}

/// Stops PowerDNS and starts it with what it had.
async fn back(e: &Estate) {
    e.pdns.stop().await;
    for file in files(e) {
        let _ = std::fs::remove_file(&file);
        let kept = format!("{}.kept", file.display());
        if std::fs::exists(&kept).unwrap() {
            std::fs::rename(kept, file).unwrap();
        }
    }
    e.pdns.restart().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_of_the_database_is_brought_up_to_what_is_declared() {
    let sqlite = Options { backend: Backend::Sqlite, extra: Vec::new() };
    let e = Estate::with("older", sqlite).await;
    e.zone("z", "older.example").await;
    let names = ["edited", "renamed", "retyped", "deleted", "remade", "same"];
    let mut sets = Vec::new();
    for name in names {
        sets.push(e.a(name, "z", &[(name, "192.0.2.1")]).await);
    }
    for n in 0..6 {
        e.a(&format!("more-{n}"), "z", &[(&format!("more-{n}"), "192.0.2.1")]).await;
    }
    e.once().await;
    let hand = json!({"rrsets": [rr("hand.older.example.", "203.0.113.1")]});
    assert_eq!(e.pdns.patch("older.example", &hand).await.0, 204);
    backup(&e).await;

    e.edit(&sets[0], json!({"records": a_records(&[("edited", "192.0.2.2")])})).await;
    e.edit(&sets[1], json!({"records": a_records(&[("moved", "192.0.2.1")])})).await;
    let cname = json!([{"name": "retyped", "cname": {"content": "x.example.net."}}]);
    e.edit(&sets[2], json!({"recordType": "CNAME", "records": cname})).await;
    e.delete(&sets[3]).await;
    e.delete(&sets[4]).await;
    e.once().await;
    e.a("remade", "z", &[("remade", "192.0.2.3")]).await;
    e.a("added", "z", &[("added", "192.0.2.1")]).await;
    e.zone("y", "younger.example").await;
    e.a("y-www", "y", &[("www", "192.0.2.1")]).await;
    e.once().await;
    let stored = [e.pdns.all("older.example").await, e.pdns.all("younger.example").await];

    back(&e).await;
    assert_ne!(e.pdns.all("older.example").await, stored[0], "the copy is older");
    let hand = json!({"rrsets": [rr("same.older.example.", "203.0.113.66")]});
    assert_eq!(e.pdns.patch("older.example", &hand).await.0, 204);
    e.once().await;
    let now = [e.pdns.all("older.example").await, e.pdns.all("younger.example").await];
    assert_eq!(now, stored);
    let kept = query(e.pdns.dns_addr(), "hand.older.example", "A").await.answers;
    assert_eq!(kept, ["203.0.113.1"]);
    e.assert_quiet().await;
}

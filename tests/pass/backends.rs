//! LMDB. Before 5.1 it has no comments: no notes, so the objects' own word must do.

use serde_json::json;

use crate::support::estate::{Estate, a_records};
use crate::support::pdns::{Backend, Options};
use crate::support::query::query;
use crate::support::recorder::Server;

#[tokio::test(flavor = "multi_thread")]
async fn without_comments_records_are_created_edited_renamed_and_deleted_all_the_same() {
    let options = Options { backend: Backend::Lmdb, extra: Vec::new() };
    let estate = Estate::with("lmdb", options).await;
    let zone = estate.zone("z", "lmdb.example").await;
    let set = estate.a("s", "z", &[("a", "192.0.2.1"), ("c", "192.0.2.3")]).await;
    estate.once().await;
    let writes = estate.writes_to(Server::PowerDns);
    let text = writes.last().unwrap().body.as_ref().unwrap().to_string();
    let noted = estate.pdns.keeps_comments();
    assert_eq!(text.contains("\"comments\""), noted, "the mere key would fail the request: {text}");
    estate.assert_quiet().await;

    let dns = estate.pdns.dns_addr();
    estate
        .edit(&set, json!({"records": a_records(&[("b", "192.0.2.2"), ("c", "192.0.2.3")])}))
        .await;
    estate.once().await;
    assert!(query(dns, "a.lmdb.example", "A").await.is_nxdomain(), "renamed");
    assert_eq!(query(dns, "b.lmdb.example", "A").await.answers, ["192.0.2.2"]);
    estate.assert_quiet().await;

    estate.delete(&set).await;
    estate.once().await;
    assert!(query(dns, "b.lmdb.example", "A").await.is_nxdomain());
    assert!(query(dns, "c.lmdb.example", "A").await.is_nxdomain());
    assert!(estate.get(&set).await.is_none());
    estate.delete(&zone).await;
    estate.once().await;
    assert!(!estate.pdns.has_zone("lmdb.example").await && estate.get(&zone).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_notes_nothing_is_deleted_in_a_zone_that_another_owner_has_marked() {
    let options = Options { backend: Backend::Lmdb, extra: Vec::new() };
    let estate = Estate::with("lost", options).await;
    estate.zone("z", "lost.example").await;
    let set = estate.a("s", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    let theirs = json!({"account": "ds:ffffff:aaaaaaaaaaaaaaaaaaaaaaaaaa"});
    assert_eq!(estate.pdns.put_zone("lost.example", &theirs).await.0, 204);
    let edit = json!({"rrsets": [{"name": "www.lost.example.", "type": "A", "ttl": 60,
        "changetype": "REPLACE", "records": [{"content": "203.0.113.1", "disabled": false}]}]});
    assert_eq!(estate.pdns.patch("lost.example", &edit).await.0, 204);
    estate.delete(&set).await;
    estate.once_failing().await;
    assert!(estate.get(&set).await.is_none(), "nothing there waits for it");
    let answer = query(estate.pdns.dns_addr(), "www.lost.example", "A").await;
    // With comments the edit by hand has kept our note, and what carries the note goes with its object.
    let left: &[&str] = if estate.pdns.keeps_comments() { &[] } else { &["203.0.113.1"] };
    assert_eq!(answer.answers, left);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_zone_is_not_bound_by_comments_that_outlived_another() {
    let estate = Estate::new("outlived").await;
    let note = json!({"v": 1, "owner": "other", "object": "x/y", "uid": "u", "h": "0"}).to_string();
    let mut www = crate::support::estate::rr("www.old.example.", "192.0.2.9");
    if estate.pdns.keeps_comments() {
        www["comments"] = json!([{"account": "dns-syncd", "content": note, "modified_at": 0}]);
    }
    let old = crate::support::estate::native("old.example.", json!([www]));
    estate.pdns.create_zone(&old).await;
    // By hand, which clears no comments. The next zone has its number, and so finds them.
    assert_eq!(estate.pdns.delete_zone("old.example").await.0, 204);
    estate.zone("z", "outlived.example").await;
    let www = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    estate.edit(&www, json!({"records": a_records(&[("www", "192.0.2.2")])})).await;
    estate.once().await;
    assert_eq!(
        query(estate.pdns.dns_addr(), "www.outlived.example", "A").await.answers,
        ["192.0.2.2"]
    );
}

/// An edit with a slip deletes nothing that is served.
#[tokio::test(flavor = "multi_thread")]
async fn a_retype_with_a_slip_keeps_the_old_type_where_undeclared_means_gone() {
    let options = Options { backend: Backend::Lmdb, extra: Vec::new() };
    let estate =
        Estate::with("slip", options).await.reconfigured("policy.undeclared", json!("delete"));
    estate.zone("z", "slip.example").await;
    let www = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    let slip = json!([{"name": "www", "a": {"content": "192.0.2.1"}}]);
    estate.edit(&www, json!({"recordType": "CNAME", "records": slip})).await;
    estate.once_failing().await;
    let dns = estate.pdns.dns_addr();
    assert_eq!(query(dns, "www.slip.example", "A").await.answers, ["192.0.2.1"]);
    let right = json!([{"name": "www", "cname": {"content": "x.example.net"}}]);
    estate.edit(&www, json!({"records": right})).await;
    estate.once().await;
    assert_eq!(query(dns, "www.slip.example", "CNAME").await.answers, ["x.example.net."]);
    estate.assert_quiet().await;
}

//! Create, edit, delete: PowerDNS and the statuses follow within one pass, and a further pass is silent.

use serde_json::json;

use crate::support::estate::{Estate, a_records};
use crate::support::objects::{condition, finalizers};
use crate::support::query::query;
use crate::support::recorder::Server;

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_and_its_records_are_served_within_one_pass() {
    let estate = Estate::new("basics").await;
    let zone = estate.zone("z", "basics.example").await;
    let www = estate.a("www", "z", &[("www", "192.0.2.1"), ("@", "192.0.2.2")]).await;
    estate.once().await;

    let dns = estate.pdns.dns_addr();
    assert_eq!(query(dns, "www.basics.example", "A").await.answers, ["192.0.2.1"]);
    assert_eq!(query(dns, "basics.example", "A").await.answers, ["192.0.2.2"]);
    assert_eq!(
        query(dns, "basics.example", "NS").await.answers,
        ["ns1.example.net.", "ns2.example.net."]
    );
    let created = estate.writes_to(Server::PowerDns);
    // Where comments outlive their zone, it is made bare, they are cleared, and the records follow.
    let requests = if estate.pdns.comments_outlive_zones() { 3 } else { 1 };
    assert_eq!(created.len(), requests, "one POST makes the zone with all records: {created:#?}");

    let www = estate.get(&www).await.unwrap();
    let (status, _, message) = condition(&www, "Programmed").unwrap();
    assert_eq!((status.as_str(), message.as_str()), ("True", "All records programmed"));
    assert_eq!(condition(&www, "Accepted").unwrap().0, "True");
    let names: Vec<&str> = www["status"]["recordSets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["@", "www"]);
    let owner = &www["metadata"]["ownerReferences"][0];
    assert_eq!((owner["kind"].as_str(), owner["name"].as_str()), (Some("DNSZone"), Some("z")));
    assert!(owner.get("controller").is_none() && owner.get("blockOwnerDeletion").is_none());

    let zone = estate.get(&zone).await.unwrap();
    assert_eq!(condition(&zone, "Programmed").unwrap().2, "Default records ensured");
    assert_eq!(condition(&zone, "Accepted").unwrap().2, "Nameservers retrieved from downstream");
    assert_eq!(zone["status"]["nameservers"], json!(["ns1.example.net.", "ns2.example.net."]));
    assert_eq!(zone["status"]["recordCount"], json!(2));
    estate.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_and_a_deletion_are_followed_while_nothing_else_moves() {
    let estate = Estate::new("edit").await;
    estate.zone("z", "edit.example").await;
    let www = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.a("other", "z", &[("other", "192.0.2.9")]).await;
    estate.once().await;

    estate.edit(&www, json!({"records": a_records(&[("www", "192.0.2.7")])})).await;
    estate.recorder.clear();
    estate.once().await;
    assert_eq!(estate.pdns.contents("edit.example", "www.edit.example.", "A").await, ["192.0.2.7"]);
    let patches = estate.writes_to(Server::PowerDns);
    assert_eq!(patches.len(), 1);
    let rrsets = patches[0].body.as_ref().unwrap()["rrsets"].as_array().unwrap();
    assert_eq!(rrsets.len(), 1, "only the edited name is sent: {rrsets:#?}");

    estate.delete(&www).await;
    assert_eq!(finalizers(&estate.client, &www).await.len(), 1, "held until PowerDNS is proved");
    estate.once().await;
    assert!(estate.get(&www).await.is_none(), "released");
    let dns = estate.pdns.dns_addr();
    assert!(query(dns, "www.edit.example", "A").await.is_nxdomain());
    assert_eq!(query(dns, "other.edit.example", "A").await.answers, ["192.0.2.9"]);
    estate.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_note_stands_beside_the_records() {
    let estate = Estate::new("note").await;
    if estate.has_no_notes("what a note says") {
        return;
    }
    estate.zone("z", "note.example").await;
    let www = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    let note = estate.pdns.note("note.example", "www.note.example.", "A").await.expect("a note");
    assert_eq!(note["owner"], "test");
    assert_eq!(note["object"], json!(format!("{}/www", estate.namespace)));
    assert_eq!(note["uid"], www["metadata"]["uid"]);
    assert_eq!(note["h"].as_str().unwrap().len(), 16);
    let soa = estate.pdns.note("note.example", "note.example.", "SOA").await;
    assert!(soa.is_none(), "what the class makes carries none");
}

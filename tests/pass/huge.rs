//! What a tenant may declare at most, and what it costs others.

use serde_json::{Value, json};

use crate::support::estate::Estate;
use crate::support::recorder::{Request, Server};

/// Entries of one record set.
const ENTRIES: usize = 1_200;
/// Names that a status lists.
const LISTED: usize = 500;

#[tokio::test(flavor = "multi_thread")]
async fn a_huge_set_is_written_in_pieces_has_a_bounded_status_and_costs_its_neighbour_nothing() {
    let estate = Estate::new("huge").await;
    let estate = estate.reconfigured("powerdns.maxBatchRrsets", json!(200));
    let estate = estate.reconfigured("powerdns.maxBatchBytes", json!(40_000));
    estate.zone("z", "huge.example").await;
    estate.zone("y", "small.example").await;
    let entries: Value = (0..ENTRIES)
        .map(|n| json!({"name": format!("n{n}"), "txt": {"content": "x".repeat(100)}}))
        .collect();
    let huge = estate.set("huge", "z", "TXT", entries).await;
    let same = estate.a("same", "z", &[("www", "192.0.2.1")]).await;
    let other = estate.a("other", "y", &[("www", "192.0.2.2")]).await;
    estate.once().await;

    // The POST of the zone takes along as many as fit; without notes all others fill their PATCH.
    let small = |r: &Request| {
        r.path.contains("/small.example.") || r.body.as_ref().unwrap()["name"] == "small.example."
    };
    let writes = estate.writes_to(Server::PowerDns).into_iter();
    let bodies: Vec<Value> = writes.filter(|r| !small(r)).map(|r| r.body.unwrap()).collect();
    assert!(bodies.len() > ENTRIES / 200, "{}", bodies.len());
    for body in &bodies {
        assert!(body["rrsets"].as_array().unwrap().len() <= 200);
        assert!(body.to_string().len() <= 40_000, "{}", body.to_string().len());
    }
    let stored = estate.get(&huge).await.unwrap();
    let listed = stored["status"]["recordSets"].as_array().unwrap().len();
    assert!(listed <= LISTED, "{listed}");
    for set in [&huge, &same, &other] {
        assert_eq!(estate.programmed(set).await.0, "True");
    }
    // One status each, in one pass: nothing grows with the next.
    let statuses = estate.writes_to(Server::Kubernetes).into_iter();
    let statuses = statuses.filter(|r| r.path.contains("/dnsrecordsets/huge/status")).count();
    assert!(statuses <= 2, "{statuses}: Accepted, and what became of it");
    estate.assert_quiet().await;
}

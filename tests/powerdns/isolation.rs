//! A refused name is cut out: its neighbours are served, it alone is told why, and it costs few requests.

use std::collections::BTreeMap;

use dns_syncd::dns::rdata::Rdata;
use dns_syncd::dns::rrset::RecordType;
use dns_syncd::plan::{Failure, Outcome};
use serde_json::json;

use crate::support::recorder::Action;
use crate::world::{World, a, creates, many, mentions, one, outcomes, writes};

const ZONE: &str = "iso.example.";

/// Something that the server refuses and that no object can declare: an SOA beside the apex.
fn misplaced() -> dns_syncd::dns::rrset::Contents {
    one(Rdata::parse(RecordType::Soa, "a. b. 1 2 3 4 5").unwrap())
}

/// How many of `n0…` are served.
async fn served(world: &World) -> usize {
    let zone = world.pdns.get_zone(ZONE).await;
    let rrsets = zone["rrsets"].as_array().unwrap();
    rrsets
        .iter()
        .filter(|r| r["name"].as_str().unwrap().starts_with('n') && r["type"] == "A")
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_collides_with_a_foreign_name_stays_alone() {
    let world = World::usual().await;
    world.zone(ZONE).await;
    let plan = writes(ZONE, many(ZONE, 200));
    // Somebody writes it after the zone was read for the plan.
    let foreign = json!({"rrsets": [{
        "name": "n77.iso.example.", "type": "CNAME", "ttl": 60, "changetype": "REPLACE",
        "records": [{"content": "elsewhere.example.net.", "disabled": false}],
    }]});
    assert_eq!(world.pdns.patch(ZONE, &foreign).await.0, 204);

    let (done, failed) = outcomes(&world.apply(ZONE, &plan).await);
    assert_eq!(done, 199);
    let key = "n77.iso.example. A";
    assert!(matches!(failed[key], Failure::Conflict(_)) && failed.len() == 1, "{failed:?}");
    assert_eq!(served(&world).await, 199);
    assert_eq!(world.pdns.contents(ZONE, "n77.iso.example.", "CNAME").await.len(), 1);
    assert_eq!(world.patches().len(), 2, "the text names it, so one more request is enough");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_several_refused_costs_one_request_when_the_text_names_it() {
    let world = World::usual().await;
    world.zone(ZONE).await;
    let mut rrsets = many(ZONE, 200);
    for bad in [3, 90, 199] {
        rrsets[bad].1 = misplaced();
    }
    let (done, failed) = outcomes(&world.apply(ZONE, &writes(ZONE, rrsets)).await);
    assert_eq!(done, 197);
    let expected: BTreeMap<String, Failure> = [3, 90, 199]
        .map(|n| (format!("n{n}.iso.example. SOA"), Failure::Refused(String::new())))
        .into();
    assert_eq!(failed, expected);
    assert_eq!(served(&world).await, 197);
    assert_eq!(world.patches().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_text_names_is_found_by_halves() {
    for bad in [vec![123], vec![0, 199], vec![10, 11, 150]] {
        let world = World::usual().await;
        world.zone(ZONE).await;
        let names: Vec<String> = bad.iter().map(|n| format!("n{n}.iso.example.")).collect();
        let strange = json!({"error": "Key 'content' not present or not a String"});
        let hit = names.clone();
        world.recorder.always(
            move |r| r.method == "PATCH" && hit.iter().any(|n| mentions(r, n)),
            Action::Answer(422, strange),
        );
        let (done, failed) = outcomes(&world.apply(ZONE, &writes(ZONE, many(ZONE, 200))).await);
        assert_eq!(done, 200 - bad.len());
        let mut expected: Vec<String> = names.iter().map(|n| format!("{n} A")).collect();
        expected.sort();
        assert_eq!(failed.keys().cloned().collect::<Vec<_>>(), expected);
        assert!(failed.values().all(|f| matches!(f, Failure::Refused(_))), "{failed:?}");
        assert_eq!(served(&world).await, 200 - bad.len());
        // Each refused batch becomes two, and a bad name is in at most ⌈log₂ 200⌉ batches of two names or more.
        let (requests, bound) = (world.patches().len(), 1 + bad.len() * 2 * 8);
        assert!(requests <= bound, "{requests} requests for {} bad names", bad.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_large_for_the_server_is_halved() {
    let world = World::usual().await;
    world.zone(ZONE).await;
    let large = |r: &crate::support::recorder::Request| {
        r.body.as_ref().is_some_and(|b| b["rrsets"].as_array().is_some_and(|a| a.len() > 60))
    };
    world.recorder.always(large, Action::Answer(413, json!({"error": "too large"})));
    assert_eq!(
        outcomes(&world.apply(ZONE, &writes(ZONE, many(ZONE, 200))).await),
        (200, [].into())
    );
    assert_eq!(world.patches().len(), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_is_made_without_the_name_that_its_post_was_refused_for() {
    let world = World::usual().await;
    let mut rrsets = many(ZONE, 30);
    rrsets[7].1 = misplaced();
    let ns = Rdata::parse(RecordType::Ns, "ns1.example.net.").unwrap();
    rrsets.push((ZONE.to_owned(), one(ns)));
    let applied = world.apply(ZONE, &creates(rrsets)).await;
    assert!(matches!(applied.zone, Some(Outcome::Done(_))), "{:?}", applied.zone);
    let (done, failed) = outcomes(&applied);
    assert_eq!((done, failed.len()), (30, 1));
    assert!(matches!(failed["n7.iso.example. SOA"], Failure::Refused(_)), "{failed:?}");
    assert_eq!(served(&world).await, 29);
    let zone = world.pdns.get_zone(ZONE).await;
    assert_eq!((&zone["account"], &zone["kind"]), (&json!("mark"), &json!("Native")));
    assert_eq!(world.pdns.contents(ZONE, ZONE, "NS").await, ["ns1.example.net."]);
    let methods: Vec<String> = world.recorder.writes().into_iter().map(|r| r.method).collect();
    assert_eq!(methods, ["POST", "POST", "PATCH", "PATCH"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_refused_whole() {
    let world = World::usual().await;
    world.zone(ZONE).await;
    let mut rrsets = many(ZONE, 3);
    rrsets.push(("n1.iso.example.".to_owned(), misplaced()));
    let (done, failed) = outcomes(&world.apply(ZONE, &writes(ZONE, rrsets)).await);
    assert_eq!(done, 2);
    assert!(matches!(failed["n1.iso.example. SOA"], Failure::Refused(_)), "{failed:?}");
    assert!(matches!(failed["n1.iso.example. A"], Failure::NameHeld(_)), "{failed:?}");
    assert!(world.pdns.contents(ZONE, "n1.iso.example.", "A").await.is_empty());
    assert_eq!(world.stored(ZONE, "n2.iso.example.", RecordType::A).await, Some(a("192.0.2.1")));
}

/// A server that fails on one content, or breaks the connection for it, tells nobody which.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_the_server_fails_on_costs_its_name_alone() {
    for action in [Action::Answer(500, json!({"error": "Internal Server Error"})), Action::Reset] {
        let world = World::usual().await;
        world.zone(ZONE).await;
        world.recorder.always(|r| r.is_write() && mentions(r, "n77.iso.example."), action);
        let (done, failed) = outcomes(&world.apply(ZONE, &writes(ZONE, many(ZONE, 200))).await);
        assert_eq!((done, failed.len()), (199, 1), "{failed:?}");
        assert!(failed.contains_key("n77.iso.example. A"), "{failed:?}");
        assert_eq!(served(&world).await, 199);
        let patches = world.patches().len();
        assert!(patches <= 1 + 2 * 8, "1 + 2·⌈log₂ 200⌉, not {patches}");
    }
}

/// Neighbours that the server fails on are not the server; a server that fails everything is found out soon.
#[tokio::test(flavor = "multi_thread")]
async fn neighbours_that_the_server_fails_on_cost_their_names_alone() {
    let fails = || Action::Answer(500, json!({"error": "Internal Server Error"}));
    let world = World::usual().await;
    world.zone(ZONE).await;
    let bad = ["n100.iso.example.", "n101.iso.example.", "n102.iso.example."];
    world.recorder.always(move |r| r.is_write() && bad.iter().any(|n| mentions(r, n)), fails());
    let applied = world.apply(ZONE, &writes(ZONE, many(ZONE, 200))).await;
    assert_eq!(applied.isolated.len(), 3, "each is remembered: {:?}", applied.isolated);
    let (done, failed) = outcomes(&applied);
    assert_eq!((done, failed.len()), (197, 3), "{failed:?}");
    assert_eq!(served(&world).await, 197);

    let world = World::usual().await;
    world.zone(ZONE).await;
    world.recorder.always(|r| r.method == "PATCH", fails());
    let applied = world.apply(ZONE, &writes(ZONE, many(ZONE, 200))).await;
    assert!(applied.stopped && applied.isolated.is_empty(), "{:?}", applied.isolated);
    assert_eq!(world.patches().len(), 1 + 8 + 1 + 1, "⌈log₂ 200⌉ + 3");
}

/// A zone whose records the server fails on is made without them, and they are written one by one.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_zone_is_made_without_what_the_server_fails_on() {
    let world = World::usual().await;
    let fails = Action::Answer(500, json!({"error": "Internal Server Error"}));
    world.recorder.always(|r| r.is_write() && mentions(r, "n3.iso.example."), fails);
    let applied = world.apply(ZONE, &creates(many(ZONE, 8))).await;
    assert!(matches!(applied.zone, Some(Outcome::Done(_))), "{:?}", applied.zone);
    let (done, failed) = outcomes(&applied);
    assert_eq!((done, failed.len()), (7, 1), "{failed:?}");
    assert_eq!(served(&world).await, 7);
}

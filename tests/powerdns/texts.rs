//! The texts of a real server's refusals: the name and type in them are what the batch is parted by.

use dns_syncd::dns::rrset::RecordType;
use dns_syncd::plan::Failure;
use dns_syncd::powerdns::Error;
use dns_syncd::powerdns::wire::{offender, refusal};
use serde_json::{Value, json};

use crate::world::{World, name};

const ZONE: &str = "texts.example.";

fn replace(owner: &str, rtype: &str, contents: &[&str]) -> Value {
    let records = contents.iter().map(|c| json!({"content": c, "disabled": false}));
    json!({
        "name": owner, "type": rtype, "ttl": 60, "changetype": "REPLACE",
        "records": records.collect::<Vec<_>>(),
    })
}

/// The text of a refusal.
async fn refused(world: &World, rrsets: Vec<Value>) -> String {
    let shown = format!("{rrsets:?}");
    match world.client.patch(ZONE, rrsets).await {
        Err(Error::Status { status: 422, text, .. }) => text,
        other => panic!("{shown}: {other:?}"),
    }
}

fn collides(text: &str) -> bool {
    matches!(refusal(text), Failure::Conflict(_))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_offender_is_found_in_every_text_that_names_it() {
    let world = World::usual().await;
    world.zone(ZONE).await;
    let mut faults: Vec<(&str, &[&str])> = vec![
        ("A", &["999.1.1.1"]),
        ("A", &["192.000.002.001"]),
        ("A", &["192.0.2.1", "192.0.2.1"]),
        ("A", &["it's 'quoted' / IN A"]),
        ("CNAME", &["a.example.", "b.example."]),
        ("CNAME", &["no-final-dot"]),
        ("MX", &["10 _m.example."]),
        ("NS", &["192.0.2.1"]),
        ("SOA", &["a. b. 1 2 3 4 5"]),
        ("TXT", &["unquoted text"]),
    ];
    if world.pdns.version() < (5, 1, 0) {
        // Later ones take a dotted quad, and see to the last quote themselves.
        faults.push(("AAAA", &["::ffff:192.0.2.1"]));
        faults.push(("TXT", &["\"a/b 'c' IN\" \"d"]));
    }
    for owner in ["t", "0/25", "a/b/c", "*.w", "_sip._tcp", "UPPER", "xn--bcher-kva"] {
        let owner = format!("{owner}.{ZONE}");
        for (rtype, contents) in &faults {
            let text = refused(&world, vec![replace(&owner, rtype, contents)]).await;
            let expected = Some((name(&owner), Some(rtype.parse::<RecordType>().unwrap())));
            assert_eq!(offender(&text), expected, "{text}");
            assert!(!collides(&text), "{text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_the_request_is_told_from_what_is_wrong_with_a_name() {
    let world = World::usual().await;
    world.zone(ZONE).await;
    let a = |owner: &str| replace(owner, "A", &["192.0.2.1"]);
    let t = "t.texts.example.";
    let whole = Some((name(t), Some(RecordType::A)));
    let nothing = json!({"name": t, "type": "A", "changetype": "REPLACE"});
    assert_eq!(offender(&refused(&world, vec![nothing]).await), whole);
    assert_eq!(offender(&refused(&world, vec![a(t), a("T.texts.example.")]).await), whole);
    let outside = "x.elsewhere.example.";
    let expected = Some((name(outside), Some(RecordType::A)));
    assert_eq!(offender(&refused(&world, vec![a(outside)]).await), expected);

    // The name alone.
    let strange = r"a\032b.texts.example.";
    let text = refused(&world, vec![a(strange)]).await;
    assert_eq!(offender(&text), Some((name(strange), None)), "{text}");
    assert_eq!(offender(&refused(&world, vec![a("t.texts.example")]).await), Some((name(t), None)));
    let unknown = refused(&world, vec![replace(t, "FOO", &["x"])]).await;
    assert_eq!(offender(&unknown), Some((name(t), None)), "{unknown}");

    // Nothing.
    for anonymous in [
        a("a..b.texts.example."),
        json!({"name": t, "type": "A", "ttl": 60, "changetype": "UPSERT", "records": []}),
        json!({"name": t, "type": "A", "ttl": 60, "changetype": "REPLACE", "records": [{"disabled": false}]}),
    ] {
        let text = refused(&world, vec![anonymous]).await;
        assert_eq!(offender(&text), None, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collision_is_told_from_other_refusals() {
    let world = World::usual().await;
    world.zone(ZONE).await;
    let t = "0/25.texts.example.";
    let a = || replace(t, "A", &["192.0.2.1"]);
    let cname = || replace(t, "CNAME", &["a.example."]);
    for (first, second, rtype) in [(a(), cname(), RecordType::Cname), (cname(), a(), RecordType::A)]
    {
        let text = refused(&world, vec![first, second]).await;
        assert!(collides(&text), "{text}");
        assert_eq!(offender(&text), Some((name(t), Some(rtype))));
    }
}

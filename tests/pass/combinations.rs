//! Ends of record sets and zones on real servers: a sample of `support/combinations` in which each value of one question
//! meets each of every other. What the models say in `tests/laws` is thereby checked on what they model.

use std::collections::BTreeSet;
use std::fmt::Debug;

use serde_json::{Value, json};

use crate::support::daemon;
use crate::support::estate::Estate;
use crate::support::objects;
use crate::support::recorder::{Action, Request, Server};
use crate::table::{
    DEAD, DOMAIN, Expected, Names, Object, Reach, Seen, Setup, differences, sets, zones,
};

/// How many worlds are tried side by side.
const ABREAST: usize = 4;

/// Each note in each state of the DNSZone, the rest dealt out so that all pairs occur.
fn sample_of_sets() -> Vec<sets::Case> {
    let places = (0..sets::ZONES.len()).flat_map(|z| (0..sets::NOTES.len()).map(move |n| (z, n)));
    let case = |(z, n): (usize, usize)| sets::Case {
        object: sets::OBJECTS[(z + n / 2) % 2],
        zone: sets::ZONES[z],
        class: sets::CLASSES[(2 * z + n) % 3],
        server: sets::SERVERS[(z + n) % 4],
        note: sets::NOTES[n],
    };
    places.map(case).collect()
}

/// Each class with each state of the zone in PowerDNS, likewise.
fn sample_of_zones() -> Vec<zones::Case> {
    let places =
        (0..zones::SERVERS.len()).flat_map(|s| (0..zones::CLASSES.len()).map(move |c| (s, c)));
    let case = |(s, c): (usize, usize)| zones::Case {
        object: zones::OBJECTS[(s + c / 2 + s / 4) % 2],
        rival: zones::RIVALS[(s + c) % 3],
        class: zones::CLASSES[c],
        server: zones::SERVERS[s],
        theirs: (s + c) % 2 == 1,
    };
    places.map(case).collect()
}

/// All pairs of values that stand together in a case.
fn pairs<C: Debug>(cases: &[C]) -> BTreeSet<(String, String)> {
    let mut out = BTreeSet::new();
    for case in cases {
        let text = format!("{case:?}");
        let fields: Vec<&str> = text.split(['{', ',', '}']).skip(1).collect();
        for (i, a) in fields.iter().enumerate() {
            out.extend(fields[i + 1..].iter().map(|b| ((*a).to_owned(), (*b).to_owned())));
        }
    }
    out
}

#[test]
fn the_samples_have_every_pair() {
    assert_eq!(pairs(&sample_of_sets()), pairs(&sets::all()));
    assert_eq!(pairs(&sample_of_zones()), pairs(&zones::all()));
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap().to_owned()
}

/// Makes a world of an estate.
async fn build(estate: &Estate, setup: Setup) -> Names {
    let foreign = format!("{}-foreign", estate.class);
    let mut class = objects::class(&foreign, &[]);
    class["spec"]["controllerName"] = json!("another");
    objects::create(&estate.client, &class).await;
    let anchor = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "anchor", "namespace": estate.namespace}});
    let anchor = objects::create(&estate.client, &anchor).await;
    let mut names = Names {
        owner: "test".to_owned(),
        namespace: estate.namespace.clone(),
        ours: estate.class.clone(),
        foreign,
        anchor_uid: uid(&anchor),
        zone_uid: DEAD.replace('7', "6"),
        ..Names::default()
    };
    // The older one comes first. In the same second the name decides, to the same end.
    let mut zones = vec![setup.rival_object(&names), setup.zone_object(&names)];
    if setup.rival_name().is_some_and(|rival| rival > "z0") {
        zones.reverse();
    }
    for zone in zones.into_iter().flatten() {
        let made = objects::create(&estate.client, &zone).await;
        let which = if zone["metadata"]["name"] == "z0" {
            &mut names.zone_uid
        } else {
            &mut names.rival_uid
        };
        *which = uid(&made);
    }
    let set = objects::create(&estate.client, &names.set_object()).await;
    names.set_uid = uid(&set);
    if let Some((Object::Terminating, _)) = setup.zone {
        estate.delete(&setup.zone_object(&names).unwrap()).await;
    }
    if setup.set == Object::Terminating {
        estate.delete(&set).await;
    }
    if let Some(zone) = setup.stored_zone(&names) {
        estate.pdns.create_zone(&zone).await;
    }
    names
}

async fn seen(estate: &Estate, setup: Setup, names: &Names) -> Seen {
    let there = estate.pdns.has_zone(DOMAIN).await;
    Seen {
        stored: if there { Some(estate.pdns.get_zone(DOMAIN).await) } else { None },
        set: estate.get(&names.set_object()).await,
        zone: match setup.zone_object(names) {
            Some(zone) => estate.get(&zone).await,
            None => None,
        },
    }
}

/// Takes our finalizers off what is left, so that nothing stays behind.
async fn clear(estate: &Estate, setup: Setup, names: &Names) {
    let all = [Some(names.set_object()), setup.zone_object(names), setup.rival_object(names)];
    for object in all.into_iter().flatten() {
        if estate.get(&object).await.is_some() {
            let bare = json!({"metadata": {"finalizers": null}});
            objects::patch(&estate.client, &object, &bare).await;
        }
    }
}

/// What is wrong with what comes of a world; nothing, as a rule.
async fn wrong(setup: Setup, expected: Expected) -> Vec<String> {
    let estate = Estate::noted("ends").await;
    let names = build(&estate, setup).await;
    let before = seen(&estate, setup, &names).await;
    match setup.reach {
        Reach::Up => {}
        Reach::Down => estate.pdns.stop().await,
        Reach::Unread => estate.recorder.always(
            |r: &Request| r.server == Server::PowerDns && r.path.contains("/zones/example.test."),
            Action::Answer(500, json!({"error": "Internal Server Error"})),
        ),
    }
    for _ in 0..setup.passes() {
        daemon::once(&estate.config).await;
    }
    estate.recorder.clear();
    daemon::once(&estate.config).await;
    let mut writes = estate.recorder.writes();
    // Unless the pass before let the DNSZone go and the zone stay: that is told once.
    writes.retain(|r| r.body.as_ref().is_none_or(|body| body["reason"] != "OrphanFound"));
    if setup.reach == Reach::Down {
        estate.pdns.restart().await;
    }
    let mut out = differences(&expected, &names, &before, &seen(&estate, setup, &names).await);
    if !writes.is_empty() {
        out.push(format!("the pass after it writes {writes:#?}"));
    }
    clear(&estate, setup, &names).await;
    out
}

async fn try_all<C: Debug>(cases: &[C], parts: impl Fn(&C) -> (Setup, Expected)) {
    let mut failed = Vec::new();
    for abreast in cases.chunks(ABREAST) {
        let outcomes = abreast.iter().map(|case| {
            let (setup, expected) = parts(case);
            wrong(setup, expected)
        });
        for (case, wrong) in abreast.iter().zip(futures::future::join_all(outcomes).await) {
            if !wrong.is_empty() {
                failed.push(format!("{case:?}\n  {:?}\n  {}", parts(case).1, wrong.join("\n  ")));
            }
        }
    }
    assert!(failed.is_empty(), "{} end otherwise:\n{}", failed.len(), failed.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn ends_of_record_sets() {
    try_all(&sample_of_sets(), |case| (case.setup(), case.expected())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ends_of_zones() {
    try_all(&sample_of_zones(), |case| (case.setup(), case.expected())).await;
}

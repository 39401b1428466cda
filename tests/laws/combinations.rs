//! Every end in every combination, over the models. `support/combinations` has the worlds and what must come of each.

use dns_syncd::plan::Memory;
use serde_json::{Value, json};

use crate::cluster::{Cluster, Place};
use crate::model::Model;
use crate::rig::Rig;
use crate::scenario::OWNER;
use crate::table::{
    APEX, Expected, Names, Object, Reach, Rival, Seen, Setup, differences, sets, zones,
};
use crate::vocabulary::class;
use crate::world::World;

fn names(setup: Setup) -> Names {
    let uid = |n: u8| format!("00000000-0000-4000-8000-0000000000{n:02}");
    Names {
        owner: OWNER.to_owned(),
        namespace: "ns".to_owned(),
        ours: "ours".to_owned(),
        foreign: "foreign".to_owned(),
        anchor_uid: uid(1),
        zone_uid: uid(2),
        rival_uid: uid(if setup.rival == Rival::None { 0 } else { 3 }),
        set_uid: uid(4),
    }
}

fn place(plural: &str, name: &str) -> Place {
    (plural.to_owned(), "ns".to_owned(), name.to_owned())
}

/// Puts an object in as it is after its creation, at `second`.
fn put(cluster: &mut Cluster, plural: &str, mut object: Value, uid: &str, second: u8) {
    object["metadata"]["uid"] = json!(uid);
    object["metadata"]["generation"] = json!(1);
    object["metadata"]["creationTimestamp"] = json!(format!("2026-01-01T00:00:0{second}Z"));
    cluster.put(plural, object);
}

fn world(setup: Setup, names: &Names) -> World {
    let mut cluster = Cluster::default();
    cluster.put("dnszoneclasses", class("ours"));
    cluster.put("dnszoneclasses", class("foreign"));
    let anchor = json!({"metadata": {"name": "anchor", "namespace": "ns"}});
    put(&mut cluster, "configmaps", anchor, &names.anchor_uid, 0);
    if let Some(rival) = setup.rival_object(names) {
        let second = if setup.rival == Rival::Older { 1 } else { 3 };
        put(&mut cluster, "dnszones", rival, &names.rival_uid, second);
    }
    if let Some(zone) = setup.zone_object(names) {
        put(&mut cluster, "dnszones", zone, &names.zone_uid, 2);
    }
    put(&mut cluster, "dnsrecordsets", names.set_object(), &names.set_uid, 4);
    if matches!(setup.zone, Some((Object::Terminating, _))) {
        cluster.delete(&place("dnszones", "z0"));
    }
    if setup.set == Object::Terminating {
        cluster.delete(&place("dnsrecordsets", "s0"));
    }
    let mut model = Model { comments: true, ..Model::default() };
    if let Some(body) = setup.stored_zone(names) {
        let answer = model.create(&body);
        assert_eq!(answer.0, 201, "{answer:?}");
    }
    match setup.reach {
        Reach::Up => {}
        Reach::Down => model.unlisted = true,
        Reach::Unread => model.unread = [APEX.to_owned()].into(),
    }
    World::new(cluster, model)
}

fn seen(world: &World) -> Seen {
    let mut model = Model { unread: [].into(), ..world.pdns.clone() };
    let (status, body) = model.answer("GET", &format!("/zones/{APEX}"), "", &Value::Null);
    let object =
        |plural: &str, name: &str| world.cluster.objects.get(&place(plural, name)).cloned();
    Seen {
        stored: (status == 200).then_some(body),
        set: object("dnsrecordsets", "s0"),
        zone: object("dnszones", "z0"),
    }
}

/// What is wrong with what comes of a world; nothing, as a rule.
fn wrong(rig: &mut Rig, setup: Setup, expected: &Expected) -> Vec<String> {
    let names = names(setup);
    let world = world(setup, &names);
    let before = seen(&world);
    rig.load(&world, 500);
    for _ in 0..setup.passes() {
        rig.pass();
    }
    let mut out = differences(expected, &names, &before, &seen(&rig.world()));
    // Another process, which remembers nothing, has nothing to do.
    rig.syncer.memory = tokio::sync::Mutex::new(Memory::default());
    rig.pass();
    let mut world = rig.world();
    // Unless the pass before let the DNSZone go and the zone stay: that is told once.
    world.writes.retain(|write| !write.contains("\"OrphanFound\""));
    if !world.writes.is_empty() {
        out.push(format!("the pass after it writes {:#?}", world.writes));
    }
    out.extend(world.violations.iter().map(|(law, text)| format!("{law}: {text}")));
    out
}

/// Tries all, or so many of them as `LAWS_ENDS` says, evenly spread, and shows the first few that are wrong.
/// Gives how many there are.
fn try_all<C: std::fmt::Debug>(
    cases: impl Iterator<Item = C>,
    parts: impl Fn(&C) -> (Setup, Expected),
) -> usize {
    let cases: Vec<C> = cases.collect();
    let some = std::env::var("LAWS_ENDS").ok().map(|n| n.parse::<usize>().unwrap());
    let step = some.map_or(1, |some| (cases.len() / some.max(1)).max(1));
    let mut rig = Rig::new();
    let (mut tried, mut failed) = (0, Vec::new());
    for case in cases.iter().step_by(step) {
        let (setup, expected) = parts(case);
        let wrong = wrong(&mut rig, setup, &expected);
        tried += 1;
        if !wrong.is_empty() {
            failed.push(format!("{case:?}\n  {expected:?}\n  {}", wrong.join("\n  ")));
        }
    }
    let shown = failed.iter().take(12).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(failed.is_empty(), "{} of {tried} end otherwise:\n{shown}", failed.len());
    cases.len()
}

fn record_sets(object: Object) -> usize {
    let cases = sets::all().into_iter().filter(|case| case.object == object);
    try_all(cases, |case| (case.setup(), case.expected()))
}

fn dns_zones(object: Object) -> usize {
    let cases = zones::all().into_iter().filter(|case| case.object == object);
    try_all(cases, |case| (case.setup(), case.expected()))
}

#[test]
fn every_end_of_a_live_record_set() {
    assert_eq!(record_sets(Object::Live), 4 * 3 * 4 * 6);
}

#[test]
fn every_end_of_a_terminating_record_set() {
    assert_eq!(record_sets(Object::Terminating), 4 * 3 * 4 * 6);
}

#[test]
fn every_end_of_a_live_zone() {
    assert_eq!(dns_zones(Object::Live), 3 * 4 * 8 * 2);
}

#[test]
fn every_end_of_a_terminating_zone() {
    assert_eq!(dns_zones(Object::Terminating), 3 * 4 * 8 * 2);
}

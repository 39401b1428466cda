//! The figures of a pass: how many names and objects are in which state, and since when.

use dns_syncd::plan::census::Census;
use dns_syncd::plan::{Failure, settle};
use serde_json::json;

use crate::scene::{NOW, Scene, all_done, all_failed};

/// A zone with one set that declares `www`.
fn scene() -> Scene {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "ours");
    scene.set("s", "a", "A", &[("www", "192.0.2.1")]);
    scene
}

fn census(scene: &mut Scene) -> Census {
    scene.pass().summary.census
}

#[test]
fn names_that_are_not_served_are_counted_by_reason() {
    let mut scene = scene();
    scene.set("loser", "a", "A", &[("www", "192.0.2.2"), ("mine", "192.0.2.2")]);
    scene.set("bad", "a", "A", &[("x", "nonsense"), ("y", "nonsense"), ("www.b.", "192.0.2.1")]);
    let reasons = [("NotOwner", 1), ("PDNSError", 3)];
    scene.rest();
    assert_eq!(census(&mut scene).unprogrammed, reasons.into());
    // Of what another controller serves nothing is said.
    scene.zone("f", "f.test", "foreign");
    scene.set("theirs", "f", "A", &[("x", "nonsense")]);
    let census = census(&mut scene);
    assert_eq!((census.foreign, census.unprogrammed), (1, reasons.into()));
}

#[test]
fn names_are_counted_by_type_with_those_that_are_served() {
    let mut scene = scene();
    scene.set("many", "a", "TXT", &[("x", "t"), ("y", "t"), ("z", "t"), ("a..b", "t")]);
    scene.rest();
    let types = [("A", (1, 1)), ("TXT", (4, 3))];
    assert_eq!(census(&mut scene).declared, types.into());
    let plan = scene.plan();
    let failed = all_failed(&plan, &Failure::Status(500));
    assert_eq!(scene.settle(&plan, &failed).summary.census.declared, types.into());
    scene.set("new", "a", "A", &[("new", "192.0.2.1")]);
    let plan = scene.plan();
    let failed = all_failed(&plan, &Failure::Status(500));
    assert_eq!(scene.settle(&plan, &failed).summary.census.declared["A"], (2, 1));
}

/// What took a set from its last edit to being served is measured once, when all of it is.
#[test]
fn a_set_that_comes_to_be_served_is_told_with_the_time_of_its_edit() {
    const EDITED: i64 = 1_767_312_000;
    let mut scene = scene();
    let edited = json!([{"time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:spec": {}}}]);
    scene.edit("dnsrecordsets", "s", |set| set["metadata"]["managedFields"] = edited);
    // As far as accepted, which is no more than a promise.
    let plan = scene.plan();
    let failed = all_failed(&plan, &Failure::Status(500));
    assert!(scene.settle(&plan, &failed).summary.census.programmed.is_empty());
    assert!(scene.said("dnsrecordsets", "s", None, "Accepted").starts_with("True"));
    let mut programmed = Vec::new();
    for _ in 0..4 {
        programmed.extend(census(&mut scene).programmed);
    }
    assert_eq!(programmed, [EDITED], "once");

    // A new generation is a new edit; a status that is written for another reason is none.
    scene.edit("dnsrecordsets", "s", |set| set["metadata"]["generation"] = json!(2));
    assert_eq!(census(&mut scene).programmed, [EDITED]);
    scene.edit("dnsrecordsets", "s", |set| {
        for condition in set["status"]["conditions"].as_array_mut().unwrap() {
            condition["message"] = json!("somebody's");
        }
    });
    let plan = scene.plan();
    let after = settle(&plan, &all_done(&plan), NOW);
    assert_eq!((after.statuses.len(), after.summary.census.programmed), (1, vec![]));
}

#[test]
fn objects_that_wait_for_their_end_are_counted_from_the_oldest() {
    const FIRST: i64 = 1_767_225_600;
    let mut scene = scene();
    scene.set("t", "a", "A", &[("t", "192.0.2.1")]);
    scene.rest();
    let calm = census(&mut scene);
    assert_eq!((calm.terminating, calm.oldest_deletion), (0, None));
    for (set, time) in [("s", "2026-01-02T00:00:00Z"), ("t", "2026-01-01T00:00:00Z")] {
        scene.delete("dnsrecordsets", set);
        scene.edit("dnsrecordsets", set, |set| set["metadata"]["deletionTimestamp"] = json!(time));
    }
    scene.world.pdns.unlisted = true;
    let waiting = census(&mut scene);
    assert_eq!((waiting.terminating, waiting.oldest_deletion), (2, Some(FIRST)));
    scene.delete("dnszones", "a");
    assert_eq!(census(&mut scene).terminating, 3);
    // What is let go does not wait.
    scene.world.pdns.unlisted = false;
    assert_eq!(census(&mut scene).terminating, 0);
}

//! What is told of a change, once, and how much of it: events of transitions, lists that stay bounded, releases.

use dns_syncd::api::FINALIZER_RECORD_SET;
use dns_syncd::plan::release::Released;
use dns_syncd::plan::statuses::accepted_first;
use dns_syncd::plan::{Aftermath, Applied, Failure, Outcome, Plan, brake};
use serde_json::json;

use crate::rig::policy;
use crate::scenario::name;
use crate::scene::{NOW, Scene, all_done, all_failed, finalized};

const FAILED: &str = "Failed to apply DNS record. It will be retried automatically";

/// A zone with one set of these names.
fn scene(records: &[(&str, &str)]) -> Scene {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "ours");
    scene.set("s", "a", "A", records);
    scene.rest();
    scene
}

fn events(after: &Aftermath) -> Vec<String> {
    let events = after.events.iter();
    events.map(|e| format!("{} {}: {}", e.meta.name, e.reason, e.note)).collect()
}

/// A pass whose answers are the given ones; what it told.
fn pass(scene: &mut Scene, answer: impl FnOnce(&Plan) -> Applied) -> Vec<String> {
    let plan = scene.plan();
    events(&scene.settle(&plan, &answer(&plan)))
}

#[test]
fn a_set_tells_each_change_of_its_state_once() {
    let mut scene = scene(&[("www", "192.0.2.1")]);
    scene.declare("s", &[("www", "192.0.2.2")]);
    let failing = |failure: Failure| move |plan: &Plan| all_failed(plan, &failure);
    let unknown = || Failure::Unknown("gone".to_owned());
    let error = format!("s PDNSError: www: {FAILED}: gone; it was programmed before");
    assert_eq!(pass(&mut scene, failing(unknown())), std::slice::from_ref(&error));
    assert!(pass(&mut scene, failing(unknown())).is_empty());
    // That it waits meanwhile is no news.
    assert!(pass(&mut scene, failing(Failure::NotSent("later".to_owned()))).is_empty());
    assert_eq!(pass(&mut scene, failing(unknown())), [error]);
    let conflict = pass(&mut scene, failing(Failure::Conflict("CNAME".to_owned())));
    assert_eq!(conflict.len(), 1);
    assert!(
        conflict[0].starts_with("s Conflict: www: A conflicting record")
            && conflict[0].ends_with(": CNAME")
    );
    assert_eq!(pass(&mut scene, all_done), ["s Programmed: 1 names are served"]);
    let pending = pass(&mut scene, failing(Failure::NotSent("later".to_owned())));
    let told = "s Pending: www: Record not yet programmed: later; it was programmed before";
    assert_eq!(pending, [told], "from served to waiting is news");
}

#[test]
fn the_gravest_of_several_reasons_names_the_state() {
    let mut scene = scene(&[("a", "192.0.2.1"), ("b", "192.0.2.1"), ("c", "192.0.2.1")]);
    let with = |failures: [Failure; 3]| {
        move |plan: &Plan| {
            let mut applied = all_done(plan);
            let keys = &mut applied.zones.get_mut(&name("a.test.")).unwrap().keys;
            for (outcome, failure) in keys.values_mut().zip(failures) {
                *outcome = Outcome::Failed(failure);
            }
            applied
        }
    };
    scene.declare("s", &[("a", "192.0.2.2"), ("b", "192.0.2.2"), ("c", "192.0.2.2")]);
    let text = String::new;
    let waits = || Failure::NameHeld(text());
    let told = pass(&mut scene, with([waits(), waits(), Failure::Conflict(text())]));
    assert!(told[0].starts_with("s Conflict: c: "), "{told:?}");
    let told = pass(&mut scene, with([Failure::Conflict(text()), Failure::Status(500), waits()]));
    assert!(told[0].starts_with("s PDNSError: b: "), "{told:?}");
    // The API server takes 1024 bytes, and says characters.
    let long = Failure::Conflict("ë".repeat(2_000));
    let told = pass(&mut scene, with([long.clone(), long.clone(), long]));
    let note = told[0].strip_prefix("s Conflict: ").unwrap();
    assert!((1_023..=1_024).contains(&note.len()), "{}", note.len());
}

#[test]
fn a_zone_that_is_made_again_says_so() {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "ours");
    let plan = scene.plan();
    assert!(
        events(&scene.settle(&plan, &all_failed(&plan, &Failure::Status(500))))
            .iter()
            .all(|e| !e.contains("created"))
    );
    let served = "a Programmed: Default records ensured";
    assert_eq!(pass(&mut scene, all_done), ["a ZoneCreated: zone a.test. was created", served]);
    scene.rest();
    scene.world.pdns.zones.remove("a.test.");
    let again = "a ZoneRecreated: zone a.test. was missing from PowerDNS and was created again";
    assert_eq!(pass(&mut scene, all_done), [again]);
}

/// What changes in a DNSZone's status beside its condition is no news, nor is another reason to wait.
#[test]
fn a_zone_tells_no_more_than_its_change_of_state() {
    let mut scene = scene(&[("www", "192.0.2.1")]);
    let told = |scene: &mut Scene| {
        let plan = scene.plan();
        let after = scene.settle(&plan, &all_done(&plan));
        let written = after.statuses.iter().filter(|write| write.meta.name == "a").count();
        let events = events(&after).into_iter().filter(|event| event.starts_with("a "));
        (written, events.collect::<Vec<_>>())
    };
    scene.set("t", "a", "A", &[("t", "192.0.2.1")]);
    assert_eq!(told(&mut scene), (1, vec![]), "the number of its records");
    scene.edit("dnszones", "a", |zone| zone["status"]["conditions"][1]["reason"] = json!("X"));
    scene.edit("dnszones", "a", |zone| zone["spec"]["dnsZoneClassName"] = json!("missing"));
    assert_eq!(told(&mut scene), (1, vec![]), "it waited already");
}

#[test]
fn other_deletes_that_are_held_are_news() {
    let mut scene = scene(&[("www", "192.0.2.1")]);
    for i in 0..3 {
        scene.set(&format!("t{i}"), "a", "A", &[(&format!("t{i}"), "192.0.2.1")]);
    }
    scene.rest();
    let mut held = |gone: Option<&str>| {
        if let Some(gone) = gone {
            scene.vanish("dnsrecordsets", gone);
        }
        let brakes = dns_syncd::plan::brakes::Brakes { implicit_total: 0, ..policy().brakes };
        let plan = brake(scene.plan(), &scene.world.snapshot(), brakes, &Released::default());
        events(&scene.carry_out(&plan)).len()
    };
    assert_eq!([held(Some("t0")), held(None), held(Some("t1")), held(None)], [1, 0, 1, 0]);
}

#[test]
fn a_set_that_nothing_tells_the_place_of_is_let_go_with_a_word() {
    for (notes, told) in [(true, 0), (false, 1)] {
        let mut scene = scene(&[("www", "192.0.2.1")]);
        scene.world.cluster.uncollected = true;
        scene.vanish("dnszones", "a");
        scene.pdns("a.test.").account = "somebody's".to_owned();
        if !notes {
            scene.pdns("a.test.").rrsets.values_mut().for_each(|rrset| rrset.comments.clear());
        }
        scene.delete("dnsrecordsets", "s");
        let after = scene.pass();
        let homeless = after.events.iter().filter(|e| e.reason == "ReleasedWithoutZone").count();
        assert_eq!((homeless, after.set_releases.len()), (told, 1));
    }
}

#[test]
fn a_status_lists_five_hundred_names_and_spells_out_ten() {
    for (count, listed) in [(500, 500), (501, 0)] {
        let names: Vec<String> = (0..count).map(|i| format!("n{i:03}")).collect();
        let records: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), "192.0.2.1")).collect();
        let mut scene = Scene::new();
        scene.zone("a", "a.test", "ours");
        scene.set("s", "a", "A", &records);
        let plan = scene.plan();
        let status = |after: &Aftermath| {
            let write = after.statuses.iter().find(|w| w.meta.name == "s").unwrap();
            let listed = write.body["status"]["recordSets"].as_array().unwrap().len();
            (listed, write.body["status"]["conditions"][1]["message"].clone())
        };
        let settled = |applied: &Applied| status(&dns_syncd::plan::settle(&plan, applied, NOW));
        let all = if count > 500 { ": 501 names" } else { "" };
        assert_eq!(
            settled(&all_done(&plan)),
            (listed, json!(format!("All records programmed{all}")))
        );
        let (failing, message) = settled(&all_failed(&plan, &Failure::Status(500)));
        let more = format!("n008, n009 and {} more", count - 10);
        assert_eq!(failing, 500);
        assert!(message.as_str().unwrap().ends_with(&more), "{message}");
        let mut some = all_done(&plan);
        let keys = &mut some.zones.get_mut(&name("a.test.")).unwrap().keys;
        for ((owner, _), outcome) in keys {
            if owner.as_str().starts_with("n00") {
                *outcome = Outcome::Failed(Failure::Status(500));
            }
        }
        let ten = "One or more records not yet programmed: n000, n001, n002, n003, n004, n005, n006, n007, n008, n009";
        assert_eq!(settled(&some), (if count > 500 { 10 } else { 500 }, json!(ten)));
    }
}

/// Nothing is written for a set before its status says that it is accepted.
#[test]
fn acceptance_is_said_first_and_once() {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "ours");
    scene.set("s", "a", "A", &[("www", "192.0.2.1")]);
    let write = accepted_first(&scene.plan().sets["u-s"], NOW).unwrap();
    let accepted = json!({"type": "Accepted", "status": "True", "reason": "Accepted",
        "message": "DNSRecordSet accepted for PowerDNS zone", "observedGeneration": 1,
        "lastTransitionTime": NOW});
    assert_eq!((write.kind, write.meta.name.as_str()), ("DNSRecordSet", "s"));
    assert_eq!(write.body, json!({"status": {"conditions": [accepted]}}));
    scene.rest();
    let says = |scene: &Scene| accepted_first(&scene.plan().sets["u-s"], NOW).is_some();
    assert!(!says(&scene), "it is said");
    scene.edit("dnsrecordsets", "s", |set| {
        set["status"]["conditions"][0]["status"] = json!("False");
    });
    assert!(says(&scene));
    let mut going = scene.clone();
    going.delete("dnsrecordsets", "s");
    assert!(!says(&going), "it goes");
    scene.edit("dnsrecordsets", "s", |set| set["spec"]["dnsZoneRef"]["name"] = json!("b"));
    assert!(!says(&scene), "it is not accepted");
}

/// A DNSZone's status follows the number of entries of the sets that name it.
#[test]
fn each_field_of_a_zones_status_alone_is_reason_to_write_it() {
    let mut scene = scene(&[("www", "192.0.2.1")]);
    let written = |scene: &Scene| {
        let after = dns_syncd::plan::settle(&scene.plan(), &Applied::default(), NOW);
        after.statuses.iter().filter(|write| write.kind == "DNSZone").count()
    };
    assert_eq!(written(&scene), 0);
    for (field, value) in
        [("recordCount", json!(7)), ("nameservers", json!([])), ("conditions", json!([]))]
    {
        let mut other = scene.clone();
        other.edit("dnszones", "a", |zone| zone["status"][field] = value);
        assert_eq!(written(&other), 1, "{field}");
    }
    let count =
        |scene: &Scene| scene.world.cluster.uid("u-a").unwrap()["status"]["recordCount"].clone();
    scene.declare("s", &[("www", "192.0.2.1"), ("www", "192.0.2.2"), ("ftp", "192.0.2.1")]);
    scene.set("t", "a", "TXT", &[("t", "x")]);
    scene.rest();
    assert_eq!(count(&scene), 4);
    // What is let go in this pass does not count, but for who still holds it.
    for set in ["s", "t"] {
        scene.edit("dnsrecordsets", set, |object| {
            let mut finalizers = vec![FINALIZER_RECORD_SET];
            finalizers.extend((set == "t").then_some("example/theirs"));
            object["metadata"]["finalizers"] = json!(finalizers);
        });
        scene.delete("dnsrecordsets", set);
    }
    scene.pass();
    assert_eq!(count(&scene), 1);
    assert!(!finalized(&scene, "dnsrecordsets", "t"));
}

/// A class without servers is served by the NS that a set puts at the apex.
#[test]
fn a_zone_without_servers_waits_for_its_name_servers() {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "bare");
    scene.pass();
    let said = |scene: &Scene, kind: &str| scene.said("dnszones", "a", None, kind);
    let waiting = "False Pending: Waiting for downstream nameservers";
    let records = "False Pending: Waiting for default records";
    assert_eq!(
        (said(&scene, "Accepted").as_str(), said(&scene, "Programmed").as_str()),
        (waiting, records)
    );
    scene.set("ns", "a", "NS", &[("@", "ns2.test"), ("@", "ns1.test")]);
    let plan = scene.plan();
    scene.settle(&plan, &all_failed(&plan, &Failure::Status(500)));
    assert_eq!(said(&scene, "Accepted"), waiting);
    let internal =
        "An internal error occurred while applying the record. It will be retried automatically.";
    assert_eq!(
        said(&scene, "Programmed"),
        format!("False PDNSError: Waiting for default records: {internal}")
    );
    scene.pass();
    let zone =
        |scene: &Scene| scene.world.cluster.uid("u-a").unwrap()["status"]["nameservers"].clone();
    assert_eq!(zone(&scene), json!(["ns1.test.", "ns2.test."]));
    assert!(
        said(&scene, "Accepted").starts_with("True")
            && said(&scene, "Programmed").starts_with("True")
    );
    scene.rest();
    assert_eq!(zone(&scene), json!(["ns1.test.", "ns2.test."]));
}

#[test]
fn the_apex_of_a_set_and_unusable_servers_are_remarked() {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "ours");
    scene.set("ns", "a", "NS", &[("@", "ns1.example.net"), ("@", "ns2.example.net")]);
    scene.rest();
    let said = |scene: &Scene| scene.said("dnszones", "a", None, "Programmed");
    assert_eq!(said(&scene), "True Programmed: Default records ensured", "they are the class's");
    scene.declare("ns", &[("@", "ns3.example.net")]);
    scene.rest();
    let remark = "the apex NS are those of DNSRecordSet ns/ns, not those of the class";
    assert_eq!(said(&scene), format!("True Programmed: Default records ensured: {remark}"));
    scene.world.cluster.edit(&crate::scene::place("dnszoneclasses", "ours"), |class| {
        class["spec"]["nameServerPolicy"]["static"]["servers"] =
            json!(["ns1.example.net", "a b", "_x.y"]);
    });
    scene.rest();
    let remark = "servers of the class that are no host names are left out: a b, _x.y";
    assert_eq!(said(&scene), format!("True Programmed: Default records ensured: {remark}"));
}

/// A name that its spec lost goes on being told until its delete is proved.
#[test]
fn a_lost_name_is_told_until_it_is_gone() {
    let mut scene = scene(&[("www", "192.0.2.1"), ("ftp", "192.0.2.1")]);
    scene.declare("s", &[("www", "192.0.2.1")]);
    let said = |scene: &Scene| scene.said("dnsrecordsets", "s", Some("ftp"), "Programmed");
    let plan = scene.plan();
    scene.settle(&plan, &all_failed(&plan, &Failure::Unknown("gone".to_owned())));
    let lost = "False Pending: Record no longer present in spec";
    assert_eq!(said(&scene), format!("{lost}: {FAILED}: gone"));
    scene.world.pdns.unread.insert("a.test.".to_owned());
    let plan = scene.plan();
    scene.settle(&plan, &Applied::default());
    assert_eq!(said(&scene), lost);
    scene.world.pdns.unread.clear();
    scene.rest();
    assert_eq!(said(&scene), "");
}

/// What holds the end of a set and of its zone is said in both statuses.
#[test]
fn an_end_that_is_not_proved_is_told() {
    let mut scene = scene(&[("www", "192.0.2.1")]);
    scene.set("t", "a", "TXT", &[("t", "x")]);
    scene.rest();
    scene.delete("dnsrecordsets", "s");
    let plan = scene.plan();
    let after = scene.settle(&plan, &all_failed(&plan, &Failure::Unknown("gone".to_owned())));
    assert!(after.set_releases.is_empty() && finalized(&scene, "dnsrecordsets", "s"));
    let why = format!("www.a.test. A in zone a.test.: {FAILED}: gone");
    let said = scene.said("dnsrecordsets", "s", Some("www"), "Programmed");
    let proof = "False Pending: Record not yet programmed: its deletion is not proved";
    assert_eq!(said, format!("{proof}: {why}; it was programmed before"));
    // An RRset that nobody plans to delete is still there.
    let mut held = scene.clone();
    let mut plan = held.plan();
    plan.zones.get_mut(&name("a.test.")).unwrap().names.clear();
    held.settle(&plan, &Applied::default());
    let said = held.said("dnsrecordsets", "s", Some("www"), "Programmed");
    let there = "www.a.test. A is still in zone a.test.: it is held";
    assert_eq!(said, format!("{proof}: {there}; it was programmed before"));
    // The zone's own end speaks for its sets too.
    scene.delete("dnszones", "a");
    let plan = scene.plan();
    let after = scene.settle(&plan, &all_failed(&plan, &Failure::Unknown("gone".to_owned())));
    assert!(after.zone_releases.is_empty() && after.set_releases.is_empty());
    let said = scene.said("dnszones", "a", None, "Programmed");
    assert_eq!(said, format!("False Pending: deletion is waiting: {FAILED}: gone"));
    scene.world.pdns.unread.insert("a.test.".to_owned());
    let plan = scene.plan();
    scene.settle(&plan, &Applied::default());
    let said = scene.said("dnszones", "a", None, "Programmed");
    assert_eq!(said, "False Pending: deletion is waiting for ns/s, ns/t: it answers 500");
    scene.world.pdns.unread.clear();
    scene.pass();
    scene.pass();
    assert!(
        scene.world.cluster.of("dnszones").next().is_none() && scene.world.pdns.zones.is_empty()
    );
}

/// The replicator's finalizers are ours to take off once it is retired, and nobody else's ever.
#[test]
fn a_release_leaves_the_finalizers_of_others() {
    use dns_syncd::api::{FINALIZER_ZONE, UPSTREAM_FINALIZER_RECORD_SET, UPSTREAM_FINALIZER_ZONE};
    for retired in [false, true] {
        let mut scene = scene(&[("www", "192.0.2.1")]);
        scene.policy.release_upstream_finalizers = retired;
        let each = [
            ("dnsrecordsets", "s", FINALIZER_RECORD_SET, UPSTREAM_FINALIZER_RECORD_SET),
            ("dnszones", "a", FINALIZER_ZONE, UPSTREAM_FINALIZER_ZONE),
        ];
        for (plural, object, ours, upstream) in each {
            scene.edit(plural, object, |object| {
                object["metadata"]["finalizers"] = json!([ours, upstream, "example/theirs"]);
            });
            scene.delete(plural, object);
        }
        let after = scene.pass();
        let stays = |upstream: &'static str| {
            let mut stays = vec!["example/theirs"];
            if !retired {
                stays.insert(0, upstream);
            }
            stays
        };
        assert_eq!(after.set_releases[0].stay, stays(UPSTREAM_FINALIZER_RECORD_SET));
        assert_eq!(after.zone_releases[0].0.stay, stays(UPSTREAM_FINALIZER_ZONE));
    }
}

/// Each name has its own times: what goes on failing is not written again.
#[test]
fn the_same_failure_later_is_no_news() {
    let mut scene = scene(&[("www", "192.0.2.1"), ("ftp", "192.0.2.1")]);
    scene.declare("s", &[("www", "192.0.2.2"), ("ftp", "192.0.2.1")]);
    let plan = scene.plan();
    let failed = all_failed(&plan, &Failure::Status(500));
    assert_eq!(scene.settle(&plan, &failed).statuses.len(), 1);
    let plan = scene.plan();
    let later = dns_syncd::plan::settle(&plan, &failed, "2026-01-04T00:00:00Z");
    assert!(later.statuses.is_empty(), "{:#?}", later.statuses);
}

/// What was read equal in a zone, and written to another name of it, is not served once the zone is gone.
#[test]
fn in_a_zone_that_went_meanwhile_nothing_is_served() {
    let mut scene = scene(&[("www", "192.0.2.1"), ("equal", "192.0.2.2")]);
    scene.declare("s", &[("www", "192.0.2.3"), ("equal", "192.0.2.2")]);
    pass(&mut scene, |plan| all_failed(plan, &Failure::ZoneMissing));
    let missing = "The DNS zone could not be found. It may still be provisioning.";
    let said = |plural, name, raw| scene.said(plural, name, raw, "Programmed");
    for raw in ["www", "equal"] {
        let not = format!("False PDNSError: {missing}; it was programmed before");
        assert_eq!(said("dnsrecordsets", "s", Some(raw)), not);
    }
    let zone = said("dnszones", "a", None);
    assert_eq!(zone, format!("False PDNSError: Waiting for default records: {missing}"));
}

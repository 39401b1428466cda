//! What is taken out of a plan: by evidence that does not bear it, and by the annotation that pauses an object.

use std::collections::{BTreeMap, BTreeSet};

use dns_syncd::plan::change::Verdict;
use dns_syncd::plan::guard::questions;
use dns_syncd::plan::{Evidence, LiveObject, Plan, ZoneStep, confirm};
use serde_json::json;

use crate::scenario::name;
use crate::scene::{Scene, changes, finalized, note, uid};

/// Two zones of two sets each, and an edit of all of them.
fn edited() -> Scene {
    let mut scene = Scene::new();
    for zone in ["a", "b"] {
        scene.zone(zone, &format!("{zone}.test"), "ours");
        for set in ["s", "t"] {
            scene.set(
                &format!("{zone}-{set}"),
                zone,
                "A",
                &[(set, "192.0.2.1"), ("x", "192.0.2.1")],
            );
        }
    }
    scene.rest();
    for set in ["a-s", "a-t", "b-s", "b-t"] {
        scene.declare(set, &[(&set[2..], "192.0.2.2")]);
    }
    scene
}

const ALL: [&str; 6] = [
    "replace a.test. s.a.test. A",
    "replace a.test. t.a.test. A",
    "delete a.test. x.a.test. A",
    "replace b.test. s.b.test. A",
    "replace b.test. t.b.test. A",
    "delete b.test. x.b.test. A",
];

fn told(key: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(uid(key), "it changed".to_owned())])
}

/// What is left of the plan of `edited`.
fn left(evidence: &Evidence) -> (Plan, Vec<String>) {
    let plan = confirm(edited().plan(), evidence);
    let gone: Vec<String> = changes(&plan);
    let held = ALL.iter().filter(|change| !gone.contains(&(**change).to_owned()));
    let held = held.map(|change| change.split(' ').nth(2).unwrap().to_owned()).collect();
    (plan, held)
}

#[test]
fn a_lost_object_takes_what_it_touches_out_of_the_plan() {
    let (plan, held) = left(&Evidence::default());
    assert!(held.is_empty() && plan.zones.values().all(|zone| zone.withheld.is_none()));

    let (plan, held) = left(&Evidence { lost_zones: told("a"), ..Evidence::default() });
    assert_eq!(held, ["s.a.test.", "t.a.test.", "x.a.test."]);
    assert_eq!(plan.zones[&name("a.test.")].withheld.as_deref(), Some("it changed"));
    assert_eq!(plan.zones[&name("b.test.")].withheld, None);
    let pending = "Record not yet programmed: it changed".to_owned();
    let not = Verdict::Not("Pending", pending.clone());
    assert_eq!(plan.sets["u-a-s"].raws["s"].verdict, not);
    assert_eq!(plan.sets["u-b-s"].raws["s"].verdict, Verdict::Sent);

    let (plan, held) = left(&Evidence { lost_sets: told("a-s"), ..Evidence::default() });
    assert_eq!(held, ["s.a.test.", "x.a.test."]);
    let set = &plan.sets["u-a-s"];
    assert_eq!(
        (set.unsecured.as_deref(), &set.accepted),
        (Some("it changed"), &Err(("Pending", pending)))
    );
    assert_eq!(set.raws["s"].verdict, not);
    assert!(plan.sets["u-a-t"].unsecured.is_none() && plan.sets["u-a-t"].accepted.is_ok());

    let (plan, held) = left(&Evidence { kept_sets: told("b-s"), ..Evidence::default() });
    assert_eq!(held, ["s.b.test.", "x.b.test."]);
    assert!(plan.sets["u-b-s"].accepted.is_ok(), "it was to be deleted, not secured");
}

#[test]
fn bad_evidence_is_told() {
    let bad = |evidence: &Evidence| (evidence.is_bad(), evidence.faults().collect::<Vec<_>>());
    let none = Evidence::default;
    let live = |answer| BTreeMap::from([("ns/s".parse().unwrap(), answer)]);
    assert_eq!(bad(&none()), (false, vec![]));
    assert_eq!(bad(&Evidence { lost_sets: told("s"), ..none() }), (true, vec![]));
    let zone = vec!["DNSZone of uid u-z: it changed".to_owned()];
    assert_eq!(bad(&Evidence { lost_zones: told("z"), ..none() }), (true, zone.clone()));
    assert_eq!(bad(&Evidence { unstripped: told("z"), ..none() }), (true, zone));
    let set = vec!["DNSRecordSet of uid u-s: it changed".to_owned()];
    assert_eq!(bad(&Evidence { kept_sets: told("s"), ..none() }), (true, set));
    assert!(Evidence { live: live(LiveObject::Unknown), ..none() }.is_bad());
    assert!(!Evidence { live: live(LiveObject::Gone), ..none() }.is_bad());
}

#[test]
fn an_implicit_delete_needs_a_live_answer_that_bears_it() {
    for (answer, goes) in [
        (None, false),
        (Some(LiveObject::Unknown), false),
        (Some(LiveObject::Uid("another".to_owned())), true),
        (Some(LiveObject::Uid(uid("a-s"))), false),
        (Some(LiveObject::Gone), true),
    ] {
        let mut scene = edited();
        scene.vanish("dnsrecordsets", "a-s");
        scene.set("a-u", "a", "CNAME", &[("s", "t.test")]);
        let plan = scene.plan();
        let asked = questions(&plan);
        assert_eq!(asked, BTreeSet::from(["ns/a-s".parse().unwrap()]));
        let live = answer.iter().map(|a| ("ns/a-s".parse().unwrap(), a.clone())).collect();
        let plan = confirm(plan, &Evidence { live, ..Evidence::default() });
        let left: BTreeSet<String> = changes(&plan).into_iter().collect();
        assert_eq!(left.contains("delete a.test. s.a.test. A"), goes, "{answer:?}");
        assert_eq!(left.contains("replace a.test. s.a.test. CNAME"), goes, "it needs the delete");
        assert!(left.contains("replace a.test. t.a.test. A"));
        let leftovers = &plan.zones[&name("a.test.")].leftovers;
        let told: Vec<String> = leftovers
            .iter()
            .map(|l| format!("{} {}: {} {:?}", l.name, l.rtype, l.why, l.uid))
            .collect();
        let why =
            "of DNSRecordSet ns/a-s: it is not proved that its object is gone Some(\"u-a-s\")";
        let expected = [format!("s.a.test. A: {why}"), format!("x.a.test. A: {why}")];
        let expected = if goes { &expected[..0] } else { &expected[..told.len().max(1)] };
        assert_eq!(told, expected);
    }
}

/// A zone is deleted only with all that names it.
#[test]
fn a_zone_that_could_not_be_cleared_stays() {
    let scene = || {
        let mut scene = edited();
        scene.delete("dnszones", "a");
        scene
    };
    let deletion = |evidence: &Evidence| {
        let plan = confirm(scene().plan(), evidence);
        let deletion = plan.objects["u-a"].deletion.clone().unwrap();
        assert_eq!(deletion.takes.is_none(), deletion.held.is_some());
        let zone = &plan.zones[&name("a.test.")];
        assert_eq!(zone.goes(), deletion.held.is_none());
        assert_eq!(zone.withheld, deletion.held);
        deletion.held
    };
    assert_eq!(deletion(&Evidence::default()), None);
    assert_eq!(deletion(&Evidence { kept_sets: told("b-s"), ..Evidence::default() }), None);
    assert_eq!(
        deletion(&Evidence { kept_sets: told("a-s"), ..Evidence::default() }).as_deref(),
        Some("DNSRecordSet ns/a-s could not be deleted: it changed")
    );
    assert_eq!(deletion(&Evidence { unstripped: told("b"), ..Evidence::default() }), None);
    let unstripped = Evidence { unstripped: told("a"), ..Evidence::default() };
    assert_eq!(deletion(&unstripped).as_deref(), Some("it changed"));
}

/// Whoever still refers to a zone that goes is secured without the reference first.
#[test]
fn a_zone_waits_for_those_that_still_refer_to_it() {
    let mut scene = edited();
    scene.edit("dnsrecordsets", "a-s", |set| set["spec"]["dnsZoneRef"]["name"] = json!("b"));
    scene.delete("dnszones", "a");
    let held = |evidence: &Evidence| {
        let plan = confirm(scene.plan(), evidence);
        let deletion = plan.objects["u-a"].deletion.clone().unwrap();
        assert_eq!(deletion.referrers, BTreeSet::from([uid("a-s")]));
        assert!(deletion.strip.is_empty(), "it is secured in the zone that it names now");
        deletion.held
    };
    assert_eq!(held(&Evidence { lost_sets: told("b-s"), ..Evidence::default() }), None);
    let lost = Evidence { lost_sets: told("a-s"), ..Evidence::default() };
    assert_eq!(held(&lost).as_deref(), Some("it changed"));
    let mut nowhere = scene.clone();
    nowhere.edit("dnsrecordsets", "a-s", |set| set["spec"]["dnsZoneRef"]["name"] = json!("c"));
    let deletion = nowhere.plan().objects["u-a"].deletion.clone().unwrap();
    let stripped: Vec<(&str, usize)> =
        deletion.strip.iter().map(|(meta, owners)| (meta.name.as_str(), owners.len())).collect();
    assert_eq!(stripped, [("a-s", 0)]);
}

#[test]
fn an_orphan_goes_only_with_a_second_list_that_lacks_it() {
    for (domains, goes) in [
        (None, false),
        (Some(BTreeSet::from([name("o.test.")])), false),
        (Some(BTreeSet::from([name("a.test.")])), true),
        (Some(BTreeSet::new()), true),
    ] {
        let mut scene = edited();
        scene.policy.delete_orphan_zones = true;
        scene.made("o.test.", &Scene::mark("dead"));
        let plan = confirm(scene.plan(), &Evidence { domains, ..Evidence::default() });
        let zone = &plan.zones[&name("o.test.")];
        let why = "it is not proved that its DNSZone is gone";
        assert_eq!((zone.goes(), zone.withheld.as_deref()), (goes, (!goes).then_some(why)));
    }
}

/// Nothing is stored in a zone that is yet to be made: it gets the SOA and NS of its class all the same.
#[test]
fn a_zone_is_made_with_its_apex_whatever_is_held() {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "ours");
    scene.set("s", "a", "MX", &[("@", "10 mx.test")]);
    scene.set("t", "a", "A", &[("www", "192.0.2.1")]);
    let lost = BTreeMap::from([(uid("s"), "it changed".to_owned())]);
    let plan = confirm(scene.plan(), &Evidence { lost_sets: lost, ..Evidence::default() });
    let apex = ["replace a.test. a.test. NS", "replace a.test. a.test. SOA"];
    assert_eq!(changes(&plan), [apex[0], apex[1], "replace a.test. www.a.test. A"]);
    assert!(matches!(plan.zones[&name("a.test.")].step, ZoneStep::Create { .. }));
}

fn paused(scene: &mut Scene, plural: &str, name: &str) {
    scene.edit(plural, name, |object| {
        object["metadata"]["annotations"] = json!({"dns-syncd/pause": "true"});
    });
}

#[test]
fn a_paused_zone_stays_as_it_is() {
    let mut scene = edited();
    paused(&mut scene, "dnszones", "a");
    let plan = scene.plan();
    assert_eq!(changes(&plan), ALL[3..]);
    let why = "paused by the annotation dns-syncd/pause";
    assert_eq!(plan.zones[&name("a.test.")].withheld.as_deref(), Some(why));
    scene.delete("dnszones", "a");
    scene.edit("dnszones", "b", |zone| zone["spec"]["domainName"] = json!("a.test"));
    let plan = scene.plan();
    let deletion = plan.objects["u-a"].deletion.clone().unwrap();
    assert_eq!((deletion.held.as_deref(), &deletion.takes), (Some(why), &None));
    assert!(deletion.dependants.is_empty() && deletion.strip.is_empty());
    assert!(!changes(&plan).iter().any(|change| change.contains("a.test.")), "b is its heir");
    scene.carry_out(&plan);
    assert!(finalized(&scene, "dnszones", "a"));
    // Not secured either.
    let mut fresh = Scene::new();
    fresh.zone("a", "a.test", "ours");
    assert!(fresh.plan().objects["u-a"].secure.is_some());
    paused(&mut fresh, "dnszones", "a");
    let plan = fresh.plan();
    assert!(plan.objects["u-a"].secure.is_none() && !plan.zones[&name("a.test.")].has_work());
}

/// Anybody may make a DNSZone of any domain, and holds nobody by it.
#[test]
fn a_paused_loser_holds_nothing() {
    let mut scene = edited();
    scene.zone("loser", "a.test", "ours");
    paused(&mut scene, "dnszones", "loser");
    assert_eq!(changes(&scene.plan()), ALL);
    // Nor does it keep from ending what the mark says is another's, also where nobody is served.
    for waits in [false, true] {
        let mut scene = scene.clone();
        if waits {
            scene.edit("dnszones", "loser", |zone| {
                zone["spec"]["dnsZoneClassName"] = json!("missing");
            });
        }
        scene.delete("dnszones", "a");
        scene.delete("dnsrecordsets", "a-s");
        scene.delete("dnsrecordsets", "a-t");
        for _ in 0..3 {
            scene.pass();
        }
        assert!(!finalized(&scene, "dnszones", "a") && !finalized(&scene, "dnsrecordsets", "a-s"));
    }
    // Where nobody is served and the mark is nobody's there is nobody to be kept from anything.
    scene.edit("dnszones", "a", |zone| zone["spec"]["dnsZoneClassName"] = json!("foreign"));
    assert!(scene.plan().zones[&name("a.test.")].withheld.is_none());
    scene.pdns("a.test.").account.clear();
    assert!(scene.plan().zones[&name("a.test.")].withheld.is_some());
}

#[test]
fn a_paused_set_holds_its_names_and_what_ends_with_it() {
    let mut scene = edited();
    paused(&mut scene, "dnsrecordsets", "a-s");
    let plan = scene.plan();
    let mut kept = vec![ALL[1]];
    kept.extend(&ALL[3..]);
    assert_eq!(changes(&plan), kept);
    assert!(plan.sets["u-a-s"].blocked.is_none());
    let why = "paused by the annotation dns-syncd/pause";
    let held = "DNSRecordSet ns/a-s is paused by the annotation dns-syncd/pause";

    let mut ends = scene.clone();
    ends.delete("dnsrecordsets", "a-s");
    let plan = ends.plan();
    assert_eq!(plan.sets["u-a-s"].blocked.as_deref(), Some(why));
    assert!(!changes(&plan).iter().any(|c| c.contains(" s.a.test.")));
    ends.carry_out(&plan);
    assert!(finalized(&ends, "dnsrecordsets", "a-s"));

    let mut zone = scene.clone();
    zone.delete("dnszones", "a");
    let plan = zone.plan();
    let deletion = plan.objects["u-a"].deletion.clone().unwrap();
    let names: Vec<&str> = deletion.dependants.iter().map(|m| m.name.as_str()).collect();
    assert_eq!((deletion.held.as_deref(), names), (Some(held), vec!["a-t"]));
    assert_eq!(plan.zones[&name("a.test.")].withheld.as_deref(), Some(why));

    // It has left the zone, whose end would take along what it left there, and itself by the garbage collector.
    let mut left = scene.clone();
    left.edit("dnsrecordsets", "a-s", |set| set["spec"]["dnsZoneRef"]["name"] = json!("b"));
    assert!(
        left.plan().sets["u-a-s"].repointed.is_none() && left.plan().sets["u-a-s"].secure.is_none()
    );
    left.delete("dnszones", "a");
    let plan = left.plan();
    let deletion = plan.objects["u-a"].deletion.clone().unwrap();
    assert_eq!((deletion.held.as_deref(), deletion.strip.len()), (Some(held), 0));
    // Another zone's end is nobody's concern here.
    let mut other = scene;
    other.delete("dnszones", "b");
    assert!(other.plan().zones[&name("b.test.")].goes());
}

/// What a set wrote in another owner's zone is deleted by its note, and by nothing else.
#[test]
fn another_owners_zone_loses_only_what_we_noted() {
    let mut scene = edited();
    scene.pdns("a.test.").account = dns_syncd::plan::note::mark("west", &uid("x"));
    scene.delete("dnsrecordsets", "a-t");
    let rrset = scene.store("a.test.", "theirs.a.test.", "A", &["192.0.2.1"]);
    let theirs = note("west", "x", "A", rrset);
    rrset.comments.push(theirs);
    assert_eq!(changes(&scene.plan()), [&["delete a.test. t.a.test. A"], &ALL[3..]].concat());
}

fn repoint(scene: &mut Scene, set: &str, zone: &str) {
    scene.edit("dnsrecordsets", set, |set| set["spec"]["dnsZoneRef"]["name"] = json!(zone));
}

/// Docs, "Holding an object as it is": what carries its note stays for all claimants; nobody inherits it.
#[test]
fn nobody_inherits_a_name_that_a_paused_set_has_given_up() {
    for content in ["192.0.2.1", "192.0.2.2"] {
        let mut scene = Scene::new();
        scene.zone("a", "a.test", "ours");
        scene.set("first", "a", "A", &[("www", "192.0.2.1"), ("x", "192.0.2.1")]);
        scene.set("second", "a", "A", &[("www", content)]);
        scene.rest();
        paused(&mut scene, "dnsrecordsets", "first");
        scene.declare("first", &[("x", "192.0.2.1")]);
        assert_eq!(changes(&scene.plan()), Vec::<String>::new(), "{content}");
    }
}

/// An orphan zone does not take a paused set's RRset along.
#[test]
fn an_orphan_in_which_a_paused_set_has_something_stays() {
    for ends in [false, true] {
        let mut scene = Scene::new();
        scene.policy.delete_orphan_zones = true;
        scene.zone("a", "a.test", "ours");
        scene.zone("b", "b.test", "ours");
        scene.set("s", "a", "A", &[("www", "192.0.2.1")]);
        scene.rest();
        paused(&mut scene, "dnsrecordsets", "s");
        scene.vanish("dnszones", "a");
        if ends {
            scene.delete("dnsrecordsets", "s");
        } else {
            repoint(&mut scene, "s", "b");
        }
        let plan = scene.plan();
        assert!(!plan.zones[&name("a.test.")].goes(), "ends: {ends}");
    }
}

/// A DNSZone does not end with what a paused set has in it, whatever that set names and refers to by now.
#[test]
fn a_zone_in_which_a_paused_set_has_something_does_not_end() {
    for ends in [false, true] {
        let mut scene = Scene::new();
        scene.zone("a", "a.test", "ours");
        scene.zone("b", "b.test", "ours");
        scene.set("s", "a", "A", &[("www", "192.0.2.1")]);
        scene.rest();
        paused(&mut scene, "dnsrecordsets", "s");
        repoint(&mut scene, "s", "b");
        if ends {
            scene.delete("dnsrecordsets", "s");
        } else {
            scene.edit("dnsrecordsets", "s", |s| s["metadata"]["ownerReferences"] = json!([]));
        }
        scene.delete("dnszones", "a");
        let plan = scene.plan();
        assert!(!plan.zones[&name("a.test.")].goes(), "ends: {ends}");
        scene.carry_out(&plan);
        assert!(finalized(&scene, "dnszones", "a"), "ends: {ends}");
    }
}

/// Without notes its reference alone tells that it may have left something there.
#[test]
fn a_zone_to_which_a_paused_set_refers_does_not_end() {
    let mut scene = Scene::new();
    scene.world.pdns.comments = false;
    scene.zone("a", "a.test", "ours");
    scene.zone("b", "b.test", "ours");
    scene.set("s", "a", "A", &[("www", "192.0.2.1")]);
    scene.rest();
    paused(&mut scene, "dnsrecordsets", "s");
    repoint(&mut scene, "s", "b");
    scene.delete("dnszones", "a");
    let plan = scene.plan();
    assert!(!plan.zones[&name("a.test.")].goes());
    scene.carry_out(&plan);
    assert!(finalized(&scene, "dnszones", "a"));
}

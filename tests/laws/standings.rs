//! Who holds a domain, when its zone may be written, and what a spec declares: one small world for each rule.

use dns_syncd::plan::note::mark;
use dns_syncd::plan::zones::Standing;
use dns_syncd::plan::{Plan, Policy, ZoneStep, decide};
use serde_json::json;

use crate::rig::policy;
use crate::scenario::{OWNER, name};
use crate::scene::{Scene, changes, note, uid};

/// DNSZones of one domain, the older ones first, each with its class.
fn rivals(zones: &[(&str, &str)]) -> Scene {
    let mut scene = Scene::new();
    for (name, class) in zones {
        scene.zone(name, "a.test", class);
    }
    scene
}

/// Who is served, and who is told that somebody else is.
fn standing(plan: &Plan) -> (Vec<&str>, Vec<&str>) {
    let of = |standing: &Standing| {
        let all = plan.objects.values().filter(|o| o.standing == *standing);
        all.map(|o| o.meta.name.as_str()).collect()
    };
    (of(&Standing::Served), of(&Standing::InUse))
}

#[test]
fn the_oldest_holds_a_domain_until_a_mark_names_another() {
    let mut scene = rivals(&[("z", "missing"), ("c", "ours"), ("b", "ours"), ("a", "foreign")]);
    assert_eq!(standing(&scene.plan()), (vec!["c"], vec!["b"]));
    scene.made("a.test.", &Scene::mark("b"));
    assert_eq!(standing(&scene.plan()), (vec!["b"], vec!["c"]));
    // Of a class that is not ours it keeps the domain all the same.
    scene.pdns("a.test.").account = Scene::mark("a");
    assert_eq!(standing(&scene.plan()), (vec![], vec!["b", "c"]));
    scene.delete("dnszones", "a");
    assert_eq!(standing(&scene.plan()), (vec!["c"], vec!["b"]));
    scene.pdns("a.test.").account = mark("west", &uid("b"));
    assert_eq!(standing(&scene.plan()), (vec![], vec!["b", "c"]), "another daemon's");
    scene.pdns("a.test.").account = "billing".to_owned();
    assert_eq!(standing(&scene.plan()), (vec!["c"], vec!["b"]));
    // Of the same age the first by name.
    for zone in ["b", "c"] {
        scene.edit("dnszones", zone, |zone| {
            zone["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        });
    }
    assert_eq!(standing(&scene.plan()), (vec!["b"], vec!["c"]));
}

/// Without a list no mark is seen, and nobody's word is turned over.
#[test]
fn an_outage_turns_nobody_over() {
    let mut scene = rivals(&[("a", "ours"), ("b", "ours")]);
    scene.made("a.test.", &Scene::mark("b"));
    scene.rest();
    scene.world.pdns.unlisted = true;
    assert_eq!(standing(&scene.plan()), (vec!["b"], vec!["a"]));
    scene.edit("dnszones", "b", |zone| zone["status"] = json!({}));
    assert_eq!(standing(&scene.plan()).0.len(), 0, "a was told, and b is younger");
}

#[test]
fn a_zone_of_a_namespace_that_is_not_read_is_in_use() {
    let mut scene = rivals(&[("a", "ours")]);
    scene.policy.namespaces = ["ns".to_owned()].into();
    scene.made("a.test.", &Scene::mark("elsewhere"));
    assert_eq!(standing(&scene.plan()).0, ["a"]);
    let rrset = scene.store("a.test.", "www.a.test.", "A", &["192.0.2.1"]);
    let theirs = note(OWNER, "x", "A", rrset);
    rrset.comments.push(theirs);
    assert_eq!(standing(&scene.plan()).0, ["a"], "it is noted for a namespace that is read");
    let key = ("www.a.test.".to_owned(), "A".to_owned());
    let note = &mut scene.pdns("a.test.").rrsets.get_mut(&key).unwrap().comments[0].content;
    *note = note.replace("ns/x", "far/x");
    assert_eq!(standing(&scene.plan()).1, ["a"]);
    scene.policy.namespaces.clear();
    assert_eq!(standing(&scene.plan()).0, ["a"]);
}

/// The end of what another daemon serves is its own, and that of its sets too.
#[test]
fn what_another_daemon_serves_is_no_input_once_it_ends() {
    for (class, account, input) in [
        ("foreign", mark("west", "x"), false),
        ("foreign", String::new(), true),
        ("ours", mark("west", "x"), true),
    ] {
        let mut scene = rivals(&[("a", class)]);
        scene.set("s", "a", "A", &[("www", "192.0.2.1")]);
        scene.made("a.test.", &account);
        assert!(scene.plan().objects.contains_key("u-a"));
        scene.edit("dnszones", "a", |zone| zone["metadata"]["finalizers"] = json!(["x/y"]));
        scene.delete("dnszones", "a");
        let plan = scene.plan();
        assert_eq!((plan.objects.len(), plan.sets.len()), if input { (1, 1) } else { (0, 0) });
    }
}

/// Nothing is written before a read that began one request time-out after the mark.
#[test]
fn a_mark_must_have_lasted_one_time_out() {
    let plan_of = |scene: &Scene, read_began: u64, acked: Option<u64>| {
        let mut snapshot = scene.world.snapshot();
        for zone in snapshot.server.zones.as_mut().unwrap().values_mut() {
            zone.read_began = read_began;
        }
        let mut memory = scene.memory.clone();
        memory.marks = acked.map(|at| (name("a.test."), at)).into_iter().collect();
        let policy = Policy { request_timeout: 10, ..policy() };
        let plan = decide(&snapshot, &memory, &policy);
        plan.zones[&name("a.test.")].withheld.is_some()
    };
    let mut scene = rivals(&[("a", "ours")]);
    scene.made("a.test.", &Scene::mark("a"));
    assert!(!plan_of(&scene, 0, None), "an empty zone has been nobody's");
    for (read_began, acked, waits) in [(14, 5, true), (15, 5, false), (10, 0, false)] {
        assert_eq!(plan_of(&scene, read_began, Some(acked)), waits, "{read_began} {acked}");
    }
    // It existed before, and may have been marked only just now, unless something of ours is in it.
    scene.store("a.test.", "www.a.test.", "A", &["192.0.2.1"]);
    assert!(plan_of(&scene, 9, None) && !plan_of(&scene, 10, None));
    let rrset = scene.store("a.test.", "ftp.a.test.", "A", &["192.0.2.1"]);
    let ours = note(OWNER, "s", "A", rrset);
    rrset.comments.push(ours);
    assert!(!plan_of(&scene, 9, None));
    scene.pdns("a.test.").rrsets.remove(&("ftp.a.test.".to_owned(), "A".to_owned()));
    scene.world.pdns.comments = false;
    assert!(!plan_of(&scene, 9, None), "a server without comments never tells");
}

#[test]
fn comments_that_would_outlive_a_zone_are_cleared_before_it_goes() {
    let mut scene = rivals(&[("a", "ours")]);
    scene.set("s", "a", "A", &[("www", "192.0.2.1")]);
    scene.rest();
    scene.delete("dnszones", "a");
    for outlive in [false, true] {
        let mut snapshot = scene.world.snapshot();
        snapshot.server.capabilities.as_mut().unwrap().comments_outlive = outlive;
        let plan = decide(&snapshot, &scene.memory, &scene.policy);
        let ZoneStep::Delete { comments, by, .. } = &plan.zones[&name("a.test.")].step else {
            panic!()
        };
        let noted = (name("www.a.test."), "A".to_owned());
        assert_eq!(
            (comments.iter().collect::<Vec<_>>(), by.as_str()),
            (if outlive { vec![&noted] } else { vec![] }, "u-a")
        );
    }
}

/// A Terminating DNSZone takes the PowerDNS zone along if it is its own, or nobody's.
#[test]
fn a_zone_goes_with_its_own_object_only() {
    for (account, class, goes) in [
        (Scene::mark("a"), "ours", true),
        (Scene::mark("a"), "foreign", true),
        (String::new(), "ours", true),
        (String::new(), "missing", true),
        (String::new(), "foreign", false),
        (String::new(), "", false),
        (Scene::mark("dead"), "ours", true),
        (Scene::mark("alive"), "ours", false),
        (mark("west", &uid("a")), "ours", false),
        ("billing".to_owned(), "ours", false),
    ] {
        let mut scene = rivals(&[("a", class)]);
        scene.zone("alive", "b.test", "ours");
        scene.made("a.test.", &account);
        scene.edit("dnszones", "a", |zone| {
            zone["metadata"]["finalizers"] = json!([dns_syncd::api::FINALIZER_ZONE]);
        });
        scene.delete("dnszones", "a");
        let plan = scene.plan();
        assert_eq!(plan.zones[&name("a.test.")].goes(), goes, "{account:?} {class:?}");
    }
}

#[test]
fn an_rrset_is_what_its_entries_say_together() {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "bare");
    scene.zone("b", "b.test", "ours");
    scene.set("cname", "a", "CNAME", &[("c", "t1.test"), ("c", "t2.test"), ("c", "t1.test")]);
    scene.set("soa", "a", "SOA", &[("@", "ns1.test h.test"), ("@", "ns2.test h.test")]);
    scene.set("below", "a", "SOA", &[("x", "ns1.test h.test")]);
    scene.set("empty", "a", "A", &[("e", "192.0.2.1"), ("e", " "), ("f", "")]);
    scene.set("slip", "a", "A", &[("s", "192.0.2.1"), ("s", "x")]);
    scene.set("default", "b", "A", &[("d", "192.0.2.1")]);
    scene.set("ttl", "a", "A", &[("t", "192.0.2.1"), ("t", "192.0.2.2")]);
    scene.edit("dnsrecordsets", "ttl", |set| {
        set["spec"]["records"][0]["ttl"] = json!(7);
        set["spec"]["records"][1]["ttl"] = json!(8);
    });
    scene.set("long", "a", "A", &[("l", "192.0.2.1")]);
    scene
        .edit("dnsrecordsets", "long", |set| set["spec"]["records"][0]["ttl"] = json!(1_i64 << 31));
    let printed = scene.printed();
    for line in [
        "create    c.a.test. CNAME 60 t1.test. for ns/cname",
        "create    a.test. SOA 60 ns2.test. h.test. 0 10800 3600 604800 3600 for ns/soa",
        "create    e.a.test. A 60 192.0.2.1 for ns/empty",
        "create    d.b.test. A 300 192.0.2.1 for ns/default",
        "create    t.a.test. A 7 192.0.2.1 | 192.0.2.2 for ns/ttl",
    ] {
        assert!(printed.lines().any(|l| l == line), "{line} in\n{printed}");
    }
    scene.pass();
    let said = |set: &str, raw: &str| scene.said("dnsrecordsets", set, Some(raw), "Programmed");
    let done = "True Programmed: Record successfully applied to PDNS";
    let rejected =
        "False PDNSError: The DNS record was rejected as invalid. Check the record type and value";
    for (set, raw, told) in [
        (
            "cname",
            "c",
            format!("{done}: only one CNAME value can be served at a name, 1 other ignored"),
        ),
        (
            "soa",
            "@",
            format!("{done}: only one SOA value can be served at a name, 1 other ignored"),
        ),
        (
            "below",
            "x",
            format!("{rejected}: an SOA record belongs at the apex a.test., not at x.a.test."),
        ),
        ("empty", "e", format!("{done}: 1 empty value ignored")),
        ("empty", "f", format!("{rejected}: no entry has a value")),
        ("slip", "s", format!("{rejected}: content \"x\": is not an IPv4 address")),
        ("ttl", "t", done.to_owned()),
        ("long", "l", format!("{rejected}: the TTL 2147483648 is not between 0 and 2147483647")),
    ] {
        assert_eq!(said(set, raw), told, "{set}");
    }
}

/// What a set has left behind in a zone goes, and its reference to that DNSZone only after it.
#[test]
fn a_repointed_set_leaves_its_old_zone() {
    let mut scene = Scene::new();
    for zone in ["a", "b"] {
        scene.zone(zone, &format!("{zone}.test"), "ours");
    }
    scene.set("s", "a", "A", &[("www", "192.0.2.1")]);
    scene.rest();
    scene.edit("dnsrecordsets", "s", |set| set["spec"]["dnsZoneRef"]["name"] = json!("b"));
    let plan = scene.plan();
    let both = ["delete a.test. www.a.test. A", "replace b.test. www.b.test. A"];
    assert_eq!(changes(&plan), both);
    let set = &plan.sets["u-s"];
    let owners = |owners: &[dns_syncd::api::object::Owner]| {
        owners.iter().map(|o| o.uid.clone()).collect::<Vec<_>>()
    };
    assert_eq!(owners(&set.secure.as_ref().unwrap().owners), ["u-a", "u-b"]);
    assert_eq!(owners(set.repointed.as_ref().unwrap()), ["u-b"]);
    assert!(!set.speaks_here && set.blocked.is_none() && set.traces.len() == 1);
    let failed = crate::scene::all_failed(&plan, &dns_syncd::plan::Failure::ZoneMissing);
    assert!(scene.clone().settle(&plan, &failed).repointed.is_empty());
    assert_eq!(scene.carry_out(&plan).repointed.len(), 1);
    scene.world.pdns.unread.insert("a.test.".to_owned());
    let plan = scene.plan();
    assert_eq!(plan.sets["u-s"].blocked.as_deref(), Some("zone a.test.: it answers 500"));
}

/// The same where the new zone is not served: what is in the old one is lost all the same.
#[test]
fn a_set_that_was_repointed_to_a_zone_that_waits_leaves_its_old_zone_too() {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "ours");
    scene.zone("b", "b.test", "missing");
    scene.set("s", "a", "A", &[("www", "192.0.2.1")]);
    scene.rest();
    scene.edit("dnsrecordsets", "s", |set| set["spec"]["dnsZoneRef"]["name"] = json!("b"));
    assert_eq!(changes(&scene.plan()), ["delete a.test. www.a.test. A"]);
}

/// An original that has a shadow in this very list is no input, nor are its sets. Anybody may write such a mark, so it
/// counts only in a namespace that the replicator makes, and against nobody who has something to lose.
#[test]
fn an_original_yields_to_a_shadow_that_the_replicator_made() {
    const NAMESPACE: &str = "ns-0a1b2c3d-0000-4000-8000-00000000000f";
    let world = |namespace: &str, change: &dyn Fn(&mut Scene, &mut serde_json::Value)| {
        let mut scene = rivals(&[("a", "ours")]);
        scene.set("s", "a", "A", &[("www", "192.0.2.1")]);
        let provenance = json!({"meta.datumapis.com/upstream-namespace": "ns", "meta.datumapis.com/upstream-name": "a"});
        let mut shadow = json!({"kind": "DNSZone", "spec": {"domainName": "a.test", "dnsZoneClassName": "ours"},
            "metadata": {"name": "shadow", "namespace": namespace, "uid": "u-shadow",
                "creationTimestamp": "2026-01-02T00:00:00Z", "annotations": provenance}});
        change(&mut scene, &mut shadow);
        scene.world.cluster.put("dnszones", shadow);
        let plan = scene.plan();
        let both = (plan.objects.contains_key("u-a"), plan.sets.contains_key("u-s"));
        assert_eq!(both.0, both.1);
        assert!(plan.objects.contains_key("u-shadow"));
        both.0
    };
    let same = |_: &mut Scene, _: &mut serde_json::Value| {};
    assert!(!world(NAMESPACE, &same));
    for namespace in [
        "far",
        "ns-",
        "ns-0a1b2c3d",
        &NAMESPACE.replace('f', "g"),
        &NAMESPACE.replace("ns-", "mt-"),
    ] {
        assert!(world(namespace, &same), "{namespace}");
    }
    let spec = |field: &'static str, value: &'static str| {
        move |_: &mut Scene, shadow: &mut serde_json::Value| shadow["spec"][field] = json!(value)
    };
    assert!(world(NAMESPACE, &spec("dnsZoneClassName", "foreign")));
    assert!(world(NAMESPACE, &spec("domainName", "b.test")));
    assert!(world(NAMESPACE, &|_, shadow| {
        shadow["metadata"]["annotations"]["meta.datumapis.com/upstream-name"] = json!("b");
    }));
    assert!(world(NAMESPACE, &|scene, _| scene.made("a.test.", &Scene::mark("a"))));
    assert!(!world(NAMESPACE, &|scene, _| scene.made("a.test.", &Scene::mark("shadow"))));
    let ends = |finalizer: &'static str| {
        move |scene: &mut Scene, _: &mut serde_json::Value| {
            scene.edit("dnszones", "a", |a| a["metadata"]["finalizers"] = json!([finalizer]));
            scene.delete("dnszones", "a");
        }
    };
    assert!(world(NAMESPACE, &ends(dns_syncd::api::FINALIZER_ZONE)), "its end is owed");
    assert!(!world(NAMESPACE, &ends("example/theirs")));
}

/// Nor does it become its own again while nobody can look: who was told stays told.
#[test]
fn a_zone_of_a_namespace_that_is_not_read_stays_in_use_while_it_cannot_be_read() {
    let mut scene = rivals(&[("a", "ours")]);
    scene.policy.namespaces = ["ns".to_owned()].into();
    scene.made("a.test.", &Scene::mark("elsewhere"));
    let rrset = scene.store("a.test.", "www.a.test.", "A", &["192.0.2.1"]);
    let mut theirs = note(OWNER, "x", "A", rrset);
    theirs.content = theirs.content.replace("ns/x", "far/x");
    rrset.comments.push(theirs);
    let unread = |scene: &Scene| {
        let mut snapshot = scene.world.snapshot();
        let zones = snapshot.server.zones.as_mut().unwrap();
        zones.get_mut(&name("a.test.")).unwrap().contents = Err("status 500".to_owned());
        decide(&snapshot, &scene.memory, &scene.policy)
    };
    assert_eq!(standing(&unread(&scene)).0, ["a"], "nobody has told it yet");
    scene.pass();
    let plan = unread(&scene);
    assert_eq!(standing(&plan).1, ["a"]);
    assert!(plan.objects["u-a"].secure.is_none());
    // Without a limit to namespaces its mark is a dead one's.
    scene.policy.namespaces.clear();
    assert_eq!(standing(&unread(&scene)).0, ["a"]);
}

//! What `cleanup` takes away and what it leaves, zone by zone and object by object, by what says that it is ours.

use dns_syncd::plan::change::{Change, DeleteReason};
use dns_syncd::plan::cleanup::{Cleanup, cleanup};
use dns_syncd::plan::note::mark;
use dns_syncd::plan::snapshot::Snapshot;
use dns_syncd::plan::{Policy, ZoneStep};
use serde_json::json;

use crate::model::Comment;
use crate::rig::policy;
use crate::scenario::{OWNER, name};
use crate::scene::{Scene, note};

fn cleaned(scene: &Scene) -> Cleanup {
    cleanup(&scene.world.snapshot(), &scene.policy)
}

/// Line by line what is printed.
fn told(scene: &Scene) -> Vec<String> {
    lines(&scene.world.snapshot(), &scene.policy)
}

fn lines(snapshot: &Snapshot, policy: &Policy) -> Vec<String> {
    cleanup(snapshot, policy).to_string().lines().map(str::to_owned).collect()
}

/// A zone with a set of each of these names, types and contents, all served.
fn scene(sets: &[(&str, &str, &str, &str)]) -> Scene {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "bare");
    for (set, rtype, raw, content) in sets {
        scene.set(set, "a", rtype, &[(raw, content)]);
    }
    scene.rest();
    scene
}

fn www() -> Scene {
    scene(&[("s", "A", "www", "192.0.2.1")])
}

fn comment(account: &str) -> Comment {
    Comment { account: account.to_owned(), content: "ask first".to_owned(), modified_at: 7 }
}

/// An RRset that somebody has written with our note for `ns/s`, or another owner's.
fn noted(scene: &mut Scene, apex: &str, at: &str, rtype: &str, content: &str, owner: &str) {
    let rrset = scene.store(apex, at, rtype, &[content]);
    let note = note(owner, "s", rtype, rrset);
    rrset.comments.push(note);
}

/// SOA and NS at the apex stay, or the zone were dead, and lose the note alone; the same types elsewhere go.
#[test]
fn a_zone_with_something_of_others_loses_what_is_ours() {
    let mut scene = scene(&[
        ("apex", "NS", "@", "ns.test"),
        ("s", "A", "www", "192.0.2.1"),
        ("sub", "NS", "sub", "ns.test"),
    ]);
    scene.store("a.test.", "by-hand.a.test.", "A", &["192.0.2.4"]);
    scene.store("a.test.", "theirs.a.test.", "NS", &["ns.test."]);
    scene.store("a.test.", "theirs.a.test.", "LOC", &["51 0 0 N 4 0 0 E 0m 1m 1m 1m"]);
    let apex = ("a.test.".to_owned(), "NS".to_owned());
    scene.pdns("a.test.").rrsets.get_mut(&apex).unwrap().comments.push(comment("ops"));
    let lines = [
        "unnote    a.test. NS",
        "delete    sub.a.test. NS 60 ns.test. of ns/sub",
        "delete    www.a.test. A 60 192.0.2.1 of ns/s",
        "unmark    zone a.test.",
        "release   DNSRecordSet ns/apex",
        "release   DNSRecordSet ns/s",
        "release   DNSRecordSet ns/sub",
        "release   DNSZone ns/a",
        "leave     by-hand.a.test. A: nothing says it is ours",
        "leave     theirs.a.test. LOC: nothing says it is ours",
        "leave     theirs.a.test. NS: nothing says it is ours",
    ];
    assert_eq!(told(&scene), lines);

    let out = cleaned(&scene);
    let zone = &out.zones[&name("a.test.")];
    assert_eq!(
        (&zone.records.step, zone.records.id.as_deref()),
        (&ZoneStep::Keep, Some("a.test."))
    );
    let of = |at: &str| zone.records.names[&name(at)].types.values().next().unwrap();
    let Change::Adopt { comments, by } = of("a.test.") else { panic!("{zone:?}") };
    let kept: Vec<_> = comments.iter().map(|c| (c.account.as_str(), c.modified_at)).collect();
    assert_eq!((kept, by.key.to_string()), (vec![("ops", 7)], "ns/apex".to_owned()));
    let Change::Delete { by, why, unnoted, .. } = of("www.a.test.") else { panic!("{zone:?}") };
    let going = (by.uid.as_str(), *why, *unnoted);
    assert_eq!(going, ("u-s", DeleteReason::Going, false));
    let (account, by) = (String::new(), String::new());
    let step = ZoneStep::Mark { account, expected: Scene::mark("a"), by };
    assert_eq!(zone.unmark.as_ref().unwrap().step, step);
}

#[test]
fn a_zone_with_our_mark_and_nothing_of_others_goes() {
    let scene = www();
    let lines = ["delete    zone a.test.", "release   DNSRecordSet ns/s", "release   DNSZone ns/a"];
    assert_eq!(told(&scene), lines);
    let out = cleaned(&scene);
    let zone = &out.zones[&name("a.test.")];
    let step = ZoneStep::DeleteOrphan { comments: [].into() };
    assert_eq!((&zone.records.step, zone.unmark.is_none()), (&step, true));
    assert!(zone.records.names.is_empty(), "what is in it goes with it");

    // On a server where comments outlive their zone, it is told whose do.
    let mut snapshot = scene.world.snapshot();
    snapshot.server.capabilities.as_mut().unwrap().comments_outlive = true;
    let out = cleanup(&snapshot, &scene.policy);
    let comments = [(name("www.a.test."), "A".to_owned())].into();
    let step = ZoneStep::DeleteOrphan { comments };
    assert_eq!(out.zones[&name("a.test.")].records.step, step);
}

/// Another owner's note stands at an apex that is made with every zone, and yet says that somebody needs it.
#[test]
fn another_owners_note_keeps_a_zone() {
    let mut scene = www();
    noted(&mut scene, "a.test.", "a.test.", "NS", "ns.test.", "west");
    let lines = ["delete    www.a.test. A 60 192.0.2.1 of ns/s", "unmark    zone a.test."];
    assert_eq!(told(&scene)[..2], lines);
}

/// Who has no mark of ours has made the zone, and keeps it and its account.
#[test]
fn a_zone_without_our_mark_loses_no_more_than_noted_rrsets() {
    for (account, apex) in [
        (String::new(), true),
        ("billing".to_owned(), true),
        // In another owner's zone nothing is written but deletes.
        (mark("west", "x"), false),
    ] {
        let mut scene = Scene::new();
        scene.made("b.test.", &account);
        noted(&mut scene, "b.test.", "b.test.", "NS", "ns.test.", OWNER);
        noted(&mut scene, "b.test.", "www.b.test.", "A", "192.0.2.1", OWNER);
        scene.store("b.test.", "x.b.test.", "A", &["192.0.2.1"]);
        noted(&mut scene, "b.test.", "y.b.test.", "A", "192.0.2.1", "west");
        let mut lines = vec!["unnote    b.test. NS"; usize::from(apex)];
        lines.push("delete    www.b.test. A 300 192.0.2.1 of ns/s");
        assert_eq!(told(&scene), lines, "{account}");

        scene.pdns("b.test.").rrsets.retain(|key, _| key.0 == "b.test." && key.1 == "SOA");
        assert!(told(&scene).is_empty() && cleaned(&scene).is_done(), "{account}");
    }
}

/// Under `namespaces` the same `ownerId` may serve others: the mark alone tells nothing then.
#[test]
fn a_mark_counts_alone_only_without_a_limit_to_namespaces() {
    let mut scene = Scene::new();
    scene.made("o.test.", &Scene::mark("dead"));
    assert_eq!(told(&scene), ["delete    zone o.test."]);
    scene.policy.namespaces = ["ns".to_owned()].into();
    let why = "its mark is ours, and may be for a DNSZone of a namespace that is not read";
    assert_eq!(told(&scene), [format!("leave     zone o.test.: {why}")]);
    assert!(cleaned(&scene).is_done());
    // A note of ours that is read tells, and so does the DNSZone.
    let mut with_note = scene.clone();
    noted(&mut with_note, "o.test.", "www.o.test.", "A", "192.0.2.1", OWNER);
    assert_eq!(told(&with_note), ["delete    zone o.test."]);
    scene.zone("dead", "o.test", "bare");
    assert_eq!(told(&scene), ["delete    zone o.test."]);
}

/// A server without comments keeps no note: there the objects tell, in a zone with our mark.
#[test]
fn without_comments_the_objects_tell_what_is_ours() {
    let mut scene = Scene::new();
    scene.world.pdns.comments = false;
    scene.zone("a", "a.test", "bare");
    scene.zone("b", "b.test", "bare");
    scene.set("s", "a", "A", &[("www", "192.0.2.1"), ("was", "192.0.2.1")]);
    scene.set("b", "b", "A", &[("www", "192.0.2.1")]);
    scene.rest();
    scene.pdns("b.test.").account.clear();
    scene.declare("s", &[("www", "192.0.2.2")]);
    scene.set("new", "a", "A", &[("same", "192.0.2.1"), ("other", "192.0.2.1")]);
    for (at, content) in [("same.a.test.", "192.0.2.1"), ("other.a.test.", "192.0.2.9")] {
        scene.store("a.test.", at, "A", &[content]).ttl = 60;
    }
    let lines = [
        "delete    same.a.test. A 60 192.0.2.1 of ns/new",
        "delete    was.a.test. A 60 192.0.2.1 of ns/s",
        "delete    www.a.test. A 60 192.0.2.1 of ns/s",
        "unmark    zone a.test.",
        "release   DNSRecordSet ns/b",
        "release   DNSRecordSet ns/s",
        "release   DNSZone ns/a",
        "release   DNSZone ns/b",
        "leave     other.a.test. A: nothing says it is ours",
    ];
    assert_eq!(told(&scene), lines);
    let out = cleaned(&scene);
    let www = &out.zones[&name("a.test.")].records.names[&name("www.a.test.")];
    let unnoted = |c: &Change| matches!(c, Change::Delete { unnoted: true, .. });
    assert!(www.types.values().all(unnoted));
    // Where comments are kept, what has none is not ours, whatever an object says.
    scene.world.pdns.comments = true;
    assert_eq!(told(&scene)[0], "unmark    zone a.test.");
}

/// Where the server shows one type twice, what is there is not known, and nothing is taken.
#[test]
fn a_name_that_is_shown_twice_stays() {
    for comments in [true, false] {
        let mut scene = www();
        scene.world.pdns.comments = comments;
        let mut snapshot = scene.world.snapshot();
        let zone = snapshot.server.zones.as_mut().unwrap().get_mut(&name("a.test.")).unwrap();
        zone.contents.as_mut().unwrap().doubled.insert(name("www.a.test."));
        let lines = lines(&snapshot, &scene.policy);
        assert_eq!(lines[0], "unmark    zone a.test.");
        assert_eq!(lines[3], "leave     www.a.test. A: nothing says it is ours");
    }
}

#[test]
fn finalizers_go_from_objects_that_have_them_and_no_others() {
    let mut scene = www();
    scene.zone("new", "new.test", "bare");
    scene.set("new", "new", "A", &[("www", "192.0.2.1")]);
    for (plural, object) in [("dnsrecordsets", "s"), ("dnszones", "a")] {
        scene.edit(plural, object, |object| {
            object["metadata"]["finalizers"].as_array_mut().unwrap().push(json!("x/theirs"));
        });
    }
    // Of a DNSZone that is not there nothing speaks against us.
    scene.edit("dnsrecordsets", "s", |set| set["spec"]["dnsZoneRef"]["name"] = json!("nowhere"));
    let out = cleaned(&scene);
    let releases = out.sets.iter().chain(&out.objects);
    let releases: Vec<_> =
        releases.map(|release| (release.meta.key().to_string(), release.stay.clone())).collect();
    let theirs = || vec!["x/theirs".to_owned()];
    assert_eq!(releases, [("ns/s".to_owned(), theirs()), ("ns/a".to_owned(), theirs())]);
}

/// All daemons use one finalizer: of a class that is another controller's it is theirs, unless our mark says otherwise.
#[test]
fn what_another_controller_serves_keeps_its_finalizer() {
    let mut scene = www();
    scene.edit("dnszones", "a", |zone| zone["spec"]["dnsZoneClassName"] = json!("foreign"));
    let released = ["release   DNSRecordSet ns/s", "release   DNSZone ns/a"];
    assert_eq!(told(&scene)[1..], released, "our mark is on it");
    let why = "its class is of controller \"another\", and not ours";
    let left =
        [format!("leave     DNSRecordSet ns/s: {why}"), format!("leave     DNSZone ns/a: {why}")];
    for account in [String::new(), Scene::mark("dead")] {
        scene.pdns("a.test.").account = account;
        let told = told(&scene);
        assert_eq!(told[told.len() - 2..], left);
        assert!(!told.iter().any(|line| line.starts_with("release")), "{told:?}");
    }
    // A class that is missing is no other controller's.
    scene.edit("dnszones", "a", |zone| zone["spec"]["dnsZoneClassName"] = json!("missing"));
    let told = told(&scene);
    assert_eq!(told[told.len() - 2..], released);
}

#[test]
fn what_cannot_be_read_is_told_and_leaves_something_to_do() {
    let mut scene = www();
    scene.made("slave.test.", "");
    scene.pdns("slave.test.").kind = "Slave".to_owned();
    scene.world.pdns.unread.insert("a.test.".to_owned());
    let lines = [
        "unread    zone a.test.: it answers 500",
        "release   DNSRecordSet ns/s",
        "release   DNSZone ns/a",
    ];
    assert_eq!(told(&scene), lines);
    // Without PowerDNS objects must be able to go all the same.
    scene.world.pdns.unlisted = true;
    assert_eq!(told(&scene), lines[1..]);
}

/// What stays for good is nothing left to take away; everything else is.
#[test]
fn it_is_done_once_nothing_is_left_to_take_away() {
    let full = cleaned(&www());
    assert!(Cleanup::default().is_done());
    assert!(Cleanup { left: ["x".to_owned()].into(), ..Cleanup::default() }.is_done());
    for one in [
        Cleanup { zones: full.zones.clone(), ..Cleanup::default() },
        Cleanup { sets: full.sets.clone(), ..Cleanup::default() },
        Cleanup { objects: full.objects.clone(), ..Cleanup::default() },
        Cleanup { unread: ["x".to_owned()].into(), ..Cleanup::default() },
    ] {
        assert!(!one.is_done(), "{one:?}");
    }
    assert!(cleanup(&Scene::new().world.snapshot(), &policy()).is_done());
}

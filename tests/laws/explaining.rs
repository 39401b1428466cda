//! What `explain` tells of one name: who declares it, who has it and why, what PowerDNS holds, and what comes next.

use dns_syncd::plan::brake;
use dns_syncd::plan::brakes::{Brakes, Hold};
use dns_syncd::plan::explain::{Explained, OneType, explain};
use dns_syncd::plan::note::mark;
use dns_syncd::plan::release::Released;
use dns_syncd::plan::snapshot::StoredRecord;
use serde_json::json;

use crate::model::Comment;
use crate::scenario::name;
use crate::scene::{Scene, note};

fn explained(scene: &Scene, at: &str) -> Explained {
    explain(&scene.world.snapshot(), &scene.plan(), &scene.policy, &name(at), None)
}

/// The one type that is known at a name.
fn one(scene: &Scene, at: &str) -> OneType {
    let mut types = explained(scene, at).types;
    assert_eq!(types.len(), 1, "{types:#?}");
    types.remove(0)
}

/// A zone with one set that declares `www`.
fn scene() -> Scene {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "ours");
    scene.set("s", "a", "A", &[("www", "192.0.2.1")]);
    scene.rest();
    scene
}

fn created(scene: &mut Scene, set: &str, time: &str) {
    scene.edit("dnsrecordsets", set, |set| set["metadata"]["creationTimestamp"] = json!(time));
}

#[test]
fn all_that_is_known_of_a_name_stands_in_a_few_lines() {
    let mut scene = scene();
    scene.set("younger", "a", "A", &[("www", "192.0.2.2")]);
    created(&mut scene, "s", "2026-01-01T00:00:00Z");
    created(&mut scene, "younger", "2026-01-02T00:00:00Z");
    scene.store("a.test.", "www.a.test.", "LOC", &["51 0 0 N 4 0 0 E 0m 1m 1m 1m"]);
    scene.store("a.test.", "www.a.test.", "TXT", &["\"b\"", "\"a\""]);
    // Comments alone are no RRset.
    scene.store("a.test.", "www.a.test.", "MX", &[]);
    scene.rest();
    let mut told = explained(&scene, "www.a.test.");
    let lines = [
        "name      www.a.test.",
        "zone      a.test. of DNSZone ns/a, our mark",
        "",
        "type      A",
        "claim     ns/s, created 2026-01-01T00:00:00Z: served as declared",
        "claim     ns/younger, created 2026-01-02T00:00:00Z: NotOwner: Another DNSRecordSet owns this record: ns/s",
        "winner    ns/s: it is the oldest",
        "stored    300 192.0.2.1, noted by us for ns/s",
        "next      nothing",
        "",
        "type      LOC",
        "claim     of no DNSRecordSet",
        "stored    300 51 0 0 N 4 0 0 E 0m 1m 1m 1m, without a note",
        "next      it stays: of a type that is not managed here",
        "",
        "type      TXT",
        "claim     of no DNSRecordSet",
        "stored    300 \"a\" | \"b\", without a note",
        "next      it stays: that nobody's note claims",
    ];
    assert_eq!(told.to_string().lines().collect::<Vec<_>>(), lines);
    // What DNS answers is told of the types that it was asked for.
    told.answer(&[("TXT".to_owned(), "NXDOMAIN".to_owned())].into());
    let answers: Vec<_> = told.types.iter().map(|one| one.dns.as_deref()).collect();
    assert_eq!(answers, [None, None, Some("NXDOMAIN")]);
    let lines = "\"b\", without a note\ndns       NXDOMAIN\nnext      it stays";
    assert!(told.to_string().contains(lines), "{told}");
}

#[test]
fn of_one_type_only_that_is_told() {
    let scene = scene();
    let (snapshot, plan) = (scene.world.snapshot(), scene.plan());
    for (only, stored) in [("A", "300 192.0.2.1, noted by us for ns/s"), ("MX", "nothing")] {
        let told = explain(&snapshot, &plan, &scene.policy, &name("www.a.test."), Some(only));
        let types: Vec<_> =
            told.types.iter().map(|t| (t.rtype.as_str(), t.stored.as_str())).collect();
        assert_eq!(types, [(only, stored)]);
    }
}

#[test]
fn where_nobody_says_anything_that_is_said() {
    let told = explained(&scene(), "free.a.test.").to_string();
    let lines = [
        "name      free.a.test.",
        "zone      a.test. of DNSZone ns/a, our mark",
        "nobody declares it, and PowerDNS holds nothing there",
    ];
    assert_eq!(told.lines().collect::<Vec<_>>(), lines);
    assert_eq!(explained(&scene(), "b.test.").zone, "none that is declared here or in PowerDNS");
}

/// The longest zone answers, whoever holds it.
#[test]
fn the_zone_of_a_name_is_told_with_its_holder_and_its_mark() {
    let mut scene = scene();
    scene.zone("new", "new.test", "ours");
    scene.zone("m", "m.test", "missing");
    scene.zone("j", "j.test", "ours");
    scene.zone("w", "west.test", "ours");
    for (apex, account) in [
        ("sub.a.test.", String::new()),
        ("free.test.", "billing".to_owned()),
        ("dead.test.", Scene::mark("dead")),
        ("west.test.", mark("west", "x")),
        ("m.test.", Scene::mark("m")),
    ] {
        scene.made(apex, &account);
    }
    scene.rest_but("new.test.");
    scene.delete("dnszones", "j");
    let missing = "Pending: DNSZoneClass \"missing\" not found";
    for (at, zone) in [
        ("www.a.test.", "a.test. of DNSZone ns/a, our mark"),
        ("x.sub.a.test.", "sub.a.test. of no DNSZone, no mark"),
        ("free.test.", "free.test. of no DNSZone, account \"billing\""),
        ("dead.test.", "dead.test. of no DNSZone, our mark"),
        (
            "west.test.",
            "west.test. of DNSZone ns/w (another holds the domain), another owner's mark",
        ),
        ("m.test.", &format!("m.test. of DNSZone ns/m ({missing}), our mark")),
        ("new.test.", "new.test. of DNSZone ns/new, not in PowerDNS"),
        ("j.test.", "j.test. of DNSZone ns/j (it is being deleted), our mark"),
    ] {
        assert_eq!(explained(&scene, at).zone, zone);
    }
    scene.world.pdns.unlisted = true;
    let told = explained(&scene, "www.a.test.");
    assert_eq!(told.zone, "a.test. of DNSZone ns/a, PowerDNS not read: no list, withheld: no list");
    assert_eq!(told.types[0].stored, "not known: no list");
}

#[test]
fn an_unread_zone_holds_what_is_not_known() {
    let mut scene = scene();
    scene.world.pdns.unread.insert("a.test.".to_owned());
    assert_eq!(one(&scene, "www.a.test.").stored, "not known: it answers 500");
}

#[test]
fn a_disabled_record_is_told_as_one() {
    let scene = scene();
    let (mut snapshot, plan, at) = (scene.world.snapshot(), scene.plan(), name("www.a.test."));
    let zone = snapshot.server.zones.as_mut().unwrap().get_mut(&name("a.test.")).unwrap();
    let names = &mut zone.contents.as_mut().unwrap().names;
    let rrset = names.get_mut(&at).unwrap().get_mut("A").unwrap();
    rrset.records.push(StoredRecord { content: "192.0.2.0".to_owned(), disabled: true });
    let told = explain(&snapshot, &plan, &scene.policy, &at, None);
    assert_eq!(told.types[0].stored, "300 192.0.2.0 (disabled) | 192.0.2.1, noted by us for ns/s");
}

/// Created at the same time, after or before; with the RRset's note or without it; served or going.
#[test]
fn the_winner_is_told_with_what_it_won_by() {
    let winner = |edit: &dyn Fn(&mut Scene)| {
        let mut scene = scene();
        scene.set("r", "a", "A", &[("www", "192.0.2.2")]);
        created(&mut scene, "s", "2026-01-01T00:00:00Z");
        created(&mut scene, "r", "2026-01-01T00:00:00Z");
        edit(&mut scene);
        let told = one(&scene, "www.a.test.");
        let order: Vec<_> = told.claims.iter().map(|claim| claim.object.clone()).collect();
        (order.join(" "), told.winner.unwrap_or_default())
    };
    let told = |order: &str, why: &str| (order.to_owned(), why.to_owned());
    assert_eq!(
        winner(&|_| {}),
        told("ns/s ns/r", "ns/s: none is older, and the RRset has its note")
    );
    let forgotten = |scene: &mut Scene| {
        let www = ("www.a.test.".to_owned(), "A".to_owned());
        scene.pdns("a.test.").rrsets.get_mut(&www).unwrap().comments.clear();
    };
    assert_eq!(
        winner(&forgotten),
        told("ns/r ns/s", "ns/r: none is older, and it is the first by namespace/name")
    );
    let older = |scene: &mut Scene| created(scene, "r", "2025-01-01T00:00:00Z");
    assert_eq!(winner(&older), told("ns/r ns/s", "ns/r: it is the oldest"));
    let going = |scene: &mut Scene| scene.delete("dnsrecordsets", "s");
    let after = "ns/r: those before it are not served or are being deleted";
    assert_eq!(winner(&going), told("ns/s ns/r", after));
    let alone = |scene: &mut Scene| scene.vanish("dnsrecordsets", "r");
    assert_eq!(winner(&alone), told("ns/s", "ns/s: nobody else declares it"));
    let neither = |scene: &mut Scene| {
        scene.delete("dnsrecordsets", "s");
        scene.delete("dnsrecordsets", "r");
    };
    assert_eq!(winner(&neither).1, "");
}

/// Each claim with what became of it; who declares nothing there makes none.
#[test]
fn a_claim_is_told_in_the_words_of_its_condition() {
    let mut scene = scene();
    scene.set("bad", "a", "MX", &[("www", "10 a..b"), ("other", "10 mx.test")]);
    scene.set("new", "a", "TXT", &[("www", "x")]);
    scene.set("elsewhere", "a", "TXT", &[("else", "x")]);
    scene.set("nowhere", "missing", "TXT", &[("www", "x")]);
    scene.zone("second", "a.test", "ours");
    scene.set("unserved", "second", "AAAA", &[("www", "2001:db8::1")]);
    scene.delete("dnsrecordsets", "s");
    let told = explained(&scene, "www.a.test.");
    let claims = told.types.iter().flat_map(|one| {
        let rtype = one.rtype.as_str();
        one.claims.iter().map(move |c| format!("{rtype} {} {}", c.object, c.verdict))
    });
    let claims: Vec<String> = claims.collect();
    assert_eq!(claims.len(), 4, "{claims:#?}");
    assert_eq!(claims[0], "A ns/s it is being deleted");
    assert_eq!(claims[1], "AAAA ns/unserved DNSZoneInUse: DNSZone claimed by another resource");
    assert!(claims[2].starts_with("MX ns/bad PDNSError: "), "{}", claims[2]);
    assert_eq!(claims[3], "TXT ns/new to be written by the next pass");
    let winners: Vec<_> = told.types.iter().map(|one| one.winner.is_some()).collect();
    assert_eq!(winners, [false, false, true, true], "who goes or is not served has not won");
}

#[test]
fn what_comes_next_is_told_in_a_sentence() {
    let next = |edit: &dyn Fn(&mut Scene)| {
        let mut scene = scene();
        edit(&mut scene);
        one(&scene, "www.a.test.").next
    };
    let www = || ("www.a.test.".to_owned(), "A".to_owned());
    assert_eq!(next(&|_| {}), "nothing");
    assert_eq!(
        next(&|scene| drop(scene.pdns("a.test.").rrsets.remove(&www()))),
        "create 300 192.0.2.1 for ns/s"
    );
    assert_eq!(
        next(&|scene| scene.declare("s", &[("www", "192.0.2.2")])),
        "replace 300 192.0.2.1 -> 300 192.0.2.2 for ns/s"
    );
    assert_eq!(
        next(&|scene| scene.pdns("a.test.").rrsets.get_mut(&www()).unwrap().comments.clear()),
        "adopt it for ns/s"
    );
    let gone = next(&|scene| scene.delete("dnsrecordsets", "s"));
    assert!(gone.starts_with("delete 300 192.0.2.1 of ns/s: "), "{gone}");
    assert_eq!(
        next(&|scene| {
            let rrset = scene.store("a.test.", "www.a.test.", "A", &["192.0.2.9"]);
            let theirs: Comment = note("west", "x", "A", rrset);
            rrset.comments.push(theirs);
            scene.declare("s", &[("other", "192.0.2.1")]);
        }),
        "it stays: noted by the owner \"west\""
    );
    assert_eq!(next(&|scene| scene.delete("dnszones", "a")), "it goes with its zone");
}

/// Of a zone in which nothing is written yet, the change is told with what it waits for.
#[test]
fn a_change_of_a_withheld_zone_comes_later() {
    let mut scene = Scene::new();
    scene.policy.request_timeout = 10;
    scene.zone("a", "a.test", "ours");
    scene.set("s", "a", "A", &[("www", "192.0.2.1")]);
    scene.made("a.test.", &Scene::mark("a"));
    scene.store("a.test.", "www.a.test.", "A", &["192.0.2.9"]);
    let told = explained(&scene, "www.a.test.");
    let why = scene.plan().zones[&name("a.test.")].withheld.clone().unwrap();
    assert_eq!(told.zone, format!("a.test. of DNSZone ns/a, our mark, withheld: {why}"));
    let next = format!("replace 300 192.0.2.9 -> 300 192.0.2.1 for ns/s, once this is over: {why}");
    assert_eq!(told.types[0].next, next);
}

/// What the class declares is for the class, and who wrote a thing is told of every writer.
#[test]
fn at_the_apex_the_class_declares_too() {
    let mut scene = scene();
    scene.store("a.test.", "a.test.", "NS", &["old.test."]);
    let ns = |scene: &Scene| {
        let told = explained(scene, "a.test.");
        told.types.into_iter().find(|one| one.rtype == "NS").unwrap()
    };
    let told = ns(&scene);
    assert_eq!((told.claims.len(), told.winner), (0, None));
    assert_eq!(
        told.next,
        "replace 300 old.test. -> 300 ns1.example.net. | ns2.example.net. for the class"
    );
    let rrset = scene.pdns("a.test.").rrsets.get_mut(&("a.test.".into(), "NS".into())).unwrap();
    let theirs = note("west", "x", "NS", rrset);
    rrset.comments.push(theirs);
    assert_eq!(
        ns(&scene).stored,
        "300 old.test., noted by owner \"west\" for ns/x: not ours to touch"
    );
}

/// A hold may be anywhere, and is told with every name.
#[test]
fn what_is_braked_is_told_at_the_end() {
    let mut scene = scene();
    scene.vanish("dnsrecordsets", "s");
    let brakes = Brakes { implicit_total: 0, ..scene.policy.brakes };
    let plan = brake(scene.plan(), &scene.world.snapshot(), brakes, &Released::default());
    let told = explain(&scene.world.snapshot(), &plan, &scene.policy, &name("x.a.test."), None);
    let holds: Vec<String> = plan.holds.iter().map(Hold::message).collect();
    assert_eq!((told.holds.len(), &told.holds), (1, &holds));
    assert!(told.to_string().ends_with(&format!("\nbraked    {}\n", holds[0])), "{told}");
}

//! What is told of one world with everything in it: the printed plan, the document, the figures, the statuses and events.

use std::fmt::Write;

use dns_syncd::dns::rdata::Dialect;
use dns_syncd::plan::brakes::Brakes;
use dns_syncd::plan::document::Document;
use dns_syncd::plan::events::Event;
use dns_syncd::plan::markdown::Markdown;
use dns_syncd::plan::print::Printed;
use dns_syncd::plan::release::Released;
use dns_syncd::plan::summary::Summary;
use dns_syncd::plan::view::View;
use dns_syncd::plan::{Aftermath, Failure, Plan, brake, settle};
use serde::Serialize;
use serde_json::Value;

use crate::rig::policy;
use crate::scene::{NOW, Scene, all_failed, note};

/// Zones and sets in every state.
fn everything() -> Scene {
    let mut scene = Scene::new();
    for (name, class) in
        [("a", "ours"), ("d", "ours"), ("h", "ours"), ("r", "ours"), ("bare", "bare")]
    {
        scene.zone(name, &format!("{name}.test"), class);
    }
    scene.set("a-s", "a", "A", &[("www", "192.0.2.1"), ("ftp", "192.0.2.1"), ("old", "192.0.2.1")]);
    scene.set("a-going", "a", "TXT", &[("txt", "x")]);
    scene.set("a-noted", "a", "MX", &[("@", "10 mx.test")]);
    scene.set("a-gone", "a", "A", &[("gone", "192.0.2.1")]);
    scene.set("d-s", "d", "A", &[("www", "192.0.2.1")]);
    scene.set("h-s", "h", "A", &[("www", "192.0.2.1")]);
    scene.set("r-s", "r", "A", &[("www", "192.0.2.1")]);
    scene.set("bare-ns", "bare", "NS", &[("@", "ns.bare.example")]);
    scene.rest();

    // Changed, lost, adopted, let go, gone.
    scene.declare(
        "a-s",
        &[
            ("www", "192.0.2.2"),
            ("ftp", "192.0.2.1"),
            ("new", "192.0.2.1"),
            ("bad", "x"),
            ("www.other.", "192.0.2.1"),
        ],
    );
    scene.delete("dnsrecordsets", "a-going");
    scene.vanish("dnsrecordsets", "a-gone");
    let key = |name: &str, rtype: &str| (name.to_owned(), rtype.to_owned());
    scene.pdns("a.test.").rrsets.get_mut(&key("a.test.", "MX")).unwrap().comments.clear();
    // Left: nobody's, another owner's, of a type that is not managed.
    scene.store("a.test.", "stray.a.test.", "A", &["192.0.2.9", "192.0.2.8"]);
    let rrset = scene.store("a.test.", "theirs.a.test.", "TXT", &["\"x\""]);
    let theirs = note("west", "x", "TXT", rrset);
    rrset.comments.push(theirs);
    scene.store(
        "a.test.",
        "loc.a.test.",
        "LOC",
        &["51 56 0.000 N 4 0 0.000 E 0.00m 1.00m 1.00m 1.00m"],
    );
    scene.store("d.test.", "stray.d.test.", "A", &["192.0.2.9"]);
    // Losers and conflicts.
    scene.set("a-loser", "a", "A", &[("www", "192.0.2.7")]);
    scene.set(
        "a-cname",
        "a",
        "CNAME",
        &[("www", "t.test"), ("theirs", "t.test"), ("free", "t.test")],
    );
    scene.set("homeless", "nowhere", "A", &[("www", "192.0.2.1")]);
    // Zones: new, existing, ending, orphaned, for another DNSZone, unread, of others.
    for (name, domain, class) in [
        ("b", "b.test", "ours"),
        ("c", "c.test", "ours"),
        ("e", "e.test", "foreign"),
        ("f", "f.test", "missing"),
        ("g", "a.test", "ours"),
        ("i", "", "ours"),
        ("j", "j.test", ""),
        ("r2", "r.test", "ours"),
    ] {
        scene.zone(name, domain, class);
    }
    for zone in ["b", "c", "e", "g"] {
        scene.set(&format!("{zone}-s"), zone, "A", &[("www", "192.0.2.1")]);
    }
    scene.made("c.test.", "");
    scene.store("c.test.", "www.c.test.", "A", &["192.0.2.1"]);
    scene.delete("dnszones", "d");
    scene.delete("dnszones", "r");
    scene.made("o.test.", &Scene::mark("dead"));
    scene.world.pdns.unread.insert("h.test.".to_owned());
    scene
}

fn braked(scene: &Scene) -> Plan {
    let brakes = Brakes { implicit_total: 0, ..policy().brakes };
    brake(scene.plan(), &scene.world.snapshot(), brakes, &Released::default())
}

/// Conditions as lines, and what else a status has.
fn conditions(out: &mut String, who: &str, holder: &Value) {
    for c in holder["conditions"].as_array().into_iter().flatten() {
        let text = |field: &str| c[field].as_str().unwrap_or("-");
        let [kind, status, reason] = ["type", "status", "reason"].map(text);
        let (generation, time) = (&c["observedGeneration"], text("lastTransitionTime"));
        let message = text("message");
        writeln!(out, "{who} {kind}={status} {reason} ({generation}, {time}): {message}").unwrap();
    }
}

fn json(out: &mut String, value: &impl Serialize) {
    writeln!(out, "{}", serde_json::to_string(value).unwrap()).unwrap();
}

fn lines<T: Serialize>(out: &mut String, values: &[T]) {
    for value in values {
        json(out, value);
    }
}

fn document(out: &mut String, plan: &Plan, dialect: Dialect) {
    let Document { differs, unread, zones, holds, orphans, waits } = Document::of(plan, dialect);
    writeln!(out, "{differs} {unread:?} {orphans:?}").unwrap();
    for mut zone in zones {
        let changes = std::mem::take(&mut zone.changes);
        json(out, &zone);
        lines(out, &changes);
    }
    lines(out, &holds);
    lines(out, &waits);
}

/// What a pass leaves to be said and done.
fn aftermath(out: &mut String, after: &Aftermath) {
    json(out, &after.summary);
    for Event { kind, meta, transition, warning, reason, note } in &after.events {
        let tone = if *warning { "warning" } else { "normal" };
        let told = if *transition { "with its status" } else { "alone" };
        writeln!(out, "{tone} event {told} {kind} {} {reason}: {note}", meta.name).unwrap();
    }
    for write in &after.statuses {
        let who = format!("{} {}", write.kind, write.meta.name);
        let status = &write.body["status"];
        conditions(out, &who, status);
        for name in status["recordSets"].as_array().into_iter().flatten() {
            conditions(out, &format!("{who} {}", name["name"]), name);
        }
        if write.kind == "DNSZone" {
            writeln!(out, "{who} {} {}", status["nameservers"], status["recordCount"]).unwrap();
        }
    }
    let sets = after.set_releases.iter().map(|r| (&r.meta.name, &r.stay));
    writeln!(out, "released sets {:?}", sets.collect::<Vec<_>>()).unwrap();
    let zones = after.zone_releases.iter().map(|(r, sets)| (&r.meta.name, &r.stay, sets));
    writeln!(out, "released zones {:?}", zones.collect::<Vec<_>>()).unwrap();
    writeln!(out, "proven {:?}", after.proven).unwrap();
    after.waiting.iter().for_each(|(uid, why)| writeln!(out, "{uid} waits: {why}").unwrap());
}

/// `words.txt` is what a person has read and found right; a change of it is a change of what people are told.
#[test]
fn one_world_is_told_in_full() {
    let mut scene = everything();
    let plan = braked(&scene);
    let dialect = scene.world.snapshot().dialect();
    let mut out = String::from("# the plan as printed\n");
    write!(out, "{}", Printed { plan: &plan, dialect }).unwrap();
    out += "\n# the plan as data\n";
    document(&mut out, &plan, dialect);
    out += "\n# the plan as Markdown\n";
    write!(out, "{}", Markdown(&Document::of(&plan, dialect))).unwrap();
    out += "\n# the figures of the plan\n";
    json(&mut out, &Summary::planned(&plan));
    out += "\n# after a pass in which all of PowerDNS failed\n";
    let failed = settle(&plan, &all_failed(&plan, &Failure::Status(500)), NOW);
    aftermath(&mut out, &failed);
    out += "\n# to be seen afterwards\n";
    let view = View::of(&plan, &scene.world.snapshot(), &failed.waiting);
    writeln!(out, "{}", serde_json::to_string_pretty(&view).unwrap()).unwrap();
    out += "\n# after a pass in which all was done\n";
    aftermath(&mut out, &scene.carry_out(&plan));
    let expected = include_str!("words.txt");
    let wrong = out.lines().zip(expected.lines()).find(|(line, right)| line != right);
    assert!(out == expected, "{wrong:#?}\nin\n{out}");
}

fn printed(scene: &Scene, plan: &Plan) -> String {
    Printed { plan, dialect: scene.world.snapshot().dialect() }.to_string()
}

#[test]
fn a_world_at_rest_has_nothing_to_change() {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "ours");
    scene.set("s", "a", "A", &[("www", "192.0.2.1")]);
    scene.rest();
    let plan = scene.plan();
    assert_eq!(printed(&scene, &plan), "nothing to change\n");
    assert!(plan.objects["u-a"].secure.is_none() && plan.sets["u-s"].secure.is_none());
    assert!(plan.sets["u-s"].traces.is_empty() && plan.sets["u-s"].lost.is_empty());
    let dialect = scene.world.snapshot().dialect();
    let Document { differs, zones, waits, .. } = Document::of(&plan, dialect);
    assert!(!differs && !plan.differs() && !plan.holds() && zones.is_empty() && waits.is_empty());
    let summary = Summary::planned(&plan);
    assert!(summary.clean() && summary.dry_run && !summary.blind && summary.equal == 1);
    // What is adopted is no difference, and yet something to say.
    let www = ("www.a.test.".to_owned(), "A".to_owned());
    scene.pdns("a.test.").rrsets.get_mut(&www).unwrap().comments.clear();
    let plan = scene.plan();
    assert!(!plan.differs() && !plan.holds());
    assert_eq!(printed(&scene, &plan), "adopt     www.a.test. A for ns/s\nnothing to change\n");
    // What stays is no difference either.
    scene.pass();
    scene.store("a.test.", "x.a.test.", "A", &["192.0.2.1"]);
    let plan = scene.plan();
    assert_eq!(Document::of(&plan, dialect).zones.len(), 1);
    assert!(!plan.differs() && !plan.holds());
}

#[test]
fn an_outage_is_told_and_so_is_what_waits_for_its_end() {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "ours");
    scene.set("s", "a", "A", &[("www", "192.0.2.1")]);
    scene.rest();
    scene.delete("dnsrecordsets", "s");
    scene.world.pdns.unlisted = true;
    let plan = scene.plan();
    let lines = [
        "unread    everything: no list",
        "refused   DNSZone ns/a: PDNSError: Waiting for default records: no list",
        "release   DNSRecordSet ns/s once its RRsets are gone; waits: no list",
    ];
    let told = printed(&scene, &plan);
    assert_eq!(told.lines().collect::<Vec<_>>(), lines);
    assert!(plan.holds() && !plan.differs());
    let document = Document::of(&plan, scene.world.snapshot().dialect());
    assert_eq!((document.unread.as_deref(), document.waits.len()), (Some("no list"), 2));
    assert_eq!(document.waits[0].why, "it is let go once its RRsets are gone; waits: no list");
    let summary = Summary::planned(&plan);
    assert!(summary.blind && !summary.clean());
    assert_eq!(summary.failed, ["PowerDNS could not be read: no list"]);
}

#[test]
fn an_orphan_that_goes_is_told_with_what_goes_with_it() {
    let mut scene = Scene::new();
    scene.policy.delete_orphan_zones = true;
    scene.zone("a", "a.test", "foreign");
    scene.made("o.test.", &Scene::mark("dead"));
    scene.store("o.test.", "www.o.test.", "A", &["192.0.2.1"]);
    let plan = scene.plan();
    let lines = [
        "delete    zone o.test., an orphan",
        "with it   www.o.test. A: no note claims it; it goes with its zone",
    ];
    assert_eq!(printed(&scene, &plan).lines().collect::<Vec<_>>(), lines);
    assert!(plan.differs() && !plan.holds());
    let summary = Summary::planned(&plan);
    assert_eq!((summary.zones_deleted, summary.left_alone), (1, 0));
}

/// A name that follows its zone's mark does not wait; the loser of an election does, although the winner's change is there.
#[test]
fn what_follows_a_mark_is_not_told_to_wait() {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "ours");
    scene.zone("f", "f.test", "foreign");
    scene.set("s", "a", "A", &[("www", "192.0.2.1")]);
    scene.set("loser", "a", "A", &[("www", "192.0.2.2")]);
    scene.made("a.test.", "");
    let plan = scene.plan();
    assert!(plan.objects["u-a"].secure.is_some() && plan.objects["u-f"].secure.is_none());
    let told = printed(&scene, &plan);
    let lines: Vec<&str> = told.lines().filter(|line| line.contains("www")).collect();
    let lost = "Another DNSRecordSet owns this record: ns/s";
    let held = format!("held      DNSRecordSet ns/loser www: NotOwner: {lost}");
    assert_eq!(lines, ["create    www.a.test. A 300 192.0.2.1 for ns/s", held.as_str()]);
    let waits = Document::of(&plan, scene.world.snapshot().dialect()).waits;
    let sets = waits.iter().filter(|wait| wait.kind == "DNSRecordSet");
    assert_eq!(sets.map(|wait| wait.object.as_str()).collect::<Vec<_>>(), ["ns/loser"]);
}

fn markdown(scene: &Scene) -> String {
    Markdown(&Document::of(&scene.plan(), scene.world.snapshot().dialect())).to_string()
}

/// What others wrote neither marks anything up nor ends a cell.
#[test]
fn markdown_shows_texts_as_they_are() {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "ours");
    scene.rest();
    scene.set(
        "s",
        "a",
        "TXT",
        &[("t", "| `@team` <b> ~~x~~ [l](http://x)"), ("x", &"y".repeat(900))],
    );
    let told = markdown(&scene);
    let row = |name: &str| told.lines().find(|l| l.contains(name)).unwrap();
    let text = "| create | <code>t.a.test.</code> | TXT |  | <code>300 &#34;&#124; &#96;&#64;team&#96; &#60;b&#62; \
                &#126;&#126;x&#126;&#126; &#91;l&#93;&#40;http://x&#41;&#34;</code> | <code>ns/s</code> |";
    assert_eq!(row("t.a.test."), text);
    let long = row("x.a.test.");
    assert!(long.contains("more characters") && long.len() < 500, "{long}");
}

/// However much there is, there is an end to it, and what goes is shown first.
#[test]
fn markdown_has_a_bound_that_hides_no_delete() {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "ours");
    scene.zone("b", "b.test", "ours");
    scene.set("gone", "b", "A", &[("gone", "192.0.2.1")]);
    scene.rest();
    scene.delete("dnsrecordsets", "gone");
    let names: Vec<String> = (0..2000).map(|n| format!("n{n}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), "192.0.2.1")).collect();
    scene.set("many", "a", "A", &many);
    let bad: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), "no address")).collect();
    scene.set("waits", "b", "A", &bad);
    let told = markdown(&scene);
    assert!(told.len() < 65_536, "{}", told.len());
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0], "### DNS: 1 to delete, 2000 to create");
    assert_eq!(lines[2], "#### <code>b.test.</code>");
    assert!(lines[6].starts_with("| **delete** | <code>gone.b.test.</code> | A |"), "{}", lines[6]);
    let shown = lines.iter().filter(|l| l.starts_with("| create |")).count();
    let rest = format!("**{} more changes are not shown.**", 2000 - shown);
    assert!(shown > 100 && lines.contains(&rest.as_str()), "{shown}");
    assert!(lines.contains(&"| and 1981 more | | |"));
}

//! Decisions about one name, each in a world of its own: who yields to whom, what is protected, what a longer zone takes,
//! and what is known to be ours without a note.

use dns_syncd::api::FINALIZER_RECORD_SET;
use dns_syncd::dns::rrset::RecordType;
use dns_syncd::plan::{Failure, decide};
use serde_json::json;

use crate::model::Comment;
use crate::scenario::name;
use crate::scene::{Scene, all_failed, changes, finalized, note, uid};

const CONFLICT: &str = "False Conflict: A conflicting record already exists for this name. Remove the existing record and try again: ";

fn scene(sets: &[(&str, &str, &str)]) -> Scene {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "ours");
    for (name, rtype, content) in sets {
        scene.set(name, "a", rtype, &[("www", content)]);
    }
    scene.rest();
    scene
}

fn retype(scene: &mut Scene, set: &str, rtype: &str, content: &str) {
    scene.edit("dnsrecordsets", set, |set| {
        set["spec"]["recordType"] = json!(rtype);
        set["spec"]["records"] = crate::scene::entries(rtype, &[("www", content)]);
    });
}

fn repoint(scene: &mut Scene, set: &str, zone: &str) {
    scene.edit("dnsrecordsets", set, |set| set["spec"]["dnsZoneRef"]["name"] = json!(zone));
}

/// What a further pass says of `www` of a set.
fn said(scene: &Scene, set: &str) -> String {
    let mut scene = scene.clone();
    scene.pass();
    scene.said("dnsrecordsets", set, Some("www"), "Programmed")
}

#[test]
fn the_old_type_goes_with_the_write_of_the_new() {
    let mut retyped = scene(&[("s", "A", "192.0.2.1")]);
    retype(&mut retyped, "s", "CNAME", "t.test");
    let both = ["delete a.test. www.a.test. A", "replace a.test. www.a.test. CNAME"];
    assert_eq!(changes(&retyped.plan()), both);
    // Also to a type that could stand beside it.
    let mut beside = scene(&[("s", "A", "192.0.2.1")]);
    retype(&mut beside, "s", "TXT", "x");
    assert_eq!(
        changes(&beside.plan()),
        ["delete a.test. www.a.test. A", "replace a.test. www.a.test. TXT"]
    );
    // What cannot be written leaves what is there.
    retype(&mut beside, "s", "MX", "10 a..b");
    assert!(changes(&beside.plan()).is_empty());
}

#[test]
fn a_younger_type_yields_to_an_older_one_and_no_other_way() {
    let mut old = scene(&[("first", "TXT", "x"), ("second", "TXT", "y")]);
    old.declare("first", &[("other", "x")]);
    old.rest();
    assert!(said(&old, "second").starts_with("True"));
    retype(&mut old, "first", "CNAME", "t.test");
    let both = ["replace a.test. www.a.test. CNAME", "delete a.test. www.a.test. TXT"];
    assert!(both.iter().all(|change| changes(&old.plan()).contains(&(*change).to_owned())));
    assert_eq!(said(&old, "second"), format!("{CONFLICT}CNAME of DNSRecordSet ns/first"));

    let mut young = scene(&[("first", "TXT", "x"), ("second", "A", "192.0.2.1")]);
    retype(&mut young, "second", "CNAME", "t.test");
    assert!(changes(&young.plan()).is_empty(), "{:?}", changes(&young.plan()));
    assert!(said(&young, "second").starts_with(&format!("{CONFLICT}TXT of DNSRecordSet ns/first")));
}

/// What nobody declares makes room for a winner although another claim to the name waits behind it: a server refuses both.
#[test]
fn what_is_undeclared_gives_way_although_somebody_waits() {
    let mut scene = scene(&[("other", "TXT", "x")]);
    scene.policy.delete_undeclared = true;
    scene.store("a.test.", "c.a.test.", "A", &["192.0.2.9"]);
    scene.set("first", "a", "CNAME", &[("c", "t.test")]);
    scene.set("second", "a", "TXT", &[("c", "x")]);
    let both = ["delete a.test. c.a.test. A", "replace a.test. c.a.test. CNAME"];
    assert_eq!(changes(&scene.plan()), both);
    // Without the winner it may be what a retype of the other is to replace, and stays.
    scene.declare("first", &[("c", "a..b")]);
    scene.declare("second", &[("c", "")]);
    assert!(changes(&scene.plan()).is_empty(), "{:?}", changes(&scene.plan()));
}

/// What cannot be written any more keeps what is there, also from a younger claim of another type.
#[test]
fn a_slip_in_an_older_set_does_not_cost_it_its_name() {
    let mut slip = scene(&[("first", "A", "192.0.2.1"), ("second", "TXT", "x")]);
    slip.declare("first", &[("www", "nonsense")]);
    retype(&mut slip, "second", "CNAME", "t.test");
    assert_eq!(changes(&slip.plan()), Vec::<String>::new());
    assert_eq!(said(&slip, "second"), format!("{CONFLICT}A of DNSRecordSet ns/first stays"));
}

/// The heir of a name writes over it: nothing is deleted that somebody declares.
#[test]
fn what_goes_of_one_set_passes_to_the_next() {
    for (content, change) in [("192.0.2.1", "adopt"), ("192.0.2.2", "replace")] {
        let mut passes = scene(&[("s", "A", "192.0.2.1")]);
        passes.set("heir", "a", "A", &[("www", content)]);
        passes.delete("dnsrecordsets", "s");
        assert_eq!(changes(&passes.plan()), [format!("{change} a.test. www.a.test. A")]);
    }
}

/// The condition of one tenant does not name another.
#[test]
fn what_stands_in_the_way_is_named_within_a_namespace_only() {
    for (object, told) in [
        ("ns/x", "A of DNSRecordSet ns/x, which is not listed, but changed since stays"),
        ("nse/x", "A of another DNSRecordSet stays"),
    ] {
        let mut scene = scene(&[("s", "TXT", "x")]);
        let stale = json!({"v": 1, "owner": "laws", "object": object, "uid": "u-x", "h": "0"});
        let comment =
            Comment { account: "dns-syncd".into(), content: stale.to_string(), modified_at: 0 };
        scene.store("a.test.", "c.a.test.", "A", &["192.0.2.1"]).comments.push(comment);
        scene.set("c", "a", "CNAME", &[("c", "t.test")]);
        scene.pass();
        let said = scene.said("dnsrecordsets", "c", Some("c"), "Programmed");
        assert_eq!(said, format!("{CONFLICT}{told}"));
    }
}

#[test]
fn what_others_wrote_is_protected_except_for_the_apex_itself() {
    let mut scene = scene(&[("s", "A", "192.0.2.1")]);
    scene.policy.protect = true;
    scene.store("a.test.", "a.test.", "MX", &["10 theirs.test."]);
    scene.store("a.test.", "sub.a.test.", "NS", &["theirs.test."]);
    scene.store("a.test.", "same.a.test.", "A", &["192.0.2.1"]);
    scene.set("mx", "a", "MX", &[("@", "10 mx.test")]);
    scene.set("sub", "a", "NS", &[("sub", "ns.test")]);
    scene.set("ns", "a", "NS", &[("@", "ns.test")]);
    scene.set("same", "a", "A", &[("same", "192.0.2.1")]);
    let written = ["replace a.test. a.test. NS", "adopt a.test. same.a.test. A"];
    assert_eq!(changes(&scene.plan()), written);
    scene.pass();
    let why = "MX that nobody's note claims; policy.takeover is protect";
    assert_eq!(
        scene.said("dnsrecordsets", "mx", Some("@"), "Programmed"),
        format!("{CONFLICT}{why}")
    );
    scene.policy.protect = false;
    assert_eq!(
        changes(&scene.plan()),
        ["replace a.test. a.test. MX", "replace a.test. sub.a.test. NS"]
    );
}

#[test]
fn a_longer_zone_takes_all_but_its_delegation() {
    let mut scene = scene(&[("s", "A", "192.0.2.1")]);
    scene.set("ns", "a", "NS", &[("sub", "ns.test"), ("x.sub", "ns.test")]);
    scene.set("addr", "a", "A", &[("sub", "192.0.2.1"), ("xsub", "192.0.2.1")]);
    scene.made("sub.a.test.", "");
    let kept = ["replace a.test. sub.a.test. NS", "replace a.test. xsub.a.test. A"];
    assert_eq!(changes(&scene.plan()), kept);
    scene.pass();
    let why = format!("{CONFLICT}the zone sub.a.test. on the same server answers for it");
    assert_eq!(scene.said("dnsrecordsets", "ns", Some("x.sub"), "Programmed"), why);
    assert_eq!(scene.said("dnsrecordsets", "addr", Some("sub"), "Programmed"), why);
    // What we had written there stays, and holds nobody's end.
    let rrset = scene.store("a.test.", "x.sub.a.test.", "A", &["192.0.2.1"]);
    let ours = note("laws", "s", "A", rrset);
    rrset.comments.push(ours);
    scene.delete("dnsrecordsets", "s");
    assert_eq!(changes(&scene.plan()), ["delete a.test. www.a.test. A"]);
    assert_eq!(scene.pass().set_releases.len(), 1);
}

/// Without comments the objects alone tell what was theirs.
#[test]
fn without_notes_a_set_loses_what_it_declared_or_had_programmed() {
    let noteless = || {
        let mut scene = Scene::new();
        scene.world.pdns.comments = false;
        scene.zone("a", "a.test", "ours");
        scene.set("s", "a", "A", &[("www", "192.0.2.1"), ("ftp", "192.0.2.1")]);
        scene.set("t", "a", "A", &[("t", "192.0.2.1")]);
        scene.rest();
        scene.store("a.test.", "stray.a.test.", "A", &["192.0.2.1"]);
        scene
    };
    let mut going = noteless();
    going.delete("dnsrecordsets", "s");
    let both = ["delete a.test. ftp.a.test. A", "delete a.test. www.a.test. A"];
    assert_eq!(changes(&going.plan()), both);
    assert_eq!(going.pass().set_releases.len(), 1);
    // What another set declares by now is its own.
    let mut claimed = noteless();
    claimed.set("u", "a", "A", &[("www", "192.0.2.1")]);
    claimed.delete("dnsrecordsets", "s");
    assert_eq!(changes(&claimed.plan()), both[..1]);
    let mut lost = noteless();
    lost.declare("s", &[("www", "192.0.2.1")]);
    assert_eq!(changes(&lost.plan()), both[..1]);
    // One that nobody holds any more is no evidence.
    let mut free = noteless();
    free.edit("dnsrecordsets", "s", |set| {
        set["metadata"]["finalizers"] = json!(["example/theirs"]);
    });
    free.delete("dnsrecordsets", "s");
    assert!(changes(&free.plan()).is_empty());
    // Under protect only what is as the set would have written it goes.
    let mut protect = noteless();
    protect.policy.protect = true;
    protect.store("a.test.", "www.a.test.", "A", &["192.0.2.77"]);
    protect.delete("dnsrecordsets", "s");
    assert_eq!(changes(&protect.plan()), both[..1]);
    // With the TTL that its class gives it.
    let mut bare = Scene::new();
    bare.world.pdns.comments = false;
    bare.policy.protect = true;
    bare.zone("a", "a.test", "bare");
    bare.set("s", "a", "A", &[("www", "192.0.2.1")]);
    bare.rest();
    bare.delete("dnsrecordsets", "s");
    assert_eq!(changes(&bare.plan()), both[1..]);
    // Its status speaks of the zone that it refers to alone.
    let mut moved = noteless();
    moved.edit("dnsrecordsets", "s", |set| {
        set["metadata"]["ownerReferences"][0]["uid"] = json!(uid("another"));
        set["spec"]["records"] = json!([]);
    });
    assert!(changes(&moved.plan()).is_empty());
}

/// A zone that another owner's note keeps loses what the sets of its DNSZone declared there, and no other zone does.
#[test]
fn what_ends_without_a_note_ends_in_its_own_zone() {
    let mut scene = scene(&[("s", "A", "192.0.2.1")]);
    scene.zone("b", "b.test", "ours");
    scene.rest();
    scene.pdns("a.test.").rrsets.values_mut().for_each(|rrset| rrset.comments.clear());
    let rrset = scene.store("a.test.", "theirs.a.test.", "A", &["192.0.2.1"]);
    let theirs = note("west", "x", "A", rrset);
    rrset.comments.push(theirs);
    scene.store("b.test.", "www.b.test.", "A", &["192.0.2.1"]);
    scene.delete("dnszones", "a");
    assert_eq!(changes(&scene.plan()), ["delete a.test. www.a.test. A"]);
    // Somebody else is served there by now, and the mark is theirs: what was said to be programmed goes, and nothing else.
    scene.zone("heir", "a.test", "ours");
    scene.pdns("a.test.").account = Scene::mark("heir");
    scene.store("a.test.", "new.a.test.", "A", &["192.0.2.1"]);
    scene.declare("s", &[("www", "192.0.2.1"), ("new", "192.0.2.1")]);
    assert_eq!(changes(&scene.plan()), ["delete a.test. www.a.test. A"]);
}

/// The mark passes to an heir before anything is deleted. Without notes what a deleted record set had programmed goes all the
/// same when the deletes fail: its status says so.
#[test]
fn what_ends_goes_although_the_mark_has_passed_to_an_heir() {
    let mut scene = Scene::new();
    scene.world.pdns.comments = false;
    scene.zone("a", "a.test", "ours");
    scene.set("s", "a", "A", &[("www", "192.0.2.1")]);
    scene.set("t", "a", "AAAA", &[("www", "2001:db8::1")]);
    scene.rest();
    scene.zone("heir", "a.test", "ours");
    scene.set("h", "heir", "AAAA", &[("www", "2001:db8::2")]);
    scene.delete("dnszones", "a");
    scene.pdns("a.test.").account = Scene::mark("heir");
    for _ in 0..4 {
        scene.pass();
    }
    let left = scene.pdns("a.test.").rrsets.keys();
    let left: Vec<String> = left.map(|(name, rtype)| format!("{name} {rtype}")).collect();
    assert_eq!(left, ["a.test. NS", "a.test. SOA", "www.a.test. AAAA"]);
    assert!(!scene.world.cluster.objects.keys().any(|(_, _, name)| name == "s"));
}

/// So does one that this pass makes.
#[test]
fn a_coming_longer_zone_takes_its_names_already() {
    let mut scene = scene(&[("s", "A", "192.0.2.1")]);
    scene.zone("sub", "sub.a.test", "ours");
    scene.set("addr", "a", "A", &[("x.sub", "192.0.2.1"), ("y", "192.0.2.1")]);
    let here: Vec<String> =
        changes(&scene.plan()).into_iter().filter(|c| c.starts_with("replace a.test.")).collect();
    assert_eq!(here, ["replace a.test. y.a.test. A"]);
}

/// What a live set has left in a zone goes also where no DNSZone is there any more: that somebody's text stands in the
/// account keeps us from marking the zone, and from nothing else.
#[test]
fn what_was_left_in_a_zone_without_a_dnszone_goes() {
    for (account, ends) in [("billing: ACME", true), ("billing: ACME", false), ("", false)] {
        let mut scene = scene(&[]);
        scene.zone("b", "b.test", "ours");
        scene.zone("free", "free.test", "ours");
        scene.set("s", "free", "A", &[("www", "192.0.2.1")]);
        scene.made("free.test.", "billing: ACME");
        scene.store("free.test.", "hand.free.test.", "A", &["192.0.2.7"]);
        scene.rest();
        scene.pdns("free.test.").account = account.to_owned();
        repoint(&mut scene, "s", "b");
        if ends {
            scene.delete("dnszones", "free");
            scene.pass();
        } else {
            scene.vanish("dnszones", "free");
        }
        assert!(changes(&scene.plan()).contains(&"delete free.test. www.free.test. A".to_owned()));
        scene.rest();
        let left = scene.pdns("free.test.").rrsets.keys();
        let left: Vec<&str> = left.map(|(name, _)| name.as_str()).collect();
        assert_eq!(left, ["free.test.", "free.test.", "hand.free.test."], "{account:?} {ends}");
    }
}

/// What another controller serves, maybe on another server, is not ours to delete; nor is what nobody ever served.
#[test]
fn a_set_that_was_never_ours_takes_nothing_from_a_zone_of_nobodys() {
    for (class, account) in [("foreign", ""), ("foreign", "billing: ACME"), ("", "")] {
        let mut scene = Scene::new();
        scene.zone("a", "a.test", class);
        scene.set("s", "a", "A", &[("www", "192.0.2.1")]);
        scene.made("a.test.", account);
        scene.store("a.test.", "www.a.test.", "A", &["192.0.2.77"]);
        scene.edit("dnsrecordsets", "s", |set| {
            let says = |kind: &str| {
                let truth = if class == "foreign" { "True" } else { "False" };
                json!({"type": kind, "status": truth, "reason": kind, "message": "",
                    "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"})
            };
            set["metadata"]["finalizers"] = json!([FINALIZER_RECORD_SET]);
            set["status"]["conditions"] = json!([says("Accepted")]);
            set["status"]["recordSets"] =
                json!([{"name": "www", "conditions": [says("Programmed")]}]);
        });
        scene.delete("dnsrecordsets", "s");
        assert_eq!(changes(&scene.plan()), Vec::<String>::new(), "{class:?} {account:?}");
    }
}

/// Without comments: a set that ends before anything was written for it where it is now takes nothing from there.
#[test]
fn a_set_that_ends_where_it_has_not_arrived_takes_nothing_from_there() {
    for class in ["ours", "foreign"] {
        let mut scene = Scene::new();
        scene.world.pdns.comments = false;
        scene.zone("a", "a.test", "ours");
        scene.zone("b", "b.test", "ours");
        scene.set("s", "a", "A", &[("www", "192.0.2.1")]);
        scene.rest();
        scene.edit("dnszones", "b", |zone| zone["spec"]["dnsZoneClassName"] = json!(class));
        scene.store("b.test.", "www.b.test.", "A", &["192.0.2.77"]);
        repoint(&mut scene, "s", "b");
        scene.delete("dnsrecordsets", "s");
        assert_eq!(changes(&scene.plan()), Vec::<String>::new(), "{class}");
    }
}

/// Name servers at an apex stay; of a set that declared what its class has, the note goes with it, and its finalizer.
#[test]
fn a_set_that_declares_what_its_class_has_goes() {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "ours");
    let servers = [("@", "ns1.example.net."), ("@", "ns2.example.net.")];
    scene.set("ns", "a", "NS", &servers);
    scene.rest();
    let apex = ("a.test.".to_owned(), "NS".to_owned());
    let noted = |scene: &mut Scene| scene.pdns("a.test.").rrsets[&apex].comments.len();
    assert_eq!(noted(&mut scene), 1);
    scene.delete("dnsrecordsets", "ns");
    scene.rest();
    assert!(!finalized(&scene, "dnsrecordsets", "ns"));
    assert_eq!(noted(&mut scene), 0);
}

/// Another owner's note keeps other name servers at the apex than the class has; nothing is called programmed there.
#[test]
fn a_zone_with_name_servers_of_another_owner_says_so() {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "ours");
    scene.rest();
    for (server, said) in [
        (
            "ns.theirs.test.",
            "False Pending: Waiting for default records: NS noted by the owner \"west\"",
        ),
        ("ns1.example.net.", "True Programmed: Default records ensured"),
    ] {
        let servers: &[&str] =
            if said.starts_with("True") { &[server, "ns2.example.net."] } else { &[server] };
        let rrset = scene.store("a.test.", "a.test.", "NS", servers);
        let theirs = note("west", "x", "NS", rrset);
        rrset.comments.push(theirs);
        scene.rest();
        assert_eq!(scene.said("dnszones", "a", None, "Programmed"), said);
    }
}

/// A zone without an SOA answers nothing: so nothing in it is programmed.
#[test]
fn nothing_is_programmed_in_a_zone_without_an_soa() {
    for class in ["bare", "ours"] {
        let mut scene = Scene::new();
        scene.zone("a", "a.test", class);
        scene.set("s", "a", "A", &[("www", "192.0.2.1")]);
        scene.set("ns", "a", "NS", &[("@", "ns.test")]);
        scene.rest();
        let said = |scene: &Scene| scene.said("dnsrecordsets", "s", Some("www"), "Programmed");
        assert!(said(&scene).starts_with("True"));
        scene.pdns("a.test.").rrsets.remove(&("a.test.".to_owned(), "SOA".to_owned()));
        let plan = scene.plan();
        scene.settle(&plan, &all_failed(&plan, &Failure::Status(500)));
        let why = "False Pending: Record not yet programmed: its zone has no SOA";
        assert!(said(&scene).starts_with(why), "{}", said(&scene));
        let zone = scene.said("dnszones", "a", None, "Programmed");
        assert!(zone.starts_with("False"), "{zone}");
        scene.rest();
        assert_eq!(said(&scene).starts_with("True"), class == "ours", "{}", said(&scene));
    }
}

/// One that is disabled is none.
#[test]
fn a_disabled_soa_is_written_anew() {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "ours");
    scene.rest();
    let mut snapshot = scene.world.snapshot();
    let apex = name("a.test.");
    let zone = snapshot.server.zones.as_mut().unwrap().get_mut(&apex).unwrap();
    let here = zone.contents.as_mut().unwrap().names.get_mut(&apex).unwrap();
    here.get_mut("SOA").unwrap().records.iter_mut().for_each(|record| record.disabled = true);
    let plan = decide(&snapshot, &scene.memory, &scene.policy);
    assert_eq!(changes(&plan), ["replace a.test. a.test. SOA"]);
    assert!(plan.zones[&apex].no_soa && !plan.zones[&apex].apex.contains(&RecordType::Soa));
}

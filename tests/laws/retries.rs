//! What a pass remembers of failures: nothing is sent again before it is worth it, and nothing is said that flickers.

use dns_syncd::plan::Memory;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::model::{Model, REFUSED};
use crate::rig::Rig;
use crate::vocabulary::class;
use crate::world::{Trouble, World};

const APEX: &str = "example.test.";

fn object(kind: &str, name: &str, uid: u8, spec: &Value) -> Value {
    json!({
        "apiVersion": "dns.networking.miloapis.com/v1alpha1", "kind": kind,
        "metadata": {"name": name, "namespace": "ns", "generation": 1,
                     "uid": format!("00000000-0000-4000-8000-0000000000{uid:02}"),
                     "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": spec, "status": {},
    })
}

fn records(records: &[(&str, &str)]) -> Value {
    records.iter().map(|(name, ip)| json!({"name": name, "a": {"content": ip}})).collect()
}

/// A zone with one set of these A records, and passes that wait after a failure for as long as they may.
fn rig(a: &[(&str, &str)]) -> Rig {
    let mut cluster = Cluster::default();
    cluster.put("dnszoneclasses", class("ours"));
    let zone = json!({"domainName": "example.test", "dnsZoneClassName": "ours"});
    cluster.put("dnszones", object("DNSZone", "z0", 1, &zone));
    let set = json!({"dnsZoneRef": {"name": "z0"}, "recordType": "A", "records": records(a)});
    cluster.put("dnsrecordsets", object("DNSRecordSet", "s0", 2, &set));
    let mut rig = Rig::new();
    rig.syncer.chance = || 1.0;
    rig.load(&World::new(cluster, Model { comments: true, ..Model::default() }), 500);
    rig
}

fn edit(rig: &Rig, a: &[(&str, &str)]) {
    let place = ("dnsrecordsets".to_owned(), "ns".to_owned(), "s0".to_owned());
    rig.world().cluster.edit(&place, |object| object["spec"]["records"] = records(a));
}

/// `Programmed` of the set: status, and the message of a name's own condition.
fn said(rig: &Rig, raw: &str) -> (bool, String) {
    let world = rig.world();
    let set = world.cluster.of("dnsrecordsets").next().unwrap();
    let of = |holder: &Value| {
        let conditions = holder["conditions"].as_array().into_iter().flatten();
        let found = conditions.into_iter().find(|c| c["type"] == "Programmed").cloned();
        found.unwrap_or_default()
    };
    let whole = of(&set["status"])["status"] == "True";
    let names = set["status"]["recordSets"].as_array().into_iter().flatten();
    let name = names.into_iter().find(|n| n["name"] == raw).map(of).unwrap_or_default();
    (whole, name["message"].as_str().unwrap_or_default().to_owned())
}

fn writes(rig: &Rig) -> Vec<String> {
    rig.world().writes.clone()
}

/// Passes until nothing is written any more.
fn settle(rig: &Rig) {
    for _ in 0..8 {
        rig.pass();
        if writes(rig).is_empty() {
            return;
        }
    }
    panic!("passes go on writing {:#?}", writes(rig));
}

#[test]
fn a_refused_name_is_sent_again_only_when_it_has_changed() {
    let rig = rig(&[("good", "192.0.2.1"), ("bad", REFUSED)]);
    settle(&rig);
    let refused = said(&rig, "bad");
    assert!(!refused.0 && refused.1.contains("rejected"), "{refused:?}");
    assert!(said(&rig, "good").1.contains("successfully"));
    // A neighbour's edit goes out, and what is known to be refused does not go with it.
    edit(&rig, &[("good", "192.0.2.2"), ("bad", REFUSED)]);
    rig.pass();
    assert!(!writes(&rig).join(" ").contains(REFUSED), "{:#?}", writes(&rig));
    assert_eq!(said(&rig, "bad"), refused);
    edit(&rig, &[("good", "192.0.2.2"), ("bad", "192.0.2.3")]);
    rig.pass();
    assert!(said(&rig, "bad").0, "what has changed is tried at once");
}

#[test]
fn somebody_who_asks_has_everything_tried_again() {
    let rig = rig(&[("bad", REFUSED)]);
    settle(&rig);
    rig.forget();
    rig.pass();
    assert!(writes(&rig).join(" ").contains(REFUSED), "{:#?}", writes(&rig));
}

/// What is shown and missed in turns does not come and go in the statuses.
#[test]
fn a_zone_that_is_missed_at_each_write_says_the_same_meanwhile() {
    let rig = rig(&[("a", "192.0.2.1"), ("b", "192.0.2.2")]);
    settle(&rig);
    edit(&rig, &[("a", "192.0.2.3"), ("b", "192.0.2.2")]);
    rig.disturb(Some((Trouble::Missed, 0)));
    rig.pass();
    let missed = said(&rig, "b");
    assert!(missed.1.contains("could not be found"), "{missed:?}");
    rig.pass();
    assert_eq!(writes(&rig), [] as [String; 0]);
    assert_eq!(said(&rig, "b"), missed);
    rig.disturb(None);
    rig.forget();
    settle(&rig);
    assert!(said(&rig, "b").0);
}

#[test]
fn a_zone_that_fails_is_left_alone_and_says_the_same_meanwhile() {
    let rig = rig(&[("a", "192.0.2.1"), ("b", "192.0.2.2")]);
    settle(&rig);
    edit(&rig, &[("a", "192.0.2.3"), ("b", "192.0.2.4"), ("c", "192.0.2.5")]);
    rig.disturb(Some((Trouble::PowerDnsDown, 0)));
    rig.pass();
    assert!(!writes(&rig).is_empty());
    let failing = ["a", "b", "c"].map(|raw| said(&rig, raw));
    assert!(failing.iter().all(|(whole, _)| !whole), "{failing:?}");
    rig.pass();
    assert_eq!(writes(&rig), [] as [String; 0], "neither side is written to a second time");
    assert_eq!(["a", "b", "c"].map(|raw| said(&rig, raw)), failing);
    assert!(rig.wait().is_some_and(|ms| ms <= 1_000), "it is tried again within a second");
    // An edit is no reason to wait, nor is a server that is well again.
    rig.disturb(None);
    edit(&rig, &[("a", "192.0.2.3"), ("b", "192.0.2.4"), ("c", "192.0.2.6")]);
    rig.pass();
    assert!(said(&rig, "c").0);
    assert_eq!(rig.wait(), None);
}

#[test]
fn a_server_that_cannot_be_read_is_tried_again_within_two_seconds() {
    let rig = rig(&[("a", "192.0.2.1")]);
    settle(&rig);
    rig.world().pdns.unlisted = true;
    for _ in 0..4 {
        rig.pass();
        assert!(rig.wait().is_some_and(|ms| ms <= 2_000), "{:?}", rig.wait());
    }
    rig.world().pdns.unlisted = false;
    rig.pass();
    assert_eq!(rig.wait(), None);
}

#[test]
fn a_zone_that_cannot_be_read_is_not_asked_for_again_at_once() {
    let rig = rig(&[("a", "192.0.2.1")]);
    settle(&rig);
    rig.world().pdns.unread.insert(APEX.to_owned());
    rig.pass();
    rig.pass();
    let reads = rig.world().reads.clone();
    assert!(!reads.iter().any(|path| path.ends_with(&format!("/zones/{APEX}"))), "{reads:#?}");
    assert_eq!(writes(&rig), [] as [String; 0]);
}

/// Through an outage a proven set keeps its word for a minute, a pending one says at once that it waits, and nothing
/// becomes true.
#[test]
fn an_outage_is_said_after_a_minute_by_what_was_proven() {
    let rig = rig(&[("a", "192.0.2.1")]);
    settle(&rig);
    assert!(said(&rig, "a").0);
    for blind in [true, false] {
        let unread: &[&str] = if blind { &[] } else { &[APEX] };
        rig.world().pdns.unlisted = blind;
        rig.world().pdns.unread = unread.iter().map(|z| (*z).to_owned()).collect();
        rig.pass();
        assert!(said(&rig, "a").0, "blind: {blind}");
        let zone = rig.world().cluster.of("dnszones").next().unwrap()["status"].to_string();
        assert!(zone.contains(r#""status":"False","type":"Programmed""#), "at once: {zone}");
        Rig::later(59_000);
        rig.pass();
        assert!(said(&rig, "a").0, "blind: {blind}");
        assert!(rig.wait().is_some_and(|ms| ms <= 1_000), "the end of the grace is not slept over");
        Rig::later(1_001);
        rig.pass();
        assert!(!said(&rig, "a").0, "blind: {blind}");
        rig.world().pdns.unlisted = false;
        rig.world().pdns.unread.clear();
        Rig::later(300_000);
        rig.pass();
        assert!(said(&rig, "a").0, "blind: {blind}");
    }
}

#[test]
fn an_edit_in_an_outage_is_pending_at_once() {
    let rig = rig(&[("a", "192.0.2.1")]);
    settle(&rig);
    rig.world().pdns.unlisted = true;
    rig.pass();
    edit(&rig, &[("a", "192.0.2.9")]);
    rig.pass();
    assert!(!said(&rig, "a").0);
}

/// A process that has not seen it proven claims nothing in an outage.
#[test]
fn a_restart_in_an_outage_claims_nothing() {
    let mut rig = rig(&[("a", "192.0.2.1")]);
    settle(&rig);
    rig.world().pdns.unlisted = true;
    rig.syncer.memory = tokio::sync::Mutex::new(Memory::default());
    rig.pass();
    assert!(!said(&rig, "a").0);
}

/// What is acknowledged and then read otherwise three passes running is no coincidence: it is said with both texts, and
/// not written each time.
#[test]
fn what_is_acknowledged_in_vain_is_given_up() {
    let rig = rig(&[("a", "192.0.2.1"), ("b", "192.0.2.2")]);
    settle(&rig);
    let spoil = || {
        let key = (format!("a.{APEX}"), "A".to_owned());
        let mut world = rig.world();
        let zone = world.pdns.zones.get_mut(APEX).unwrap();
        zone.rrsets.get_mut(&key).unwrap().records = vec!["192.0.2.99".to_owned()];
    };
    for _ in 0..3 {
        spoil();
        rig.pass();
        assert!(!writes(&rig).is_empty());
    }
    spoil();
    rig.pass();
    assert!(!writes(&rig).iter().any(|w| w.contains("/api/v1/servers")), "{:#?}", writes(&rig));
    let (whole, message) = said(&rig, "a");
    assert!(!whole && message.contains("192.0.2.1") && message.contains("192.0.2.99"), "{message}");
    assert!(said(&rig, "b").1.contains("successfully"), "its neighbour is served");
    // Tried again when its time has come, an acknowledgement is still no proof.
    Rig::later(2_000);
    rig.pass();
    assert!(writes(&rig).iter().any(|w| w.contains("/api/v1/servers")));
    assert!(!said(&rig, "a").0);
    // Read as wanted, it is believed.
    rig.pass();
    assert!(said(&rig, "a").0);
}

/// A record at whose sight the server dies takes its batch along twice; then the names go one by one.
#[test]
fn a_batch_that_the_server_dies_of_twice_is_sent_name_by_name() {
    let rig = rig(&[("a", "192.0.2.1")]);
    settle(&rig);
    rig.world().deadly = Some("192.0.2.77".to_owned());
    edit(&rig, &[("a", "192.0.2.2"), ("b", "192.0.2.77"), ("c", "192.0.2.3")]);
    for _ in 0..2 {
        rig.pass();
        assert!(!said(&rig, "a").0);
        rig.world().dead = false;
        Rig::later(300_001);
    }
    rig.pass();
    rig.world().dead = false;
    rig.pass();
    assert!(said(&rig, "a").1.contains("successfully"), "{:?}", said(&rig, "a"));
    assert!(said(&rig, "c").1.contains("successfully"), "{:?}", said(&rig, "c"));
    assert!(said(&rig, "b").1.contains("goes away"), "{:?}", said(&rig, "b"));
    assert!(!rig.world().dead, "it was not sent again");
}

/// A zone that becomes a secondary is not read any more: that too is said after a minute, and a minute does not begin
/// anew because first the list and then the zone could not be had.
#[test]
fn a_minute_is_a_minute_whatever_cannot_be_read() {
    let rig = rig(&[("a", "192.0.2.1")]);
    settle(&rig);
    let kind = |kind: &str| {
        kind.clone_into(&mut rig.world().pdns.zones.get_mut(APEX).unwrap().kind);
    };
    kind("Slave");
    rig.pass();
    assert!(said(&rig, "a").0);
    Rig::later(60_001);
    rig.pass();
    assert!(!said(&rig, "a").0);
    kind("Native");
    rig.pass();
    assert!(said(&rig, "a").0);

    rig.world().pdns.unlisted = true;
    rig.pass();
    Rig::later(40_000);
    rig.world().pdns.unlisted = false;
    rig.world().pdns.unread.insert(APEX.to_owned());
    rig.pass();
    assert!(said(&rig, "a").0);
    Rig::later(20_001);
    rig.pass();
    assert!(!said(&rig, "a").0);
}

/// A nudge with each edit, as a webhook sends it, does not hide what is acknowledged in vain.
#[test]
fn nudges_do_not_hide_what_is_acknowledged_in_vain() {
    let rig = rig(&[("a", "192.0.2.1")]);
    settle(&rig);
    for round in 0..6 {
        let key = (format!("a.{APEX}"), "A".to_owned());
        rig.world().pdns.zones.get_mut(APEX).unwrap().rrsets.get_mut(&key).unwrap().records =
            vec!["192.0.2.99".to_owned()];
        rig.forget();
        rig.pass();
        let tried = writes(&rig).iter().any(|w| w.contains("/api/v1/servers"));
        assert!(tried, "somebody asks, so it is tried");
        assert_eq!(said(&rig, "a").0, round < 3, "round {round}");
    }
}

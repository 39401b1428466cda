//! Zones with our mark whose DNSZone does not exist: reported, or deleted where that is asked for and proved.

use serde_json::{Value, json};

use dns_syncd::plan::note::mark;

use crate::cluster::Cluster;
use crate::model::{Comment, Model};
use crate::rig::Rig;
use crate::scenario::OWNER;
use crate::world::World;

const DEAD: &str = "00000000-0000-4000-8000-000000000099";

/// Zones marked for a DNSZone that is gone, and one DNSZone, so that the list is not empty.
fn rig(orphans: &[&str]) -> Rig {
    let mut cluster = Cluster::default();
    let meta = json!({"name": "z", "namespace": "ns", "generation": 1,
        "uid": "00000000-0000-4000-8000-000000000001", "creationTimestamp": "2026-01-01T00:00:00Z"});
    let spec = json!({"domainName": "alive.test", "dnsZoneClassName": "missing"});
    cluster.put(
        "dnszones",
        json!({"apiVersion": "dns.networking.miloapis.com/v1alpha1",
        "kind": "DNSZone", "metadata": meta, "spec": spec}),
    );
    let mut pdns = Model { comments: true, ..Model::default() };
    for apex in orphans {
        let rrset = json!({"name": format!("www.{apex}"), "type": "A", "ttl": 60,
            "records": [{"content": "192.0.2.1"}]});
        let zone = json!({"name": apex, "account": mark(OWNER, DEAD), "rrsets": [rrset]});
        assert_eq!(pdns.create(&zone).0, 201);
    }
    let mut rig = Rig::new();
    rig.load(&World::new(cluster, pdns), 500);
    rig
}

/// Zones that are left after one pass in which no brake is released.
fn left(rig: &Rig) -> usize {
    let (summary, held) = rig.held_pass();
    assert_eq!(summary.zones_deleted + rig.world().pdns.zones.len(), held.1, "{summary:#?}");
    rig.world().pdns.zones.len()
}

#[test]
fn an_orphan_is_reported_and_stays_by_default() {
    let rig = rig(&["a.test."]);
    assert_eq!(left(&rig), 1);
}

#[test]
fn an_orphan_goes_where_that_is_asked_for() {
    let mut rig = rig(&["a.test.", "b.test."]);
    rig.syncer.policy.delete_orphan_zones = true;
    assert_eq!(left(&rig), 0);
    let lists = rig.world().reads.iter().filter(|p| p.ends_with("/dnszones")).count();
    assert!(lists >= 2, "DNSZones are listed again before the delete");
}

#[test]
fn an_orphan_with_anothers_note_in_it_stays() {
    let mut rig = rig(&["a.test."]);
    rig.syncer.policy.delete_orphan_zones = true;
    {
        let mut world = rig.world();
        let zone = world.pdns.zones.get_mut("a.test.").unwrap();
        let rrset = zone.rrsets.get_mut(&("www.a.test.".to_owned(), "A".to_owned())).unwrap();
        let content = json!({"v": 1, "owner": "west", "object": "a/b", "uid": "u", "h": "0"});
        rrset.comments.push(Comment {
            account: "dns-syncd".to_owned(),
            content: content.to_string(),
            modified_at: 0,
        });
    }
    assert_eq!(left(&rig), 1);
}

#[test]
fn many_orphans_at_once_and_all_of_an_empty_list_are_held() {
    let mut three = rig(&["a.test.", "b.test.", "c.test."]);
    three.syncer.policy.delete_orphan_zones = true;
    assert_eq!(left(&three), 3);
    let mut empty = rig(&["a.test."]);
    empty.syncer.policy.delete_orphan_zones = true;
    empty.world().cluster.objects.clear();
    assert_eq!(left(&empty), 1);
    let (_, (holds, _)) = empty.held_pass();
    assert_eq!(holds, 1);
    // Let through by its digest, it goes.
    empty.pass();
    assert!(empty.world().pdns.zones.is_empty());
}

/// The second list has a DNSZone of that domain that the first had not.
#[test]
fn an_orphan_whose_dnszone_is_on_the_second_list_stays() {
    let mut rig = rig(&["a.test."]);
    rig.syncer.policy.delete_orphan_zones = true;
    let zone = |domain: &str| -> Value {
        json!({"apiVersion": "dns.networking.miloapis.com/v1alpha1", "kind": "DNSZone",
            "metadata": {"name": "late", "namespace": "ns", "uid": DEAD, "generation": 1,
                         "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"domainName": domain, "dnsZoneClassName": "missing"}})
    };
    rig.world().late = Some(zone("a.test"));
    assert_eq!(left(&rig), 1);
}

/// A DNSZone whose domain cannot be read is there all the same.
#[test]
fn a_zone_whose_object_cannot_be_read_is_no_orphan() {
    let mut rig = rig(&["a.test."]);
    rig.syncer.policy.delete_orphan_zones = true;
    let odd = json!({"apiVersion": "dns.networking.miloapis.com/v1alpha1", "kind": "DNSZone",
        "metadata": {"name": "odd", "namespace": "ns", "uid": DEAD, "generation": 1,
                     "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"domainName": 7, "dnsZoneClassName": "missing"}});
    rig.world().cluster.put("dnszones", odd);
    assert_eq!(left(&rig), 1);
}

/// A live set whose DNSZone is missing keeps what carries its uid, also where orphans go.
#[test]
fn an_orphan_that_holds_what_a_live_set_declares_stays() {
    const SET: &str = "00000000-0000-4000-8000-000000000002";
    let mut rig = rig(&["a.test."]);
    rig.syncer.policy.delete_orphan_zones = true;
    let set = json!({"apiVersion": "dns.networking.miloapis.com/v1alpha1", "kind": "DNSRecordSet",
        "metadata": {"name": "www", "namespace": "ns", "uid": SET, "generation": 1,
                     "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"dnsZoneRef": {"name": "gone"}, "recordType": "A",
                 "records": [{"name": "www", "a": {"content": "192.0.2.1"}}]}});
    rig.world().cluster.put("dnsrecordsets", set);
    {
        let mut world = rig.world();
        let zone = world.pdns.zones.get_mut("a.test.").unwrap();
        let rrset = zone.rrsets.get_mut(&("www.a.test.".to_owned(), "A".to_owned())).unwrap();
        let note = json!({"v": 1, "owner": OWNER, "object": "ns/www", "uid": SET, "h": "0"});
        let account = "dns-syncd".to_owned();
        rrset.comments.push(Comment { account, content: note.to_string(), modified_at: 0 });
    }
    assert_eq!(left(&rig), 1);
}

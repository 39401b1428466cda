//! The first contact with a zone that others filled: until a note stands in it, statuses alone tell what is whose.

use serde_json::json;

use crate::scene::{Scene, changes, finalized};

/// A zone of three sets as a PowerDNS has it whose comments were lost, or that another agent wrote.
fn noteless() -> Scene {
    let mut scene = Scene::new();
    scene.zone("a", "a.test", "ours");
    for set in ["s", "t", "u"] {
        scene.set(set, "a", "A", &[(set, "192.0.2.1")]);
    }
    scene.rest();
    scene.pdns("a.test.").rrsets.values_mut().for_each(|rrset| rrset.comments.clear());
    scene
}

fn noted(scene: &mut Scene) -> usize {
    scene.pdns("a.test.").rrsets.values().filter(|rrset| !rrset.comments.is_empty()).count()
}

fn pause(scene: &mut Scene, set: &str, pause: &str) {
    scene.edit("dnsrecordsets", set, |set| {
        set["metadata"]["annotations"] = json!({"dns-syncd/pause": pause});
    });
}

#[test]
fn nothing_is_noted_beside_what_a_paused_set_has_without_a_note() {
    let mut scene = noteless();
    pause(&mut scene, "s", "true");
    scene.rest();
    assert_eq!(noted(&mut scene), 0);
    scene.delete("dnsrecordsets", "s");
    scene.rest();
    assert!(finalized(&scene, "dnsrecordsets", "s"));
    pause(&mut scene, "s", "false");
    assert!(changes(&scene.plan()).contains(&"delete a.test. s.a.test. A".to_owned()));
    scene.rest();
    assert!(!finalized(&scene, "dnsrecordsets", "s"));
    assert_eq!(noted(&mut scene), 2);
}

/// What is served of it is what another agent made of a spec that we refuse: it gets a note all the same.
#[test]
fn what_an_invalid_claim_has_is_noted_as_its_own() {
    for delete in [true, false] {
        let mut scene = noteless();
        scene.declare("s", &[("s", "no address")]);
        scene.rest();
        assert_eq!(noted(&mut scene), 3);
        assert!(scene.said("dnsrecordsets", "s", Some("s"), "Programmed").starts_with("False"));
        if delete {
            scene.delete("dnsrecordsets", "s");
        } else {
            scene.declare("s", &[("other", "192.0.2.2")]);
        }
        assert!(changes(&scene.plan()).contains(&"delete a.test. s.a.test. A".to_owned()));
        scene.rest();
        assert!(!scene.pdns("a.test.").rrsets.keys().any(|(name, _)| name == "s.a.test."));
        assert_eq!(noted(&mut scene), if delete { 2 } else { 3 });
    }
}

/// Unless others may have written it.
#[test]
fn under_protection_what_differs_from_its_claim_is_nobodys() {
    let mut scene = noteless();
    scene.policy.protect = true;
    scene.store("a.test.", "s.a.test.", "A", &["192.0.2.7"]);
    scene.declare("s", &[("s", "no address")]);
    scene.rest();
    assert_eq!(noted(&mut scene), 2);
}

//! Merging conditions, and the sentences.

use dns_syncd::api::conditions::{Condition, Desired, Truth, kind, merge, reason, sentence};

fn condition(type_: &str, status: Truth, since: &str) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status,
        reason: "Old".to_owned(),
        message: "old".to_owned(),
        observed_generation: 1,
        last_transition_time: since.to_owned(),
    }
}

fn desired(type_: &'static str, truth: Truth) -> Desired {
    Desired {
        type_,
        truth,
        reason: reason::PENDING,
        message: sentence::NOT_ALL_PROGRAMMED.to_owned(),
    }
}

#[test]
fn merging_moves_the_time_only_with_the_status() {
    let old = [
        condition("Theirs", Truth::Unknown, "t0"),
        condition(kind::PROGRAMMED, Truth::False, "t1"),
        condition(kind::ACCEPTED, Truth::True, "t2"),
    ];
    let new = || {
        vec![
            desired(kind::ACCEPTED, Truth::False),
            desired(kind::PROGRAMMED, Truth::False),
            desired("New", Truth::True),
        ]
    };
    let merged = merge(&old, new(), 2, "now");
    let read: Vec<(&str, Truth, &str, i64)> = merged
        .iter()
        .map(|c| {
            (c.type_.as_str(), c.status, c.last_transition_time.as_str(), c.observed_generation)
        })
        .collect();
    assert_eq!(
        read,
        [
            ("Theirs", Truth::Unknown, "t0", 1),
            (kind::PROGRAMMED, Truth::False, "t1", 2),
            (kind::ACCEPTED, Truth::False, "now", 2),
            ("New", Truth::True, "now", 2),
        ]
    );
    assert_eq!(merged[0], old[0], "other types stay as they are");
    assert_eq!(merge(&merged, new(), 2, "later"), merged, "a second time changes nothing");
}

#[test]
fn merging_gives_what_the_api_server_accepts() {
    let twice = [condition("X", Truth::True, "t0"), condition("X", Truth::False, "t1")];
    assert_eq!(merge(&twice, vec![], 1, "now"), twice[..1], "one type once");
    let mut long = desired(kind::ACCEPTED, Truth::True);
    long.message = "ä".repeat(40_000);
    let merged = merge(&[condition(kind::ACCEPTED, Truth::True, "")], vec![long], 1, "now");
    assert_eq!(merged[0].message.chars().count(), 32768);
    assert_eq!(merged[0].last_transition_time, "now", "a time that is missing is set");
}

#[test]
fn sentences_are_the_incumbents() {
    assert_eq!(sentence::waiting_for_zone("z"), r#"waiting for DNSZone "z""#);
    assert_eq!(
        sentence::class_not_found("a\"b\\c\n\u{1}é"),
        r#"DNSZoneClass "a\"b\\c\n\x01é" not found"#
    );
    assert_eq!(
        sentence::class_foreign("other", "powerdns"),
        r#"DNSZoneClass controller "other" is not "powerdns""#
    );
    assert_eq!(
        sentence::detailed(sentence::REJECTED, "why"),
        "The DNS record was rejected as invalid. Check the record type and value: why"
    );
    assert_eq!(sentence::detailed(sentence::ZONE_IN_USE, ""), sentence::ZONE_IN_USE);
}

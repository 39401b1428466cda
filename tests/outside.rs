//! Everything that reads bytes from outside: PowerDNS' JSON and texts, notes, marks, configurations, objects and record
//! contents. Whatever comes, it is read or refused; nothing panics, and what is small stays small.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::BTreeMap;

use dns_syncd::api::object::{Class, RecordSet, Zone};
use dns_syncd::config::{Config, Sources};
use dns_syncd::dns::name::Name;
use dns_syncd::dns::rdata::{Dialect, Rdata, Version};
use dns_syncd::dns::rrset::RecordType;
use dns_syncd::plan::Policy;
use dns_syncd::plan::brakes::Brakes;
use dns_syncd::plan::note::{Mark, NOTE_ACCOUNT, Writer, writer};
use dns_syncd::plan::snapshot::Comment;
use dns_syncd::powerdns::wire;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const TYPES: [RecordType; 14] = [
    RecordType::A,
    RecordType::Aaaa,
    RecordType::Alias,
    RecordType::Caa,
    RecordType::Cname,
    RecordType::Https,
    RecordType::Mx,
    RecordType::Ns,
    RecordType::Ptr,
    RecordType::Soa,
    RecordType::Srv,
    RecordType::Svcb,
    RecordType::Tlsa,
    RecordType::Txt,
];

/// Words that the readers look for, so that what is generated comes deep into them.
const WORDS: [&str; 34] = [
    "metadata",
    "spec",
    "status",
    "name",
    "namespace",
    "uid",
    "generation",
    "annotations",
    "labels",
    "finalizers",
    "ownerReferences",
    "creationTimestamp",
    "deletionTimestamp",
    "domainName",
    "dnsZoneClassName",
    "dnsZoneRef",
    "recordType",
    "records",
    "recordSets",
    "conditions",
    "type",
    "ttl",
    "a",
    "txt",
    "svcb",
    "params",
    "content",
    "rrsets",
    "comments",
    "account",
    "disabled",
    "version",
    "value",
    "nameServerPolicy",
];

fn policy() -> Policy {
    let brakes =
        Brakes { deletes: true, implicit_percent: 0, implicit_total: 0, explicit_percent: None };
    Policy::new("east", brakes)
}

/// A text: anything, or made of what formats are made of.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[-a-z0-9.*_@ \"\\\\;:(){}=,/$%+|&#!\\[\\]\n\t]{0,80}",
        "(\"[^\"]{0,300}\" ?){0,4}",
        "([0-9]{1,12} ){0,7}[a-z.]{0,40}",
        proptest::sample::select(&WORDS[..]).prop_map(str::to_owned),
    ]
}

/// JSON of any shape, with keys that the readers know.
fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|n| json!(n)),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        let key = prop_oneof![
            4 => proptest::sample::select(&WORDS[..]).prop_map(str::to_owned),
            1 => text(),
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((key, inner), 0..8)
                .prop_map(|all| Value::Object(all.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// A zone's JSON with one part of it replaced by anything.
fn spoiled_zone() -> impl Strategy<Value = Value> {
    let zone = json!({
        "id": "z.", "name": "z.", "kind": "Native", "account": "", "serial": 1,
        "rrsets": [{
            "name": "w.z.", "type": "A", "ttl": 60,
            "records": [{"content": "192.0.2.1", "disabled": false}],
            "comments": [{"account": "dns-syncd", "content": "{}", "modified_at": 0}],
        }],
    });
    let places = [
        "/rrsets",
        "/rrsets/0",
        "/rrsets/0/name",
        "/rrsets/0/type",
        "/rrsets/0/ttl",
        "/rrsets/0/records",
        "/rrsets/0/records/0/content",
        "/rrsets/0/comments/0/modified_at",
        "/account",
    ];
    (proptest::sample::select(places.to_vec()), tree()).prop_map(move |(place, value)| {
        let mut zone = zone.clone();
        *zone.pointer_mut(place).unwrap() = value;
        zone
    })
}

proptest! {
    #[test]
    fn json_of_powerdns(any in tree(), zone in spoiled_zone()) {
        for body in [&any, &zone] {
            let read = serde_json::from_value::<wire::ZoneBody>(body.clone());
            if let Ok(read) = read {
                let contents = wire::contents(read.rrsets);
                for types in contents.names.values() {
                    for (word, rrset) in types {
                        if let Ok(rtype) = word.parse::<RecordType>() {
                            let _ = rrset.contents(rtype);
                        }
                        let _ = writer(&rrset.comments, &policy());
                    }
                }
            }
            let _ = serde_json::from_value::<Vec<wire::ListedZone>>(body.clone());
            let _ = wire::capabilities(body, &any);
        }
    }

    #[test]
    fn texts_of_powerdns(text in text()) {
        let _ = wire::offender(&text);
        let _ = wire::refusal(&text);
        let _ = Version::parse(&text);
        for prefix in ["Record ", "RRset ", "Duplicate RRset ", "DNS Name '", "Name '"] {
            let _ = wire::offender(&format!("{prefix}{text}"));
        }
    }

    /// A comment that is no note of ours says nothing, and never that it is.
    #[test]
    fn notes_and_marks(content in text(), account in text(), tree in tree()) {
        let comment = |content: &str| Comment {
            account: NOTE_ACCOUNT.to_owned(), content: content.to_owned(), modified_at: 0,
        };
        for content in [content, tree.to_string()] {
            let read = writer(&[comment(&content)], &policy());
            prop_assert_eq!(read, Writer::Nobody);
        }
        let ours = matches!(Mark::read(&account, &policy()), Mark::Ours(_));
        prop_assert!(!ours || account.starts_with("ds:"));
    }

    #[test]
    fn configurations(text in text(), tree in tree(), flag in text()) {
        let env = BTreeMap::from([("DNS_SYNCD_INTERVAL".to_owned(), flag.clone())]);
        for file in [&text, &tree.to_string()] {
            let flags = [flag.clone()];
            let sources = Sources { file: Some(("f.yaml", file)), env: &env, flags: &flags };
            if let Err(errors) = Config::load(&sources) {
                prop_assert!(!errors.to_string().is_empty());
            }
        }
    }

    #[test]
    fn objects(mut object in tree(), spec in tree(), status in tree()) {
        let shaped = json!({"metadata": {"name": "n", "uid": "u"}, "spec": spec, "status": status});
        for object in [&mut object, &mut shaped.clone()] {
            let _ = RecordSet::decode(object);
            let _ = Zone::decode(object);
            let _ = Class::decode(object);
        }
        // What has a name and a uid is read, however bad the rest is: it must not look absent.
        prop_assert!(RecordSet::decode(&shaped).is_some() && Zone::decode(&shaped).is_some());
    }

    /// What is read as a value prints as one that reads the same.
    #[test]
    fn contents_of_records(text in text()) {
        let dialect = Dialect::of(Version::parse("4.7.3").unwrap());
        for rtype in TYPES {
            if let Ok(value) = Rdata::parse(rtype, &text) {
                let printed = value.print(dialect);
                prop_assert_eq!(Rdata::parse(rtype, &printed), Ok(value), "{}", printed);
                prop_assert!(printed.len() <= 16 + 16 * text.len().max(16), "{}", printed.len());
            }
        }
        let _ = Name::parse(&text);
    }
}

/// Nesting and repetition that would blow a reader up are refused.
#[test]
fn bombs() {
    let deep = "[".repeat(100_000);
    assert!(serde_json::from_str::<wire::ZoneBody>(&deep).is_err());
    let deep = format!("ownerId: {}", "{a: ".repeat(50_000));
    let aliases =
        "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b]\n";
    let env = BTreeMap::new();
    for file in [deep.as_str(), aliases] {
        let sources = Sources { file: Some(("f.yaml", file)), env: &env, flags: &[] };
        assert!(Config::load(&sources).is_err());
    }
    let long = "9".repeat(1_000_000);
    for rtype in TYPES {
        let _ = Rdata::parse(rtype, &long);
        let _ = Rdata::parse(rtype, &format!("1 . key{long}={long}"));
    }
    assert!(Name::parse(&long).is_err());
}

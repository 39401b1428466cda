//! Laws of record data and RRset contents: what is printed reads back as the same value, and the
//! diff's equality and its fingerprint agree.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

#[path = "support/rdata.rs"]
mod support;

use dns_syncd::dns::name::Name;
use dns_syncd::dns::rdata::{Dialect, Rdata, Version};
use dns_syncd::dns::rrset::{Contents, RecordType};
use dns_syncd::plan::import::{Naming, import};
use dns_syncd::plan::snapshot::{StoredRecord, StoredRrset, ZoneContents};
use proptest::prelude::*;

fn dialect(version: &str) -> Dialect {
    Dialect::of(Version::parse(version).unwrap())
}

/// What the API of PowerDNS 5.1 does to a content before it is parsed: escapes are resolved once,
/// quoted parts stay quoted, and bytes that are not printable ASCII are escaped anew. `None` is
/// its refusal of a special character, raw or outside quotes.
fn as_5_1_unescapes(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut quoted = false;
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (*first, tail) {
            (b'\\', [a @ b'0'..=b'9', b, c, tail @ ..]) => {
                let digits: String = [a, b, c].into_iter().map(|&d| char::from(d)).collect();
                match digits.parse::<u8>().ok()? {
                    octet @ b' '..=b'~' => out.push(char::from(octet)),
                    _ => out.extend(["\\", &digits]),
                }
                rest = tail;
            }
            (b'\\', [escaped, tail @ ..]) => {
                out.push(char::from(*escaped));
                rest = tail;
            }
            (b'"', _) => {
                quoted = !quoted;
                out.push('"');
            }
            (b';' | b'(' | b')', _) if !quoted => return None,
            (plain @ b' '..=b'~', _) => out.push(char::from(plain)),
            _ => return None,
        }
    }
    Some(out)
}

/// Whatever can be declared and stored can be imported, but for targets that the CRD's patterns refuse and timers of
/// zero, which a declaration replaces.
fn importable(value: &Rdata) -> bool {
    let host = |name: &Name| {
        let plain = |label: &str| {
            label.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        !name.is_root() && name.as_str().trim_end_matches('.').split('.').all(plain)
    };
    match value {
        Rdata::Alias(name) | Rdata::Cname(name) => host(name),
        Rdata::Soa(soa) => [soa.refresh, soa.retry, soa.expire, soa.minimum].iter().all(|t| *t > 0),
        Rdata::A(_)
        | Rdata::Aaaa(_)
        | Rdata::Caa(_)
        | Rdata::Https(_)
        | Rdata::Mx(_)
        | Rdata::Ns(_)
        | Rdata::Ptr(_)
        | Rdata::Srv(_)
        | Rdata::Svcb(_)
        | Rdata::Tlsa(_)
        | Rdata::Txt(_) => true,
    }
}

proptest! {
    /// The import renders what it made and compares: what is not told is declared as it was stored.
    #[test]
    fn every_value_is_imported_or_told(value in support::any_rdata()) {
        let domain = Name::parse("e.example").unwrap();
        let name = if value.rtype() == RecordType::Soa { domain.clone() } else { Name::parse("w.e.example").unwrap() };
        let content = value.print(dialect("4.7.3"));
        let records = vec![StoredRecord { content: content.clone(), disabled: false }];
        let rrset = StoredRrset { ttl: 300, records, comments: Vec::new() };
        let types = [(value.rtype().to_string(), rrset)].into();
        let contents = ZoneContents { names: [(name, types)].into(), ..ZoneContents::default() };
        let naming = Naming { namespace: "n".into(), class: "c".into(), zone: "z".into() };
        let made = import(&domain, &contents, &[].into(), &naming).unwrap();
        prop_assert_eq!(made.sets.len(), usize::from(importable(&value)), "{}: {:?}", content, made.left);
        prop_assert_eq!(made.left.is_empty(), importable(&value));
    }

    #[test]
    fn what_4_x_is_sent_reads_back_as_the_value(value in support::any_rdata()) {
        let text = value.print(dialect("4.7.3"));
        prop_assert!(text.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{}", text);
        prop_assert_eq!(Rdata::parse(value.rtype(), &text).unwrap(), value);
    }

    #[test]
    fn what_5_1_is_sent_reads_back_as_the_value(value in support::any_rdata()) {
        let text = as_5_1_unescapes(&value.print(dialect("5.1.5"))).unwrap();
        prop_assert_eq!(Rdata::parse(value.rtype(), &text).unwrap(), value.clone());
        if !matches!(value, Rdata::Https(_) | Rdata::Svcb(_)) {
            prop_assert_eq!(text, value.print(dialect("5.0.0")));
        }
    }

    #[test]
    fn names_read_back(text in support::any_name()) {
        let name = Name::parse(&text).unwrap();
        prop_assert_eq!(Name::parse(name.as_str()).unwrap(), name);
    }

    /// Below a zone means: not before it, and before everything that is after its last name.
    #[test]
    fn order_keeps_a_zone_together(mut names in prop::collection::vec(r"([ab]|[ab]-|a\\\.b)(\.[ab]){0,2}", 3..12)) {
        names.push("a".to_owned());
        let zone = Name::parse("a").unwrap();
        let mut sorted: Vec<_> = names.iter().map(|name| Name::parse(name).unwrap()).collect();
        sorted.sort();
        let inside: Vec<_> = sorted.iter().map(|name| name.is_at_or_below(&zone)).collect();
        let first = inside.iter().position(|&is| is).unwrap();
        let run = inside[first..].iter().take_while(|&&is| is).count();
        prop_assert_eq!(&sorted[first], &zone);
        prop_assert_eq!(run, inside.iter().filter(|&&is| is).count());
    }

    #[test]
    fn matching_is_an_equivalence(
        a in support::similar_contents(),
        b in support::similar_contents(),
        c in support::similar_contents(),
    ) {
        prop_assert!(a.matches(&a));
        prop_assert_eq!(a.matches(&b), b.matches(&a));
        prop_assert!(!(a.matches(&b) && b.matches(&c)) || a.matches(&c));
    }

    #[test]
    fn fingerprints_are_equal_exactly_when_contents_match(
        a in support::similar_contents(),
        b in support::similar_contents(),
    ) {
        prop_assert_eq!(a.fingerprint() == b.fingerprint(), a.matches(&b));
    }

    #[test]
    fn contents_survive_a_server(contents in support::record_type().prop_flat_map(support::contents)) {
        let printed = contents.values().iter().map(|value| value.print(dialect("4.9.18")));
        let read = printed.map(|text| Rdata::parse(contents.rtype(), &text).unwrap()).collect();
        let read = Contents::new(contents.ttl(), read).unwrap();
        prop_assert!(read.matches(&contents));
        prop_assert_eq!(read.fingerprint(), contents.fingerprint());
    }
}

/// The texts that 5.1.5 was seen to store, and as what.
#[test]
fn the_model_of_5_1_agrees_with_the_server() {
    for (sent, stored) in [
        (r#""a\\\"b""#, Some(r#""a\"b""#)),
        (r#""a\\\\b""#, Some(r#""a\\b""#)),
        (r#""a\\b""#, Some(r#""a\b""#)),
        (r#""a\065b""#, Some(r#""aAb""#)),
        (r#""Zo\195\171""#, Some(r#""Zo\195\171""#)),
        (r"a\.b.example.", Some("a.b.example.")),
        (r#""x;y""#, Some(r#""x;y""#)),
        ("a;b.example.", None),
        (r#""Zoë""#, None),
    ] {
        assert_eq!(as_5_1_unescapes(sent).as_deref(), stored, "{sent}");
    }
}

/// Every value of every type has a text for both dialects.
#[test]
fn newer_parameters_are_spelled_as_the_version_knows_them() {
    let text =
        r#"1 . mandatory=alpn,dohpath alpn=h2 dohpath="/q{?dns}" ohttp tls-supported-groups=29,23"#;
    let value = Rdata::parse(RecordType::Svcb, text).unwrap();
    assert_eq!(value.print(dialect("5.1.0")), text);
    assert_eq!(
        value.print(dialect("5.0.9")),
        r#"1 . mandatory=alpn,key7 alpn=h2 key7="/q{?dns}" key8="" key9="\000\029\000\023""#
    );
}

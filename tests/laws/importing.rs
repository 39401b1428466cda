//! From RRsets to the objects that declare exactly them: what each type becomes, how sets are named and cut, and what is
//! told instead.

use std::collections::BTreeSet;

use dns_syncd::plan::import::{Imported, Naming, import, usual_name};
use dns_syncd::plan::snapshot::{StoredRecord, StoredRrset, ZoneContents};
use serde_json::{Value, json};

use crate::scenario::name;

/// Adds an RRset of `a.test.`.
fn add(contents: &mut ZoneContents, at: &str, rtype: &str, records: &[&str]) {
    let record = |text: &&str| StoredRecord { content: (*text).to_owned(), disabled: false };
    let records = records.iter().map(record).collect();
    let rrset = StoredRrset { ttl: 300, records, comments: Vec::new() };
    contents.names.entry(name(at)).or_default().insert(rtype.to_owned(), rrset);
}

fn contents(rrsets: &[(&str, &str, &[&str])]) -> ZoneContents {
    let mut out = ZoneContents::default();
    for (at, rtype, records) in rrsets {
        add(&mut out, at, rtype, records);
    }
    out
}

fn imported(contents: &ZoneContents) -> Imported {
    let below = BTreeSet::from([name("sub.a.test.")]);
    import(&name("a.test."), contents, &below, &naming()).unwrap()
}

fn naming() -> Naming {
    Naming { namespace: "n".into(), class: "c".into(), zone: "z".into() }
}

/// The records of the only set.
fn records(rrset: (&str, &str, &[&str])) -> Value {
    let made = imported(&contents(&[rrset]));
    assert_eq!((made.sets.len(), &made.left), (1, &BTreeSet::new()), "{rrset:?}");
    json!(made.sets[0].spec.records)
}

/// What is told of the only RRset, after its name and type.
fn left(at: &str, rtype: &str, records: &[&str]) -> String {
    let made = imported(&contents(&[(at, rtype, records)]));
    assert!(made.sets.is_empty() && made.left.len() == 1, "{made:?}");
    let told = made.left.first().unwrap();
    told.strip_prefix(&format!("{at} {rtype}: ")).unwrap().to_owned()
}

#[test]
fn objects_have_their_names_and_nothing_of_a_cluster() {
    let made = imported(&contents(&[
        ("www.a.test.", "TXT", &["\"x\""]),
        ("www.a.test.", "A", &["192.0.2.2", "192.0.2.1"]),
        ("a.test.", "A", &["192.0.2.3"]),
        ("*.wild.a.test.", "A", &["192.0.2.4"]),
    ]));
    let meta = |name: &str| json!({"name": name, "namespace": "n"});
    let kind = |kind: &str, name: &str, spec: Value| {
        json!({"apiVersion": "dns.networking.miloapis.com/v1alpha1", "kind": kind,
            "metadata": meta(name), "spec": spec})
    };
    let zone = json!({"domainName": "a.test", "dnsZoneClassName": "c"});
    assert_eq!(json!(made.zone), kind("DNSZone", "z", zone));
    let a = |raw: &str, address: &str| json!({"name": raw, "ttl": 300, "a": {"content": address}});
    let a = [
        a("@", "192.0.2.3"),
        a("*.wild", "192.0.2.4"),
        a("www", "192.0.2.1"),
        a("www", "192.0.2.2"),
    ];
    let txt = [json!({"name": "www", "ttl": 300, "txt": {"content": "x"}})];
    let set = |rtype: &str, records: Value| {
        let spec = json!({"dnsZoneRef": {"name": "z"}, "recordType": rtype, "records": records});
        kind("DNSRecordSet", &format!("z-{}", rtype.to_lowercase()), spec)
    };
    assert_eq!(json!(made.sets), json!([set("A", json!(a)), set("TXT", json!(txt))]));
    assert_eq!(made.left, BTreeSet::new());
}

/// One RRset of each type with the fields that declare it.
#[test]
fn every_type_has_its_fields() {
    for (rtype, content, fields) in [
        ("A", "192.0.2.1", json!({"content": "192.0.2.1"})),
        ("AAAA", "2001:DB8:0::1", json!({"content": "2001:db8::1"})),
        ("ALIAS", "T.test.", json!({"content": "t.test."})),
        ("CAA", "128 iodef \"x;y\"", json!({"flag": 128, "tag": "iodef", "value": "x;y"})),
        ("CNAME", "_x.t.test.", json!({"content": "_x.t.test."})),
        (
            "HTTPS",
            "1 . alpn=h2,h3 port=443",
            json!({"priority": 1, "target": ".", "params": {"alpn": "h2,h3", "port": "443"}}),
        ),
        ("MX", "10 mx.test.", json!({"preference": 10, "exchange": "mx.test."})),
        ("NS", "ns.test.", json!({"content": "ns.test."})),
        ("PTR", "h.test.", json!({"content": "h.test."})),
        (
            "SRV",
            "1 2 3 s.test.",
            json!({"priority": 1, "weight": 2, "port": 3, "target": "s.test."}),
        ),
        ("SVCB", "2 s.test.", json!({"priority": 2, "target": "s.test."})),
        (
            "TLSA",
            "3 1 2 ABCDEF",
            json!({"usage": 3, "selector": 1, "matchingType": 2, "certData": "abcdef"}),
        ),
        ("TXT", "\"a \" \"b\\\"c\"", json!({"content": "a b\"c"})),
    ] {
        let mut entry = json!({"name": "x", "ttl": 300});
        entry[rtype.to_lowercase()] = fields;
        assert_eq!(records(("x.a.test.", rtype, &[content])), json!([entry]), "{rtype}");
    }
    // The server goes on counting the serial.
    let soa = json!({"mname": "ns.test.", "rname": "h.test.", "refresh": 2, "retry": 3, "expire": 4,
        "ttl": 5});
    let made = records(("a.test.", "SOA", &["ns.test. h.test. 1 2 3 4 5"]));
    assert_eq!(made, json!([{"name": "@", "ttl": 300, "soa": soa}]));
}

#[test]
fn what_cannot_be_declared_is_told_with_the_reason() {
    assert_eq!(left("x.a.test.", "SSHFP", &["1 1 00"]), "a DNSRecordSet has no such type");
    assert_eq!(
        left("x.a.test.", "A", &["192.0.2.1", "x"]),
        "its TTL or a record of it does not read"
    );
    let spelt = "a DNSRecordSet cannot spell its name";
    assert_eq!(left("0/25.a.test.", "PTR", &["h.test."]), spelt);
    // Out of the zone, and only like it.
    assert_eq!(left("xa.test.", "A", &["192.0.2.1"]), spelt);
    let soa = ["ns.test. h.test. 1 2 0 4 5"];
    assert_eq!(left("a.test.", "SOA", &soa), "it would not be declared as it is");
    let mut off = contents(&[("x.a.test.", "A", &["192.0.2.1", "192.0.2.2"])]);
    let rrset = off.names.get_mut(&name("x.a.test.")).unwrap().get_mut("A").unwrap();
    rrset.records[1].disabled = true;
    assert_eq!(imported(&off).left, ["x.a.test. A: it has a disabled record".to_owned()].into());
    let mut twice = contents(&[("x.a.test.", "A", &["192.0.2.1"])]);
    twice.doubled.insert(name("x.a.test."));
    let why = "PowerDNS shows more than one RRset of one type at this name";
    assert_eq!(imported(&twice).left, [format!("x.a.test. A: {why}")].into());
}

/// Types that one name cannot have are told both: nobody says which of them is meant.
#[test]
fn of_types_that_cannot_stand_together_none_is_declared() {
    let mut both = contents(&[
        ("x.a.test.", "A", &["192.0.2.1"]),
        ("x.a.test.", "ALIAS", &["t.test."]),
        ("x.a.test.", "TXT", &["\"x\""]),
    ]);
    let told = [
        "x.a.test. A: it cannot be declared beside ALIAS",
        "x.a.test. ALIAS: it cannot be declared beside A",
    ];
    let made = imported(&both);
    assert_eq!(made.left, told.map(str::to_owned).into());
    assert_eq!(made.sets.len(), 1);
    // Comments alone are no rival, and nothing to declare.
    add(&mut both, "x.a.test.", "ALIAS", &[]);
    let made = imported(&both);
    assert_eq!((made.left.len(), made.sets.len()), (0, 2));
}

/// The parent has the delegation, and the longer zone all else from its apex down.
#[test]
fn a_longer_zone_answers_for_its_names() {
    let why = "zone sub.a.test. of the same server answers for it";
    assert_eq!(left("sub.a.test.", "A", &["192.0.2.1"]), why);
    assert_eq!(left("x.sub.a.test.", "NS", &["ns.test."]), why);
    assert_eq!(records(("sub.a.test.", "NS", &["ns.test."]))[0]["name"], "sub");
    assert_eq!(records(("xsub.a.test.", "A", &["192.0.2.1"]))[0]["name"], "xsub");
}

/// The CRD's patterns are narrower than DNS: letters, digits and inner hyphens, an underscore where no host is named, and
/// 253 characters with the final dot, which is left out where it is one too many.
#[test]
fn targets_are_those_that_the_definition_takes() {
    let refused = "the definition of DNSRecordSet refuses a value of it";
    for (rtype, target, taken) in [
        ("CNAME", "_x.t.test.", true),
        ("ALIAS", "x_.t.test.", true),
        ("NS", "_x.t.test.", false),
        ("NS", "x-y.t.test.", true),
        ("CNAME", "a/b.test.", false),
        ("ALIAS", "*.test.", false),
        ("CNAME", "-x.test.", false),
        ("CNAME", "x-.test.", false),
        ("NS", "x-.test.", false),
        ("NS", &format!("{}.test.", "x".repeat(63)), true),
    ] {
        if taken {
            let made = records(("x.a.test.", rtype, &[target]));
            assert_eq!(made[0][rtype.to_lowercase()]["content"], target);
        } else {
            assert_eq!(left("x.a.test.", rtype, &[target]), refused, "{rtype} {target}");
        }
    }
    let label = "x".repeat(63);
    for (last, dot) in [(60, "."), (61, "")] {
        let plain = format!("{label}.{label}.{label}.{}", "y".repeat(last));
        let made = records(("x.a.test.", "CNAME", &[&format!("{plain}.")]));
        assert_eq!(made[0]["cname"]["content"], format!("{plain}{dot}"), "{last}");
    }
}

#[test]
fn a_domain_is_what_a_dnszone_can_be_of() {
    for (domain, can) in [
        ("a.test.", true),
        ("0.x-y.test.", true),
        ("test.", false),
        ("_x.test.", false),
        ("a/b.test.", false),
        ("-x.test.", false),
    ] {
        let made = import(&name(domain), &ZoneContents::default(), &[].into(), &naming());
        let why = format!(
            "no DNSZone can be of {domain}: its domain is two or more labels of letters, digits and inner hyphens"
        );
        assert_eq!(made.map(drop), if can { Ok(()) } else { Err(why) });
    }
}

#[test]
fn a_dnszone_is_called_like_its_domain() {
    for (domain, usual) in
        [("a.test.", "a-test"), ("0/25.a.test.", "0-25-a-test"), ("_x.a.test.", "x-a-test")]
    {
        assert_eq!(usual_name(&name(domain)), usual);
    }
    let label = "x".repeat(63);
    assert_eq!(usual_name(&name(&format!("{label}.{label}.{label}.yyyyyyyyyy.z."))).len(), 200);
}

/// A set has at most 500 names, each of them whole.
#[test]
fn a_set_has_five_hundred_names() {
    for (names, sizes) in [(500, vec![1000]), (501, vec![1000, 2])] {
        let mut all = ZoneContents::default();
        for n in 0..names {
            add(&mut all, &format!("n{n:03}.a.test."), "A", &["192.0.2.1", "192.0.2.2"]);
        }
        let made = imported(&all);
        let cut: Vec<usize> = made.sets.iter().map(|set| set.spec.records.len()).collect();
        assert_eq!(cut, sizes);
        let called: Vec<_> = made.sets.iter().filter_map(|s| s.metadata.name.as_deref()).collect();
        assert_eq!(called, ["z-a", "z-a-2"][..sizes.len()]);
    }
}

/// Its entries are at most 400 kB of JSON, counted name by name.
#[test]
fn a_set_has_four_hundred_kilobytes() {
    let text = |length: usize| {
        let texts = vec!["x".repeat(200); length / 200];
        let texts = texts.into_iter().chain(Some("x".repeat(length % 200)));
        texts.map(|text| format!("\"{text}\"")).collect::<Vec<_>>().join(" ")
    };
    let sets = |last: usize| {
        let mut all = ZoneContents::default();
        for n in 0..8 {
            let length = if n == 7 { last } else { 50_000 };
            add(&mut all, &format!("n{n}.a.test."), "TXT", &[&text(length)]);
        }
        let made = imported(&all);
        assert_eq!(made.left, BTreeSet::new());
        made.sets.into_iter().map(|set| set.spec.records).collect::<Vec<_>>()
    };
    let short = sets(100);
    let bytes: usize = short[0].iter().map(|entry| json!([entry]).to_string().len()).sum();
    let room = 400_000 - bytes;
    let names = |last: usize| sets(last).iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(names(100 + room), [8]);
    assert_eq!(names(101 + room), [7, 1]);
}

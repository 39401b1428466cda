//! One table per type, but for service bindings: what declared fields become, what is refused, what a server's text means.

use super::*;

fn dialect(version: &str) -> Dialect {
    Dialect::of(Version::parse(version).unwrap())
}

pub(super) fn text(rdata: &Rdata) -> String {
    rdata.print(dialect("4.7.3"))
}

/// The printed value, `dropped`, or the error.
fn shown(result: Rendered) -> String {
    match result {
        Ok(Some(rdata)) => text(&rdata),
        Ok(None) => "dropped".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
pub(super) fn equal_texts(rtype: RecordType, texts: &[&str]) {
    let mut values = texts.iter().map(|text| Rdata::parse(rtype, text).unwrap());
    let first = values.next().unwrap();
    assert_eq!(text(&first), texts[0]);
    for (value, text) in values.zip(&texts[1..]) {
        assert_eq!(value, first, "{text}");
    }
}

#[test]
fn addresses() {
    for (rtype, content, expected) in [
        (RecordType::A, " 192.0.2.1\n", "192.0.2.1"),
        (RecordType::A, "  ", "dropped"),
        (RecordType::A, "010.0.0.1", "content \"010.0.0.1\": is not an IPv4 address"),
        (RecordType::A, "999.1.1.1", "content \"999.1.1.1\": is not an IPv4 address"),
        (RecordType::A, "::1", "content \"::1\": is not an IPv4 address"),
        (RecordType::Aaaa, "2001:DB8:0::1", "2001:db8::1"),
        (RecordType::Aaaa, "2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"),
        (RecordType::Aaaa, "::ffff:192.0.2.1", "::ffff:c000:201"),
        (RecordType::Aaaa, "64:ff9b::192.0.2.1", "64:ff9b::c000:201"),
        (RecordType::Aaaa, "", "dropped"),
        (RecordType::Aaaa, "192.0.2.1", "content \"192.0.2.1\": is not an IPv6 address"),
        (RecordType::Txt, "x", "content \"x\": TXT holds no address"),
    ] {
        assert_eq!(shown(Rdata::from_address(rtype, content)), expected);
    }
    equal_texts(RecordType::Aaaa, &["::ffff:c000:201", "::ffff:192.0.2.1", "::FFFF:C000:201"]);
    equal_texts(RecordType::Aaaa, &["::1:2", "::0.1.0.2"]);
}

#[test]
fn targets() {
    let host = "is not a host name: labels hold letters, digits and inner hyphens only";
    for (rtype, content, expected) in [
        (RecordType::Cname, "Target.Example.NET", "target.example.net."),
        (RecordType::Cname, " mail ", "mail."),
        (RecordType::Cname, "_x.y.", "_x.y."),
        (RecordType::Alias, "a.b.", "a.b."),
        (RecordType::Ptr, "", "dropped"),
        (RecordType::Ptr, "a..b", "content \"a..b\": a label is empty"),
        (RecordType::Ns, "ns1.example.net", "ns1.example.net."),
        (RecordType::Ns, "192.0.2.1", "192.0.2.1."),
        (RecordType::Ns, ".", "content \".\": a name server needs a host name"),
        (RecordType::Ns, "ns_1.x.", &format!("content \"ns_1.x.\": {host}")),
        (RecordType::Ns, "-a.x.", &format!("content \"-a.x.\": {host}")),
        (RecordType::Mx, "x.", "content \"x.\": MX holds no target"),
    ] {
        assert_eq!(shown(Rdata::from_target(rtype, content)), expected);
    }
    equal_texts(RecordType::Cname, &["a.example.", "A.Example.", "a.example"]);
    let odd = Rdata::parse(RecordType::Ptr, r"a\.b\032c;d.").unwrap();
    assert_eq!(odd.print(dialect("5.1.5")), r"a\\.b\\032c\;d.");
}

#[test]
fn mail_and_services() {
    assert_eq!(shown(Rdata::mx(10, "Mail.example.com")), "10 mail.example.com.");
    assert_eq!(shown(Rdata::mx(0, ".")), "0 .");
    assert_eq!(shown(Rdata::mx(0, " ")), "dropped");
    assert!(shown(Rdata::mx(10, "_m.x")).starts_with("exchange \"_m.x.\": is not a host name"));
    assert_eq!(shown(Rdata::srv(1, 2, 80, "host")), "1 2 80 host.");
    assert_eq!(shown(Rdata::srv(0, 0, 0, ".")), "0 0 0 .");
    assert_eq!(shown(Rdata::srv(0, 0, 0, "")), "dropped");
    assert!(shown(Rdata::srv(0, 0, 80, "*.x")).starts_with("target \"*.x.\": is not a host name"));
    equal_texts(RecordType::Mx, &["10 a.b.", "010  A.B."]);
    for (rtype, content) in
        [(RecordType::Mx, "10"), (RecordType::Mx, "70000 a."), (RecordType::Srv, "1 2 a.")]
    {
        assert!(Rdata::parse(rtype, content).is_err(), "{content}");
    }
}

#[test]
fn caa_values() {
    for (tag, value, expected) in [
        ("issue", "letsencrypt.org", r#"0 issue "letsencrypt.org""#),
        ("ISSUE", r"ca.example\; a=b", r#"0 issue "ca.example; a=b""#),
        ("issue", ";", r#"0 issue ";""#),
        ("iodef", r#""mailto:a@b.example""#, r#"0 iodef "mailto:a@b.example""#),
        ("issue", r#"a"b\c"#, r#"0 issue "a\"b\\c""#),
        ("issue", "", r#"value "": is empty; `";"` forbids every issuer"#),
        ("issue", r#""""#, r#"value "\"\"": is empty; `";"` forbids every issuer"#),
        ("is-sue", "a", r#"tag "is-sue": is not 1 to 255 letters or digits"#),
        ("", "a", r#"tag "": is not 1 to 255 letters or digits"#),
    ] {
        assert_eq!(shown(Rdata::caa(0, tag, value)), expected);
    }
    assert!(Rdata::caa(0, &"i".repeat(256), "a").is_err());
    equal_texts(RecordType::Caa, &[r#"0 issue "ab""#, r#"0 ISSUE "a" "b""#, r#"0 issue "a\098""#]);
    let long = Rdata::caa(0, "issue", &"a".repeat(300)).unwrap().unwrap();
    assert_eq!(text(&long), format!("0 issue \"{}\"", "a".repeat(300)));
}

#[test]
fn txt_values() {
    let long = |n| "a".repeat(n);
    for (content, expected) in [
        ("v=spf1 -all", r#""v=spf1 -all""#.to_owned()),
        (r#""""#, r#""""#.to_owned()),
        (r#"say "hi" \ there"#, r#""say \"hi\" \\ there""#.to_owned()),
        ("Zoë\t!", r#""Zo\195\171\009!""#.to_owned()),
        (&long(255), format!("\"{}\"", long(255))),
        (&long(256), format!("\"{}\" \"a\"", long(255))),
        (&long(510), format!("\"{0}\" \"{0}\"", long(255))),
        (&long(511), format!("\"{0}\" \"{0}\" \"a\"", long(255))),
        (&format!("{}ë", long(254)), format!("\"{}\\195\" \"\\171\"", long(254))),
        ("  ", r#"content "  ": is empty; an empty string is written `""`"#.to_owned()),
    ] {
        assert_eq!(shown(Rdata::txt(content)), expected);
    }
    equal_texts(RecordType::Txt, &[r#""abc""#, r#""a" "bc""#, r#""a\098\c""#, "abc"]);
    equal_texts(RecordType::Txt, &[r#""x;y""#, r#""x\;y""#]);
    equal_texts(RecordType::Txt, &[r#""Zo\195\171""#, "\"Zoë\""]);
    assert_ne!(Rdata::txt("A"), Rdata::txt("a"));
    assert!(Rdata::parse(RecordType::Txt, "\"open").is_err());
}

/// The limits at which a message can no longer hold the record.
#[test]
fn oversized_records_are_refused() {
    let filler = |octets: usize| "a".repeat(octets);
    let strings = MAX_RDATA.div_ceil(256);
    assert!(Rdata::txt(&filler(MAX_RDATA - strings)).is_ok());
    let error = Rdata::txt(&filler(MAX_RDATA - strings + 1)).unwrap_err().to_string();
    assert!(
        error.len() < 200 && error.contains("aaa\"…: the record would have 65254 bytes"),
        "{error}"
    );
    assert!(Rdata::caa(0, "issue", &filler(MAX_RDATA - 7)).is_ok());
    assert!(Rdata::caa(0, "issue", &filler(MAX_RDATA - 6)).is_err());
    assert!(Rdata::tlsa(3, 1, 1, &filler(2 * (MAX_RDATA - 3))).is_ok());
    assert!(Rdata::tlsa(3, 1, 1, &filler(2 * (MAX_RDATA - 2))).is_err());
}

#[test]
fn tlsa_values() {
    for (data, expected) in [
        ("ABcd ef01", "3 1 1 abcdef01"),
        ("abc", "certData \"abc\": is not an even number of hexadecimal digits"),
        ("xy", "certData \"xy\": is not an even number of hexadecimal digits"),
        ("", "certData \"\": is empty"),
    ] {
        assert_eq!(shown(Rdata::tlsa(3, 1, 1, data)), expected);
    }
    equal_texts(RecordType::Tlsa, &["3 1 1 abcd", "3 1 1 ABCD", "3 1 1 ab cd"]);
    equal_texts(RecordType::Tlsa, &["3 1 1 -"]);
    assert!(Rdata::parse(RecordType::Tlsa, "256 1 1 ab").is_err());
}

#[test]
fn soa_values() {
    let soa = |timers: [Option<u32>; 5]| {
        let [serial, refresh, retry, expire, minimum] = timers;
        Rdata::soa("NS1.example", "h.example.", serial, refresh, retry, expire, minimum)
    };
    let defaults = "ns1.example. h.example. 0 10800 3600 604800 3600";
    assert_eq!(shown(soa([None; 5])), defaults);
    assert_eq!(shown(soa([Some(0); 5])), defaults);
    let given = soa([Some(4_294_967_295), Some(1), Some(2), Some(3), Some(4)]);
    assert_eq!(shown(given.clone()), "ns1.example. h.example. 4294967295 1 2 3 4");
    let error = Rdata::soa("", "h.", None, None, None, None, None).unwrap_err();
    assert_eq!(error.to_string(), "mname \"\": a label is empty");
    let Some(Rdata::Soa(soa)) = given.unwrap() else { panic!("not an SOA") };
    assert_eq!((soa.serial(), soa.with_serial(7).serial()), (u32::MAX, 7));
    assert!(Rdata::parse(RecordType::Soa, "a. b. 1 2 3 4").is_err());
    assert!(Rdata::parse(RecordType::Soa, "a. b. 1 2 3 4 5 6").is_err());
}

#[test]
fn serials_are_compared_in_a_circle() {
    for (a, b, older) in [
        (1, 2, true),
        (2, 1, false),
        (1, 1, false),
        (u32::MAX, 0, true),
        (0, u32::MAX, false),
        (0, 0x7fff_ffff, true),
        (0, 0x8000_0000, false),
        (0x8000_0000, 0, false),
        (2_026_113_187, 2_026_113_001, false),
    ] {
        assert_eq!(serial_lt(a, b), older, "{a} {b}");
    }
}

#[test]
fn every_type_knows_itself() {
    for (rtype, content) in [
        (RecordType::A, "192.0.2.1"),
        (RecordType::Aaaa, "::1"),
        (RecordType::Alias, "a."),
        (RecordType::Caa, "0 issue \"a\""),
        (RecordType::Cname, "a."),
        (RecordType::Https, "1 ."),
        (RecordType::Mx, "1 a."),
        (RecordType::Ns, "a."),
        (RecordType::Ptr, "a."),
        (RecordType::Soa, "a. b. 1 2 3 4 5"),
        (RecordType::Srv, "1 2 3 a."),
        (RecordType::Svcb, "1 ."),
        (RecordType::Tlsa, "3 1 1 ab"),
        (RecordType::Txt, "\"a\""),
    ] {
        let value = Rdata::parse(rtype, content).unwrap();
        assert_eq!((value.rtype(), text(&value)), (rtype, content.to_owned()));
    }
}

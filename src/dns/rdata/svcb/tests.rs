//! Service bindings: what declared parameters become, what is refused, what texts mean.

use super::super::MAX_RDATA;
use super::super::tests::{equal_texts, text as printed};
use super::*;

fn svcb(priority: u16, target: &str, params: &[(&str, &str)]) -> Rendered {
    let params: BTreeMap<_, _> =
        params.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    Rdata::svcb(RecordType::Svcb, priority, target, &params)
}

#[test]
fn service_bindings() {
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a str);
    let cases: &[Case] = &[
        (&[], "1 ."),
        (
            &[("ech", "AEX+DQBBpQAgACA="), ("ipv4hint", "192.0.2.1"), ("alpn", "h3,h2")],
            "1 . alpn=h3,h2 ipv4hint=192.0.2.1 ech=\"AEX+DQBBpQAgACA=\"",
        ),
        (&[("dohpath", "/dns-query{?dns}")], "1 . key7=\"/dns-query{?dns}\""),
        (&[("key7", "/q"), ("ohttp", "")], "1 . key7=\"/q\" key8=\"\""),
        (
            &[("mandatory", "port, alpn"), ("alpn", "h2"), ("port", "0443")],
            "1 . mandatory=alpn,port alpn=h2 port=443",
        ),
        (&[("no-default-alpn", ""), ("alpn", "")], "1 . no-default-alpn"),
        (&[("alpn", "\"h2, h3\"")], "1 . alpn=h2,h3"),
        (&[("alpn", r"a\,b,c\\")], r"1 . alpn=a\\,b,c\\\\"),
        (
            &[("ipv6hint", "2001:DB8::1,::ffff:192.0.2.1,::1:2,::1")],
            "1 . ipv6hint=2001:db8::1,::ffff:192.0.2.1,::0.1.0.2,::1",
        ),
        (&[("key00065333", r#""a\195" "\"""#)], r#"1 . key65333="a\195\"""#),
        (&[("key65333", r#""""#)], r#"1 . key65333="""#),
        (&[("tls-supported-groups", "29,23")], r#"1 . key9="\000\029\000\023""#),
        (&[("ech", "AQ")], "1 . ech=\"AQ==\""),
    ];
    for (params, expected) in cases {
        let value = svcb(1, "", params).unwrap().unwrap();
        assert_eq!(printed(&value), *expected);
        assert_eq!(Rdata::parse(RecordType::Svcb, expected).unwrap(), value);
    }
    assert_eq!(
        printed(&svcb(0, "other.example.net", &[("alpn", "h2")]).unwrap().unwrap()),
        "0 other.example.net."
    );
    assert_eq!(printed(&svcb(16, " _X.y ", &[]).unwrap().unwrap()), "16 _x.y.");
}

#[test]
fn ill_formed_service_bindings_are_refused() {
    for (params, expected) in [
        (&[("ipv4hint", "auto")][..], "params \"ipv4hint=auto\": \"auto\" is not an IPv4 address"),
        (&[("ipv6hint", "auto")], "params \"ipv6hint=auto\": \"auto\" is not an IPv6 address"),
        (&[("port", "65536")], "params \"port=65536\": \"65536\" is not a port"),
        (&[("port", "+1")], "params \"port=+1\": \"+1\" is not a port"),
        (&[("ech", "not base64!")], "params \"ech=not base64!\": is not base64"),
        (&[("ech", r#""""#)], r#"params "ech=\"\"": is not base64"#),
        (
            &[("alpn", "h2,,h3")],
            "params \"alpn=h2,,h3\": has a protocol name of no or more than 255 bytes",
        ),
        (
            &[("alpn", "a;b")],
            "params \"alpn=a;b\": has a character that PowerDNS does not take here",
        ),
        (&[("alpn", r"a\b")], r#"params "alpn=a\\b": has a backslash before neither ',' nor '\'"#),
        (&[("key9", "abc")], "params \"key9=abc\": is not a list of 16-bit numbers"),
        (&[("key1", "h2")], "params \"key1=h2\": must be called alpn"),
        (&[("key65536", "a")], "parameter \"key65536\": is not a known one or keyNNNNN"),
        (&[("esnikeys", "a")], "parameter \"esnikeys\": is not a known one or keyNNNNN"),
        (&[("dohpath", "/"), ("key7", "/")], "parameter \"dohpath\": is given twice"),
        (
            &[("key10", "a;b")],
            "params \"key10=a;b\": has a ';', '(' or ')', which PowerDNS does not take here",
        ),
        (
            &[("mandatory", "alpn")],
            "mandatory \"alpn\": lists what must be there, and this parameter is not",
        ),
        (
            &[("mandatory", "mandatory")],
            "mandatory \"mandatory\": lists what must be there, and this parameter is not",
        ),
        (
            &[("mandatory", "port,port"), ("port", "1")],
            "params \"mandatory=port,port\": lists a parameter twice",
        ),
    ] {
        assert_eq!(svcb(1, ".", params).unwrap_err().to_string(), expected);
    }
    assert!(svcb(1, ".", &[("alpn", &"a".repeat(256))]).is_err());
    assert!(svcb(1, "a..b", &[]).is_err());
    assert!(Rdata::svcb(RecordType::A, 1, ".", &BTreeMap::new()).is_err());
}

#[test]
fn service_bindings_are_read_leniently() {
    equal_texts(
        RecordType::Https,
        &[
            r#"1 a. mandatory=alpn,port alpn=h2,h3 port=443 key65333="a b""#,
            r#"1  A.  key65333="a b" port="443" alpn="h2,h3" mandatory=port,alpn"#,
        ],
    );
    equal_texts(RecordType::Svcb, &[r#"1 . key7="/q" key8="""#, r"1 . dohpath=/q ohttp"]);
    equal_texts(RecordType::Svcb, &["0 a. port=1"]);
    equal_texts(RecordType::Svcb, &[r#"1 . alpn="a b,c""#]);
    for content in [
        "",
        "1",
        "x .",
        "1 . foo=1",
        "1 . alpn",
        "1 . key7=\"a",
        "1 . port=1 port=2",
        "1 . key1=\"h2\"",
        "1 . ipv4hint=auto",
    ] {
        assert!(Rdata::parse(RecordType::Svcb, content).is_err(), "{content}");
    }
}

#[test]
fn an_oversized_binding_is_refused() {
    assert!(svcb(1, ".", &[("key10", &"a".repeat(MAX_RDATA - 7))]).is_ok());
    assert!(svcb(1, ".", &[("key10", &"a".repeat(MAX_RDATA - 6))]).is_err());
}

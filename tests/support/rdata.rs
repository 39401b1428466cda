//! Generators of record data and RRset contents, made by the public constructors: what they give
//! is what a resource can declare.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::collections::{BTreeMap, BTreeSet};

use dns_syncd::dns::rdata::Rdata;
use dns_syncd::dns::rrset::{Contents, RecordType, Ttl};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// A host name of one to four labels.
fn host() -> impl Strategy<Value = String> {
    vec("[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", 1..4).prop_map(|labels| labels.join("."))
}

/// A domain name with any octets in its labels, in presentation form.
pub(crate) fn any_name() -> impl Strategy<Value = String> {
    let odd = vec(any::<u8>(), 1..8).prop_map(|octets| decimal(&octets));
    let label = prop_oneof![3 => "[a-z0-9_*]{1,8}".boxed(), 1 => odd.boxed()];
    vec(label, 1..4).prop_map(|labels| labels.join("."))
}

/// Quoted text that stands for any bytes, up to `max` of them.
fn quoted(max: usize) -> impl Strategy<Value = String> {
    let any_bytes = vec(any::<u8>(), 0..max);
    let plain = vec(select(br#"ab "\;,()=0"#.to_vec()), 0..max);
    prop_oneof![any_bytes, plain].prop_map(|bytes| format!("\"{}\"", decimal(&bytes)))
}

fn decimal(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |text, octet| text + &format!("\\{octet:03}"))
}

fn hints<A: ToString + std::fmt::Debug + 'static>(
    address: impl Strategy<Value = A> + 'static,
) -> BoxedStrategy<String> {
    vec(address.prop_map(|a| a.to_string()), 1..4).prop_map(|all| all.join(",")).boxed()
}

/// Parameters of a service binding that are valid together.
fn svc_params() -> impl Strategy<Value = BTreeMap<String, String>> {
    // Not `;`, `(` and `)`, which no server takes here.
    let opaque = vec(any::<u8>().prop_filter("special", |b| !b";()".contains(b)), 0..20)
        .prop_map(|bytes| format!("\"{}\"", decimal(&bytes)))
        .boxed();
    let known: Vec<(&str, BoxedStrategy<String>)> = vec![
        (
            "alpn",
            vec(r"[!#-'*+\-./0-9:<-\[\]-~]{1,9}(\\\\|\\,)?", 1..4)
                .prop_map(|a| a.join(","))
                .boxed(),
        ),
        ("no-default-alpn", Just(String::new()).boxed()),
        ("port", any::<u16>().prop_map(|port| port.to_string()).boxed()),
        ("ipv4hint", hints(any::<std::net::Ipv4Addr>())),
        ("ipv6hint", hints(ipv6())),
        ("ech", select(vec!["AEX+DQBBpQAgACA=", "AQ==", "AQID"]).prop_map(String::from).boxed()),
        ("dohpath", opaque.clone()),
        ("ohttp", Just(String::new()).boxed()),
        (
            "tls-supported-groups",
            select(vec!["29", "29,23", "4588,29"]).prop_map(String::from).boxed(),
        ),
        ("key10", opaque.clone()),
        ("key65333", opaque),
    ];
    let count = known.len();
    (subsequence(known, 0..=count), any::<prop::sample::Index>())
        .prop_flat_map(|(chosen, index)| {
            let names: Vec<_> = chosen.iter().map(|(name, _)| (*name).to_owned()).collect();
            let values: Vec<_> = chosen.into_iter().map(|(_, value)| value).collect();
            let mandatory = names[..index.index(names.len() + 1)].to_vec();
            (Just(names), values, Just(mandatory))
        })
        .prop_map(|(names, values, mandatory)| {
            let mut params: BTreeMap<_, _> = names.into_iter().zip(values).collect();
            params.insert("mandatory".to_owned(), mandatory.join(","));
            params
        })
}

/// IPv6 addresses, often with runs of zeros and of the forms that embed an IPv4 address.
fn ipv6() -> impl Strategy<Value = std::net::Ipv6Addr> {
    let group = || prop_oneof![Just(0_u16), Just(1), Just(0xffff), any::<u16>()];
    prop::array::uniform8(group()).prop_map(std::net::Ipv6Addr::from)
}

/// Values of one type.
pub(crate) fn rdata(rtype: RecordType) -> BoxedStrategy<Rdata> {
    let target = move |text: String| Rdata::from_target(rtype, &text).unwrap().unwrap();
    match rtype {
        RecordType::A => any::<std::net::Ipv4Addr>().prop_map(Rdata::A).boxed(),
        RecordType::Aaaa => ipv6().prop_map(Rdata::Aaaa).boxed(),
        RecordType::Alias | RecordType::Cname | RecordType::Ptr => {
            any_name().prop_map(target).boxed()
        }
        RecordType::Ns => host().prop_map(target).boxed(),
        RecordType::Mx => (any::<u16>(), prop_oneof![host().boxed(), Just(".".to_owned()).boxed()])
            .prop_map(|(preference, exchange)| Rdata::mx(preference, &exchange).unwrap().unwrap())
            .boxed(),
        RecordType::Srv => (any::<[u16; 3]>(), host())
            .prop_map(|([a, b, c], target)| Rdata::srv(a, b, c, &target).unwrap().unwrap())
            .boxed(),
        RecordType::Caa => (any::<u8>(), "[a-z0-9]{1,15}", quoted(40))
            .prop_filter("an empty value", |(_, _, value)| value != "\"\"")
            .prop_map(|(flag, tag, value)| Rdata::caa(flag, &tag, &value).unwrap().unwrap())
            .boxed(),
        RecordType::Txt => quoted(600).prop_map(|text| Rdata::txt(&text).unwrap().unwrap()).boxed(),
        RecordType::Tlsa => (any::<[u8; 3]>(), "([0-9a-fA-F]{2}){1,64}")
            .prop_map(|([a, b, c], data)| Rdata::tlsa(a, b, c, &data).unwrap().unwrap())
            .boxed(),
        RecordType::Soa => (any_name(), any_name(), any::<[Option<u32>; 5]>())
            .prop_map(|(mname, rname, [a, b, c, d, e])| {
                Rdata::soa(&mname, &rname, a, b, c, d, e).unwrap().unwrap()
            })
            .boxed(),
        RecordType::Https | RecordType::Svcb => (any::<u16>(), any_name(), svc_params())
            .prop_map(move |(priority, target, params)| {
                Rdata::svcb(rtype, priority, &target, &params).unwrap().unwrap()
            })
            .boxed(),
    }
}

/// Any record type.
pub(crate) fn record_type() -> impl Strategy<Value = RecordType> {
    select(RecordType::ALL.to_vec())
}

/// Values of every type.
pub(crate) fn any_rdata() -> impl Strategy<Value = Rdata> {
    record_type().prop_flat_map(rdata)
}

/// Any TTL that can be declared.
fn ttl() -> impl Strategy<Value = Ttl> {
    (0..=i64::from(i32::MAX)).prop_map(|seconds| Ttl::new(seconds).unwrap())
}

/// Contents that a server takes: one value where the type allows no more.
pub(crate) fn contents(rtype: RecordType) -> impl Strategy<Value = Contents> {
    let most = if matches!(rtype, RecordType::Cname | RecordType::Soa) { 1 } else { 4 };
    (ttl(), btree_set(rdata(rtype), 1..=most))
        .prop_map(|(ttl, values)| Contents::new(ttl, values).unwrap())
}

/// Contents from so small a world that two of them are often equal or nearly so.
pub(crate) fn similar_contents() -> impl Strategy<Value = Contents> {
    let world = vec![
        (RecordType::Txt, vec![r#""ab""#, r#""a" "b""#, r#""AB""#, r#""a""#, r#""b""#, r#""""#]),
        (RecordType::Cname, vec!["a.example.", "A.EXAMPLE.", "b.example."]),
        (RecordType::Ptr, vec!["a.example.", "A.EXAMPLE.", "b.example."]),
        (RecordType::Soa, vec!["a. b. 1 1 1 1 1", "A. b. 2 1 1 1 1", "a. b. 1 1 1 1 2"]),
        (RecordType::Svcb, vec!["1 . alpn=h2 port=1", "1 . port=1 alpn=\"h2\"", "1 . alpn=h2,h3"]),
    ];
    (select(world), select(vec![300_i64, 301])).prop_flat_map(|((rtype, texts), seconds)| {
        subsequence(texts.clone(), 1..=texts.len()).prop_map(move |texts| {
            let parse = |text: &str| Rdata::parse(rtype, text).unwrap();
            let values: BTreeSet<_> = texts.into_iter().map(parse).collect();
            Contents::new(Ttl::new(seconds).unwrap(), values).unwrap()
        })
    })
}

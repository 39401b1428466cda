//! The few values of each type that scenarios are made of, as specs spell them and as the server has them, the classes,
//! and what notes say.

use dns_syncd::dns::rdata::Rdata;
use dns_syncd::dns::rrset::{Contents, Ttl};
use serde_json::{Value, json};

use crate::model::{Comment, Rrset};

/// A class's controller and its servers; of `missing` there is none.
pub fn class(name: &str) -> Value {
    let controller = if name == "foreign" { "another" } else { "powerdns" };
    let mut class = json!({"metadata": {"name": name}, "spec": {"controllerName": controller}});
    if name == "ours" {
        class["spec"]["nameServerPolicy"] = json!({"mode": "Static", "static": {"servers": ["ns1.example.net.", "NS2.example.net"]}});
    } else if name == "bare" {
        class["spec"]["defaults"] = json!({"defaultTTL": 60});
    }
    class
}

/// One value of a type: the field of a spec, and the text that the server has for it.
pub fn value(rtype: &str, i: u8) -> (Value, String) {
    let target = || (json!({"content": format!("T{i}.Example.Org")}), format!("t{i}.example.org."));
    match rtype {
        "A" if i == 3 => {
            (json!({"content": crate::model::REFUSED}), crate::model::REFUSED.to_owned())
        }
        "A" => (json!({"content": format!("192.0.2.{}", i + 1)}), format!("192.0.2.{}", i + 1)),
        "AAAA" => {
            (json!({"content": format!("2001:DB8:0::{}", i + 1)}), format!("2001:db8::{}", i + 1))
        }
        "TXT" if i == 3 => (json!({"content": "nameless"}), crate::model::NAMELESS.to_owned()),
        "TXT" => (json!({"content": format!("v{i}; x")}), format!("\"v{i}; x\"")),
        "MX" => {
            (json!({"preference": i, "exchange": "mx.example.org"}), format!("{i} mx.example.org."))
        }
        "SRV" => (
            json!({"priority": i, "weight": 2, "port": 3, "target": "srv.example.org"}),
            format!("{i} 2 3 srv.example.org."),
        ),
        "CAA" => (
            json!({"flag": 0, "tag": "issue", "value": format!("ca{i}.example")}),
            format!("0 issue \"ca{i}.example\""),
        ),
        "TLSA" => (
            json!({"usage": 3, "selector": 1, "matchingType": 1, "certData": format!("AB0{i}")}),
            format!("3 1 1 ab0{i}"),
        ),
        "HTTPS" | "SVCB" => (
            json!({"priority": 1, "target": ".", "params": {"port": format!("44{i}")}}),
            format!("1 . port=44{i}"),
        ),
        "SOA" => (
            json!({"mname": format!("ns{i}.example.org"), "rname": "hostmaster.example.org"}),
            format!(
                "ns{i}.example.org. hostmaster.example.org. {} 10800 3600 604800 3600",
                2_026_000_000 + u32::from(i)
            ),
        ),
        "LOC" => (json!({}), "51 56 0.000 N 4 0 0.000 E 0.00m 1.00m 1.00m 1.00m".to_owned()),
        _ => target(),
    }
}

/// The same value as others spell it.
pub fn odd(rtype: &str, text: &str) -> String {
    match rtype {
        "TXT" => text.replace("; ", ";\" \" "),
        "CNAME" | "ALIAS" | "NS" | "PTR" | "MX" | "SRV" => text.to_uppercase(),
        _ => text.to_owned(),
    }
}

/// The hash that a note has of these contents; `None` for a type that is not managed.
pub fn fingerprint(rtype: &str, ttl: i64, texts: &[String]) -> Option<String> {
    let rtype = rtype.parse().ok()?;
    let values = texts.iter().map(|t| Rdata::parse(rtype, t).unwrap()).collect();
    Some(Contents::new(Ttl::new(ttl).unwrap(), values)?.fingerprint())
}

fn note(rrset: &Rrset) -> Option<Value> {
    let ours = |c: &&Comment| c.account == "dns-syncd";
    rrset.comments.iter().filter(ours).find_map(|c| serde_json::from_str(&c.content).ok())
}

/// The owner and the uid that an RRset's note names, if it has one.
pub fn note_of(rrset: &Rrset) -> Option<(String, String)> {
    let note = note(rrset)?;
    Some((note["owner"].as_str()?.to_owned(), note["uid"].as_str()?.to_owned()))
}

/// Whether an RRset is what its note says was written.
pub fn as_written(rtype: &str, rrset: &Rrset) -> bool {
    let hash = fingerprint(rtype, rrset.ttl, &rrset.records);
    note(rrset).is_some_and(|note| note["h"].as_str() == hash.as_deref())
}

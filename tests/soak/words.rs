//! The few values, names and classes that sequences are made of: as a spec spells them, and as plain text. It owns its
//! own reading of a spec and shares no rule with the product.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// Domains with a final dot; the second lies below the first.
pub const DOMAINS: [&str; 3] = ["example.test.", "sub.example.test.", "other.test."];
/// Owner names as specs spell them; some are the same name, some are outside one of the domains, one is none.
pub const RAWS: [&str; 9] =
    ["@", "www", "WWW", "www.example.test.", "*", "sub", "www.sub", "www.other.test.", "a..b"];
/// Classes: with name servers, with a TTL and none, and of another controller. The fourth does not exist.
pub const CLASSES: [&str; 4] = ["full", "bare", "alien", "none"];
/// Types, the ones that exclude each other most often.
pub const TYPES: [&str; 12] =
    ["A", "A", "A", "A", "CNAME", "CNAME", "CNAME", "ALIAS", "TXT", "AAAA", "NS", "MX"];
/// The value that a server refuses although it looks good.
pub const REFUSED: u8 = 3;

/// Names that stay under `undeclared: delete` although nobody declares anything there, as a pattern of `ignore`.
pub const IGNORED: &str = "www.sub.*";

/// TTL and values of an RRset in one spelling.
pub type Contents = (i64, BTreeSet<String>);

/// One entry of a spec in small numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub raw: usize,
    pub value: u8,
    pub ttl: Option<i64>,
    /// The value is of another type than the set.
    pub mismatched: bool,
}

/// The field of a spec for a value.
fn field(rtype: &str, i: u8) -> Value {
    match rtype {
        "A" if i == REFUSED => json!({"content": crate::model::REFUSED}),
        "A" => json!({"content": format!("192.0.2.{}", i + 1)}),
        "AAAA" => json!({"content": format!("2001:DB8:0::{}", i + 1)}),
        "TXT" => json!({"content": format!("v{i}; x")}),
        "MX" => json!({"preference": i, "exchange": "mx.example.org"}),
        _ => json!({"content": format!("T{i}.Example.Org")}),
    }
}

/// The text that a server has for a value.
pub fn text(rtype: &str, i: u8) -> String {
    match rtype {
        "A" if i == REFUSED => crate::model::REFUSED.to_owned(),
        "A" => format!("192.0.2.{}", i + 1),
        "AAAA" => format!("2001:db8::{}", i + 1),
        "TXT" => format!("\"v{i}; x\""),
        "MX" => format!("{i} mx.example.org."),
        "LOC" => "51 56 0.000 N 4 0 0.000 E 0.00m 1.00m 1.00m 1.00m".to_owned(),
        _ => format!("t{i}.example.org."),
    }
}

/// An entry as a spec has it.
pub fn entry(rtype: &str, entry: &Entry) -> Value {
    let of = match (entry.mismatched, rtype) {
        (false, _) => rtype,
        (true, "TXT") => "A",
        (true, _) => "TXT",
    };
    let mut out = json!({"name": RAWS[entry.raw], of.to_lowercase(): field(of, entry.value)});
    if let Some(ttl) = entry.ttl {
        out["ttl"] = json!(ttl);
    }
    out
}

/// One spelling for what equality takes for the same.
pub fn normal(rtype: &str, text: &str) -> String {
    if rtype == "TXT" { text.to_owned() } else { text.to_lowercase() }
}

/// The owner name of a raw one; `None` if it is none in this zone.
pub fn owner(raw: &str, apex: &str) -> Option<String> {
    let raw = raw.to_lowercase();
    let name = match raw.as_str() {
        "@" => apex.to_owned(),
        bad if bad.contains("..") => return None,
        absolute if absolute.ends_with('.') => absolute.to_owned(),
        relative => format!("{relative}.{apex}"),
    };
    at_or_below(&name, apex).then_some(name)
}

/// Whether a name is a zone's apex or lies in it.
pub fn at_or_below(name: &str, apex: &str) -> bool {
    name == apex || name.ends_with(&format!(".{apex}"))
}

/// A CNAME stands alone, an ALIAS without addresses.
pub fn coexist(a: &str, b: &str) -> bool {
    let alias = |x: &str, y: &str| x == "ALIAS" && (y == "A" || y == "AAAA");
    a == b || (a != "CNAME" && b != "CNAME" && !alias(a, b) && !alias(b, a))
}

/// What a spec declares at one owner name.
#[derive(Clone, Debug)]
pub struct Group {
    pub raws: BTreeSet<String>,
    /// `None`: invalid.
    pub contents: Option<Contents>,
    /// The server alone will refuse it.
    pub refused: bool,
}

/// What a record set's spec declares in a zone, by owner name.
pub fn groups(set: &Value, apex: &str, default_ttl: i64) -> BTreeMap<String, Group> {
    let rtype = set["spec"]["recordType"].as_str().unwrap_or_default();
    let mut entries: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for entry in set["spec"]["records"].as_array().into_iter().flatten() {
        if let Some(name) = owner(entry["name"].as_str().unwrap_or_default(), apex) {
            entries.entry(name).or_default().push(entry);
        }
    }
    let group = |entries: &[&Value]| {
        let raws = entries.iter().filter_map(|e| e["name"].as_str()).map(str::to_owned).collect();
        let value = |e: &&Value| {
            let field = e.get(rtype.to_lowercase())?;
            let i = (0..=REFUSED).find(|i| self::field(rtype, *i) == *field)?;
            Some(normal(rtype, &text(rtype, i)))
        };
        let mut values: Option<Vec<String>> = entries.iter().map(value).collect();
        if let (Some(values), "CNAME" | "ALIAS") = (&mut values, rtype) {
            values.truncate(1);
        }
        let refused = values.iter().flatten().any(|v| v == crate::model::REFUSED);
        let ttl = entries[0]["ttl"].as_i64().unwrap_or(default_ttl);
        Group { raws, contents: values.map(|v| (ttl, v.into_iter().collect())), refused }
    };
    entries.iter().map(|(name, e)| (name.clone(), group(e))).collect()
}

/// The spec of a class; `servers` is the number of its servers.
pub fn class_spec(class: usize, controller: &str, servers: usize) -> Value {
    if CLASSES[class] == "bare" {
        return json!({"controllerName": controller, "defaults": {"defaultTTL": 60}});
    }
    let servers: Vec<String> = (1..=servers).map(|i| format!("ns{i}.example.net.")).collect();
    let policy = json!({"mode": "Static", "static": {"servers": servers}});
    json!({"controllerName": controller, "nameServerPolicy": policy})
}

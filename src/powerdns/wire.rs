//! The JSON of the API and the texts of its errors, as PowerDNS 4.7 to 5.1 speak them. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use crate::api::conditions::sentence;
use crate::dns::name::Name;
use crate::dns::rdata::Version;
use crate::dns::rrset::RecordType;
use crate::plan::Failure;
use crate::plan::snapshot::{Capabilities, Comment, StoredRecord, StoredRrset, ZoneContents};

/// One element of the zone list.
#[derive(Clone, Debug, Deserialize)]
pub struct ListedZone {
    /// For URLs.
    pub id: String,
    /// With a final dot; a view's variant has an inner `..` and none.
    pub name: String,
    /// Kind.
    pub kind: String,
    /// Free field; the mark.
    #[serde(default)]
    pub account: String,
    /// The SOA's serial.
    #[serde(default)]
    pub serial: Option<u32>,
}

/// One zone's own fields, as `?rrsets=false` gives them.
#[derive(Clone, Debug, Deserialize)]
pub struct ZoneHead {
    /// Free field; the mark. PowerDNS always gives it.
    pub account: String,
}

/// One zone. Account and RRsets are always there: JSON without them is somebody else's, and no zone without contents.
#[derive(Clone, Debug, Deserialize)]
pub struct ZoneBody {
    /// Free field; the mark.
    pub account: String,
    /// What a write through the API does to the SOA's serial.
    #[serde(default)]
    pub soa_edit_api: String,
    /// Its contents.
    pub rrsets: Vec<RrsetBody>,
}

impl ZoneBody {
    /// Whether every write through the API moves the serial. Empty means that it stays (`SOA-EDIT-API` of PowerDNS).
    #[must_use]
    pub fn serial_moves(&self) -> bool {
        matches!(self.soa_edit_api.as_str(), "DEFAULT" | "INCREASE" | "SOA-EDIT-INCREASE")
    }
}

/// One RRset of a zone.
#[derive(Clone, Debug, Deserialize)]
pub struct RrsetBody {
    name: String,
    #[serde(rename = "type")]
    rtype: String,
    #[serde(default)]
    ttl: i64,
    #[serde(default)]
    records: Vec<RecordBody>,
    #[serde(default)]
    comments: Vec<CommentBody>,
}

#[derive(Clone, Debug, Deserialize)]
struct RecordBody {
    content: String,
    #[serde(default)]
    disabled: bool,
}

#[derive(Clone, Debug, Deserialize)]
struct CommentBody {
    #[serde(default)]
    account: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    modified_at: i64,
}

/// The zone's RRsets by name and type. Rows with a name that is no domain name (SQL lets them in) are left
/// out: they are nobody's to manage.
#[must_use]
pub fn contents(rrsets: Vec<RrsetBody>) -> ZoneContents {
    let mut names: BTreeMap<Name, BTreeMap<String, StoredRrset>> = BTreeMap::new();
    let mut doubled = BTreeSet::new();
    for RrsetBody { name, rtype, ttl, records, comments } in rrsets {
        let Ok(name) = Name::parse(&name) else {
            continue;
        };
        let records = records.into_iter();
        let records =
            records.map(|RecordBody { content, disabled }| StoredRecord { content, disabled });
        let comments = comments.into_iter().map(|CommentBody { account, content, modified_at }| {
            Comment { account, content, modified_at }
        });
        let rrset = StoredRrset { ttl, records: records.collect(), comments: comments.collect() };
        if names.entry(name.clone()).or_default().insert(rtype, rrset).is_some() {
            doubled.insert(name);
        }
    }
    ZoneContents { names, doubled }
}

/// What a server can do, from `GET /servers/<id>` and `GET …/config`. `None` if there is no version.
#[must_use]
pub fn capabilities(server: &Value, config: &Value) -> Option<Capabilities> {
    let version = Version::parse(server.get("version")?.as_str()?)?;
    let setting = |name: &str| {
        let all = config.as_array().into_iter().flatten();
        let mut named = all.filter(|s| s.get("name").and_then(Value::as_str) == Some(name));
        named.next().and_then(|s| s.get("value")).and_then(Value::as_str).unwrap_or_default()
    };
    let launched = || setting("launch").split(',').map(|l| l.split(':').next().unwrap_or_default());
    let at_least = |major, minor, patch| version >= Version { major, minor, patch };
    // All backends that may hold a zone must keep comments: one that does not fails whole requests.
    let keeps = |backend: &str| match backend.trim() {
        "lmdb" => at_least(5, 1, 0),
        "bind" | "pipe" | "remote" | "tinydns" | "lua2" | "geoip" | "ldap" => false,
        _ => true,
    };
    Some(Capabilities {
        version,
        comments: launched().all(keeps),
        comments_outlive: launched().any(|b| b.trim() == "lmdb") && at_least(5, 1, 0),
        single_writer: launched().any(|b| b.trim() == "gsqlite3") && !at_least(4, 9, 2),
    })
}

/// The RRset or name that a 422's text is about.
///
/// Four forms carry a name and a type, three a name alone (measured on 4.7 to 5.1); names come
/// back escaped. The other texts say nothing and leave bisection.
#[must_use]
pub fn offender(text: &str) -> Option<(Name, Option<RecordType>)> {
    let after = |prefix: &str| text.strip_prefix(prefix);
    // The last slash: an owner name may hold some too (RFC 2317).
    if let Some((subject, _)) = after("Record ").and_then(|rest| rest.split_once(" '"))
        && let Some((name, rtype)) = subject.rsplit_once('/')
    {
        return named(name, rtype);
    }
    for prefix in [
        "Duplicate record in RRset ",
        "Duplicate RRset ",
        "No change for RRset ",
        "RRset ",
        "Record ",
    ] {
        if let Some((name, rest)) = after(prefix).and_then(|r| r.split_once(" IN ")) {
            let rtype = rest.split([' ', ':']).next().unwrap_or_default();
            return named(name, rtype);
        }
    }
    for prefix in ["Unable to parse DNS Name '", "DNS Name '", "Name '"] {
        if let Some((name, _)) = after(prefix).and_then(|r| r.split_once('\'')) {
            return Some((Name::parse(name).ok()?, None));
        }
    }
    None
}

fn named(name: &str, rtype: &str) -> Option<(Name, Option<RecordType>)> {
    Some((Name::parse(name).ok()?, rtype.parse().ok()))
}

/// What a 422 says, by its text.
#[must_use]
pub fn refusal(text: &str) -> Failure {
    if text.contains("Conflicts with pre-existing RRset") {
        Failure::Conflict("of a type that excludes it".to_owned())
    } else if text.contains("Invalid character") {
        Failure::RefusedAs(sentence::INVALID_CHARACTER)
    } else if text.contains("is out of zone") {
        Failure::RefusedAs(sentence::OUTSIDE_ZONE)
    } else {
        Failure::Refused(String::new())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn about(text: &str) -> Option<(String, Option<String>)> {
        offender(text).map(|(n, t)| (n.to_string(), t.map(|t| t.to_string())))
    }

    #[test]
    fn offenders_are_read_from_every_known_text() {
        let a = Some(("t.e.example.".to_owned(), Some("A".to_owned())));
        for text in [
            "Record t.e.example./A '999.1.1.1': Parsing record content (try 'pdnsutil check-zone'): x",
            "RRset t.e.example. IN A: Conflicts with pre-existing RRset",
            "RRset t.e.example. IN A has more than one record",
            "RRset t.e.example. IN A: Name is out of zone",
            "Duplicate record in RRset t.e.example. IN A with content \"192.0.2.1\"",
            "Duplicate RRset t.e.example. IN A with changetype: REPLACE",
            "Record t.e.example. IN A is only allowed at apex",
            "No change for RRset t.e.example. IN A",
        ] {
            assert_eq!(about(text), a, "{text}");
        }
        let slashed = "Record 0/25.e.example./A '1/2': Parsing record content";
        assert_eq!(about(slashed), Some(("0/25.e.example.".to_owned(), Some("A".to_owned()))));
        let name = Some(("t.e.example.".to_owned(), None));
        assert_eq!(about("DNS Name 't.e.example' is not canonical"), name);
        assert_eq!(about("Name 't.e.example.' contains unsupported characters"), name);
        assert_eq!(about("Key 'ttl' not an Integer or not present"), None);
        assert_eq!(about("Bad Request"), None);
    }

    #[test]
    fn capabilities_follow_version_and_backend() {
        let of = |version: &str, launch: &str| {
            let server = json!({"version": version});
            let config = json!([{"name": "launch", "value": launch}]);
            let c = capabilities(&server, &config).unwrap();
            assert_eq!(c.comments_outlive, launch == "lmdb" && c.comments);
            (c.comments, c.single_writer)
        };
        assert_eq!(of("4.7.3", "gsqlite3"), (true, true));
        assert_eq!(of("4.9.18", "gsqlite3"), (true, false));
        assert_eq!(of("4.7.3", "lmdb"), (false, false));
        assert_eq!(of("5.1.5", "lmdb"), (true, false));
        assert_eq!(of("4.7.3", "gpgsql:main,lmdb"), (false, false));
        assert_eq!(of("4.9.0", "bind"), (false, false));
        assert!(capabilities(&json!({}), &json!([])).is_none());
    }

    #[test]
    fn a_zone_of_4_7_decodes_and_a_row_without_a_domain_name_hides_no_other() {
        let body = json!({"account": "x", "rrsets": [
            {"name": "a..b", "type": "A", "ttl": 1, "records": []},
            {"name": "w.e.example.", "type": "A", "ttl": 60, "comments": [],
             "records": [{"content": "192.0.2.1", "disabled": false, "modified_at": 7}]},
        ]});
        let zone: ZoneBody = serde_json::from_value(body).unwrap();
        let contents = contents(zone.rrsets);
        assert_eq!(contents.names.len(), 1);
        let rrset = contents.get(&Name::parse("w.e.example").unwrap(), RecordType::A).unwrap();
        assert_eq!(rrset.ttl, 60);
    }
}

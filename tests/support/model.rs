//! A model of PowerDNS' HTTP API, as strict as the server: it refuses what 4.9 on sqlite or LMDB was seen to refuse, in
//! the server's own texts, applies the elements of a PATCH in order and all or none, and gives contents back as it has
//! them. It owns no rule of the product.
//!
//! Beyond the server it refuses two values that no local check can foresee, so that tests have something to be refused:
//! the address [`REFUSED`] by name, the text [`NAMELESS`] in a text that names no RRset.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Value, json};

/// An A record that is refused in a text that names the RRset.
pub const REFUSED: &str = "192.0.2.66";
/// A TXT record that is refused in a text that names nothing.
pub const NAMELESS: &str = "\"nameless\"";

/// Types that the model knows; of the rest only `LOC` is stored, as a type that the product does not manage.
const TYPES: [&str; 15] = [
    "A", "AAAA", "ALIAS", "CAA", "CNAME", "HTTPS", "LOC", "MX", "NS", "PTR", "SOA", "SRV", "SVCB",
    "TLSA", "TXT",
];

/// Status and body.
pub type Answer = (u16, Value);

/// One server.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Whether its backend keeps comments (sqlite), or refuses each request that has some (LMDB).
    pub comments: bool,
    /// Zones by canonical name.
    pub zones: BTreeMap<String, Zone>,
    /// Zones whose contents cannot be read: a GET gives 500.
    pub unread: BTreeSet<String>,
    /// Zones whose serial stays, whatever is written: `soa_edit_api` is empty.
    pub still: BTreeSet<String>,
    /// The list cannot be read.
    pub unlisted: bool,
    /// What no client should ever have sent, although a server lets it pass.
    pub faults: Vec<String>,
}

/// One zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    pub account: String,
    pub kind: String,
    /// By owner name and type.
    pub rrsets: BTreeMap<(String, String), Rrset>,
}

/// One RRset; without records it is only a shell of comments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rrset {
    pub ttl: i64,
    pub records: Vec<String>,
    pub comments: Vec<Comment>,
}

/// One comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    pub account: String,
    pub content: String,
    pub modified_at: i64,
}

fn error(status: u16, text: impl Into<String>) -> Answer {
    (status, json!({"error": text.into()}))
}

impl Model {
    /// Answers one request; `path` begins after `/api/v1/servers/localhost`.
    pub fn answer(&mut self, method: &str, path: &str, query: &str, body: &Value) -> Answer {
        let zone = path.strip_prefix("/zones/");
        match (method, path, zone) {
            ("GET", "", _) => {
                (200, json!({"type": "Server", "id": "localhost", "version": "4.9.18"}))
            }
            ("GET", "/config", _) => {
                let launch = if self.comments { "gsqlite3" } else { "lmdb" };
                (200, json!([{"name": "launch", "type": "ConfigSetting", "value": launch}]))
            }
            ("GET", "/zones", _) if self.unlisted => error(500, "Internal Server Error"),
            ("GET", "/zones", _) => (200, self.list(query)),
            ("POST", "/zones", _) => self.create(body),
            ("GET", _, Some(id)) => self.read(id, query),
            ("PATCH", _, Some(id)) => match body["rrsets"].as_array() {
                Some(rrsets) => self.patch(id, rrsets),
                None => error(422, "No rrsets given in update request"),
            },
            ("PUT", _, Some(id)) => match self.zones.get_mut(id) {
                None => error(404, "Not Found"),
                Some(zone) => {
                    if let Some(account) = body["account"].as_str() {
                        account.clone_into(&mut zone.account);
                    }
                    (204, Value::Null)
                }
            },
            ("DELETE", _, Some(id)) => match self.zones.remove(id) {
                None => error(404, "Not Found"),
                Some(_) => (204, Value::Null),
            },
            _ => error(405, "Method Not Allowed"),
        }
    }

    fn list(&self, query: &str) -> Value {
        let wanted = query.split('&').find_map(|q| q.strip_prefix("zone="));
        let listed = self.zones.iter().filter(|(name, _)| wanted.is_none_or(|w| w == *name));
        listed
            .map(|(name, z)| {
                let (kind, account, serial) = (&z.kind, &z.account, z.serial(name));
                json!({"id": name, "name": name, "kind": kind, "account": account, "serial": serial})
            })
            .collect()
    }

    fn read(&self, id: &str, query: &str) -> Answer {
        let Some(zone) = self.zones.get(id) else {
            return error(404, "Not Found");
        };
        let mut body = json!({
            "id": id, "name": id, "kind": zone.kind, "account": zone.account,
            "serial": zone.serial(id), "soa_edit_api": if self.still.contains(id) { "" } else { "DEFAULT" },
        });
        if !query.contains("rrsets=false") {
            if self.unread.contains(id) {
                return error(500, "Internal Server Error");
            }
            body["rrsets"] =
                zone.rrsets.iter().map(|((name, rtype), r)| r.to_value(name, rtype)).collect();
        }
        (200, body)
    }

    /// Creates a zone with its RRsets, or does not create it at all.
    pub fn create(&mut self, body: &Value) -> Answer {
        let name = body["name"].as_str().unwrap_or_default().to_lowercase();
        if let Err(text) = owner(&name) {
            return error(422, text);
        }
        if self.zones.contains_key(&name) {
            return error(409, "Conflict");
        }
        let account = body["account"].as_str().unwrap_or_default().to_owned();
        let mut zone = Zone { account, kind: "Native".to_owned(), rrsets: BTreeMap::new() };
        for rrset in body["rrsets"].as_array().into_iter().flatten() {
            let mut rrset = rrset.clone();
            rrset["changetype"] = json!("REPLACE");
            if let Err(text) = self.element(&mut zone, &name, &rrset, &mut BTreeSet::new()) {
                return error(422, text);
            }
        }
        zone.rrsets.entry((name.clone(), "SOA".to_owned())).or_insert_with(|| Rrset {
            ttl: 3600,
            records: vec![format!(
                "a.misconfigured.dns.server.invalid. hostmaster.{name} 2026113001 10800 3600 604800 3600"
            )],
            comments: Vec::new(),
        });
        self.zones.insert(name, zone);
        (201, json!({}))
    }

    /// Changes RRsets, all or none.
    pub fn patch(&mut self, id: &str, elements: &[Value]) -> Answer {
        let Some(mut zone) = self.zones.get(id).cloned() else {
            return error(404, "Not Found");
        };
        let before = zone.serial(id);
        let mut seen = BTreeSet::new();
        for element in elements {
            if let Err(text) = self.element(&mut zone, id, element, &mut seen) {
                return error(422, text);
            }
        }
        let explicit = seen.iter().any(|(_, rtype, change)| rtype == "SOA" && change == "REPLACE");
        if !explicit && !self.still.contains(id) {
            zone.bump(id);
        } else if explicit && zone.serial(id) < before {
            self.faults.push(format!("the serial of {id} went down from {before:?}: {elements:?}"));
        }
        self.zones.insert(id.to_owned(), zone);
        (204, Value::Null)
    }

    fn element(
        &mut self,
        zone: &mut Zone,
        apex: &str,
        element: &Value,
        seen: &mut BTreeSet<(String, String, String)>,
    ) -> Result<(), String> {
        let text = |key: &str| {
            element[key].as_str().ok_or_else(|| format!("Key '{key}' not present or not a String"))
        };
        let name = text("name")?.to_lowercase();
        owner(&name)?;
        let (rtype, change) = (text("type")?.to_uppercase(), text("changetype")?.to_uppercase());
        let about = format!("{name} IN {rtype}");
        if !TYPES.contains(&rtype.as_str()) {
            return Err(format!("RRset {about}: unknown type given"));
        }
        if !seen.insert((name.clone(), rtype.clone(), change.clone())) {
            return Err(format!("Duplicate RRset {about} with changetype: {change}"));
        }
        let key = (name.clone(), rtype.clone());
        if change == "DELETE" {
            zone.rrsets.remove(&key);
            return Ok(());
        }
        if change != "REPLACE" {
            return Err(format!("Changetype '{change}' is not a valid value"));
        }
        if name != apex && !name.ends_with(&format!(".{apex}")) {
            return Err(format!("RRset {about}: Name is out of zone"));
        }
        let records = element.get("records").filter(|v| !v.is_null());
        let comments = element.get("comments").filter(|v| !v.is_null());
        if records.is_none() && comments.is_none() {
            return Err(format!("No change for RRset {about}"));
        }
        if rtype == "SOA" && name != apex {
            return Err(format!("Record {about} is only allowed at apex"));
        }
        let mut next = zone.rrsets.get(&key).cloned().unwrap_or_default();
        if let Some(records) = records {
            next.ttl = ttl(element)?;
            next.records = contents(&name, &rtype, records)?;
            if next.records.is_empty() {
                self.faults.push(format!("records: [] was sent for {about}"));
            }
            if zone.at(&name).keys().any(|t| *t != rtype && (rtype == "CNAME" || *t == "CNAME")) {
                return Err(format!("RRset {about}: Conflicts with pre-existing RRset"));
            }
        }
        if let Some(comments) = comments {
            if !self.comments {
                return Err("Hosting backend does not support editing comments.".to_owned());
            }
            next.comments = comments
                .as_array()
                .into_iter()
                .flatten()
                .map(Comment::read)
                .collect::<Result<_, _>>()?;
        }
        zone.rrsets.insert(key, next);
        Ok(())
    }
}

impl Zone {
    /// The RRsets of one name that exist, by type.
    pub fn at(&self, name: &str) -> BTreeMap<&str, &Rrset> {
        let here = self.rrsets.iter().filter(|((n, _), r)| n == name && !r.records.is_empty());
        here.map(|((_, rtype), r)| (rtype.as_str(), r)).collect()
    }

    /// The serial of its SOA.
    pub fn serial(&self, apex: &str) -> Option<u64> {
        let soa = self.rrsets.get(&(apex.to_owned(), "SOA".to_owned()))?;
        soa.records.first()?.split(' ').nth(2)?.parse().ok()
    }

    /// Moves its serial, as every write through the API does.
    pub fn bump(&mut self, apex: &str) {
        let Some(serial) = self.serial(apex) else { return };
        if let Some(soa) = self.rrsets.get_mut(&(apex.to_owned(), "SOA".to_owned())) {
            for record in &mut soa.records {
                let mut fields: Vec<String> = record.split(' ').map(str::to_owned).collect();
                fields[2] = (serial + 1).to_string();
                *record = fields.join(" ");
            }
        }
    }
}

impl Rrset {
    fn to_value(&self, name: &str, rtype: &str) -> Value {
        let records = self.records.iter().map(|c| json!({"content": c, "disabled": false}));
        let comments = self.comments.iter().map(
            |c| json!({"account": c.account, "content": c.content, "modified_at": c.modified_at}),
        );
        json!({
            "name": name, "type": rtype, "ttl": self.ttl,
            "records": records.collect::<Vec<_>>(), "comments": comments.collect::<Vec<_>>(),
        })
    }
}

impl Comment {
    fn read(value: &Value) -> Result<Comment, String> {
        let text = |key: &str| {
            let text = value[key].as_str().map(str::to_owned);
            text.ok_or_else(|| format!("Key '{key}' not present or not a String"))
        };
        let modified_at = value["modified_at"].as_i64().unwrap_or(1_700_000_000);
        Ok(Comment { account: text("account")?, content: text("content")?, modified_at })
    }
}

fn ttl(element: &Value) -> Result<i64, String> {
    let ttl = element["ttl"].as_i64().ok_or("Key 'ttl' not an Integer or not present")?;
    if !(0..=i64::from(i32::MAX)).contains(&ttl) {
        return Err("New RRsets are invalid: Key 'ttl' is not a positive Integer".to_owned());
    }
    Ok(ttl)
}

/// Whether an owner name is one.
fn owner(name: &str) -> Result<(), String> {
    let Some(labels) = name.strip_suffix('.') else {
        return Err(format!("DNS Name '{name}' is not canonical"));
    };
    if labels.split('.').any(|l| l.is_empty() || l.len() > 63) || name.len() > 254 {
        return Err(format!("Unable to parse DNS Name '{name}'"));
    }
    let rest = labels.strip_prefix("*.").unwrap_or(labels);
    if rest.chars().any(|c| !c.is_ascii_alphanumeric() && !"_/.-".contains(c)) {
        return Err(format!("Name '{name}' contains unsupported characters"));
    }
    Ok(())
}

/// The contents of an RRset's records, checked each and together.
fn contents(name: &str, rtype: &str, records: &Value) -> Result<Vec<String>, String> {
    let mut out: Vec<String> = Vec::new();
    for record in records.as_array().into_iter().flatten() {
        let content =
            record["content"].as_str().ok_or("Key 'content' not present or not a String")?;
        if content == NAMELESS {
            return Err(format!("Invalid character 'n' in record content '{content}'"));
        }
        content_of(rtype, content).map_err(|why| {
            format!("Record {name}/{rtype} '{content}': Parsing record content (try 'pdnsutil check-zone'): {why}")
        })?;
        if out.iter().any(|o| o.eq_ignore_ascii_case(content)) {
            return Err(format!(
                "Duplicate record in RRset {name} IN {rtype} with content \"{content}\""
            ));
        }
        out.push(content.to_owned());
    }
    if matches!(rtype, "CNAME" | "SOA") && out.len() > 1 {
        return Err(format!("RRset {name} IN {rtype} has more than one record"));
    }
    Ok(out)
}

fn content_of(rtype: &str, content: &str) -> Result<(), &'static str> {
    let fields: Vec<&str> = content.split(' ').collect();
    let good = match (rtype, fields.as_slice()) {
        ("A", [address]) => *address != REFUSED && address.parse::<Ipv4Addr>().is_ok(),
        ("AAAA", [address]) => !address.contains('.') && address.parse::<Ipv6Addr>().is_ok(),
        ("CNAME" | "ALIAS" | "NS" | "PTR", [target]) => target.ends_with('.'),
        ("MX", [preference, host]) => preference.parse::<u16>().is_ok() && host.ends_with('.'),
        ("SRV", [a, b, c, host]) => {
            [a, b, c].iter().all(|n| n.parse::<u16>().is_ok()) && host.ends_with('.')
        }
        ("SOA", [mname, rname, numbers @ ..]) => {
            let names = mname.ends_with('.') && rname.ends_with('.');
            names && numbers.len() == 5 && numbers.iter().all(|n| n.parse::<u32>().is_ok())
        }
        ("TXT", _) => content.len() > 1 && content.starts_with('"') && content.ends_with('"'),
        ("CAA", [_, _, value, ..]) => value.starts_with('"'),
        ("TLSA", [_, _, _, hex]) => hex.bytes().all(|b| b.is_ascii_hexdigit()),
        ("HTTPS" | "SVCB", [priority, target, ..]) => {
            priority.parse::<u16>().is_ok() && target.ends_with('.')
        }
        ("LOC", _) => true,
        _ => false,
    };
    if good { Ok(()) } else { Err("it does not parse") }
}

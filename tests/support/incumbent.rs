//! The incumbent, dns-operator v0.6.8, as far as what it leaves behind matters: its downstream agent on one namespace and
//! one PowerDNS.
//!
//! It is event-driven and reads nothing back; here each [`Incumbent::pass`] works off what its queues would hold by then.
//! It is no model of its timing, its retries, or of record types that the tests do not use.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;
use serde_json::{Value, json};

use super::estate::Estate;
use super::objects::{self, API_VERSION};
use super::pdns::Pdns;

/// Its finalizer on a DNSZone.
pub const ZONE: &str = "dns.networking.miloapis.com/finalize-dnszone-downstream";
/// Its finalizer on a DNSRecordSet.
pub const SET: &str = "dns.networking.miloapis.com/finalize-dnsrecordset-downstream";
/// When all its conditions changed last, so that whoever moves one of them is seen.
pub const SINCE: &str = "2026-01-01T00:00:00Z";

/// What becomes of its watch while a pass drops finalizers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// It sees the objects go, and deletes their RRsets.
    Kept,
    /// The process restarts just then: nothing but the watch knew of those RRsets, and they stay.
    Lost,
}

/// What its second queue holds: a DNSZone by name, a type, and a name as the spec spells it.
type Item = (String, String, String);

/// An RRset: zone, absolute lower-case name, type.
pub type Key = (String, String, String);

/// A process of it; a new one remembers nothing.
pub struct Incumbent<'a> {
    estate: &'a Estate,
    seen: BTreeSet<Item>,
}

impl<'a> Incumbent<'a> {
    /// Starts one.
    pub fn start(estate: &'a Estate) -> Self {
        Self { estate, seen: BTreeSet::new() }
    }

    /// Lets it come to rest.
    pub async fn pass(&mut self, watch: Watch) {
        let class = self.class().await;
        for zone in self.list("dnszones").await {
            self.zone(&zone, class.as_ref()).await;
        }
        let zones = self.list("dnszones").await;
        for set in self.list("dnsrecordsets").await {
            self.set(&set, &zones, class.as_ref()).await;
        }
        if watch == Watch::Lost {
            self.seen.clear();
        }
        let before = self.list("dnsrecordsets").await;
        let mut sets = before.clone();
        let now: BTreeSet<Item> = sets.iter().flat_map(items).collect();
        for item in self.seen.union(&now) {
            let zone = zones.iter().find(|z| text(z, "/metadata/name") == item.0);
            if let Some(zone) = zone.filter(|z| class.is_some() && self.serves(z) && !goes(z)) {
                rrset(&self.estate.pdns, text(zone, "/spec/domainName"), item, &mut sets).await;
            }
        }
        for (old, new) in before.iter().zip(&sets) {
            if old["status"] != new["status"] {
                let status = json!({"status": new["status"]});
                objects::patch_status(&self.estate.client, old, &status).await;
            }
        }
        self.seen = now;
    }

    /// What the live record sets of the namespace declare in zones of its class, by RRset: the oldest set's, sorted.
    pub async fn declared(&self) -> BTreeMap<Key, Vec<String>> {
        let mut sets = self.list("dnsrecordsets").await;
        sets.sort_by_key(age);
        let mut out = BTreeMap::new();
        for zone in self.list("dnszones").await.iter().filter(|z| self.serves(z) && !goes(z)) {
            let (name, domain) = (text(zone, "/metadata/name"), text(zone, "/spec/domainName"));
            for set in sets.iter().filter(|s| zone_of(s) == name && !goes(s)) {
                for (_, rtype, raw) in items(set) {
                    let (_, mut contents) = render(set, &raw, domain);
                    contents.sort();
                    let owner = qualify(&raw, domain).to_lowercase();
                    out.entry((domain.to_owned(), owner, rtype)).or_insert(contents);
                }
            }
        }
        out
    }

    /// Objects in the namespace, in the order of their names.
    pub async fn list(&self, plural: &str) -> Vec<Value> {
        objects::list(&self.estate.client, &self.estate.namespace, plural).await
    }

    async fn class(&self) -> Option<Value> {
        self.estate.get(&objects::class(&self.estate.class, &[])).await
    }

    fn serves(&self, zone: &Value) -> bool {
        text(zone, "/spec/dnsZoneClassName") == self.estate.class
    }

    /// Its zone controller: it makes the zone and its finalizer, and never looks at either again.
    async fn zone(&self, zone: &Value, class: Option<&Value>) {
        let class = class.filter(|_| self.serves(zone));
        let domain = format!("{}.", text(zone, "/spec/domainName"));
        if goes(zone) {
            // With a class that is named and missing it waits for ever.
            if class.is_some() {
                self.estate.pdns.delete_zone(&domain).await;
                self.finalizer(zone, ZONE, false).await;
            }
            return;
        }
        self.finalizer(zone, ZONE, true).await;
        let Some(class) = class else { return };
        let servers = class["spec"]["nameServerPolicy"]["static"]["servers"].as_array().unwrap();
        let servers: Vec<&str> = servers.iter().map(|s| s.as_str().unwrap()).collect();
        let absolute: Vec<String> = servers.iter().map(|s| dotted(s)).collect();
        let new = json!({"name": domain, "kind": "Native", "nameservers": absolute});
        let (status, body) = self.estate.pdns.call(Method::POST, "/zones", Some(&new)).await;
        assert!(status == 201 || status == 409, "{body}");
        let sorted: BTreeSet<&str> = servers.into_iter().collect();
        if zone["status"]["nameservers"] != json!(sorted) {
            let status = json!({"status": {"nameservers": sorted}});
            objects::patch_status(&self.estate.client, zone, &status).await;
        }
    }

    /// Its record set controller: finalizer, controller reference, `Accepted`; and no call to PowerDNS, ever.
    async fn set(&self, set: &Value, zones: &[Value], class: Option<&Value>) {
        if goes(set) {
            return self.finalizer(set, SET, false).await;
        }
        self.finalizer(set, SET, true).await;
        let name = zone_of(set);
        let zone = zones.iter().find(|z| text(z, "/metadata/name") == name);
        let Some(zone) = zone else {
            return self.accepted(set, Err(format!("waiting for DNSZone \"{name}\""))).await;
        };
        if !self.control(set, zone).await {
            return;
        }
        let class_name = text(zone, "/spec/dnsZoneClassName");
        let accepted = if goes(zone) {
            Err(format!("DNSZone \"{name}\" is deleting"))
        } else if class.is_none() || !self.serves(zone) {
            Err(format!("DNSZoneClass \"{class_name}\" not found"))
        } else {
            Ok(())
        };
        self.accepted(set, accepted).await;
    }

    /// Makes the DNSZone the controller; where something else is, that fails for ever.
    async fn control(&self, set: &Value, zone: &Value) -> bool {
        let reference = json!({"apiVersion": API_VERSION, "kind": "DNSZone", "name": zone["metadata"]["name"],
            "uid": zone["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true});
        let mut owners = set["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        let same = |o: &Value| o["kind"] == reference["kind"] && o["name"] == reference["name"];
        if owners.iter().any(|o| o["controller"] == json!(true) && !same(o)) {
            return false;
        }
        // An upsert by kind and name: a plain reference, or one to an earlier uid, is overwritten in its place.
        match owners.iter().position(same) {
            Some(at) => owners[at] = reference,
            None => owners.push(reference),
        }
        if set["metadata"]["ownerReferences"] != json!(owners) {
            let change = json!({"metadata": {"ownerReferences": owners}});
            objects::patch(&self.estate.client, set, &change).await;
        }
        true
    }

    async fn accepted(&self, set: &Value, said: Result<(), String>) {
        let (truth, reason, message) = match said {
            Ok(()) => (true, "Accepted", "DNSRecordSet accepted for PowerDNS zone".to_owned()),
            Err(message) => (false, "Pending", message),
        };
        let mut status = set["status"].clone();
        condition(&mut status, generation(set), "Accepted", (truth, reason, &message));
        if status != set["status"] {
            objects::patch_status(&self.estate.client, set, &json!({"status": status})).await;
        }
    }

    async fn finalizer(&self, object: &Value, finalizer: &str, wanted: bool) {
        let mut all = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        if all.iter().any(|f| f == finalizer) != wanted {
            all.retain(|f| f != finalizer);
            all.extend(wanted.then(|| json!(finalizer)));
            let change = json!({"metadata": {"finalizers": all}});
            objects::patch(&self.estate.client, object, &change).await;
        }
    }
}

/// Its PowerDNS controller on one item: an election by raw name, one PATCH without `comments`, and what it says of it.
async fn rrset(pdns: &Pdns, domain: &str, item: &Item, sets: &mut [Value]) {
    let (zone, rtype, raw) = item;
    let owner = qualify(raw, domain);
    let concerned = |s: &Value| zone_of(s) == zone && text(s, "/spec/recordType") == rtype;
    let claims = |s: &Value| concerned(s) && names(s).contains(raw.as_str());
    let holder = sets.iter().filter(|s| claims(s)).min_by_key(|s| age(s)).cloned();
    let rendered = holder.as_ref().map(|h| render(h, raw, domain));
    let mut change = json!({"name": owner, "type": rtype, "changetype": "DELETE"});
    let mut send = true;
    if let Some((ttl, contents)) = rendered.filter(|(_, contents)| !contents.is_empty()) {
        let record = |content: &String| json!({"content": content, "disabled": false});
        let records: Vec<Value> = contents.iter().map(record).collect();
        change = json!({"name": owner, "type": rtype, "changetype": "REPLACE", "ttl": ttl, "records": records});
    } else {
        let respelled =
            |s: &Value| names(s).iter().any(|n| n != raw && qualify(n, domain) == owner);
        send = !sets.iter().any(|s| concerned(s) && respelled(s));
    }
    let failed = if send {
        let (status, body) = pdns.patch(domain, &json!({"rrsets": [change]})).await;
        assert!(matches!(status, 204 | 422), "{body}");
        (status == 422).then(|| body.to_string())
    } else {
        None
    };
    for set in sets.iter_mut().filter(|s| concerned(s)) {
        let is_holder =
            holder.as_ref().is_some_and(|h| h["metadata"]["uid"] == set["metadata"]["uid"]);
        let said = match &failed {
            _ if !is_holder => (false, "NotOwner", "Another DNSRecordSet owns this record"),
            Some(text) if text.contains("Conflicts with pre-existing RRset") => (
                false,
                "Conflict",
                "A conflicting record already exists for this name. Remove the existing record and try again.",
            ),
            Some(_) => (
                false,
                "PDNSError",
                "The DNS record was rejected as invalid. Check the record type and value.",
            ),
            None => (true, "Programmed", "Record successfully applied to PDNS"),
        };
        programmed(set, raw, said);
    }
}

/// Writes down what it says of one name, forgets names that the spec has lost, and sums up.
fn programmed(set: &mut Value, raw: &str, said: (bool, &str, &str)) {
    let spelled: BTreeSet<String> = names(set).into_iter().map(str::to_owned).collect();
    let (generation, status) = (generation(set), &mut set["status"]);
    let mut listed: BTreeMap<String, Value> = status["recordSets"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|entry| (entry["name"].as_str().unwrap().to_owned(), entry.clone()))
        .filter(|(name, _)| spelled.contains(name))
        .collect();
    if spelled.contains(raw) {
        let entry = listed.entry(raw.to_owned()).or_insert_with(|| json!({"name": raw}));
        condition(entry, generation, "Programmed", said);
    }
    let truly = |name: &String| {
        let said = listed.get(name).and_then(|entry| objects::condition(entry, "Programmed"));
        said.is_some_and(|(truth, _, _)| truth == "True")
    };
    let all = if spelled.iter().all(truly) {
        (true, "Programmed", "All records programmed")
    } else {
        (false, "Pending", "One or more records not yet programmed")
    };
    status["recordSets"] = listed.into_values().collect();
    condition(status, generation, "Programmed", all);
}

fn condition(
    of: &mut Value,
    generation: i64,
    kind: &str,
    (truth, reason, message): (bool, &str, &str),
) {
    let truth = if truth { "True" } else { "False" };
    let mut all = of["conditions"].as_array().cloned().unwrap_or_default();
    let place = all.iter().position(|c| c["type"] == kind);
    let kept = place.map(|at| &all[at]).filter(|c| c["status"] == truth);
    let since = kept.map_or(json!(SINCE), |c| c["lastTransitionTime"].clone());
    let new = json!({"type": kind, "status": truth, "reason": reason, "message": message,
        "observedGeneration": generation, "lastTransitionTime": since});
    match place {
        Some(at) => all[at] = new,
        None => all.push(new),
    }
    of["conditions"] = json!(all);
}

/// TTL and contents that a set gives a name, as it writes them.
fn render(set: &Value, raw: &str, domain: &str) -> (i64, Vec<String>) {
    let rtype = text(set, "/spec/recordType");
    let owner = qualify(raw, domain);
    let all = set["spec"]["records"].as_array().unwrap().iter();
    let mine: Vec<&Value> = all.filter(|r| qualify(text(r, "/name"), domain) == owner).collect();
    let ttl = mine.first().and_then(|r| r["ttl"].as_i64()).unwrap_or(300);
    let field = rtype.to_lowercase();
    let mut out: Vec<String> = Vec::new();
    for entry in mine.iter().map(|r| &r[&field]).filter(|entry| !entry.is_null()) {
        let content = entry["content"].as_str().unwrap_or_default().trim();
        let content = match rtype {
            "A" | "AAAA" => content.to_owned(),
            "CNAME" | "ALIAS" | "NS" | "PTR" => dotted(content),
            "TXT" => quoted(content),
            "MX" => format!("{} {}", entry["preference"], dotted(text(entry, "/exchange"))),
            "SOA" => format!(
                "{} {} {} 10800 3600 604800 3600",
                dotted(text(entry, "/mname")),
                dotted(text(entry, "/rname")),
                jiff::Timestamp::now().strftime("%Y%m%d01")
            ),
            other => panic!("the estates of these tests have no {other}"),
        };
        if !out.contains(&content) {
            out.push(content);
        }
    }
    if matches!(rtype, "CNAME" | "ALIAS") {
        out.truncate(1);
    }
    (ttl, out)
}

/// A text as it sends it: what is quoted already as it is, and no semicolon escaped twice.
fn quoted(text: &str) -> String {
    if text.len() > 1 && text.starts_with('"') && text.ends_with('"') {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace("\\;", ";").replace(';', "\\;"))
}

fn items(set: &Value) -> BTreeSet<Item> {
    let rtype = text(set, "/spec/recordType");
    let item = |raw: &str| (zone_of(set).to_owned(), rtype.to_owned(), raw.to_owned());
    names(set).into_iter().map(item).collect()
}

fn names(set: &Value) -> BTreeSet<&str> {
    set["spec"]["records"].as_array().unwrap().iter().map(|r| text(r, "/name")).collect()
}

/// It folds no case.
fn qualify(raw: &str, domain: &str) -> String {
    match raw {
        "@" => format!("{domain}."),
        absolute if absolute.ends_with('.') => absolute.to_owned(),
        relative => format!("{relative}.{domain}."),
    }
}

fn dotted(name: &str) -> String {
    format!("{}.", name.strip_suffix('.').unwrap_or(name))
}

fn zone_of(set: &Value) -> &str {
    text(set, "/spec/dnsZoneRef/name")
}

fn goes(object: &Value) -> bool {
    object["metadata"].get("deletionTimestamp").is_some()
}

fn generation(object: &Value) -> i64 {
    object["metadata"]["generation"].as_i64().unwrap()
}

fn age(object: &Value) -> (String, String) {
    (
        text(object, "/metadata/creationTimestamp").to_owned(),
        text(object, "/metadata/name").to_owned(),
    )
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{pointer}: {value}"))
}

//! A world of both models. It watches each request as it comes in, and writes down what no request may do.

use std::collections::BTreeMap;

use dns_syncd::api::object::{Class, RecordSet, Zone};
use dns_syncd::api::{FINALIZER_RECORD_SET, FINALIZER_ZONE};
use dns_syncd::dns::rdata::Version;
use dns_syncd::plan::Snapshot;
use dns_syncd::plan::note::mark;
use dns_syncd::plan::snapshot::{Capabilities, Cluster as Listed, Look, Server, ServerZone};
use dns_syncd::powerdns::wire;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::model::{Answer, Model, Rrset};
use crate::oracle;
use crate::scenario::{OWNER, name, without_serial};
use crate::vocabulary::note_of;

/// What goes wrong, and at which write of the pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The process is killed: from there on nothing it does reaches anybody.
    Killed,
    /// PowerDNS answers 500 to every write.
    PowerDnsDown,
    /// It answers to every write that there is no such zone.
    Missed,
    /// The API server answers 500 to every write.
    ClusterDown,
    /// The one write to PowerDNS is carried out and answered with 500.
    AnswerLost,
    /// Somebody touches every object.
    Touched,
    /// One zone cannot be read.
    Unread,
}

/// Both servers and what was seen at them.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub cluster: Cluster,
    pub pdns: Model,
    pub trouble: Option<(Trouble, usize)>,
    /// A text at whose sight PowerDNS dies.
    pub deadly: Option<String>,
    /// PowerDNS is dead: each of its connections breaks.
    pub dead: bool,
    /// A DNSZone that comes into being once PowerDNS has been listed.
    pub late: Option<Value>,
    /// Paths that were read.
    pub reads: Vec<String>,
    /// Writes of this pass, in order.
    pub writes: Vec<String>,
    /// Those of them that were carried out.
    pub done: Vec<String>,
    /// What was seen that may not be: law and text.
    pub violations: Vec<(&'static str, String)>,
    /// The states that each name of each zone went through in this pass.
    history: BTreeMap<(String, String), Vec<BTreeMap<String, Rrset>>>,
}

impl World {
    pub fn new(cluster: Cluster, pdns: Model) -> World {
        World { cluster, pdns, ..World::default() }
    }

    /// What a complete reading gives, without any request.
    pub fn snapshot(&self) -> Snapshot {
        let cluster = Listed {
            sets: self.cluster.of("dnsrecordsets").filter_map(RecordSet::decode).collect(),
            zones: self.cluster.of("dnszones").filter_map(Zone::decode).collect(),
            classes: self.cluster.of("dnszoneclasses").filter_map(Class::decode).collect(),
        };
        let mut pdns = self.pdns.clone();
        let zones = self.pdns.zones.iter().map(|(apex, zone)| {
            let contents = if matches!(zone.kind.as_str(), "Slave" | "Consumer") {
                Err("it is not read".to_owned())
            } else {
                let (status, body) =
                    pdns.answer("GET", &format!("/zones/{apex}"), "", &Value::Null);
                let body = serde_json::from_value::<wire::ZoneBody>(body);
                if status == 200 {
                    Ok(wire::contents(body.unwrap().rrsets))
                } else {
                    Err("it answers 500".to_owned())
                }
            };
            let zone = ServerZone {
                id: apex.clone(),
                kind: zone.kind.clone(),
                account: zone.account.clone(),
                read_began: 0,
                serial: None,
                look: Look::Asked,
                serial_moves: false,
                contents,
            };
            (name(apex), zone)
        });
        let capabilities = Capabilities {
            version: Version { major: 4, minor: 9, patch: 18 },
            comments: self.pdns.comments,
            comments_outlive: false,
            single_writer: false,
        };
        let zones =
            if self.pdns.unlisted { Err("no list".to_owned()) } else { Ok(zones.collect()) };
        Snapshot { cluster, server: Server { capabilities: Some(capabilities), zones } }
    }

    /// Makes ready to watch a pass.
    pub fn begin(&mut self) {
        self.writes.clear();
        self.reads.clear();
        self.done.clear();
        self.history.clear();
        self.remember();
    }

    fn remember(&mut self) {
        let mut now: BTreeMap<(String, String), BTreeMap<String, Rrset>> = BTreeMap::new();
        for (apex, zone) in &self.pdns.zones {
            for ((owner, rtype), rrset) in without_serial(zone).rrsets {
                // The apex SOA has a request of its own.
                if rtype != "SOA" {
                    now.entry((apex.clone(), owner)).or_default().insert(rtype, rrset);
                }
            }
        }
        let first = self.history.is_empty();
        let keys: Vec<_> = self.history.keys().chain(now.keys()).cloned().collect();
        for key in keys {
            let state = now.get(&key).cloned().unwrap_or_default();
            let states = self
                .history
                .entry(key)
                .or_insert_with(|| if first { Vec::new() } else { vec![BTreeMap::new()] });
            if states.last() != Some(&state) {
                states.push(state);
            }
        }
    }

    /// Looks back at a pass.
    pub fn end(&mut self) {
        for (key, states) in &self.history {
            // A zone whose creation was refused for a record is made with its bare apex first.
            let born = key.0 == key.1 && states.first().is_some_and(BTreeMap::is_empty);
            if states.len() > 2 + usize::from(born) {
                let text = format!("{key:?} went through {states:#?}");
                self.violations.push(("old or new", text));
            }
        }
        let faults = self.pdns.faults.drain(..).chain(self.cluster.faults.drain(..));
        self.violations.extend(faults.map(|f| ("strict", f)));
    }

    /// Whether PowerDNS is dead, be it of this very request.
    pub fn dies_of(&mut self, body: &Value) -> bool {
        self.dead |= self.deadly.as_ref().is_some_and(|text| body.to_string().contains(text));
        self.dead
    }

    /// Answers one request to either server.
    pub fn answer(&mut self, method: &str, path: &str, query: &str, body: &Value) -> Answer {
        let answer = self.troubled(method, path, query, body);
        if path.ends_with("/servers/localhost/zones")
            && let Some(zone) = self.late.take()
        {
            self.cluster.put("dnszones", zone);
        }
        if method == "GET" {
            self.reads.push(path.to_owned());
        } else if answer.0 < 300 {
            self.done.push(format!("{method} {path} {body}"));
        }
        answer
    }

    fn troubled(&mut self, method: &str, path: &str, query: &str, body: &Value) -> Answer {
        let to_pdns = path.strip_prefix("/api/v1/servers/localhost");
        let failed = (
            500,
            json!({"error": "Internal Server Error", "kind": "Status", "apiVersion": "v1", "metadata": {},
                                  "status": "Failure", "message": "down", "reason": "InternalError", "code": 500}),
        );
        let mut lost = false;
        if method != "GET" {
            self.writes.push(format!("{method} {path} {body}"));
        }
        match self.trouble.filter(|(_, at)| self.writes.len() > *at) {
            Some((Trouble::Killed, _)) => return failed,
            Some((Trouble::PowerDnsDown, _)) if method != "GET" && to_pdns.is_some() => {
                return failed;
            }
            Some((Trouble::ClusterDown, _)) if method != "GET" && to_pdns.is_none() => {
                return failed;
            }
            Some((Trouble::Missed, _)) if method != "GET" && to_pdns.is_some() => {
                return (404, json!({"error": "Not Found"}));
            }
            Some((Trouble::AnswerLost, at)) => {
                lost = method != "GET" && to_pdns.is_some() && self.writes.len() == at + 1;
            }
            Some((Trouble::Touched, at)) if method != "GET" && self.writes.len() == at + 1 => {
                for ((plural, _, _), object) in self.cluster.objects.clone() {
                    self.cluster.put(&plural, object);
                }
            }
            _ => {}
        }
        let Some(path) = to_pdns else {
            let before = self.cluster.clone();
            let answer = self.cluster.answer(method, path, body);
            if method == "PATCH" && answer.0 == 200 {
                self.watch_patch(&before, body, path);
            }
            return answer;
        };
        if method != "GET" {
            self.watch_notes(body);
        }
        let answer = self.pdns.answer(method, path, query, body);
        if method != "GET" {
            self.remember();
        }
        if lost { failed } else { answer }
    }

    /// A note is written only for an object that has our finalizer and is `Accepted`.
    fn watch_notes(&mut self, body: &Value) {
        for element in body["rrsets"].as_array().into_iter().flatten() {
            let comments = element["comments"].as_array().into_iter().flatten();
            for comment in comments.filter(|c| c["account"] == "dns-syncd") {
                let note: Value =
                    serde_json::from_str(comment["content"].as_str().unwrap_or_default())
                        .unwrap_or_default();
                let object = note["uid"].as_str().and_then(|uid| self.cluster.uid(uid));
                let secured = object.is_some_and(|o| {
                    let conditions = o["status"]["conditions"].as_array().into_iter().flatten();
                    let accepted = conditions
                        .into_iter()
                        .any(|c| c["type"] == "Accepted" && c["status"] == "True");
                    let owned = oracle::zone_of(self, o).is_some_and(|z| {
                        let owners =
                            o["metadata"]["ownerReferences"].as_array().into_iter().flatten();
                        owners.into_iter().any(|r| r["uid"] == oracle::uid(z))
                    });
                    accepted && owned && oracle::has_finalizer(o, FINALIZER_RECORD_SET)
                });
                if !secured {
                    self.violations
                        .push(("secured first", format!("{element} was sent for {object:#?}")));
                }
            }
        }
    }

    /// A finalizer goes only when nothing is left; `True` is said only of what is served.
    fn watch_patch(&mut self, before: &Cluster, body: &Value, path: &str) {
        let end = path.trim_end_matches("/status").rsplit('/').next().unwrap_or_default();
        let plural = if path.contains("/dnszones/") { "dnszones" } else { "dnsrecordsets" };
        let place = (plural.to_owned(), "ns".to_owned(), end.to_owned());
        let Some(old) = before.objects.get(&place) else { return };
        let uid = oracle::uid(old);
        let finalizer = if plural == "dnszones" { FINALIZER_ZONE } else { FINALIZER_RECORD_SET };
        let gone = self
            .cluster
            .objects
            .get(&place)
            .is_none_or(|new| !oracle::has_finalizer(new, finalizer));
        if oracle::has_finalizer(old, finalizer) && gone {
            let left =
                if plural == "dnszones" { self.zone_left(uid) } else { self.set_left(old, uid) };
            self.violations
                .extend(left.map(|l| ("released", format!("{end} was let go, but {l}"))));
        }
        if path.ends_with("/status") {
            let wrong = if plural == "dnszones" {
                self.zone_untrue(old, body)
            } else {
                self.set_untrue(old, body)
            };
            self.violations.extend(wrong.map(|w| ("true", format!("{end}: {w}"))));
        }
    }

    fn zone_left(&self, uid: &str) -> Option<String> {
        // An heir takes the zone over, also with the mark of one that is gone.
        let heir = |apex: &str| {
            let zones = self.cluster.of("dnszones");
            zones.into_iter().any(|z| oracle::wanted(z) && oracle::domain(z) == apex)
        };
        let marked = self.pdns.zones.iter().find(|(apex, z)| {
            let others = |r| note_of(r).is_some_and(|(owner, _)| owner != OWNER);
            let kept = z.rrsets.values().any(others) || z.kind != "Native" || heir(apex);
            z.account == mark(OWNER, uid) && !kept
        });
        marked.map(|(apex, _)| format!("zone {apex} still has its mark"))
    }

    /// What is left of a set where it may be deleted.
    pub fn set_left(&self, set: &Value, uid: &str) -> Option<String> {
        let home = oracle::zone_of(self, set).map(oracle::domain);
        for (apex, zone) in self.pdns.zones.iter().filter(|(_, z)| z.kind == "Native") {
            if self.pdns.unread.contains(apex) && home.as_ref() != Some(apex) {
                continue;
            }
            for ((owner, rtype), rrset) in zone.rrsets.iter().filter(|(_, r)| !r.records.is_empty())
            {
                let kept = (owner == apex && matches!(rtype.as_str(), "SOA" | "NS"))
                    || oracle::shadowed(self, apex, owner);
                if !kept && note_of(rrset) == Some((OWNER.to_owned(), uid.to_owned())) {
                    return Some(format!("{owner} {rtype} in {apex} carries its uid"));
                }
            }
        }
        None
    }

    fn zone_untrue(&self, zone: &Value, body: &Value) -> Option<String> {
        let apex = oracle::domain(zone);
        let there = self.pdns.zones.get(&apex).is_some_and(|z| {
            let here = z.at(&apex);
            here.contains_key("SOA") && here.contains_key("NS")
        });
        (programmed(&body["status"]) && !there)
            .then(|| format!("{apex} is not there with SOA and NS"))
    }

    fn set_untrue(&self, set: &Value, body: &Value) -> Option<String> {
        let zone = oracle::zone_of(self, set)?;
        let groups = oracle::groups(set, zone)?;
        let apex = oracle::domain(zone);
        let rtype = set["spec"]["recordType"].as_str()?;
        for said in body["status"]["recordSets"].as_array()?.iter().filter(|s| programmed(s)) {
            let raw = said["name"].as_str()?;
            let Some((owner, group)) = groups.iter().find(|(_, g)| g.raws.contains(raw)) else {
                return Some(format!("{raw} is called programmed and is no name of the spec"));
            };
            let here = self.pdns.zones.get(&apex).map(|z| z.at(owner)).unwrap_or_default();
            let here = here.get(rtype).map(|r| oracle::stored(rtype, r));
            if here != group.contents {
                return Some(format!(
                    "{raw} is called programmed, {here:?} is served, {:?} declared",
                    group.contents
                ));
            }
        }
        None
    }
}

fn programmed(holder: &Value) -> bool {
    holder["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|c| c["type"] == "Programmed" && c["status"] == "True")
}

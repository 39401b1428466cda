//! Every end that a record set or a zone can come to, in every state of everything that it depends on: the worlds, what
//! design says must come of each ([`sets`], [`zones`]), and the comparison with what did.
//!
//! A world is plain data here. The laws build it in models of both servers, the passes on real ones; what must come of it
//! is said once and never asked of the product.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::match_same_arms, reason = "two arms may say the same on different grounds")]
#![allow(unreachable_pub, reason = "`pub` marks what tests are meant to use")]

pub mod sets;
pub mod zones;

use dns_syncd::api::{FINALIZER_RECORD_SET, FINALIZER_ZONE};
use dns_syncd::dns::rdata::Rdata;
use dns_syncd::dns::rrset::{Contents, RecordType, Ttl};
use dns_syncd::plan::note::mark;
use serde_json::{Value, json};

pub const DOMAIN: &str = "example.test";
pub const APEX: &str = "example.test.";
const ADDRESS: &str = "192.0.2.1";
const API_VERSION: &str = "dns.networking.miloapis.com/v1alpha1";
/// Of an object that there is no more.
pub const DEAD: &str = "00000000-0000-4000-8000-000000000777";
const OTHER_OWNER: &str = "somebody-else";

/// Live, or deletion was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    Live,
    Terminating,
}

/// What the DNSZone's `dnsZoneClassName` leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Ours,
    Missing,
    Foreign,
    /// It is empty.
    Unnamed,
}

/// Another live DNSZone of the same domain, with a class of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rival {
    None,
    Older,
    Younger,
}

/// The `account` of the zone in PowerDNS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    Empty,
    /// The mark of the DNSZone.
    Zone,
    /// The mark of its rival.
    Rival,
    /// A mark of ours for a uid that is gone.
    Dead,
    /// Another owner's mark.
    Other,
    /// Words of somebody else's.
    Text,
}

/// The note on the RRset that the record set declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// The record set's, for what is read.
    Fresh,
    None,
    /// Another owner's.
    Foreign,
    /// Of the object that had the record set's name before, for what is read.
    DeadUid,
    /// The record set's, for other contents than are read.
    OldHash,
    Garbage,
}

/// How PowerDNS is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Up,
    /// It gives no list of zones.
    Down,
    /// It gives the list, and not what is in the zone.
    Unread,
}

/// One world: a record set with one name in one zone.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub set: Object,
    /// The DNSZone that the record set names, if there is one.
    pub zone: Option<(Object, Class)>,
    pub rival: Rival,
    /// The zone in PowerDNS, if there is one: its `account` and the note on the record set's RRset.
    pub stored: Option<(Account, Note)>,
    /// Beside it there is an RRset with another owner's note.
    pub theirs: bool,
    pub reach: Reach,
}

/// A condition: whether it is `True`, and the reason.
pub type Said = (bool, &'static str);

/// What must become of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Not asked in this table.
    Any,
    /// Let go: our finalizer was the last.
    Gone,
    /// Still there with our finalizer, saying `Programmed=False`, `Pending`.
    Held,
    /// Still there with our finalizer, and nothing was said.
    Untouched,
    /// It lives and says this: `Accepted`, and `Programmed`, of a record set that of its one name.
    Says(Said, Said),
}

/// What must become of the RRset that the record set declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Www {
    /// As it was, comments and all; also not there as before.
    Same,
    /// Served, with the record set's note for what is there, and other people's comments as they were.
    Noted,
    Absent,
}

/// What must come of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    pub www: Www,
    /// The zone in PowerDNS; `None`: there is none.
    pub account: Option<Account>,
    pub set: Fate,
    pub zone: Fate,
}

/// What a world's things are called in the place where it is built.
#[derive(Clone, Debug, Default)]
pub struct Names {
    pub owner: String,
    pub namespace: String,
    pub ours: String,
    pub foreign: String,
    pub anchor_uid: String,
    pub zone_uid: String,
    pub rival_uid: String,
    pub set_uid: String,
}

impl Setup {
    /// The name of the rival: where creation times are equal the name decides.
    pub fn rival_name(self) -> Option<&'static str> {
        match self.rival {
            Rival::None => None,
            Rival::Older => Some("a-older"),
            Rival::Younger => Some("zz-younger"),
        }
    }

    /// After how many passes there is nothing more to do. A zone without a mark is marked first, alone; a set that is
    /// deleted with its zone and has to wait says so of its new generation once more.
    pub fn passes(self) -> usize {
        let unmarked = matches!(self.stored, Some((Account::Empty, _)));
        let taken_along =
            self.set == Object::Live && matches!(self.zone, Some((Object::Terminating, _)));
        if unmarked || (taken_along && self.reach != Reach::Up) { 2 } else { 1 }
    }

    /// The DNSZone, as a user creates it and the daemon has finalized it.
    pub fn zone_object(self, names: &Names) -> Option<Value> {
        let (_, class) = self.zone?;
        Some(zone_object(names, "z0", class))
    }

    /// Its rival, likewise.
    pub fn rival_object(self, names: &Names) -> Option<Value> {
        Some(zone_object(names, self.rival_name()?, Class::Ours))
    }

    /// The zone in PowerDNS as the body of a POST.
    pub fn stored_zone(self, names: &Names) -> Option<Value> {
        let (account, note) = self.stored?;
        let kept = json!({"account": "ops", "content": "keep", "modified_at": 7});
        let ours = names.note(note);
        let notes = ours.map(|c| json!({"account": "dns-syncd", "content": c, "modified_at": 5}));
        let comments: Vec<Value> = [kept].into_iter().chain(notes).collect();
        let mut rrsets = vec![
            rrset("www", ADDRESS, &json!(comments)),
            rrset("hand", "192.0.2.77", &json!([])),
            json!({"name": APEX, "type": "NS", "ttl": 3600, "comments": [],
                   "records": [{"content": "ns1.example.net.", "disabled": false}]}),
        ];
        if self.theirs {
            let note = names.note(Note::Foreign);
            let note = json!([{"account": "dns-syncd", "content": note, "modified_at": 5}]);
            rrsets.push(rrset("theirs", "192.0.2.88", &note));
        }
        Some(json!({
            "name": APEX, "kind": "Native", "soa_edit_api": "DEFAULT", "nameservers": [],
            "account": names.account(account), "rrsets": rrsets,
        }))
    }
}

fn zone_object(names: &Names, name: &str, class: Class) -> Value {
    let class = match class {
        Class::Ours => names.ours.as_str(),
        Class::Foreign => names.foreign.as_str(),
        Class::Missing => "no-such-class",
        Class::Unnamed => "",
    };
    json!({
        "apiVersion": API_VERSION, "kind": "DNSZone",
        "metadata": {"name": name, "namespace": names.namespace, "finalizers": [FINALIZER_ZONE]},
        "spec": {"domainName": DOMAIN, "dnsZoneClassName": class},
    })
}

fn rrset(name: &str, address: &str, comments: &Value) -> Value {
    json!({"name": format!("{name}.{APEX}"), "type": "A", "ttl": 300, "comments": comments,
           "records": [{"content": address, "disabled": false}]})
}

/// What a note of the record set's RRset hashes.
fn fingerprint() -> String {
    let value = Rdata::parse(RecordType::A, ADDRESS).unwrap();
    let contents = Contents::new(Ttl::new(300).unwrap(), [value].into_iter().collect());
    contents.unwrap().fingerprint()
}

impl Names {
    /// The record set. Beside its zone it has another owner, so that no garbage collector takes it.
    pub fn set_object(&self) -> Value {
        json!({
            "apiVersion": API_VERSION, "kind": "DNSRecordSet",
            "metadata": {
                "name": "s0", "namespace": self.namespace, "finalizers": [FINALIZER_RECORD_SET],
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "ConfigMap", "name": "anchor", "uid": self.anchor_uid},
                    {"apiVersion": API_VERSION, "kind": "DNSZone", "name": "z0", "uid": self.zone_uid},
                ],
            },
            "spec": {"dnsZoneRef": {"name": "z0"}, "recordType": "A",
                     "records": [{"name": "www", "a": {"content": ADDRESS}}]},
        })
    }

    fn account(&self, account: Account) -> String {
        match account {
            Account::Empty => String::new(),
            Account::Zone => mark(&self.owner, &self.zone_uid),
            Account::Rival => mark(&self.owner, &self.rival_uid),
            Account::Dead => mark(&self.owner, DEAD),
            Account::Other => mark(OTHER_OWNER, DEAD),
            Account::Text => "customer 17".to_owned(),
        }
    }

    fn note(&self, note: Note) -> Option<String> {
        let said = |owner: &str, uid: &str, hash: &str| {
            let object = format!("{}/s0", self.namespace);
            Some(
                json!({"v": 1, "owner": owner, "object": object, "uid": uid, "h": hash})
                    .to_string(),
            )
        };
        match note {
            Note::None => None,
            Note::Garbage => Some("{not a note".to_owned()),
            Note::Fresh => said(&self.owner, &self.set_uid, &fingerprint()),
            Note::OldHash => said(&self.owner, &self.set_uid, "0123456789abcdef"),
            Note::DeadUid => said(&self.owner, DEAD, &fingerprint()),
            Note::Foreign => said(OTHER_OWNER, DEAD, &fingerprint()),
        }
    }
}

/// A world as it is at some time: the zone in PowerDNS as its API shows it, and the objects that are there.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub stored: Option<Value>,
    pub set: Option<Value>,
    pub zone: Option<Value>,
}

impl Seen {
    fn rrset(&self, name: &str) -> Option<&Value> {
        let name = format!("{name}.{APEX}");
        let rrsets = self.stored.as_ref()?["rrsets"].as_array()?;
        rrsets.iter().find(|r| r["name"] == name.as_str() && r["type"] == "A")
    }
}

/// How what came of a world differs from what must.
pub fn differences(expected: &Expected, names: &Names, before: &Seen, after: &Seen) -> Vec<String> {
    let mut out = Vec::new();
    let account = after.stored.as_ref().map(|z| z["account"].as_str().unwrap_or_default());
    if account != expected.account.map(|a| names.account(a)).as_deref() {
        out.push(format!("the zone in PowerDNS is {account:?}"));
    }
    let www = after.rrset("www");
    let right = match expected.www {
        Www::Same => www == before.rrset("www"),
        Www::Absent => www.is_none(),
        Www::Noted => www.is_some_and(|r| is_noted(r, before.rrset("www"), names)),
    };
    if !right {
        out.push(format!("the RRset is {}", www.unwrap_or(&Value::Null)));
    }
    // What is somebody else's goes with its zone or not at all, and another owner's not even so.
    for (name, stays) in [("hand", after.stored.is_some()), ("theirs", true)] {
        if before.rrset(name).is_some() && stays && after.rrset(name) != before.rrset(name) {
            out.push(format!("{name} was touched"));
        }
    }
    let set = fate(expected.set, before.set.as_ref(), after.set.as_ref(), FINALIZER_RECORD_SET);
    let zone = fate(expected.zone, before.zone.as_ref(), after.zone.as_ref(), FINALIZER_ZONE);
    out.extend(set.map(|w| format!("the record set {w}")));
    out.extend(zone.map(|w| format!("the zone's object {w}")));
    out
}

fn is_noted(rrset: &Value, before: Option<&Value>, names: &Names) -> bool {
    let comments = |of: &Value, ours: bool| -> Vec<Value> {
        let all = of["comments"].as_array().into_iter().flatten();
        all.filter(|c| (c["account"] == "dns-syncd") == ours).cloned().collect()
    };
    let fresh = names.note(Note::Fresh).and_then(|n| serde_json::from_str::<Value>(&n).ok());
    let notes: Vec<Option<Value>> = comments(rrset, true)
        .iter()
        .map(|c| serde_json::from_str(c["content"].as_str().unwrap_or_default()).ok())
        .collect();
    let kept = before.is_none_or(|b| comments(b, false) == comments(rrset, false));
    let served = rrset["ttl"] == 300 && rrset["records"][0]["content"] == ADDRESS;
    notes == [fresh] && kept && served
}

/// How an object differs from its fate.
fn fate(
    fate: Fate,
    before: Option<&Value>,
    after: Option<&Value>,
    finalizer: &str,
) -> Option<String> {
    let bound = after.is_some_and(|o| {
        o["metadata"]["finalizers"].as_array().is_some_and(|f| f.contains(&json!(finalizer)))
    });
    let right = match fate {
        Fate::Any => true,
        Fate::Gone => after.is_none(),
        Fate::Untouched => bound && after.map(|o| &o["status"]) == before.map(|o| &o["status"]),
        Fate::Held => {
            let says = after.and_then(|o| condition(&o["status"], "Programmed"));
            let deleted = after.is_some_and(|o| !o["metadata"]["deletionTimestamp"].is_null());
            bound && deleted && says == Some((false, "Pending"))
        }
        Fate::Says(accepted, programmed) => {
            let status = &after.unwrap_or(&Value::Null)["status"];
            let names = status["recordSets"].as_array();
            // The word on one name is finer than that on the whole.
            let each = names.and_then(|n| n.first()).unwrap_or(status);
            let whole = condition(status, "Programmed").map(|(truth, _)| truth);
            bound
                && condition(status, "Accepted") == Some(accepted)
                && condition(each, "Programmed") == Some(programmed)
                && whole == Some(programmed.0)
        }
    };
    let now = after.map(|o| format!("{} {}", o["metadata"], o["status"]));
    (!right).then(|| format!("must be {fate:?} and is {now:?}"))
}

fn condition<'a>(holder: &'a Value, kind: &str) -> Option<(bool, &'a str)> {
    let found = holder["conditions"].as_array()?.iter().find(|c| c["type"] == kind)?;
    Some((found["status"] == "True", found["reason"].as_str()?))
}

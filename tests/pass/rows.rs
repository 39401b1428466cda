//! The machinery of the fault tables of `honesty`: one zone a row, all rows in one world and one pass, so that each
//! failure must also leave its neighbours alone. What a row must say stands in the rows; nothing here knows it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use futures::future::join_all;
use serde_json::{Value, json};

use crate::support::daemon::{self, Output};
use crate::support::estate::{Estate, a_records, native};
use crate::support::objects;
use crate::support::recorder::{Action, Fault, Request, Server};

/// The name that each zone serves before anything fails.
pub(crate) const OLD: &str = "old";
/// The query of a row whose fault is in the list of all zones.
pub(crate) const LIST: &str = "/zones?dnssec=false";
/// How many names are to be written while it fails: more than an aggregate message spells out.
const NEW: usize = 12;

/// Status, reason and message of a `Programmed`.
pub(crate) type Said = (String, String, String);

/// What a zone, and the names of its record set, say.
#[derive(Clone)]
pub(crate) struct Says {
    pub(crate) zone: Said,
    pub(crate) names: BTreeMap<String, Said>,
}

/// What is there when the failure comes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// A served zone, of which somebody has changed the NS by hand; the record set then gets the new hosts.
    Served,
    /// Nothing in PowerDNS.
    Missing,
    /// A zone that somebody made by hand.
    Stranger,
    /// A served zone, whose objects are then deleted.
    Leaving,
}

/// One failure class, in a zone of its own.
pub(crate) struct Row {
    /// The zone's first label, and the name of its objects.
    pub(crate) label: &'static str,
    pub(crate) before: Before,
    /// Which request fails: its method, and what follows the zone's name in its path.
    pub(crate) method: &'static str,
    pub(crate) query: &'static str,
    /// Only requests that speak of this host.
    pub(crate) about: Option<&'static str>,
    pub(crate) action: Action,
    pub(crate) says: Says,
    /// Requests that write to the zone in one pass, and the most requests about it at all.
    pub(crate) writes: RangeInclusive<usize>,
    pub(crate) requests: usize,
}

/// Hosts `n00`, `n01`, …
pub(crate) fn hosts() -> Vec<String> {
    (0..NEW).map(|n| format!("n{n:02}")).collect()
}

pub(crate) fn said(status: &str, reason: &str, message: &str) -> Said {
    (status.to_owned(), reason.to_owned(), message.to_owned())
}

/// What the server says in a row: nobody may ever read it in a status.
pub(crate) fn secret(label: &str) -> String {
    format!("secret of {label}")
}

/// Whether a request to PowerDNS is about a zone.
fn concerns(domain: &str, request: &Request) -> bool {
    let zone = format!("{domain}.");
    let posted = request.body.as_ref().is_some_and(|body| body["name"] == zone.as_str());
    let asked = request.path.ends_with(&format!("zone={zone}"));
    let within = request.path.contains(&format!("/zones/{zone}"));
    request.server == Server::PowerDns && (posted || asked || within)
}

impl Row {
    pub(crate) fn domain(&self) -> String {
        format!("{}.example", self.label)
    }

    fn fault(&self) -> Fault {
        let (domain, method) = (self.domain(), self.method);
        let end = match (method, self.query) {
            ("POST", _) => String::new(),
            (_, LIST) => LIST.to_owned(),
            (_, query) => format!("{domain}.{query}"),
        };
        let about = self.about.map(|host| format!("\"{host}.{domain}.\""));
        let matches = move |r: &Request| {
            let body = r.body.as_ref().map(Value::to_string).unwrap_or_default();
            let about = about.as_ref().is_none_or(|name| body.contains(name));
            let list = end == LIST && r.server == Server::PowerDns;
            r.method == method && r.path.ends_with(&end) && about && (list || concerns(&domain, r))
        };
        Fault { matches: Box::new(matches), action: self.action.clone(), times: None }
    }

    /// `writes` and `requests` on the server of the estate: where comments outlive zones, a zone is made bare, so there is
    /// nothing to leave out at a second try, and one that goes has its comments cleared before.
    fn expected(&self, estate: &Estate) -> (RangeInclusive<usize>, usize) {
        match (self.before, estate.pdns.comments_outlive_zones()) {
            (Before::Missing, true) => (1..=1, 2),
            (Before::Leaving, true) => (2..=2, self.requests + 1),
            _ => (self.writes.clone(), self.requests),
        }
    }

    /// Whether the server has a text in this row, that must be in the log.
    fn speaks(&self) -> bool {
        self.action.told().contains(&secret(self.label))
    }

    /// Whether a pass's summary has the row among what failed or waits, which is what makes its exit code 1.
    fn listed(&self, summary: &Value) -> bool {
        let (domain, label) = (format!("{}. ", self.domain()), format!("/{}", self.label));
        let zone = format!("zone {}.:", self.domain());
        let lists = [&summary["failed"], &summary["held"]].into_iter();
        lists.flat_map(|list| list.as_array().unwrap()).any(|entry| {
            let entry = entry.as_str().unwrap();
            let object = entry.split([' ', ':']).any(|word| word.ends_with(&label));
            object || entry.starts_with(&domain) || entry.contains(&zone)
        })
    }
}

/// A row's objects.
struct Pair {
    zone: Value,
    set: Value,
}

impl Pair {
    async fn new(estate: &Estate, row: &Row, hosts: &[&str]) -> Pair {
        let zone = estate.zone(row.label, &row.domain()).await;
        let set = estate.a(row.label, row.label, &addressed(hosts)).await;
        Pair { zone, set }
    }

    /// Statuses and versions as stored; `None` for what is gone.
    async fn stored(&self, estate: &Estate) -> [Option<(Value, Value)>; 2] {
        let parts = |o: Value| (o["metadata"]["resourceVersion"].clone(), o["status"].clone());
        [estate.get(&self.zone).await.map(parts), estate.get(&self.set).await.map(parts)]
    }
}

fn addressed<'a>(hosts: &[&'a str]) -> Vec<(&'a str, &'static str)> {
    hosts.iter().map(|host| (*host, "192.0.2.1")).collect()
}

/// Makes what is there before, has it served, and then changes what the failing pass is to carry out.
async fn prepare(estate: &Estate, rows: &[Row]) -> Vec<Pair> {
    let served = async |row: &Row| match row.before {
        Before::Served | Before::Leaving => Some(Pair::new(estate, row, &[OLD]).await),
        Before::Missing | Before::Stranger => None,
    };
    let pairs = join_all(rows.iter().map(served)).await;
    estate.once().await;
    // One at a time: sqlite has one writer.
    for row in rows {
        by_hand(estate, row).await;
    }
    join_all(rows.iter().zip(pairs).map(|(row, pair)| change(estate, row, pair))).await
}

/// What somebody did in PowerDNS.
async fn by_hand(estate: &Estate, row: &Row) {
    let zone = format!("{}.", row.domain());
    match row.before {
        Before::Served => {
            let ns = json!({"rrsets": [{"name": zone, "type": "NS", "ttl": 300,
                "changetype": "REPLACE",
                "records": [{"content": "hand.example.net.", "disabled": false}]}]});
            assert_eq!(estate.pdns.patch(&row.domain(), &ns).await.0, 204);
        }
        Before::Stranger => drop(estate.pdns.create_zone(&native(&zone, json!([]))).await),
        Before::Missing | Before::Leaving => {}
    }
}

/// Changes the objects of a row, or makes them.
async fn change(estate: &Estate, row: &Row, pair: Option<Pair>) -> Pair {
    let all = hosts();
    let new: Vec<&str> = all.iter().map(String::as_str).chain([OLD]).collect();
    let Some(pair) = pair else {
        return Pair::new(estate, row, &new).await;
    };
    if row.before == Before::Leaving {
        estate.delete(&pair.zone).await;
        estate.delete(&pair.set).await;
    } else {
        let spec = json!({"records": a_records(&addressed(&new))});
        estate.edit(&pair.set, spec).await;
    }
    pair
}

/// What is wrong with a row after a failing pass.
async fn complaints(estate: &Estate, row: &Row, pair: &Pair, output: &Output) -> Vec<String> {
    let mut out = Vec::new();
    let mut expect = |what: &str, found: String, wanted: String| {
        if found != wanted {
            out.push(format!("{}: {what}:\n  found  {found}\n  wanted {wanted}", row.label));
        }
    };
    let (zone, set) = (estate.get(&pair.zone).await.unwrap(), estate.get(&pair.set).await.unwrap());
    let programmed = |holder: &Value| objects::condition(holder, "Programmed");
    expect("zone", format!("{:?}", programmed(&zone)), format!("{:?}", Some(&row.says.zone)));
    let names = set["status"]["recordSets"].as_array().cloned().unwrap_or_default();
    let name = |n: &Value| (n["name"].as_str().unwrap().to_owned(), programmed(n).unwrap());
    let names: BTreeMap<String, Said> = names.iter().map(name).collect();
    expect("names", format!("{names:?}"), format!("{:?}", row.says.names));
    let all = format!("{:?}", Some(aggregate(&row.says.names)));
    expect("record set", format!("{:?}", programmed(&set)), all);
    let summary = output.stdout.lines().last().map(|line| serde_json::from_str(line).unwrap());
    let listed = row.listed(&summary.unwrap()).to_string();
    let whole = row.says.zone.0 == "True" && row.says.names.values().all(|said| said.0 == "True");
    expect("the summary has it", listed, (!whole).to_string());
    let told = format!("{}{}", zone["status"], set["status"]).contains(&secret(row.label));
    expect("the server's text in a status", told.to_string(), "false".to_owned());
    if row.speaks() {
        let logged = output.stderr.contains(&secret(row.label));
        expect("the server's text in the log", logged.to_string(), "true".to_owned());
    }
    let requests = estate.recorder.requests();
    let about: Vec<&Request> = requests.iter().filter(|r| concerns(&row.domain(), r)).collect();
    let writes = about.iter().filter(|r| r.is_write()).count();
    let (wanted, requests) = row.expected(estate);
    if !wanted.contains(&writes) || about.len() > requests {
        let lines = about.iter().map(|r| format!("{} {} {:?}", r.method, r.path, r.status));
        let lines = lines.collect::<Vec<_>>().join("\n  ");
        out.push(format!("{}: {writes} writes, {} requests:\n  {lines}", row.label, about.len()));
    }
    out
}

/// What a record set says of itself when its names say this: the failing ones, ten of them spelled out.
fn aggregate(names: &BTreeMap<String, Said>) -> Said {
    let failing: Vec<&str> =
        names.iter().filter(|(_, said)| said.0 != "True").map(|(name, _)| name.as_str()).collect();
    if failing.is_empty() {
        return said("True", "Programmed", "All records programmed");
    }
    let more = failing.len().saturating_sub(10);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let shown = failing.iter().take(10).copied().collect::<Vec<_>>().join(", ");
    said("False", "Pending", &format!("One or more records not yet programmed: {shown}{more}"))
}

/// Runs a table: a pass with all its faults, a second one that must have nothing new to say, and one after the faults.
pub(crate) async fn run(prefix: &str, rows: Vec<Row>) {
    let labels: BTreeSet<&str> = rows.iter().map(|row| row.label).collect();
    assert_eq!(labels.len(), rows.len(), "each row has a zone of its own");
    // Long enough for what answers, on a machine that is busy with other tests too.
    let estate = Estate::new(prefix).await.reconfigured("powerdns.requestTimeout", json!("2s"));
    let pairs = prepare(&estate, &rows).await;
    for row in &rows {
        estate.recorder.inject(row.fault());
    }
    estate.recorder.clear();
    let first = daemon::once(&estate.config).await;
    assert_eq!(first.code, Some(1), "{}", first.stdout);
    let all =
        join_all(rows.iter().zip(&pairs).map(|(row, pair)| complaints(&estate, row, pair, &first)));
    let found = all.await.concat();
    assert!(found.is_empty(), "{}", found.join("\n"));

    let before = join_all(pairs.iter().map(|pair| pair.stored(&estate))).await;
    let estate = estate.reconfigured("log.level", json!("info"));
    estate.recorder.clear();
    let second = daemon::once(&estate.config).await;
    assert_eq!(second.code, Some(1), "{}", second.stdout);
    let writes = estate.writes_to(Server::Kubernetes);
    assert!(writes.is_empty(), "a failure that lasts is said once: {writes:#?}");
    assert_eq!(join_all(pairs.iter().map(|pair| pair.stored(&estate))).await, before);
    for row in rows.iter().filter(|row| row.speaks()) {
        assert!(!second.stderr.contains(&secret(row.label)), "{}: above debug", row.label);
    }

    estate.recorder.heal();
    estate.once().await;
    for (row, pair) in rows.iter().zip(&pairs) {
        healed(&estate, row, pair).await;
    }
}

/// After the fault everything is as declared.
async fn healed(estate: &Estate, row: &Row, pair: &Pair) {
    let label = row.label;
    if row.before == Before::Leaving {
        assert_eq!(pair.stored(estate).await, [None, None], "{label}");
        assert!(!estate.pdns.has_zone(&row.domain()).await, "{label}");
        return;
    }
    for object in [&pair.zone, &pair.set] {
        assert_eq!(estate.programmed(object).await.0, "True", "{label}");
    }
    let zone = estate.pdns.get_zone(&row.domain()).await;
    let served: BTreeSet<&str> =
        zone["rrsets"].as_array().unwrap().iter().filter_map(|r| r["name"].as_str()).collect();
    for host in hosts().iter().map(String::as_str).chain([OLD]) {
        assert!(served.contains(format!("{host}.{}.", row.domain()).as_str()), "{label}: {host}");
    }
}

//! Taking over from the incumbent, going back to it, and taking over again.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::support::daemon::{self, Output};
use crate::support::estate::{Estate, a_records, rr};
use crate::support::incumbent::{Incumbent, Key, SET, SINCE, Watch, ZONE};
use crate::support::objects;
use crate::support::query::query;
use crate::support::recorder::{Request, Server};

type Contents = BTreeMap<(String, String), (u64, Vec<String>)>;

/// What the replicator makes for a zone beside it.
async fn apex(e: &Estate, zone: &str, domain: &str) {
    let soa = json!([{"name": "@", "soa": {"mname": "ns1.example.net.", "rname": format!("hostmaster.{domain}.")}}]);
    e.set(&format!("{zone}-soa"), zone, "SOA", soa).await;
    let ns = ["ns1.example.net.", "ns2.example.net."];
    let ns = ns.map(|server| json!({"name": "@", "ns": {"content": server}}));
    e.set(&format!("{zone}-ns"), zone, "NS", json!(ns)).await;
}

fn one(name: &str, rtype: &str, content: &str) -> Value {
    json!([{"name": name, rtype.to_lowercase(): {"content": content}}])
}

/// Two sets with one name and type; the name decides where the second of creation does not.
async fn pair(e: &Estate, rtype: &str, names: (&str, &str), contents: (&str, &str)) {
    let key = format!("{}-{}", rtype.to_lowercase(), names.0.replace('@', "apex"));
    e.set(&format!("{key}-a"), "z", rtype, one(names.0, rtype, contents.0)).await;
    e.set(&format!("{key}-b"), "z", rtype, one(names.1, rtype, contents.1)).await;
}

/// An object of which a finalizer of the incumbent's is all that is left.
async fn terminating(e: &Estate, object: &Value, finalizer: &str) {
    assert_eq!(objects::finalizers(&e.client, object).await, [finalizer]);
    e.delete(object).await;
    assert!(e.get(object).await.is_some());
}

/// Records of others: one by hand, and one that says whose it is.
async fn platform(e: &Estate) {
    let platform = json!({"name": "platform.take.example.", "type": "A", "ttl": 30, "changetype": "REPLACE",
        "records": [{"content": "203.0.113.2", "disabled": false}],
        "comments": [{"account": "ops", "content": "do not touch", "modified_at": 12345}]});
    let by_hand = json!({"rrsets": [rr("hand.take.example.", "203.0.113.1"), platform]});
    assert_eq!(e.pdns.patch("take.example", &by_hand).await.0, 204);
}

/// An estate as production has them, filled by the incumbent; objects that end are made Terminating after its end.
async fn filled(e: &Estate) -> Vec<Value> {
    e.zone("z", "take.example").await;
    apex(e, "z", "take.example").await;
    // Here an NS object below the apex has kept the replicator from making one at it.
    e.zone("y", "deleg.example").await;
    apex(e, "y", "deleg.example").await;
    let y_ns = objects::record_set(&e.namespace, "y-ns", "y", "NS", &json!([]));
    e.edit(&y_ns, json!({"records": one("sub", "NS", "ns9.example.net")})).await;
    for n in 0..6 {
        e.a(&format!("host-{n}"), "z", &[(&format!("h{n}"), &format!("192.0.2.{n}"))]).await;
    }
    let anchor = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "anchor-1", "uid": "00000000-0000-4000-8000-000000000001"});
    let mut bucket = objects::record_set(
        &e.namespace,
        "bucket",
        "z",
        "TXT",
        &json!([{"name": "_dmarc", "ttl": 60, "txt": {"content": "v=DMARC1; p=none"}},
                {"name": "Spelled.take.example.", "txt": {"content": "x"}}]),
    );
    bucket["metadata"]["ownerReferences"] = json!([anchor]);
    objects::create(&e.client, &bucket).await;
    let mx = json!([{"name": "@", "mx": {"preference": 10, "exchange": "mail.example.net"}}]);
    e.set("mx", "z", "MX", mx).await;
    pair(e, "ALIAS", ("@", "@"), ("one.example.net", "two.example.net")).await;
    pair(e, "TXT", ("@", "@"), ("one", "two")).await;
    for name in ["d0", "d1", "d2"] {
        pair(e, "A", (name, name), ("198.51.100.1", "198.51.100.2")).await;
    }
    // To the incumbent these are two names, so that it elects both; it happens to write the older one's last.
    pair(e, "A", ("d3", "D3"), ("198.51.100.1", "198.51.100.2")).await;
    e.a("lost", "nowhere", &[("www", "192.0.2.99")]).await;
    let ends = [
        objects::zone(&e.namespace, "unclassed", "unclassed.example", "no-such-class"),
        objects::record_set(
            &e.namespace,
            "of-no-zone",
            "nowhere",
            "A",
            &a_records(&[("a", "192.0.2.1")]),
        ),
        objects::record_set(
            &e.namespace,
            "of-no-class",
            "unclassed",
            "A",
            &a_records(&[("a", "192.0.2.1")]),
        ),
    ];
    for object in &ends {
        objects::create(&e.client, object).await;
    }
    Incumbent::start(e).pass(Watch::Kept).await;
    platform(e).await;
    for (object, finalizer) in ends.iter().zip([ZONE, SET, SET]) {
        terminating(e, object, finalizer).await;
    }
    ends.into()
}

async fn contents(e: &Estate) -> Vec<Contents> {
    vec![e.pdns.all("take.example").await, e.pdns.all("deleg.example").await]
}

/// Every object of the namespace by kind and name.
async fn all(e: &Estate) -> BTreeMap<String, Value> {
    let old = Incumbent::start(e);
    let mut out = BTreeMap::new();
    for plural in ["dnszones", "dnsrecordsets"] {
        for object in old.list(plural).await {
            out.insert(object["metadata"]["name"].as_str().unwrap().to_owned(), object);
        }
    }
    out
}

/// A pass of an estate in which some sets lose: nothing failed, nothing else is waited for.
async fn pass(e: &Estate) -> Value {
    let output = daemon::once(&e.config).await;
    let summary: Value = serde_json::from_str(output.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(summary["failed"], json!([]), "{output:#?}");
    summary
}

fn lines(output: &Output, word: &str) -> usize {
    output.stdout.lines().filter(|line| line.split_whitespace().next() == Some(word)).count()
}

/// RRsets that our requests to PowerDNS deleted or replaced without need, and zones.
fn deletes(writes: &[Request]) -> Vec<String> {
    let of = |r: &Request| {
        let rrsets =
            r.body.as_ref().and_then(|b| b["rrsets"].as_array().cloned()).unwrap_or_default();
        let gone = rrsets.into_iter().filter(|rrset| rrset["changetype"] == "DELETE");
        let mut out: Vec<String> =
            gone.map(|rrset| rrset["name"].as_str().unwrap().to_owned()).collect();
        out.extend((r.method == "DELETE").then(|| r.path.clone()));
        out
    };
    writes.iter().flat_map(of).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_estate_of_the_incumbent_is_taken_over_without_a_change_of_contents() {
    let e = Estate::noted("take").await;
    let ends = filled(&e).await;
    let (stored, objects) = (contents(&e).await, all(&e).await);

    let plan = daemon::command(&e.config, &["plan"]).await;
    let declared = Incumbent::start(&e).declared().await.len();
    for word in ["create", "replace", "delete"] {
        assert_eq!(lines(&plan, word), 0, "{}", plan.stdout);
    }
    assert_eq!(lines(&plan, "adopt"), declared, "{}", plan.stdout);
    assert_eq!(lines(&plan, "mark"), 2, "{}", plan.stdout);
    assert_eq!(plan.stdout.matches("NotOwner").count(), 6, "{}", plan.stdout);
    assert_eq!(lines(&plan, "leave"), 2, "{}", plan.stdout);

    let summary = pass(&e).await;
    assert_eq!(summary["adopted"], json!(declared), "{summary}");
    assert_eq!(contents(&e).await, stored);
    assert_eq!(deletes(&e.writes_to(Server::PowerDns)), Vec::<String>::new());
    let ops = e.pdns.rrset("take.example", "platform.take.example.", "A").await.unwrap();
    assert_eq!(ops["comments"][0]["modified_at"], json!(12345));
    for gone in &ends {
        assert!(e.get(gone).await.is_none(), "{}", gone["metadata"]["name"]);
    }
    let now = all(&e).await;
    let changed: BTreeSet<&str> = now
        .iter()
        .filter(|(name, new)| objects[*name] != **new)
        .map(|(name, _)| name.as_str())
        .collect();
    let losers = ["a-d0-b", "a-d1-b", "a-d2-b", "a-d3-b", "alias-apex-b", "txt-apex-b"];
    let others = ["lost", "y", "z"];
    assert_eq!(
        changed,
        losers.into_iter().chain(others).collect(),
        "what was right is not rewritten"
    );
    for name in losers {
        let (old, new) = (&objects[name], &now[name]);
        assert_eq!(old["metadata"]["ownerReferences"], new["metadata"]["ownerReferences"]);
        assert_eq!(
            objects::condition(&new["status"]["recordSets"][0], "Programmed").unwrap().1,
            "NotOwner"
        );
        // Only who was told that it holds a name, and does not, changes its mind.
        let moved = new["status"].to_string().matches(SINCE).count() != 3;
        assert_eq!(moved, name == "a-d3-b", "{new:#}");
    }
    e.recorder.clear();
    pass(&e).await;
    assert!(e.recorder.writes().is_empty(), "{:#?}", e.recorder.writes());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_changed_between_the_two_reaches_powerdns_in_the_first_pass() {
    let e = Estate::new("between").await;
    e.zone("z", "between.example").await;
    apex(&e, "z", "between.example").await;
    let names = ["edited", "renamed", "deleted", "respelled", "retyped"];
    let mut sets = BTreeMap::new();
    for name in names {
        sets.insert(name, e.a(name, "z", &[(name, "192.0.2.1")]).await);
    }
    Incumbent::start(&e).pass(Watch::Kept).await;
    e.edit(&sets["edited"], json!({"records": a_records(&[("edited", "192.0.2.2")])})).await;
    e.edit(&sets["renamed"], json!({"records": a_records(&[("moved", "192.0.2.1")])})).await;
    e.edit(
        &sets["respelled"],
        json!({"records": a_records(&[("Respelled.between.example.", "192.0.2.1")])}),
    )
    .await;
    let cname = one("retyped", "CNAME", "x.example.net.");
    e.edit(&sets["retyped"], json!({"recordType": "CNAME", "records": cname})).await;
    e.delete(&sets["deleted"]).await;
    let added = e.a("added", "z", &[("added", "192.0.2.1")]).await;
    daemon::once(&e.config).await;

    let mut declared = Incumbent::start(&e).declared().await;
    declared.retain(|(_, _, rtype), _| rtype != "CNAME");
    let left = left_over(&e, "between.example", &declared).await;
    // A retype leaves no trace of who wrote the old type: it is in the way, as it was to the incumbent, and said.
    assert_eq!(left, BTreeSet::from(["retyped.between.example. A".to_owned()]));
    assert_eq!(e.programmed(&sets["retyped"]).await.0, "False");
    let owner = e.get(&added).await.unwrap()["metadata"]["ownerReferences"][0].clone();
    assert_eq!(owner.get("controller"), None, "{owner}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ended_between_the_two_is_finished_in_the_first_pass() {
    let e = Estate::new("ended").await;
    let zones = ["ends", "unclassed", "stays"];
    for zone in zones {
        e.zone(zone, &format!("ended-{zone}.example")).await;
        e.a(&format!("{zone}-www"), zone, &[("www", "192.0.2.1")]).await;
    }
    // The incumbent serves both of one domain, the younger in the order of names last.
    let rival = e.zone("z-rival", "ended-stays.example").await;
    e.a("z-rival-www", "z-rival", &[("www", "192.0.2.2")]).await;
    Incumbent::start(&e).pass(Watch::Kept).await;
    let www = |zone: &str| format!("www.ended-{zone}.example");
    let dns = e.pdns.dns_addr();
    assert_eq!(query(dns, &www("stays"), "A").await.answers, ["192.0.2.2"]);
    let unclassed = objects::zone(&e.namespace, "unclassed", "", "");
    e.edit(&unclassed, json!({"dnsZoneClassName": "no-such-class"})).await;
    let ends = objects::zone(&e.namespace, "ends", "", "");
    for zone in [&ends, &unclassed, &rival] {
        terminating(&e, zone, ZONE).await;
    }
    pass(&e).await;
    pass(&e).await;
    let left: Vec<String> = all(&e).await.into_keys().collect();
    assert_eq!(left, ["stays", "stays-www"], "with their sets, as the garbage collector would");
    let gone = deletes(&e.writes_to(Server::PowerDns));
    let deleted =
        |zone: &str| gone.iter().any(|path| path.ends_with(&format!("/ended-{zone}.example.")));
    assert_eq!(zones.map(deleted), [true, true, false], "{gone:?}");
    assert_eq!(gone.len(), 2, "{gone:?}");
    assert_eq!(query(dns, &www("stays"), "A").await.answers, ["192.0.2.1"]);
    e.assert_quiet().await;
}

/// That a zone has what is declared; gives what else it has, apart from what PowerDNS made at the apex.
async fn left_over(
    e: &Estate,
    zone: &str,
    declared: &BTreeMap<Key, Vec<String>>,
) -> BTreeSet<String> {
    let mut stored = e.pdns.all(zone).await;
    for ((domain, name, rtype), contents) in declared.iter().filter(|((d, ..), _)| d == zone) {
        let found = stored.remove(&(name.clone(), rtype.clone()));
        let same = rtype == "SOA" || found.as_ref().is_some_and(|(_, found)| found == contents);
        assert!(same, "{domain}: {name} {rtype} is {found:?}, not {contents:?}");
    }
    stored.into_keys().map(|(name, rtype)| format!("{name} {rtype}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn going_back_to_the_incumbent_changes_no_contents_and_forward_again_writes_nothing() {
    let e = Estate::new("back").await;
    e.zone("z", "back.example").await;
    apex(&e, "z", "back.example").await;
    e.a("www", "z", &[("www", "192.0.2.1")]).await;
    pair(&e, "A", ("d", "d"), ("198.51.100.1", "198.51.100.2")).await;
    pass(&e).await;
    let (stored, before) = (e.pdns.all("back.example").await, all(&e).await);
    let loser = |all: &BTreeMap<String, Value>| {
        objects::condition(&all["a-d-b"]["status"]["recordSets"][0], "Programmed").unwrap()
    };
    assert!(loser(&before).2.ends_with("/a-d-a"), "{:?}", loser(&before));

    Incumbent::start(&e).pass(Watch::Kept).await;
    assert_eq!(e.pdns.all("back.example").await, stored);
    let old = all(&e).await;
    assert_eq!(loser(&old).2, "Another DNSRecordSet owns this record");
    for name in ["www", "a-d-a", "a-d-b", "z-soa", "z-ns"] {
        let owners = old[name]["metadata"]["ownerReferences"].as_array().unwrap();
        assert_eq!(owners.len(), 1, "{owners:?}");
        assert_eq!(owners[0]["controller"], json!(true), "it takes the reference for its own");
        assert_eq!(old[name]["metadata"]["finalizers"], before[name]["metadata"]["finalizers"]);
        // Statuses and times of what holds are the same under both.
        let same = old[name]["status"] == before[name]["status"];
        assert_eq!(same, name != "a-d-b", "{name}");
    }

    e.recorder.clear();
    pass(&e).await;
    assert_eq!(e.pdns.all("back.example").await, stored);
    let writes = e.recorder.writes();
    let paths: Vec<&str> = writes.iter().map(|r| r.path.as_str()).collect();
    assert!(paths.len() == 1 && paths[0].contains("/a-d-b/status"), "{paths:?}");
    let new = all(&e).await;
    assert_eq!(new["www"], old["www"], "what the incumbent made the controller stays so");
}

/// What is done to the estate of the round trip while one of the two runs.
async fn edits(e: &Estate, by: &str, round: usize) {
    let set = |name: &str| objects::record_set(&e.namespace, name, "z", "A", &json!([]));
    let address = format!("{}.{round}", if by == "new" { "192.0.2" } else { "198.51.100" });
    e.edit(&set("edited"), json!({"records": a_records(&[("edited", &address)])})).await;
    let moved = format!("moved-{by}-{round}");
    e.edit(&set("moving"), json!({"records": a_records(&[(&moved, "192.0.2.100")])})).await;
    let made = format!("made-{by}-{round}");
    e.a(&made, "z", &[(&made, "192.0.2.101")]).await;
    let remade =
        objects::patch(&e.client, &set("remade"), &json!({"metadata": {"finalizers": null}})).await;
    e.delete(&remade).await;
    e.a("remade", "z", &[("remade", &address)]).await;
    let home = if by == "new" { "z" } else { "again" };
    e.edit(&set("repointed"), json!({"dnsZoneRef": {"name": home}})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn five_round_trips_follow_the_specs_and_strand_nothing() {
    let e = Estate::noted("trip").await;
    e.zone("z", "trip.example").await;
    let again = e.zone("again", "again.example").await;
    for (zone, domain) in [("z", "trip.example"), ("again", "again.example")] {
        apex(&e, zone, domain).await;
        e.a(&format!("{zone}-www"), zone, &[("www", "192.0.2.1")]).await;
    }
    e.a("edited", "z", &[("edited", "192.0.2.1")]).await;
    e.a("moving", "z", &[("moved", "192.0.2.100")]).await;
    e.a("repointed", "z", &[("repointed", "192.0.2.103")]).await;
    e.a("remade", "z", &[("remade", "192.0.2.1")]).await;
    let mut orphans = BTreeSet::new();
    for round in 0..5 {
        edits(&e, "new", round).await;
        e.once().await;
        let mut old = Incumbent::start(&e);
        let declared = old.declared().await;
        assert_eq!(left_over(&e, "trip.example", &declared).await, orphans, "round {round}");

        old.pass(Watch::Kept).await;
        assert_eq!(left_over(&e, "trip.example", &declared).await, orphans, "round {round}");
        edits(&e, "old", round).await;
        let ours =
            objects::record_set(&e.namespace, &format!("made-new-{round}"), "z", "A", &json!([]));
        if round % 2 == 1 {
            let name = format!("made-new-{round}");
            e.edit(&ours, json!({"records": a_records(&[(&name, "192.0.2.102")])})).await;
            orphans.insert(format!("{name}.trip.example. A"));
        }
        e.delete(&again).await;
        old.pass(Watch::Kept).await;
        assert!(!e.pdns.has_zone("again.example").await);
        e.zone("again", "again.example").await;
        // Its watch is lost while one set goes that it wrote, and one that we wrote and that it may have changed.
        let theirs =
            objects::record_set(&e.namespace, &format!("made-old-{round}"), "z", "A", &json!([]));
        e.delete(&theirs).await;
        e.delete(&ours).await;
        old.pass(Watch::Lost).await;
        orphans.insert(format!("made-old-{round}.trip.example. A"));

        e.recorder.clear();
        let summary = e.once().await;
        let declared = old.declared().await;
        assert_eq!(left_over(&e, "trip.example", &declared).await, orphans, "round {round}");
        assert!(left_over(&e, "again.example", &declared).await.is_empty(), "round {round}");
        assert_eq!(summary["leftAlone"], json!(orphans.len()), "they are reported");
        let gone = deletes(&e.writes_to(Server::PowerDns));
        let unchanged = (round % 2 == 0).then(|| format!("made-new-{round}.trip.example."));
        assert_eq!(gone, Vec::from_iter(unchanged), "our note, no object, and what we wrote");
        e.assert_quiet().await;
    }
    for object in all(&e).await.into_values() {
        e.delete(&object).await;
    }
    e.once().await;
    assert_eq!(all(&e).await, BTreeMap::new(), "stranded");
    assert!(!e.pdns.has_zone("trip.example").await && !e.pdns.has_zone("again.example").await);
}

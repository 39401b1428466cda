//! The first plan and the first pass on what an installation of the incumbent leaves: all that production is known to have
//! at once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::support::daemon::{self, Output};
use crate::support::estate::{Estate, a_records, rr};
use crate::support::incumbent::{Incumbent, SET, Watch};
use crate::support::objects;

const ZONES: [&str; 3] = ["move.example", "bare.example", "texted.example"];
/// What people wrote into a zone's `account`.
const TEXT: &str = "billing: ACME";

/// What is neither healthy nor done, by name, after the incumbent's end.
const UNHEALTHY: [&str; 4] = ["drifted", "ending", "renaming", "www-conflict"];

fn cname(name: &str) -> Value {
    json!([{"name": name, "cname": {"content": "www.example.net"}}])
}

/// Zones and record sets, filled by the incumbent, and what happened after its last look.
async fn estate() -> Estate {
    let e = Estate::new("move").await;
    let class = objects::class(&e.class, &[]);
    let defaults = json!({"spec": {"defaults": {"defaultTTL": 300}}});
    objects::patch(&e.client, &class, &defaults).await;
    for domain in ZONES {
        let name = domain.split('.').next().unwrap();
        e.zone(name, domain).await;
        e.a(&format!("{name}-www"), name, &[("www", "192.0.2.1"), ("@", "192.0.2.2")]).await;
        // As the replicator makes it for each zone.
        let soa = json!({"mname": "ns1.example.net.", "rname": format!("hostmaster.{domain}.")});
        e.set(&format!("{name}-soa"), name, "SOA", json!([{"name": "@", "soa": soa}])).await;
    }
    // The other two have the NS that PowerDNS was told when they were made, and no object for it.
    let ns = ["ns1.example.net.", "ns2.example.net."];
    let ns = ns.map(|server| json!({"name": "@", "ns": {"content": server}}));
    e.set("move-ns", "move", "NS", json!(ns)).await;
    let texts = [
        ("_dmarc", "v=DMARC1; p=none"),
        ("k._domainkey", "v=DKIM1\\; k=rsa\\; p=MIGf"),
        ("quoted", "\"a\\;b\" \"c;d\""),
    ];
    let texts = texts.map(|(name, text)| json!({"name": name, "txt": {"content": text}}));
    e.set("texts", "move", "TXT", json!(texts)).await;
    for n in 0..6 {
        let key = [(&*format!("d{n}"), "198.51.100.1")];
        e.a(&format!("twice-{n}-a"), "move", &key).await;
        e.a(&format!("twice-{n}-b"), "move", &key).await;
        e.a(&format!("lost-{n}"), "nowhere", &[("www", "192.0.2.9")]).await;
    }
    e.set("www-conflict", "move", "CNAME", cname("www")).await;
    for name in ["drifted", "ending", "renaming"] {
        e.a(name, "move", &[(name, "192.0.2.3"), (&format!("{name}-stays"), "192.0.2.4")]).await;
    }
    Incumbent::start(&e).pass(Watch::Kept).await;

    let set = |name: &str| objects::record_set(&e.namespace, name, "move", "A", &json!([]));
    let renamed = a_records(&[("renamed", "192.0.2.3"), ("renaming-stays", "192.0.2.4")]);
    e.edit(&set("renaming"), json!({"records": renamed})).await;
    assert_eq!(objects::finalizers(&e.client, &set("ending")).await, [SET]);
    e.delete(&set("ending")).await;
    let drift = json!({"rrsets": [rr("drifted.move.example.", "203.0.113.1")]});
    assert_eq!(e.pdns.patch("move.example", &drift).await.0, 204);
    let text = json!({"account": TEXT});
    assert_eq!(e.pdns.put_zone("texted.example", &text).await.0, 204);
    e
}

/// The names and types in the lines of a plan that begin with a word.
fn named(plan: &Output, word: &str) -> Vec<String> {
    let lines = plan.stdout.lines().map(|l| l.split_whitespace().collect::<Vec<_>>());
    lines.filter(|l| l[0] == word).map(|l| l[1..3].join(" ")).collect()
}

async fn contents(e: &Estate) -> BTreeMap<(String, String), (u64, Vec<String>)> {
    let mut out = BTreeMap::new();
    for zone in ZONES {
        out.extend(e.pdns.all(zone).await);
    }
    out
}

/// The conditions of each object and of its names, without those that are not healthy.
async fn conditions(e: &Estate) -> BTreeMap<String, BTreeSet<String>> {
    let mut out = BTreeMap::new();
    for plural in ["dnszones", "dnsrecordsets"] {
        for object in objects::list(&e.client, &e.namespace, plural).await {
            let name = object["metadata"]["name"].as_str().unwrap().to_owned();
            let loser = name.ends_with("-b") || name.starts_with("lost-");
            if loser || UNHEALTHY.contains(&name.as_str()) {
                continue;
            }
            let status = &object["status"];
            let names = status["recordSets"].as_array().into_iter().flatten();
            let all = names.map(|n| (&n["name"], &n["conditions"]));
            let all = all.chain([(&Value::Null, &status["conditions"])]);
            let each = all.flat_map(|(name, conditions)| {
                let list = conditions.as_array().into_iter().flatten();
                list.map(move |condition| format!("{name} {condition}"))
            });
            out.insert(format!("{plural} {name}"), each.collect());
        }
    }
    out
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_plan_of_a_migration_has_nothing_to_explain() {
    let e = estate().await;
    let (stored, before) = (contents(&e).await, conditions(&e).await);
    assert!(before.len() > 12, "{before:#?}");

    let plan = daemon::plan(&e.config).await;
    let text = &plan.stdout;
    // What ends, and what a spec has lost that the status still lists.
    let ends = ["ending-stays.move.example. A", "ending.move.example. A"];
    let renamed = "renaming.move.example. A";
    let mut gone = named(&plan, "delete");
    gone.sort();
    assert_eq!(gone, [ends[0], ends[1], renamed], "{text}");
    assert_eq!(named(&plan, "replace"), ["drifted.move.example. A"], "{text}");
    assert_eq!(named(&plan, "create"), ["renamed.move.example. A"], "{text}");
    for n in 0..6 {
        let twice = format!("twice-{n}-b d{n}: NotOwner: ");
        assert!(
            text.lines().any(|l| l.contains(&twice) && l.ends_with(&format!("-{n}-a"))),
            "{text}"
        );
        assert!(
            text.contains(&format!("lost-{n}: Pending: waiting for DNSZone \"nowhere\"")),
            "{text}"
        );
    }
    assert_eq!(text.matches("NotOwner").count(), 6, "{text}");
    assert!(text.contains("www-conflict www: Conflict: "), "{text}");
    assert!(!text.contains("DeletionHeld") && !text.contains("braked"), "{text}");
    assert_eq!(named(&plan, "mark"), ["zone bare.example.", "zone move.example."], "{text}");
    assert_eq!(contents(&e).await, stored, "a plan writes nothing");

    let output = daemon::once(&e.config).await;
    let summary: Value = serde_json::from_str(output.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(summary["failed"], json!([]), "{output:#?}");
    let key = |text: &str| {
        let (name, rtype) = text.split_once(' ').unwrap();
        (name.to_owned(), rtype.to_owned())
    };
    let mut wanted = stored.clone();
    for text in [ends[0], ends[1], renamed] {
        assert!(wanted.remove(&key(text)).is_some(), "{text}");
    }
    let address = |ip: &str| (300, vec![ip.to_owned()]);
    wanted.insert(key("renamed.move.example. A"), address("192.0.2.3"));
    wanted.insert(key("drifted.move.example. A"), address("192.0.2.3"));
    assert_eq!(contents(&e).await, wanted);
    assert_eq!(e.pdns.get_zone("texted.example").await["account"], TEXT);

    let after = conditions(&e).await;
    assert_eq!(after.len(), before.len());
    for (object, before) in &before {
        let after = &after[object];
        // Nobody has said anything of a DNSZone before.
        let kept =
            if object.starts_with("dnszones") { before.is_subset(after) } else { before == after };
        assert!(kept, "{object}: {before:#?} became {after:#?}");
    }
    e.recorder.clear();
    daemon::once(&e.config).await;
    assert!(e.recorder.writes().is_empty(), "{:#?}", e.recorder.writes());
}

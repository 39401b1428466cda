//! All fourteen types from `config/samples`, as a newcomer applies them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::daemon;
use crate::support::estate::Estate;
use crate::support::objects;
use crate::support::pdns::{Backend, Options, Pdns};
use crate::support::query::query;
use crate::support::recorder::{Action, Server};
use crate::support::{root, wait_for};

/// The record set samples, moved to another namespace and zone.
fn samples() -> Vec<Value> {
    let mut out = Vec::new();
    for file in std::fs::read_dir(root().join("config/samples")).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let object: Value = serde_saphyr::from_str(&text).unwrap();
        if object["kind"] == "DNSRecordSet" {
            out.push(object);
        }
    }
    out
}

#[tokio::test(flavor = "multi_thread")]
async fn fourteen_types_are_served_and_a_second_pass_is_silent() {
    let resolver = Pdns::sqlite().await;
    resolver
        .create_zone(&serde_json::json!({
            "name": "alias-demo.example.", "kind": "Native", "nameservers": ["ns.alias-demo.example."],
            "rrsets": [{"name": "target.alias-demo.example.", "type": "A", "ttl": 60,
                        "records": [{"content": "198.51.100.7", "disabled": false}]}],
        }))
        .await;
    let extra =
        vec![("expand-alias", "yes".to_owned()), ("resolver", resolver.dns_addr().to_string())];
    let estate = Estate::with("types", Options { backend: Backend::of_this_run(), extra }).await;
    estate.zone("demo-example", "demo.example").await;
    let mut sets = Vec::new();
    for mut sample in samples() {
        sample["metadata"]["namespace"] = estate.namespace.clone().into();
        sets.push(objects::create(&estate.client, &sample).await);
    }
    let mut types: Vec<&str> =
        sets.iter().map(|s| s["spec"]["recordType"].as_str().unwrap()).collect();
    types.sort_unstable();
    assert_eq!(types.len(), 14, "{types:?}");
    estate.once().await;

    let dns = estate.pdns.dns_addr();
    for set in &sets {
        let (status, reason, message) = estate.programmed(set).await;
        assert_eq!(status, "True", "{}: {reason}: {message}", set["metadata"]["name"]);
        let rtype = set["spec"]["recordType"].as_str().unwrap();
        for entry in set["spec"]["records"].as_array().unwrap() {
            let raw = entry["name"].as_str().unwrap();
            let name = match raw {
                "@" => "demo.example.".to_owned(),
                absolute if absolute.ends_with('.') => absolute.to_owned(),
                relative => format!("{relative}.demo.example."),
            };
            let asked = if rtype == "ALIAS" { "A" } else { rtype };
            if rtype == "NS" && raw != "@" {
                // A delegation is a referral: no answer, and not authoritative.
                let referral = query(dns, &name, asked).await;
                assert!(!referral.authoritative && !referral.is_timeout(), "{name}: {referral:?}");
                assert!(!estate.pdns.contents("demo.example", &name, "NS").await.is_empty());
                continue;
            }
            let answer = query(dns, &name.replace('*', "anything"), asked).await;
            assert!(!answer.answers.is_empty(), "{name} {rtype}: {answer:?}");
            if rtype == "ALIAS" {
                assert_eq!(answer.answers, ["198.51.100.7"], "{name}");
            }
        }
    }
    let serial = estate.pdns.serial("demo.example").await;
    estate.assert_quiet().await;
    assert_eq!(estate.pdns.serial("demo.example").await, serial, "the serial has not moved");
    assert!(estate.writes_to(Server::PowerDns).is_empty());
}

/// A server that comes back as another version is spoken to in that one's way, by the process that runs.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_can_do_is_asked_again_in_each_pass() {
    let estate = Estate::new("upgrade").await;
    if estate.pdns.version() >= (5, 1, 0) {
        println!("skipped: there is no newer dialect");
        return;
    }
    estate.zone("z", "upgrade.example").await;
    let txt = |text: &str| json!([{"name": "t", "txt": {"content": text}}]);
    let set = estate.set("t", "z", "TXT", txt("one")).await;
    let mut running = daemon::run(&estate.config).await;
    running.nudge("25s").await;
    assert_eq!(estate.programmed(&set).await.0, "True");
    estate.recorder.always(
        |r| r.server == Server::PowerDns && r.path.ends_with("/servers/localhost"),
        Action::Edit(|server| server["version"] = json!("5.1.5")),
    );
    estate.edit(&set, json!({"records": txt(r"a\b")})).await;
    estate.recorder.clear();
    running.nudge("25s").await;
    // A server that comes to keep comments shows a zone of ours without a note: its mark must last first.
    let write = || async { estate.writes_to(Server::PowerDns).into_iter().next() };
    let body = wait_for("the write", Duration::from_secs(20), write).await.body.unwrap();
    let content = body["rrsets"][0]["records"][0]["content"].as_str().unwrap().to_owned();
    // 5.1 resolves escapes twice.
    assert_eq!(content, r#""a\\\\b""#);
    running.terminate().await;
}

//! Secrets that change while the daemon runs: the API key of PowerDNS in the file first or at the server first, and those of
//! callers.

use std::path::PathBuf;

use reqwest::Method;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::calls::signature;
use crate::support::daemon::{self, ConfigFile};
use crate::support::estate::{Estate, a_records};
use crate::support::recorder::{Action, Request, Server};
use crate::support::{http_client, random};
use crate::watch::{address, metric, token, wait_for_passes, wait_for_request};

/// The file that an option names.
fn file(config: &ConfigFile, section: &str, option: &str) -> PathBuf {
    let text = std::fs::read_to_string(config.path()).unwrap();
    let values: Value = serde_json::from_str(&text).unwrap();
    PathBuf::from(values[section][option].as_str().unwrap())
}

fn patches(request: &Request) -> bool {
    request.server == Server::PowerDns && request.method == "PATCH"
}

async fn edit(estate: &Estate, set: &Value, content: &str) {
    estate.edit(set, json!({"records": a_records(&[("www", content)])})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_key_that_changes_costs_no_pass() {
    let mut estate = Estate::new("rotate").await;
    estate.zone("z", "rotate.example").await;
    let www = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    let key = file(&estate.config, "powerdns", "apiKeyFile");
    let daemon = daemon::run(&estate.config).await;
    assert_eq!(daemon.nudge("60s").await.1["ok"], json!(true));

    // Server and file change together, in the middle of a pass: its next request was on the way with the old key.
    edit(&estate, &www, "192.0.2.2").await;
    let go = CancellationToken::new();
    estate.recorder.clear();
    estate.recorder.next(patches, Action::Until(go.clone()));
    let (report, ()) = tokio::join!(daemon.nudge("60s"), async {
        wait_for_request(&estate.recorder, patches).await;
        let new = random();
        estate.pdns.rotate(&new).await;
        std::fs::write(&key, new).unwrap();
        go.cancel();
    });
    let report = report.1;
    assert_eq!((&report["ok"], &report["replaced"]), (&json!(true), &json!(1)), "{report}");
    assert_eq!(estate.recorder.requests().iter().filter(|r| r.status == Some(401)).count(), 1);

    // The file changes first: the server takes the key that it had, until it is started anew.
    let coming = random();
    std::fs::write(&key, format!("{coming}\n")).unwrap();
    edit(&estate, &www, "192.0.2.3").await;
    let (_, report) = daemon.nudge("60s").await;
    assert_eq!((&report["ok"], &report["replaced"]), (&json!(true), &json!(1)), "{report}");
    estate.pdns.rotate(&coming).await;
    assert_eq!(daemon.nudge("60s").await.1["ok"], json!(true));

    // A file that is empty, or away, is one that somebody is about to write.
    for away in [false, true] {
        let held = std::fs::read(&key).unwrap();
        if away { std::fs::remove_file(&key) } else { std::fs::write(&key, "\n") }.unwrap();
        edit(&estate, &www, if away { "192.0.2.5" } else { "192.0.2.4" }).await;
        let (_, report) = daemon.nudge("60s").await;
        assert_eq!((&report["ok"], &report["replaced"]), (&json!(true), &json!(1)), "{report}");
        std::fs::write(&key, held).unwrap();
    }
    for lost in ["failed", "none"] {
        let series = format!("dns_syncd_passes_total{{result=\"{lost}\"}}");
        assert_eq!(metric(&daemon, &series).await.to_string(), "0", "{lost}");
    }
}

/// Nothing is gained by asking again and again with what was refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_no_known_key_is_asked_once_with_each() {
    let mut estate = Estate::new("nokey").await;
    estate.zone("z", "nokey.example").await;
    let key = file(&estate.config, "powerdns", "apiKeyFile");
    let daemon = daemon::run(&estate.config).await;
    assert_eq!(daemon.nudge("60s").await.1["ok"], json!(true));
    let right = random();
    estate.pdns.rotate(&right).await;
    std::fs::write(&key, "a-wrong-one").unwrap();
    estate.recorder.clear();
    let (_, report) = daemon.nudge("60s").await;
    let failed = report["failed"][0].as_str().unwrap_or_default();
    assert!(failed.contains("PowerDNS refused the API key"), "{report}");
    let pass = report["pass"].as_u64().unwrap();
    let asked = estate.recorder.requests().iter().filter(|r| r.status == Some(401)).count();
    // One pass more may have begun by itself.
    assert!((2..=4).contains(&asked), "pass {pass}: {asked}");
    std::fs::write(&key, right).unwrap();
    assert_eq!(daemon.nudge("60s").await.1["ok"], json!(true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callers_new_secret_counts_at_once_and_the_old_one_no_more() {
    let mut estate = Estate::new("callers").await;
    let (hmac, admin);
    (estate.config, hmac) = estate.config.with_secret("http.hmacSecretFile");
    (estate.config, admin) = estate.config.with_secret("http.adminTokenFile");
    let daemon = daemon::run(&estate.config).await;
    wait_for_passes(&daemon, 1.0).await;
    let url = format!("http://{}/v1/sync", address(&estate.config));
    for (option, before) in
        [("tokenFile", token(&estate.config)), ("adminTokenFile", admin), ("hmacSecretFile", hmac)]
    {
        let status = |secret: String| {
            let (daemon, request) = (&daemon, http_client().post(&url).body("x"));
            async move {
                match option {
                    "tokenFile" => daemon.call(Method::POST, "/v1/sync", Some(&secret)).await.0,
                    "adminTokenFile" => {
                        daemon.call(Method::GET, "/v1/status", Some(&secret)).await.0
                    }
                    _ => {
                        let signed = signature(&secret, b"x");
                        let answer = request.header("X-Hub-Signature-256", signed).send().await;
                        answer.unwrap().status().as_u16()
                    }
                }
            }
        };
        let (good, after) = (status(before.clone()).await, random());
        assert!(good == 200 || good == 202, "{option}: {good}");
        assert_eq!(status(after.clone()).await, 401, "{option}");
        std::fs::write(file(&estate.config, "http", option), &after).unwrap();
        assert_eq!(status(after).await, good, "{option}");
        assert_eq!(status(before).await, 401, "{option}");
    }
}

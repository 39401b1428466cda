//! What no output ever holds: the API key, the bearer token of nudges, the token for the API server.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use dns_syncd::config::{Config, Secret, Sources};
use dns_syncd::metrics::Metrics;
use dns_syncd::powerdns::{Client, Key, Limiter, Options};
use reqwest::Method;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::apiserver::ApiServer;
use crate::support::daemon::{self, ConfigFile};
use crate::support::estate::Estate;
use crate::support::install_tls;
use crate::support::recorder::{Action, Server};

/// The world at the most talkative level, and its secrets.
async fn talkative(prefix: &str) -> (Estate, Vec<String>) {
    let mut estate = Estate::new(prefix).await;
    estate.config = estate.config.with("log.level", json!("trace"));
    let (hmac, admin);
    (estate.config, hmac) = estate.config.with_secret("http.hmacSecretFile");
    (estate.config, admin) = estate.config.with_secret("http.adminTokenFile");
    let secrets = vec![
        hmac,
        admin,
        estate.pdns.key().to_owned(),
        ApiServer::shared().token().to_owned(),
        nudge_token(&estate.config),
    ];
    assert!(secrets.iter().all(|secret| secret.len() >= 16), "{secrets:?}");
    (estate, secrets)
}

fn nudge_token(config: &ConfigFile) -> String {
    let file = std::fs::read_to_string(config.path()).unwrap();
    let file: serde_json::Value = serde_json::from_str(&file).unwrap();
    std::fs::read_to_string(file["http"]["tokenFile"].as_str().unwrap()).unwrap()
}

fn assert_silent(secrets: &[String], text: &str) {
    assert!(!text.is_empty());
    for secret in secrets {
        assert!(!text.contains(secret.as_str()), "a secret is in:\n{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_keep_secrets() {
    let (estate, secrets) = talkative("secrets").await;
    estate.zone("z", "secrets.example").await;
    estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    for command in [
        &["check-config"][..],
        &["plan"],
        &["plan", "-o", "json"],
        &["once"],
        &["explain", "www.secrets.example"],
        &["import", "secrets.example"],
        &["cleanup", "--dry-run"],
    ] {
        let output = daemon::command(&estate.config, command).await;
        assert_silent(&secrets, &(output.stdout + &output.stderr));
    }
    // Failures are where secrets slip out: the server refuses, breaks off, answers nonsense.
    for server in [Server::PowerDns, Server::Kubernetes] {
        let sent = match server {
            Server::PowerDns => estate.pdns.key(),
            Server::Kubernetes => ApiServer::shared().token(),
        };
        for action in [
            Action::Answer(401, json!({"error": "Unauthorized"})),
            Action::Answer(500, json!("nonsense")),
            // Something in between that shows what it was sent.
            Action::Answer(502, json!({"error": format!("sent: {sent}")})),
            Action::Text(200, format!("sent: {sent}")),
            Action::Reset,
            Action::Truncate(3),
        ] {
            estate.recorder.heal();
            estate.recorder.always(move |r| r.server == server, action.clone());
            let output = daemon::once(&estate.config).await;
            assert_ne!(output.code, Some(0), "{server:?} {action:?}: {output:?}");
            assert_silent(&secrets, &(output.stdout + &output.stderr));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_daemon_keeps_secrets() {
    for format in ["text", "json"] {
        let (estate, mut secrets) = talkative("keeps").await;
        let estate = estate.reconfigured("log", json!({"level": "trace", "format": format}));
        estate.zone("z", "keeps.example").await;
        let mut running = daemon::run(&estate.config).await;
        let (nudge, answer) = running.nudge("60s").await;
        assert_eq!(nudge, 200);
        let wrong = "a-wrong-token-that-may-be-a-right-one-elsewhere";
        let (refused, refusal) = running.call(Method::POST, "/v1/sync", Some(wrong)).await;
        assert_eq!(refused, 401);
        let admin = secrets[1].clone();
        secrets.push(wrong.to_owned());
        assert_silent(&secrets, &answer.to_string());
        assert_silent(&secrets, &refusal.to_string());
        for path in ["/v1/status", "/v1/plan"] {
            let (status, answer) = running.call(Method::GET, path, Some(&admin)).await;
            assert_eq!(status, 200, "{path}");
            assert_silent(&secrets, &answer.to_string());
        }
        for path in ["/metrics", "/healthz", "/readyz"] {
            assert_silent(&secrets, &running.get(path).await.1);
        }
        assert_silent(&secrets, &running.arguments());
        // An object that failed says why, in its status too.
        let quotes = json!({"error": format!("X-API-Key: {}", estate.pdns.key())});
        estate
            .recorder
            .always(|r| r.server == Server::PowerDns && r.is_write(), Action::Answer(500, quotes));
        let set = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
        assert_eq!(running.nudge("60s").await.1["ok"], json!(false));
        assert_silent(&secrets, &estate.get(&set).await.unwrap().to_string());
        let output = running.terminate().await;
        assert_silent(&secrets, &(output.stdout + &output.stderr));
    }
}

#[tokio::test]
async fn debug_output_keeps_secrets() {
    let key = "a-key-that-nobody-may-see";
    let env = [("PDNS_API_KEY", key), ("DNS_SYNCD_OWNER_ID", "east")];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let config = Config::load(&Sources { file: None, env: &env, flags: &[] }).unwrap();
    let many = NonZeroU32::new(1).unwrap();
    install_tls();
    let options = Options {
        url: "http://127.0.0.1:1".to_owned(),
        server_id: "localhost".to_owned(),
        key: Key::Inline(Secret::new(key.to_owned())),
        request_timeout: Duration::from_secs(1),
        authorities: None,
    };
    let shown = format!("{config:?} {config:#?} {options:?} {:?}", Secret::new(key.to_owned()));
    let (metrics, stop) = (Arc::new(Metrics::new().unwrap()), CancellationToken::new());
    let client = Client::new(options, Limiter::new(many, many, 1), metrics, stop).unwrap();
    client.refresh_key().await.unwrap();
    let secret = Secret::new(key.to_owned());
    assert_silent(&[key.to_owned()], &format!("{shown} {client:?} {client:#?} {secret}"));
}

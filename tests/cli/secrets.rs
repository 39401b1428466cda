//! What no output ever holds: the API key, the bearer token of nudges, the token for the API server.

use reqwest::Method;
use serde_json::json;

use crate::support::apiserver::ApiServer;
use crate::support::daemon::{self, ConfigFile};
use crate::support::estate::Estate;
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
    for command in ["check-config", "plan", "once"] {
        let output = daemon::command(&estate.config, &[command]).await;
        assert_silent(&secrets, &(output.stdout + &output.stderr));
    }
    // Failures are where secrets slip out: the server refuses, breaks off, answers nonsense.
    for action in [
        Action::Answer(401, json!({"error": "Unauthorized"})),
        Action::Answer(500, json!("nonsense")),
        Action::Reset,
        Action::Truncate(3),
    ] {
        for server in [Server::PowerDns, Server::Kubernetes] {
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
    let (estate, mut secrets) = talkative("keeps").await;
    estate.zone("z", "keeps.example").await;
    let mut running = daemon::run(&estate.config).await;
    assert_eq!(running.nudge("60s").await.0, 200);
    let wrong = "a-wrong-token-that-may-be-a-right-one-elsewhere";
    assert_eq!(running.call(Method::POST, "/v1/sync", Some(wrong)).await.0, 401);
    secrets.push(wrong.to_owned());
    assert_silent(&secrets, &running.metrics().await);
    let output = running.terminate().await;
    assert_silent(&secrets, &(output.stdout + &output.stderr));
}

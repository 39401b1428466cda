//! TLS to PowerDNS: whose certificates are trusted, and that plain HTTP needs none.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::apiserver::ApiServer;
use crate::support::daemon::{self, Output};
use crate::support::estate::Estate;
use crate::support::pdns::Pdns;
use crate::support::{Folder, tls};

/// Runs `dns-syncd plan` for a server, on a machine that knows the authorities of this file and no others.
async fn plan(url: &str, key: &str, authorities: &Path) -> Output {
    let api = ApiServer::shared();
    let namespace = api.namespace("certificates").await;
    let config = daemon::config(api.kubeconfig(), url, key, "test", &namespace);
    let mut command = Command::new(env!("CARGO_BIN_EXE_dns-syncd"));
    command.arg("plan").arg("--config").arg(config.path()).env_clear().stdin(Stdio::null());
    command.env("KUBECONFIG", api.kubeconfig()).env("SSL_CERT_FILE", authorities);
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Output { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_http_needs_no_authority() {
    let (pdns, folder) = (Pdns::sqlite().await, Folder::new("certificates"));
    // A small image has none.
    let none = folder.write("none.pem", "");
    let output = plan(&pdns.url(), pdns.key(), &none).await;
    assert_eq!(output.code, Some(0), "{output:#?}");
    let output = plan("https://localhost:1", pdns.key(), &none).await;
    assert_eq!(output.code, Some(64), "{output:#?}");
    assert!(
        output.stderr.contains("the PowerDNS client: unexpected error: No CA cert"),
        "{output:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_variable_names_an_authority_of_ones_own() {
    let (folder, pdns) = (Folder::new("certificates"), Pdns::sqlite().await);
    tls::authority(&folder, "ours");
    tls::authority(&folder, "theirs");
    tls::certificate(&folder, "ours");
    let url = tls::in_front_of(&folder, pdns.url().trim_start_matches("http://")).await;
    let output = plan(&url, pdns.key(), &folder.path().join("ours.pem")).await;
    assert_eq!(output.code, Some(0), "{output:#?}");
    let output = plan(&url, pdns.key(), &folder.path().join("theirs.pem")).await;
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stdout.contains("the certificate is not trusted"), "{output:#?}");
}

/// The daemon end to end over TLS with an authority of one's own, which is then the only one.
#[tokio::test(flavor = "multi_thread")]
async fn the_option_names_the_only_authority() {
    let mut estate = Estate::new("authority").await;
    let folder = Folder::new("certificates");
    tls::authority(&folder, "ours");
    tls::certificate(&folder, "ours");
    let url = tls::in_front_of(&folder, estate.pdns.url().trim_start_matches("http://")).await;
    estate.config = estate.config.with("powerdns.url", json!(url));
    estate.config = estate.config.with("powerdns.caFile", json!(folder.path().join("ours.pem")));
    estate.zone("z", "authority.example").await;
    estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    let daemon = daemon::run(&estate.config).await;
    let (_, answer) = daemon.nudge("60s").await;
    assert_eq!(answer["ok"], json!(true), "{answer}");
    assert!(!daemon.log().contains("in clear"), "{}", daemon.log());
    let served = estate.pdns.contents("authority.example", "www.authority.example", "A").await;
    assert_eq!(served, ["192.0.2.1"]);
    drop(daemon);

    // A file without a certificate is told, and not taken for one that allows everybody.
    let empty = folder.write("empty.pem", "");
    estate.config = estate.config.with("powerdns.caFile", json!(empty));
    let output = daemon::plan(&estate.config).await;
    assert_eq!(output.code, Some(64), "{output:#?}");
    assert!(output.stderr.contains("has no PEM certificate"), "{output:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_clear_to_another_host_is_told() {
    let mut estate = Estate::new("clear").await;
    estate.config = estate.config.with("powerdns.requestTimeout", json!("100ms"));
    for (url, told) in [
        ("http://192.0.2.1:8081", true),
        ("http://pdns.example/api", true),
        ("http://[2001:db8::1]:8081", true),
        ("http://127.0.0.1:1", false),
        ("http://[::1]:1", false),
        ("http://localhost:1", false),
        ("https://localhost:1", false),
    ] {
        estate.config = estate.config.with("powerdns.url", json!(url));
        let output = daemon::plan(&estate.config).await;
        assert_eq!(output.stderr.contains("in clear"), told, "{url}: {output:#?}");
    }
}

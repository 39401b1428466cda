//! TLS to PowerDNS: whose certificates are trusted, and that plain HTTP needs none.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::apiserver::ApiServer;
use crate::support::daemon::{self, Output};
use crate::support::pdns::Pdns;
use crate::support::process::{self, Process};
use crate::support::{Folder, port, wait_for};

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

fn openssl(folder: &Folder, arguments: &str) {
    let mut command = Command::new("openssl");
    command.args(arguments.split(' ')).current_dir(folder.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_variable_names_an_authority_of_ones_own() {
    let (folder, port) = (Folder::new("certificates"), port());
    folder.write("names", "subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n");
    for authority in ["ours", "theirs"] {
        let name = format!("-subj /CN={authority} -keyout {authority}.key -out {authority}.pem");
        openssl(&folder, &format!("req -x509 -newkey rsa:2048 -nodes -days 1 {name}"));
    }
    openssl(&folder, "req -newkey rsa:2048 -nodes -subj /CN=s -keyout s.key -out s.csr");
    let signed = "-CA ours.pem -CAkey ours.key -CAcreateserial -extfile names -days 1";
    openssl(&folder, &format!("x509 -req -in s.csr -out s.pem {signed}"));
    // It is no PowerDNS, but it speaks after the handshake alone.
    let mut server = process::command("openssl");
    server.args(["s_server", "-www", "-accept", &port.to_string(), "-cert", "s.pem"]);
    server.args(["-key", "s.key"]).current_dir(folder.path());
    let _server = Process::spawn("s_server", server, folder.path());
    wait_for("the server listens", Duration::from_secs(10), || async {
        tokio::net::TcpStream::connect(("127.0.0.1", port)).await.ok()
    })
    .await;

    let url = format!("https://localhost:{port}");
    let output = plan(&url, "key", &folder.path().join("ours.pem")).await;
    assert!(output.stdout.contains("PowerDNS gave an unreadable answer"), "{output:#?}");
    let output = plan(&url, "key", &folder.path().join("theirs.pem")).await;
    assert!(output.stdout.contains("no answer from PowerDNS"), "{output:#?}");
}

//! The product's binary as a process, with a configuration of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::pdns::Pdns;
use super::process::{self, Process};
use super::recorder::{Recorder, Request};
use super::{Folder, http_client, port, random, wait_for};

/// The time that a command may take.
const LIMIT: Duration = Duration::from_mins(2);
/// Longer than any `wait` of a nudge.
const LONGEST_WAIT: Duration = Duration::from_mins(11);

/// A configuration file of the daemon and the secrets that it names, below `target/test-run`.
pub struct ConfigFile {
    folder: Folder,
    values: Value,
    kubeconfig: PathBuf,
    token: String,
    http: String,
}

/// How a command ended.
#[derive(Debug)]
pub struct Output {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// A configuration for PowerDNS at `url` (a server's or a proxy's), limited to one namespace; passes come from nudges alone,
/// because the interval is an hour.
pub fn config(kubeconfig: &Path, url: &str, key: &str, owner: &str, namespace: &str) -> ConfigFile {
    let folder = Folder::new("daemon");
    let (token, http) = (random(), format!("127.0.0.1:{}", port()));
    let values = json!({
        "ownerId": owner, "interval": "1h", "namespaces": [namespace],
        "powerdns": {"url": url, "apiKeyFile": folder.write("key", key), "requestTimeout": "5s"},
        "http": {"listen": http, "tokenFile": folder.write("token", &token)},
        // Tests of one daemon need no second one's leave, and share an API server.
        "leaderElection": {"enabled": false},
        "log": {"level": "debug"},
    });
    let file = ConfigFile { folder, values, kubeconfig: kubeconfig.to_owned(), token, http };
    file.save();
    file
}

impl ConfigFile {
    /// A configuration for a server without a proxy.
    pub fn direct(kubeconfig: &Path, pdns: &Pdns, owner: &str, namespace: &str) -> Self {
        config(kubeconfig, &pdns.url(), pdns.key(), owner, namespace)
    }

    /// Sets a key by its path, `powerdns.requestTimeout`, for processes that start from now on.
    #[must_use]
    pub fn with(mut self, path: &str, value: Value) -> Self {
        let place = path.split('.').fold(&mut self.values, |place, key| &mut place[key]);
        *place = value;
        self.save();
        self
    }

    /// A new secret in a file that this key names; and the secret.
    #[must_use]
    pub fn with_secret(self, path: &str) -> (Self, String) {
        let secret = random();
        let file = self.folder.write(path, &format!("{secret}\n"));
        (self.with(path, json!(file)), secret)
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("dns-syncd.yaml")
    }

    fn save(&self) {
        // JSON is YAML too.
        self.folder.write("dns-syncd.yaml", &self.values.to_string());
    }

    fn spawn(&self, arguments: &[&str]) -> Process {
        let mut command = process::command(env!("CARGO_BIN_EXE_dns-syncd"));
        command
            .args(arguments)
            .arg("--config")
            .arg(self.path())
            .env("KUBECONFIG", &self.kubeconfig);
        forget_surroundings(&mut command);
        Process::spawn(&format!("{}-{}", arguments[0], random()), command, self.folder.path())
    }
}

/// The daemon reads these too; the caller's must not reach it.
fn forget_surroundings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("DNS_SYNCD_")
            || name.to_string_lossy().starts_with("PDNS_")
        {
            command.env_remove(name);
        }
    }
}

async fn end(process: &mut Process) -> Output {
    let code = process.wait(LIMIT).await.code();
    Output { code, stdout: process.stdout(), stderr: process.stderr() }
}

/// Runs a subcommand with its arguments to its end: `["plan", "-o", "json"]`.
pub async fn command(config: &ConfigFile, arguments: &[&str]) -> Output {
    end(&mut config.spawn(arguments)).await
}

/// The same on a terminal; standard output has everything that the terminal got.
pub async fn on_terminal(config: &ConfigFile, arguments: &[&str]) -> Output {
    let path = config.path();
    let all =
        [&[env!("CARGO_BIN_EXE_dns-syncd")], arguments, &["--config", path.to_str().unwrap()]];
    let mut command = process::command("script");
    command
        .args(["--quiet", "--return", "--command", &all.concat().join(" "), "/dev/null"])
        .env("KUBECONFIG", &config.kubeconfig)
        .env("TERM", "xterm");
    forget_surroundings(&mut command);
    let name = format!("terminal-{}", random());
    end(&mut Process::spawn(&name, command, config.folder.path())).await
}

/// `dns-syncd once`: one pass.
pub async fn once(config: &ConfigFile) -> Output {
    command(config, &["once"]).await
}

/// `dns-syncd plan`.
pub async fn plan(config: &ConfigFile) -> Output {
    command(config, &["plan"]).await
}

/// `dns-syncd once`, killed (-9) when the `n`-th request that matches `of` is done at its server and before any later one is.
/// `Some` if it ended by itself before that.
pub async fn once_killed_after(
    config: &ConfigFile,
    recorder: &Recorder,
    n: usize,
    of: fn(&Request) -> bool,
) -> Option<Output> {
    recorder.cut_after(n, of);
    let mut process = config.spawn(&["once"]);
    let ended = wait_for("the pass ends or is cut", LIMIT, || {
        let state = if recorder.is_cut() { Some(false) } else { process.ended().map(|_| true) };
        std::future::ready(state)
    })
    .await;
    let output = if ended { Some(end(&mut process).await) } else { None };
    process.kill9();
    recorder.release();
    output
}

/// `dns-syncd run`, killed when dropped.
pub struct Running {
    process: Process,
    http: reqwest::Client,
    base: String,
    token: String,
}

/// Starts `dns-syncd run` and waits until its HTTP server answers.
pub async fn run(config: &ConfigFile) -> Running {
    let base = format!("http://{}", config.http);
    let mut running = Running {
        process: config.spawn(&["run"]),
        http: http_client(),
        base,
        token: config.token.clone(),
    };
    wait_for("the daemon answers HTTP", Duration::from_secs(20), || {
        assert!(running.process.ended().is_none(), "the daemon ended at its start");
        let request = running.http.get(format!("{}/healthz", running.base));
        async { request.send().await.ok() }
    })
    .await;
    running
}

impl Running {
    /// SIGKILL.
    pub fn kill9(&mut self) {
        self.process.kill9();
    }

    /// SIGTERM, without waiting.
    pub fn signal(&self) {
        self.process.terminate();
    }

    /// SIGSTOP: from now on it does nothing, and knows nothing of it.
    pub fn pause(&self) {
        self.process.signal("STOP");
    }

    /// SIGCONT.
    pub fn resume(&self) {
        self.process.signal("CONT");
    }

    /// SIGTERM, and waits for its end.
    pub async fn terminate(&mut self) -> Output {
        self.process.terminate();
        end(&mut self.process).await
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// What it was started with, as everybody on the machine can see it.
    pub fn arguments(&self) -> String {
        let shown = std::fs::read(format!("/proc/{}/cmdline", self.process.id())).unwrap();
        String::from_utf8_lossy(&shown).replace('\0', " ")
    }

    /// What it logged so far.
    pub fn log(&self) -> String {
        self.process.stderr()
    }

    /// One request without a token; status and text.
    pub async fn get(&self, path: &str) -> (u16, String) {
        let answer = self.http.get(format!("{}{path}", self.base)).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    /// One request with this bearer token, or none; the body is `Null` if it is no JSON.
    pub async fn call(&self, method: Method, path: &str, token: Option<&str>) -> (u16, Value) {
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let answer = request.timeout(LONGEST_WAIT).send().await.unwrap();
        (
            answer.status().as_u16(),
            serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap_or_default(),
        )
    }

    /// `POST /v1/sync?wait=…` (`"25s"`): status and summary of a pass that started after the request.
    pub async fn nudge(&self, wait: &str) -> (u16, Value) {
        self.call(Method::POST, &format!("/v1/sync?wait={wait}"), Some(&self.token)).await
    }

    /// The text of `/metrics`.
    pub async fn metrics(&self) -> String {
        self.get("/metrics").await.1
    }
}

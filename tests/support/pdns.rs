//! A real `pdns_server` of this test's own, and thin calls of its HTTP API that share no code with the product.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use reqwest::Method;
use serde_json::Value;

pub use super::installation::Backend;
use super::installation::Installation;
use super::process::Process;
use super::{Folder, http_client, port, random, wait_for};

/// How to start the server.
pub struct Options<'a> {
    /// The backend.
    pub backend: Backend,
    /// More settings, without the leading dashes: `("expand-alias", "yes".into())`.
    pub extra: Vec<(&'a str, String)>,
}

/// The three numbers of a version.
pub type Release = (u16, u16, u16);

/// A running `pdns_server`, killed and removed when dropped.
pub struct Pdns {
    http: reqwest::Client,
    arguments: Vec<String>,
    key: String,
    web: u16,
    dns: u16,
    backend: Backend,
    version: Release,
    process: Mutex<Option<Process>>,
    folder: Folder,
}

impl Pdns {
    /// Starts a server with empty data and waits until it answers HTTP and owns its DNS port.
    pub async fn start(options: Options<'_>) -> Self {
        let installation = Installation::of_this_run();
        let (folder, key, web, dns) = (installation.folder(), random(), port(), port());
        let path = installation.inside(folder.path());
        let path = path.display();
        let mut arguments: Vec<String> = [
            "daemon=no",
            "guardian=no",
            "api=yes",
            "webserver=yes",
            "webserver-address=127.0.0.1",
            "webserver-allow-from=127.0.0.1",
            "local-address=127.0.0.1",
            "zone-cache-refresh-interval=0",
            "cache-ttl=0",
            "query-cache-ttl=0",
            "negquery-cache-ttl=0",
            // Empty: it asks nobody on the network whether it is secure.
            "security-poll-suffix=",
        ]
        .map(|setting| format!("--{setting}"))
        .to_vec();
        arguments.push(format!("--config-dir={path}"));
        arguments.push(format!("--socket-dir={path}"));
        arguments.push(format!("--webserver-port={web}"));
        arguments.push(format!("--local-port={dns}"));
        arguments.push(format!("--api-key={key}"));
        match options.backend {
            Backend::Sqlite => {
                installation.create_database(&folder.path().join("pdns.sqlite3"));
                arguments.push("--launch=gsqlite3".to_owned());
                arguments.push(format!("--gsqlite3-database={path}/pdns.sqlite3"));
                // A killed process loses nothing: only a power failure would.
                arguments.push("--gsqlite3-pragma-synchronous=0".to_owned());
            }
            Backend::Lmdb => {
                arguments.push("--launch=lmdb".to_owned());
                arguments.push(format!("--lmdb-filename={path}/pdns.lmdb"));
                arguments.push("--lmdb-shards=1".to_owned());
                // As for sqlite.
                arguments.push("--lmdb-sync-mode=nosync".to_owned());
            }
        }
        arguments
            .extend(options.extra.into_iter().map(|(name, value)| format!("--{name}={value}")));
        let mut pdns = Self {
            http: http_client(),
            arguments,
            key,
            web,
            dns,
            backend: options.backend,
            version: (0, 0, 0),
            process: Mutex::new(None),
            folder,
        };
        pdns.restart().await;
        let (status, server) = pdns.call(Method::GET, "", None).await;
        assert_eq!(status, 200, "{server}");
        let version = server["version"].as_str().expect("it says its version");
        pdns.version = release(version);
        if options.backend == Backend::Lmdb {
            pdns.open_data().await;
        }
        pdns
    }

    /// LMDB opens the file of the records when the first request needs it; 4.9 answers 500 to requests that come
    /// beside that one, or never.
    async fn open_data(&self) {
        self.create_zone(&serde_json::json!({"name": "first.invalid.", "kind": "Native"})).await;
        assert_eq!(self.delete_zone("first.invalid.").await.0, 204);
    }

    /// A server on sqlite with nothing special.
    pub async fn sqlite() -> Self {
        Self::start(Options { backend: Backend::Sqlite, extra: Vec::new() }).await
    }

    /// Its version.
    pub fn version(&self) -> Release {
        self.version
    }

    /// Whether it keeps comments on RRsets, without which there are no notes.
    pub fn keeps_comments(&self) -> bool {
        self.backend == Backend::Sqlite || self.version() >= (5, 1, 0)
    }

    /// Writes for each zone that is made or goes: POST or DELETE, and where comments outlive zones a PATCH that clears them.
    /// What it is to hold follows a zone that was made so.
    pub fn writes_for(&self, method: &'static str) -> Vec<&'static str> {
        match (method, self.comments_outlive_zones()) {
            ("POST", true) => vec!["POST", "PATCH", "PATCH"],
            ("DELETE", true) => vec!["PATCH", "DELETE"],
            (method, _) => vec![method],
        }
    }

    /// Whether it answers 500 to one of two that write at the same time: sqlite before 4.9.2.
    pub fn has_one_writer(&self) -> bool {
        self.backend == Backend::Sqlite && self.version() < (4, 9, 2)
    }

    /// Whether comments stay when their zone is deleted, for the next zone to find: LMDB from 5.1 on.
    pub fn comments_outlive_zones(&self) -> bool {
        self.backend == Backend::Lmdb && self.version() >= (5, 1, 0)
    }

    /// Stops the server as an administrator would (SIGTERM); its data stay.
    pub async fn stop(&self) {
        let running = self.process.lock().unwrap().take();
        if let Some(mut process) = running {
            process.terminate();
            process.wait(Duration::from_secs(10)).await;
        }
    }

    /// Starts it again, after [`Self::stop`] if it still runs: same data, same ports, same key.
    pub async fn restart(&self) {
        self.stop().await;
        let mut command = Installation::of_this_run().server();
        command.args(&self.arguments);
        *self.process.lock().unwrap() = Some(Process::spawn("pdns", command, self.folder.path()));
        wait_for("pdns_server answers", Duration::from_secs(20), || async {
            if let Some(status) = self.process.lock().unwrap().as_mut().and_then(Process::ended) {
                panic!("pdns_server ended at its start: {status}");
            }
            let answer = self.http.get(self.url()).header("X-API-Key", &self.key).send().await;
            answer
                .is_ok_and(|answer| answer.status() == 200 || answer.status() == 404)
                .then_some(())
        })
        .await;
        wait_for("pdns_server answers DNS", Duration::from_secs(20), || async {
            tokio::net::TcpStream::connect(self.dns_addr()).await.ok()
        })
        .await;
    }

    /// Gives it another API key, which takes a restart.
    pub async fn rotate(&mut self, key: &str) {
        let before = format!("--api-key={}", self.key);
        for argument in self.arguments.iter_mut().filter(|argument| **argument == before) {
            *argument = format!("--api-key={key}");
        }
        key.clone_into(&mut self.key);
        self.restart().await;
    }

    /// The file that holds the data of a server on sqlite.
    pub fn database(&self) -> PathBuf {
        self.folder.path().join("pdns.sqlite3")
    }

    /// The process id, while it runs.
    pub fn id(&self) -> Option<u32> {
        self.process.lock().unwrap().as_ref().map(Process::id)
    }

    /// The base of its HTTP API, without `/api/v1`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.web)
    }

    /// Its API key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Where it answers DNS, by UDP and TCP.
    pub fn dns_addr(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.dns))
    }

    /// One API request below `/api/v1/servers/localhost`; the body is `Null` if it is none or no JSON.
    pub async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        let url = format!("{}/api/v1/servers/localhost{path}", self.url());
        let mut request = self.http.request(method, url).header("X-API-Key", &self.key);
        if let Some(body) = body {
            request = request.header("Content-Type", "application/json").body(body.to_string());
        }
        let answer = request.send().await.expect("pdns_server answers");
        let status = answer.status().as_u16();
        (status, serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap_or_default())
    }

    /// The elements of the list of zones.
    pub async fn list(&self) -> Vec<Value> {
        let (status, zones) = self.call(Method::GET, "/zones", None).await;
        assert_eq!(status, 200, "{zones}");
        zones.as_array().unwrap().clone()
    }

    /// Whether the zone is on the list.
    pub async fn has_zone(&self, zone: &str) -> bool {
        self.list().await.iter().any(|listed| listed["name"] == absolute(zone).as_str())
    }

    /// The whole zone, RRsets included; it must be there.
    pub async fn get_zone(&self, zone: &str) -> Value {
        let (status, body) = self.call(Method::GET, &path(zone), None).await;
        assert_eq!(status, 200, "{zone}: {body}");
        body
    }

    /// The RRset as the zone lists it; on some servers one that has comments and no records is listed too.
    pub async fn rrset(&self, zone: &str, name: &str, rtype: &str) -> Option<Value> {
        let zone = self.get_zone(zone).await;
        let found =
            |rrset: &&Value| rrset["name"] == absolute(name).as_str() && rrset["type"] == rtype;
        zone["rrsets"].as_array().unwrap().iter().find(found).cloned()
    }

    /// The contents of its records, sorted; empty if there is none.
    pub async fn contents(&self, zone: &str, name: &str, rtype: &str) -> Vec<String> {
        let rrset = self.rrset(zone, name, rtype).await.unwrap_or_default();
        let records = rrset["records"].as_array().cloned().unwrap_or_default();
        let mut contents: Vec<String> =
            records.iter().map(|record| record["content"].as_str().unwrap().to_owned()).collect();
        contents.sort();
        contents
    }

    /// All RRsets of a zone that have records, by name and type: the TTL and the contents, sorted, an SOA without its
    /// serial, which moves by itself.
    pub async fn all(&self, zone: &str) -> BTreeMap<(String, String), (u64, Vec<String>)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let mut out = BTreeMap::new();
        for rrset in self.get_zone(zone).await["rrsets"].as_array().unwrap() {
            let (name, rtype) = (text(&rrset["name"]), text(&rrset["type"]));
            let records = rrset["records"].as_array().unwrap().iter();
            let mut contents: Vec<String> = records.map(|r| text(&r["content"])).collect();
            if rtype == "SOA" {
                contents = vec![without_serial(&contents[0])];
            }
            contents.sort();
            if !contents.is_empty() {
                out.insert((name, rtype), (rrset["ttl"].as_u64().unwrap(), contents));
            }
        }
        out
    }

    /// The comment of account `dns-syncd` on an RRset, parsed.
    pub async fn note(&self, zone: &str, name: &str, rtype: &str) -> Option<Value> {
        let rrset = self.rrset(zone, name, rtype).await?;
        let comment = rrset["comments"]
            .as_array()?
            .iter()
            .find(|comment| comment["account"] == "dns-syncd")?;
        Some(serde_json::from_str(comment["content"].as_str().unwrap()).expect("a note is JSON"))
    }

    /// The serial of the zone.
    pub async fn serial(&self, zone: &str) -> u64 {
        self.get_zone(zone).await["serial"].as_u64().unwrap()
    }

    /// POST of a zone; it must be accepted.
    pub async fn create_zone(&self, zone: &Value) -> Value {
        let (status, body) = self.call(Method::POST, "/zones", Some(zone)).await;
        assert_eq!(status, 201, "{body}");
        body
    }

    /// PATCH of a zone's RRsets: `{"rrsets": […]}`.
    pub async fn patch(&self, zone: &str, rrsets: &Value) -> (u16, Value) {
        self.call(Method::PATCH, &path(zone), Some(rrsets)).await
    }

    /// PUT of a zone's own settings (`account`, `kind`, …).
    pub async fn put_zone(&self, zone: &str, settings: &Value) -> (u16, Value) {
        self.call(Method::PUT, &path(zone), Some(settings)).await
    }

    /// DELETE of a zone.
    pub async fn delete_zone(&self, zone: &str) -> (u16, Value) {
        self.call(Method::DELETE, &path(zone), None).await
    }
}

fn without_serial(soa: &str) -> String {
    let fields = soa.split(' ').enumerate().filter(|(at, _)| *at != 2);
    fields.map(|(_, field)| field).collect::<Vec<_>>().join(" ")
}

fn absolute(name: &str) -> String {
    format!("{}.", name.strip_suffix('.').unwrap_or(name))
}

/// A zone's id is its name with each byte outside `A-Za-z0-9.-` as `=XX`.
fn path(zone: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' => char::from(byte).to_string(),
        other => format!("={other:02X}"),
    };
    format!("/zones/{}", absolute(zone).bytes().map(escape).collect::<String>())
}

/// `4.9.18`, also with something behind it.
fn release(version: &str) -> Release {
    let mut numbers = version
        .split(|c: char| !c.is_ascii_digit())
        .map(|number| number.parse().unwrap_or_else(|_| panic!("{version} is no version")));
    let mut next = || numbers.next().unwrap_or_else(|| panic!("{version} is no version"));
    (next(), next(), next())
}

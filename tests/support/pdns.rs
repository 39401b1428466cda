//! A real `pdns_server` of this test's own, and thin calls of its HTTP API that share no code with the product.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use reqwest::Method;
use serde_json::Value;

use super::process::{self, Process};
use super::{Folder, http_client, port, random, wait_for};

/// Where the server keeps its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// `gsqlite3`: has comments.
    Sqlite,
    /// `lmdb`: has comments from PowerDNS 5.1 on.
    Lmdb,
}

/// How to start the server.
pub struct Options<'a> {
    /// The backend.
    pub backend: Backend,
    /// More settings, without the leading dashes: `("expand-alias", "yes".into())`.
    pub extra: Vec<(&'a str, String)>,
}

/// A running `pdns_server`, killed and removed when dropped.
pub struct Pdns {
    http: reqwest::Client,
    arguments: Vec<String>,
    key: String,
    web: u16,
    dns: u16,
    process: Mutex<Option<Process>>,
    folder: Folder,
}

impl Pdns {
    /// Starts a server with empty data and waits until it answers HTTP and owns its DNS port.
    pub async fn start(options: Options<'_>) -> Self {
        let (folder, key, web, dns) = (Folder::new("pdns"), random(), port(), port());
        let path = folder.path().display();
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
                create_database(&folder.path().join("pdns.sqlite3"));
                arguments.push("--launch=gsqlite3".to_owned());
                arguments.push(format!("--gsqlite3-database={path}/pdns.sqlite3"));
                // A killed process loses nothing: only a power failure would.
                arguments.push("--gsqlite3-pragma-synchronous=0".to_owned());
            }
            Backend::Lmdb => {
                arguments.push("--launch=lmdb".to_owned());
                arguments.push(format!("--lmdb-filename={path}/pdns.lmdb"));
                arguments.push("--lmdb-shards=1".to_owned());
            }
        }
        arguments
            .extend(options.extra.into_iter().map(|(name, value)| format!("--{name}={value}")));
        let pdns = Self {
            http: http_client(),
            arguments,
            key,
            web,
            dns,
            process: Mutex::new(None),
            folder,
        };
        pdns.restart().await;
        pdns
    }

    /// A server on sqlite with nothing special.
    pub async fn sqlite() -> Self {
        Self::start(Options { backend: Backend::Sqlite, extra: Vec::new() }).await
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
        let mut command = process::command("/usr/sbin/pdns_server");
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

/// The schema comes with the package: in its documentation, or (where that is not installed) in its shared data.
fn create_database(database: &Path) {
    let places = [
        "/usr/share/doc/pdns-backend-sqlite3/schema.sqlite3.sql",
        "/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql",
    ];
    let schema = places
        .into_iter()
        .find(|place| Path::new(place).is_file())
        .expect("the package pdns-backend-sqlite3 is installed");
    let output = Command::new("sqlite3")
        .arg(database)
        .arg(format!(".read {schema}"))
        .output()
        .expect("the package sqlite3 is installed");
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

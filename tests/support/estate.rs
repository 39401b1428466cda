//! One test's world: a namespace and a class of its own, a PowerDNS of its own, both behind recording proxies, and a
//! configuration of the product for them.

use std::path::Path;

use serde_json::{Value, json};

use super::apiserver::ApiServer;
use super::daemon::{self, ConfigFile, Output};
use super::objects;
use super::pdns::{Backend, Options, Pdns};
use super::proxy::Proxy;
use super::random;
use super::recorder::{Action, Recorder, Request, Server};

/// A world. Objects are made through `client`, as a user would, past the proxies.
pub struct Estate {
    pub client: kube::Client,
    pub namespace: String,
    pub class: String,
    pub pdns: Pdns,
    pub recorder: Recorder,
    pub config: ConfigFile,
    proxies: (Proxy, Proxy),
}

impl Estate {
    /// A world with the PowerDNS of this run and a class with two name servers.
    pub async fn new(prefix: &str) -> Estate {
        let backend = Backend::of_this_run();
        Estate::with(prefix, Options { backend, extra: Vec::new() }).await
    }

    /// A world with a PowerDNS of these options.
    pub async fn with(prefix: &str, options: Options<'_>) -> Estate {
        Estate::on(ApiServer::shared(), prefix, options).await
    }

    /// The same on an API server that other tests do not share.
    pub async fn on(api: &ApiServer, prefix: &str, options: Options<'_>) -> Estate {
        let client = api.client().await;
        let namespace = api.namespace(prefix).await;
        let class = format!("{prefix}-{}", random());
        objects::create(
            &client,
            &objects::class(&class, &["ns1.example.net.", "ns2.example.net."]),
        )
        .await;
        let pdns = Pdns::start(options).await;
        let recorder = Recorder::default();
        let to_pdns = Proxy::to_pdns(&pdns.url(), &recorder).await;
        let to_api = Proxy::to_apiserver(api, &recorder).await;
        let config =
            daemon::config(to_api.kubeconfig(), to_pdns.url(), pdns.key(), "test", &namespace)
                // Marks on zones that existed before must last this long; tests would wait for it.
                .with("powerdns.requestTimeout", json!("1s"))
                .with("powerdns.requestsPerSecond", json!(5000))
                .with("powerdns.burst", json!(5000));
        Estate { client, namespace, class, pdns, recorder, config, proxies: (to_pdns, to_api) }
    }

    /// A kubeconfig for the proxy before the API server, and the URL of the one before PowerDNS.
    pub fn proxies(&self) -> (&Path, &str) {
        (self.proxies.1.kubeconfig(), self.proxies.0.url())
    }

    /// The same world under another value of an option.
    pub fn reconfigured(mut self, path: &str, value: Value) -> Estate {
        self.config = self.config.with(path, value);
        self
    }

    /// Creates a DNSZone.
    pub async fn zone(&self, name: &str, domain: &str) -> Value {
        let zone = objects::zone(&self.namespace, name, domain, &self.class);
        objects::create(&self.client, &zone).await
    }

    /// Creates a DNSRecordSet.
    pub async fn set(&self, name: &str, zone: &str, rtype: &str, records: Value) -> Value {
        let set = objects::record_set(&self.namespace, name, zone, rtype, &records);
        objects::create(&self.client, &set).await
    }

    /// Creates a DNSRecordSet with A records, `name address`.
    pub async fn a(&self, name: &str, zone: &str, records: &[(&str, &str)]) -> Value {
        self.set(name, zone, "A", a_records(records)).await
    }

    /// A world whose server keeps comments: that of this run, or else one on sqlite.
    pub async fn noted(prefix: &str) -> Estate {
        let usual = Estate::new(prefix).await;
        if usual.pdns.keeps_comments() {
            return usual;
        }
        Estate::with(prefix, Options { backend: Backend::Sqlite, extra: Vec::new() }).await
    }

    /// Whether the test has to end here, since it is about notes and this server keeps no comments. Says so.
    pub fn has_no_notes(&self, what: &str) -> bool {
        let without = !self.pdns.keeps_comments();
        if without {
            println!("skipped: {what}: this server keeps no comments");
        }
        without
    }

    /// Changes an object's spec.
    pub async fn edit(&self, object: &Value, spec: Value) -> Value {
        objects::patch(&self.client, object, &json!({ "spec": spec })).await
    }

    /// Deletes an object.
    pub async fn delete(&self, object: &Value) {
        objects::delete(&self.client, object).await;
    }

    /// The object as it is now.
    pub async fn get(&self, object: &Value) -> Option<Value> {
        objects::get(&self.client, object).await
    }

    /// `Programmed` of an object: status, reason, message.
    pub async fn programmed(&self, object: &Value) -> (String, String, String) {
        let object = self.get(object).await.expect("the object exists");
        objects::condition(&object, "Programmed").expect("it has the condition")
    }

    /// One pass of the product that must leave everything served.
    pub async fn once(&self) -> Value {
        let output = daemon::once(&self.config).await;
        assert_eq!(output.code, Some(0), "{output:#?}");
        summary(&output)
    }

    /// One pass that must not.
    pub async fn once_failing(&self) -> Value {
        let output = daemon::once(&self.config).await;
        assert_eq!(output.code, Some(1), "{output:#?}");
        summary(&output)
    }

    /// Writes that reached a server since the last `recorder.clear()`.
    pub fn writes_to(&self, server: Server) -> Vec<Request> {
        self.recorder.writes().into_iter().filter(|r| r.server == server).collect()
    }

    /// Another pass must write nothing on either side.
    pub async fn assert_quiet(&self) {
        self.recorder.clear();
        self.once().await;
        let writes = self.recorder.writes();
        assert!(writes.is_empty(), "a pass with nothing to do wrote {writes:#?}");
    }
}

/// The summary of a command's last pass.
fn summary(output: &Output) -> Value {
    let line = output.stdout.lines().last().unwrap_or_default();
    serde_json::from_str(line).unwrap_or(Value::Null)
}

/// Entries of A records.
pub fn a_records(records: &[(&str, &str)]) -> Value {
    records.iter().map(|(name, ip)| json!({"name": name, "a": {"content": ip}})).collect()
}

/// A zone that somebody made by hand, with name servers of its own.
#[allow(clippy::needless_pass_by_value, reason = "json!(…) reads better without a borrow")]
pub fn native(name: &str, rrsets: Value) -> Value {
    json!({"name": name, "kind": "Native", "soa_edit_api": "DEFAULT",
           "nameservers": ["old.example.net."], "rrsets": rrsets})
}

/// An A RRset without a comment, for a zone or a PATCH.
pub fn rr(name: &str, content: &str) -> Value {
    json!({"name": name, "type": "A", "ttl": 300, "changetype": "REPLACE",
           "records": [{"content": content, "disabled": false}]})
}

/// What an API server answers to what RBAC does not allow.
pub fn forbidden() -> Action {
    Action::Answer(
        403,
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403,
               "message": "forbidden by test", "reason": "Forbidden"}),
    )
}

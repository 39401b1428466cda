//! The rights that the chart grants are those that the daemon uses, verb for verb: the daemon runs with the token of the
//! chart's `ServiceAccount`, a proxy writes down what it asks the API server for, and nothing of that may be forbidden.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::helm::{NEEDED, of_kind, only, template};
use crate::support::apiserver::{self, ApiServer};
use crate::support::daemon::{self, ConfigFile};
use crate::support::pdns::Pdns;
use crate::support::proxy::Proxy;
use crate::support::recorder::{Recorder, Request, Server};
use crate::support::{Folder, estate, objects, random, wait_for};

/// What a daemon of the whole cluster would read, without a write anywhere.
const EVERYWHERE: [&str; 3] = ["plan", "--set", "namespaces="];

/// API group, resource (with its subresource), verb.
type Right = (String, String, String);

/// What the roles of a rendering allow.
pub(crate) fn granted(documents: &[Value]) -> BTreeSet<Right> {
    let mut out = BTreeSet::new();
    let texts = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|t| t.as_str().unwrap().to_owned()).collect()
    };
    for kind in ["ClusterRole", "Role"] {
        for role in of_kind(documents, kind) {
            for rule in role["rules"].as_array().unwrap() {
                for group in texts(&rule["apiGroups"]) {
                    for resource in texts(&rule["resources"]) {
                        for verb in texts(&rule["verbs"]) {
                            out.insert((group.clone(), resource.clone(), verb));
                        }
                    }
                }
            }
        }
    }
    out
}

/// The right that a request needs: `/apis/GROUP/VERSION[/namespaces/NAMESPACE]/RESOURCE[/NAME[/SUBRESOURCE]]`.
fn needed(request: &Request) -> Right {
    let path = request.path.split('?').next().unwrap();
    let mut parts: Vec<&str> = path.trim_start_matches("/apis/").split('/').collect();
    let group = parts.remove(0);
    parts.remove(0);
    if parts[0] == "namespaces" {
        parts.drain(..2);
    }
    let verb = match (request.method.as_str(), parts.len()) {
        ("GET", 1) => "list",
        ("GET", _) => "get",
        ("POST", 1) => "create",
        ("PUT", 2) => "update",
        ("PATCH", 2 | 3) => "patch",
        ("DELETE", 2) => "delete",
        other => panic!("{other:?} {path}"),
    };
    let resource =
        if parts.len() == 3 { format!("{}/{}", parts[0], parts[2]) } else { parts[0].to_owned() };
    (group.to_owned(), resource, verb.to_owned())
}

/// A namespace, its own PowerDNS, and the daemon with the chart's `ServiceAccount`.
pub(crate) struct World {
    pub(crate) client: kube::Client,
    pub(crate) namespace: String,
    class: String,
    pub(crate) recorder: Recorder,
    pub(crate) config: ConfigFile,
    pub(crate) pdns: Pdns,
    proxies: (Proxy, Proxy),
    folder: Folder,
}

/// A configuration with the token of the documents' `ServiceAccount`, which it creates.
async fn with_account(
    namespace: &str,
    documents: &[Value],
    pdns: &Pdns,
    (to_pdns, to_api): &(Proxy, Proxy),
    folder: &Folder,
) -> ConfigFile {
    let api = ApiServer::shared();
    let account = only(documents, "ServiceAccount");
    objects::apply(&api.client().await, account).await;
    let account = account["metadata"]["name"].as_str().unwrap();
    let token = api.kubectl(&["create", "token", account, "--namespace", namespace]);
    let kubeconfig = apiserver::kubeconfig(to_api.url(), None, token.trim());
    let kubeconfig = folder.write(&format!("{account}.kubeconfig"), &kubeconfig);
    daemon::config(&kubeconfig, to_pdns.url(), pdns.key(), "test", namespace)
        .with("powerdns.requestTimeout", json!("1s"))
        .with("leaderElection", json!({"leaseNamespace": namespace}))
}

impl World {
    /// The `ServiceAccount` exists, and nothing is granted yet.
    pub(crate) async fn new(namespace: &str, documents: &[Value]) -> World {
        let api = ApiServer::shared();
        let client = api.client().await;
        let class = format!("rights-{}", random());
        objects::create(&client, &objects::class(&class, &["ns1.example.net."])).await;
        let (pdns, recorder) = (Pdns::sqlite().await, Recorder::default());
        let to_pdns = Proxy::to_pdns(&pdns.url(), &recorder).await;
        let to_api = Proxy::to_apiserver(api, &recorder).await;
        let proxies = (to_pdns, to_api);
        let folder = Folder::new("rights");
        let config = with_account(namespace, documents, &pdns, &proxies, &folder).await;
        World {
            client,
            namespace: namespace.to_owned(),
            class,
            recorder,
            config,
            pdns,
            proxies,
            folder,
        }
    }

    /// From now on commands have the `ServiceAccount` of these documents.
    pub(crate) async fn change(&mut self, documents: &[Value]) {
        let World { namespace, pdns, proxies, folder, .. } = &*self;
        self.config = with_account(namespace, documents, pdns, proxies, folder).await;
    }

    /// Binds the roles, and waits until they count: the authorizer follows in its own time.
    pub(crate) async fn grant(&self, documents: &[Value]) {
        self.grant_for(documents, &["once"]).await;
    }

    /// The same for a command.
    pub(crate) async fn grant_for(&self, documents: &[Value], command: &[&str]) {
        for kind in ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"] {
            for object in of_kind(documents, kind) {
                objects::apply(&self.client, object).await;
            }
        }
        wait_for("the rights count", Duration::from_secs(20), || async {
            let output = daemon::command(&self.config, command).await;
            (!output.stderr.contains("forbidden")).then_some(())
        })
        .await;
        // The next one creates it.
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "dns-syncd", "namespace": self.namespace}});
        objects::delete(&self.client, &lease).await;
    }

    pub(crate) async fn set(&self, name: &str, records: &[(&str, &str)]) -> Value {
        let records = estate::a_records(records);
        let set = objects::record_set(&self.namespace, name, "shop", "A", &records);
        objects::create(&self.client, &set).await
    }

    pub(crate) async fn pass(&self, what: &str) {
        let output = daemon::once(&self.config).await;
        assert_eq!(output.code, Some(0), "{what}: {output:#?}");
    }

    pub(crate) async fn zone(&self) -> Value {
        let zone = objects::zone(&self.namespace, "shop", "shop.example", &self.class);
        objects::create(&self.client, &zone).await
    }

    /// The life of a zone: everything that the daemon does in Kubernetes happens in it.
    async fn live(&self) {
        let zone = self.zone().await;
        let www = self.set("www", &[("www", "192.0.2.1")]).await;
        self.set("mail", &[("mail", "192.0.2.2")]).await;
        let gone = self.set("gone", &[("gone", "192.0.2.3")]).await;
        self.pass("created").await;
        let records = estate::a_records(&[("www", "192.0.2.9")]);
        objects::patch(&self.client, &www, &json!({"spec": {"records": records}})).await;
        // Its end is seen by nobody: the record goes after a live look alone.
        objects::patch(&self.client, &gone, &json!({"metadata": {"finalizers": null}})).await;
        objects::delete(&self.client, &gone).await;
        self.pass("edited, and one vanished").await;
        objects::delete(&self.client, &www).await;
        self.pass("deleted").await;
        assert_eq!(objects::get(&self.client, &www).await, None);
        // What is left in it is deleted by the daemon.
        objects::delete(&self.client, &zone).await;
        self.pass("the zone deleted").await;
        assert_eq!(objects::get(&self.client, &zone).await, None);
        // A zone whose DNSZone vanished is told of.
        let lost = objects::zone(&self.namespace, "lost", "lost.example", &self.class);
        let lost = objects::create(&self.client, &lost).await;
        self.pass("another zone").await;
        objects::patch(&self.client, &lost, &json!({"metadata": {"finalizers": null}})).await;
        objects::delete(&self.client, &lost).await;
        self.pass("the other zone vanished").await;
        // A nudge may name a zone that no pass has seen.
        let daemon = daemon::run(&self.config).await;
        let unknown = format!("30s&zone={}/nothing", self.namespace);
        let (status, answer) = wait_for("the lease is its", Duration::from_secs(30), || async {
            Some(daemon.nudge(&unknown).await).filter(|(status, _)| *status != 503)
        })
        .await;
        assert_eq!(status, 400, "{answer}");
    }

    /// What was asked of the API server and forbidden by it.
    pub(crate) fn forbidden(&self) -> Vec<Right> {
        let requests = self.recorder.requests().into_iter();
        requests.filter(|r| r.status == Some(403)).map(|r| needed(&r)).collect()
    }

    pub(crate) fn used(&self) -> BTreeSet<Right> {
        let requests = self.recorder.requests().into_iter();
        requests.filter(|r| r.server == Server::Kubernetes).map(|r| needed(&r)).collect()
    }
}

/// Takes away what belongs to the whole cluster, which all tests share.
pub(crate) async fn end(client: &kube::Client, documents: &[Value]) {
    for kind in ["ClusterRoleBinding", "ClusterRole"] {
        objects::delete(client, only(documents, kind)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_some_namespaces_the_rights_are_those_that_are_used() {
    let namespace = ApiServer::shared().namespace("rights").await;
    let set = format!("config.namespaces={{{namespace}}}");
    let documents = template(&namespace, &[&NEEDED[..], &["--set", &set]].concat());
    let world = World::new(&namespace, &documents).await;

    // Without the bindings it may do nothing, so what it can do later comes from them.
    assert_eq!(daemon::once(&world.config).await.code, Some(1));
    assert!(!world.forbidden().is_empty());

    world.grant(&documents).await;
    world.recorder.clear();
    world.live().await;
    assert_eq!(world.forbidden(), Vec::new());
    assert_eq!(world.used(), granted(&documents), "left: used; right: granted");

    // In the cluster the role grants nothing but what belongs to no namespace.
    world.recorder.clear();
    let output = daemon::command(&world.config, &EVERYWHERE).await;
    assert_eq!(output.code, Some(1), "{output:#?}");
    let refused = world.forbidden();
    assert!(refused.iter().any(|(_, resource, _)| resource == "dnsrecordsets"), "{refused:?}");
    end(&world.client, &documents).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_whole_cluster_the_rights_are_those_that_are_used() {
    let namespace = ApiServer::shared().namespace("rights").await;
    let documents = template(&namespace, &NEEDED);
    let role = only(&documents, "Role")["metadata"]["name"].as_str().unwrap();
    assert!(role.ends_with(":lease"), "{role}: what belongs to one namespace is the lease alone");
    let world = World::new(&namespace, &documents).await;
    world.grant(&documents).await;
    world.recorder.clear();
    // The daemon is kept to one namespace, because other tests have theirs on this server.
    world.live().await;
    assert_eq!(world.forbidden(), Vec::new());
    assert_eq!(world.used(), granted(&documents), "left: used; right: granted");

    // Reading goes everywhere.
    world.recorder.clear();
    let output = daemon::command(&world.config, &EVERYWHERE).await;
    let requests = world.recorder.requests();
    assert!(requests.iter().all(|r| r.status != Some(403)), "{output:#?}");
    // A long list comes in pages.
    let kubernetes = requests.iter().filter(|r| r.server == Server::Kubernetes);
    let everywhere: BTreeSet<String> = kubernetes
        .filter(|r| !r.path.contains("/namespaces/"))
        .map(needed)
        .filter(|(_, _, verb)| verb == "list")
        .map(|(_, resource, _)| resource)
        .collect();
    let kinds = ["dnsrecordsets", "dnszoneclasses", "dnszones"];
    assert!(everywhere.iter().eq(kinds.iter()), "{everywhere:?}");
    end(&world.client, &documents).await;
}

//! The real kube-apiserver that all tests share, with our CRDs in it.
//!
//! Its scripts are in `tests/env`; what tests do with its objects is in `objects.rs`.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::{Client, Config};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{install_tls, objects, random, root, wait_for};

/// How to reach the API server as its administrator.
#[derive(Deserialize)]
pub struct ApiServer {
    url: String,
    token: String,
    ca: PathBuf,
    kubeconfig: PathBuf,
    /// The script that runs the servers, if this process started it: it ends them when its standard input closes,
    /// which the kernel does when this process ends, however it ends.
    #[serde(skip)]
    script: Option<Child>,
}

impl ApiServer {
    /// The one API server of this test process: that of `TEST_APISERVER`, else started now (which may build it first).
    /// Our CRDs are applied and served.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<ApiServer> = OnceLock::new();
        SHARED.get_or_init(|| {
            let api = std::env::var("TEST_APISERVER")
                .map_or_else(|_| Self::start(), |line| serde_json::from_str(&line).unwrap());
            api.prepared()
        })
    }

    /// One that nobody shares, with our CRDs applied and served; starting it takes some five seconds.
    pub fn private() -> Self {
        Self::start().prepared()
    }

    fn prepared(self) -> Self {
        // A runtime of its own, because this may be called from within one, which cannot wait for another.
        let prepare = || {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap()
                .block_on(self.apply_crds());
        };
        std::thread::scope(|scope| scope.spawn(prepare).join()).expect("the CRDs are served");
        self
    }

    fn start() -> Self {
        let folder = root().join("target/test-run").join(format!("apiserver-{}", random()));
        let mut script = Command::new(root().join("tests/env/apiserver"));
        let mut script =
            script.arg(&folder).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(script.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let api: Self = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("tests/env/apiserver said {line:?}: {error}"));
        Self { script: Some(script), ..api }
    }

    /// Its base URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The administrator's bearer token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The file with the certificates that its own is signed by.
    pub fn ca(&self) -> &Path {
        &self.ca
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The text of a kubeconfig for another token, such as a service account's.
    pub fn kubeconfig_for(&self, token: &str) -> String {
        kubeconfig(&self.url, Some(&self.ca), token)
    }

    /// A client with the administrator's rights.
    pub async fn client(&self) -> Client {
        client(&self.kubeconfig).await
    }

    /// Creates a namespace `<prefix>-<random>` and returns its name.
    pub async fn namespace(&self, prefix: &str) -> String {
        let name = format!("{prefix}-{}", random());
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        objects::create(&self.client().await, &object).await;
        name
    }

    /// What kubectl prints; it must succeed.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        let bin = std::env::var_os("KUBEBUILDER_ASSETS")
            .map_or_else(|| root().join("target/test-env/bin"), PathBuf::from);
        let output = Command::new(bin.join("kubectl"))
            .args(arguments)
            .env("KUBECONFIG", &self.kubeconfig)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "kubectl {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// Applies `config/crd`. Test processes may do so at the same time: all apply the same with the same field manager.
    async fn apply_crds(&self) {
        let client = self.client().await;
        let mut files: Vec<PathBuf> = std::fs::read_dir(root().join("config/crd"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        assert!(!files.is_empty(), "config/crd is empty");
        for file in files {
            let crd: Value =
                serde_saphyr::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
            objects::apply(&client, &crd).await;
            wait_for("the CRD is established", Duration::from_secs(30), || async {
                let crd = objects::get(&client, &crd).await?;
                (objects::condition(&crd, "Established")?.0 == "True").then_some(())
            })
            .await;
            // Established comes a moment before the first list succeeds.
            let spec = &crd["spec"];
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            let gvk = GroupVersionKind {
                group: text(&spec["group"]),
                version: text(&spec["versions"][0]["name"]),
                kind: text(&spec["names"]["kind"]),
            };
            let api = objects::everywhere(&client, &gvk);
            wait_for("the CRD is served", Duration::from_secs(30), || async {
                api.list(&kube::api::ListParams::default().limit(1)).await.ok()
            })
            .await;
        }
    }
}

/// A client for a kubeconfig. It belongs to the runtime of the caller, so each test takes its own.
pub async fn client(kubeconfig: &Path) -> Client {
    install_tls();
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    Client::try_from(config.unwrap()).unwrap()
}

/// The text of a kubeconfig (JSON, which is YAML too) with one cluster and one bearer token.
pub fn kubeconfig(url: &str, ca: Option<&Path>, token: &str) -> String {
    let cluster = ca.map_or_else(
        || json!({"server": url}),
        |ca| json!({"server": url, "certificate-authority": ca}),
    );
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    })
    .to_string()
}

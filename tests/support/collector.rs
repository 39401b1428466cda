//! The real garbage collector and namespace controller of Kubernetes, on an API server of their own.
//!
//! The collector takes, in the whole cluster, what refers to owners that do not exist. Other tests make such references to
//! see what the daemon does with them, so it never runs beside the API server that they share.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::apiserver::ApiServer;
use super::process::{self, Process};
use super::root;

/// An API server with a collector.
pub struct Collector {
    /// The API server, with our CRDs.
    pub api: ApiServer,
    _manager: Process,
}

impl Collector {
    /// The one of this test process, started now if it is not running. It ends with the process.
    ///
    /// Where `kube-controller-manager` is missing it is built, which takes minutes once.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Collector> = OnceLock::new();
        SHARED.get_or_init(|| {
            let program = program();
            let api = ApiServer::private();
            let mut manager = start(&program, &api);
            // Before that it acts on nothing, and a test that sees nothing happen would take this for mercy.
            let begun = Instant::now();
            while !manager.stderr().contains("Proceeding to collect garbage") {
                let log = || manager_log(&manager);
                assert!(begun.elapsed() < Duration::from_mins(1), "it collects nothing: {}", log());
                if let Some(status) = manager.ended() {
                    panic!("kube-controller-manager: {status}: {}", manager_log(&manager));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            Collector { api, _manager: manager }
        })
    }
}

fn manager_log(manager: &Process) -> String {
    let log = manager.stderr();
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

/// The program: that of `KUBEBUILDER_ASSETS` or of an earlier build, else built now.
fn program() -> PathBuf {
    let mut build = Command::new(root().join("tests/env/build"));
    let build = build.arg("kube-controller-manager").stderr(Stdio::inherit());
    let output = build.output().expect("tests/env/build can be run");
    assert!(output.status.success(), "tests/env/build kube-controller-manager: {}", output.status);
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim()).join("kube-controller-manager")
}

fn start(program: &PathBuf, api: &ApiServer) -> Process {
    let mut command = process::command(program);
    command.arg("--kubeconfig").arg(api.kubeconfig()).args([
        "--controllers=garbage-collector-controller,namespace-controller",
        "--leader-elect=false",
        // It serves nothing.
        "--secure-port=0",
        // What a test waits for comes as fast as the API server answers.
        "--kube-api-qps=500",
        "--kube-api-burst=500",
    ]);
    // The folder of the API server goes with it.
    let folder = api.kubeconfig().parent().unwrap();
    Process::spawn("kube-controller-manager", command, folder)
}

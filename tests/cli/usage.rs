//! Commands that need no server, and what is said when one is missing.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::daemon::{self, Output};
use crate::support::{Folder, apiserver, root};

/// Runs the binary with an environment of these variables alone.
fn run(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_dns-syncd"))
        .args(arguments)
        .env_clear()
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Output { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn crds_are_those_of_the_repository() {
    let output = run(&["crds"], &[]);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    let documents = |text: &str| -> BTreeSet<String> {
        let parts = text.split("---\n").map(str::trim).filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect()
    };
    let mut files = BTreeSet::new();
    for file in std::fs::read_dir(root().join("config/crd")).unwrap() {
        files.extend(documents(&std::fs::read_to_string(file.unwrap().path()).unwrap()));
    }
    assert_eq!(files.len(), 3);
    assert_eq!(documents(&output.stdout), files);
}

#[test]
fn help_and_version_go_to_standard_output() {
    for arguments in
        [["--help"].as_slice(), &["-h"], &["help"], &["run", "--help"], &["help", "plan"]]
    {
        let output = run(arguments, &[]);
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(output.stdout.contains("Usage: dns-syncd"), "{arguments:?}: {}", output.stdout);
    }
    let help = run(&["--help"], &[]).stdout;
    for command in ["run", "once", "plan", "crds", "check-config"] {
        assert!(help.lines().any(|l| l.trim_start().starts_with(command)), "{command}: {help}");
    }
    let version = format!("dns-syncd {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(run(&["--version"], &[]).stdout, version);
}

#[test]
fn wrong_usage_is_told_from_failure() {
    for arguments in [
        [].as_slice(),
        &["nonsense"],
        &["run", "--nonsense"],
        &["run", "extra"],
        &["once", "--config"],
        &["crds", "--config", "x"],
        &["--nonsense"],
    ] {
        let output = run(arguments, &[]);
        assert_eq!((output.code, output.stdout.as_str()), (Some(64), ""), "{arguments:?}");
        assert!(output.stderr.contains("--help"), "{arguments:?}: {}", output.stderr);
    }
}

#[test]
fn a_right_configuration_is_said_to_be_right() {
    let environment = [("DNS_SYNCD_OWNER_ID", "cluster-a"), ("PDNS_API_KEY", "a-key-of-the-api")];
    let output = run(&["check-config"], &environment);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(output.stdout, "the configuration is right; ownerId is cluster-a\n");
    assert_eq!(output.stderr, "");
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let folder = Folder::new("check");
    let file = folder.write(
        "bad.yaml",
        "ownerId: Not Good\ninterval: 5\npowerdns:\n  requestTimeout: 1h\n  requestTimeuot: 1s\n  apiKey: the-secret\nlog: {level: loud}\n",
    );
    let file = file.to_str().unwrap();
    let environment = [("DNS_SYNCD_HTTP__LISTEN", "everywhere"), ("DNS_SYNCD_BURTS", "1")];
    let arguments = ["check-config", "--config", file, "--set", "powerdns.burst=0"];
    for command in ["check-config", "run", "once", "plan"] {
        let output = run(&[&[command], &arguments[1..]].concat(), &environment);
        assert_eq!((output.code, output.stdout.as_str()), (Some(64), ""), "{command}");
        let said = |words: &[&str]| {
            let found = output.stderr.lines().any(|l| words.iter().all(|word| l.contains(word)));
            assert!(found, "no line has all of {words:?}:\n{}", output.stderr);
        };
        said(&[&format!("{file}:1"), "ownerId", "Not Good", "1 to 63 characters"]);
        said(&[&format!("{file}:2"), "interval", "5", "a duration from 1s to 24h"]);
        said(&[&format!("{file}:4"), "powerdns.requestTimeout", "1h", "from 100ms to 10m"]);
        said(&[&format!("{file}:5"), "powerdns.requestTimeuot", "powerdns.requestTimeout"]);
        said(&[&format!("{file}:6"), "powerdns.apiKey", "powerdns.apiKeyFile"]);
        said(&[&format!("{file}:7"), "log.level", "loud", "`trace`"]);
        said(&["environment variable DNS_SYNCD_HTTP__LISTEN", "http.listen", "everywhere"]);
        said(&["environment variable DNS_SYNCD_BURTS"]);
        said(&["--set number 1", "powerdns.burst", "0", "a whole number from 1"]);
        assert!(!output.stderr.contains("the-secret"), "{}", output.stderr);
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let output = run(&["check-config", "--config", "/nowhere/x.yaml"], &[]);
    assert_eq!(output.code, Some(64));
    assert!(output.stderr.contains("failed to read /nowhere/x.yaml: No such file"), "{output:?}");
}

#[test]
fn without_a_cluster_the_remedy_is_named() {
    let folder = Folder::new("no-cluster");
    let environment = [
        ("DNS_SYNCD_OWNER_ID", "a"),
        ("PDNS_API_KEY", "k"),
        ("DNS_SYNCD_HTTP__LISTEN", "127.0.0.1:0"),
    ];
    let missing = folder.path().join("missing");
    let kubeconfig = [("KUBECONFIG", missing.to_str().unwrap())];
    for environment in [environment.to_vec(), [environment.as_slice(), &kubeconfig].concat()] {
        for command in ["run", "once", "plan"] {
            let output = run(&[command], &environment);
            assert_eq!(output.code, Some(64), "{command}: {output:?}");
            let said = ["failed to find the cluster's address", "KUBECONFIG"];
            assert!(said.iter().all(|s| output.stderr.contains(s)), "{command}: {output:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_does_not_answer_is_no_success() {
    let folder = Folder::new("silent-cluster");
    let nobody = format!("http://127.0.0.1:{}", crate::support::port());
    let kubeconfig = folder.write("kubeconfig", &apiserver::kubeconfig(&nobody, None, "token"));
    let config =
        daemon::config(&kubeconfig, &nobody, "key", "test", "ns").with("log.format", json!("json"));
    for command in ["once", "plan"] {
        let output = daemon::command(&config, &[command]).await;
        assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""), "{output:?}");
        for said in ["the cluster's state could not be read", "Connection refused"] {
            assert!(output.stderr.contains(said), "{output:?}");
        }
    }
}

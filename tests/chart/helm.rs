//! helm as a process, and the documents that it renders.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

use crate::support::root;

/// The two values that every installation needs.
pub(crate) const NEEDED: [&str; 2] =
    ["--set", "config.ownerId=test,secrets.apiKey.existingSecret=powerdns-api"];

/// The chart's folder.
pub(crate) fn chart() -> PathBuf {
    root().join("charts/dns-syncd")
}

/// The text of a file of the chart.
pub(crate) fn file(name: &str) -> String {
    std::fs::read_to_string(chart().join(name)).unwrap()
}

/// The example values, sorted.
pub(crate) fn examples() -> Vec<PathBuf> {
    let files = std::fs::read_dir(chart().join("examples")).unwrap();
    let mut files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 4, "{files:?}");
    files
}

/// The pinned helm, built now if it is not there.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let mut build = Command::new(root().join("tests/env/build"));
        let output = build.arg("helm").stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Path::new(String::from_utf8(output.stdout).unwrap().trim()).join("helm")
    })
}

/// Runs helm: what it prints, or what it says if it fails. `kubeconfig` is for the commands that ask a cluster.
pub(crate) fn run(arguments: &[&str], kubeconfig: Option<&Path>) -> Result<String, String> {
    let mut command = Command::new(program());
    command.args(arguments).env_clear().stdin(Stdio::null());
    // It reads its home and writes nothing there; a home of the caller's could hold plugins.
    command.env("HOME", root().join("target/test-run/no-home"));
    if let Some(kubeconfig) = kubeconfig {
        command.env("KUBECONFIG", kubeconfig);
    }
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// The documents of a release `dns-syncd` in a namespace, or what helm says if it refuses.
pub(crate) fn try_template(namespace: &str, values: &[&str]) -> Result<Vec<Value>, String> {
    let chart = chart();
    let arguments = ["template", "dns-syncd", chart.to_str().unwrap(), "--namespace", namespace];
    let text = run(&[&arguments, values].concat(), None)?;
    Ok(serde_saphyr::from_multiple::<Value>(&text).unwrap_or_else(|e| panic!("{e}:\n{text}")))
}

/// The same; helm must accept the values.
#[track_caller]
pub(crate) fn template(namespace: &str, values: &[&str]) -> Vec<Value> {
    try_template(namespace, values).unwrap_or_else(|error| panic!("{values:?}: {error}"))
}

/// The documents of a kind.
pub(crate) fn of_kind<'a>(documents: &'a [Value], kind: &str) -> Vec<&'a Value> {
    documents.iter().filter(|document| document["kind"] == kind).collect()
}

/// The one document of a kind.
#[track_caller]
pub(crate) fn only<'a>(documents: &'a [Value], kind: &str) -> &'a Value {
    let [document] = of_kind(documents, kind).try_into().expect(kind);
    document
}

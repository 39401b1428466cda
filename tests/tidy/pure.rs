//! Rules of purity: the middle of the program does no I/O, is not async, reads no clock, logs nothing, counts nothing and
//! keeps no order by chance; and who waits or reads a clock says so on top.

use super::Finding;
use super::scan::{code, paths};

const PURE: [&str; 7] = [
    "src/dns/",
    "src/plan/",
    "src/api/",
    "src/config/",
    "src/lease/identity.rs",
    "src/lease/record.rs",
    "src/powerdns/wire.rs",
];

/// What the pure modules never name: a path, or one segment of any path.
const BANNED: [&str; 30] = [
    "async",
    "await",
    "std::fs",
    "std::env",
    "std::process",
    "std::thread",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    // Addresses are data and come from `std::net` too; these reach the network.
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "ToSocketAddrs",
    "SystemTime",
    "Instant",
    "jiff::Timestamp::now",
    "Timestamp::now",
    "Zoned::now",
    "HashMap",
    "HashSet",
    "tokio",
    "tokio_cron_scheduler",
    "tokio_util",
    "reqwest",
    "axum",
    "governor",
    "tracing",
    "prometheus",
    "kube::Client",
    "kube::client",
];

/// The scheduler's own parser decides what a cron expression is; it parses and starts nothing.
const ALLOWED: [(&str, &str); 1] = [("src/config/value.rs", "tokio_cron_scheduler")];

/// How a module says that it waits or reads a clock.
pub(crate) const DECLARATION: &str = "[expect(clippy::disallowed_methods";

/// The modules that do.
pub(crate) const IMPURE: [&str; 9] = [
    "src/admin/listen.rs",
    "src/admin/stall.rs",
    "src/cli/once.rs",
    "src/fence.rs",
    "src/lease/mod.rs",
    "src/metrics/mod.rs",
    "src/schedule.rs",
    "src/sync.rs",
    "src/trigger.rs",
];

pub(crate) fn is_pure(file: &str) -> bool {
    PURE.iter().any(|pure| file.starts_with(pure))
}

fn names(path: &str, banned: &str) -> bool {
    if banned.contains("::") {
        return path == banned || path.strip_prefix(banned).is_some_and(|r| r.starts_with("::"));
    }
    path.split("::").any(|segment| segment == banned)
}

pub(crate) fn impurities(file: &str, text: &str) -> Vec<Finding> {
    let mut out = Vec::new();
    for (line, path) in paths(&code(text)) {
        for banned in BANNED.into_iter().filter(|b| names(&path, b)) {
            if !ALLOWED.contains(&(file, banned)) {
                out.push((line, format!("a pure module names `{banned}`: {path}")));
            }
        }
    }
    out
}

/// A declaration where none belongs, or one that silences the lint without a reason to check.
pub(crate) fn undeclared_impurity(file: &str, text: &str) -> Vec<Finding> {
    let code = code(text);
    let lines = code.lines().enumerate();
    let silenced = lines.filter(|(_, l)| {
        l.contains("clippy::disallowed_methods") || l.contains("clippy::disallowed_types")
    });
    silenced
        .filter(|(_, l)| !(IMPURE.contains(&file) && l.contains(DECLARATION)))
        .map(|(at, _)| (at + 1, "waits or reads a clock, and is not on the list".to_owned()))
        .collect()
}

#[test]
fn impurity_is_found_wherever_it_hides() {
    for bad in [
        "async fn f() {}",
        "let x = g().await;",
        "std::fs::read(path)",
        "use std::{fmt, fs};",
        "use std::env::{self};",
        "tokio::spawn(f)",
        "use tokio::sync::Mutex;",
        "reqwest::get(url)",
        "tracing::info!(x)",
        "use kube::Client;",
        "use kube::{api::Api, Client};",
        "SystemTime::now()",
        "std::time::Instant::now()",
        "use std::collections::{BTreeMap, HashMap};",
        "let s: HashSet<u8> = x;",
        "prometheus::IntCounter::new()",
        "std::net::TcpStream::connect(a)",
        "use tokio_cron_scheduler::Job;",
        "jiff::Timestamp::now()",
    ] {
        let found = impurities("src/plan/x.rs", &format!("//! X.\n\n{bad}\n"));
        assert!(found.iter().any(|(line, _)| *line == 3), "{bad}: {found:?}");
    }
    let good = "//! async std::fs\n// tokio\nlet x = \"reqwest\"; use std::net::Ipv4Addr;\nuse kube::CustomResource;";
    assert_eq!(impurities("src/api/x.rs", good), Vec::new());
    let cron = "use tokio_cron_scheduler::JobBuilder;";
    assert_eq!(impurities("src/config/value.rs", cron), Vec::new());
    assert!(is_pure("src/powerdns/wire.rs") && !is_pure("src/powerdns/client.rs"));
}

#[test]
fn a_silenced_lint_is_found() {
    let text = "#![expect(clippy::disallowed_methods, reason = \"x\")]";
    assert_eq!(undeclared_impurity("src/sync.rs", text), Vec::new());
    assert_eq!(undeclared_impurity("src/plan/mod.rs", text).len(), 1);
    let allowed = "\n#![allow(clippy::disallowed_types, reason = \"x\")]";
    assert_eq!(undeclared_impurity("src/sync.rs", allowed)[0].0, 2);
}

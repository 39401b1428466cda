//! Who may name whom: the arrows of `src/lib.rs`.

use super::Finding;
use super::scan::{code, paths};

/// Each module of the crate, in the order of `lib.rs`, with the modules that it may name besides itself.
pub(crate) const MODULES: [(&str, &[&str]); 16] = [
    ("admin", &["api", "cluster", "dns", "lease", "metrics", "plan", "sync", "trigger"]),
    ("api", &["dns"]),
    (
        "cli",
        &[
            "admin",
            "api",
            "cluster",
            "config",
            "dns",
            "fence",
            "lease",
            "metrics",
            "offline",
            "plan",
            "powerdns",
            "schedule",
            "sync",
            "telemetry",
            "trigger",
        ],
    ),
    ("cluster", &["api", "fence", "metrics", "plan"]),
    ("config", &[]),
    ("dns", &[]),
    ("fence", &["config"]),
    ("lease", &["cluster", "config", "fence", "metrics"]),
    // Counters take their figures from a pass's summary.
    ("metrics", &["api", "plan"]),
    ("offline", &["api", "dns", "metrics", "plan", "powerdns", "sync"]),
    ("plan", &["api", "dns"]),
    ("powerdns", &["api", "config", "dns", "fence", "metrics", "plan"]),
    ("schedule", &["config", "trigger"]),
    ("sync", &["cluster", "dns", "metrics", "plan", "powerdns"]),
    ("telemetry", &["config"]),
    ("trigger", &["metrics", "plan", "sync"]),
];

/// The top-level module that a file belongs to: `src/plan/diff.rs` and `src/plan.rs` to `plan`.
fn module(file: &str) -> &str {
    let inside = file.strip_prefix("src/").unwrap_or(file);
    inside.split('/').next().unwrap_or(inside).trim_end_matches(".rs")
}

/// How many modules deep a file is: `src/sync.rs` and `src/plan/mod.rs` 1, `src/plan/diff.rs` 2.
fn depth(file: &str) -> usize {
    let parts = file.trim_start_matches("src/").trim_end_matches("/mod.rs");
    parts.split('/').count()
}

/// The top-level module that a path leads to from a file.
fn target<'a>(file: &str, path: &'a str) -> Option<&'a str> {
    let segments: Vec<&str> = path.split("::").collect();
    let supers = segments.iter().take_while(|s| **s == "super").count();
    let crate_root = segments.first() == Some(&"crate") || (supers > 0 && supers == depth(file));
    crate_root.then(|| segments.get(supers.max(1)).copied()).flatten()
}

/// Names of modules that stand above, or beside where neither may see the other.
pub(crate) fn upward(file: &str, text: &str) -> Vec<Finding> {
    let own = module(file);
    let Some((_, allowed)) = MODULES.iter().find(|(module, _)| *module == own) else {
        // `lib.rs` is the map, `main.rs` the top.
        return Vec::new();
    };
    let known = |name: &str| MODULES.iter().any(|(module, _)| *module == name);
    let found = paths(&code(text)).into_iter().filter_map(|(line, path)| {
        let named = target(file, &path)?;
        let wrong = known(named) && named != own && !allowed.contains(&named);
        wrong.then(|| (line, format!("`{own}` must not name `{named}`: {path}")))
    });
    found.collect()
}

#[test]
fn an_arrow_that_points_up_is_found() {
    for (file, bad) in [
        ("src/cluster/client.rs", "use crate::powerdns::Client;"),
        ("src/cluster/mod.rs", "use super::powerdns;"),
        ("src/powerdns/client.rs", "crate::cluster::Client::new()"),
        ("src/powerdns/wire.rs", "use crate::{cluster, plan::Plan};"),
        ("src/plan/diff.rs", "use super::super::powerdns::wire;"),
        ("src/plan/mod.rs", "use crate::cluster;"),
        ("src/dns/name.rs", "use crate::api::Meta;"),
        ("src/dns/rdata/mod.rs", "use super::super::plan;"),
        ("src/api/object.rs", "use crate::plan::Plan;"),
        ("src/config/mod.rs", "use crate::dns;"),
        ("src/sync.rs", "use super::trigger::Trigger;"),
    ] {
        let found = upward(file, &format!("\n{bad}\n"));
        assert!(found.first().is_some_and(|(line, _)| *line == 2), "{file}: {bad}: {found:?}");
    }
    for (file, good) in [
        ("src/api/object.rs", "use crate::dns::name::Name;"),
        ("src/plan/diff.rs", "use super::note::Note; use crate::{api, dns::name::Name};"),
        ("src/dns/rdata/mod.rs", "use super::name; use crate::dns::zone;"),
        ("src/cluster/mod.rs", "// crate::powerdns\nuse crate::plan::Plan;"),
    ] {
        assert_eq!(upward(file, good), Vec::new(), "{file}: {good}");
    }
}

#[test]
fn the_table_has_no_circle() {
    // A module whose arrows all lead to removed ones is removed; what is left goes round in circles.
    let mut left: Vec<_> = MODULES.to_vec();
    while let Some(at) = left
        .iter()
        .position(|(_, named)| named.iter().all(|n| !left.iter().any(|(module, _)| module == n)))
    {
        left.remove(at);
    }
    assert!(left.is_empty(), "{left:?}");
}

//! Rules about places: the repository is the same on every machine, so it names no folder and no server of one.

use super::Finding;

/// Folders that one machine has, in two pieces each, because this file is read too.
const FOLDERS: [&str; 4] =
    [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];

/// Hosts that any reader may know.
const HOSTS: [&str; 14] = [
    "github.com",
    "docs.rs",
    "crates.io",
    "www.rust-lang.org",
    "www.apache.org",
    "www.powerdns.com",
    "doc.powerdns.com",
    "kubernetes.io",
    "json-schema.org",
    "datatracker.ietf.org",
    "www.rfc-editor.org",
    "www.iana.org",
    "keepachangelog.com",
    "semver.org",
];

/// Whether a URL's host says nothing about a machine: loopback, a documentation name (RFC 2606, RFC 6761), a name
/// within a cluster, a word without a dot.
fn is_nobodys(host: &str) -> bool {
    !host.contains('.')
        || HOSTS.contains(&host)
        || ["127.", "10.", "192.0.2.", "198.51.100.", "203.0.113."]
            .iter()
            .any(|p| host.starts_with(p))
        || [".example", ".invalid", ".test", ".svc", ".svc.cluster.local"]
            .iter()
            .any(|s| host.ends_with(s))
        || [".example.com", ".example.net", ".example.org"]
            .iter()
            .any(|s| format!(".{host}").ends_with(s))
}

pub(crate) fn places(text: &str) -> Vec<Finding> {
    let mut out = Vec::new();
    for (at, line) in text.lines().enumerate() {
        for folder in FOLDERS.into_iter().filter(|folder| line.contains(folder)) {
            out.push((at + 1, format!("`{folder}` is a folder of one machine")));
        }
        for (found, scheme) in line.match_indices("://") {
            let host: String = line[found + scheme.len()..]
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || ".-".contains(*c))
                .collect();
            let host = host.trim_end_matches('.');
            if !is_nobodys(host) {
                out.push((at + 1, format!("the host {host} is known to nobody else")));
            }
        }
    }
    out
}

/// Packages from anywhere but the public index.
pub(crate) fn other_registries(lock: &str) -> Vec<Finding> {
    const INDEX: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    let sources = lock.lines().enumerate().filter(|(_, l)| l.starts_with("source = "));
    let other = sources.filter(|(_, line)| *line != INDEX);
    other.map(|(at, line)| (at + 1, line.to_owned())).collect()
}

#[test]
fn places_of_one_machine_are_found() {
    for bad in [
        concat!("cd /wo", "rk/main"),
        concat!("/ho", "me/me/x"),
        concat!("GOPROXY=https:/", "/proxy.golang.org"),
        concat!("registry+https:/", "/crates.corp.internal/index"),
    ] {
        assert_eq!(places(&format!("\n{bad}"))[0].0, 2, "{bad}");
    }
    for good in [
        "http://127.0.0.1:8081",
        "https://github.com/x",
        "http://user@host/x",
        "https://pdns.dns.svc:8081.",
        "https://www.example.org/",
        "http://a.example",
        "x://",
    ] {
        assert_eq!(places(good), Vec::new(), "{good}");
    }
}

#[test]
fn another_registry_is_found() {
    let good = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
    assert_eq!(other_registries(good), Vec::new());
    for bad in ["source = \"git+https://github.com/x/y#1\"", "source = \"registry+https://x/\""] {
        assert_eq!(other_registries(&format!("{good}{bad}"))[0].0, 2, "{bad}");
    }
}

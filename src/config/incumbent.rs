//! The configuration file of dns-operator v0.6.8 (`kind: DNSOperator`), so that who moves over can keep it: what means
//! something here is taken, what means nothing is said, and what it never knew is refused as it refused it.

use super::document::{Entry, Node};
use super::keys::{self, Key};
use super::layers::Setting;
use super::problem::{Error, Origin};

/// Its options by path, each with ours that means the same, or with what became of it.
const OPTIONS: [(&str, Result<&Key, &str>); 10] = [
    ("apiVersion", Err("")),
    ("kind", Err("")),
    ("controllers.dnsRecordSetPowerDNS.maxConcurrentReconciles", Ok(&keys::POWERDNS_CONCURRENCY)),
    ("controllers.dnsRecordSetPowerDNS.rateLimiterBaseDelay", Err(WAITS)),
    ("controllers.dnsRecordSetPowerDNS.rateLimiterMaxDelay", Err(WAITS)),
    ("discovery", Err(REPLICATOR)),
    ("downstreamResourceManagement", Err(REPLICATOR)),
    ("metricsServer", Err(LISTENER)),
    ("webhookServer", Err(LISTENER)),
    ("metadata", Err("")),
];
const WAITS: &str = "waits after failures are doubled from 1 s, up to 5 min a zone and 1 h a name";
const REPLICATOR: &str = "it is the replicator's, which goes on with its own file";
const LISTENER: &str = "metrics are served on http.listen, and there is no webhook";

/// Whether a file is the incumbent's.
pub(super) fn is_its_file(entries: &[Entry]) -> bool {
    let kind = |e: &Entry| matches!(&e.node, Node::Scalar(text) if text == "DNSOperator");
    entries.iter().any(|e| e.key == "kind" && kind(e))
}

/// What its file says.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) set: Vec<(&'static Key, Setting)>,
    /// What has no effect, one line each.
    pub(super) notices: Vec<String>,
    pub(super) problems: Vec<Error>,
}

/// Reads its file.
pub(super) fn read(path: &str, entries: Vec<Entry>) -> Found {
    let mut found = Found::default();
    section(path, "", entries, &mut found);
    found
}

fn section(file: &str, prefix: &str, entries: Vec<Entry>, found: &mut Found) {
    for Entry { key, line, node } in entries {
        let path = format!("{prefix}{key}");
        let origin = Origin::File { path: file.to_owned(), line };
        let known = OPTIONS.iter().find(|(known, _)| *known == path).map(|(_, meaning)| meaning);
        match (known, node) {
            (Some(Ok(option)), Node::Scalar(text)) => {
                found.notices.push(format!("{origin}: {path} is {} here", option.path));
                found.set.push((option, Setting { text, origin }));
            }
            (Some(Err(why)), _) => {
                let said = format!("{origin}: {path} has no effect here: {why}");
                found.notices.extend((!why.is_empty()).then_some(said));
            }
            (_, Node::Null) => {}
            (None, Node::Map(entries)) if "controllers.dnsRecordSetPowerDNS".starts_with(&path) => {
                section(file, &format!("{path}."), entries, found);
            }
            (Some(Ok(_)) | None, Node::Scalar(_) | Node::List(_) | Node::Map(_)) => {
                let problem = "is nothing that a DNSOperator file has";
                found.problems.push(Error::new(origin, Some(&path), problem));
            }
        }
    }
}

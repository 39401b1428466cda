//! The command line: its words, and what every command that talks to servers has to set up.

pub mod check_config;
pub mod cleanup;
pub mod completions;
pub mod crds;
pub mod explain;
pub mod import;
pub mod manifests;
pub mod once;
pub mod plan;
mod progress;
pub mod run;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use reqwest::Certificate;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::api::manifest::Faults;
use crate::cluster::Reporter;
use crate::config::{ApiKey, Config, Errors, Interval, Secret, Sources};
use crate::fence::Fence;
use crate::lease::Terms;
use crate::lease::identity::identity;
use crate::lease::record::Claim;
use crate::metrics::Metrics;
use crate::plan::batch::Limits;
use crate::plan::brakes::Brakes;
use crate::plan::{Memory, Policy};
use crate::powerdns::{Key, Limiter, Options};
use crate::sync::Syncer;
use crate::{cluster, powerdns};

/// Exit code: something failed or is held.
pub const FAILED: u8 = 1;
/// Exit code of `plan`: PowerDNS differs from what is declared.
pub const DIFFERS: u8 = 2;
/// Exit code: wrong usage or configuration (`EX_USAGE`).
pub const USAGE: u8 = 64;

/// Keeps PowerDNS equal to what Kubernetes resources declare.
#[derive(Debug, Parser)]
#[command(version, about)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// How an explanation is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON object.
    Json,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run as a daemon: a pass at every interval and on every nudge.
    Run(Settings),
    /// Make one pass and exit: 0 if everything declared is served, 1 if something failed or is held.
    Once {
        /// What is asked.
        #[command(flatten)]
        asked: once::Asked,
        /// Configuration.
        #[command(flatten)]
        settings: Settings,
    },
    /// Show what a pass would do, and write nothing: 0 nothing, 2 differences, 1 something cannot be served.
    Plan {
        /// What is asked.
        #[command(flatten)]
        asked: plan::Asked,
        /// Configuration.
        #[command(flatten)]
        settings: Settings,
    },
    /// Explain a name: who declares it, who won, what PowerDNS holds, what DNS answers, what the next pass does.
    Explain {
        /// What is to be explained.
        #[command(flatten)]
        asked: explain::Asked,
        /// Configuration.
        #[command(flatten)]
        settings: Settings,
    },
    /// Print a zone of PowerDNS as a DNSZone and DNSRecordSets, which plan to no difference: 0, 1 if there is none.
    Import {
        /// What is to be imported.
        #[command(flatten)]
        asked: import::Asked,
        /// Configuration.
        #[command(flatten)]
        settings: Settings,
    },
    /// Take our finalizers off all objects, to uninstall; no daemon may run. 0 if nothing is left, 1 otherwise.
    Cleanup {
        /// What else is to go.
        #[command(flatten)]
        asked: cleanup::Asked,
        /// Configuration.
        #[command(flatten)]
        settings: Settings,
    },
    /// Print a shell's completions.
    Completions {
        /// The shell.
        shell: completions::For,
    },
    /// Print the CustomResourceDefinitions.
    Crds {
        /// With rules that refuse a change of recordType, dnsZoneRef or dnsZoneClassName.
        #[arg(long)]
        immutable: bool,
    },
    /// Check the configuration: 0 if it is right, 64 with every error otherwise.
    CheckConfig(Settings),
}

/// Where the configuration comes from.
#[derive(Debug, Args)]
pub struct Settings {
    /// Configuration file.
    #[arg(long, short, value_name = "FILE", env = "DNS_SYNCD_CONFIG")]
    pub config: Option<PathBuf>,
    /// Sets one option, over file and environment.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub set: Vec<String>,
}

/// Why a command could not begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The file cannot be read.
    #[error("failed to read {path}: {source}")]
    File {
        /// Its path.
        path: String,
        /// The system's word.
        source: std::io::Error,
    },
    /// The configuration is wrong.
    #[error("{0}")]
    Config(#[from] Errors),
    /// Manifests are not what an API server would take.
    #[error("nothing is begun with these manifests:\n{0}")]
    Manifests(#[from] Faults),
    /// No cluster is configured.
    #[error("failed to find the cluster's address: {0}; set KUBECONFIG, or run in a pod")]
    Kubeconfig(Box<dyn std::error::Error + Send + Sync>),
    /// A client cannot be set up.
    #[error("failed to set up {what}: {why}")]
    Setup {
        /// What.
        what: &'static str,
        /// Why.
        why: String,
    },
}

impl Settings {
    /// Loads the configuration.
    ///
    /// # Errors
    /// If the file cannot be read or anything in it is wrong; every error at once.
    pub fn load(&self, env: &BTreeMap<String, String>) -> Result<Config, StartError> {
        let file = match &self.config {
            None => None,
            Some(path) => {
                let shown = path.display().to_string();
                let text = std::fs::read_to_string(path)
                    .map_err(|source| StartError::File { path: shown.clone(), source })?;
                Some((shown, text))
            }
        };
        let file = file.as_ref().map(|(path, text)| (path.as_str(), text.as_str()));
        Ok(Config::load(&Sources { file, env, flags: &self.set })?)
    }
}

/// The fence for what this configuration writes, and whether it needs the lease at all: what writes nothing needs none.
#[must_use]
pub fn fence(config: &Config) -> (Fence, bool) {
    let needed = config.leader_election.enabled && !config.dry_run;
    (if needed { Fence::shut() } else { Fence::default() }, needed)
}

/// Sets up both clients for a configuration. Nothing is sent yet.
///
/// # Errors
/// If no cluster is configured or a client cannot be built.
pub async fn syncer(
    config: &Config,
    fence: &Fence,
    stop: &CancellationToken,
) -> Result<Syncer, StartError> {
    let failed = |what, why: String| StartError::Setup { what, why };
    let metrics = Metrics::new().map_err(|e| failed("metrics", e.to_string()))?;
    if config.metrics_per_zone {
        metrics.per_zone().map_err(|e| failed("metrics.perZone", e.to_string()))?;
    }
    let metrics = Arc::new(metrics);
    settings(config, &metrics);
    let kube = kube::Config::infer().await.map_err(|e| StartError::Kubeconfig(Box::new(e)))?;
    let kube =
        kube::Client::try_from(kube).map_err(|e| failed("the cluster's client", e.to_string()))?;
    let kubernetes = &config.kubernetes;
    let pace = (kubernetes.writes_per_second, kubernetes.burst);
    let cluster =
        cluster::Client::new(kube, pace, kubernetes.concurrency, metrics.clone(), stop.clone())
            .fenced(fence.clone(), config.leader_election.write_timeout());
    let powerdns = server(config, metrics.clone(), stop)?.fenced(fence.clone());
    let (election, pod) = (&config.leader_election, &config.pod);
    let namespace = election.lease_namespace.as_ref().or(pod.namespace.as_ref());
    let reporter = Reporter {
        instance: pod.name.clone().unwrap_or_else(|| "dns-syncd".to_owned()),
        namespace: namespace.cloned().unwrap_or_else(|| cluster.namespace().to_owned()),
        lease: election.lease_name.clone(),
    };
    let pdns = &config.powerdns;
    Ok(Syncer {
        cluster,
        powerdns,
        policy: policy(config),
        limits: limits(config),
        concurrency: pdns.concurrency,
        reporter,
        clock: Metrics::now,
        chance: rand::random::<f64>,
        metrics,
        memory: Mutex::new(Memory::default()),
    })
}

/// Sets up the client of PowerDNS alone. Nothing is sent yet.
///
/// # Errors
/// If it cannot be built.
pub fn server(
    config: &Config,
    metrics: Arc<Metrics>,
    stop: &CancellationToken,
) -> Result<powerdns::Client, StartError> {
    let pdns = &config.powerdns;
    let options = Options {
        url: pdns.url.clone(),
        server_id: pdns.server_id.clone(),
        key: match &pdns.api_key {
            ApiKey::Inline(secret) => Key::Inline(secret.clone()),
            ApiKey::File(path) => Key::File(path.clone()),
            ApiKey::Missing => Key::Inline(Secret::new(String::new())),
        },
        authorities: pdns.ca_file.as_deref().map(authorities).transpose()?,
        request_timeout: pdns.request_timeout,
    };
    if travels_in_clear(&pdns.url) {
        tracing::warn!(
            url = pdns.url,
            "the API key travels in clear to another host: use https, or a server beside the daemon"
        );
    }
    let limiter = Limiter::new(pdns.requests_per_second, pdns.burst, pdns.concurrency);
    powerdns::Client::new(options, limiter, metrics, stop.clone())
        .map_err(|e| StartError::Setup { what: "the PowerDNS client", why: innermost(&e) })
}

/// The certificates of a PEM file.
fn authorities(path: &Path) -> Result<Vec<Certificate>, StartError> {
    let shown = path.display().to_string();
    let text =
        std::fs::read(path).map_err(|source| StartError::File { path: shown.clone(), source })?;
    let found = Certificate::from_pem_bundle(&text).ok().filter(|all| !all.is_empty());
    found.ok_or(StartError::Setup {
        what: "powerdns.caFile",
        why: format!("{shown} has no PEM certificate"),
    })
}

/// Whether whoever is on the way can read what is sent there: plain HTTP to what is not this host itself.
fn travels_in_clear(url: &str) -> bool {
    let host = url.strip_prefix("http://").and_then(|rest| rest.split(['/']).next());
    host.is_some_and(|host| {
        // The colons of an IPv6 address are within its brackets.
        let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, _)) => address,
            None => host.rsplit_once(':').map_or(host, |(name, _)| name),
        };
        let here = |ip: std::net::IpAddr| ip.is_loopback();
        name != "localhost" && !name.parse().is_ok_and(here)
    })
}

/// Shows the numbers by which a daemon's pace is judged.
#[expect(clippy::cast_precision_loss, reason = "no option has numbers that large")]
fn settings(config: &Config, metrics: &Metrics) {
    let (pdns, kubernetes) = (&config.powerdns, &config.kubernetes);
    for (option, value) in [
        ("powerdns.requestsPerSecond", f64::from(pdns.requests_per_second.get())),
        ("powerdns.burst", f64::from(pdns.burst.get())),
        ("powerdns.concurrency", pdns.concurrency as f64),
        ("powerdns.requestTimeout", pdns.request_timeout.as_secs_f64()),
        ("kubernetes.writesPerSecond", f64::from(kubernetes.writes_per_second.get())),
        ("kubernetes.burst", f64::from(kubernetes.burst.get())),
        ("kubernetes.concurrency", kubernetes.concurrency as f64),
    ] {
        metrics.setting(option, value);
    }
    if let Interval::Every(interval) = &config.interval {
        metrics.setting("interval", interval.as_secs_f64());
    }
}

/// How this process would hold the lease; others reach it at `address`.
fn terms(config: &Config, syncer: &Syncer, address: Option<&str>) -> Terms {
    let election = &config.leader_election;
    let Reporter { instance, namespace, lease } = syncer.reporter.clone();
    Terms {
        namespace,
        name: lease,
        claim: Claim {
            identity: identity(&instance, rand::random(), address),
            duration: election.lease_duration,
        },
        renew_deadline: election.renew_deadline,
        retry_period: election.retry_period,
        aftermath: config.powerdns.request_timeout,
    }
}

/// What happened; the outer layers only name themselves.
fn innermost(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), innermost)
}

/// How large a request may be.
fn limits(config: &Config) -> Limits {
    let pdns = &config.powerdns;
    Limits { rrsets: pdns.max_batch_rrsets, bytes: pdns.max_batch_bytes }
}

/// The part of a configuration that deciding turns on.
fn policy(config: &Config) -> Policy {
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Policy {
        owner_id: config.owner_id.clone(),
        previous_owner_ids: config.previous_owner_ids.iter().cloned().collect(),
        dry_run: config.dry_run,
        release_upstream_finalizers: config.release_upstream_finalizers,
        delete_undeclared: config.policy.delete_undeclared,
        protect: config.policy.protect,
        delete_orphan_zones: config.policy.delete_orphan_zones,
        // The configuration refuses what is no pattern.
        ignore: config.policy.ignore.iter().filter_map(|p| glob::Pattern::new(p).ok()).collect(),
        controller_names: config.controller_names.iter().cloned().collect(),
        namespaces: config.namespaces.iter().cloned().collect(),
        brakes: Brakes {
            deletes: config.policy.deletes,
            implicit_percent: config.brakes.implicit_percent,
            implicit_total: config.brakes.implicit_total,
            explicit_percent: config.brakes.explicit_percent,
        },
        request_timeout: milliseconds(config.powerdns.request_timeout),
        verify_interval: milliseconds(config.verify_interval),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_leaves_this_host_unencrypted_travels_in_clear() {
        for (url, clear) in [
            ("http://127.0.0.1:8081", false),
            ("http://localhost", false),
            ("http://[::1]", false),
            ("http://[::1]:8081/x", false),
            ("http://pdns:8081", true),
            ("http://[2001:db8::1]", true),
            ("http://192.0.2.1", true),
            ("https://pdns:8081", false),
        ] {
            assert_eq!(travels_in_clear(url), clear, "{url}");
        }
    }
}

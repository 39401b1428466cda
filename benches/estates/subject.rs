//! The daemon as it is measured: a process of its own, no proxy in between, its limits raised out of the way.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::apiserver::ApiServer;
use crate::support::daemon::{self, ConfigFile, Running};
use crate::support::estate::Estate;
use crate::support::pdns::Pdns;
use crate::support::recorder::Request;

/// Requests a second that the limits allow, and at once.
pub const RATE: u64 = 100_000;

/// A running daemon with its administrator's token, and its configuration, whose files it reads again and again.
pub struct Subject {
    daemon: Running,
    admin: String,
    _config: ConfigFile,
}

/// What the daemon's metrics say since it started.
#[derive(Clone, Copy, Debug)]
pub struct Counters {
    /// Seconds of all passes.
    pub seconds: f64,
    pub powerdns_requests: f64,
    pub powerdns_writes: f64,
    pub kubernetes_writes: f64,
}

fn direct(estate: &Estate, pdns: &Pdns, owner: &str) -> ConfigFile {
    ConfigFile::direct(ApiServer::shared().kubeconfig(), pdns, owner, &estate.namespace)
}

impl Subject {
    /// Beside an estate, past the proxies. It makes a pass when it is asked to, and each `interval`.
    pub async fn start(estate: &Estate, interval: &str, more: &[(&str, Value)]) -> Subject {
        Subject::run(direct(estate, &estate.pdns, "test"), interval, more).await
    }

    /// One of several owners on another estate's PowerDNS.
    pub async fn owner(estate: &Estate, pdns: &Pdns, owner: &str) -> Subject {
        Subject::run(direct(estate, pdns, owner), "1h", &[]).await
    }

    /// The same behind the recording proxies.
    pub async fn recorded(estate: &Estate) -> Subject {
        Subject::recorded_with(estate, "1h", &[]).await
    }

    /// The same with other options.
    pub async fn recorded_with(estate: &Estate, interval: &str, more: &[(&str, Value)]) -> Subject {
        let (api, pdns) = estate.proxies();
        let config = daemon::config(api, pdns, estate.pdns.key(), "test", &estate.namespace);
        Subject::run(config, interval, more).await
    }

    async fn run(config: ConfigFile, interval: &str, more: &[(&str, Value)]) -> Subject {
        let mut config = config
            .with("interval", json!(interval))
            .with("powerdns.requestsPerSecond", json!(RATE))
            .with("powerdns.burst", json!(RATE))
            .with("kubernetes", json!({"writesPerSecond": RATE, "burst": RATE}))
            .with("brakes.explicitPercent", json!("none"))
            .with("log.level", json!("info"));
        for (path, value) in more {
            config = config.with(path, value.clone());
        }
        let (config, admin) = config.with_secret("http.adminTokenFile");
        let subject = Subject { daemon: daemon::run(&config).await, admin, _config: config };
        // The pass that every daemon begins with.
        subject.pass("").await;
        subject
    }

    /// One pass that starts now, by a nudge with this query; what it did. It must be without a failure.
    pub async fn pass(&self, query: &str) -> Value {
        let summary = self.any_pass(query).await;
        assert_eq!(summary["ok"], json!(true), "{summary:#}");
        summary
    }

    /// The same, however it ends.
    pub async fn any_pass(&self, query: &str) -> Value {
        let path = format!("/v1/sync?wait=600s{query}");
        let (status, summary) = self.daemon.call(Method::POST, &path, Some(&self.admin)).await;
        assert_eq!(status, 200, "{summary:#}");
        summary
    }

    /// A nudge that waits for nothing.
    pub async fn nudge(&self, query: &str) {
        let path = format!("/v1/sync?{query}");
        let (status, answer) = self.daemon.call(Method::POST, &path, Some(&self.admin)).await;
        assert_eq!(status, 202, "{answer}");
    }

    /// How long the last of so many passes with this query took, by the daemon's own clock: their mean.
    pub async fn pass_time(&self, query: &str, passes: u32) -> Duration {
        let before = self.counters().await.seconds;
        for _ in 0..passes {
            self.pass(query).await;
        }
        Duration::from_secs_f64((self.counters().await.seconds - before) / f64::from(passes))
    }

    /// Its last passes, the oldest first: number and duration.
    pub async fn passes(&self) -> Vec<(u64, Duration)> {
        let (_, status) = self.daemon.call(Method::GET, "/v1/status", Some(&self.admin)).await;
        let passes = status["passes"].as_array().into_iter().flatten().rev();
        let seconds = |p: &Value| Duration::from_secs_f64(p["seconds"].as_f64().unwrap());
        passes.map(|p| (p["pass"].as_u64().unwrap(), seconds(p))).collect()
    }

    pub async fn counters(&self) -> Counters {
        let text = self.daemon.metrics().await;
        let sum = |name: &str| -> f64 {
            let lines = text.lines().filter(|l| l.starts_with(name));
            lines.filter_map(|l| l.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
        };
        let written = |method: &str| {
            let lines = text.lines().filter(|l| l.starts_with("dns_syncd_powerdns_requests_total"));
            let lines = lines.filter(|l| l.contains(&format!("method=\"{method}\"")));
            lines.filter_map(|l| l.rsplit_once(' ')?.1.parse::<f64>().ok()).sum::<f64>()
        };
        Counters {
            seconds: sum("dns_syncd_pass_duration_seconds_sum"),
            powerdns_requests: sum("dns_syncd_powerdns_requests_total"),
            powerdns_writes: ["PATCH", "POST", "PUT", "DELETE"].map(written).iter().sum(),
            kubernetes_writes: sum("dns_syncd_kubernetes_writes_total"),
        }
    }

    /// Seconds of all passes by stage.
    pub async fn stages(&self) -> BTreeMap<String, f64> {
        let text = self.daemon.metrics().await;
        let series = "dns_syncd_pass_stage_seconds_total{stage=\"";
        let lines = text.lines().filter_map(|l| l.strip_prefix(series)?.split_once("\"} "));
        lines.map(|(stage, seconds)| (stage.to_owned(), seconds.parse().unwrap())).collect()
    }

    /// Its resident memory now and at the most, in MiB.
    pub fn memory(&self) -> (f64, f64) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.daemon.id())).unwrap();
        let kib = |field: &str| -> f64 {
            let line = status.lines().find_map(|l| l.strip_prefix(field)).unwrap();
            line.trim().trim_end_matches(" kB").trim().parse().unwrap()
        };
        (kib("VmRSS:") / 1024.0, kib("VmHWM:") / 1024.0)
    }

    /// How many descriptors it has open.
    pub fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.daemon.id())).unwrap().count()
    }

    /// Stops it.
    pub async fn stop(mut self) {
        let output = self.daemon.terminate().await;
        assert_eq!(output.code, Some(0), "{}", output.stderr);
    }
}

/// The requests of one pass with this query, as a daemon at rest makes them.
pub async fn recording(estate: &Estate, daemon: &Subject, query: &str) -> Vec<Request> {
    estate.recorder.clear();
    daemon.pass(query).await;
    estate.recorder.requests()
}

/// Nothing is left to do: a pass of another process writes nothing, and everything is programmed.
pub async fn converged(estate: &Estate) {
    let last = Subject::start(estate, "1h", &[]).await;
    let summary = last.pass("").await;
    assert!(last.counters().await.kubernetes_writes < 1.0, "{summary:#}");
    assert_eq!(summary["held"], json!([]), "{summary:#}");
    last.stop().await;
}

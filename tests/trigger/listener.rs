//! The HTTP routes: who may nudge, what is refused and how it is said, what health and metrics show.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use dns_syncd::admin::{self, Access, Admin};
use dns_syncd::metrics::Metrics;
use dns_syncd::trigger::Trigger;
use reqwest::{Method, StatusCode};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::support::estate::Estate;
use crate::support::recorder::{Action, Server};
use crate::support::{daemon, http_client, wait_for};
use crate::watch::{PATIENCE, address, metric, wait_for_passes};

#[tokio::test(flavor = "multi_thread")]
async fn without_a_token_nobody_nudges() {
    let mut estate = Estate::new("forbidden").await;
    estate.config = estate.config.with("http.tokenFile", json!(""));
    let daemon = daemon::run(&estate.config).await;
    for token in [None, Some(""), Some("any")] {
        let (status, answer) = daemon.call(Method::POST, "/v1/sync", token).await;
        assert_eq!(status, 403);
        let error = answer["error"].as_str().unwrap();
        assert!(
            error.contains("http.tokenFile") && error.contains("http.hmacSecretFile"),
            "{error}"
        );
    }
    // A file that is empty, or not there, is no token either.
    drop(daemon);
    for file in ["/dev/null", "/nowhere/token"] {
        estate.config = estate.config.with("http.tokenFile", json!(file));
        let daemon = daemon::run(&estate.config).await;
        for token in [None, Some("")] {
            assert_eq!(daemon.call(Method::POST, "/v1/sync", token).await.0, 403, "{file}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_is_refused_and_makes_no_pass() {
    let estate = Estate::new("wrong").await;
    let daemon = daemon::run(&estate.config).await;
    wait_for_passes(&daemon, 1.0).await;
    let url = format!("http://{}/v1/sync", address(&estate.config));
    for header in [None, Some("Bearer wrong"), Some("Bearer "), Some("Basic eDp5"), Some("wrong")] {
        let mut request = http_client().post(&url);
        if let Some(header) = header {
            request = request.header("Authorization", header);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{header:?}");
        assert_eq!(answer.headers()["WWW-Authenticate"], "Bearer");
    }
    assert_eq!(daemon.nudge("60s").await.1["pass"], 2, "only the right token was heard");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_makes_no_sense_is_told_why() {
    let estate = Estate::new("sense").await;
    let daemon = daemon::run(&estate.config).await;
    for wait in ["soon", "30", "-1s", "601s", ""] {
        let (status, answer) = daemon.nudge(wait).await;
        assert_eq!(status, 400, "{wait}: {answer}");
        let error = answer["error"].as_str().unwrap();
        assert!(error.contains(&format!("wait={wait:?}")) && error.contains("30s"), "{error}");
    }
    let (status, answer) = daemon.nudge("1s&wiat=2s").await;
    assert_eq!(status, 400, "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("wiat"), "{answer}");
    assert_eq!(daemon.nudge("1s&wait=2s").await.0, 400);
    assert_eq!(daemon.get("/v1/sync").await.0, 405);
    assert_eq!(daemon.get("/").await.0, 404);
    assert_eq!(daemon.call(Method::POST, "/metrics", None).await.0, 405);
    assert!(daemon.nudge("60s").await.1["pass"].as_u64().unwrap() <= 2, "none of them was a nudge");
}

/// Sends so much of a body of `length` bytes and reads the answer.
async fn post(address: &str, length: usize, sent: usize) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("POST /v1/sync HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    // The listener may have answered and closed by now.
    let _ = stream.write_all(&vec![b'x'; sent]).await;
    let mut answer = [0; 64];
    let read = stream.read(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer[..read]).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_is_read_to_64_kib_and_no_further() {
    let estate = Estate::new("body").await;
    let _daemon = daemon::run(&estate.config).await;
    let address = address(&estate.config);
    // The rest of it never comes: the answer does.
    let answer = post(&address, 10_000_000, 100_000).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    let answer = post(&address, 65_536, 65_536).await;
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_is_read_to_16_kib_and_no_further() {
    let estate = Estate::new("head").await;
    let daemon = daemon::run(&estate.config).await;
    for (length, told) in [(8_000, "HTTP/1.1 200 "), (20_000, "HTTP/1.1 431 ")] {
        let mut stream = TcpStream::connect(address(&estate.config)).await.unwrap();
        let filler = "x".repeat(length);
        let head = format!("GET /healthz HTTP/1.1\r\nHost: x\r\nX: {filler}\r\n\r\n");
        // The listener may have answered and closed by now.
        let _ = stream.write_all(head.as_bytes()).await;
        let mut answer = [0; 64];
        let read = stream.read(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer[..read]);
        assert!(answer.starts_with(told), "{length}: {answer}");
    }
    assert_eq!(daemon.get("/healthz").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_those_of_a_scraper() {
    let estate = Estate::new("metrics").await;
    estate.zone("z", "metrics.example").await;
    estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    let daemon = daemon::run(&estate.config).await;
    wait_for_passes(&daemon, 1.0).await;
    let url = format!("http://{}/metrics", address(&estate.config));
    let answer = http_client().get(url).send().await.unwrap();
    assert_eq!(answer.headers()["Content-Type"], "text/plain; version=0.0.4");
    let text = answer.text().await.unwrap();
    let mut kinds = BTreeMap::new();
    for line in text.lines() {
        if let Some(described) = line.strip_prefix("# TYPE ") {
            let (name, kind) = described.split_once(' ').unwrap();
            assert!(kinds.insert(name, kind).is_none(), "{name} is there twice");
        } else if !line.starts_with("# HELP ") {
            let (series, value) = line.rsplit_once(' ').unwrap();
            value.parse::<f64>().unwrap();
            let name = series.split('{').next().unwrap();
            let name = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|s| name.strip_suffix(s))
                .unwrap_or(name);
            assert!(kinds.contains_key(name) && name.starts_with("dns_syncd_"), "{line}");
        }
    }
    for (name, kind) in [
        ("passes_total", "counter"),
        ("pass_duration_seconds", "histogram"),
        ("last_successful_pass_timestamp_seconds", "gauge"),
        ("powerdns_requests_total", "counter"),
        ("kubernetes_writes_total", "counter"),
        ("rrset_changes_total", "counter"),
        ("record_sets", "gauge"),
        ("zones", "gauge"),
        ("failed_changes", "gauge"),
        ("held", "gauge"),
        ("rrsets_left_alone", "gauge"),
        ("orphan_zones", "gauge"),
        ("consecutive_failed_passes", "gauge"),
        ("powerdns_request_duration_seconds", "histogram"),
        ("throttle_wait_seconds_total", "counter"),
        ("last_pass_start_timestamp_seconds", "gauge"),
        ("powerdns_sent_bytes_total", "counter"),
    ] {
        assert_eq!(kinds.get(format!("dns_syncd_{name}").as_str()), Some(&kind), "{name}: {text}");
    }
    // SOA and NS once more to clear their comments, where those outlive zones.
    let sent = if estate.pdns.comments_outlive_zones() { "5" } else { "3" };
    for (series, value) in [
        ("passes_total{result=\"ok\"}", "1"),
        ("powerdns_requests_total{code=\"201\",method=\"POST\"}", "1"),
        // SOA, NS and the one that is declared.
        ("rrset_changes_total{action=\"create\"}", "3"),
        ("record_sets", "1"),
        ("zones", "1"),
        ("failed_changes", "0"),
        ("consecutive_failed_passes", "0"),
        ("idle_passes_total", "0"),
        ("retry_passes_total", "0"),
        ("declared_names{type=\"A\"}", "1"),
        ("programmed_names{type=\"A\"}", "1"),
        ("powerdns_sent_rrsets_total", sent),
        ("powerdns_request_duration_seconds_count{method=\"POST\",route=\"zones\"}", "1"),
        ("powerdns_request_duration_seconds_count{method=\"GET\",route=\"server\"}", "2"),
        ("setting{option=\"powerdns.concurrency\"}", "4"),
        ("setting{option=\"powerdns.requestTimeout\"}", "1"),
    ] {
        let found = metric(&daemon, &format!("dns_syncd_{series}")).await;
        assert_eq!(found.to_string(), value, "{series}");
    }
}

/// Prometheus' own tool has nothing to say about them.
#[tokio::test(flavor = "multi_thread")]
async fn promtool_accepts_the_metrics() {
    let estate = Estate::new("promtool").await;
    estate.zone("z", "promtool.example").await;
    let daemon = daemon::run(&estate.config).await;
    assert_eq!(daemon.nudge("60s").await.0, 200);
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool is there: tests/env/packages");
    let text = daemon.metrics().await;
    promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success() && said.is_empty(), "{}", String::from_utf8_lossy(&said));
}

/// A pass that fails counts until one does not.
#[tokio::test(flavor = "multi_thread")]
async fn failed_passes_are_counted_in_a_row() {
    let estate = Estate::new("row").await;
    estate.zone("z", "row.example").await;
    let daemon = daemon::run(&estate.config).await;
    assert_eq!(daemon.nudge("60s").await.1["ok"], json!(true));
    estate.recorder.always(|r| r.server == Server::PowerDns, Action::Reset);
    for count in 1..3 {
        daemon.nudge("60s").await;
        assert!(metric(&daemon, "dns_syncd_consecutive_failed_passes").await >= f64::from(count));
    }
    estate.recorder.heal();
    assert_eq!(daemon.nudge("60s").await.1["ok"], json!(true));
    assert!(metric(&daemon, "dns_syncd_consecutive_failed_passes").await.abs() < 0.5);
    assert!(metric(&daemon, "dns_syncd_nudges_total{result=\"accepted\"}").await >= 4.0);
}

/// Without the daemon around it, so that nobody waits for a minute: the listener with a deadline of its own.
#[tokio::test(flavor = "multi_thread")]
async fn health_fails_when_a_pass_is_due_and_nothing_moves() {
    let (trigger, stop) = (Trigger::default(), CancellationToken::new());
    let metrics = Arc::new(Metrics::new().unwrap());
    let admin = Arc::new(Admin {
        trigger: trigger.clone(),
        metrics: metrics.clone(),
        access: Access::default(),
        syncer: None,
        limiter: admin::limiter(),
        forward: http_client(),
        deadline: 1500,
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/healthz", listener.local_addr().unwrap());
    let serving = tokio::spawn(admin::serve(listener, admin, stop.clone()));
    let client = http_client();
    let health = || async { client.get(&url).send().await.unwrap().status() };

    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(health().await, StatusCode::OK, "nothing moves, and nothing has to");
    metrics.moved();
    trigger.poke();
    assert_eq!(health().await, StatusCode::OK, "due, and not yet late");
    wait_for("health fails", PATIENCE, || async {
        (health().await == StatusCode::SERVICE_UNAVAILABLE).then_some(())
    })
    .await;
    metrics.moved();
    assert_eq!(health().await, StatusCode::OK, "it moves again");
    stop.cancel();
    serving.await.unwrap().unwrap();
}

//! What a standby answers: probes by itself, the rest from the holder.

use dns_syncd::metrics::Metrics;
use reqwest::Method;
use serde_json::Value;

use crate::pair::{Pair, value};
use crate::support::http_client;

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_hands_on_what_only_the_holder_can_answer() {
    let pair = Pair::new("handson").await;
    let (mut first, second) = pair.run().await;
    assert_eq!(second.get("/readyz").await, (200, "ok\n".to_owned()));
    assert_eq!(second.get("/healthz").await, (200, "ok\n".to_owned()));
    pair.zone("z", "handson.example", 1).await;
    let admin = Some(&*pair.admin);
    let path = format!("/v1/sync?wait=30s&zone={}/z", pair.estate.namespace);
    let (status, report) = second.call(Method::POST, &path, admin).await;
    assert_eq!((status, &report["ok"]), (200, &Value::Bool(true)), "{report:#}");
    pair.programmed("z-0").await;
    let (status, answer) = second.call(Method::GET, "/v1/status", admin).await;
    assert_eq!((status, &answer["phase"]), (200, &"waiting".into()), "{answer:#}");
    assert_eq!(answer["started"], report["pass"]);
    assert_eq!(second.call(Method::GET, "/v1/plan", admin).await.0, 200);

    // The holder's refusals are passed back as they are.
    assert_eq!(second.call(Method::POST, "/v1/sync", Some("wrong")).await.0, 401);
    let (status, answer) = second.call(Method::POST, "/v1/sync?zone=x", admin).await;
    assert_eq!(status, 400, "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("zone"), "{answer}");
    let large = http_client().post(url(&pair, "/v1/sync")).body(vec![b'x'; 70_000]);
    assert_eq!(large.send().await.unwrap().status(), 413);

    // What was handed on already is not handed on again.
    let again = http_client().post(url(&pair, "/v1/sync")).bearer_auth(&pair.admin);
    let again = again.header("X-Dns-Syncd-Forwarded", "1").send().await.unwrap();
    assert_eq!(again.status(), 503);
    let holder = pair.holder().await;
    assert!(again.text().await.unwrap().contains(&holder));

    first.kill9();
    let (status, answer) = second.call(Method::POST, "/v1/sync", admin).await;
    let told = answer["error"].as_str().unwrap();
    assert_eq!(status, 503, "{told}");
    assert!(told.contains(&holder) && !told.contains("http://"), "{told}");
}

/// An address of the second one.
fn url(pair: &Pair, path: &str) -> String {
    format!("http://{}{path}", value(&pair.second)["http"]["listen"].as_str().unwrap())
}

#[test]
fn who_stands_by_shows_no_failed_passes() {
    let metrics = Metrics::new().unwrap();
    let shown = || {
        let text = metrics.text().unwrap();
        let line = text.lines().find(|l| l.starts_with("dns_syncd_consecutive_failed_passes "));
        line.unwrap().rsplit(' ').next().unwrap().to_owned()
    };
    metrics.leader(true);
    metrics.no_pass();
    assert_eq!(shown(), "1");
    metrics.leader(false);
    assert_eq!(shown(), "0");
}

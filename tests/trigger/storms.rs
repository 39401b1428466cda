//! Storms of nudges, fifty a second for `STORM_SECONDS` (6): whatever they name, they cost one pass at a time, and nobody
//! else waits for their end: neither what the interval serves, nor zones that they do not name, nor other callers.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::daemon::{self, Running};
use crate::support::estate::{Estate, a_records, native, rr};
use crate::support::{http_client, wait_for};
use crate::watch::{PATIENCE, address, assert_apart, token};

/// From one nudge to the next.
const BETWEEN: Duration = Duration::from_millis(20);
/// Fewest edits that are to be served before a storm may end.
const EDITS: u32 = 4;

/// Nudges until the work is done; the status and the answer of each.
async fn storm(estate: &Estate, query: &str, work: impl Future<Output = ()>) -> Vec<(u16, Value)> {
    let url = format!("http://{}/v1/sync{query}", address(&estate.config));
    let (client, token) = (http_client(), token(&estate.config));
    let mut sent = JoinSet::new();
    let mut clock = tokio::time::interval(BETWEEN);
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            () = &mut work => break,
            _ = clock.tick() => {}
        }
        let request = client.post(&url).bearer_auth(&token).send();
        sent.spawn(async move {
            let answer = request.await.unwrap();
            let status = answer.status().as_u16();
            let body = answer.bytes().await.unwrap();
            (status, serde_json::from_slice(&body).unwrap_or_default())
        });
    }
    sent.join_all().await
}

/// What goes on beside a storm: edits of a zone that it does not name, which nobody nudges for; another caller; a zone
/// that existed, whose mark must last before it is written.
async fn others(estate: &Estate, daemon: &Running) {
    let lasts = std::env::var("STORM_SECONDS").map_or(6, |seconds| seconds.parse().unwrap());
    let (began, lasts) = (Instant::now(), Duration::from_secs(lasts));
    let calm = estate.a("calm", "calm", &[("www", "192.0.2.1")]).await;
    estate.zone("old", "old.example").await;
    let old = estate.a("old", "old", &[("www", "192.0.2.1")]).await;
    let mut round = 1;
    while round <= EDITS || began.elapsed() < lasts {
        let content = format!("198.51.{}.{}", round / 250, round % 250);
        estate.edit(&calm, json!({"records": a_records(&[("www", &content)])})).await;
        wait_for("an edit is served beside the storm", PATIENCE, || async {
            let served = estate.pdns.contents("calm.example", "www.calm.example", "A").await;
            (served == [content.as_str()]).then_some(())
        })
        .await;
        let path = format!("/v1/sync?wait=30s&zone={}/calm", estate.namespace);
        let (status, report) = daemon.call(Method::POST, &path, Some(&token(&estate.config))).await;
        assert_eq!(status, 200, "{report}");
        round += 1;
    }
    wait_for("a zone that existed is served beside the storm", PATIENCE, || async {
        (estate.programmed(&old).await.0 == "True").then_some(())
    })
    .await;
}

async fn a_storm_of(prefix: &str, named: Option<&str>) {
    let mut estate = Estate::new(prefix).await;
    estate.config = estate.config.with("interval", json!("2s"));
    estate
        .pdns
        .create_zone(&native("old.example.", json!([rr("x.old.example.", "192.0.2.9")])))
        .await;
    estate.zone("calm", "calm.example").await;
    estate.zone("busy", "busy.example").await;
    estate.a("busy", "busy", &[("www", "192.0.2.1")]).await;
    let daemon = daemon::run(&estate.config).await;
    assert_eq!(daemon.nudge("60s").await.0, 200);
    let query = named.map(|zone| format!("?zone={}/{zone}", estate.namespace)).unwrap_or_default();
    let answers = storm(&estate, &query, others(&estate, &daemon)).await;

    assert!(answers.len() >= 50, "a storm of {}", answers.len());
    let refused: Vec<_> = answers.iter().filter(|(status, _)| *status != 202).collect();
    assert!(refused.is_empty(), "{refused:?}");
    assert_apart(&estate.recorder.requests());
    // None is queued: what was promised last is soon over, and after it comes what is asked for next, or a tick.
    let promised = answers.iter().filter_map(|(_, answer)| answer["pass"].as_u64()).max().unwrap();
    let next = daemon.nudge("60s").await.1["pass"].as_u64().unwrap();
    assert!(next <= promised + 2, "{promised} {next}");
    assert!(next < answers.len() as u64, "{next} passes for {} nudges", answers.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_starves_neither_the_interval_nor_other_callers() {
    a_storm_of("gale", None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_for_one_zone_starves_none_that_it_does_not_name() {
    a_storm_of("squall", Some("busy")).await;
}

//! The end: the first signal lets the request in flight have its answer and sends no other, the second waits for nothing.

use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::estate::Estate;
use crate::support::objects::condition;
use crate::support::recorder::{Action, Request, Server};
use crate::support::{daemon, http_client};
use crate::watch::{PATIENCE, address, lists_zones, token, wait_for_passes, wait_for_request};

fn writes_powerdns(request: &Request) -> bool {
    request.server == Server::PowerDns && request.is_write()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_daemon_ends_at_once() {
    let estate = Estate::new("idle").await;
    let mut daemon = daemon::run(&estate.config).await;
    wait_for_passes(&daemon, 1.0).await;
    let began = Instant::now();
    let output = daemon.terminate().await;
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), ""), "{output:?}");
    assert!(output.stderr.contains("dns-syncd has stopped"), "{output:?}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_request_in_flight_gets_its_answer_and_none_follows() {
    let mut estate = Estate::new("drain").await;
    estate.config = estate
        .config
        // Longer than the delay: the answer has to come in.
        .with("powerdns.requestTimeout", serde_json::json!("20s"))
        // More would follow in the same zone.
        .with("powerdns.maxBatchRrsets", serde_json::json!(1));
    estate.zone("z", "drain.example").await;
    let www = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.recorder.next(writes_powerdns, Action::Delay(Duration::from_secs(2)));
    let mut daemon = daemon::run(&estate.config).await;
    wait_for_request(&estate.recorder, writes_powerdns).await;
    let output = daemon.terminate().await;
    assert_eq!(output.code, Some(0), "{output:?}");

    let requests = estate.recorder.requests();
    let last = requests.last().unwrap();
    assert!(writes_powerdns(last), "after the write came {last:?}");
    assert_eq!(last.status, Some(201));
    assert!(estate.pdns.has_zone("drain.example").await);
    // Nothing was recorded of it, and the next process finds its way from there.
    assert_eq!(condition(&estate.get(&www).await.unwrap(), "Programmed"), None);
    estate.once().await;
    assert_eq!(estate.programmed(&www).await.0, "True");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_waits_for_nothing() {
    let mut estate = Estate::new("abort").await;
    estate.config = estate.config.with("powerdns.requestTimeout", serde_json::json!("10m"));
    estate.zone("z", "abort.example").await;
    estate.recorder.next(writes_powerdns, Action::Hang);
    let mut daemon = daemon::run(&estate.config).await;
    wait_for_request(&estate.recorder, writes_powerdns).await;
    daemon.signal();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(daemon.get("/healthz").await.0, 200, "it waits for the answer");
    let output = daemon.terminate().await;
    assert_eq!(output.code, Some(1), "{output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nudge_that_waits_does_not_hold_the_end() {
    let estate = Estate::new("waiting").await;
    let mut daemon = daemon::run(&estate.config).await;
    wait_for_passes(&daemon, 1.0).await;
    estate.recorder.clear();
    estate.recorder.next(lists_zones, Action::Delay(Duration::from_millis(500)));
    let url = format!("http://{}/v1/sync?wait=600s", address(&estate.config));
    let post = || http_client().post(&url).bearer_auth(token(&estate.config)).timeout(PATIENCE);
    let first = tokio::spawn(post().send());
    wait_for_request(&estate.recorder, lists_zones).await;
    // It waits for the pass after the one that is running, which is never to come.
    let second = tokio::spawn(post().send());
    tokio::time::sleep(Duration::from_millis(200)).await;
    let began = Instant::now();
    let output = daemon.terminate().await;
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(first.await.unwrap().unwrap().status(), 200, "its pass came to an end");
    assert_eq!(second.await.unwrap().unwrap().status(), 503);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_stops_in_mid_sentence_does_not_hold_the_end() {
    let estate = Estate::new("mute").await;
    let mut daemon = daemon::run(&estate.config).await;
    let mut stream = TcpStream::connect(address(&estate.config)).await.unwrap();
    stream.write_all(b"POST /v1/sync HTTP/1.1\r\nContent-Length: 9\r\n").await.unwrap();
    // It answers others, so it has read this by now.
    assert_eq!(daemon.get("/healthz").await.0, 200);
    let began = Instant::now();
    let output = daemon.terminate().await;
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

//! Nudges that meet with the loss of the lease: nobody is told of a pass that is not going to be, and what was accepted is
//! served by the next holder.

use reqwest::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::pair::{
    Pair, TIMEOUT, changes, is_of, sent, stands_by, value, wait_for_sent, writes_lease,
};
use crate::support::recorder::Action;

#[tokio::test(flavor = "multi_thread")]
async fn a_nudge_whose_pass_went_with_the_lease_is_told_of_the_next_holder() {
    let pair = Pair::new("gone").await;
    let (first, second) = pair.run().await;
    let recorder = &pair.estate.recorder;
    // So that a pass is under way when the lease ends.
    recorder.always(changes, Action::Delay(TIMEOUT * 8 / 10));
    pair.zone("z", "gone.example", 20).await;
    let admin = Some(&*pair.admin);
    assert_eq!(first.call(Method::POST, "/v1/sync", admin).await.0, 202);
    wait_for_sent(recorder, changes, 2).await;
    recorder.always(writes_lease, Action::Reset);
    // Both are for the pass after the one that is under way.
    pair.zone("y", "gone2.example", 1).await;
    assert_eq!(first.call(Method::POST, "/v1/sync", admin).await.0, 202);
    let (status, answer) = first.call(Method::POST, "/v1/sync?wait=60s", admin).await;
    let told = answer["error"].as_str().unwrap_or_default();
    let holder = pair.holder().await;
    assert!(is_of(&holder, &pair.second), "{holder}");
    assert!(status == 503 && told.contains(&holder), "{status} {answer}");
    // What was accepted is a part of the first pass of the next holder, which looks at everything.
    pair.programmed("y-0").await;
    pair.programmed("z-19").await;
    assert!(!sent(&pair.recorder, changes).is_empty());
    assert_eq!(second.get("/healthz").await.0, 200);
}

/// Its body arrives when the lease is gone: it was let in before.
#[tokio::test(flavor = "multi_thread")]
async fn a_nudge_that_outlives_the_lease_is_not_accepted() {
    let pair = Pair::new("outlives").await;
    let (first, _second) = pair.run().await;
    pair.estate.recorder.always(writes_lease, Action::Reset);
    let address = value(&pair.estate.config)["http"]["listen"].as_str().unwrap().to_owned();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /v1/sync HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {}\r\nContent-Length: 1\r\n\r\n",
        pair.admin
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stands_by(&first).await;
    stream.write_all(b"x").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("the lease was lost"), "{answer}");
}

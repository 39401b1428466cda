//! Who may call what, and which queries make sense: secrets of three kinds, zones by name, too many and too slow callers.

use std::time::Duration;

use reqwest::Method;
use ring::hmac;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::daemon;
use crate::support::estate::Estate;
use crate::support::recorder::Action;
use crate::support::{http_client, wait_for};
use crate::watch::{PATIENCE, address, token, wait_for_passes};

/// What a git forge puts into `X-Hub-Signature-256`.
pub(crate) fn signature(secret: &str, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, body);
    format!("sha256={}", data_encoding::HEXLOWER.encode(tag.as_ref()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_body_nudges_whatever_it_says() {
    let mut estate = Estate::new("signed").await;
    let secret;
    (estate.config, secret) = estate.config.with_secret("http.hmacSecretFile");
    estate.config = estate.config.with("http.tokenFile", json!(""));
    let daemon = daemon::run(&estate.config).await;
    wait_for_passes(&daemon, 1.0).await;
    let url = format!("http://{}/v1/sync", address(&estate.config));
    let body = br#"{"ref": "refs/heads/main"}"#;
    let post = |signature: Option<String>, body: &'static [u8]| {
        let mut request = http_client().post(format!("{url}?wait=60s")).body(body);
        if let Some(signature) = signature {
            request = request.header("X-Hub-Signature-256", signature);
        }
        async { request.send().await.unwrap().status().as_u16() }
    };
    let right = signature(&secret, body);
    for (given, body) in [
        (None, &body[..]),
        (Some(signature("another", body)), &body[..]),
        (Some(right.clone()), b"another body"),
        (Some(right.trim_start_matches("sha256=").to_owned()), &body[..]),
        (Some(right[..right.len() - 2].to_owned()), &body[..]),
        (Some("sha256=".to_owned()), &body[..]),
    ] {
        assert_eq!(post(given.clone(), body).await, 401, "{given:?}");
    }
    assert_eq!(post(Some(right.clone()), body).await, 200);
    assert_eq!(post(Some(right.to_uppercase().replace("SHA", "sha")), body).await, 200);
    assert_eq!(post(Some(signature(&secret, b"")), b"").await, 200, "an empty body has one too");
    // It may nudge and no more.
    let release = http_client().post(format!("{url}?release=123456789abc"));
    let answer = release.header("X-Hub-Signature-256", signature(&secret, b"")).send().await;
    assert_eq!(answer.unwrap().status(), 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn status_and_plan_are_for_administrators() {
    let mut estate = Estate::new("admin").await;
    estate.zone("z", "admin.example").await;
    estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    let paths = ["/v1/status", "/v1/plan"];
    let daemon = daemon::run(&estate.config).await;
    for path in paths {
        let (status, answer) = daemon.call(Method::GET, path, Some(&token(&estate.config))).await;
        assert_eq!(status, 403, "{path}");
        assert!(answer["error"].as_str().unwrap().contains("set http.adminTokenFile"), "{answer}");
    }
    drop(daemon);
    let admin;
    (estate.config, admin) = estate.config.with_secret("http.adminTokenFile");
    let daemon = daemon::run(&estate.config).await;
    for path in paths {
        for (given, expected) in
            [(None, 401), (Some("wrong"), 401), (Some(&*token(&estate.config)), 403)]
        {
            assert_eq!(daemon.call(Method::GET, path, given).await.0, expected, "{path} {given:?}");
        }
    }
    assert_eq!(daemon.call(Method::POST, "/v1/sync?wait=60s", Some(&admin)).await.0, 200);

    let (status, seen) = daemon.call(Method::GET, "/v1/status", Some(&admin)).await;
    assert_eq!((status, &seen["phase"]), (200, &json!("waiting")), "{seen}");
    assert_eq!(seen["passes"][0]["ok"], json!(true), "{seen}");
    let zone = &seen["view"]["zones"][format!("{}/z", estate.namespace)];
    assert_eq!(zone, &json!({"domain": "admin.example.", "rrsets": 1}), "{seen}");
    assert!(seen["view"]["server"].as_str().unwrap().contains('.'), "{seen}");
    let comments = &seen["view"]["capabilities"]["comments"];
    assert_eq!(comments, estate.pdns.keeps_comments(), "{seen}");

    let (status, plan) = daemon.call(Method::GET, "/v1/plan", Some(&admin)).await;
    assert_eq!((status, &plan["differs"]), (200, &json!(false)), "{plan}");
    estate.a("mail", "z", &[("mail", "192.0.2.2")]).await;
    let (_, plan) = daemon.call(Method::GET, "/v1/plan", Some(&admin)).await;
    let change = json!({
        "name": "mail.admin.example.", "type": "A", "action": "create",
        "to": "300 192.0.2.2", "by": format!("{}/mail", estate.namespace),
    });
    assert_eq!(plan["zones"][0]["changes"], json!([change]), "{plan}");
    assert!(estate.pdns.rrset("admin.example", "mail.admin.example.", "A").await.is_none());
}

/// Nothing is one that only begins or ends like it.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_counts_whole_and_its_scheme_in_any_case() {
    let estate = Estate::new("token").await;
    let daemon = daemon::run(&estate.config).await;
    assert_eq!(daemon.nudge("60s").await.0, 200);
    let token = token(&estate.config);
    let url = format!("http://{}/v1/sync", address(&estate.config));
    for (given, status) in [
        (format!("bearer {token}"), 202),
        (format!("Basic {token}"), 401),
        (format!("Bearer {token}x"), 401),
        (format!("Bearer {}", &token[1..]), 401),
    ] {
        let call = http_client().post(&url).header("Authorization", given).send();
        assert_eq!(call.await.unwrap().status().as_u16(), status);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn anybody_may_nudge_where_that_is_allowed_and_do_no_more() {
    let mut estate = Estate::new("anybody").await;
    estate.config = estate.config.with("http.tokenFile", json!(""));
    estate.config = estate.config.with("http.allowAnonymousNudge", json!(true));
    let daemon = daemon::run(&estate.config).await;
    assert_eq!(daemon.call(Method::POST, "/v1/sync?wait=60s", None).await.0, 200);
    // Who gives a token means it.
    assert_eq!(daemon.call(Method::POST, "/v1/sync", Some("wrong")).await.0, 401);
    assert_eq!(daemon.call(Method::POST, "/v1/sync?release=123456789abc", None).await.0, 403);
    assert_eq!(daemon.call(Method::GET, "/v1/status", None).await.0, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn zones_are_named_and_unknown_ones_are_told() {
    let estate = Estate::new("named").await;
    estate.zone("z", "named.example").await;
    let daemon = daemon::run(&estate.config).await;
    wait_for_passes(&daemon, 1.0).await;
    let (token, namespace) = (token(&estate.config), &estate.namespace);
    let call = |query: String| {
        let path = format!("/v1/sync?{query}");
        let (daemon, token) = (&daemon, &token);
        async move { daemon.call(Method::POST, &path, Some(token)).await }
    };
    for (query, told) in [
        (format!("zone={namespace}/nothing"), "nothing: there is no such DNSZone"),
        (format!("zone={namespace}/z&zone={namespace}/nothing"), "nothing"),
        ("zone=elsewhere/z".to_owned(), "not one of those in namespaces"),
        ("zone=z".to_owned(), "namespace/name"),
        ("zones=a/b".to_owned(), "zones"),
    ] {
        let (status, answer) = call(query.clone()).await;
        let error = answer["error"].as_str().unwrap_or_default();
        assert!(status == 400 && error.contains(told), "{query}: {status} {answer}");
    }
    // One that no pass has seen yet is no unknown one.
    estate.zone("new", "new.example").await;
    let (status, answer) = call(format!("zone={namespace}/new&zone={namespace}/z&wait=60s")).await;
    assert_eq!((status, &answer["pass"]), (200, &json!(2)), "only this was a nudge: {answer}");
    assert!(estate.pdns.has_zone("new.example").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nudge_is_answered_although_the_api_server_hangs() {
    let estate = Estate::new("unasked").await;
    let daemon = daemon::run(&estate.config).await;
    wait_for_passes(&daemon, 1.0).await;
    estate.recorder.always(|r| r.path.contains("/dnszones/"), Action::Hang);
    let namespace = &estate.namespace;
    let path = format!("/v1/sync?zone={namespace}/new&zone={namespace}/newer");
    let (began, token) = (std::time::Instant::now(), token(&estate.config));
    let (status, answer) = daemon.call(Method::POST, &path, Some(&token)).await;
    assert_eq!(status, 202, "unknown is not absent: {answer}");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_hammers_is_told_to_wait_and_the_probes_are_not() {
    let estate = Estate::new("hammer").await;
    let daemon = daemon::run(&estate.config).await;
    wait_for_passes(&daemon, 1.0).await;
    let (client, address) = (http_client(), address(&estate.config));
    // Faster than the bucket fills, however slow the machine: its burst is gone before the rate matters.
    let hammer = || async {
        let sent = (0..400).map(|_| client.post(format!("http://{address}/v1/sync")).send());
        futures::future::join_all(sent).await.into_iter().map(Result::unwrap).collect::<Vec<_>>()
    };
    let refused = wait_for("429", PATIENCE, || async {
        hammer().await.into_iter().find(|answer| answer.status() == 429)
    })
    .await;
    assert_eq!(refused.headers()["Retry-After"], "1");
    assert_eq!(daemon.get("/healthz").await.0, 200);
    assert_eq!(daemon.get("/metrics").await.0, 200);
}

/// Sends the beginning of a request and says what comes of it.
async fn dawdle(address: &str, beginning: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(beginning.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let end = stream.read_to_end(&mut answer);
    tokio::time::timeout(Duration::from_secs(30), end).await.expect("it is ended").unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_callers_are_cut_off() {
    let estate = Estate::new("slow").await;
    let daemon = daemon::run(&estate.config).await;
    wait_for_passes(&daemon, 1.0).await;
    let address = address(&estate.config);
    let head = format!(
        "POST /v1/sync HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nAuthorization: Bearer {}\r\n",
        token(&estate.config)
    );
    let body = format!("{head}\r\nhalf");
    let (head, body) = tokio::join!(dawdle(&address, &head), dawdle(&address, &body));
    assert!(!head.contains(" 20"), "no head, no answer but a refusal: {head}");
    assert!(body.starts_with("HTTP/1.1 408 "), "{body}");
    assert_eq!(daemon.nudge("60s").await.1["pass"], 2, "neither was a nudge");
}

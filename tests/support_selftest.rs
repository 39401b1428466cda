//! The test support itself: what the other tests rely on is shown here on the same real servers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests wait, read the clock and the environment"
)]

mod support;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use support::apiserver::ApiServer;
use support::pdns::{Backend, Options, Pdns};
use support::query::query;
use support::{daemon, objects, wait_for};

fn example() -> Value {
    json!({"name": "example.org.", "kind": "Native", "nameservers": ["ns1.example.net."]})
}

fn replace(name: &str, rtype: &str, contents: &[&str]) -> Value {
    let records: Vec<Value> =
        contents.iter().map(|content| json!({"content": content, "disabled": false})).collect();
    json!({"rrsets": [{"name": name, "type": rtype, "ttl": 60, "changetype": "REPLACE", "records": records}]})
}

fn remove(name: &str, rtype: &str) -> Value {
    json!({"rrsets": [{"name": name, "type": rtype, "changetype": "DELETE"}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn pdns_keeps_its_data_over_a_restart() {
    for backend in [Backend::Sqlite, Backend::Lmdb] {
        let pdns =
            Pdns::start(Options { backend, extra: vec![("default-ttl", "1234".to_owned())] }).await;
        pdns.create_zone(&example()).await;
        let before = pdns.serial("example.org").await;
        assert_eq!(
            pdns.patch(
                "example.org",
                &replace("www.example.org.", "A", &["192.0.2.2", "192.0.2.1"])
            )
            .await
            .0,
            204
        );
        assert_eq!(pdns.serial("example.org").await, before + 1);
        pdns.stop().await;
        assert!(query(pdns.dns_addr(), "www.example.org", "A").await.is_timeout());
        pdns.restart().await;
        assert_eq!(
            pdns.contents("example.org", "www.example.org", "A").await,
            ["192.0.2.1", "192.0.2.2"]
        );
        assert_eq!(
            query(pdns.dns_addr(), "www.example.org", "A").await.answers,
            ["192.0.2.1", "192.0.2.2"]
        );
        assert_eq!(
            query(pdns.dns_addr(), "example.org", "NS").await.ttl(),
            Some(1234),
            "the extra setting"
        );
        assert!(pdns.has_zone("example.org.").await);
        assert_eq!(pdns.delete_zone("example.org").await.0, 204);
        assert!(!pdns.has_zone("example.org.").await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_is_the_comment_of_our_account() {
    let pdns = Pdns::sqlite().await;
    pdns.create_zone(&example()).await;
    let mut change = replace("www.example.org.", "A", &["192.0.2.1"]);
    change["rrsets"][0]["comments"] = json!([{"account": "x", "content": "hello"}, {"account": "dns-syncd", "content": "{\"v\":1}"}]);
    assert_eq!(pdns.patch("example.org", &change).await.0, 204);
    assert_eq!(pdns.note("example.org", "www.example.org", "A").await, Some(json!({"v": 1})));
    assert_eq!(pdns.note("example.org", "example.org", "NS").await, None);
    assert_eq!(pdns.put_zone("example.org", &json!({"account": "someone"})).await.0, 204);
    assert_eq!(pdns.get_zone("example.org").await["account"], "someone");
    let (status, body) =
        pdns.patch("example.org", &replace("www.example.org.", "A", &["nonsense"])).await;
    assert_eq!(status, 422);
    assert!(body["error"].as_str().unwrap().contains("www.example.org"), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nxdomain_is_no_data_is_no_answer() {
    let pdns = Pdns::sqlite().await;
    pdns.create_zone(&example()).await;
    pdns.patch("example.org", &replace("www.example.org.", "A", &["192.0.2.1"])).await;
    let live = query(pdns.dns_addr(), "www.example.org", "A").await;
    assert!(
        !live.is_nxdomain() && !live.is_nodata() && !live.is_timeout() && live.authoritative,
        "{live:?}"
    );
    assert!(query(pdns.dns_addr(), "www.example.org", "AAAA").await.is_nodata());
    pdns.patch("example.org", &remove("www.example.org.", "A")).await;
    let gone = query(pdns.dns_addr(), "www.example.org", "A").await;
    assert!(gone.is_nxdomain() && !gone.is_nodata() && !gone.is_timeout(), "{gone:?}");
    let elsewhere = query(pdns.dns_addr(), "www.example.com", "A").await;
    assert!(
        !elsewhere.is_nxdomain() && !elsewhere.is_nodata() && !elsewhere.is_timeout(),
        "refused: {elsewhere:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_read_as_the_api_shows_them() {
    let pdns = Pdns::sqlite().await;
    pdns.create_zone(&example()).await;
    let cases = [
        ("A", "192.0.2.1"),
        ("AAAA", "2001:db8::1"),
        ("CNAME", "Target.example.net."),
        ("TXT", r#""a \"quoted\" \\ text" "Zo\195\171""#),
        ("MX", "10 mail.example.net."),
        ("SRV", "1 2 443 x.example.net."),
        ("CAA", r#"128 issue "ca.example.net; x=1""#),
        ("NS", "ns.elsewhere.net."),
        ("PTR", "host.example.net."),
        ("TLSA", "3 1 1 abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789"),
        (
            "HTTPS",
            "1 . alpn=h2,h3 no-default-alpn port=8443 ipv4hint=192.0.2.1,192.0.2.2 ech=\"AAEC\" ipv6hint=2001:db8::1",
        ),
        ("SVCB", "2 svc.example.net. alpn=h2 key65333=\"ex1\""),
    ];
    for (rtype, content) in cases {
        let name = format!("{}.example.org.", rtype.to_ascii_lowercase());
        let (status, body) = pdns.patch("example.org", &replace(&name, rtype, &[content])).await;
        assert_eq!(status, 204, "{rtype}: {body}");
        assert_eq!(pdns.contents("example.org", &name, rtype).await, [content]);
        let answer = query(pdns.dns_addr(), &name, rtype).await;
        // A delegation is answered with a referral, which has no answer section.
        let expected: &[&str] = if rtype == "NS" { &[] } else { &[content] };
        assert_eq!(answer.answers, expected, "{rtype}: {answer:?}");
    }
    let soa = query(pdns.dns_addr(), "example.org", "SOA").await.answers;
    assert_eq!(soa, pdns.contents("example.org", "example.org", "SOA").await);
    let many: Vec<String> = (1..=200).map(|host| format!("192.0.2.{host}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    pdns.patch("example.org", &replace("many.example.org.", "A", &many)).await;
    let answer = query(pdns.dns_addr(), "many.example.org", "A").await;
    assert!(answer.tcp && answer.answers.len() == 200, "{}", answer.answers.len());
}

fn is_running(pid: u32) -> bool {
    // The state follows the name in parentheses; Z is a process that has ended and is not yet collected.
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(") ").next().unwrap().starts_with('Z'))
}

/// Where a running server keeps its data.
fn folder_of(pid: u32) -> PathBuf {
    let arguments = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
    let folder = arguments.split('\0').find_map(|argument| argument.strip_prefix("--config-dir="));
    folder.unwrap().into()
}

#[tokio::test(flavor = "multi_thread")]
async fn pdns_dies_with_the_test_process() {
    const HOLDER: &str = "SELFTEST_HOLDS_A_SERVER";
    if std::env::var_os(HOLDER).is_some() {
        let pdns = Pdns::sqlite().await;
        println!("pid {}", pdns.id().unwrap());
        std::future::pending::<()>().await;
    }
    let mut holder = Command::new(std::env::current_exe().unwrap());
    let holder =
        holder.args(["--exact", "pdns_dies_with_the_test_process", "--nocapture"]).env(HOLDER, "1");
    let mut holder = holder.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    let pid = lines
        .map_while(Result::ok)
        .find_map(|line| line.rsplit_once("pid ")?.1.parse().ok())
        .unwrap();
    assert!(is_running(pid));
    let folder = folder_of(pid);
    holder.kill().unwrap();
    holder.wait().unwrap();
    wait_for("pdns_server is gone", Duration::from_secs(5), || {
        std::future::ready((!is_running(pid)).then_some(()))
    })
    .await;
    // A process that is killed cannot tidy up.
    std::fs::remove_dir_all(folder).unwrap();

    let pdns = Pdns::sqlite().await;
    let pid = pdns.id().unwrap();
    let folder = folder_of(pid);
    assert!(folder.is_dir());
    drop(pdns);
    assert!(!is_running(pid) && !folder.exists(), "dropped");
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_live_on_a_real_api_server() {
    let api = ApiServer::shared();
    let client = api.client().await;
    let namespace = api.namespace("selftest").await;
    let class = objects::class(&namespace, &["ns1.example.net."]);
    let zone = objects::zone(&namespace, "zone", "example.org", &namespace);
    let set = objects::record_set(
        &namespace,
        "www",
        "zone",
        "A",
        &json!([{"name": "www", "a": {"content": "192.0.2.1"}}]),
    );
    for object in [&class, &zone, &set] {
        objects::create(&client, object).await;
        objects::try_create(&client, object).await.unwrap_err();
    }
    let stored =
        objects::patch(&client, &set, &json!({"metadata": {"finalizers": ["example.org/test"]}}))
            .await;
    assert_eq!(stored["spec"], set["spec"]);
    objects::delete(&client, &set).await;
    assert!(
        objects::get(&client, &set).await.unwrap()["metadata"]["deletionTimestamp"].is_string()
    );
    assert_eq!(objects::finalizers(&client, &set).await, ["example.org/test"]);
    let accepted = json!({"type": "Accepted", "status": "False", "reason": "Pending", "message": "why", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let stored =
        objects::patch_status(&client, &set, &json!({"status": {"conditions": [accepted]}})).await;
    assert_eq!(
        objects::condition(&stored, "Accepted"),
        Some(("False".into(), "Pending".into(), "why".into()))
    );
    assert_eq!(objects::condition(&stored, "Programmed"), None);
    objects::patch(&client, &set, &json!({"metadata": {"finalizers": null}})).await;
    assert_eq!(objects::get(&client, &set).await, None);
    assert_eq!(
        api.kubectl(&["get", "dnszones", "-n", &namespace, "-o", "name"]),
        "dnszone.dns.networking.miloapis.com/zone\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_daemon_starts_and_ends() {
    let (api, pdns) = (ApiServer::shared(), Pdns::sqlite().await);
    let config = daemon::ConfigFile::direct(
        api.kubeconfig(),
        &pdns,
        "selftest",
        &api.namespace("selftest").await,
    );
    let checked = daemon::command(&config, &["check-config"]).await;
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let mut running = daemon::run(&config).await;
    assert_eq!(running.get("/healthz").await.0, 200);
    assert_eq!(running.call(reqwest::Method::POST, "/v1/sync", None).await.0, 401);
    let (status, summary) = running.nudge("30s").await;
    assert_eq!(status, 200, "{summary}");
    let ended = running.terminate().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let wrong = config.with("powerdns.requestTimeout", json!("soon"));
    let checked = daemon::command(&wrong, &["check-config"]).await;
    assert_eq!(checked.code, Some(64), "{checked:?}");
}

//! The recording proxy of the test support: it counts, injects faults and cuts, before real servers.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "tests wait and read the clock")]

mod support;

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::apiserver::ApiServer;
use support::pdns::Pdns;
use support::proxy::Proxy;
use support::recorder::{Action, Recorder, Request, Server};
use support::{objects, wait_for};

const ZONE: &str = "/api/v1/servers/localhost/zones/example.org.";

/// A server with one zone, and a proxy before it.
struct World {
    pdns: Pdns,
    recorder: Recorder,
    proxy: Proxy,
}

type Asked = Result<(u16, Value), reqwest::Error>;

impl World {
    async fn new() -> Self {
        let (pdns, recorder) = (Pdns::sqlite().await, Recorder::default());
        let zone = json!({"name": "example.org.", "kind": "Native", "nameservers": []});
        pdns.create_zone(&zone).await;
        let proxy = Proxy::to_pdns(&pdns.url(), &recorder).await;
        Self { pdns, recorder, proxy }
    }

    /// One request through a proxy by a client with a time-out of one second.
    async fn ask(&self, proxy: &Proxy, change: Option<Value>) -> Asked {
        let url = format!("{}{ZONE}", proxy.url());
        let http = support::http_client();
        let request = match change {
            Some(change) => http.patch(&url).body(change.to_string()),
            None => http.get(&url),
        };
        let request = request.header("X-API-Key", self.pdns.key()).timeout(Duration::from_secs(1));
        let answer = request.send().await?;
        let (status, body) = (answer.status().as_u16(), answer.bytes().await?);
        Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
    }

    async fn read(&self) -> Asked {
        self.ask(&self.proxy, None).await
    }

    async fn write(&self, host: &str) -> Asked {
        self.ask(&self.proxy, Some(change(host))).await
    }

    /// Whether the write of this host took effect.
    async fn has(&self, host: &str) -> bool {
        let name = format!("{host}.example.org");
        !self.pdns.contents("example.org", &name, "A").await.is_empty()
    }

    /// The next write meets with this.
    fn fault(&self, action: Action) {
        self.recorder.next(Request::is_write, action);
    }
}

fn change(host: &str) -> Value {
    let name = format!("{host}.example.org.");
    let records = json!([{"content": "192.0.2.1", "disabled": false}]);
    json!({"rrsets": [
        {"name": name, "type": "A", "ttl": 60, "changetype": "REPLACE", "records": records}
    ]})
}

fn seen(recorder: &Recorder) -> Vec<(usize, String, Option<u16>)> {
    let parts = |request: Request| (request.seq, request.method, request.status);
    recorder.requests().into_iter().map(parts).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_recorder_counts_over_both_proxies() {
    let world = World::new().await;
    let second = Proxy::to_pdns(&world.pdns.url(), &world.recorder).await;
    let zone = world.pdns.get_zone("example.org").await;
    assert_eq!(world.read().await.unwrap(), (200, zone));
    let written = world.ask(&second, Some(change("www"))).await.unwrap();
    assert_eq!(written, (204, Value::Null));
    assert_eq!(world.write("a..b").await.unwrap().0, 422);
    let patch = || "PATCH".to_owned();
    let expected =
        [(1, "GET".to_owned(), Some(200)), (2, patch(), Some(204)), (3, patch(), Some(422))];
    assert_eq!(seen(&world.recorder), expected);
    let write = &world.recorder.writes()[0];
    assert_eq!((write.server, write.path.as_str()), (Server::PowerDns, ZONE));
    assert_eq!(write.body, Some(change("www")));
    assert!(write.arrived <= write.answered.unwrap());
    world.recorder.clear();
    world.pdns.stop().await;
    world.read().await.unwrap_err();
    // A server that is down gives no status.
    assert_eq!(seen(&world.recorder), [(4, "GET".to_owned(), None)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn some_faults_forward_nothing() {
    let world = World::new().await;
    let answer = json!({"error": "injected"});
    world.fault(Action::Answer(500, answer.clone()));
    assert_eq!(world.read().await.unwrap().0, 200, "it does not match a GET");
    assert_eq!(world.write("answer").await.unwrap(), (500, answer));
    assert!(!world.has("answer").await);
    assert_eq!(world.write("answer").await.unwrap().0, 204, "once only");

    world.fault(Action::Reset);
    assert!(!world.write("reset").await.unwrap_err().is_timeout());
    assert!(!world.has("reset").await);

    world.fault(Action::Hang);
    assert!(world.write("hang").await.unwrap_err().is_timeout());
    assert!(!world.has("hang").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_can_be_another_ones_or_changed() {
    let world = World::new().await;
    let ask = || async {
        let url = format!("{}{ZONE}", world.proxy.url());
        let none = reqwest::redirect::Policy::none();
        let http = reqwest::Client::builder().redirect(none).no_proxy().build().unwrap();
        http.get(url).header("X-API-Key", world.pdns.key()).send().await.unwrap()
    };
    let read = |action| world.recorder.next(|r| !r.is_write(), action);
    read(Action::Text(502, "<html>".to_owned()));
    let answer = ask().await;
    assert_eq!(
        (answer.status().as_u16(), answer.text().await.unwrap()),
        (502, "<html>".to_owned())
    );

    read(Action::Redirect);
    let answer = ask().await;
    let to = format!("{}{ZONE}", world.pdns.url());
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["location"]),
        (302, &to.parse().unwrap())
    );
    read(Action::Redirect);
    assert_eq!(world.read().await.unwrap().0, 200, "who follows finds what it asked for");

    read(Action::Edit(|zone| zone["kind"] = json!("Slave")));
    let mut zone = world.pdns.get_zone("example.org").await;
    zone["kind"] = json!("Slave");
    assert_eq!(world.read().await.unwrap(), (200, zone));
}

#[tokio::test(flavor = "multi_thread")]
async fn other_faults_forward_and_spoil_the_answer() {
    let world = World::new().await;
    world.fault(Action::ForwardThenDrop);
    assert!(!world.write("drop").await.unwrap_err().is_timeout());
    assert!(world.has("drop").await);
    assert_eq!(world.recorder.writes()[0].status, Some(204));

    world.fault(Action::Delay(Duration::from_millis(300)));
    let start = Instant::now();
    assert_eq!(world.write("delay").await.unwrap().0, 204);
    assert!(start.elapsed() >= Duration::from_millis(300));

    world.fault(Action::Delay(Duration::from_millis(1500)));
    assert!(world.write("late").await.unwrap_err().is_timeout());
    assert!(!world.has("late").await);
    let late = async || world.has("late").await.then_some(());
    wait_for("the late request takes effect", Duration::from_secs(5), late).await;

    world.recorder.always(|request| !request.is_write(), Action::Truncate(10));
    assert!(world.read().await.is_err() && world.read().await.is_err(), "always");
    world.recorder.heal();
    assert_eq!(world.read().await.unwrap().0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_passes_after_the_cut() {
    let world = World::new().await;
    world.recorder.cut_after(2, Request::is_write);
    world.read().await.unwrap();
    world.write("one").await.unwrap();
    assert!(!world.recorder.is_cut());
    world.write("two").await.unwrap();
    assert!(world.recorder.is_cut());
    assert!(world.write("three").await.unwrap_err().is_timeout());
    assert!(world.read().await.unwrap_err().is_timeout(), "a GET is held too");
    assert_eq!((world.recorder.held(), world.recorder.requests().len()), (2, 3));
    world.recorder.release();
    assert_eq!(world.write("four").await.unwrap().0, 204);
    for (host, there) in [("one", true), ("two", true), ("three", false), ("four", true)] {
        assert_eq!(world.has(host).await, there, "{host}");
    }
}

/// On one thread the proxy sees nothing before the client has come and gone.
#[tokio::test]
async fn a_dead_client_writes_nothing() {
    let world = World::new().await;
    let (key, body) = (world.pdns.key(), change("www").to_string());
    let address = world.proxy.url().trim_start_matches("http://").to_owned();
    let mut client = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(client, "PATCH {ZONE} HTTP/1.1\r\nX-API-Key: {key}\r\n").unwrap();
    write!(client, "Content-Length: {length}\r\n\r\n{body}").unwrap();
    drop(client);
    assert_eq!(world.read().await.unwrap().0, 200);
    assert_eq!(world.recorder.writes().len(), 0);
    assert!(!world.has("www").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_proxy_stands_before_the_api_server_too() {
    let (api, recorder) = (ApiServer::shared(), Recorder::default());
    let proxy = Proxy::to_apiserver(api, &recorder).await;
    let client = support::apiserver::client(proxy.kubeconfig()).await;
    let namespace = api.namespace("selftest").await;
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"},
        "metadata": {"name": "map", "namespace": namespace},
    });
    objects::create(&client, &map).await;
    assert_eq!(objects::get(&client, &map).await.unwrap()["data"], map["data"]);
    let conflict = json!({
        "kind": "Status", "status": "Failure", "code": 409, "reason": "Conflict", "message": "injected",
    });
    recorder.next(Request::is_write, Action::Answer(409, conflict));
    let error = objects::try_create(&client, &map).await.unwrap_err();
    assert!(error.to_string().contains("injected"), "{error}");
    let post = || "POST".to_owned();
    let expected =
        [(1, post(), Some(201)), (2, "GET".to_owned(), Some(200)), (3, post(), Some(409))];
    assert_eq!(seen(&recorder), expected);
    let write = &recorder.writes()[0];
    assert_eq!(write.server, Server::Kubernetes);
    assert_eq!(write.body.as_ref().unwrap()["data"], map["data"]);
}

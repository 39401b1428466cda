//! Clients that hold what the listener gives them, without the daemon around it: whoever they are, the probes answer.

use std::sync::Arc;
use std::time::Duration;

use dns_syncd::admin::{self, Access, Admin};
use dns_syncd::metrics::Metrics;
use dns_syncd::trigger::Trigger;
use reqwest::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::support::http_client;

/// A listener of no daemon.
struct Alone {
    address: String,
    stop: CancellationToken,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Alone {
    async fn new(trigger: Trigger) -> Alone {
        let admin = Arc::new(Admin {
            trigger,
            metrics: Arc::new(Metrics::new().unwrap()),
            access: Access::default(),
            syncer: None,
            limiter: admin::limiter(),
            forward: http_client(),
            deadline: 60_000,
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let stop = CancellationToken::new();
        let serving = tokio::spawn(admin::serve(listener, admin, stop.clone()));
        Alone { address, stop, serving }
    }

    async fn healthz(&self) -> reqwest::Result<StatusCode> {
        let url = format!("http://{}/healthz", self.address);
        let answer = http_client().get(url).timeout(Duration::from_secs(5)).send().await?;
        Ok(answer.status())
    }

    async fn stop(self) {
        self.stop.cancel();
        self.serving.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_read_its_answers_is_cut_off() {
    let alone = Alone::new(Trigger::default()).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(alone.address.parse().unwrap()).await.unwrap();
    // More than the buffers on the way hold.
    let asked = 2000;
    let requests = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".repeat(asked);
    stream.write_all(requests.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(13)).await;
    let mut answers = Vec::new();
    // By a reset, if requests of it were left.
    let _ = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut answers))
        .await
        .expect("it is ended");
    let answered = String::from_utf8_lossy(&answers).matches("HTTP/1.1 200 ").count();
    assert!(answered < asked, "it was waited for, and all {asked} were answered");
    assert_eq!(alone.healthz().await.unwrap(), 200);
    alone.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_says_nothing_keeps_no_probe_waiting() {
    let alone = Alone::new(Trigger::default()).await;
    let silent = (0..520).map(|_| TcpStream::connect(&alone.address));
    let silent = futures::future::try_join_all(silent).await.unwrap();
    assert_eq!(alone.healthz().await.ok(), Some(StatusCode::OK), "the probe is not answered");
    drop(silent);
    alone.stop().await;
}

/// Nobody has to know a secret to be handed on.
#[tokio::test(flavor = "multi_thread")]
async fn a_holder_that_hangs_takes_the_probes_of_no_standby() {
    // Its system takes connections, and it answers none.
    let holder = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let trigger = Trigger::default();
    trigger.stand_by(Some(&format!("holder@{}", holder.local_addr().unwrap())));
    let alone = Alone::new(trigger).await;
    let (mut callers, mut refused) = (Vec::new(), 0);
    for _ in 0..3 {
        for _ in 0..200 {
            let mut caller = TcpStream::connect(&alone.address).await.unwrap();
            let request = "POST /v1/sync HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
            caller.write_all(request.as_bytes()).await.unwrap();
            callers.push(caller);
        }
        // Until the rate lets as many in again.
        tokio::time::sleep(Duration::from_millis(1100)).await;
    }
    assert_eq!(alone.healthz().await.ok(), Some(StatusCode::OK), "the probe is not answered");
    for caller in &mut callers {
        let mut answer = [0; 1024];
        let read = tokio::time::timeout(Duration::from_millis(1), caller.read(&mut answer)).await;
        let Ok(Ok(read)) = read else { continue };
        let answer = String::from_utf8_lossy(&answer[..read]).to_lowercase();
        assert!(
            answer.starts_with("http/1.1 429 ") && answer.contains("retry-after: "),
            "{answer}"
        );
        refused += 1;
    }
    assert!(refused > 0, "each of them holds a connection");
    drop((callers, holder));
    alone.stop().await;
}

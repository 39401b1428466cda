//! The connections of the listener, with bounds on what a client may hold: a slow one, or many, must not starve the
//! probes.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1::Builder;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::REQUESTS_AT_ONCE;
use super::stall::Impatient;

/// Longest time that the head of a request may take to arrive, and that a connection may rest between two.
const HEAD: Duration = Duration::from_secs(10);
/// The same while more than half of the connections are taken; none then rests. Who only holds them must not make a probe
/// wait for as long as it likes.
const BRIEF: Duration = Duration::from_secs(1);
/// Longest time that a client may take nothing of an answer.
const STALL: Duration = Duration::from_secs(10);
/// Connections at a time; further ones wait to be accepted.
const CONNECTIONS: usize = 512;
const _: () = assert!(REQUESTS_AT_ONCE < CONNECTIONS, "the probes need some");
/// Bytes of a request's head.
const HEAD_SIZE: usize = 16 * 1024;
/// Wait after an accept that failed, as it does when the process has no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop` is cancelled and every request that has begun has its answer.
///
/// # Errors
/// If the listener's address cannot be told, which would mean that it is closed.
pub(super) async fn serve(
    listener: TcpListener,
    app: Router,
    stop: CancellationToken,
) -> std::io::Result<()> {
    listener.local_addr()?;
    let mut http = Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(HEAD_SIZE);
    let mut brief = http.clone();
    brief.header_read_timeout(BRIEF).keep_alive(false);
    let (graceful, slots) = (GracefulShutdown::new(), Arc::new(Semaphore::new(CONNECTIONS)));
    loop {
        let accepted = async {
            // Never closed.
            let slot = slots.clone().acquire_owned().await.ok();
            (listener.accept().await, slot)
        };
        let (accepted, slot) = tokio::select! {
            () = stop.cancelled() => break,
            accepted = accepted => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                pause().await;
                continue;
            }
        };
        let service = TowerToHyperService::new(app.clone());
        let stream = TokioIo::new(Impatient::new(stream, STALL));
        let http = if slots.available_permits() < CONNECTIONS / 2 { &brief } else { &http };
        let connection = graceful.watch(http.serve_connection(stream, service));
        tokio::spawn(async move {
            // What a client does wrong is no concern of the daemon's.
            let _ = connection.await;
            drop(slot);
        });
    }
    drop(listener);
    graceful.shutdown().await;
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "nothing else tells when a descriptor is free again")]
async fn pause() {
    tokio::time::sleep(PAUSE).await;
}

//! The HTTP listener: nudge, release, status, plan, health, readiness, metrics. In standby the first four are handed on.

mod auth;
mod forward;
mod health;
mod listen;
mod nudge;
mod stall;
mod state;

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub use forward::forwarder;

use crate::metrics::Metrics;
use crate::sync::Syncer;
use crate::trigger::Trigger;

/// Largest body of a request, in bytes. It is read to be authenticated and is otherwise ignored, so that any webhook
/// sender can call.
const BODY_LIMIT: usize = 64 * 1024;

/// Requests a second to `/v1`, and at once after a quiet time. Far above what the webhooks of an installation send: who
/// sends more is in a loop, or guesses.
const REQUESTS_PER_SECOND: NonZeroU32 = NonZeroU32::new(200).unwrap();

/// Requests to `/v1` that wait for their answers: for a pass, or for the holder of the lease. Fewer than the listener has
/// connections, so that those who wait, however long, leave some to the probes.
const REQUESTS_AT_ONCE: usize = 400;

/// What the routes need.
pub struct Admin {
    /// To nudge and to see the loop.
    pub trigger: Trigger,
    /// To show, and to see whether anything moves.
    pub metrics: Arc<Metrics>,
    /// Who may call.
    pub access: Access,
    /// To look up a zone that no pass has seen yet, and to plan.
    pub syncer: Option<Arc<Syncer>>,
    /// How long nothing may move while a pass is due or running, in milliseconds.
    pub deadline: u64,
    /// Bounds the requests to `/v1`.
    pub limiter: Limiter,
    /// Hands them on to the process that runs passes.
    pub forward: reqwest::Client,
}

/// What bounds the requests to `/v1`.
#[derive(Debug)]
pub struct Limiter {
    rate: DefaultDirectRateLimiter,
    waiting: Semaphore,
}

/// Files of secrets, each read for every request so that a rotated one counts at once.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The bearer token of those who may nudge.
    pub token: Option<PathBuf>,
    /// The key of those who sign their body and may nudge.
    pub hmac: Option<PathBuf>,
    /// The bearer token of those who may also release holds and see status and plan.
    pub admin: Option<PathBuf>,
    /// Anybody may nudge.
    pub anonymous: bool,
}

/// Serves until `stop` is cancelled.
///
/// # Errors
/// If the listener fails.
pub async fn serve(
    listener: TcpListener,
    admin: Arc<Admin>,
    stop: CancellationToken,
) -> std::io::Result<()> {
    let guarded = Router::new()
        .route("/v1/sync", post(nudge::sync))
        .route("/v1/status", get(state::status))
        .route("/v1/plan", get(state::plan))
        .layer(middleware::from_fn_with_state(admin.clone(), forward::to_holder))
        .layer(middleware::from_fn_with_state(admin.clone(), auth::not_too_often));
    let app = guarded
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(admin);
    listen::serve(listener, app, stop).await
}

/// The bounds on requests to `/v1`.
#[must_use]
pub fn limiter() -> Limiter {
    Limiter {
        rate: RateLimiter::direct(Quota::per_second(REQUESTS_PER_SECOND)),
        waiting: Semaphore::new(REQUESTS_AT_ONCE),
    }
}

fn error(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "error": message }))).into_response()
}

//! The HTTP listener: nudge, health, readiness, metrics.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::json;
use subtle::ConstantTimeEq;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;
use crate::trigger::{Phase, Trigger};

/// Largest body of a nudge, in bytes. It is read and ignored, so that any webhook sender can call.
const BODY_LIMIT: usize = 64 * 1024;
/// Longest `wait`, in seconds.
const WAIT_LIMIT: u64 = 600;

/// What the routes need.
#[derive(Debug)]
pub struct Admin {
    /// To nudge and to see the loop.
    pub trigger: Trigger,
    /// To show, and to see whether anything moves.
    pub metrics: Arc<Metrics>,
    /// The bearer token's file, read for every request so that a rotated one counts at once.
    pub token_file: Option<PathBuf>,
    /// How long nothing may move while a pass is due or running, in milliseconds.
    pub deadline: u64,
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
    let app = Router::new()
        .route("/v1/sync", post(nudge))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(admin);
    axum::serve(listener, app).with_graceful_shutdown(stop.cancelled_owned()).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nudge {
    wait: Option<String>,
}

/// `POST /v1/sync[?wait=30s]`: 202 with the number of the pass that will serve it, or, with `wait`, 200
/// with the report of a pass that began after the request; 202 if that does not end in time, 503 if the
/// daemon ends before.
async fn nudge(
    State(admin): State<Arc<Admin>>,
    headers: HeaderMap,
    query: Result<Query<Nudge>, axum::extract::rejection::QueryRejection>,
    _body: axum::body::Bytes,
) -> Response {
    if let Err(refused) = admin.authorize(&headers) {
        return refused;
    }
    let wait = match query.map(|Query(nudge)| nudge.wait) {
        Ok(None) => None,
        Ok(Some(text)) => {
            let wait = duration(&text);
            if wait.is_none() {
                let allowed = format!("a duration such as 30s, at most {WAIT_LIMIT}s");
                return error(StatusCode::BAD_REQUEST, &format!("wait={text:?} is not {allowed}"));
            }
            wait
        }
        Err(rejection) => return error(StatusCode::BAD_REQUEST, &rejection.body_text()),
    };
    let pass = admin.trigger.nudge();
    if let Some(wait) = wait {
        match tokio::time::timeout(wait, admin.trigger.ended(pass)).await {
            Ok(Some(report)) => return Json(&*report).into_response(),
            Ok(None) => return error(StatusCode::SERVICE_UNAVAILABLE, "the daemon is stopping"),
            Err(_) => {}
        }
    }
    (StatusCode::ACCEPTED, Json(json!({ "pass": pass }))).into_response()
}

fn duration(text: &str) -> Option<Duration> {
    let span: jiff::SignedDuration = text.parse().ok()?;
    let duration = Duration::try_from(span).ok()?;
    (duration <= Duration::from_secs(WAIT_LIMIT)).then_some(duration)
}

impl Admin {
    #[expect(clippy::result_large_err, reason = "the error is the answer itself")]
    fn authorize(&self, headers: &HeaderMap) -> Result<(), Response> {
        let Some(path) = &self.token_file else {
            let remedy = "nudges are off: set http.tokenFile to a file with a bearer token";
            return Err(error(StatusCode::FORBIDDEN, remedy));
        };
        let token = std::fs::read_to_string(path).unwrap_or_default();
        let token = token.trim();
        if token.is_empty() {
            tracing::error!(path = %path.display(), "http.tokenFile is unreadable or empty");
            let remedy = "nudges are off: the file of http.tokenFile is unreadable or empty";
            return Err(error(StatusCode::FORBIDDEN, remedy));
        }
        let given = headers.get(header::AUTHORIZATION).and_then(|v| v.to_str().ok());
        let given = given.and_then(|v| v.strip_prefix("Bearer ")).unwrap_or_default();
        if bool::from(given.as_bytes().ct_eq(token.as_bytes())) {
            return Ok(());
        }
        let mut answer = error(StatusCode::UNAUTHORIZED, "a bearer token is needed");
        let scheme = header::HeaderValue::from_static("Bearer");
        answer.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        Err(answer)
    }
}

fn error(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "error": message }))).into_response()
}

/// Fails when a pass is due or running and nothing has moved within the deadline.
async fn healthz(State(admin): State<Arc<Admin>>) -> Response {
    let state = admin.trigger.state();
    let still = admin.metrics.still_for();
    if (state.phase == Phase::Passing || state.due) && still > admin.deadline {
        let message = format!("nothing has moved for {} s", still / 1000);
        return error(StatusCode::SERVICE_UNAVAILABLE, &message);
    }
    "ok\n".into_response()
}

/// Ready once a pass has come to its end.
async fn readyz(State(admin): State<Arc<Admin>>) -> Response {
    if admin.trigger.state().ready {
        return "ok\n".into_response();
    }
    error(StatusCode::SERVICE_UNAVAILABLE, "no pass has come to its end yet")
}

async fn metrics(State(admin): State<Arc<Admin>>) -> Response {
    match admin.metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response(),
        Err(e) => error(StatusCode::INTERNAL_SERVER_ERROR, &e.to_string()),
    }
}

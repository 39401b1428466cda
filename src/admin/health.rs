//! What needs no secret: health, readiness, metrics.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::{Admin, error};
use crate::trigger::Phase;

/// Fails when a pass is due or running and nothing has moved within the deadline.
pub(super) async fn healthz(State(admin): State<Arc<Admin>>) -> Response {
    let state = admin.trigger.state();
    let still = admin.metrics.still_for();
    let (passing, standby) = (state.phase == Phase::Passing, state.phase == Phase::Standby);
    // In standby nothing is to move here; ticks of the interval make a pass due all the same.
    if (passing || (state.due && !standby)) && still > admin.deadline {
        let message = format!("nothing has moved for {} s", still / 1000);
        return error(StatusCode::SERVICE_UNAVAILABLE, &message);
    }
    "ok\n".into_response()
}

/// Ready once a pass has come to its end, here or, as far as one sees, at the process that holds the lease.
pub(super) async fn readyz(State(admin): State<Arc<Admin>>) -> Response {
    if admin.trigger.state().ready {
        return "ok\n".into_response();
    }
    error(
        StatusCode::SERVICE_UNAVAILABLE,
        "no pass has come to its end yet, and no other process is known to run them",
    )
}

/// All series as text (Prometheus exposition format 0.0.4).
pub(super) async fn metrics(State(admin): State<Arc<Admin>>) -> Response {
    match admin.metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response(),
        Err(e) => error(StatusCode::INTERNAL_SERVER_ERROR, &e.to_string()),
    }
}

//! What the daemon knows and would do, for those with the admin token.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::auth::Role;
use super::{Admin, error};

/// `GET /v1/status`: the loop, its last passes, each zone, what is held, refused or waits for its next try.
pub(super) async fn status(State(admin): State<Arc<Admin>>, headers: HeaderMap) -> Response {
    if let Err(refused) = admin.access.authorize(&headers, &[], Role::Admin) {
        return refused;
    }
    let state = admin.trigger.state();
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "phase": state.phase,
        "due": state.due,
        "ready": state.ready,
        "started": state.started,
        "progress": admin.metrics.progress(),
        "passes": state.passes,
        "view": *state.view,
    }))
    .into_response()
}

/// `GET /v1/plan`: what the next pass would do, with what this process remembers.
pub(super) async fn plan(State(admin): State<Arc<Admin>>, headers: HeaderMap) -> Response {
    if let Err(refused) = admin.access.authorize(&headers, &[], Role::Admin) {
        return refused;
    }
    let Some(syncer) = &admin.syncer else {
        return error(StatusCode::SERVICE_UNAVAILABLE, "there is nobody here who plans");
    };
    match syncer.planned().await {
        Ok(planned) => Json(planned).into_response(),
        Err(e) => error(StatusCode::BAD_GATEWAY, &format!("no plan: {e}")),
    }
}

//! What a standby does with requests that only the process which runs passes can answer: it hands them on as they are.

use std::sync::Arc;
use std::time::Duration;

use axum::RequestExt;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::{Admin, error};
use crate::lease::identity::address;
use crate::trigger::Phase;

/// On each request that was handed on, so that two who take each other for the holder do not play ball.
const FORWARDED: HeaderName = HeaderName::from_static("x-dns-syncd-forwarded");
/// Longest time that the body may take to arrive.
const BODY: Duration = Duration::from_secs(10);
/// Longest time that opening a connection to the holder may take.
const CONNECT: Duration = Duration::from_secs(3);
/// Longest time that the holder's answer may take: the longest `wait`, and a plan.
const ANSWER: Duration = Duration::from_mins(11);

/// What belongs to one connection (RFC 9110, 7.6.1), or is written anew for the next.
const OWN: [HeaderName; 9] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::HOST,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

/// A client that hands requests on.
///
/// # Errors
/// If it cannot be set up.
pub fn forwarder() -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        // Callers' tokens must not be led elsewhere.
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .pool_max_idle_per_host(0)
        .connect_timeout(CONNECT)
        .timeout(ANSWER)
        .tls_certs_only([])
        .build()
}

/// Hands a request on if passes are another process's: its answer, or 503 with its name. Who may ask for what is decided
/// there, since the secrets are the same.
pub(super) async fn to_holder(
    State(admin): State<Arc<Admin>>,
    request: Request,
    next: Next,
) -> Response {
    let state = admin.trigger.state();
    if state.phase != Phase::Standby {
        return next.run(request).await;
    }
    let unavailable = |why: &str| error(StatusCode::SERVICE_UNAVAILABLE, why);
    let Some(holder) = state.holder else {
        return unavailable("nobody is known to hold the lease; try again");
    };
    let unable = |why: &str| unavailable(&format!("the lease is held by {holder}, {why}"));
    if request.headers().contains_key(FORWARDED) {
        return unable("and this was handed on by another that does not hold it");
    }
    let Some(address) = address(&holder) else {
        return unable("which does not say where it is reached");
    };
    let (method, headers) = (request.method().clone(), passed_on(request.headers()));
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let url = format!("http://{address}{path}");
    let request = request.with_limited_body();
    let body = match tokio::time::timeout(BODY, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => body,
        Ok(Err(refused)) => return refused.into_response(),
        Err(_) => return error(StatusCode::REQUEST_TIMEOUT, "the body came too slowly"),
    };
    let request = admin.forward.request(method, url).headers(headers).body(body);
    let answer = async {
        let answer = request.header(FORWARDED, HeaderValue::from_static("1")).send().await?;
        let (status, headers) = (answer.status(), passed_on(answer.headers()));
        Ok::<_, reqwest::Error>((status, headers, answer.bytes().await?))
    };
    match answer.await {
        Ok((status, headers, body)) => {
            let mut out = (status, Body::from(body)).into_response();
            *out.headers_mut() = headers;
            out
        }
        Err(error) => unable(&format!("which does not answer: {}", error.without_url())),
    }
}

/// The headers without those of the connection.
fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let mut out = headers.clone();
    for name in OWN {
        out.remove(name);
    }
    out
}

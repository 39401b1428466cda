//! `POST /v1/sync`: asks for a pass, and lets held deletes through.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, RequestExt};
use serde_json::json;

use super::auth::Role;
use super::{Admin, error};
use crate::api::KIND_ZONE;
use crate::api::object::ObjectKey;
use crate::dns::name::Name;
use crate::plan::brakes::Hold;
use crate::plan::release::Released;
use crate::sync::Asked;
use crate::trigger::{Phase, State as Loop};

/// Longest `wait`, in seconds.
const WAIT_LIMIT: u64 = 600;
/// Longest time that a body may take to arrive.
const BODY: Duration = Duration::from_secs(10);

/// Longest time that is spent on asking for zones that no pass has seen.
const ASK: Duration = Duration::from_secs(5);

/// What a nudge's query asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Query {
    wait: Option<Duration>,
    zones: BTreeSet<ObjectKey>,
    releases: BTreeSet<String>,
}

/// Answers 202 with the number of the pass that will serve it, or, with `wait`, 200 with the report of a pass that
/// began after the request; 202 if that does not end in time, 503 if the daemon ends or loses the lease before. 400 names what is wrong
/// with the query, 409 a digest that holds nothing now.
pub(super) async fn sync(State(admin): State<Arc<Admin>>, request: Request) -> Response {
    let answer = nudge(&admin, request).await;
    if answer.is_err() {
        admin.metrics.nudge("refused");
    }
    match answer {
        Ok(answer) | Err(answer) => answer,
    }
}

async fn nudge(admin: &Admin, request: Request) -> Result<Response, Response> {
    let query = request.uri().query().unwrap_or_default().to_owned();
    let headers = request.headers().clone();
    let request = request.with_limited_body();
    let body = tokio::time::timeout(BODY, Bytes::from_request(request, &())).await;
    let body = body.map_err(|_| error(StatusCode::REQUEST_TIMEOUT, "the body came too slowly"))?;
    let body = body.map_err(IntoResponse::into_response)?;
    let role = admin.access.authorize(&headers, &body, Role::Nudge)?;
    let refused = |why: String| error(StatusCode::BAD_REQUEST, &why);
    let Query { wait, zones, releases } = read(&query).map_err(refused)?;
    if !releases.is_empty() && role < Role::Admin {
        admin.access.authorize(&headers, &body, Role::Admin)?;
    }
    let state = admin.trigger.state();
    let asked = Asked {
        all: zones.is_empty(),
        zones: admin.domains(&state, zones).await.map_err(refused)?,
        released: released(&state, &releases)?,
    };
    let trigger = &admin.trigger;
    let already = trigger.state().asked.is_some();
    let pass = trigger.nudge(asked).ok_or_else(|| lost(&trigger.state()))?;
    admin.metrics.nudge(if already { "coalesced" } else { "accepted" });
    let Some(wait) = wait else { return Ok(accepted(pass)) };
    let served = async {
        let report = trigger.ended(pass).await;
        if report.is_none() {
            // Whoever asked is told who to ask now.
            trigger.settled().await;
        }
        report
    };
    match tokio::time::timeout(wait, served).await {
        Ok(Some(report)) => Ok(Json(&*report).into_response()),
        Err(_) if !trigger.state().is_over() => Ok(accepted(pass)),
        Ok(None) | Err(_) => Err(lost(&trigger.state())),
    }
}

fn accepted(pass: u64) -> Response {
    (StatusCode::ACCEPTED, Json(json!({ "pass": pass }))).into_response()
}

/// What a nudge is told that no pass of this process serves.
fn lost(state: &Loop) -> Response {
    let why = match (state.phase, &state.holder) {
        (Phase::Ended, _) => "the daemon is stopping".to_owned(),
        (Phase::Standby, Some(holder)) => {
            format!("the lease was lost, and {holder} has it now; try again")
        }
        (Phase::Standby | Phase::Waiting | Phase::Passing, _) => {
            "the lease was lost meanwhile; try again".to_owned()
        }
    };
    error(StatusCode::SERVICE_UNAVAILABLE, &why)
}

/// Reads `wait=30s`, `zone=namespace/name` and `release=digest`; the latter two may come again and again.
fn read(query: &str) -> Result<Query, String> {
    let mut out = Query::default();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "wait" if out.wait.is_some() => return Err("wait is given twice".to_owned()),
            "wait" => {
                let allowed = format!("a duration such as 30s, at most {WAIT_LIMIT}s");
                let wait = duration(&value);
                out.wait = Some(wait.ok_or(format!("wait={value:?} is not {allowed}"))?);
            }
            "zone" => {
                let key = value
                    .parse()
                    .ok()
                    .filter(|ObjectKey { namespace, name }| is_part(namespace) && is_part(name));
                out.zones.insert(
                    key.ok_or(format!("zone={value:?} is not the namespace/name of a DNSZone"))?,
                );
            }
            "release" => {
                out.releases.insert(value.into_owned());
            }
            other => {
                return Err(format!(
                    "{other:?} is no parameter of this; there are wait, zone and release"
                ));
            }
        }
    }
    Ok(out)
}

/// Whether a text can be a namespace or the name of an object: what else there is must not get into a URL.
fn is_part(text: &str) -> bool {
    let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    let inner = |c: char| c != '.' && c != '-' && known(c);
    let whole = text.len() <= 253 && text.chars().all(known);
    whole && text.starts_with(inner) && text.ends_with(inner)
}

fn duration(text: &str) -> Option<Duration> {
    let span: jiff::SignedDuration = text.parse().ok()?;
    let duration = Duration::try_from(span).ok()?;
    (duration <= Duration::from_secs(WAIT_LIMIT)).then_some(duration)
}

/// The holds that are let through: those of the newest pass that these digests name.
#[expect(clippy::result_large_err, reason = "the error is the answer itself")]
fn released(state: &Loop, digests: &BTreeSet<String>) -> Result<Released, Response> {
    let holds = &state.view.holds;
    let unknown: Vec<&String> =
        digests.iter().filter(|d| !holds.iter().any(|h| h.digest.as_ref() == Some(d))).collect();
    if !unknown.is_empty() {
        let message = format!("nothing is held now under {unknown:?}");
        let answer = json!({ "error": message, "holds": holds });
        return Err((StatusCode::CONFLICT, Json(answer)).into_response());
    }
    let named = |h: &&Hold| digests.iter().any(|d| Some(d) == h.digest.as_ref());
    Ok(Released::holds(holds.iter().filter(named)))
}

impl Admin {
    /// The domains of DNSZones, for those that a pass has seen. One that no pass has seen may be new: the API server is
    /// asked, and what it does not say is not taken for an absence.
    async fn domains(
        &self,
        state: &Loop,
        zones: BTreeSet<ObjectKey>,
    ) -> Result<BTreeSet<Name>, String> {
        let (mut out, mut unseen) = (BTreeSet::new(), Vec::new());
        for key in zones {
            match state.view.zones.get(&key) {
                Some(seen) => out.extend(seen.domain.clone()),
                None => unseen.push(key),
            }
        }
        match tokio::time::timeout(ASK, self.exist(&unseen)).await {
            Ok(Err(why)) => Err(why),
            Ok(Ok(())) | Err(_) => Ok(out),
        }
    }

    /// Why one of these DNSZones cannot be there, if that is known.
    async fn exist(&self, zones: &[ObjectKey]) -> Result<(), String> {
        let Some(syncer) = &self.syncer else { return Ok(()) };
        let read = &syncer.policy.namespaces;
        if let Some(key) =
            zones.iter().find(|key| !read.is_empty() && !read.contains(&key.namespace))
        {
            return Err(format!("zone={key}: the namespace is not one of those in namespaces"));
        }
        for key in zones {
            let answer = syncer.cluster.get(KIND_ZONE, key).await;
            if answer.is_err_and(|e| e.code() == Some(404)) {
                return Err(format!("zone={key}: there is no such DNSZone"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_zones_and_digests_any_number_of_times() {
        let query = read("zone=a/b&release=12&wait=2s&zone=a/c.d&release=34&zone=a%2Fb").unwrap();
        let key = |name: &str| ObjectKey { namespace: "a".to_owned(), name: name.to_owned() };
        assert_eq!(query.zones, BTreeSet::from([key("b"), key("c.d")]));
        assert_eq!(query.releases, ["12", "34"].map(str::to_owned).into());
        assert_eq!(query.wait, Some(Duration::from_secs(2)));
        for wrong in [
            "zone=b",
            "zone=a/",
            "zone=a/b/c",
            "zone=a/..%2Fb",
            "zone=a/b?x",
            "zones=a/b",
            "zone=../a",
            "zone=a/..",
            "zone=a/.",
        ] {
            assert!(read(wrong).unwrap_err().contains("zone"), "{wrong}");
        }
    }
}

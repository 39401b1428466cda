//! Requests to the API server: limits, time-outs, and what an answer means. Objects stay raw JSON here, so that
//! one malformed object never hides the others.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use kube::core::params::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::{Request, request};
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error as ThisError;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::page;
use crate::api::object::ObjectKey;
use crate::api::{GROUP, KIND_RECORD_SET, KIND_ZONE, VERSION};
use crate::fence::{Fence, Shut};
use crate::metrics::Metrics;

/// Longest time that one request may take, answer included.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Objects a page of a list.
const PAGE: u32 = 500;
/// How often a list is begun anew after its continue token expired (410).
const RESTARTS: usize = 2;

/// Why a request has no good answer.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The API server answered with an error status.
    #[error("the API server answered {code}: {message}")]
    Status {
        /// HTTP status.
        code: u16,
        /// Its message.
        message: String,
    },
    /// No answer, or an unreadable one.
    #[error("no answer from the API server: {0}")]
    Transport(String),
    /// A CRD of ours is being deleted: its objects go with it, which is nobody's wish.
    #[error("the CRD {0} is being deleted")]
    CrdTerminating(String),
    /// The process is stopping: nothing new is sent.
    #[error("the process is stopping")]
    Stopping,
    /// Another process may write now: nothing is sent.
    #[error("the lease is not held")]
    NotHeld,
}

impl Error {
    /// A good answer that cannot be decoded.
    #[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
    fn unreadable(error: serde_json::Error) -> Error {
        Error::Transport(error.to_string())
    }

    /// The status, if the server gave one.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        match self {
            Error::Status { code, .. } => Some(*code),
            Error::Transport(_) | Error::CrdTerminating(_) | Error::Stopping | Error::NotHeld => {
                None
            }
        }
    }
}

impl From<Shut> for Error {
    fn from(Shut: Shut) -> Error {
        Error::NotHeld
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Error {
        if let kube::Error::Api(status) = error {
            return Error::Status { code: status.code, message: status.message.clone() };
        }
        // The outer layers only name themselves; the innermost says what happened.
        let mut cause: &dyn std::error::Error = &error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        Error::Transport(cause.to_string())
    }
}

impl From<request::Error> for Error {
    fn from(error: request::Error) -> Error {
        Error::Transport(error.to_string())
    }
}

/// A client of one cluster.
pub struct Client {
    kube: kube::Client,
    bucket: DefaultDirectRateLimiter,
    in_flight: Semaphore,
    /// How many writes may be in flight.
    pub concurrency: usize,
    pub(super) metrics: Arc<Metrics>,
    stop: CancellationToken,
    fence: Fence,
    /// Longest time that one write may take, answer included.
    write_timeout: Duration,
}

/// The URL path of a kind's collection, in one namespace or in all.
fn collection(plural: &str, namespace: Option<&str>) -> String {
    match namespace {
        Some(namespace) => format!("/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{plural}"),
        None => format!("/apis/{GROUP}/{VERSION}/{plural}"),
    }
}

fn crd_name(plural: &str) -> String {
    format!("{plural}.{GROUP}")
}

/// The URL path of the events of a namespace.
fn events(namespace: &str) -> String {
    format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events")
}

/// The plural of one of our namespaced kinds.
fn plural(kind: &str) -> &'static str {
    match kind {
        KIND_ZONE => "dnszones",
        KIND_RECORD_SET => "dnsrecordsets",
        _ => "dnszoneclasses",
    }
}

impl Client {
    /// A client with limits on writes: so many a second after a burst, so many in flight.
    #[must_use]
    pub fn new(
        kube: kube::Client,
        (per_second, burst): (NonZeroU32, NonZeroU32),
        concurrency: usize,
        metrics: Arc<Metrics>,
        stop: CancellationToken,
    ) -> Client {
        Client {
            kube,
            bucket: RateLimiter::direct(Quota::per_second(per_second).allow_burst(burst)),
            in_flight: Semaphore::new(concurrency.max(1)),
            concurrency: concurrency.max(1),
            metrics,
            stop,
            fence: Fence::default(),
            write_timeout: REQUEST_TIMEOUT,
        }
    }

    /// The same client for who must hold the lease: a write begins only if the lease outlives `timeout`, which no write
    /// then exceeds.
    #[must_use]
    pub fn fenced(self, fence: Fence, timeout: Duration) -> Client {
        Client { fence, write_timeout: timeout.min(REQUEST_TIMEOUT), ..self }
    }

    /// The namespace of the pod, or the one that the kubeconfig names.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.kube.default_namespace()
    }

    /// The complete list of a kind, as `each` makes it of the items, page by page. `resourceVersion` is unset: the
    /// newest state, never a cache's.
    ///
    /// # Errors
    /// If any page fails, or the list expired (410) more than twice: then there is no list.
    pub async fn list<T: Send + 'static>(
        &self,
        plural: &str,
        namespace: Option<&str>,
        each: fn(&Value) -> Option<T>,
    ) -> Result<Vec<T>, Error> {
        let collection = collection(plural, namespace);
        let mut restarts = 0;
        loop {
            match self.pages(&collection, each).await {
                Err(Error::Status { code: 410, .. }) if restarts < RESTARTS => restarts += 1,
                other => return other,
            }
        }
    }

    /// Each page is decoded while the next one is fetched: the API server takes about as long for the one as we for the
    /// other.
    async fn pages<T: Send + 'static>(
        &self,
        collection: &str,
        each: fn(&Value) -> Option<T>,
    ) -> Result<Vec<T>, Error> {
        let mut out = Vec::new();
        let mut keep = |items: Vec<T>| {
            self.metrics.advance(items.len());
            out.extend(items);
        };
        let mut decoding: Option<JoinHandle<Result<Vec<T>, Error>>> = None;
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let page = self.text(Request::new(collection).list(&params)?).await?;
            params.continue_token = page::next(&page).map_err(Error::unreadable)?;
            let more = params.continue_token.is_some();
            let decode = move || page::items(&page, each).map_err(Error::unreadable);
            if let Some(task) = decoding.take() {
                keep(task.await.map_err(|e| Error::Transport(e.to_string()))??);
            }
            if !more {
                keep(decode()?);
                return Ok(out);
            }
            decoding = Some(tokio::task::spawn_blocking(decode));
        }
    }

    /// Checks that a CRD can be read and is not being deleted.
    ///
    /// # Errors
    /// If it is, or cannot be read.
    pub async fn check_crd(&self, plural: &str) -> Result<(), Error> {
        let crd = self.crd(plural).await?;
        let deleted = crd.get("metadata").and_then(|m| m.get("deletionTimestamp"));
        let name = crd_name(plural);
        if deleted.is_some() { Err(Error::CrdTerminating(name)) } else { Ok(()) }
    }

    /// Whether the API server itself says that there is no such CRD: its 404 names what it has not found, and that of
    /// whatever stands before it does not.
    pub async fn has_no_crd(&self, plural: &str) -> bool {
        match self.crd(plural).await {
            Err(Error::Status { code: 404, message }) => {
                message.ends_with(&format!("\"{}\" not found", crd_name(plural)))
            }
            Ok(_) | Err(_) => false,
        }
    }

    async fn crd(&self, plural: &str) -> Result<Value, Error> {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let params = kube::core::params::GetParams::default();
        self.send(Request::new(path).get(&crd_name(plural), &params)?).await
    }

    /// One object as it is now.
    ///
    /// # Errors
    /// As for every request; 404 if it does not exist.
    pub async fn get(&self, kind: &str, key: &ObjectKey) -> Result<Value, Error> {
        let path = collection(plural(kind), Some(&key.namespace));
        let params = kube::core::params::GetParams::default();
        self.send(Request::new(path).get(&key.name, &params)?).await
    }

    /// Merge-patches an object or, with `status`, its status subresource.
    ///
    /// # Errors
    /// As for every request; 409 if the body's `resourceVersion` is not the newest.
    pub async fn patch(
        &self,
        kind: &str,
        key: &ObjectKey,
        status: bool,
        body: &Value,
    ) -> Result<Value, Error> {
        let request = Request::new(collection(plural(kind), Some(&key.namespace)));
        let (params, patch) = (PatchParams::default(), Patch::Merge(body));
        let request = if status {
            request.patch_subresource("status", &key.name, &params, &patch)?
        } else {
            request.patch(&key.name, &params, &patch)?
        };
        self.write(request, if status { "status" } else { "metadata" }).await
    }

    /// Deletes an object if it still has this uid and version. The answer is the object if it stays for a
    /// finalizer.
    ///
    /// # Errors
    /// As for every request; 409 if the preconditions do not hold.
    pub async fn delete(
        &self,
        kind: &str,
        key: &ObjectKey,
        uid: &str,
        version: &str,
    ) -> Result<Value, Error> {
        let params = DeleteParams::background().preconditions(kube::core::params::Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: Some(version.to_owned()),
        });
        let request = Request::new(collection(plural(kind), Some(&key.namespace)));
        self.write(request.delete(&key.name, &params)?, "delete").await
    }

    /// Whether there is an event of this name. One that cannot be asked for is taken to be missing.
    pub async fn has_event(&self, namespace: &str, name: &str) -> bool {
        let request =
            Request::new(events(namespace)).get(name, &kube::core::params::GetParams::default());
        match request {
            Ok(request) => self.send::<Value>(request).await.is_ok(),
            Err(_) => false,
        }
    }

    /// Creates an event of `events.k8s.io/v1`.
    ///
    /// # Errors
    /// As for every request.
    pub async fn event(&self, namespace: &str, body: &Value) -> Result<Value, Error> {
        let body = body.to_string().into_bytes();
        let request = Request::new(events(namespace)).create(&PostParams::default(), body)?;
        self.write(request, "event").await
    }

    async fn write(
        &self,
        request: axum::http::Request<Vec<u8>>,
        what: &'static str,
    ) -> Result<Value, Error> {
        let leave = async {
            // The semaphore is never closed.
            let slot = self.in_flight.acquire().await.ok();
            self.bucket.until_ready().await;
            self.fence.pass(self.write_timeout).await.map(|()| slot)
        };
        let waits = self.metrics.begin();
        let _slot = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Err(Error::Stopping),
            slot = leave => slot?,
        };
        self.metrics.throttled("kubernetes", waits);
        let answer = self.answer(request, self.write_timeout).await;
        self.metrics.moved();
        self.count(what, &answer);
        answer
    }

    /// Sends a read and decodes its answer.
    async fn send<T: DeserializeOwned>(
        &self,
        request: axum::http::Request<Vec<u8>>,
    ) -> Result<T, Error> {
        serde_json::from_str(&self.text(request).await?).map_err(Error::unreadable)
    }

    /// Sends a read. It needs no time of the lease, but without the lease a pass is not to go on.
    async fn text(&self, request: axum::http::Request<Vec<u8>>) -> Result<String, Error> {
        if self.stop.is_cancelled() {
            return Err(Error::Stopping);
        }
        self.fence.held()?;
        // A task of its own is woken where its connection is, for each piece of a long answer; the pass is on another
        // thread, and is woken once.
        let kube = self.kube.clone();
        let asked = tokio::spawn(async move { kube.request_text(request).await });
        let answer = tokio::time::timeout(REQUEST_TIMEOUT, AbortOnDropHandle::new(asked)).await;
        self.metrics.moved();
        match answer {
            Ok(Ok(answer)) => Ok(answer?),
            Ok(Err(ended)) => Err(Error::Transport(ended.to_string())),
            Err(_) => Err(Error::Transport("time-out".to_owned())),
        }
    }

    fn count(&self, what: &'static str, answer: &Result<Value, Error>) {
        let code = match answer {
            Ok(_) => "200".to_owned(),
            Err(error) => error.code().map_or("none".to_owned(), |c| c.to_string()),
        };
        self.metrics.kubernetes_write(what, &code);
    }

    /// Sends a request now, whoever holds the lease, and waits so long for its answer.
    pub(super) async fn answer<T: DeserializeOwned>(
        &self,
        request: axum::http::Request<Vec<u8>>,
        limit: Duration,
    ) -> Result<T, Error> {
        serde_json::from_str(&self.answered(request, limit).await?).map_err(Error::unreadable)
    }

    async fn answered(
        &self,
        request: axum::http::Request<Vec<u8>>,
        limit: Duration,
    ) -> Result<String, Error> {
        let answer = tokio::time::timeout(limit, self.kube.request_text(request)).await;
        Ok(answer.map_err(|_| Error::Transport("time-out".to_owned()))??)
    }
}

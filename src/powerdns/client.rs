//! One request at a time to one PowerDNS server: limits, time-outs, the key, and what an answer means.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::{Certificate, Method, redirect};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use thiserror::Error as ThisError;
use tokio_util::sync::CancellationToken;

use super::keyring::{Key, Keyring};
use super::limiter::Limiter;
use super::wire::{ListedZone, ZoneBody, ZoneHead, capabilities, refusal};
use crate::config::Secret;
use crate::fence::Fence;
use crate::metrics::Metrics;
use crate::plan::snapshot::Capabilities;
use crate::plan::{Failure, Proof};

/// Longest time that opening a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Characters of an answer that are kept to look at.
const QUOTED: usize = 500;

/// Where the server is and how to speak to it.
#[derive(Clone, Debug)]
pub struct Options {
    /// Base URL without a final slash.
    pub url: String,
    /// Usually `localhost`.
    pub server_id: String,
    /// The API key, or the file that holds it.
    pub key: Key,
    /// For one request, from sending it to the last byte of the answer.
    pub request_timeout: Duration,
    /// The authorities that are trusted, and no others; `None`: those of the machine.
    pub authorities: Option<Vec<Certificate>>,
}

/// Why a request has no good answer. What it prints has no text of the server's, which can quote contents: that is for
/// debugging alone.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum Error {
    /// The server answered with another status than 2xx; its text.
    #[error("PowerDNS answered {status}")]
    Status {
        /// HTTP status.
        status: u16,
        /// The `error` member, or the whole body cut short.
        text: String,
        /// The body is PowerDNS' own JSON, and not that of something else that listens there.
        own: bool,
    },
    /// No answer: the request may have been carried out.
    #[error("no answer from PowerDNS ({0})")]
    Transport(Lost),
    /// A 2xx answer that is not what the API sends.
    #[error("unreadable answer from PowerDNS")]
    Malformed(String),
    /// The process is stopping: nothing new is sent.
    #[error("the process is stopping")]
    Stopping,
    /// Another process may write now: nothing is sent.
    #[error("the lease is not held")]
    NotHeld,
    /// The key cannot be read.
    #[error("failed to read the API key from {path}: {why}")]
    Key {
        /// The file.
        path: String,
        /// The system's word.
        why: String,
    },
}

/// How an answer got lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
pub enum Lost {
    /// It did not come in time.
    #[error("time-out")]
    TimeOut,
    /// No connection was made: nothing was sent.
    #[error("connection refused")]
    Refused,
    /// The server's certificate is not to be trusted: nothing was sent.
    #[error("the certificate is not trusted")]
    Untrusted,
    /// The connection broke before an answer began.
    #[error("the connection was reset")]
    Reset,
    /// It broke within the answer.
    #[error("the answer was cut off")]
    Cut,
}

impl Error {
    /// Whether what was sent may be to blame, though the server does not say so: it failed, or broke the connection. A
    /// server that keeps silent is in trouble itself.
    #[must_use]
    pub fn may_be_content(&self) -> bool {
        match self {
            Error::Status { status, .. } => *status >= 500,
            Error::Transport(lost) => matches!(lost, Lost::Reset | Lost::Cut),
            Error::Malformed(_) | Error::Stopping | Error::NotHeld | Error::Key { .. } => false,
        }
    }

    /// Whether something else than PowerDNS answered: a 404 of PowerDNS is JSON, and it redirects nobody.
    #[must_use]
    pub fn foreign(&self) -> bool {
        match self {
            Error::Status { status, own, .. } => {
                (300..400).contains(status) || (*status == 404 && !own)
            }
            Error::Transport(_)
            | Error::Malformed(_)
            | Error::Stopping
            | Error::NotHeld
            | Error::Key { .. } => false,
        }
    }

    /// The failure's class for the plan; the server's text stays behind.
    #[must_use]
    pub fn failure(&self) -> Failure {
        match self {
            Error::Status { status: 401, .. } => Failure::Unauthorized,
            Error::Status { status: 404, own: true, .. } => Failure::ZoneMissing,
            Error::Status { status, .. } if self.foreign() => Failure::NotPowerDns(*status),
            Error::Status { status: 422, text, .. } => refusal(text),
            Error::Status { status, .. } => Failure::Status(*status),
            Error::Transport(lost) => Failure::Unknown(format!("no answer from PowerDNS ({lost})")),
            Error::Malformed(_) => Failure::Unknown("unreadable answer from PowerDNS".to_owned()),
            Error::Stopping => Failure::NotSent("the daemon is stopping".to_owned()),
            Error::NotHeld => Failure::NotSent("the daemon holds the lease no more".to_owned()),
            Error::Key { .. } => Failure::NotSent("the PowerDNS API key cannot be read".to_owned()),
        }
    }
}

/// A client of one server.
#[derive(Debug)]
pub struct Client {
    http: reqwest::Client,
    options: Options,
    keys: Keyring,
    /// Why the server could not be read the last time.
    trouble: Mutex<Option<Error>>,
    /// Shared by everything that goes to this server.
    pub limiter: Limiter,
    pub(crate) metrics: Arc<Metrics>,
    stop: CancellationToken,
    fence: Fence,
}

impl Client {
    /// A client; nothing is sent yet.
    ///
    /// # Errors
    /// If the TLS library cannot be set up, as when the machine knows no authority.
    pub fn new(
        options: Options,
        limiter: Limiter,
        metrics: Arc<Metrics>,
        stop: CancellationToken,
    ) -> Result<Client, reqwest::Error> {
        let mut http = reqwest::Client::builder()
            // A redirect would carry the key to another host.
            .redirect(redirect::Policy::none())
            .no_proxy()
            // PowerDNS closes every connection; a pooled one would only ever be a reset.
            .pool_max_idle_per_host(0)
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(options.request_timeout);
        // For plain HTTP the authorities of the machine would be read too, and a small image has none.
        let plain = !options.url.starts_with("https:");
        if let Some(only) = options.authorities.clone().or(plain.then(Vec::new)) {
            http = http.tls_certs_only(only);
        }
        let http = http.build()?;
        let (keys, fence) = (Keyring::new(options.key.clone()), Fence::default());
        let trouble = Mutex::default();
        Ok(Client { http, options, keys, trouble, limiter, metrics, stop, fence })
    }

    /// The same client for who must hold the lease: a request begins only if the lease outlives its time-out.
    #[must_use]
    pub fn fenced(self, fence: Fence) -> Client {
        Client { fence, ..self }
    }

    /// Whether this is another trouble with the server as a whole, or none, than the last time.
    pub fn is_news(&self, trouble: Option<&Error>) -> bool {
        let mut last = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        let news = last.as_ref() != trouble;
        *last = trouble.cloned();
        news
    }

    /// Reads the key anew, so that a rotated file is used from the next request on.
    ///
    /// # Errors
    /// If the file cannot be read or is empty, and no key was accepted yet.
    pub async fn refresh_key(&self) -> Result<(), Error> {
        self.keys.refresh().await
    }

    /// Version and abilities; also the check of address and key.
    ///
    /// # Errors
    /// As for every request; also if the answer has no version.
    pub async fn capabilities(&self) -> Result<Capabilities, Error> {
        let server: Value = self.get("").await?;
        let config: Value = self.get("/config").await?;
        let found = capabilities(&server, &config)
            .ok_or_else(|| Error::Malformed("no version in the server's description".into()))?;
        self.limiter.set_single_writer(found.single_writer);
        Ok(found)
    }

    /// All zones, without contents.
    ///
    /// # Errors
    /// As for every request.
    pub async fn list(&self) -> Result<Vec<ListedZone>, Error> {
        self.get("/zones?dnssec=false").await
    }

    /// The zone of one name on the list, if it is there.
    ///
    /// # Errors
    /// As for every request.
    pub async fn find(&self, name: &str) -> Result<Option<ListedZone>, Error> {
        let found: Vec<ListedZone> = self.get(&format!("/zones?dnssec=false&zone={name}")).await?;
        Ok(found.into_iter().next())
    }

    /// One zone with its contents.
    ///
    /// # Errors
    /// As for every request.
    pub async fn zone(&self, id: &str) -> Result<ZoneBody, Error> {
        self.get(&format!("/zones/{id}")).await
    }

    /// One zone's own fields.
    ///
    /// # Errors
    /// As for every request.
    pub async fn head(&self, id: &str) -> Result<ZoneHead, Error> {
        self.get(&format!("/zones/{id}?rrsets=false")).await
    }

    /// Creates a zone.
    ///
    /// # Errors
    /// As for every request.
    pub async fn create(&self, body: &Value) -> Result<Proof, Error> {
        self.write(Method::POST, "/zones?rrsets=false", Some(body)).await
    }

    /// Sets a zone's account.
    ///
    /// # Errors
    /// As for every request.
    pub async fn set_account(&self, id: &str, account: &str) -> Result<Proof, Error> {
        let body = json!({ "account": account });
        self.write(Method::PUT, &format!("/zones/{id}"), Some(&body)).await
    }

    /// Changes RRsets, all or none.
    ///
    /// # Errors
    /// As for every request.
    pub async fn patch(&self, id: &str, rrsets: Vec<Value>) -> Result<Proof, Error> {
        let body = json!({ "rrsets": rrsets });
        self.write(Method::PATCH, &format!("/zones/{id}"), Some(&body)).await
    }

    /// Deletes a zone.
    ///
    /// # Errors
    /// As for every request.
    pub async fn delete(&self, id: &str) -> Result<Proof, Error> {
        self.write(Method::DELETE, &format!("/zones/{id}"), None).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        let (_, text) = self.send(Method::GET, path, None).await?;
        match serde_json::from_str(&text) {
            Ok(answer) => Ok(answer),
            Err(error) => {
                // Only here: what can be read is contents, and a short key may be part of a name.
                let why = self.keys.hide_in(&error.to_string()).await;
                let begins = self
                    .keys
                    .hide_in(&respelled(&text))
                    .await
                    .chars()
                    .take(QUOTED)
                    .collect::<String>();
                tracing::debug!(path, why, begins, "unreadable answer from PowerDNS");
                Err(Error::Malformed(why))
            }
        }
    }

    async fn write(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Proof, Error> {
        // PowerDNS answers a write with one of two statuses; another success is somebody else's.
        let expected = if method == Method::POST { 201 } else { 204 };
        let (status, _) = self.send(method, path, body).await?;
        let proof = Proof::of(status).filter(|_| status == expected);
        proof.ok_or_else(|| Error::Malformed(format!("status {status} to a write")))
    }

    /// Sends a request, once more for each other key that is known if the server refuses this one: while a key is changed,
    /// nobody knows which it takes.
    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, String), Error> {
        let (mut key, mut refused) = (self.keys.current().await, Vec::new());
        loop {
            let answer = self.attempt(&method, path, body, key.as_ref()).await;
            match (key, &answer) {
                (Some(key), Ok(_)) => self.keys.accept(&key).await,
                (Some(tried), Err(Error::Status { status: 401, .. })) => {
                    refused.push(tried);
                    key = self.keys.after(&refused).await;
                    if key.is_some() {
                        continue;
                    }
                }
                (Some(_) | None, _) => {}
            }
            return answer;
        }
    }

    /// Sends one request under the limits; 2xx gives status and body, lossily as text: sqlite hands back
    /// bytes that are not UTF-8.
    async fn attempt(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        key: Option<&Secret>,
    ) -> Result<(u16, String), Error> {
        let write = *method != Method::GET;
        let waits = self.metrics.begin();
        let leave = async {
            let permit = self.limiter.acquire(write).await;
            let held = self.fence.pass(self.options.request_timeout).await;
            held.map(|()| permit).map_err(|_| Error::NotHeld)
        };
        let _permit = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Err(Error::Stopping),
            permit = leave => permit?,
        };
        self.metrics.throttled("powerdns", waits);
        let Options { url, server_id, .. } = &self.options;
        let mut request = self
            .http
            .request(method.clone(), format!("{url}/api/v1/servers/{server_id}{path}"))
            .header("Accept", "application/json");
        if let Some(key) = key {
            request = request.header("X-API-Key", key.expose());
        }
        if let Some(body) = body {
            let rrsets = body.get("rrsets").and_then(Value::as_array).map_or(0, Vec::len);
            let text = body.to_string();
            self.metrics.powerdns_body(text.len(), rrsets);
            tracing::trace!(%method, path, body = text, "sent to PowerDNS");
            request = request.header("Content-Type", "application/json").body(text);
        }
        let answer = async {
            let response = request.send().await?;
            let status = response.status().as_u16();
            Ok::<_, reqwest::Error>((status, response.bytes().await?))
        };
        let began = self.metrics.begin();
        let (status, bytes) = answer.await.map_err(|e| {
            self.metrics.powerdns_request((method.as_str(), path), "none", began);
            lost(&e)
        })?;
        self.metrics.powerdns_request((method.as_str(), path), &status.to_string(), began);
        tracing::debug!(%method, path, status, "PowerDNS request");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if (200..300).contains(&status) {
            return Ok((status, text));
        }
        let json = serde_json::from_str::<Value>(&text).ok();
        let error = json.as_ref().and_then(|v| v.get("error")).and_then(Value::as_str);
        let own = error.is_some();
        let text = error.map_or_else(|| respelled(&text), str::to_owned);
        // What is in between can answer with what it was sent, and failures are quoted.
        let text =
            key.map_or(text.clone(), |key| key.hide_in(&text)).chars().take(QUOTED).collect();
        Err(Error::Status { status, text, own })
    }
}

/// JSON as we would write it, since any character of it may be escaped, and a key that is not to be shown is looked for by
/// its letters. Another text is as it was.
fn respelled(text: &str) -> String {
    serde_json::from_str::<Value>(text).map_or_else(|_| text.to_owned(), |json| json.to_string())
}

/// The class of a transport error: its text differs from one system to the next.
fn lost(error: &reqwest::Error) -> Error {
    Error::Transport(if error.is_timeout() {
        Lost::TimeOut
    } else if untrusted(error) {
        Lost::Untrusted
    } else if error.is_connect() {
        Lost::Refused
    } else if error.is_body() || error.is_decode() {
        Lost::Cut
    } else {
        Lost::Reset
    })
}

/// Whether the handshake ended because of the server's certificate. The TLS library's error is inside of I/O errors, whose
/// own `source` passes over what they hold.
fn untrusted(error: &(dyn std::error::Error + 'static)) -> bool {
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return matches!(error, rustls::Error::InvalidCertificate(_));
    }
    let held = error.downcast_ref::<std::io::Error>().and_then(|e| e.get_ref());
    held.is_some_and(|e| untrusted(e)) || error.source().is_some_and(untrusted)
}

//! A proxy in front of a real server, by plain HTTP, that does what its [`Recorder`] says.
//!
//! It changes nothing that it is not told to change.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};

use super::apiserver::{self, ApiServer};
use super::http::{self, Raw, Reply};
use super::recorder::{Action, Recorder, Server, Verdict};
use super::{Folder, http_client, install_tls, wait_for};

/// A proxy on a loopback port of its own, by plain HTTP; it ends when dropped.
pub struct Proxy {
    url: String,
    kubeconfig: Option<PathBuf>,
    task: tokio::task::JoinHandle<()>,
    _folder: Option<Folder>,
}

struct Upstream {
    server: Server,
    url: String,
    client: reqwest::Client,
    recorder: Recorder,
}

impl Proxy {
    /// A proxy in front of a `pdns_server` (or another proxy) at `url`.
    pub async fn to_pdns(url: &str, recorder: &Recorder) -> Self {
        Self::start(Server::PowerDns, url, http_client(), recorder, None).await
    }

    /// A proxy in front of the API server; [`Self::kubeconfig`] leads to it, with the administrator's token.
    pub async fn to_apiserver(api: &ApiServer, recorder: &Recorder) -> Self {
        install_tls();
        let ca = reqwest::Certificate::from_pem_bundle(&std::fs::read(api.ca()).unwrap()).unwrap();
        let client = reqwest::Client::builder()
            .tls_certs_only(ca)
            .no_proxy()
            .timeout(Duration::from_mins(1))
            .build()
            .unwrap();
        Self::start(Server::Kubernetes, api.url(), client, recorder, Some(api.token())).await
    }

    async fn start(
        server: Server,
        url: &str,
        client: reqwest::Client,
        recorder: &Recorder,
        token: Option<&str>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = format!("http://{}", listener.local_addr().unwrap());
        let upstream = Arc::new(Upstream {
            server,
            url: url.trim_end_matches('/').to_owned(),
            client,
            recorder: recorder.clone(),
        });
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                while connections.try_join_next().is_some() {}
                let upstream = Arc::clone(&upstream);
                connections.spawn(async move { upstream.serve(stream).await });
            }
        });
        let folder = token.map(|_| Folder::new("proxy"));
        let kubeconfig = token.zip(folder.as_ref()).map(|(token, folder)| {
            folder.write("kubeconfig", &apiserver::kubeconfig(&own, None, token))
        });
        Self { url: own, kubeconfig, task, _folder: folder }
    }

    /// Its base URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The kubeconfig that leads through it; only for a proxy to the API server.
    pub fn kubeconfig(&self) -> &Path {
        self.kubeconfig.as_deref().expect("this proxy does not stand before the API server")
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

enum Next {
    Answer(Reply, Option<usize>),
    Reset,
    Hang,
}

impl Upstream {
    async fn serve(&self, mut stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let mut buffer = Vec::new();
        loop {
            match http::read(&mut stream, &mut buffer).await {
                Ok(Some(raw)) => match self.answer(&mut stream, raw).await {
                    Ok(true) => {}
                    Ok(false) | Err(_) => return,
                },
                Ok(None) => return,
                Err(error) => {
                    let body = Value::String(error.to_string());
                    let _ = http::write(&mut stream, &Reply::json(501, &body), true, None).await;
                    return;
                }
            }
        }
    }

    /// Answers one request; `true` if the connection goes on.
    async fn answer(&self, stream: &mut TcpStream, raw: Raw) -> io::Result<bool> {
        // What a killed client sent may be read only now: a dead process must not write after its death.
        if http::is_gone(stream)? {
            return Ok(false);
        }
        let close = self.server == Server::PowerDns || !raw.keep_alive();
        let (seq, fault) = match self.recorder.arrive(self.server, &raw) {
            Verdict::Go { seq, fault } => (seq, fault),
            Verdict::Held { releases } => {
                let released = || async { self.recorder.is_released(releases).then_some(()) };
                wait_for("the test releases the cut", Duration::from_mins(10), released).await;
                stream.set_zero_linger()?;
                return Ok(false);
            }
        };
        let (status, next) = self.act(raw, fault).await;
        self.recorder.done(seq, status);
        match next {
            Next::Answer(reply, cut) => {
                http::write(stream, &reply, close, cut).await?;
                Ok(!close && cut.is_none())
            }
            Next::Reset => {
                stream.set_zero_linger()?;
                Ok(false)
            }
            Next::Hang => {
                // Its end, or its next request, which it does not send before the answer.
                stream.peek(&mut [0; 1]).await?;
                Ok(false)
            }
        }
    }

    /// Does what the fault says, or forwards; gives the status to record and what the client sees.
    async fn act(&self, raw: Raw, fault: Option<Action>) -> (Option<u16>, Next) {
        let cut = match &fault {
            Some(Action::Answer(status, body)) => {
                return (Some(*status), Next::Answer(Reply::json(*status, body), None));
            }
            Some(Action::Text(status, text)) => {
                return (Some(*status), Next::Answer(Reply::text(*status, text), None));
            }
            Some(Action::Redirect) => {
                let reply = Reply::redirect(&format!("{}{}", self.url, raw.path));
                return (Some(reply.status), Next::Answer(reply, None));
            }
            Some(Action::Reset) => return (None, Next::Reset),
            Some(Action::Hang) => return (None, Next::Hang),
            Some(Action::Delay(time)) => {
                tokio::time::sleep(*time).await;
                None
            }
            Some(Action::Until(token)) => {
                token.cancelled().await;
                None
            }
            Some(Action::Truncate(bytes)) => Some(*bytes),
            Some(Action::ForwardThenDrop | Action::Edit(_)) | None => None,
        };
        match self.forward(raw).await {
            Ok(mut reply) if let Some(Action::Edit(edit)) = fault => {
                let mut body = serde_json::from_slice(&reply.body).expect("the answer is JSON");
                edit(&mut body);
                reply.body = body.to_string().into_bytes();
                (Some(reply.status), Next::Answer(reply, None))
            }
            Ok(reply) if matches!(fault, Some(Action::ForwardThenDrop)) => {
                (Some(reply.status), Next::Reset)
            }
            Ok(reply) => (Some(reply.status), Next::Answer(reply, cut)),
            // The server is down or broke off: so does the proxy.
            Err(_) => (None, Next::Reset),
        }
    }

    async fn forward(&self, raw: Raw) -> reqwest::Result<Reply> {
        let method = reqwest::Method::from_bytes(raw.method.as_bytes()).expect("a method");
        let mut request =
            self.client.request(method, format!("{}{}", self.url, raw.path)).body(raw.body);
        for (name, value) in raw.headers.iter().filter(|(name, _)| !http::hop_by_hop(name)) {
            request = request.header(name, value);
        }
        let answer = request.send().await?;
        let status = answer.status().as_u16();
        let headers = answer.headers().iter().filter(|(name, _)| !http::hop_by_hop(name.as_str()));
        let headers = headers
            .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
            .collect();
        Ok(Reply { status, headers, body: answer.bytes().await?.to_vec() })
    }
}

//! What proxies write down and obey: every request, the faults to inject, and the cut after request n.
//!
//! One recorder may serve two proxies: then one counter counts both. It moves no bytes.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::http::Raw;

/// Which server a proxy stands before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// `pdns_server`: one request a connection.
    PowerDns,
    /// `kube-apiserver`: connections are kept.
    Kubernetes,
}

/// One recorded request.
#[derive(Clone, Debug)]
pub struct Request {
    /// 1, 2, … in the order of arrival over all proxies of the recorder.
    pub seq: usize,
    /// Where it was going.
    pub server: Server,
    /// When it had arrived, whole.
    pub arrived: Instant,
    /// When its answer was known, or the fault was done.
    pub answered: Option<Instant>,
    /// Upper case.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The body, if it is JSON.
    pub body: Option<Value>,
    /// The answer's status: the server's, even if the client never got it, or the one that a fault gave.
    pub status: Option<u16>,
}

impl Request {
    /// Whether it asks for a change: POST, PUT, PATCH or DELETE.
    pub fn is_write(&self) -> bool {
        matches!(self.method.as_str(), "POST" | "PUT" | "PATCH" | "DELETE")
    }
}

/// What happens to a request that a [`Fault`] matches.
#[derive(Clone, Debug)]
pub enum Action {
    /// It is not forwarded; this answer is given.
    Answer(u16, Value),
    /// It is not forwarded; this text is the answer, whatever it is: something else than the server has the port.
    Text(u16, String),
    /// It is not forwarded; the client is sent past the proxy, where it would find what it asked for.
    Redirect,
    /// It is not forwarded; the connection is reset.
    Reset,
    /// It is not forwarded; no answer comes until the client leaves.
    Hang,
    /// It is forwarded and takes effect; the connection is reset instead of giving the answer.
    ForwardThenDrop,
    /// It is forwarded so much later, even if the client has left by then.
    Delay(Duration),
    /// It is forwarded once the token is cancelled, even if the client has left by then.
    Until(CancellationToken),
    /// It is forwarded; the connection ends after so many bytes of the answer's body.
    Truncate(usize),
    /// It is forwarded; the answer's JSON is changed on its way back.
    Edit(fn(&mut Value)),
}

impl Action {
    /// What the client is told in the server's place.
    pub fn told(&self) -> String {
        match self {
            Action::Answer(_, body) => body.to_string(),
            Action::Text(_, text) => text.clone(),
            Action::Redirect
            | Action::Reset
            | Action::Hang
            | Action::ForwardThenDrop
            | Action::Delay(_)
            | Action::Until(_)
            | Action::Truncate(_)
            | Action::Edit(_) => String::new(),
        }
    }
}

/// A rule; the first one that matches decides.
pub struct Fault {
    /// Which requests.
    pub matches: Box<dyn Fn(&Request) -> bool + Send + Sync>,
    /// What happens to them.
    pub action: Action,
    /// How often, or always.
    pub times: Option<usize>,
}

struct Cut {
    of: Box<dyn Fn(&Request) -> bool + Send + Sync>,
    left: usize,
    held: usize,
}

#[derive(Default)]
struct State {
    seq: usize,
    requests: Vec<Request>,
    faults: Vec<Fault>,
    cut: Option<Cut>,
    /// Counts the cuts that were released: who was held by one of them is dropped.
    releases: usize,
    forwarding: usize,
}

/// What proxies write down and obey. Clones are the same recorder.
#[derive(Clone, Default)]
pub struct Recorder(Arc<Mutex<State>>);

/// What is to happen to a request.
pub enum Verdict {
    /// Nothing, until [`Recorder::is_released`]; then its connection is dropped.
    Held {
        /// How many cuts had been released when it came.
        releases: usize,
    },
    /// It is recorded as `seq`, and this is done with it.
    Go {
        /// Its number.
        seq: usize,
        /// The fault that hits it.
        fault: Option<Action>,
    },
}

impl Recorder {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Everything recorded since the last [`Self::clear`], in order of arrival. Held requests are not in it.
    pub fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    /// The recorded requests that ask for a change.
    pub fn writes(&self) -> Vec<Request> {
        self.requests().into_iter().filter(Request::is_write).collect()
    }

    /// Forgets what was recorded; the counter goes on, faults and cut stay.
    pub fn clear(&self) {
        self.state().requests.clear();
    }

    /// Adds a rule after those that are there.
    pub fn inject(&self, fault: Fault) {
        self.state().faults.push(fault);
    }

    /// Adds a rule: `action` for every request that `matches`.
    pub fn always(
        &self,
        matches: impl Fn(&Request) -> bool + Send + Sync + 'static,
        action: Action,
    ) {
        self.inject(Fault { matches: Box::new(matches), action, times: None });
    }

    /// Adds a rule: `action` for the next request that `matches`.
    pub fn next(&self, matches: impl Fn(&Request) -> bool + Send + Sync + 'static, action: Action) {
        self.inject(Fault { matches: Box::new(matches), action, times: Some(1) });
    }

    /// Removes every rule.
    pub fn heal(&self) {
        self.state().faults.clear();
    }

    /// From now on the `n`-th request that matches `of` is the last to be forwarded; all later ones are held.
    pub fn cut_after(&self, n: usize, of: impl Fn(&Request) -> bool + Send + Sync + 'static) {
        self.state().cut = Some(Cut { of: Box::new(of), left: n, held: 0 });
    }

    /// Whether the `n`-th request of [`Self::cut_after`] came, and all that were forwarded are done.
    pub fn is_cut(&self) -> bool {
        let state = self.state();
        state.forwarding == 0 && state.cut.as_ref().is_some_and(|cut| cut.left == 0)
    }

    /// How many requests the present cut holds.
    pub fn held(&self) -> usize {
        self.state().cut.as_ref().map_or(0, |cut| cut.held)
    }

    /// Ends the cut: requests pass again; those that were held are dropped and never reach the server.
    pub fn release(&self) {
        let mut state = self.state();
        state.cut = None;
        state.releases += 1;
    }

    /// Whether a cut was released since the request was held.
    pub fn is_released(&self, releases: usize) -> bool {
        self.state().releases > releases
    }

    /// Records a request and says what is to happen to it.
    pub fn arrive(&self, server: Server, raw: &Raw) -> Verdict {
        let mut guard = self.state();
        let state = &mut *guard;
        if let Some(cut) = state.cut.as_mut().filter(|cut| cut.left == 0) {
            cut.held += 1;
            return Verdict::Held { releases: state.releases };
        }
        state.seq += 1;
        let request = Request {
            seq: state.seq,
            server,
            arrived: Instant::now(),
            answered: None,
            method: raw.method.clone(),
            path: raw.path.clone(),
            body: serde_json::from_slice(&raw.body).ok(),
            status: None,
        };
        if let Some(cut) = state.cut.as_mut().filter(|cut| (cut.of)(&request)) {
            cut.left -= 1;
        }
        let fault = state
            .faults
            .iter_mut()
            .find(|fault| fault.times != Some(0) && (fault.matches)(&request));
        let fault = fault.map(|fault| {
            fault.times = fault.times.map(|times| times - 1);
            fault.action.clone()
        });
        state.forwarding += 1;
        state.requests.push(request);
        Verdict::Go { seq: state.seq, fault }
    }

    /// Records how a request that did not have to wait ended.
    pub fn done(&self, seq: usize, status: Option<u16>) {
        let mut state = self.state();
        state.forwarding -= 1;
        if let Some(request) = state.requests.iter_mut().find(|request| request.seq == seq) {
            request.answered = Some(Instant::now());
            request.status = status;
        }
    }
}

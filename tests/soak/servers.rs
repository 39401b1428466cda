//! Both models as servers in this process, for two daemons: each request is counted, disturbed as the step says, checked,
//! carried out and written down.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Notify, oneshot};

use crate::cluster::Place;
use crate::model::Answer;
use crate::reference::View;
use crate::scene::{Op, Party, Places, Rules, Scene};
use crate::steps::{At, Fault};

/// What a client sees.
#[derive(Clone, Debug)]
pub enum Reply {
    Answer(Answer),
    /// The body is shorter than announced.
    Cut(Answer),
    Reset,
    /// Nothing ever: the client is dead.
    Dead,
}

/// One request that was carried out, with its answer.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// To PowerDNS, below `/servers/localhost`; else to the API server.
    pub powerdns: bool,
    pub method: String,
    pub path: String,
    pub query: String,
    pub body: Value,
    pub answer: Answer,
}

/// Both servers and what was seen at them.
pub struct Servers {
    pub scene: Scene,
    pub places: Places,
    /// What was seen that may not be.
    pub violations: Vec<String>,
    /// Writes of this pass that were carried out.
    pub done: Vec<String>,
    /// How often daemons made each kind of write.
    pub tally: BTreeMap<String, usize>,
    /// Everything carried out since it was last taken, operations of users and hands included; kept if asked for.
    pub journal: Option<Vec<Journal>>,
    /// The running pass of each daemon.
    passes: [Pass; 2],
    clock: u64,
    uids: u64,
}

static NONE: BTreeSet<String> = BTreeSet::new();

/// One pass as the servers see it.
#[derive(Default)]
struct Pass {
    fault: Option<Fault>,
    /// Its requests, and those of them that ask for a change.
    count: (usize, usize),
    killed: bool,
    /// The other daemon has made a pass in the middle of it.
    interrupted: bool,
    /// Sent in it, to be carried out when it is over.
    late: Vec<(bool, [String; 3], Value)>,
    /// The zones that there were when it began.
    listed: BTreeMap<String, String>,
    /// Those of them without a note of this daemon.
    unnoted: BTreeSet<String>,
    /// Told when its process dies.
    death: Arc<Notify>,
}

/// What happened at the servers, in order.
#[derive(Clone, Debug)]
pub enum Journal {
    Sent(Exchange),
    Did(Op),
}

/// Both servers, shared by their listeners.
#[derive(Clone)]
pub struct Shared {
    servers: Arc<Mutex<Servers>>,
    /// Where a pass in the middle of another's is asked for: who is to make it, and who waits for it.
    interruptions: UnboundedSender<Interruption>,
}

/// Who is to make a pass now, and who waits for its end.
pub type Interruption = (usize, oneshot::Sender<()>);

impl Shared {
    pub fn new(places: Places, interruptions: UnboundedSender<Interruption>) -> Shared {
        let servers = Servers {
            scene: Scene::default(),
            places,
            violations: Vec::new(),
            done: Vec::new(),
            tally: BTreeMap::new(),
            journal: None,
            passes: [Pass::default(), Pass::default()],
            clock: 0,
            uids: 0,
        };
        Shared { servers: Arc::new(Mutex::new(servers)), interruptions }
    }

    pub fn lock(&self) -> MutexGuard<'_, Servers> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers one request of a daemon.
    pub async fn answer(
        &self,
        who: usize,
        powerdns: bool,
        request: [&str; 3],
        body: &Value,
    ) -> Reply {
        let other = 1 - who;
        let interrupts = self.lock().passes[who].interrupts(request[0] != "GET");
        if interrupts {
            let (done, over) = oneshot::channel();
            drop(self.interruptions.send((other, done)));
            drop(over.await);
        }
        let mut servers = self.lock();
        let reply = servers.disturbed(who, powerdns, request, body);
        let pass = &servers.passes[who];
        if pass.killed {
            pass.death.notify_one();
            return Reply::Dead;
        }
        reply
    }
}

impl Pass {
    /// Whether the other daemon comes in between before this request.
    fn interrupts(&mut self, write: bool) -> bool {
        let (requests, writes) = self.count;
        let now = matches!(self.fault, Some(Fault::Rival(at)) if at.is(requests, writes, write));
        // Once: the request itself is counted only afterwards.
        if now {
            self.fault = None;
            self.interrupted = true;
        }
        now
    }
}

fn failed(powerdns: bool) -> Answer {
    if powerdns {
        return (500, json!({"error": "Internal Server Error"}));
    }
    let body = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                      "message": "down", "reason": "InternalError", "code": 500});
    (500, body)
}

impl Servers {
    /// Puts an empty world in place, for daemons with these rules; who they are.
    pub fn clear(&mut self, comments: bool, rules: [Rules; 2]) -> [Party; 2] {
        for (party, rules) in self.places.parties.iter_mut().zip(rules) {
            party.rules = rules;
        }
        self.scene = Scene::default();
        self.scene.pdns.comments = comments;
        // Where a journal is kept it is for servers that have no garbage collector.
        self.scene.cluster.uncollected = self.journal.is_some();
        self.violations.clear();
        self.done.clear();
        self.passes = [Pass::default(), Pass::default()];
        self.journal = self.journal.take().map(|_| Vec::new());
        (self.clock, self.uids) = (0, 0);
        for op in self.places.classes() {
            self.operate(&op);
        }
        self.places.parties.clone()
    }

    /// Makes ready for a pass, with what will go wrong in it; who is to be told if its process dies.
    pub fn begin(&mut self, who: usize, fault: Option<Fault>) -> Arc<Notify> {
        let listed = self.scene.accounts();
        let view = self.view(&self.places.parties[who], &listed);
        let unnoted = listed.keys().filter(|zone| view.noteless(zone)).cloned().collect();
        self.passes[who] = Pass { fault, listed, unnoted, ..Pass::default() };
        if let Some(Fault::Unread(domain)) = fault {
            self.scene.pdns.unread.insert(crate::words::DOMAINS[domain].to_owned());
        }
        self.passes[who].death.clone()
    }

    /// Looks back at a pass, and carries out what came too late.
    pub fn end(&mut self, who: usize) {
        self.scene.pdns.unread.clear();
        for (powerdns, [method, path, query], body) in std::mem::take(&mut self.passes[who].late) {
            self.carry_out(who, powerdns, [&method, &path, &query], &body, false);
        }
        let faults = self.scene.pdns.faults.drain(..).chain(self.scene.cluster.faults.drain(..));
        self.violations.extend(faults.map(|f| format!("no server should see this: {f}")));
    }

    fn disturbed(&mut self, who: usize, powerdns: bool, request: [&str; 3], body: &Value) -> Reply {
        let pass = &mut self.passes[who];
        let (requests, writes) = pass.count;
        let write = request[0] != "GET";
        pass.count = (requests + 1, writes + usize::from(write));
        let is = |at: At| at.is(requests, writes, write);
        let was = |at: At| at.was(requests, writes, write);
        let down = |reset: bool| if reset { Reply::Reset } else { Reply::Answer(failed(powerdns)) };
        let fault = pass.fault;
        match fault {
            _ if pass.killed => return Reply::Dead,
            Some(Fault::PowerDnsDown(from, reset)) if powerdns && was(from) => return down(reset),
            Some(Fault::ClusterDown(from, reset)) if !powerdns && was(from) => return down(reset),
            Some(Fault::One500(at)) if is(at) => return Reply::Answer(failed(powerdns)),
            Some(Fault::Lost(at)) if is(at) => return Reply::Reset,
            Some(Fault::Late(at)) if is(at) => {
                pass.late.push((powerdns, request.map(str::to_owned), body.clone()));
                return Reply::Reset;
            }
            Some(Fault::Touched(at)) if is(at) => self.touch(),
            _ => {}
        }
        let answer = self.carry_out(who, powerdns, request, body, true);
        match fault {
            Some(Fault::Killed(at)) if is(at) => {
                self.passes[who].killed = true;
                Reply::Dead
            }
            Some(Fault::Swallowed(at)) if is(at) => Reply::Reset,
            Some(Fault::Lied(at)) if is(at) => Reply::Answer(failed(powerdns)),
            Some(Fault::Cut(at)) if is(at) => Reply::Cut(answer),
            _ => Reply::Answer(answer),
        }
    }

    fn touch(&mut self) {
        for ((plural, _, _), object) in self.scene.cluster.objects.clone() {
            self.scene.cluster.put(&plural, object);
        }
    }

    /// Carries a request out. `checked`: what it does is what the daemon could know that it does.
    fn carry_out(
        &mut self,
        who: usize,
        powerdns: bool,
        request: [&str; 3],
        body: &Value,
        checked: bool,
    ) -> Answer {
        let [method, path, query] = request;
        let Pass { listed, unnoted, interrupted, fault, .. } = &self.passes[who];
        let (listed, unnoted) = (listed.clone(), unnoted.clone());
        let (interrupted, fault) = (*interrupted, *fault);
        let before =
            object_at(path).and_then(|p| Some((self.scene.cluster.objects.get(&p)?.clone(), p)));
        let party = self.places.parties[who].clone();
        let writes = method != "GET";
        if powerdns && writes && checked {
            let view = View { unnoted: &unnoted, interrupted, ..self.view(&party, &listed) };
            let mut wrong: Vec<String> = view.trespass(method, path, body).into_iter().collect();
            wrong.extend(view.unsecured(&body["rrsets"]));
            self.violations.extend(wrong.into_iter().map(|w| format!("{} sent: {w}", party.owner)));
        }
        let answer = if powerdns {
            self.scene.pdns.answer(method, path, query, body)
        } else {
            self.scene.cluster.answer(method, path, body)
        };
        if writes && answer.0 < 300 {
            self.done.push(format!("{method} {path} {body}"));
            let what = if powerdns { "PowerDNS" } else { "cluster" };
            *self.tally.entry(format!("{what} {method}")).or_default() += 1;
            if powerdns {
                let apex =
                    path.strip_prefix("/zones/").or(body["name"].as_str()).unwrap_or_default();
                self.scene.learn(apex, &body["rrsets"]);
            } else if checked {
                let view = View { unnoted: &unnoted, interrupted, ..self.view(&party, &listed) };
                let disturbed = !matches!(fault, None | Some(Fault::Touched(_)));
                let wrong = before.and_then(|(before, place)| {
                    let after = view.scene.cluster.objects.get(&place);
                    view.unlawful(&place.0, (&before, after), &body["status"], disturbed)
                });
                self.violations
                    .extend(wrong.into_iter().map(|w| format!("{} said: {w}", party.owner)));
            }
        }
        if let Some(journal) = &mut self.journal {
            journal.push(Journal::Sent(Exchange {
                powerdns,
                method: method.to_owned(),
                path: path.to_owned(),
                query: query.to_owned(),
                body: body.clone(),
                answer: answer.clone(),
            }));
        }
        answer
    }

    /// Does what a user or a hand does.
    pub fn operate(&mut self, op: &Op) {
        let cluster = &mut self.scene.cluster;
        match op {
            Op::Create(object) => {
                let mut object = object.clone();
                self.uids += 1;
                self.clock += u64::from(object["metadata"]["annotations"]["tie"] != "true");
                let meta = &mut object["metadata"];
                meta["uid"] = json!(format!("00000000-0000-4000-8000-{:012}", self.uids));
                meta["generation"] = json!(1);
                meta["creationTimestamp"] =
                    json!(format!("2026-01-01T00:{:02}:{:02}Z", self.clock / 60, self.clock % 60));
                cluster.put(plural(&object["kind"]), object.clone());
                self.write_down(Op::Create(object));
                return;
            }
            Op::Spec(place, spec) => cluster.edit(place, |object| {
                for (key, value) in spec.as_object().into_iter().flatten() {
                    object["spec"][key] = value.clone();
                }
            }),
            Op::Delete(place) => cluster.delete(place),
            Op::ForceDelete(place) => {
                cluster.objects.remove(place);
                cluster.collect();
            }
            Op::Patch(apex, rrsets) => {
                let body = json!({ "rrsets": rrsets });
                self.scene.pdns.answer("PATCH", &format!("/zones/{apex}"), "", &body);
                // A hand may do what no client should.
                self.scene.pdns.faults.clear();
            }
            Op::Account(apex, account) => {
                let body = json!({ "account": account });
                self.scene.pdns.answer("PUT", &format!("/zones/{apex}"), "", &body);
            }
            Op::DropZone(apex) => {
                self.scene.pdns.answer("DELETE", &format!("/zones/{apex}"), "", &Value::Null);
            }
        }
        self.write_down(op.clone());
    }

    fn write_down(&mut self, op: Op) {
        if let Some(journal) = &mut self.journal {
            journal.push(Journal::Did(op));
        }
    }

    /// What one daemon may know of both states.
    fn view<'a>(&'a self, party: &'a Party, listed: &'a BTreeMap<String, String>) -> View<'a> {
        View { scene: &self.scene, party, listed, unnoted: &NONE, interrupted: false }
    }

    /// What is not as it should be now that nothing fails.
    pub fn unrest(&self) -> Vec<String> {
        let listed = self.scene.accounts();
        let views = self.places.parties.iter().map(|party| self.view(party, &listed));
        views.flat_map(|v| v.unrest()).collect()
    }
}

/// The plural of a kind of ours.
pub fn plural(kind: &Value) -> &'static str {
    match kind.as_str() {
        Some("DNSZone") => "dnszones",
        Some("DNSRecordSet") => "dnsrecordsets",
        _ => "dnszoneclasses",
    }
}

/// The object that a path to the API server leads to.
fn object_at(path: &str) -> Option<Place> {
    let mut parts = path.trim_end_matches("/status").rsplit('/');
    let (name, plural, namespace) = (parts.next()?, parts.next()?, parts.next()?);
    Some((plural.to_owned(), namespace.to_owned(), name.to_owned()))
}

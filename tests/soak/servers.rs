//! Both models as servers in this process, for two daemons: each request is counted, disturbed as the step says, checked,
//! carried out and written down.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::cluster::Cluster;
use crate::model::Answer;
use crate::reference::View;
use crate::scene::{Op, Places, Scene};
use crate::steps::Fault;

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
    /// Everything carried out since it was last taken, operations of users and hands included; kept if asked for.
    pub journal: Option<Vec<Journal>>,
    fault: Option<Fault>,
    /// Requests of this pass.
    count: usize,
    killed: bool,
    /// Sent in this pass, to be carried out when it is over.
    late: Vec<(usize, bool, [String; 3], Value)>,
    listed: BTreeSet<String>,
    clock: u64,
    uids: u64,
    /// Told when the process of the running pass dies.
    pub death: Arc<Notify>,
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
}

impl Shared {
    pub fn new(places: Places) -> Shared {
        let servers = Servers {
            scene: Scene::default(),
            places,
            violations: Vec::new(),
            done: Vec::new(),
            journal: None,
            fault: None,
            count: 0,
            killed: false,
            late: Vec::new(),
            listed: BTreeSet::new(),
            clock: 0,
            uids: 0,
            death: Arc::new(Notify::new()),
        };
        Shared { servers: Arc::new(Mutex::new(servers)) }
    }

    pub fn lock(&self) -> MutexGuard<'_, Servers> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers one request of a daemon.
    pub fn answer(&self, who: usize, powerdns: bool, request: [&str; 3], body: &Value) -> Reply {
        let mut servers = self.lock();
        let reply = servers.disturbed(who, powerdns, request, body);
        if servers.killed {
            servers.death.notify_one();
            return Reply::Dead;
        }
        reply
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
    /// Puts an empty world in place.
    pub fn clear(&mut self, comments: bool) {
        self.scene = Scene::default();
        self.scene.pdns.comments = comments;
        // Where a journal is kept it is for servers that have no garbage collector.
        self.scene.cluster.uncollected = self.journal.is_some();
        self.violations.clear();
        self.done.clear();
        self.late.clear();
        self.journal = self.journal.take().map(|_| Vec::new());
        (self.clock, self.uids) = (0, 0);
        for op in self.places.classes() {
            self.operate(&op);
        }
    }

    /// Makes ready for a pass, with what will go wrong in it.
    pub fn begin(&mut self, fault: Option<Fault>) {
        self.fault = fault;
        self.count = 0;
        self.killed = false;
        self.death = Arc::new(Notify::new());
        self.done.clear();
        self.listed = self.scene.pdns.zones.keys().cloned().collect();
        self.scene.pdns.unread.clear();
        if let Some(Fault::Unread(domain)) = fault {
            self.scene.pdns.unread.insert(crate::words::DOMAINS[domain].to_owned());
        }
    }

    /// Looks back at a pass, and carries out what came too late.
    pub fn end(&mut self) {
        self.killed = false;
        self.scene.pdns.unread.clear();
        for (who, powerdns, [method, path, query], body) in std::mem::take(&mut self.late) {
            self.carry_out(who, powerdns, [&method, &path, &query], &body, false);
        }
        let faults = self.scene.pdns.faults.drain(..).chain(self.scene.cluster.faults.drain(..));
        self.violations.extend(faults.map(|f| format!("no server should see this: {f}")));
    }

    fn disturbed(&mut self, who: usize, powerdns: bool, request: [&str; 3], body: &Value) -> Reply {
        let at = self.count;
        self.count += 1;
        let down = |reset: bool| if reset { Reply::Reset } else { Reply::Answer(failed(powerdns)) };
        match self.fault {
            _ if self.killed => return Reply::Dead,
            Some(Fault::PowerDnsDown(from, reset)) if powerdns && at >= from => return down(reset),
            Some(Fault::ClusterDown(from, reset)) if !powerdns && at >= from => return down(reset),
            Some(Fault::One500(n)) if n == at => return Reply::Answer(failed(powerdns)),
            Some(Fault::Lost(n)) if n == at => return Reply::Reset,
            Some(Fault::Late(n)) if n == at => {
                self.late.push((who, powerdns, request.map(str::to_owned), body.clone()));
                return Reply::Reset;
            }
            Some(Fault::Touched(n)) if n == at => self.touch(),
            _ => {}
        }
        let answer = self.carry_out(who, powerdns, request, body, true);
        match self.fault {
            Some(Fault::Killed(n)) if n == at => {
                self.killed = true;
                Reply::Dead
            }
            Some(Fault::Swallowed(n)) if n == at => Reply::Reset,
            Some(Fault::Lied(n)) if n == at => Reply::Answer(failed(powerdns)),
            Some(Fault::Cut(n)) if n == at => Reply::Cut(answer),
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
        let (before, listed) = (self.scene.cluster.clone(), self.listed.clone());
        let party = self.places.parties[who].clone();
        let writes = method != "GET";
        if powerdns && writes && checked {
            let view = View { scene: &self.scene, party: &party, listed: &listed };
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
            if powerdns {
                let apex =
                    path.strip_prefix("/zones/").or(body["name"].as_str()).unwrap_or_default();
                self.scene.learn(apex, &body["rrsets"]);
            } else if checked {
                let view = View { scene: &self.scene, party: &party, listed: &listed };
                let disturbed = !matches!(self.fault, None | Some(Fault::Touched(_)));
                let wrong = lawless(&view, &before, path, &body["status"], disturbed);
                self.violations.extend(wrong.map(|w| format!("{} said: {w}", party.owner)));
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

    /// What is not as it should be now that nothing fails.
    pub fn unrest(&self) -> Vec<String> {
        let listed = self.scene.pdns.zones.keys().cloned().collect();
        let views = self.places.parties.iter();
        let views = views.map(|party| View { scene: &self.scene, party, listed: &listed });
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

fn lawless(
    view: &View<'_>,
    before: &Cluster,
    path: &str,
    said: &Value,
    disturbed: bool,
) -> Option<String> {
    let mut parts = path.trim_end_matches("/status").rsplit('/');
    let (name, plural, namespace) = (parts.next()?, parts.next()?, parts.next()?);
    let place = (plural.to_owned(), namespace.to_owned(), name.to_owned());
    let after = view.scene.cluster.objects.get(&place);
    view.unlawful(plural, (before.objects.get(&place)?, after), said, disturbed)
}

//! What a daemon may send, checked at each of its writes against what both servers have at that moment: nothing foreign
//! is touched, nothing declared is taken, nothing is let go too early, and `True` is said only of what is served.

use serde_json::Value;

use crate::model::Rrset;
use crate::reference::{Claim, Fate, Home, View, domain};
use crate::scene::{FINALIZERS, Mark, Scene, Writer, finalized, is_true, stored, terminating, uid};
use crate::words::{Contents, coexist, normal};

impl View<'_> {
    /// What is wrong with a write to PowerDNS that is about to be carried out.
    pub fn trespass(&self, method: &str, path: &str, body: &Value) -> Option<String> {
        let apex = path.strip_prefix("/zones/").unwrap_or_default();
        match method {
            "PATCH" => {
                self.stored_zone(apex)?;
                self.elements(apex, &body["rrsets"])
            }
            "POST" => self.creation(body),
            "PUT" => self.marking(apex, body["account"].as_str().unwrap_or_default()),
            "DELETE" => self.deletion(apex),
            _ => None,
        }
    }

    fn creation(&self, body: &Value) -> Option<String> {
        let apex = body["name"].as_str().unwrap_or_default();
        if self.stored_zone(apex).is_some() {
            return None;
        }
        let Some(holder) = self.served(apex) else {
            return Some(format!("zone {apex} is created and nobody is served there"));
        };
        if body["account"] != self.party.mark(uid(holder)).as_str() {
            return Some(format!("zone {apex} is created with the mark {}", body["account"]));
        }
        self.elements(apex, &body["rrsets"])
    }

    fn marking(&self, apex: &str, account: &str) -> Option<String> {
        let holder = self.served(apex)?;
        let wrong = match self.mark(apex) {
            // Between the look at the account and the mark no server lets anybody lock it.
            Mark::Other if self.interrupted => return None,
            Mark::Other => "which another owner has marked",
            Mark::Free => "whose account is text of somebody else",
            Mark::None | Mark::Ours if account != self.party.mark(uid(holder)) => "for no holder",
            Mark::None | Mark::Ours => return None,
        };
        Some(format!("zone {apex}, {wrong}, is marked {account}"))
    }

    fn deletion(&self, apex: &str) -> Option<String> {
        let zone = self.stored_zone(apex)?;
        let others = |r| self.party.writer(r) == Writer::Other;
        if zone.rrsets.values().filter(|r| !r.records.is_empty()).any(others) {
            return Some(format!("zone {apex} is deleted with another owner's RRset"));
        }
        if self.holder(apex).is_some() {
            return Some(format!("zone {apex} is deleted and somebody holds it"));
        }
        let live_mark = self.of("dnszones").any(|z| self.party.mark(uid(z)) == zone.account);
        let may = |z: &Value| {
            let mine = self.party.mark(uid(z)) == zone.account;
            let nobodys = match self.mark(apex) {
                Mark::None => true,
                Mark::Ours => !live_mark,
                Mark::Other | Mark::Free => false,
            };
            let due = domain(z) == apex && terminating(z) && finalized("dnszones", z);
            due && (mine || (nobodys && !self.class_alien(z)))
        };
        let orphan = self.orphan_goes(apex);
        (!orphan && !self.of("dnszones").any(may))
            .then(|| format!("zone {apex} is deleted for nobody"))
    }

    /// What is wrong with the elements of a PATCH, or of a new zone.
    fn elements(&self, apex: &str, rrsets: &Value) -> Option<String> {
        let claims = self.claims(apex);
        let mut elements = rrsets.as_array().into_iter().flatten();
        elements.find_map(|element| {
            let name = element["name"].as_str().unwrap_or_default();
            let here = claims.get(name).map_or(&[] as &[Claim<'_>], Vec::as_slice);
            let admitted = self.admitted(apex, name, here);
            let rtype = element["type"].as_str().unwrap_or_default();
            let why = if element["changetype"] == "DELETE" {
                self.delete(apex, (name, rtype), here, &admitted)
            } else {
                self.replace(apex, (name, rtype), element, here, &admitted)
            };
            why.map(|why| format!("{element} in {apex}: {why}"))
        })
    }

    fn delete(
        &self,
        apex: &str,
        (name, rtype): (&str, &str),
        claims: &[Claim<'_>],
        admitted: &[Claim<'_>],
    ) -> Option<&'static str> {
        let rrset = *self.stored_zone(apex)?.at(name).get(rtype)?;
        let Some((writer, fate)) = self.yields(apex, name, rtype, rrset) else {
            return Some("it is nobody's to delete");
        };
        let waits = waits(claims, admitted);
        let makes_room = admitted.iter().any(|c| !coexist(c.rtype, rtype));
        let place = |uid: &str| claims.iter().position(|c| c.uid == uid);
        let outranked = admitted.iter().any(|c| {
            !coexist(c.rtype, rtype) && place(c.uid) < place(&writer) && place(&writer).is_some()
        });
        let retyped = admitted.iter().any(|c| c.uid == writer);
        let may = match fate {
            Fate::Going | Fate::Lost | Fate::Gone => true,
            Fate::Undeclared => makes_room || !waits,
            Fate::Retyped => retyped || outranked,
            Fate::Declared => outranked,
            Fate::Unknown => false,
        };
        if !may {
            return Some("its writer has not lost it");
        }
        let (served, other) = (self.served(apex).is_some(), self.mark(apex) == Mark::Other);
        let left = fate == Fate::Lost && self.nobodys(apex);
        let allowed = served || fate == Fate::Going || other || left;
        (!allowed).then_some("nobody is served here")
    }

    fn replace(
        &self,
        apex: &str,
        (name, rtype): (&str, &str),
        element: &Value,
        claims: &[Claim<'_>],
        admitted: &[Claim<'_>],
    ) -> Option<&'static str> {
        let Some(holder) = self.served(apex) else { return Some("nobody is served here") };
        let was =
            self.stored_zone(apex).and_then(|z| z.rrsets.get(&(name.to_owned(), rtype.to_owned())));
        if was.is_some_and(|r| !r.records.is_empty() && self.party.writer(r) == Writer::Other) {
            return Some("it is another owner's");
        }
        let comments = element["comments"].as_array();
        let foreign = |c: &&Value| c["account"] != "dns-syncd";
        let kept: Option<Vec<&Value>> = comments.map(|c| c.iter().filter(foreign).collect());
        let all = was.into_iter().flat_map(|r| &r.comments);
        let theirs: Vec<_> = all.filter(|c| c.account != "dns-syncd").collect();
        let same = |kept: Vec<&Value>| {
            kept.len() == theirs.len()
                && kept.iter().zip(&theirs).all(|(k, t)| {
                    k["content"] == t.content.as_str() && k["modified_at"] == t.modified_at
                })
        };
        if kept.is_some_and(|kept| !same(kept)) {
            return Some("the comments of others are changed");
        }
        let sent: Option<Contents> = element["records"].as_array().map(|records| {
            let texts = records.iter().filter_map(|r| r["content"].as_str());
            (element["ttl"].as_i64().unwrap_or(-1), texts.map(|t| normal(rtype, t)).collect())
        });
        let alone = was.filter(|_| sent.is_none());
        let retold = alone.is_some_and(|r| self.retold((apex, name, rtype), r, comments, claims));
        let contents = sent.or_else(|| was.map(|r| stored(rtype, r)));
        if let Some(claim) = admitted.iter().find(|c| c.rtype == rtype) {
            return (contents != claim.contents).then_some("the winner declares other contents");
        }
        // It was read before the other daemon wrote: no server lets anybody lock it.
        let declared = |c: &Claim<'_>| c.rtype == rtype && c.contents == contents;
        if self.interrupted && claims.iter().any(declared) {
            return None;
        }
        let servers = self.servers(holder);
        match rtype {
            "SOA" if name == apex => None,
            "NS" if name == apex && contents.is_some_and(|(_, ns)| ns == servers) => None,
            _ if retold => None,
            _ => Some("nobody who may declares it"),
        }
    }

    /// A note alone: what nobody noted gets that of who declares it and is refused, and at the apex goes that of who has done
    /// with it.
    fn retold(
        &self,
        (apex, name, rtype): (&str, &str, &str),
        was: &Rrset,
        comments: Option<&Vec<Value>>,
        claims: &[Claim<'_>],
    ) -> bool {
        let declares = |uid: &str| claims.iter().any(|c| c.uid == uid && c.rtype == rtype);
        let all = comments.into_iter().flatten().filter_map(|c| c["content"].as_str());
        let mut notes = all.filter_map(|c| serde_json::from_str::<Value>(c).ok());
        let uid = notes.find_map(|note| Some(note["uid"].as_str()?.to_owned()));
        match (self.party.writer(was), uid) {
            (Writer::Nobody, Some(uid)) => declares(&uid),
            (Writer::Ours(uid), None) => {
                name == apex && matches!(rtype, "SOA" | "NS") && !declares(&uid)
            }
            _ => false,
        }
    }

    /// What is wrong with a patch of an object that was just carried out; `before` is the object as it was, `said` the
    /// status that was sent, `disturbed` whether PowerDNS fails in this pass.
    pub fn unlawful(
        &self,
        plural: &str,
        (before, after): (&Value, Option<&Value>),
        said: &Value,
        disturbed: bool,
    ) -> Option<String> {
        let name = &before["metadata"]["name"];
        let released = finalized(plural, before) && !after.is_some_and(|o| finalized(plural, o));
        let left = match plural {
            _ if !released => None,
            "dnszones" => self.zone_left(before),
            _ => self.set_left(before),
        };
        if let Some(left) = left {
            return Some(format!("{name} was let go, but {left}"));
        }
        let after = after?;
        let untrue = match plural {
            _ if said.is_null() => None,
            "dnszones" => self.zone_untrue(after),
            // Names that are not sent stay as they were said before.
            _ if said["recordSets"].is_null() => None,
            _ => self.set_untrue(after, |raw| disturbed && proven(before, raw)),
        };
        untrue.map(|why| format!("{name}: {why}"))
    }

    fn set_left(&self, set: &Value) -> Option<String> {
        for (apex, zone) in &self.scene.pdns.zones {
            for ((name, rtype), rrset) in zone.rrsets.iter().filter(|(_, r)| !r.records.is_empty())
            {
                let its = self.party.writer(rrset) == Writer::Ours(uid(set).to_owned());
                if its && !self.protected(apex, name, rtype) {
                    return Some(format!("{name} {rtype} in {apex} carries its uid"));
                }
            }
        }
        None
    }

    fn zone_left(&self, object: &Value) -> Option<String> {
        let apex = domain(object);
        let zone = self.stored_zone(&apex)?;
        let others = zone.rrsets.values().any(|r| self.party.writer(r) == Writer::Other);
        let marked = zone.account == self.party.mark(uid(object));
        (marked && !others && self.holder(&apex).is_none())
            .then(|| format!("zone {apex} still has its mark"))
    }

    fn zone_untrue(&self, object: &Value) -> Option<String> {
        if !is_true(&object["status"]["conditions"], "Programmed") {
            return None;
        }
        let apex = domain(object);
        let there = self.stored_zone(&apex).is_some_and(|z| {
            let here = z.at(&apex);
            here.contains_key("SOA") && here.contains_key("NS")
        });
        (!there).then(|| format!("{apex} is not there with SOA and NS"))
    }

    /// `True` stands in a record set's status for a name that is not served as it declares, and that is not `kept`.
    pub fn set_untrue(&self, set: &Value, kept: impl Fn(&str) -> bool) -> Option<String> {
        let status = &set["status"];
        let names = status["recordSets"].as_array().into_iter().flatten();
        let said: Vec<&Value> = names
            .filter(|n| is_true(&n["conditions"], "Programmed"))
            .filter(|n| !kept(n["name"].as_str().unwrap_or_default()))
            .collect();
        if said.is_empty() {
            return None;
        }
        let Home::Served(apex) = self.home(set) else {
            return Some("it is called programmed and is not served".to_owned());
        };
        let claims = self.claims(&apex);
        for name in said {
            let raw = name["name"].as_str().unwrap_or_default();
            let claim = claims.iter().find_map(|(owner, claims)| {
                let its = claims.iter().find(|c| c.uid == uid(set) && c.raws.contains(raw))?;
                Some((owner, its))
            });
            let Some((owner, claim)) = claim else {
                return Some(format!("{raw} is called programmed and is not declared"));
            };
            let zone = self.stored_zone(&apex);
            let here =
                zone.and_then(|z| z.at(owner).get(claim.rtype).map(|r| stored(claim.rtype, r)));
            if here.is_none() || here != claim.contents {
                return Some(format!(
                    "{raw} is called programmed; {here:?} is served, {:?} declared",
                    claim.contents
                ));
            }
        }
        None
    }

    /// A note is written only for an object that is secured.
    pub fn unsecured(&self, rrsets: &Value) -> Option<String> {
        let elements = rrsets.as_array().into_iter().flatten();
        let comments = elements.flat_map(|e| e["comments"].as_array().into_iter().flatten());
        let contents =
            comments.filter(|c| c["account"] == "dns-syncd").filter_map(|c| c["content"].as_str());
        for note in contents.filter_map(|c| serde_json::from_str::<Value>(c).ok()) {
            let set = self.of("dnsrecordsets").find(|s| s["metadata"]["uid"] == note["uid"]);
            let secured = set.is_some_and(|s| {
                let zone = self.zone_of(s).map(uid);
                let owners = s["metadata"]["ownerReferences"].as_array().into_iter().flatten();
                finalized("dnsrecordsets", s)
                    && is_true(&s["status"]["conditions"], "Accepted")
                    && owners.into_iter().any(|o| o["uid"].as_str() == zone)
            });
            if !secured {
                return Some(format!("{note} is written before its object is secured"));
            }
        }
        None
    }
}

/// Whether somebody declares something at a name that cannot be written now: what is there may be what a retype left.
pub fn waits(claims: &[Claim<'_>], admitted: &[Claim<'_>]) -> bool {
    claims.iter().any(|c| !admitted.iter().any(|a| a.rtype == c.rtype))
}

/// Whether a name was said to be programmed at the generation that the set has: then it may go on being said for a
/// while when PowerDNS cannot be asked.
fn proven(set: &Value, raw: &str) -> bool {
    let mut names = set["status"]["recordSets"].as_array().into_iter().flatten();
    let name = names.find(|n| n["name"] == raw);
    name.is_some_and(|n| {
        let mut conditions = n["conditions"].as_array().into_iter().flatten();
        let current = &set["metadata"]["generation"];
        conditions.any(|c| {
            c["type"] == "Programmed"
                && c["status"] == "True"
                && c["observedGeneration"] == *current
        })
    })
}

/// Objects that are being deleted and have a finalizer of ours, with their kind.
pub fn ending<'a>(scene: &'a Scene, namespace: &str) -> Vec<(&'static str, &'a Value)> {
    let kinds = FINALIZERS.iter().map(|(plural, _)| *plural);
    let all = kinds.flat_map(|plural| scene.cluster.of(plural).map(move |o| (plural, o)));
    all.filter(|(plural, o)| terminating(o) && finalized(plural, o))
        .filter(|(_, o)| o["metadata"]["namespace"] == namespace)
        .collect()
}

//! What must hold at a quiet point: nothing fails, and passes have come to rest.

use serde_json::Value;

use crate::permit::{ending, waits};
use crate::reference::{Claim, Fate, Home, View};
use crate::scene::{Mark, Writer, finalized, is_true, stored, terminating, uid};
use crate::words::{DOMAINS, coexist};

impl View<'_> {
    /// What is not as it should be.
    pub fn unrest(&self) -> Vec<String> {
        let mut out = Vec::new();
        for apex in DOMAINS {
            if let Some(holder) = self.served(apex) {
                out.extend(self.zone_wrong(apex, holder));
            }
            out.extend(self.leftovers(apex));
            if self.orphan_goes(apex) {
                out.push(format!("zone {apex} is an orphan and still there"));
            }
        }
        out.extend(self.stranded());
        for set in self.of("dnsrecordsets").filter(|s| !terminating(s)) {
            out.extend(self.set_wrong(set));
        }
        out
    }

    /// A zone that is served lacks something of what it should have.
    fn zone_wrong(&self, apex: &str, holder: &Value) -> Vec<String> {
        let mut out = Vec::new();
        let Some(zone) = self.stored_zone(apex) else {
            return vec![format!("zone {apex} is not there")];
        };
        let right = self.party.mark(uid(holder));
        if zone.account != right && self.mark(apex) != Mark::Free {
            out.push(format!("zone {apex} has the account {:?}, not {right:?}", zone.account));
        }
        let claims = self.claims(apex);
        for (name, claims) in &claims {
            if !claims.iter().any(|c| c.refused) {
                out.extend(self.name_wrong(apex, name, claims));
            }
        }
        // A refused record at the apex holds the whole name.
        if claims.get(apex).into_iter().flatten().any(|c| c.refused) {
            return out;
        }
        let servers = self.servers(holder);
        let declared = claims.get(apex).into_iter().flatten().any(|c| c.rtype == "NS");
        let here = zone.at(apex);
        let otherwise = here
            .get("NS")
            .filter(|_| !declared && !servers.is_empty())
            .filter(|ns| stored("NS", ns).1 != servers);
        let anothers = otherwise.is_some_and(|ns| self.party.writer(ns) == Writer::Other);
        if let Some(ns) = otherwise.filter(|_| !anothers) {
            out.push(format!("the name servers of {apex} are {:?}, not {servers:?}", ns.records));
        }
        let full = here.contains_key("SOA") && here.contains_key("NS");
        let said = is_true(&holder["status"]["conditions"], "Programmed");
        if (full && !anothers) != said || (!full && !servers.is_empty()) {
            out.push(format!(
                "zone {apex}: SOA and NS there: {full}, another's NS: {anothers}, Programmed: {said}"
            ));
        }
        out
    }

    /// Each claim that has room is served and noted.
    fn name_wrong(&self, apex: &str, name: &str, claims: &[Claim<'_>]) -> Vec<String> {
        let zone = self.stored_zone(apex);
        let here = zone.map(|z| z.at(name)).unwrap_or_default();
        let mut out = Vec::new();
        for claim in self.admitted(apex, name, claims) {
            let rrset = here.get(claim.rtype);
            let served = rrset.map(|r| stored(claim.rtype, r));
            if served != claim.contents {
                let (key, rtype, contents) = (&claim.key, claim.rtype, &claim.contents);
                out.push(format!("{name} {rtype} is {served:?}; {key} declares {contents:?}"));
                continue;
            }
            let writer = rrset.map(|r| self.party.writer(r));
            let ours = writer == Some(Writer::Ours(claim.uid.to_owned()));
            if self.scene.pdns.comments && !ours && writer != Some(Writer::Other) {
                out.push(format!(
                    "{name} {} does not carry the note of {}",
                    claim.rtype, claim.key
                ));
            }
        }
        out
    }

    /// RRsets with our note that nobody keeps there.
    fn leftovers(&self, apex: &str) -> Vec<String> {
        let Some(zone) = self.stored_zone(apex) else { return Vec::new() };
        let (served, mark) = (self.served(apex).is_some(), self.mark(apex));
        let claims = self.claims(apex);
        let mut out = Vec::new();
        for ((name, rtype), rrset) in zone.rrsets.iter().filter(|(_, r)| !r.records.is_empty()) {
            let here = claims.get(name).map_or(&[] as &[Claim<'_>], Vec::as_slice);
            if self.protected(apex, name, rtype) || here.iter().any(|c| c.refused) {
                continue;
            }
            let admitted = self.admitted(apex, name, here);
            let purged = served && self.purged(apex, name, rtype);
            let writer = match self.party.writer(rrset) {
                Writer::Ours(writer) => writer,
                Writer::Nobody if purged && !waits(here, &admitted) => {
                    out.push(format!("{name} {rtype} is undeclared in {apex}"));
                    continue;
                }
                Writer::Nobody | Writer::Other => continue,
            };
            let stays = match self.fate(apex, name, rtype, &writer) {
                Fate::Going => false,
                // While nobody is served only deletions are carried out.
                Fate::Lost => !served && mark != Mark::Other && !self.nobodys(apex),
                Fate::Gone => {
                    let nobody = self.holder(apex).is_none() || (!served && mark != Mark::Other);
                    nobody || !(purged || self.as_written(apex, name, rtype, rrset))
                }
                Fate::Retyped => !admitted.iter().any(|c| c.uid == writer),
                Fate::Declared => !admitted.iter().any(|c| !coexist(c.rtype, rtype)),
                Fate::Unknown | Fate::Undeclared => true,
            };
            if !stays {
                out.push(format!("{name} {rtype} of {writer} is left over in {apex}"));
            }
        }
        out
    }

    /// Objects that wait for nothing.
    fn stranded(&self) -> Vec<String> {
        let mut out = Vec::new();
        for (plural, object) in ending(self.scene, &self.party.namespace) {
            let zone = if plural == "dnszones" { Some(object) } else { self.zone_of(object) };
            // What another controller has accepted is its own to let go, be it that nobody can tell who said so.
            let accepted = is_true(&object["status"]["conditions"], "Accepted");
            let theirs = zone.is_some_and(|z| accepted && self.class_alien(z));
            if !theirs && !zone.is_some_and(|z| self.of_others(z)) {
                out.push(format!("{} of {plural} is stranded", object["metadata"]["name"]));
            }
        }
        out
    }

    /// A status says what is served, no more and no less.
    fn set_wrong(&self, set: &Value) -> Option<String> {
        let name = &set["metadata"]["name"];
        // Of what another controller has accepted nothing is said: what was said before stays, be it that nobody can tell
        // who said so.
        let accepted = |o: &Value| is_true(&o["status"]["conditions"], "Accepted");
        let silent = self
            .zone_of(set)
            .is_some_and(|z| self.class_alien(z) && (accepted(z) || accepted(set)));
        if let Some(why) = self.set_untrue(set, |_| silent) {
            return Some(format!("{name}: {why}"));
        }
        let Home::Served(apex) = self.home(set) else { return None };
        if !finalized("dnsrecordsets", set) || !is_true(&set["status"]["conditions"], "Accepted") {
            return Some(format!("{name} is not accepted"));
        }
        let told: Vec<&Value> =
            set["status"]["recordSets"].as_array().into_iter().flatten().collect();
        for (owner, claims) in &self.claims(&apex) {
            let admitted = self.admitted(&apex, owner, claims);
            let free = !claims.iter().any(|c| c.refused);
            let mine = admitted.iter().filter(|c| c.uid == uid(set) && free);
            for raw in mine.flat_map(|c| &c.raws) {
                let said = told.iter().find(|t| t["name"] == raw.as_str());
                if !said.is_some_and(|t| is_true(&t["conditions"], "Programmed")) {
                    return Some(format!(
                        "{name}: {raw} is served and not called programmed: {said:?}"
                    ));
                }
            }
        }
        None
    }
}

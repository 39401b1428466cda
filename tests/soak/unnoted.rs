//! What is to be thought of an RRset without a note of ours: whether it goes as undeclared, whether it is protected, and
//! which record set tells by its own word that it wrote it.

use serde_json::Value;

use crate::model::Rrset;
use crate::reference::{Claim, Home, View, text};
use crate::scene::{Mark, Writer, finalized, is_true, stored, uid};
use crate::words::{IGNORED, owner};

impl<'a> View<'a> {
    /// Whether an RRset of this type goes because nobody declares it, in a zone that is to hold nothing else.
    pub fn purged(&self, apex: &str, name: &str, rtype: &str) -> bool {
        let account = self.stored_zone(apex).map_or("", |z| z.account.as_str());
        let marked = self.holder(apex).is_some_and(|z| self.party.mark(uid(z)) == account);
        let claims = self.claims(apex);
        let here = claims.get(name).map_or(&[] as &[Claim<'_>], Vec::as_slice);
        let ignored = here.is_empty() && name.starts_with(IGNORED.trim_end_matches('*'));
        let modelled = rtype != "LOC";
        let undeclared = !here.iter().any(|c| c.rtype == rtype);
        self.party.rules.purge && marked && modelled && undeclared && !ignored
    }

    /// Whether others may have written what is there otherwise than declared, and it is to stay.
    pub fn protects(&self, apex: &str, name: &str, claim: &Claim<'_>, here: &Rrset) -> bool {
        let nobodys = self.party.writer(here) == Writer::Nobody;
        let made_with_zone = name == apex && matches!(claim.rtype, "SOA" | "NS");
        let differs = claim.contents.as_ref() != Some(&stored(claim.rtype, here));
        let may = nobodys && differs && !made_with_zone;
        let unnoted = self.unnoted.contains(apex) || self.noteless(apex);
        self.party.rules.protect && may && !(unnoted && self.told(apex, name, claim))
    }

    /// Whether no note of ours is read in a zone: then only objects tell who wrote what.
    pub fn noteless(&self, apex: &str) -> bool {
        let noted = |((n, t), r): (&(String, String), &Rrset)| {
            let ours = matches!(self.party.writer(r), Writer::Ours(_));
            ours && !r.records.is_empty() && !self.protected(apex, n, t)
        };
        !self.stored_zone(apex).is_some_and(|zone| zone.rrsets.iter().any(noted))
    }

    /// Whether a claimant's status says that it had the name programmed, and it speaks of this zone alone.
    pub fn told(&self, apex: &str, name: &str, claim: &Claim<'_>) -> bool {
        let Some(set) = self.of("dnsrecordsets").find(|s| uid(s) == claim.uid) else {
            return false;
        };
        let holder = self.holder(apex).map(uid);
        let owners = set["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        let zones: Vec<_> =
            owners.filter(|o| o["kind"] == "DNSZone").map(|o| o["uid"].as_str()).collect();
        let names = set["status"]["recordSets"].as_array().into_iter().flatten();
        let mut names = names.filter(|n| owner(text(n, "/name"), apex).as_deref() == Some(name));
        let programmed = |n: &Value| {
            let mut conditions = n["conditions"].as_array().into_iter().flatten();
            conditions.any(|c| {
                let before = text(c, "/message").ends_with("before");
                c["type"] == "Programmed" && (c["status"] == "True" || before)
            })
        };
        let speaks = !zones.is_empty() && zones.iter().all(|z| *z == holder);
        speaks && names.any(programmed)
    }

    /// The record set that tells by its own word that it wrote a note-less RRset, where no note of ours is read.
    pub fn evidence(&self, apex: &str, name: &str, rtype: &str) -> Option<String> {
        let here = self.stored_zone(apex)?.rrsets.get(&(name.to_owned(), rtype.to_owned()));
        let here = here.map(|r| stored(rtype, r));
        // Nor does anything go that a live record set declares, which may be the one that wrote it.
        let claims = self.claims(apex);
        let declared = claims.get(name).into_iter().flatten().any(|c| c.rtype == rtype);
        if declared || self.mark(apex) == Mark::Other || !self.noteless(apex) {
            return None;
        }
        let says = |set: &&'a Value| {
            let going = self.going(set) && finalized("dnsrecordsets", set);
            let home = match self.home(set) {
                Home::Served(home) | Home::NotServed(home) => home == apex,
                Home::Unresolved => going,
            };
            let home = home && (!going || self.came(set, apex));
            let spelled = set["spec"]["records"].as_array().into_iter().flatten();
            let told = set["status"]["recordSets"].as_array().into_iter().flatten();
            let at_name = |e: &Value| owner(text(e, "/name"), apex).as_deref() == Some(name);
            let spelled = spelled.into_iter().any(at_name);
            let told = told.into_iter().any(at_name);
            // What others may have written goes only where it is what the record set itself would have written.
            let own = || {
                self.groups(set, apex).get(name).map(|g| g.contents.clone()) == Some(here.clone())
            };
            let wrote = (spelled && self.may_have_written(set, apex)) || told;
            let ends = going && wrote && (!self.party.rules.protect || own());
            set["spec"]["recordType"] == rtype && home && (ends || (!going && !spelled && told))
        };
        self.of("dnsrecordsets").find(says).map(|set| uid(set).to_owned())
    }

    /// Whether the zone that a record set names was served for it before it ended: not if it refers to others alone, nor
    /// if another controller has accepted it.
    pub fn came(&self, set: &Value, apex: &str) -> bool {
        let Some(zone) = self.zone_of(set) else { return true };
        let owners = set["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        let mut zones = owners.filter(|o| o["kind"] == "DNSZone").peekable();
        let marked = |o: &Value| self.carries(apex, o["uid"].as_str().unwrap_or_default());
        if zones.clone().any(marked) {
            return true;
        }
        let meta = &zone["metadata"];
        let theirs = self.class_alien(zone)
            && is_true(&set["status"]["conditions"], "Accepted")
            && !self.carries(apex, uid(zone));
        let none = zones.peek().is_none();
        !theirs && (none || zones.any(|o| o["uid"] == meta["uid"] || o["name"] == meta["name"]))
    }

    /// Whether what a record set declares may have been written without its status saying so.
    pub fn may_have_written(&self, set: &Value, apex: &str) -> bool {
        self.zone_of(set).is_none_or(|zone| {
            let missing =
                self.class(zone).is_none() && !text(zone, "/spec/dnsZoneClassName").is_empty();
            missing || self.class_ours(zone) || self.carries(apex, uid(zone))
        })
    }

    /// Whether a zone's mark has this uid, or had it when it was listed: a pass hands it on before it writes.
    fn carries(&self, apex: &str, uid: &str) -> bool {
        let now = self.stored_zone(apex).map(|z| &z.account);
        let mark = self.party.mark(uid);
        now.into_iter().chain(self.listed.get(apex)).any(|account| *account == mark)
    }
}

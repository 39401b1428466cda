//! What happens to one PowerDNS zone: whether it is created, marked, written or deleted, which of
//! its names change, and why nothing may be written where nothing may.

use std::collections::{BTreeMap, BTreeSet};

use super::World;
use super::change::{Change, DeleteReason, Leftover, NameChange, Party, Verdict};
use super::claims::{Claim, ZoneView};
use super::diff::decide_name;
use super::evidence::unadopted;
use super::memory::Known;
use super::note::{Mark, NOTE_ACCOUNT};
use super::permission::{Permission, permission};
use super::set_plan::Verdicts;
use super::sets::Place;
use super::snapshot::{ServerZone, StoredRecord, StoredRrset, ZoneContents};
use super::stored::{noted, noteless};
use super::zones::{ClassState, Standing, servers};
use crate::api::conditions::{reason, sentence};
use crate::dns::name::Name;
use crate::dns::rdata::Rdata;
use crate::dns::rrset::{Contents, RecordType, Ttl};

/// TTL of apex sets that we make, in seconds: PowerDNS' own `default-ttl`.
const APEX_TTL: i64 = 3600;

/// One PowerDNS zone's part of the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct ZonePlan {
    /// The id for URLs; `None` if the zone does not exist yet.
    pub id: Option<String>,
    /// What happens to the zone itself.
    pub step: ZoneStep,
    /// What happens in it; empty names are left out.
    pub names: BTreeMap<Name, NameChange>,
    /// What will happen in it once it is no longer withheld, for people.
    pub postponed: BTreeMap<Name, NameChange>,
    /// Why nothing may be written in it now.
    pub withheld: Option<String>,
    /// Whether another pass soon may write in it without anybody changing anything.
    pub passing: bool,
    /// It waits for its mark to have lasted.
    pub marking: bool,
    /// What is there undeclared and stays.
    pub leftovers: Vec<Leftover>,
    /// RRsets that are a record set's, by its uid: they carry it in a note of ours, or evidence says so.
    pub carried: BTreeMap<String, BTreeSet<(Name, RecordType)>>,
    /// The server keeps comments and no note of ours stands in it yet: only evidence tells what is whose.
    pub noteless: bool,
    /// Which of SOA and NS are at the apex as read.
    pub apex: BTreeSet<RecordType>,
    /// It was read and has no SOA that is served.
    pub no_soa: bool,
    /// What another owner's note keeps at the apex against the class, for people.
    pub others: Option<String>,
    /// What it holds could not be read.
    pub unread: bool,
    /// It was not read, since nothing has changed; what was said stands.
    pub unchanged: bool,
    /// RRsets that such a zone leaves alone, besides `leftovers`.
    pub left_alone: usize,
    /// Nothing happens to it or in it, and what it holds is its own sets' or nobody's.
    pub steady: bool,
    /// What is known to fail, from passes before.
    pub known: Known,
}

impl ZonePlan {
    /// Whether the zone itself is deleted.
    #[must_use]
    pub fn goes(&self) -> bool {
        matches!(self.step, ZoneStep::Delete { .. } | ZoneStep::DeleteOrphan { .. })
    }

    /// Nothing happens to the zone in this pass, for this reason.
    pub(super) fn withhold(&mut self, why: &str) {
        self.step = ZoneStep::Keep;
        self.names.clear();
        self.withheld = Some(why.to_owned());
    }

    /// Whether only evidence tells, after a change was taken out, what is stored where it would have been made.
    pub(super) fn leaves_evidence(&self, change: &Change) -> bool {
        let of_a_set = match change {
            Change::Delete { unnoted, .. } => *unnoted,
            Change::Replace { from, by, .. } => from.is_some() && by.is_some(),
            Change::Adopt { .. } => true,
        };
        self.noteless && of_a_set
    }

    /// What is written gets no note in this pass: where one note stands, nothing without one is known by evidence any more,
    /// and something that is so known waits.
    pub(super) fn note_nothing(&mut self) {
        for change in self.names.values_mut() {
            change.types.retain(|_, c| !matches!(c, Change::Adopt { .. }));
            for change in change.types.values_mut() {
                if let Change::Replace { comments: Some(comments), by: Some(_), .. } = change {
                    comments.retain(|comment| comment.account != NOTE_ACCOUNT);
                }
            }
        }
        self.names.retain(|_, change| !change.types.is_empty());
    }

    /// Whether there is anything to send.
    #[must_use]
    pub fn has_work(&self) -> bool {
        !self.names.is_empty() || self.step != ZoneStep::Keep
    }
}

/// What happens to the zone itself, before anything in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ZoneStep {
    /// Nothing.
    #[default]
    Keep,
    /// One POST with the mark and as many RRsets as fit.
    Create {
        /// The mark.
        account: String,
        /// Uid of the DNSZone.
        by: String,
    },
    /// Claim it, if a GET directly before shows `expected` still; nothing else is written before the mark is
    /// known to have lasted.
    Mark {
        /// The mark.
        account: String,
        /// The account that is there now.
        expected: String,
        /// Uid of the DNSZone.
        by: String,
    },
    /// Pass our own mark on to another DNSZone, then write.
    Remark {
        /// The mark.
        account: String,
        /// The account that is there now.
        expected: String,
        /// Uid of the DNSZone.
        by: String,
    },
    /// Delete it with all that is in it, since its mark is ours and no DNSZone of its domain exists. Needs another list
    /// before it happens.
    DeleteOrphan {
        /// As below.
        comments: BTreeSet<(Name, String)>,
    },
    /// Delete it with all that is in it.
    Delete {
        /// Uid of the Terminating DNSZone.
        by: String,
        /// The account that is there now, where that is no mark of ours: a GET directly before must show it still, or
        /// somebody else took the zone meanwhile.
        expected: Option<String>,
        /// RRsets, by name and type word, whose comments must be cleared first, because they would outlive the zone
        /// and be inherited by the next one (LMDB from 5.1 on).
        comments: BTreeSet<(Name, String)>,
    },
}

/// Plans one zone, and gives the verdicts on the claims to it.
pub(super) fn plan_zone(world: &World<'_>, domain: &Name) -> (ZonePlan, Verdicts) {
    let zones = &world.snapshot.server.zones;
    let stored = zones.as_ref().ok().and_then(|zones| zones.get(domain));
    let (step, permission) = permission(world, domain, stored);
    let empty = ZoneContents::default();
    let contents = match stored {
        Some(zone) => zone.contents.as_ref().ok(),
        // Absent from a complete list is empty; absent from no list is unknown.
        None => zones.is_ok().then_some(&empty),
    };
    // What is shown twice is not known to be there.
    let known = contents.filter(|c| !c.doubled.contains(domain));
    let served = |r: &StoredRrset| r.records.iter().any(|record| !record.disabled);
    let apex = |t: &RecordType| known.is_some_and(|c| c.get(domain, *t).is_some_and(served));
    let unchanged = stored.is_some_and(ServerZone::unchanged);
    let mut plan = ZonePlan {
        id: stored.map(|z| z.id.clone()),
        step,
        names: BTreeMap::new(),
        postponed: BTreeMap::new(),
        withheld: permission.withheld().map(str::to_owned),
        passing: matches!(permission, Permission::Later(_) | Permission::Marking(_)),
        marking: matches!(permission, Permission::Marking(_)),
        leftovers: Vec::new(),
        carried: contents.map(|c| noted(world, domain, c)).unwrap_or_default(),
        apex: [RecordType::Soa, RecordType::Ns].into_iter().filter(apex).collect(),
        unread: contents.is_none(),
        unchanged,
        left_alone: if unchanged { world.memory.left_alone(domain) } else { 0 },
        no_soa: contents.is_some_and(|c| !c.get(domain, RecordType::Soa).is_some_and(served)),
        noteless: false,
        others: None,
        steady: false,
        known: Known::default(),
    };
    let claims = claims(world, domain);
    let verdicts = match contents {
        Some(contents) if plan.goes() => {
            plan.leftovers = noteless(world, domain, contents);
            Verdicts::new()
        }
        Some(contents) => decide_names(world, domain, contents, &claims, &permission, &mut plan),
        None => unread(&claims, plan.withheld.as_deref().unwrap_or_default()),
    };
    plan.steady = contents.is_some_and(|c| steady(world, domain, c, &plan));
    (plan, verdicts)
}

/// Whether a zone needs nothing, and none of what it holds is of a set that is, or has been, at home elsewhere: the end
/// of that set would have to look here, whatever has become of this zone.
fn steady(world: &World<'_>, domain: &Name, contents: &ZoneContents, plan: &ZonePlan) -> bool {
    let at_home = |uid: &String| {
        let facts = world.sets.get(uid.as_str());
        facts.is_some_and(|f| !f.going && f.place == Place::Accepted(domain.clone()))
    };
    let settled = match world.zones.holder(domain) {
        Some(holder) => holder.standing == Standing::Served,
        None => !world.zones.by_domain.contains_key(domain),
    };
    let idle = !plan.has_work() && plan.postponed.is_empty() && contents.doubled.is_empty();
    settled && idle && plan.carried.keys().all(at_home)
}

/// Nothing can be said of claims to a zone that could not be read, so each says that.
fn unread(claims: &BTreeMap<Name, Vec<Claim<'_>>>, why: &str) -> Verdicts {
    let verdict = Verdict::Not(reason::PDNS_ERROR, sentence::detailed(sentence::FAILED, why));
    let each = claims.iter().flat_map(|(name, claims)| claims.iter().map(move |c| (name, c)));
    each.map(|(name, claim)| ((claim.facts.set.meta.uid.clone(), name.clone()), verdict.clone()))
        .collect()
}

/// Decides every name that is declared or stored, then strikes what may not be written.
fn decide_names(
    world: &World<'_>,
    domain: &Name,
    contents: &ZoneContents,
    claims: &BTreeMap<Name, Vec<Claim<'_>>>,
    permission: &Permission,
    plan: &mut ZonePlan,
) -> Verdicts {
    let mut verdicts = Verdicts::new();
    plan.noteless =
        plan.carried.is_empty() && world.snapshot.server.capabilities.is_some_and(|c| c.comments);
    let view = view(world, domain, contents, claims, plan);
    // What is a set's by evidence is its own like what carries its uid: nothing of it may stay behind.
    for ((name, rtype), (party, why)) in &view.evidence {
        if *why == DeleteReason::Going {
            plan.carried.entry(party.uid.clone()).or_default().insert((name.clone(), *rtype));
        }
    }
    let from_class = from_class(world, domain, contents, claims.get(domain));
    let nothing = BTreeMap::new();
    let apex = (!from_class.is_empty()).then(|| domain.clone());
    let names: BTreeSet<&Name> =
        contents.names.keys().chain(claims.keys()).chain(apex.as_ref()).collect();
    for name in names {
        let claims = claims.get(name).map_or(&[] as &[Claim<'_>], Vec::as_slice);
        if contents.doubled.contains(name) {
            let why = "PowerDNS shows more than one RRset of one type at this name";
            let not = Verdict::Not(reason::PDNS_ERROR, sentence::detailed(sentence::FAILED, why));
            verdicts
                .extend(claims.iter().map(|c| ((c.uid().to_owned(), name.clone()), not.clone())));
            continue;
        }
        let class = if name == domain { &from_class } else { &nothing };
        let mut decision = decide_name(&view, name, claims, class, contents.names.get(name));
        let into = if plan.passing { &mut plan.postponed } else { &mut plan.names };
        decision.change.types.retain(|_, change| plan.passing || permission.allows(change));
        if !decision.change.types.is_empty() {
            into.insert(name.clone(), decision.change);
        }
        plan.leftovers.append(&mut decision.leftovers);
        plan.others = plan.others.take().or(decision.others);
        for mut said in decision.verdicts {
            if let (Verdict::Sent, Some(why)) = (&said.verdict, permission.withheld()) {
                let message = sentence::detailed(sentence::PENDING_NAME, why);
                said.verdict = Verdict::Not(reason::PENDING, message);
            }
            verdicts.insert((said.uid, said.name), said.verdict);
        }
    }
    if plan.noteless && permission.withheld().is_none() {
        let unadopted = unadopted(world, domain, contents, &plan.names).into_iter();
        for ((name, rtype), change) in unadopted.filter(|(_, change)| permission.allows(change)) {
            plan.names.entry(name).or_default().types.insert(rtype, change);
        }
    }
    verdicts
}

/// The claims to names of this zone.
fn claims<'a>(world: &World<'a>, domain: &Name) -> BTreeMap<Name, Vec<Claim<'a>>> {
    let mut out: BTreeMap<Name, Vec<Claim<'a>>> = BTreeMap::new();
    for facts in world.index.home(domain) {
        let (Place::Accepted(_), Ok(rtype)) = (&facts.place, &facts.set.rtype) else {
            continue;
        };
        for (name, group) in &facts.declared.groups {
            let contents = group.contents.as_ref().map_err(String::as_str);
            out.entry(name.clone()).or_default().push(Claim { facts, rtype: *rtype, contents });
        }
    }
    out
}

/// What the class declares at the apex: its servers as NS unless a record set claims them, and an SOA
/// only where there is none or PowerDNS' placeholder. Stored TTLs are kept.
fn from_class(
    world: &World<'_>,
    domain: &Name,
    contents: &ZoneContents,
    claims: Option<&Vec<Claim<'_>>>,
) -> BTreeMap<RecordType, Contents> {
    let mut out = BTreeMap::new();
    let holder = world.zones.holder(domain).filter(|h| h.standing == Standing::Served);
    let Some(ClassState::Ours(class)) = holder.map(|h| h.class) else {
        return out;
    };
    // An invalid claim keeps what is there; where nothing is, the zone gets what the class has.
    let claimed = |rtype| {
        let there = contents.get(domain, rtype).is_some();
        claims.into_iter().flatten().any(|c| c.rtype == rtype && (there || c.contents.is_ok()))
    };
    let servers = servers(class).usable;
    let ttl = |rtype| {
        let stored = contents.get(domain, rtype).and_then(|r| Ttl::new(r.ttl).ok());
        stored.or_else(|| Ttl::new(APEX_TTL).ok())
    };
    let mut declare = |rtype, values| {
        if let Some(contents) = ttl(rtype).and_then(|ttl| Contents::new(ttl, values)) {
            out.insert(rtype, contents);
        }
    };
    if !claimed(RecordType::Soa) && wants_soa(domain, contents) {
        let soa = servers.keys().next().and_then(|mname| {
            let rname = format!("hostmaster.{domain}");
            Rdata::soa(mname, &rname, None, None, None, None, None).ok().flatten()
        });
        declare(RecordType::Soa, soa.into_iter().collect());
    }
    if !claimed(RecordType::Ns) {
        declare(RecordType::Ns, servers.into_values().collect());
    }
    out
}

/// Whether the zone lacks an SOA of anybody's: none at all, one that is disabled, or the one that PowerDNS makes up.
fn wants_soa(domain: &Name, contents: &ZoneContents) -> bool {
    let made_up = |r: &StoredRecord| r.content.starts_with("a.misconfigured.dns.server.invalid. ");
    let soa = contents.get(domain, RecordType::Soa);
    soa.is_none_or(|soa| soa.records.iter().any(|r| r.disabled || made_up(r)))
}

fn view<'a>(
    world: &'a World<'a>,
    domain: &'a Name,
    contents: &ZoneContents,
    claims: &BTreeMap<Name, Vec<Claim<'_>>>,
    plan: &ZonePlan,
) -> ZoneView<'a> {
    let server = &world.snapshot.server;
    let mark = super::zones::mark_of(server, domain, world.policy);
    let comments = server.capabilities.is_some_and(|c| c.comments);
    let noteless = !comments || plan.noteless;
    let holder = world.zones.holder(domain).map(|h| &h.zone.meta);
    // Free text in the account says that the zone is somebody else's to empty; what a set may hide is not undeclared.
    let hidden = world.index.home(domain).iter().any(|set| set.hides(domain));
    let purges = holder.filter(|holder| {
        world.policy.delete_undeclared
            && mark.as_ref().is_some_and(|m| m.names(&holder.uid))
            && !hidden
            && !world.index.unreferred.contains(holder.namespace.as_str())
    });
    ZoneView {
        zone: domain,
        holder: holder.map(|h| h.uid.as_str()),
        purges: purges.map(|h| Party { uid: h.uid.clone(), key: h.key() }),
        noteless,
        comments,
        below: world.index.below(domain),
        coming: world.index.coming(domain),
        policy: world.policy,
        sets: world.sets,
        hidden,
        unreferred: &world.index.unreferred,
        // In another owner's zone only a note of ours is evidence.
        evidence: if noteless && mark != Some(Mark::Other) {
            super::evidence::evidence(world, domain, contents, claims)
        } else {
            BTreeMap::new()
        },
    }
}

//! What the answers of a pass teach.

use std::collections::BTreeMap;

use super::super::brakes::Hold;
use super::super::change::Change;
use super::super::outcome::{Applied, Failure, Outcome, ZoneApplied};
use super::super::prints::Prints;
use super::super::settle::Aftermath;
use super::super::snapshot::{Look, Snapshot};
use super::super::zone_plan::ZonePlan;
use super::super::{Plan, ZoneStep};
use super::{Backoff, IN_VAIN, Memory, NAME, NameRow, SERVER, ZONE, ZoneRow, wanted, wanted_one};
use crate::dns::name::Name;
use crate::dns::rdata::{Dialect, Version};
use crate::dns::rrset::{Contents, RecordType};

/// Characters of a text that a failure quotes.
const QUOTED: usize = 100;

/// One pass, for the memory.
#[derive(Clone, Copy, Debug)]
pub struct Lesson<'a> {
    /// What was seen.
    pub snapshot: &'a Snapshot,
    /// What that turned on, zone by zone.
    pub prints: &'a Prints,
    /// What was meant.
    pub plan: &'a Plan,
    /// What was answered.
    pub applied: &'a Applied,
    /// What was said and let go.
    pub aftermath: &'a Aftermath,
}

impl Memory {
    /// Takes in a pass that ended at `now`. `roll` gives numbers that are uniform in 0…1.
    pub fn learn(&mut self, lesson: Lesson<'_>, now: u64, mut roll: impl FnMut() -> f64) {
        self.turn = self.turn.wrapping_add(1);
        self.learn_reads(lesson.snapshot, now, &mut roll);
        self.learn_verified((lesson.snapshot, lesson.prints), lesson.plan, lesson.aftermath);
        self.learn_proven(lesson);
        self.learn_released(lesson, now);
        let version = lesson.snapshot.server.capabilities.map(|c| c.version);
        if lesson.snapshot.server.zones.is_err() {
            return;
        }
        let listed = lesson.snapshot.server.zones.as_ref();
        let still = |zone: &Name| listed.is_ok_and(|zones| zones.contains_key(zone));
        self.released.learn_deleted(lesson.plan, lesson.applied, still);
        self.orphans.retain(|zone| lesson.plan.orphans.contains(zone));
        for (name, zone) in &lesson.plan.zones {
            match lesson.applied.zones.get(name) {
                Some(answers) if answers.remembered => {}
                Some(answers) => self.learn_zone(name, zone, answers, version, now, &mut roll),
                None => {
                    self.writes.remove(name);
                    self.steps.remove(name);
                }
            }
        }
        // What is no longer to be written is right by now, or nobody's; where nothing was decided it is kept.
        let zones = &lesson.plan.zones;
        let planned = |zone: &Name, of: &dyn Fn(&ZonePlan) -> bool| {
            zones.get(zone).is_some_and(|z| z.unread || z.withheld.is_some() || of(z))
        };
        self.names.retain(|(zone, name), _| planned(zone, &|z| z.names.contains_key(name)));
        self.acked.retain(|(zone, name, rtype), _| {
            let change = |z: &ZonePlan| {
                z.names.get(name).is_some_and(|change| change.types.contains_key(rtype))
            };
            planned(zone, &change)
        });
        self.writes.retain(|zone, _| zones.contains_key(zone));
        self.steps.retain(|zone, _| zones.contains_key(zone));
        self.marks.retain(|zone, _| zones.contains_key(zone));
        let marks = lesson.applied.zones.iter();
        self.marks.extend(marks.filter_map(|(name, z)| Some((name.clone(), z.marked_at?))));
    }

    fn learn_reads(&mut self, snapshot: &Snapshot, now: u64, roll: &mut impl FnMut() -> f64) {
        let Ok(zones) = &snapshot.server.zones else {
            self.server = Some(Backoff::after(self.server, now, SERVER, roll()));
            self.blind.get_or_insert(now);
            return;
        };
        let blind = self.blind.take();
        if self.server.take().is_some() {
            // What its zones failed of was most likely the server's own trouble.
            self.reads.clear();
            self.writes.clear();
        }
        self.reads.retain(|name, _| zones.contains_key(name));
        self.unread.retain(|name, _| zones.contains_key(name));
        for (name, zone) in zones.iter().filter(|(_, zone)| !zone.unchanged()) {
            let Err(why) = &zone.contents else {
                self.reads.remove(name);
                self.unread.remove(name);
                continue;
            };
            // It begins once: with the list that could not be had, and for a zone that is never read as well.
            self.unread.entry(name.clone()).or_insert(blind.unwrap_or(now));
            if zone.writable() && zone.look == Look::Asked {
                let before = self.reads.get(name).map(|(backoff, _)| *backoff);
                let backoff = Backoff::after(before, now, ZONE, roll());
                self.reads.insert(name.clone(), (backoff, why.clone()));
            }
        }
    }

    /// What is proven stays so while its zone cannot be read, and no longer.
    fn learn_proven(&mut self, lesson: Lesson<'_>) {
        let unread = |uid: &String| {
            let targets = lesson.plan.sets.get(uid).into_iter().flat_map(|s| s.raws.values());
            let mut homes = targets.filter_map(|raw| raw.target.as_ref());
            homes.any(|t| lesson.plan.zones.get(&t.zone).is_some_and(|z| z.unread))
        };
        self.proven.retain(|uid, _| unread(uid));
        self.proven.extend(
            lesson.aftermath.proven.iter().map(|(uid, generation)| (uid.clone(), *generation)),
        );
    }

    /// What was let through and carried out in all zones concerned was let through once.
    fn learn_released(&mut self, lesson: Lesson<'_>, now: u64) {
        let done = |hold: &&Hold| hold.is_carried_out(lesson.plan, lesson.applied);
        self.released.expire(now, lesson.plan.let_through.iter().filter(done));
    }

    fn learn_zone(
        &mut self,
        zone: &Name,
        plan: &ZonePlan,
        answers: &ZoneApplied,
        version: Option<Version>,
        now: u64,
        roll: &mut impl FnMut() -> f64,
    ) {
        let in_vain = self.learn_step(zone, plan, answers);
        // A name that the server dies of is no reason to keep the others waiting.
        let found = answers.crashed.iter().any(|name| answers.isolated.contains_key(name));
        if (answers.stopped && !found) || in_vain {
            let before = self.writes.remove(zone);
            let failed = |name: &Name, rtype| failed(answers, name, rtype);
            let crashes = before.as_ref().map_or(0, |row| row.crashes) + 1;
            // A zone that gets on, if only in pieces, is not kept waiting for longer each time.
            let gets_on = !in_vain && answers.keys.values().any(|o| matches!(o, Outcome::Done(_)));
            let backoff = before.filter(|_| !gets_on).map(|row| row.backoff);
            let row = ZoneRow {
                backoff: Backoff::after(backoff, now, ZONE, roll()),
                // Nothing in a zone that is not as acknowledged is proved by an acknowledgement.
                wanted: wanted_zone(plan, version, |name, rtype| in_vain || failed(name, rtype)),
                answers: ZoneApplied {
                    remembered: true,
                    zone: if in_vain { Some(zone_in_vain()) } else { answers.zone.clone() },
                    ..answers.clone()
                },
                suspects: answers.crashed.clone(),
                crashes: if answers.crashed.is_empty() { 0 } else { crashes },
            };
            self.writes.insert(zone.clone(), row);
        } else {
            self.writes.remove(zone);
        }
        for (name, change) in &plan.names {
            let key = (zone.clone(), name.clone());
            let isolated = answers.isolated.get(name).cloned();
            let in_vain = self.acked_in_vain(zone, plan, name, answers);
            let looped = isolated.is_none() && !in_vain.is_empty();
            let again = |rtype| failed(answers, name, rtype) || in_vain.contains_key(&rtype);
            let wanted = wanted(change, version, again);
            let first = in_vain.first_key_value().map(|(_, failure)| (None, failure.clone()));
            let Some((rtype, failure)) = isolated.or(first) else {
                if !plan.known.names.contains_key(name) {
                    self.names.remove(&key);
                }
                continue;
            };
            let before = self.names.get(&key).filter(|row| row.wanted == wanted);
            // What it said first is said again: a second writer's changing contents would change the status for ever.
            let failure =
                before.filter(|b| b.in_vain && looped).map_or(failure, |b| b.failure.clone());
            let backoff = Backoff::after(before.map(|row| row.backoff), now, NAME, roll());
            self.names.insert(key, NameRow { backoff, wanted, rtype, failure, in_vain: looped });
        }
    }

    /// Counts acknowledgements of one and the same zone step; whether there are too many.
    fn learn_step(&mut self, zone: &Name, plan: &ZonePlan, answers: &ZoneApplied) -> bool {
        if plan.step == ZoneStep::Keep {
            self.steps.remove(zone);
            return false;
        }
        let acked = answers.step_acked || matches!(answers.zone, Some(Outcome::Done(_)));
        let text = step_text(&plan.step);
        let before = self.steps.get(zone).filter(|(before, _)| *before == text).map_or(0, |b| b.1);
        let times = if acked { before.saturating_add(1) } else { before };
        self.steps.insert(zone.clone(), (text, times));
        acked && times >= IN_VAIN
    }

    /// Counts acknowledgements of one and the same change; the failures where there were too many.
    fn acked_in_vain(
        &mut self,
        zone: &Name,
        plan: &ZonePlan,
        name: &Name,
        answers: &ZoneApplied,
    ) -> BTreeMap<RecordType, Failure> {
        let mut found = BTreeMap::new();
        for (rtype, change) in plan.names.get(name).into_iter().flat_map(|c| &c.types) {
            if !answers.acked.contains(&(name.clone(), *rtype)) {
                continue;
            }
            let text = wanted_one(*rtype, change);
            let key = (zone.clone(), name.clone(), *rtype);
            let before = self.acked.get(&key).filter(|(before, _)| *before == text);
            let times = before.map_or(0, |b| b.1).saturating_add(1);
            self.acked.insert(key, (text, times));
            if times >= IN_VAIN {
                found.insert(*rtype, Failure::InVain(in_vain(*rtype, change)));
            }
        }
        found
    }
}

/// How a zone's step is said to have ended that is acknowledged again and again.
fn zone_in_vain() -> Outcome {
    Outcome::Failed(Failure::InVain("the zone itself is not as acknowledged".to_owned()))
}

/// What the step of a zone asks for.
pub(super) fn step_text(step: &ZoneStep) -> String {
    match step {
        ZoneStep::Keep => String::new(),
        ZoneStep::Create { account, .. } => format!("create {account}"),
        ZoneStep::Mark { account, .. } | ZoneStep::Remark { account, .. } => {
            format!("mark {account}")
        }
        ZoneStep::Delete { by, .. } => format!("delete {by}"),
        ZoneStep::DeleteOrphan { .. } => "delete".to_owned(),
    }
}

/// What a zone's plan wants of the server, for the RRsets that `of` accepts.
pub(super) fn wanted_zone(
    plan: &ZonePlan,
    version: Option<Version>,
    of: impl Fn(&Name, RecordType) -> bool,
) -> String {
    let mut out = vec![step_text(&plan.step)];
    for (name, change) in &plan.names {
        if change.types.keys().any(|rtype| of(name, *rtype)) {
            out.push(name.to_string());
            out.push(wanted(change, version, |rtype| of(name, rtype)));
        }
    }
    out.join("\n")
}

/// Whether a planned change was not done, or never came to be tried.
fn failed(answers: &ZoneApplied, name: &Name, rtype: RecordType) -> bool {
    !matches!(answers.keys.get(&(name.clone(), rtype)), Some(Outcome::Done(_)))
}

/// Both texts: what was acknowledged, and what is read instead.
fn in_vain(rtype: RecordType, change: &Change) -> String {
    let cut = |text: &str| text.chars().take(QUOTED).collect::<String>();
    match change {
        Change::Replace { contents, from, .. } => {
            let from = from.as_deref().map_or("nothing".to_owned(), cut);
            format!("{rtype} is to be {} and reads {from}", cut(&text(contents)))
        }
        Change::Delete { was, .. } => format!("{rtype} is to go and reads {}", cut(was)),
        Change::Adopt { .. } => format!("the note on {rtype} is not kept"),
    }
}

/// Declared contents as one line, in the oldest server's spelling.
fn text(contents: &Contents) -> String {
    let dialect = Dialect::OLDEST;
    let values: Vec<String> = contents.values().iter().map(|v| v.print(dialect)).collect();
    format!("{} {}", contents.ttl(), values.join(" | "))
}

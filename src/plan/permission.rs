//! How far one PowerDNS zone may be written in this pass, and what happens to the zone itself: it turns on who holds
//! the domain, what the mark says, and what could be read.

use super::World;
use super::change::{Change, DeleteReason};
use super::note::{Mark, mark};
use super::snapshot::ServerZone;
use super::stored::{has_foreign_note, outliving, unwritten};
use super::zone_plan::ZoneStep;
use super::zones::{ClassState, Standing, ZoneFacts};
use crate::dns::name::Name;

/// Why nothing is written in a zone whose mark goes out in this pass.
pub(super) const MARKING: &str = "the zone is being marked as ours first";

/// How far a zone may be written.
pub(super) enum Permission {
    Full,
    /// Nobody is served here: only what Terminating objects ask for.
    OnlyGoing,
    /// No DNSZone is there to be served: what Terminating objects ask for, and what live ones have given up.
    OnlyAsked,
    /// Another owner's zone: only deletes of RRsets with our note.
    OnlyNoted,
    /// Nothing, for this reason; `Later` will be over by itself, `Marking` once the mark has lasted.
    Never(String),
    Later(String),
    Marking(String),
}

impl Permission {
    pub(super) fn withheld(&self) -> Option<&str> {
        match self {
            Permission::Never(why) | Permission::Later(why) | Permission::Marking(why) => Some(why),
            Permission::Full
            | Permission::OnlyGoing
            | Permission::OnlyAsked
            | Permission::OnlyNoted => None,
        }
    }

    pub(super) fn allows(&self, change: &Change) -> bool {
        match (self, change) {
            (Permission::Full, _) | (Permission::OnlyNoted, Change::Delete { .. }) => true,
            (Permission::OnlyGoing, Change::Delete { why, .. }) => *why == DeleteReason::Going,
            (Permission::OnlyAsked, Change::Delete { why, .. }) => why.stands_alone(),
            (_, Change::Replace { .. } | Change::Adopt { .. } | Change::Delete { .. }) => false,
        }
    }
}

/// What happens to the zone itself, and how far it may be written.
pub(super) fn permission(
    world: &World<'_>,
    domain: &Name,
    stored: Option<&ServerZone>,
) -> (ZoneStep, Permission) {
    let never = |why: &str| (ZoneStep::Keep, Permission::Never(why.to_owned()));
    let later = |why: &str| (ZoneStep::Keep, Permission::Later(why.to_owned()));
    if let Err(why) = &world.snapshot.server.zones {
        return later(why);
    }
    let owner = &world.policy.owner_id;
    let served = world.zones.holder(domain).filter(|h| h.standing == Standing::Served);
    let Some(zone) = stored else {
        return match served {
            Some(h) => {
                let account = mark(owner, &h.zone.meta.uid);
                (ZoneStep::Create { account, by: h.zone.meta.uid.clone() }, Permission::Full)
            }
            None => never("the zone is not in PowerDNS"),
        };
    };
    if !zone.writable() {
        return never(&format!("a zone of kind {} takes its contents from elsewhere", zone.kind));
    }
    if let Err(why) = &zone.contents {
        return later(why);
    }
    if let Some(uid) = deletes(world, domain, zone) {
        let comments = outliving(world, zone);
        let marked = matches!(Mark::read(&zone.account, world.policy), Mark::Ours(_));
        let expected = (!marked).then(|| zone.account.clone());
        return (ZoneStep::Delete { by: uid.to_owned(), expected, comments }, Permission::Full);
    }
    if world.policy.delete_orphan_zones && world.orphaned(domain, zone) {
        return (ZoneStep::DeleteOrphan { comments: outliving(world, zone) }, Permission::Full);
    }
    let Some(holder) = served else {
        let permission = match Mark::read(&zone.account, world.policy) {
            Mark::Other => Permission::OnlyNoted,
            // Nobody would ever clear the rest: a set that lives on gave it up for good.
            Mark::Ours(_) | Mark::None | Mark::FreeText if world.is_nobodys(domain, zone) => {
                Permission::OnlyAsked
            }
            Mark::Ours(_) | Mark::None | Mark::FreeText => Permission::OnlyGoing,
        };
        return (ZoneStep::Keep, permission);
    };
    by_mark(world, domain, zone, &holder.zone.meta.uid)
}

/// The same for a zone that is there, with a DNSZone that it is served for: the mark decides.
fn by_mark(
    world: &World<'_>,
    domain: &Name,
    zone: &ServerZone,
    uid: &str,
) -> (ZoneStep, Permission) {
    let owner = &world.policy.owner_id;
    let mark_now = Mark::read(&zone.account, world.policy);
    let by = uid.to_owned();
    let account = mark(owner, uid);
    let expected = zone.account.clone();
    match mark_now {
        Mark::Other => (ZoneStep::Keep, Permission::OnlyNoted),
        Mark::FreeText => (ZoneStep::Keep, Permission::Full),
        Mark::None => {
            (ZoneStep::Mark { account, expected, by }, Permission::Marking(MARKING.to_owned()))
        }
        Mark::Ours(_) if zone.account == account => {
            // Another daemon's mark, sent before ours was acknowledged, may land until its time-out. Of a mark from
            // before this process, only what was written since tells that it has lasted.
            let acked = world.memory.marks.get(domain).copied();
            let acked = acked.or_else(|| unwritten(world, domain, zone).then_some(0));
            if acked.is_some_and(|at| zone.read_began < at + world.policy.request_timeout) {
                let why = "the zone's mark must last one request time-out first".to_owned();
                return (ZoneStep::Keep, Permission::Marking(why));
            }
            (ZoneStep::Keep, Permission::Full)
        }
        Mark::Ours(_) => (ZoneStep::Remark { account, expected, by }, Permission::Full),
    }
}

/// Uid of the Terminating DNSZone that takes this PowerDNS zone with it, if one may.
///
/// It may if the mark is its own; or if the zone is unmarked, or marked for a uid that is gone, and its
/// class is neither empty nor foreign. Never while another DNSZone holds the domain, nor while an RRset in it
/// carries another owner's note.
fn deletes<'a>(world: &World<'a>, domain: &Name, zone: &ServerZone) -> Option<&'a str> {
    let served = world.zones.holder(domain).is_some();
    let contents = zone.contents.as_ref().ok()?;
    if served || has_foreign_note(world, contents) {
        return None;
    }
    let mark = Mark::read(&zone.account, world.policy);
    let marked = world.zones.marked(&mark).map(|f| f.zone.meta.uid.as_str());
    let may = |facts: &&ZoneFacts<'a>| {
        let class_ours = matches!(facts.class, ClassState::Ours(_) | ClassState::Missing(_));
        let mine = mark.names(&facts.zone.meta.uid);
        let nobodys = match mark {
            Mark::None => true,
            Mark::Ours(_) => marked.is_none(),
            Mark::Other | Mark::FreeText => false,
        };
        facts.standing == Standing::Terminating
            && world.policy.holds_zone(&facts.zone.meta)
            && (mine || (nobodys && class_ours))
    };
    world.zones.of_domain(domain).find(may).map(|f| f.zone.meta.uid.as_str())
}

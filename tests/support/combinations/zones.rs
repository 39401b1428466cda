//! The ends of a zone: terminating or live, alone or not, in each state of its class, of the zone in PowerDNS and of what
//! another owner noted in it. It has one record set, whose RRset carries its note.

use super::{Account, Class, Expected, Fate, Note, Object, Reach, Rival, Setup, Www};

/// The zone in PowerDNS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// Marked for the DNSZone, or for the older rival.
    Marked,
    Unmarked,
    /// Marked by us for a uid that is gone.
    DeadMark,
    OtherMark,
    FreeText,
    NotThere,
    Down,
    /// It is on the list and cannot be read.
    Unread,
}

#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub object: Object,
    pub rival: Rival,
    pub class: Class,
    pub server: Server,
    /// An RRset with another owner's note is in it.
    pub theirs: bool,
}

pub const OBJECTS: [Object; 2] = [Object::Live, Object::Terminating];
pub const RIVALS: [Rival; 3] = [Rival::None, Rival::Older, Rival::Younger];
pub const CLASSES: [Class; 4] = [Class::Ours, Class::Missing, Class::Foreign, Class::Unnamed];
pub const SERVERS: [Server; 8] = [
    Server::Marked,
    Server::Unmarked,
    Server::DeadMark,
    Server::OtherMark,
    Server::FreeText,
    Server::NotThere,
    Server::Down,
    Server::Unread,
];

/// All of them.
pub fn all() -> Vec<Case> {
    let mut out = Vec::new();
    for object in OBJECTS {
        for rival in RIVALS {
            for class in CLASSES {
                for server in SERVERS {
                    let case = |theirs| Case { object, rival, class, server, theirs };
                    out.extend([false, true].map(case));
                }
            }
        }
    }
    out
}

impl Case {
    pub fn setup(self) -> Setup {
        Setup {
            set: Object::Live,
            zone: Some((self.object, self.class)),
            rival: self.rival,
            stored: self.account().map(|account| (account, Note::Fresh)),
            theirs: self.theirs,
            reach: match self.server {
                Server::Down => Reach::Down,
                Server::Unread => Reach::Unread,
                Server::Marked
                | Server::Unmarked
                | Server::DeadMark
                | Server::OtherMark
                | Server::FreeText
                | Server::NotThere => Reach::Up,
            },
        }
    }

    fn account(self) -> Option<Account> {
        match self.server {
            Server::Marked | Server::Down | Server::Unread if self.rival == Rival::Older => {
                Some(Account::Rival)
            }
            Server::Marked | Server::Down | Server::Unread => Some(Account::Zone),
            Server::Unmarked => Some(Account::Empty),
            Server::DeadMark => Some(Account::Dead),
            Server::OtherMark => Some(Account::Other),
            Server::FreeText => Some(Account::Text),
            Server::NotThere => None,
        }
    }

    /// Whose mark the zone in PowerDNS has afterwards: "An existing unmarked zone is marked"; "Our hash with a dead uid and
    /// a holder here: re-mark"; "Another owner's mark … nothing is written there"; "Any other non-empty account is free
    /// text: … never mark it, never delete the zone". A zone that is not there is made for its holder.
    fn marked_for(self, holder: Option<Account>) -> Option<Account> {
        match self.server {
            Server::OtherMark | Server::FreeText | Server::Down | Server::Unread => self.account(),
            Server::Marked | Server::Unmarked | Server::DeadMark | Server::NotThere => {
                holder.or(self.account())
            }
        }
    }

    /// What must come of it. The words in quotes are design's, sections 3 and 4.
    pub fn expected(self) -> Expected {
        match self.object {
            Object::Live => self.expected_live(),
            Object::Terminating => self.expected_end(),
        }
    }

    fn expected_live(self) -> Expected {
        // "The live DNSZone that the zone's mark names keeps it …, whatever its class says meanwhile; without a mark the
        // oldest `creationTimestamp` …; a zone with an empty, unknown or foreign class, or Terminating, never claims anew."
        let marked = matches!(self.server, Server::Marked | Server::Unread);
        let holder = match (self.rival, self.class) {
            (Rival::Older, _) => Some(Account::Rival),
            (Rival::None | Rival::Younger, Class::Ours) => Some(Account::Zone),
            (Rival::None | Rival::Younger, _) if marked => Some(Account::Zone),
            (Rival::Younger, _) => Some(Account::Rival),
            (Rival::None, _) => None,
        };
        let holds = holder == Some(Account::Zone);
        let says = match (self.class, self.server) {
            // Not served by its class, whatever else.
            (Class::Missing | Class::Foreign | Class::Unnamed, _) => {
                Fate::Says((false, "Pending"), (false, "Pending"))
            }
            // "Another owner's mark: `DNSZoneInUse`"; "The loser says `DNSZoneInUse`".
            (Class::Ours, Server::OtherMark) => in_use(),
            (Class::Ours, _) if !holds => in_use(),
            // "Nothing becomes `True`" of what could not be read. A zone that nobody has looked for says no servers yet: one
            // that says some counts as missing when it is looked for.
            (Class::Ours, Server::Down) => Fate::Says((false, "Pending"), (false, "PDNSError")),
            (Class::Ours, Server::Unread) => Fate::Says((true, "Accepted"), (false, "PDNSError")),
            (Class::Ours, _) => Fate::Says((true, "Accepted"), (true, "Programmed")),
        };
        let served = holds && self.class == Class::Ours;
        // "A live set whose named DNSZone cannot be resolved or served keeps what carries its uid."
        let made = served && self.server == Server::NotThere;
        let www = if made { Www::Noted } else { Www::Same };
        let holder = holder.filter(|_| served || !holds);
        Expected { www, account: self.marked_for(holder), set: Fate::Any, zone: says }
    }

    fn expected_end(self) -> Expected {
        let stays = self.account();
        let gone = |account| end(Www::Absent, account, Fate::Gone);
        // "One DELETE of the PowerDNS zone if …"
        match (self.rival, self.server, self.class) {
            // "An unreadable one holds the sets that name it", and its zone waits for them.
            (_, Server::Down | Server::Unread, _) => end(Www::Same, stays, Fate::Held),
            // One finalizer serves all daemons: where mark and class are another's, the end is that one's to make.
            (_, Server::OtherMark, Class::Foreign) => {
                Expected { www: Www::Same, account: stays, set: Fate::Any, zone: Fate::Untouched }
            }
            // "An heir zone: no DELETE; the mark passes to it first, alone, then the contents": the set's RRset goes.
            (Rival::Older | Rival::Younger, _, _) => gone(self.marked_for(Some(Account::Rival))),
            (Rival::None, Server::NotThere, _) => gone(None),
            // "… and no RRset in it carries another owner's note": the set's own goes alone.
            (Rival::None, _, _) if self.theirs => gone(stays),
            // "… if the mark is this zone's"
            (Rival::None, Server::Marked, _) => gone(None),
            // "… or it is unmarked (or has our hash with a dead uid) and the class is neither empty nor foreign"
            (Rival::None, Server::Unmarked | Server::DeadMark, Class::Ours | Class::Missing) => {
                gone(None)
            }
            (Rival::None, Server::Unmarked | Server::DeadMark, _) => gone(stays),
            // "Nothing is written there except deletes of RRsets that carry our own note"; "on deletion our own RRsets
            // go one by one".
            (Rival::None, Server::OtherMark | Server::FreeText, _) => gone(stays),
        }
    }
}

fn end(www: Www, account: Option<Account>, fate: Fate) -> Expected {
    Expected { www, account, set: fate, zone: fate }
}

fn in_use() -> Fate {
    Fate::Says((false, "DNSZoneInUse"), (false, "DNSZoneInUse"))
}

//! The ends of a record set: terminating or live, in each state of its DNSZone, that one's class, PowerDNS, and the note.

use super::{Account, Class, Expected, Fate, Note, Object, Reach, Rival, Said, Setup, Www};

/// The DNSZone that the record set names; its mark is on the zone in PowerDNS, unless it loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    Present,
    /// There is none any more.
    Missing,
    Terminating,
    /// An older one holds the domain, and its mark is there.
    Losing,
}

/// PowerDNS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    Present,
    /// There is no such zone.
    NotThere,
    Down,
    /// The zone is on the list and cannot be read.
    Unread,
}

#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub object: Object,
    pub zone: Zone,
    pub class: Class,
    pub server: Server,
    pub note: Note,
}

pub const OBJECTS: [Object; 2] = [Object::Live, Object::Terminating];
pub const ZONES: [Zone; 4] = [Zone::Present, Zone::Missing, Zone::Terminating, Zone::Losing];
pub const CLASSES: [Class; 3] = [Class::Ours, Class::Missing, Class::Foreign];
/// [`Server::Unread`] is a second way to be down.
pub const SERVERS: [Server; 4] = [Server::Present, Server::NotThere, Server::Down, Server::Unread];
/// [`Note::DeadUid`] and [`Note::OldHash`] are two ways to be stale.
pub const NOTES: [Note; 6] =
    [Note::Fresh, Note::None, Note::Foreign, Note::DeadUid, Note::OldHash, Note::Garbage];

/// All of them.
pub fn all() -> Vec<Case> {
    let mut out = Vec::new();
    for object in OBJECTS {
        for zone in ZONES {
            for class in CLASSES {
                for server in SERVERS {
                    out.extend(NOTES.map(|note| Case { object, zone, class, server, note }));
                }
            }
        }
    }
    out
}

impl Case {
    pub fn setup(self) -> Setup {
        let zone = match self.zone {
            Zone::Present | Zone::Losing => Some(Object::Live),
            Zone::Terminating => Some(Object::Terminating),
            Zone::Missing => None,
        };
        let losing = self.zone == Zone::Losing;
        let there = self.server != Server::NotThere;
        Setup {
            set: self.object,
            zone: zone.map(|object| (object, self.class)),
            rival: if losing { Rival::Older } else { Rival::None },
            stored: there.then_some((self.account(), self.note)),
            theirs: false,
            reach: match self.server {
                Server::Present | Server::NotThere => Reach::Up,
                Server::Down => Reach::Down,
                Server::Unread => Reach::Unread,
            },
        }
    }

    fn account(self) -> Account {
        if self.zone == Zone::Losing { Account::Rival } else { Account::Zone }
    }

    /// What must come of it. The words in quotes are design's, sections 3 and 4.
    pub fn expected(self) -> Expected {
        use Object::{Live, Terminating};
        let here = Some(self.account());
        let served = (self.zone, self.class) == (Zone::Present, Class::Ours);
        let end = |www, account| self.end(www, account, Fate::Gone);
        let live = |www, account, name| {
            let accepted = if served { (true, "Accepted") } else { self.waits() };
            self.end(www, account, Fate::Says(accepted, name))
        };
        let yes = (true, "Programmed");
        match (self.object, self.zone, self.server, self.note) {
            // "An unreadable one holds the sets that name it in spec or in any owner reference"; "What could not be read
            // causes no delete". The set of a terminating zone is terminating too ("delete its dependants").
            (Terminating, _, Server::Down | Server::Unread, _)
            | (Live, Zone::Terminating, Server::Down | Server::Unread, _) => {
                self.end(Www::Same, here, Fate::Held)
            }
            (Live, _, Server::Down | Server::Unread, _) if served => {
                live(Www::Same, here, (false, "PDNSError"))
            }
            (Live, _, Server::Down | Server::Unread, _) => live(Www::Same, here, self.waits()),

            // "One DELETE of the PowerDNS zone if the mark is this zone's … and no RRset in it carries another owner's
            // note"; "then release its sets, then the zone". The class is not asked: the mark is its own.
            (_, Zone::Terminating, Server::Present, Note::Foreign) => end(Www::Same, here),
            (_, Zone::Terminating, Server::Present | Server::NotThere, _) => end(Www::Absent, None),

            // "A DNSZone is served when its class exists, the class's `controllerName` is one of ours, and it holds the
            // domain". "A new zone is one POST"; "declared, equal, no note or a stale one of ours → adopt"; "noted by
            // another owner: … equal: `True` and left alone".
            (Live, _, Server::NotThere, _) if served => live(Www::Noted, here, yes),
            (Live, _, Server::Present, Note::Fresh | Note::Foreign) if served => {
                live(Www::Same, here, yes)
            }
            (Live, _, Server::Present, _) if served => live(Www::Noted, here, yes),

            // The holder's zone is served whoever else names the domain, and created for the holder.
            (Live, Zone::Losing, Server::NotThere, _) => live(Www::Absent, here, self.waits()),
            (Terminating, Zone::Losing, Server::NotThere, _) => end(Www::Absent, here),
            (Terminating, _, Server::NotThere, _) if served => end(Www::Absent, here),
            // "Class empty, missing or foreign stops every write"; no object, no zone.
            (Live, _, Server::NotThere, _) => live(Www::Absent, None, self.waits()),
            // "Released when every RRset that carries its uid … read absent"; "if there is none it is released".
            (Terminating, _, Server::NotThere, _) => end(Www::Absent, None),

            // An implicit delete: "a live GET of the object that says 404 or another uid, and `h` equal to what is read".
            // It is no "write that a Terminating object asks for", so the zone must be served.
            (Live, Zone::Losing, _, Note::DeadUid) => live(Www::Absent, here, self.waits()),
            (Terminating, Zone::Losing, _, Note::DeadUid) => end(Www::Absent, here),
            (Terminating, _, _, Note::DeadUid) if served => end(Www::Absent, here),
            // "An RRset with another uid or another owner's note … never holds it".
            (Terminating, _, _, Note::DeadUid | Note::Foreign) => end(Www::Same, here),

            // "A live set whose named DNSZone cannot be resolved or served keeps what carries its uid"; what carries
            // no note is never touched.
            (Live, _, Server::Present, _) => live(Www::Same, here, self.waits()),

            // "Explicit deletes do not ask `h`."
            (Terminating, _, _, Note::Fresh | Note::OldHash) => end(Www::Absent, here),
            // "Once Terminating, are released at once unless RRsets carry their uid": the loser wrote nothing there.
            (Terminating, Zone::Losing, _, Note::None | Note::Garbage) => end(Www::Same, here),
            // "First contact (no notes): a Terminating set's names go as under the incumbent"; "without zone object and
            // notes, a set's zone is the one whose mark holds its owner reference's uid".
            (Terminating, _, _, Note::None | Note::Garbage) => end(Www::Absent, here),
        }
    }

    fn end(self, www: Www, account: Option<Account>, set: Fate) -> Expected {
        let zone = if self.zone == Zone::Terminating { set } else { Fate::Any };
        Expected { www, account, set, zone }
    }

    /// What a record set says whose DNSZone is not served: "The loser says `DNSZoneInUse`"; what has no class of ours
    /// claims nothing, and waits for that first.
    fn waits(self) -> Said {
        let loses = (self.zone, self.class) == (Zone::Losing, Class::Ours);
        (false, if loses { "DNSZoneInUse" } else { "Pending" })
    }
}

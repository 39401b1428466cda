//! What may happen: the steps of a sequence in small numbers, and the dice. A sequence is a function of its seed alone, so
//! that it can be made again and any of its steps be left out.

use crate::words::{CLASSES, DOMAINS, Entry, RAWS, TYPES};

/// A generator of numbers (splitmix64): the same on every machine.
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Less than `n`.
    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap()
    }

    pub fn percent(&mut self, n: usize) -> bool {
        self.below(100) < n
    }
}

/// A moment of a pass: one of its requests to either server, or one of those that ask for a change, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    Request(usize),
    Write(usize),
}

impl At {
    /// Whether it is this request, the one after so many requests and so many writes.
    pub fn is(self, requests: usize, writes: usize, write: bool) -> bool {
        match self {
            At::Request(n) => n == requests,
            At::Write(n) => write && n == writes,
        }
    }

    /// Whether it is this request or was an earlier one.
    pub fn was(self, requests: usize, writes: usize, write: bool) -> bool {
        match self {
            At::Request(n) => requests >= n,
            At::Write(n) => writes + usize::from(write) > n,
        }
    }
}

/// What goes wrong in a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process dies once that request was carried out.
    Killed(At),
    /// PowerDNS answers 500 from there on, or does not answer.
    PowerDnsDown(At, bool),
    /// So does the API server.
    ClusterDown(At, bool),
    /// That one request is answered with 500 and not carried out.
    One500(At),
    /// It gets no answer and is not carried out.
    Lost(At),
    /// It is carried out and gets no answer.
    Swallowed(At),
    /// It is carried out and answered with 500.
    Lied(At),
    /// It is carried out and the answer's body ends too early.
    Cut(At),
    /// It gets no answer, and is carried out when the pass is over.
    Late(At),
    /// Somebody touches every object before it.
    Touched(At),
    /// The other daemon makes a whole pass before it.
    Rival(At),
    /// The contents of one zone cannot be read.
    Unread(usize),
}

/// One step. `who` is the daemon whose namespace it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    CreateZone {
        who: usize,
        slot: usize,
        domain: usize,
        class: usize,
        tie: bool,
    },
    Reclass {
        who: usize,
        slot: usize,
        class: usize,
    },
    DeleteZone {
        who: usize,
        slot: usize,
    },
    /// Its finalizers are stripped, and it is deleted.
    ForceDeleteZone {
        who: usize,
        slot: usize,
    },
    CreateSet {
        who: usize,
        slot: usize,
        zone: usize,
        rtype: &'static str,
        entries: Vec<Entry>,
        tie: bool,
    },
    Edit {
        who: usize,
        slot: usize,
        entries: Vec<Entry>,
    },
    /// One entry gets another name.
    Rename {
        who: usize,
        slot: usize,
        raw: usize,
    },
    Retype {
        who: usize,
        slot: usize,
        rtype: &'static str,
        value: u8,
    },
    Repoint {
        who: usize,
        slot: usize,
        zone: usize,
    },
    DeleteSet {
        who: usize,
        slot: usize,
    },
    ForceDeleteSet {
        who: usize,
        slot: usize,
    },
    DeleteClass {
        class: usize,
    },
    /// Created anew, or given this many servers.
    RestoreClass {
        class: usize,
        servers: usize,
    },
    /// It is another controller's from now on.
    AlienateClass {
        class: usize,
    },
    /// Other records by hand; the comments stay.
    HandEdit {
        domain: usize,
        at: usize,
        value: u8,
    },
    HandDelete {
        domain: usize,
        at: usize,
    },
    HandMake {
        domain: usize,
        name: usize,
        rtype: &'static str,
        value: u8,
        commented: bool,
    },
    /// Another owner's note in the place of all comments.
    ForeignNote {
        domain: usize,
        at: usize,
    },
    /// A comment of our account that is no note.
    GarbageNote {
        domain: usize,
        at: usize,
    },
    /// All comments go.
    StripNote {
        domain: usize,
        at: usize,
    },
    /// The zone's account: emptied, another owner's mark, or text.
    Account {
        domain: usize,
        kind: usize,
    },
    HandDeleteZone {
        domain: usize,
    },
    Pass {
        who: usize,
        fault: Option<Fault>,
    },
    Restart {
        who: usize,
    },
    Quiet,
}

impl Fault {
    pub fn kind(self) -> String {
        let text = format!("{self:?}");
        text.split('(').next().unwrap().to_owned()
    }
}

impl Step {
    pub fn kind(&self) -> String {
        let text = format!("{self:?}");
        text.split(' ').next().unwrap().to_owned()
    }
}

/// How a sequence is to be made.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub steps: (usize, usize),
    /// Chance of a fault in a pass, in percent.
    pub faults: usize,
    /// Whether a second daemon works on the same PowerDNS.
    pub rival: bool,
}

/// The steps of one sequence; the last one is a quiet point.
pub fn sequence(dice: &mut Dice, shape: Shape) -> Vec<Step> {
    let count = shape.steps.0 + dice.below(shape.steps.1 - shape.steps.0 + 1);
    // Something to begin with.
    let zone = dice.below(2);
    let mut steps = vec![
        Step::CreateZone { who: 0, slot: 0, domain: 0, class: 0, tie: false },
        Step::CreateZone { who: 0, slot: 1, domain: 2 * zone, class: 0, tie: false },
    ];
    for slot in 0..2 {
        let (rtype, entries) = (rtype(dice), entries(dice));
        steps.push(Step::CreateSet { who: 0, slot, zone: 0, rtype, entries, tie: false });
    }
    if shape.rival {
        let (rtype, entries) = (rtype(dice), entries(dice));
        let domain = [0, 2][dice.below(2)];
        steps.push(Step::CreateZone { who: 1, slot: 0, domain, class: 0, tie: false });
        steps.push(Step::CreateSet { who: 1, slot: 0, zone: 0, rtype, entries, tie: false });
    }
    while steps.len() + 1 < count {
        let step = match dice.below(100) {
            0..34 => pass(dice, shape),
            34..43 => Step::Quiet,
            43..79 => user(dice, shape),
            79..83 => class(dice),
            _ => hand(dice),
        };
        steps.push(step);
    }
    steps.push(Step::Quiet);
    steps
}

fn who(dice: &mut Dice, shape: Shape) -> usize {
    usize::from(shape.rival && dice.percent(30))
}

fn pass(dice: &mut Dice, shape: Shape) -> Step {
    let who = who(dice, shape);
    if dice.percent(6) {
        return Step::Restart { who };
    }
    let fault = dice.percent(shape.faults).then(|| fault(dice, shape));
    Step::Pass { who, fault }
}

fn fault(dice: &mut Dice, shape: Shape) -> Fault {
    let count = if shape.rival { 20 } else { 17 };
    let at = if dice.percent(50) { At::Request(dice.below(24)) } else { At::Write(dice.below(8)) };
    match dice.below(count) {
        0..4 => Fault::Killed(at),
        4 | 5 => Fault::PowerDnsDown(
            if dice.percent(40) { At::Request(0) } else { at },
            dice.percent(50),
        ),
        6 | 7 => Fault::ClusterDown(at, dice.percent(50)),
        8 => Fault::One500(at),
        9 => Fault::Lost(at),
        10 | 11 => Fault::Swallowed(at),
        12 => Fault::Lied(at),
        13 => Fault::Cut(at),
        14 => Fault::Late(at),
        15 => Fault::Touched(at),
        17.. => Fault::Rival(at),
        _ => Fault::Unread(dice.below(DOMAINS.len())),
    }
}

fn entries(dice: &mut Dice) -> Vec<Entry> {
    (0..=dice.below(3)).map(|_| entry(dice)).collect()
}

fn entry(dice: &mut Dice) -> Entry {
    let raw = if dice.percent(60) { 1 + dice.below(3) } else { dice.below(RAWS.len()) };
    let value = if dice.percent(4) { 3 } else { u8::try_from(dice.below(3)).unwrap() };
    let ttl = [None, None, Some(60), Some(120)][dice.below(4)];
    Entry { raw, value, ttl, mismatched: dice.percent(6) }
}

fn rtype(dice: &mut Dice) -> &'static str {
    TYPES[dice.below(TYPES.len())]
}

fn class_of_zone(dice: &mut Dice) -> usize {
    if dice.percent(75) { 0 } else { dice.below(CLASSES.len()) }
}

fn user(dice: &mut Dice, shape: Shape) -> Step {
    let who = who(dice, shape);
    let slot = dice.below(5);
    let zone = if dice.percent(6) { 9 } else { dice.below(4) };
    let value = u8::try_from(dice.below(3)).unwrap();
    match dice.below(30) {
        0..4 => {
            let domain = [0, 0, 1, 2][dice.below(4)];
            let class = class_of_zone(dice);
            Step::CreateZone { who, slot, domain, class, tie: dice.percent(30) }
        }
        4 | 5 => Step::Reclass { who, slot, class: class_of_zone(dice) },
        6 | 7 => Step::DeleteZone { who, slot },
        8 => Step::ForceDeleteZone { who, slot },
        9..16 => {
            let (rtype, entries, tie) = (rtype(dice), entries(dice), dice.percent(30));
            Step::CreateSet { who, slot, zone, rtype, entries, tie }
        }
        16 | 17 => Step::Edit { who, slot, entries: entries(dice) },
        18 | 19 => Step::Rename { who, slot, raw: dice.below(RAWS.len()) },
        20..23 => Step::Retype { who, slot, rtype: rtype(dice), value },
        23 | 24 => Step::Repoint { who, slot, zone },
        25..28 => Step::DeleteSet { who, slot },
        _ => Step::ForceDeleteSet { who, slot },
    }
}

fn class(dice: &mut Dice) -> Step {
    let class = dice.below(2);
    match dice.below(6) {
        0 => Step::DeleteClass { class },
        1 => Step::AlienateClass { class },
        _ => Step::RestoreClass { class, servers: 1 + dice.below(2) },
    }
}

fn hand(dice: &mut Dice) -> Step {
    let (domain, at) = ([0, 0, 1, 2][dice.below(4)], dice.below(12));
    let value = u8::try_from(dice.below(3)).unwrap();
    match dice.below(20) {
        0..5 => Step::HandEdit { domain, at, value },
        5..7 => Step::HandDelete { domain, at },
        7..11 => {
            let rtype = if dice.percent(15) { "LOC" } else { rtype(dice) };
            let name = dice.below(RAWS.len());
            Step::HandMake { domain, name, rtype, value, commented: dice.percent(50) }
        }
        11 | 12 => Step::ForeignNote { domain, at },
        13 | 14 => Step::GarbageNote { domain, at },
        15 | 16 => Step::StripNote { domain, at },
        17 | 18 => Step::Account { domain, kind: dice.below(4) },
        _ => Step::HandDeleteZone { domain },
    }
}

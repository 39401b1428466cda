//! Runs sequences: seeds, counts, and what is shown of a failure, shrunk as far as leaving steps out goes.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::real::Real;
use crate::replay::{Replay, replayable};
use crate::rig::Rig;
use crate::scene::Rules;
use crate::steps::{Dice, Shape, Step, sequence};

/// Where a case runs.
pub enum Place {
    /// Between both models.
    Models(Box<Rig>),
    /// Between real servers.
    Servers(Box<Real>),
    /// Between both models, then what they were sent goes to real servers.
    Both(Box<Rig>, Box<Replay>),
}

impl Place {
    /// What is to be said of it in the end.
    pub fn remark(&self) -> Option<String> {
        match self {
            Place::Both(_, replay) => Some(format!("({} requests compared)", replay.compared())),
            Place::Models(rig) => {
                let tally = format!("{:?}", rig.shared.lock().tally);
                assert!(rig.unchanged > 0, "no zone was ever left unread");
                Some(format!("{tally}, {} zones at rest not read", rig.unchanged))
            }
            Place::Servers(_) => None,
        }
    }
}

/// A sequence with the world that it begins in.
#[derive(Clone, Debug)]
pub struct Case {
    pub seed: u64,
    pub comments: bool,
    pub rival: bool,
    pub rrsets: usize,
    /// Of each daemon.
    pub rules: [Rules; 2],
    pub steps: Vec<Step>,
}

impl Case {
    /// The case of a seed.
    pub fn new(seed: u64) -> Case {
        let mut dice = Dice(seed);
        let (comments, rival) = (!dice.percent(6), dice.percent(30));
        let rrsets = [500, 500, 1, 2][dice.below(4)];
        let shape = Shape { steps: (15, 40), faults: 60, rival };
        let steps = sequence(&mut dice, shape);
        let rules = [rules(&mut dice, rival), rules(&mut dice, rival)];
        Case { seed, comments, rival, rrsets, rules, steps }
    }

    /// The case of a seed for real servers: one daemon, on a server with comments.
    pub fn on_servers(seed: u64) -> Case {
        let mut dice = Dice(seed ^ 0x5e1f);
        let rrsets = [500, 2][dice.below(2)];
        let shape = Shape { steps: (15, 25), faults: 75, rival: false };
        let steps = sequence(&mut dice, shape);
        let rules = [rules(&mut dice, false), Rules::default()];
        Case { seed, comments: true, rival: false, rrsets, rules, steps }
    }

    /// Runs the steps with these places; where it fails, and why.
    fn run(&self, place: &mut Place, kept: &[usize]) -> Result<(), (usize, String)> {
        match place {
            Place::Models(rig) => rig.clear(self.comments, self.rrsets, self.rules),
            Place::Both(rig, _) => {
                rig.shared.lock().journal = Some(Vec::new());
                rig.clear(true, self.rrsets, self.rules.map(Rules::on_servers));
            }
            Place::Servers(real) => real.clear(self.rrsets, self.rules[0].on_servers()),
        }
        for (at, index) in kept.iter().enumerate() {
            let step = &self.steps[*index];
            let done = match place {
                Place::Models(rig) | Place::Both(rig, _) => rig.step(step, self.rival),
                Place::Servers(real) => real.step(step),
            };
            done.map_err(|why| (at, why))?;
        }
        if let Place::Both(rig, replay) = place {
            let journal = rig.shared.lock().journal.take().unwrap_or_default();
            if replayable(&journal) {
                replay.replay(&journal).map_err(|why| (kept.len() - 1, why))?;
            }
        }
        Ok(())
    }

    /// The shortest part of the sequence that was found to fail, and how it does.
    fn shrink(&self, place: &mut Place, failed_at: usize, why: String) -> (Vec<usize>, String) {
        let mut kept: Vec<usize> = (0..=failed_at).collect();
        let mut why = why;
        loop {
            let before = kept.len();
            for leave in (0..before).rev() {
                let mut fewer = kept.clone();
                if leave >= fewer.len() {
                    continue;
                }
                fewer.remove(leave);
                if let Err((at, said)) = self.run(place, &fewer) {
                    fewer.truncate(at + 1);
                    (kept, why) = (fewer, said);
                }
            }
            if kept.len() == before {
                return (kept, why);
            }
        }
    }

    /// Runs the sequence, or the part of it that `SOAK_KEEP` names.
    ///
    /// # Errors
    /// What a person needs of the failure.
    pub fn check(&self, place: &mut Place) -> Result<(), String> {
        let kept: Vec<usize> = match std::env::var("SOAK_KEEP") {
            Ok(kept) => kept.split(',').map(|n| n.parse().unwrap()).collect(),
            Err(_) => (0..self.steps.len()).collect(),
        };
        let Err((at, why)) = self.run(place, &kept) else { return Ok(()) };
        let whole = kept.len() == self.steps.len();
        let (kept, why) = if whole { self.shrink(place, at, why) } else { (kept, why) };
        let mut out = format!("{why}\n");
        for index in &kept {
            writeln!(out, "  {:?}", self.steps[*index]).unwrap();
        }
        let list: Vec<String> = kept.iter().map(ToString::to_string).collect();
        let list = list.join(",");
        let which = match place {
            Place::Models(_) => "in_process",
            Place::Servers(_) => "on_real_servers",
            Place::Both(..) => "models_are_like_servers",
        };
        let Case { seed, comments, rival, rrsets, rules, .. } = self;
        writeln!(
            out,
            "comments {comments}, rival {rival}, {rrsets} RRsets a request, {rules:?}; again:\n  \
             SOAK_SEED={seed} SOAK_KEEP={list} cargo test --test soak {which}"
        )
        .unwrap();
        Err(out)
    }
}

/// Half of all daemons have the default policy. Orphans go only where one daemon sees every namespace: the configuration
/// refuses anything else.
fn rules(dice: &mut Dice, rival: bool) -> Rules {
    if dice.percent(50) {
        return Rules::default();
    }
    Rules {
        protect: dice.percent(50),
        purge: dice.percent(50),
        orphans: dice.percent(50) && !rival,
    }
}

/// How often each step and each fault came.
#[derive(Default)]
pub struct Histogram(BTreeMap<String, usize>);

impl Histogram {
    pub fn count(&mut self, steps: &[Step]) {
        for step in steps {
            *self.0.entry(step.kind()).or_default() += 1;
            if let Step::Pass { fault: Some(fault), .. } = step {
                *self.0.entry(format!("fault {}", fault.kind())).or_default() += 1;
            }
        }
    }
}

impl std::fmt::Display for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|(what, n)| writeln!(f, "  {what:<20} {n:>8}"))
    }
}

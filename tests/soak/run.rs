//! Runs sequences: seeds, counts, and what is shown of a failure, shrunk as far as leaving steps out goes.

use std::collections::BTreeMap;

use crate::rig::Rig;
use crate::steps::{Dice, Shape, Step, sequence};

/// A sequence with the world that it begins in.
#[derive(Clone, Debug)]
pub struct Case {
    pub seed: u64,
    pub comments: bool,
    pub rival: bool,
    pub rrsets: usize,
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
        Case { seed, comments, rival, rrsets, steps }
    }

    /// Runs the steps with these places; where it fails, and why.
    fn run(&self, rig: &mut Rig, kept: &[usize]) -> Result<(), (usize, String)> {
        rig.clear(self.comments, self.rrsets);
        for (at, index) in kept.iter().enumerate() {
            rig.step(&self.steps[*index], self.rival).map_err(|why| (at, why))?;
        }
        Ok(())
    }

    /// The shortest part of the sequence that was found to fail, and how it does.
    fn shrink(&self, rig: &mut Rig, failed_at: usize, why: String) -> (Vec<usize>, String) {
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
                if let Err((at, said)) = self.run(rig, &fewer) {
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
    pub fn check(&self, rig: &mut Rig) -> Result<(), String> {
        let kept: Vec<usize> = match std::env::var("SOAK_KEEP") {
            Ok(kept) => kept.split(',').map(|n| n.parse().unwrap()).collect(),
            Err(_) => (0..self.steps.len()).collect(),
        };
        let Err((at, why)) = self.run(rig, &kept) else { return Ok(()) };
        let whole = kept.len() == self.steps.len();
        let (kept, why) = if whole { self.shrink(rig, at, why) } else { (kept, why) };
        let mut out = format!("{why}\n");
        for index in &kept {
            out.push_str(&format!("  {:?}\n", self.steps[*index]));
        }
        let list: Vec<String> = kept.iter().map(ToString::to_string).collect();
        let list = list.join(",");
        let Case { seed, comments, rival, rrsets, .. } = self;
        out.push_str(&format!(
            "comments {comments}, rival {rival}, {rrsets} RRsets a request; again:\n  SOAK_SEED={seed} SOAK_KEEP={list} cargo test --test soak in_process\n"
        ));
        Err(out)
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

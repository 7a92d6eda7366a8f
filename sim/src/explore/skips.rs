//! All schedules of a plan with at most so many skips, those with fewer first: delay-bounded scheduling (Emmi, Qadeer and Rakamarić, POPL 2011). What is
//! found needs as few skips as there can be; where nothing is found, there is nothing to be found within the bound.

use super::{Runner, Stopped, Trial, Tried};
use crate::plan::{Plan, SkipPoints, StrategyPlan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What has been found out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explored {
    /// By the number of skips, from none on.
    pub levels: Vec<Level>,
    /// The first schedule that failed: of those with the fewest skips, the one that skips first.
    pub failing: Option<Failing>,
    /// Whether the search was ended before it was done.
    pub is_cut_off: bool,
}

impl Explored {
    /// Whether anybody ever had a choice.
    pub fn has_choices(&self) -> bool {
        self.levels.iter().any(|level| level.choices_max > 0)
    }
}

/// The schedules with so many skips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// How many skips.
    pub skips: u32,
    /// How many schedules there are, without those that are known to be as others.
    pub schedules: u64,
    /// How many of them have been run.
    pub runs: u64,
    /// How many of these runs were like none before: a skip may make no difference.
    pub distinct: u64,
    /// The most choices that one of them had.
    pub choices_max: u64,
    /// How many of these runs had a calm, in which steps go in time order: there nothing is explored.
    pub unexplored: u64,
}

/// A schedule that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failing {
    /// Its plan.
    pub plan: Plan,
    /// What came of it; `None`: the plan can't be run, or the process that ran it died or was ended.
    pub tried: Option<Tried>,
}

/// A schedule that others come from: they skip once more, at its last skip or later.
struct Root {
    skips: SkipPoints,
    choices: u32,
}

impl Root {
    /// The first choice at which one of them skips.
    fn first(&self) -> u32 {
        self.skips.last().max(1)
    }

    fn count(&self) -> u64 {
        u64::from((self.choices + 1).saturating_sub(self.first()))
    }

    fn children(&self) -> impl Iterator<Item = SkipPoints> {
        (self.first()..=self.choices).filter_map(|choice| self.skips.and(choice))
    }
}

/// So many trials for each that can be run at a time are asked for together: few enough that a failure ends the search soon, and many enough that nobody waits
/// long for the last of them.
const TRIALS_TOGETHER: usize = 32;

/// Runs all schedules of the trial's plan with at most so many skips, [`SkipPoints::MAX`] at most, until one fails. The plan's strategy and a guide are left out.
/// `told` hears how far it is.
///
/// Of schedules whose runs are alike to the last bit only the first is gone on from. It has no skips that go once round and change nothing, which the others have besides:
/// so its last skip is not later than theirs, and all that comes of them comes of it.
///
/// # Errors
/// Nothing can be run. If the runner ends the search, that is told in what has been found by then.
pub fn explore(
    runner: &mut impl Runner,
    trial: &Trial,
    skips_max: u32,
    told: &mut dyn FnMut(&Level),
) -> Result<Explored, Stopped> {
    let (mut levels, mut seen, mut roots) = (Vec::new(), BTreeSet::new(), Vec::new());
    for skips in 0..=skips_max {
        let (schedules, mut next): (u64, Box<dyn Iterator<Item = SkipPoints>>) = match skips {
            0 => (1, Box::new(std::iter::once(SkipPoints::NONE))),
            _ => (roots.iter().map(Root::count).sum(), Box::new(roots.iter().flat_map(Root::children))),
        };
        let mut level = Level { skips, schedules, ..Level::default() };
        let mut found = Vec::new();
        told(&level);
        while let batch = next.by_ref().take(runner.width() * TRIALS_TOGETHER).collect::<Vec<_>>()
            && !batch.is_empty()
        {
            let tried = match runner.run(batch.iter().map(|skips| skipping(trial, *skips)).collect()) {
                Ok(tried) => tried,
                Err(Stopped::Interrupted) => {
                    levels.push(level);
                    return Ok(Explored { levels, failing: None, is_cut_off: true });
                }
                Err(broken) => return Err(broken),
            };
            for (skips, tried) in batch.into_iter().zip(tried) {
                level.runs += 1;
                let Some(tried) = tried.as_ref().filter(|tried| tried.violation.is_none()) else {
                    levels.push(level);
                    let failing = Some(Failing { plan: skipping(trial, skips).plan, tried });
                    return Ok(Explored { levels, failing, is_cut_off: false });
                };
                let choices = tried.choices.unwrap_or(0);
                level.choices_max = level.choices_max.max(choices);
                level.unexplored += u64::from(tried.calm_steps > 0);
                let is_new = seen.insert(tried.trace_hash.clone());
                level.distinct += u64::from(is_new);
                if is_new && level.skips < skips_max {
                    found.push(Root { skips, choices: u32::try_from(choices).unwrap_or(u32::MAX) });
                }
            }
            told(&level);
        }
        levels.push(level);
        drop(next);
        roots = found;
    }
    Ok(Explored { levels, failing: None, is_cut_off: false })
}

/// The trial with these skips.
fn skipping(trial: &Trial, at: SkipPoints) -> Trial {
    let Trial { ref plan, guide: _, crash_points, without_invariants } = *trial;
    let plan = Plan { strategy: StrategyPlan::Skips { at }, ..plan.clone() };
    Trial { plan, guide: None, crash_points, without_invariants }
}

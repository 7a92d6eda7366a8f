//! Bisection of a failing run in time: at which step of its chaos was the failure sealed? The first steps are kept as they were, the rest goes on with fresh
//! randomness, again and again; how often it fails so tells how far the failure was decided by then. What is known of each place is in `curve`, the
//! sequential test in `leaning`.
//!
//! The rule, with the error rates that it has:
//! - The curve P(fails alike | the first k steps as they were) begins with a coarse grid. Then the pair of neighbouring places with the greatest rise is
//!   halved, as long as there is one that rises by [`RISE_MIN`] or more.
//! - A place is run until a sequential probability ratio test (Wald 1945) says which of its two neighbours it is like, each way of being wrong at
//!   [`ERROR`]; at least [`RUNS_MIN`] runs, at most [`RUNS_MAX`]. A place that is like neither uses them up: there the curve rises slowly.
//! - Two places one step apart that rise so are confirmed: with fresh runs only, as many as were fixed before the first of them. Its step decides if the two
//!   95 % intervals (Wilson) have no value in common. Two equal places pass that with a probability under 1 %. If it does not, the fresh runs
//!   join the curve, which no longer rises there, and the search goes on.
//!
//! So a wrong turn in a halving costs runs, and can make the search miss a step, but it takes a confirmation to name one.

mod curve;
mod leaning;
#[cfg(test)]
mod tests;

pub use curve::Place;

use super::share::Share;
use super::{Runner, Stopped, Trial};
use crate::Draw;
use crate::invariant::CrashPoints;
use crate::plan::Plan;
use crate::schedule::{Guide, Turns};
use crate::seed::{Seed, Stream};
use curve::Curve;
use leaning::Leaning;

/// What rises less than this between two places is not looked into, as a share of all runs.
pub const RISE_MIN: f64 = 0.25;

/// With which probability the sequential test may take a place for like its neighbour before it, if it is like the one after it; and the other way round.
pub const ERROR: f64 = 0.01;

/// The fewest runs of a place.
pub const RUNS_MIN: u64 = 8;

/// The most runs of a place before it is confirmed.
pub const RUNS_MAX: u64 = 48;

/// How many runs a confirmation may have on each side: the first that is enough, if things are as the search says.
pub const CONFIRMING: [u64; 4] = [20, 40, 80, 160];

/// Places of the first, coarse grid, beside both ends.
const GRID: u64 = 7;

/// What is bisected.
#[derive(Clone, Debug)]
pub struct Question {
    /// What ran.
    pub plan: Plan,
    /// Who went when in the run that failed.
    pub turns: Turns,
    /// How it failed.
    pub fingerprint: String,
    /// How many crash points are explored in each run.
    pub crash_points: CrashPoints,
    /// Whether the scenario's invariants are left out in each run.
    pub without_invariants: bool,
    /// Where fresh randomness comes from. The same seed, and the same number of workers, ask for the same runs.
    pub seed: Seed,
}

/// A step of the chaos that decides: with it kept the run fails far more often than without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decisive {
    /// The step of the chaos; the first is 1.
    pub step: u64,
    /// How many fresh runs failed alike that kept all steps before it, and no more.
    pub before: Share,
    /// How many that kept it too.
    pub after: Share,
}

/// What a search has found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The curve: its places in order.
    pub curve: Vec<Place>,
    /// The steps that decide, by how much, the most decisive first. Each is confirmed.
    pub decisive: Vec<Decisive>,
    /// Steps that the search has looked at as decisive, and fresh runs have not confirmed.
    pub refuted: Vec<Decisive>,
    /// Between how many kept steps most of the rise lies, if no single step decides: the shortest stretch that is known from a quarter of it to three.
    pub rise: Option<(u64, u64)>,
    /// Why it ended before it was done.
    pub stopped: Option<Stopped>,
    /// Trials that gave no result, or not the expected one.
    pub lost: u64,
}

/// What the search does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// The recorded run once more.
    Repeating,
    /// The coarse grid.
    Surveying,
    /// Halving a stretch of so many steps.
    Halving(u64),
    /// Confirming this step.
    Confirming(u64),
}

/// Why nothing can be searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// With all its turns followed the run doesn't fail as it did: what came instead.
    NotRepeated(String),
    /// The search ended before that was known.
    Stopped(Stopped),
}

/// Searches. `tell` hears what it does, each time that it does something else.
///
/// # Errors
/// The run can't be repeated. Once it could, what there is is found, also when the search is stopped.
pub fn bisect(question: &Question, runner: &mut dyn Runner, tell: &mut dyn FnMut(Doing)) -> Result<Found, Refused> {
    tell(Doing::Repeating);
    let mut search = Search {
        question,
        runner,
        fresh: question.seed.stream("bisect"),
        curve: Curve::new(question.turns.steps),
        found: Found::default(),
    };
    search.repeat()?;
    let stopped = search.search(tell).err();
    Ok(search.finish(stopped))
}

struct Search<'a> {
    question: &'a Question,
    runner: &'a mut dyn Runner,
    /// Each continuation has a seed of its own: no run is ever counted twice.
    fresh: Stream,
    curve: Curve,
    found: Found,
}

impl Search<'_> {
    fn trial(&mut self, kept: u64) -> Trial {
        let Question { plan, turns, crash_points, without_invariants, .. } = self.question;
        let guide = Guide { turns: turns.clone(), leave_after: Some(kept), then: Some(Seed(self.fresh.bits())) };
        let (plan, guide) = (plan.clone(), Some(guide));
        Trial { plan, guide, crash_points: *crash_points, without_invariants: *without_invariants }
    }

    /// With all steps kept nothing is left to chance: it must fail, and one run tells.
    fn repeat(&mut self) -> Result<(), Refused> {
        let trial = self.trial(self.question.turns.steps);
        let tried = self.runner.run(vec![trial]).map_err(Refused::Stopped)?;
        match tried.into_iter().next().flatten() {
            Some(tried) if tried.failed_as(&self.question.fingerprint) => Ok(()),
            Some(tried) => Err(Refused::NotRepeated(match tried.violation {
                Some(violation) => format!("it failed as {}", violation.fingerprint),
                None => "it passed".to_owned(),
            })),
            None => Err(Refused::NotRepeated("it gave no result".to_owned())),
        }
    }

    /// So many fresh runs that keep so many steps.
    fn run(&mut self, kept: u64, runs: u64) -> Result<Vec<bool>, Stopped> {
        let trials = (0..runs).map(|_| self.trial(kept)).collect();
        let tried = self.runner.run(trials)?;
        let told: Vec<bool> = tried.iter().flatten().map(|tried| tried.failed_as(&self.question.fingerprint)).collect();
        self.found.lost += runs - told.len() as u64;
        if told.is_empty() && runs > 0 {
            return Err(Stopped::Broken(format!("none of {runs} runs that keep {kept} steps gave a result")));
        }
        Ok(told)
    }

    /// How many runs are asked for at a time. With more workers than the smallest number has, none shall stand idle.
    fn batch(&self) -> u64 {
        (self.runner.width() as u64).max(4)
    }

    fn sample(&mut self, kept: u64, runs: u64) -> Result<(), Stopped> {
        while self.curve.share(kept).of < runs {
            let batch = self.batch().min(runs - self.curve.share(kept).of);
            let told = self.run(kept, batch)?;
            self.curve.add(kept, &told);
        }
        Ok(())
    }

    fn search(&mut self, tell: &mut dyn FnMut(Doing)) -> Result<(), Stopped> {
        let steps = self.question.turns.steps;
        tell(Doing::Surveying);
        self.sample(0, 2 * RUNS_MIN)?;
        for place in 1..=GRID {
            let kept = steps * place / (GRID + 1);
            self.sample(kept, RUNS_MIN)?;
        }
        while let Some((before, after)) = self.curve.steepest(RISE_MIN) {
            if !self.curve.is_known(before, after) {
                // Ends that a few runs told are not worth a search between them.
                tell(Doing::Halving(after - before));
                self.sample(before, RUNS_MAX)?;
                self.sample(after, RUNS_MAX)?;
                self.curve.note_known(before, after);
            } else if after - before == 1 {
                tell(Doing::Confirming(after));
                self.confirm(before, after)?;
            } else {
                tell(Doing::Halving(after - before));
                self.halve(before, after)?;
            }
        }
        Ok(())
    }

    /// Runs the place in the middle until it is known which end it is like.
    fn halve(&mut self, before: u64, after: u64) -> Result<(), Stopped> {
        let middle = before + (after - before) / 2;
        let mut leaning = Leaning::between(self.curve.share(before).value(), self.curve.share(after).value(), ERROR);
        let mut told = Vec::new();
        while (told.len() as u64) < RUNS_MAX && !(leaning.is_decided() && told.len() as u64 >= RUNS_MIN) {
            let batch = self.batch().min(RUNS_MAX - told.len() as u64);
            for failed in self.run(middle, batch)? {
                leaning.add(failed);
                told.push(failed);
            }
        }
        self.curve.add(middle, &told);
        Ok(())
    }

    /// Runs both sides afresh.
    fn confirm(&mut self, before: u64, after: u64) -> Result<(), Stopped> {
        let runs = confirming_runs(self.curve.share(before), self.curve.share(after));
        let mut fresh = Decisive { step: after, before: Share::default(), after: Share::default() };
        // Turn by turn, so that both sides grow alike.
        while fresh.before.of < runs || fresh.after.of < runs {
            for (kept, share) in [(before, &mut fresh.before), (after, &mut fresh.after)] {
                let left = runs.saturating_sub(share.of);
                if left == 0 {
                    continue;
                }
                if self.curve.is_certain(kept) {
                    // Nothing is left to chance there: one run tells as much as all.
                    *share = Share { count: runs, of: runs };
                    continue;
                }
                let batch = self.batch().min(left);
                for failed in self.run(kept, batch)? {
                    share.add(failed);
                }
            }
        }
        self.curve.note_confirmed(before, after, fresh.before, fresh.after);
        if fresh.before.is_clearly_below(fresh.after) {
            self.found.decisive.push(fresh);
        } else {
            self.found.refuted.push(fresh);
        }
        Ok(())
    }

    fn finish(self, stopped: Option<Stopped>) -> Found {
        let Search { curve, mut found, .. } = self;
        let rise = |step: &Decisive| step.after.value() - step.before.value();
        found.decisive.sort_by(|one, other| rise(other).total_cmp(&rise(one)).then(one.step.cmp(&other.step)));
        found.rise = if found.decisive.is_empty() { curve.stretch(RISE_MIN) } else { None };
        Found { curve: curve.places(), stopped, ..found }
    }
}

/// The fewest runs that would keep the intervals of two shares apart, if the true rise were half of what they say: the steepest pair
/// of many looks steeper than it is.
fn confirming_runs(before: Share, after: Share) -> u64 {
    let (low, high) = (before.value(), after.value());
    let part = (high - low) / 4.0;
    let of = |share: f64, runs: u64| Share { count: (share * runs as f64).round() as u64, of: runs };
    let is_enough = |runs: &u64| of(low + part, *runs).is_clearly_below(of(high - part, *runs));
    CONFIRMING.into_iter().find(is_enough).unwrap_or(CONFIRMING[CONFIRMING.len() - 1])
}

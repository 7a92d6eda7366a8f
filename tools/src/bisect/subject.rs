//! What is bisected: a recorded failure, with the turns of its chaos, and how its chaos's steps are numbered in the whole run.

use crate::catalogue::{Catalogue, Known};
use crate::checked::Checked;
use crate::exit::{Problem, Result};
use crate::hang;
use crate::measured;
use crate::plan_file;
use crate::refused;
use crate::reproducer::{self, Replayable, Reproducer};
use seedstorm_sim::invariant::{CrashPoints, Violation};
use seedstorm_sim::schedule::{Guide, Turns};
use seedstorm_sim::{Outcome, Plan, Settings};
use std::path::Path;

/// A failure that happens again.
pub(crate) struct Subject {
    /// Its scenario.
    pub(crate) scenario: Known,
    /// Its plan.
    pub(crate) plan: Plan,
    /// Who went when in its chaos.
    pub(crate) turns: Turns,
    /// What was violated.
    pub(crate) violation: Violation,
    /// What a run must check to find it.
    pub(crate) checked: Checked,
    /// Steps before the chaos: those of the preparation.
    pub(crate) steps_before: u64,
    /// Whether it was found at the end of the run, by looking at all that there was, and not at an event.
    pub(crate) is_of_the_end: bool,
}

impl Subject {
    /// Reads a reproducer and runs it again.
    ///
    /// # Errors
    /// A file that can't be read or is no failure; one that doesn't happen again.
    pub(crate) fn read(catalogue: Catalogue, path: &Path) -> Result<Subject> {
        let wrong = |why: &str| Problem::usage(format!("{}: {why}", path.display()));
        let Replayable::Recorded(recorded, _) = reproducer::read(path)? else {
            return Err(wrong(
                "this is a plan; only a failure can be bisected: run it, and give the reproducer that it leaves",
            ));
        };
        let Some(violation) = recorded.violation.clone() else {
            return Err(wrong("no violation is recorded in it: there is nothing to bisect"));
        };
        if hang::is_timeout(&violation.fingerprint) {
            return Err(wrong(
                "a run that doesn't come to an end can't be bisected in time: `shrink` tells what of it is needed, `replay --until` the state at a step before, \
                 and `bisect --commits GOOD..BAD` the commit that brought it",
            ));
        }
        if crate::sweep::WORKER_INVARIANTS.iter().any(|(id, _)| *id == violation.invariant) {
            return Err(wrong("a run that ends its process leaves no turns to follow: it can't be bisected"));
        }
        let scenario = plan_file::scenario_of(catalogue, &recorded.plan, Some(path))?;
        let Again { turns, outcome, steps_before } =
            run_again(scenario, &recorded).map_err(|problem| refused::of_run(scenario, problem, Some(path), None))?;
        let is_same = outcome.violations.first().is_some_and(|again| again.fingerprint == violation.fingerprint);
        if !is_same {
            let instead = outcome
                .violations
                .first()
                .map_or("it passes".to_owned(), |other| format!("it fails as {}", other.fingerprint));
            return Err(wrong(&format!(
                "it does not come out as recorded: {instead}. What doesn't repeat can't be bisected; `replay` says where it parts"
            )));
        }
        let violation = outcome.violations.into_iter().next().unwrap_or(violation);
        let plan = recorded.plan;
        let subject =
            Subject { checked: recorded.checked, is_of_the_end: false, scenario, plan, turns, violation, steps_before };
        subject.with_least_checks()
    }

    /// Leaves crash points out if the failure is found without, and finds out when it is found.
    fn with_least_checks(mut self) -> Result<Subject> {
        let fewer = Checked { crash_points: CrashPoints::None, ..self.checked };
        let settings = Settings { guide: Some(self.guide()), ..fewer.settings() };
        let without = measured::run(self.scenario, &self.plan, settings)?.outcome;
        if without.violations.first().is_some_and(|violation| violation.fingerprint == self.violation.fingerprint) {
            self.checked = fewer;
        }
        let settings = Settings { guide: Some(self.guide()), without_invariants: true, ..Settings::default() };
        let unjudged = measured::run(self.scenario, &self.plan, settings)?.outcome;
        self.is_of_the_end = unjudged.violations.is_empty() && unjudged.steps == self.violation.step;
        Ok(self)
    }

    /// Leads through the whole run.
    pub(crate) fn guide(&self) -> Guide {
        Guide { turns: self.turns.clone(), ..Guide::default() }
    }

    /// The number that a step of the chaos has in the whole run.
    pub(crate) fn step_of(&self, chaos_step: u64) -> u64 {
        self.steps_before + chaos_step
    }
}

struct Again {
    turns: Turns,
    outcome: Outcome,
    steps_before: u64,
}

/// Runs a reproducer once more, and has its turns written down.
fn run_again(scenario: Known, recorded: &Reproducer) -> Result<Again> {
    let settings = Settings {
        guide: recorded.turns.clone().map(|turns| Guide { turns, ..Guide::default() }),
        records_turns: true,
        ..recorded.checked.settings()
    };
    let mut outcome = measured::run(scenario, &recorded.plan, settings)?.outcome;
    let turns = outcome.turns.take().unwrap_or_default();
    let steps_before = outcome.steps_before_chaos;
    Ok(Again { turns, outcome, steps_before })
}

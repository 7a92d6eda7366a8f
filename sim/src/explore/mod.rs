//! Search that runs a run more than once: to find a smaller one that fails alike, or the step at which a failure was sealed. It knows no process, file or
//! clock: a [`Runner`] carries out what it asks for.

pub mod bisect;
mod hits;
pub mod presence;
mod share;
mod shrink;
mod skips;

use hits::Hits;
pub use share::Share;
pub use shrink::{Shrunk, Size, shrink};
pub use skips::{Explored, Failing, Level, explore};

use crate::invariant::{CrashPoints, Violation};
use crate::kernel::{Beat, RunError, Settings, run};
use crate::plan::{Plan, Scenario};
use crate::schedule::{Guide, Guided, Turns};
use crate::trace::CallKind;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A run that is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// What runs.
    pub plan: Plan,
    /// Who steps next; `None`: as the plan's strategy decides.
    pub guide: Option<Guide>,
    /// How many crash points are explored.
    pub crash_points: CrashPoints,
    /// Leave the scenario's invariants out, as [`Settings::without_invariants`] does.
    pub without_invariants: bool,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The first violation, if there was one.
    pub violation: Option<Violation>,
    /// The processes that ran.
    pub processes: Vec<String>,
    /// Steps of the whole run.
    pub steps: u64,
    /// Steps of its chaos.
    pub chaos_steps: u64,
    /// Steps of its calm, if it had one. Of a run that stands still they aren't known, and 0.
    pub calm_steps: u64,
    /// How often a task was left in the chaos that could have gone on.
    pub preemptions: u64,
    /// The run's hash, as 32 hexadecimal digits; `None` if it has not come to an end.
    pub trace_hash: Option<String>,
    /// Who went when in the chaos, if it failed.
    pub turns: Option<Turns>,
    /// How well the guide could be followed.
    pub guided: Option<Guided>,
    /// How many choices there were, if the strategy is `skips`.
    pub choices: Option<u64>,
    /// Where faults fell that were planned for a time.
    pub hits: Vec<Hit>,
}

/// Where a fault fell that was planned for a time: what its process had done by then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// The fault's id.
    pub id: u32,
    /// The process that it hit; for the machine's own, the one that had stepped last.
    pub process: String,
    /// That process's last call.
    pub kind: CallKind,
    /// How many calls of that kind it had made, over all its lives.
    pub nth: u64,
}

impl Tried {
    /// What is known of a trial that stands still, which [`carry_out`] can't tell any more: somebody looks at its beat, and calls it this violation.
    pub fn standing_still(beat: &Beat, violation: Violation) -> Tried {
        let turns = beat.turns().unwrap_or_default();
        Tried {
            processes: beat.processes(),
            steps: violation.step,
            chaos_steps: turns.steps,
            calm_steps: 0,
            preemptions: turns.preemptions,
            trace_hash: None,
            turns: Some(turns),
            violation: Some(violation),
            guided: None,
            choices: None,
            hits: Vec::new(),
        }
    }

    /// Whether it failed with this fingerprint.
    pub fn failed_as(&self, fingerprint: &str) -> bool {
        self.violation.as_ref().is_some_and(|violation| violation.fingerprint == fingerprint)
    }
}

/// Why a search ends before it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The person who waits wants what there is, or the time that was given is over.
    Interrupted,
    /// Nothing can be run.
    Broken(String),
}

/// Carries out trials, as many at a time as it can.
pub trait Runner {
    /// Runs them all; what came of each, in their order. `None` is one that can't be run, or that its process did not survive.
    ///
    /// # Errors
    /// The search shall end.
    fn run(&mut self, trials: Vec<Trial>) -> Result<Vec<Option<Tried>>, Stopped>;

    /// How many it can run at a time.
    fn width(&self) -> usize;
}

/// Carries out one trial in this process, and tells its beat to whoever wants to know.
///
/// # Errors
/// The plan can't be run.
pub fn carry_out(scenario: &(dyn Scenario + Sync), trial: Trial, beat: Option<Arc<Beat>>) -> Result<Tried, RunError> {
    let Trial { plan, guide, crash_points, without_invariants } = trial;
    let hits = Hits::of(&plan);
    let listener = hits.as_ref().map(Hits::listener);
    let settings = Settings {
        guide,
        crash_points,
        without_invariants,
        records_turns: true,
        listener,
        beat,
        ..Settings::default()
    };
    let outcome = run(scenario, &plan, settings)?;
    let (violation, turns) = (outcome.violations.into_iter().next(), outcome.turns.unwrap_or_default());
    Ok(Tried {
        processes: outcome.processes,
        steps: outcome.steps,
        chaos_steps: turns.steps,
        calm_steps: outcome.steps.saturating_sub(outcome.steps_before_chaos + turns.steps),
        preemptions: turns.preemptions,
        trace_hash: Some(outcome.trace_hash.to_string()),
        turns: violation.is_some().then_some(turns),
        violation,
        guided: outcome.guided,
        choices: outcome.choices,
        hits: hits.map(Hits::found).unwrap_or_default(),
    })
}

//! What a run and a sweep came to, and the forms in which they are told: the trait `Sink`, and one file for each form.

mod human;
mod json;
mod junit;
mod next_steps;
mod numbers;
mod result;
mod summary;
mod terminal;

pub(crate) use human::{Human, some_a_line};
pub(crate) use json::{RunObject, SweepLines};
pub(crate) use junit::WithJunit;
pub(crate) use numbers::{counted, grouped};
pub(crate) use result::{Drawn, Metric, Replayed, RunResult, Verdict};
pub(crate) use summary::{
    Compared, Coverage, Difference, FingerprintGroup, JudgedBudget, Longest, Missing, SweepSummary,
};
pub(crate) use terminal::Screen;

use crate::interrupt::Reached;
use seedstorm_sim::Plan;
use std::io;

/// The version of the machine output. It changes when a field changes its meaning or goes; new fields don't change it.
pub const SCHEMA_VERSION: u32 = 1;

/// One line of what happened just before a violation.
pub(crate) type EventLine = String;

/// Something that a command has to tell. Closed: a new kind is a change for every sink.
pub(crate) enum RunEvent<'a> {
    /// A plan is about to run.
    Drawn {
        /// The plan.
        plan: &'a Plan,
        /// What else a person should know of it: the file that it came from.
        note: Option<&'a str>,
    },
    /// A run has ended.
    Ended {
        /// What it came to.
        result: &'a RunResult,
        /// The last events up to the violation, if there is one.
        last_events: &'a [EventLine],
    },
    /// A run was interrupted.
    Interrupted {
        /// Its plan.
        plan: &'a Plan,
        /// How far it was.
        reached: Reached,
    },
    /// A sweep is about to start, or what several have written comes together.
    SweepStarted {
        /// Which: `sweep` or `merge`.
        what: &'static str,
        /// The names of its scenarios.
        scenarios: &'a [&'a str],
        /// The seeds, in words: `seeds 0..9`, `1 seed: 5`.
        seeds: &'a str,
        /// How many runs there will be: seeds times scenarios.
        runs: u64,
        /// What does it, or what it comes from, in words: how many workers, how many files.
        by: &'a str,
    },
    /// A run of a sweep has ended. They come in the order of seeds, whatever the number of workers.
    SweepSeed(&'a RunResult),
    /// A sweep has ended.
    SweepEnded(&'a SweepSummary),
    /// All has been told. The command reproduces the first failure, if there was one; or it goes on where an interruption has ended this.
    Done {
        /// The command line to paste.
        reproduce: Option<&'a str>,
    },
}

/// A form of output.
pub(crate) trait Sink {
    /// Tells one event.
    ///
    /// # Errors
    /// The output can't be written.
    fn event(&mut self, event: &RunEvent<'_>) -> io::Result<()>;
}

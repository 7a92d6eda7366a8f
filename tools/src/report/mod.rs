//! What a run and a sweep came to, and the forms in which they are told: the trait `Sink`, and one file for each form.

mod human;
mod json;
mod result;
mod summary;
mod terminal;

pub(crate) use human::{Human, grouped};
pub(crate) use json::{RunObject, SweepLines};
pub(crate) use result::{Metric, Replayed, RunResult};
pub(crate) use summary::{Coverage, Difference, FingerprintGroup, SweepSummary};
pub(crate) use terminal::colours_are_wanted;

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
    /// A sweep is about to start.
    SweepStarted {
        /// The names of its scenarios.
        scenarios: &'a [&'static str],
        /// The seeds, in words.
        seeds: &'a str,
        /// How many runs there will be: seeds times scenarios.
        runs: u64,
        /// How many worker processes.
        jobs: u32,
    },
    /// A run of a sweep has ended. They come in the order of seeds, whatever the number of workers.
    SweepSeed(&'a RunResult),
    /// A sweep has ended.
    SweepEnded(&'a SweepSummary),
    /// All has been told. The command reproduces the first failure, if there was one.
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

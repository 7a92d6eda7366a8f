//! What a sweep runs: which scenarios, which seeds, and how. Who asks for it (`sweep`, `selftest`) fills it in; the coordinator carries it out.

use super::protocol::{Also, Request};
use crate::catalogue::{Catalogue, Known};
use crate::cli::Share;
use crate::hang;
use crate::seeds::Seeds;
use crate::shard::Shard;
use anyhow::{Context, anyhow};
use seedstorm_sim::invariant::{CrashPoints, Violation};
use seedstorm_sim::{Options, Plan, Seed};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// The seeds of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SeedSet {
    /// A shard of a range, one after the other.
    Shard(Seeds, Shard),
    /// Just these.
    These(Vec<u64>),
}

impl SeedSet {
    /// How many.
    pub(crate) fn count(&self) -> u64 {
        match self {
            SeedSet::Shard(seeds, shard) => shard.len(*seeds),
            SeedSet::These(seeds) => seeds.len() as u64,
        }
    }

    fn nth(&self, index: u64) -> u64 {
        match self {
            SeedSet::Shard(seeds, shard) => shard.nth(*seeds, index),
            SeedSet::These(seeds) => seeds[index as usize],
        }
    }
}

/// What a sweep runs. Runs are numbered: for each seed, each scenario.
pub(crate) struct Sweep {
    /// The program's scenarios, of which these are some.
    pub(crate) catalogue: Catalogue,
    /// The scenarios.
    pub(crate) scenarios: Vec<Known>,
    /// The seeds.
    pub(crate) seeds: SeedSet,
    /// How plans are drawn.
    pub(crate) options: Options,
    /// How many runs there are: seeds times scenarios.
    pub(crate) runs: u64,
    /// How many workers.
    pub(crate) jobs: u32,
    /// How many crash points of a run are explored.
    pub(crate) crash_points: CrashPoints,
    /// After how many failures it stops.
    pub(crate) failures_max: Option<u64>,
    /// Which share of the runs is run twice.
    pub(crate) determinism: Share,
    /// How much real time a run may take, in nanoseconds.
    pub(crate) seed_timeout_ns: u64,
    /// The folder for reproducers, and for traces that differ. `None`: neither is written.
    pub(crate) artifacts: Option<PathBuf>,
    /// What the progress bar says before its bar.
    pub(crate) label: String,
}

impl Sweep {
    /// The scenario and the seed of a run.
    pub(crate) fn run(&self, index: u64) -> (Known, u64) {
        let scenarios = self.scenarios.len() as u64;
        (self.scenarios[(index % scenarios) as usize], self.seeds.nth(index / scenarios))
    }

    /// What a worker is asked for.
    pub(crate) fn request(&self, index: u64, also: Also) -> Request {
        let (scenario, seed) = self.run(index);
        let (scenario, options) = (scenario.name().to_owned(), self.options.clone());
        Request { scenario, seed, options, crash_points: self.crash_points, also }
    }

    /// The plan of a run that has not come to its end; one of nothing but its seed, where it is the plan itself that could not be drawn.
    ///
    /// # Errors
    /// It can't be drawn. A panic is an error, too: else the sweep would wait for this thread.
    pub(crate) fn plan_of_lost(&self, index: u64, violation: &Violation) -> anyhow::Result<Plan> {
        let (scenario, seed) = self.run(index);
        if hang::is_of_plan(&violation.fingerprint) {
            return Ok(Plan::plain(scenario.name(), Seed(seed)));
        }
        let wrong = || format!("{} seed {seed}: its plan can't be drawn", scenario.name());
        let drawn = catch_unwind(AssertUnwindSafe(|| scenario.plan(Seed(seed), &self.options)));
        drawn.map_err(|_| anyhow!("a panic")).and_then(|plan| plan.map_err(|error| anyhow!(error))).with_context(wrong)
    }
}

/// How many workers there are for so many runs: what was asked for, or one for each core.
pub(crate) fn jobs(asked: Option<u32>, runs: u64) -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    u64::from(asked.unwrap_or(cores)).min(runs.max(1)) as u32
}

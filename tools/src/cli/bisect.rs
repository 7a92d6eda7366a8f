//! The arguments of `bisect`.

use super::WatchArguments;
use super::sweep::positive_duration;
use clap::Args;
use std::path::PathBuf;

/// Find where a failure comes from: the step of the run at which it was sealed, or the commit that brought it.
///
/// In time: keeps the first steps of the run as they were, goes on with fresh randomness, many times over, and finds where the share of runs that fail
/// alike jumps. With --commits: drives `git bisect run` in a worktree of its own; your checkout stays as it is.
#[derive(Debug, Args)]
pub(crate) struct BisectArguments {
    /// A reproducer of a failure.
    #[arg(value_name = "REPRODUCER")]
    pub(crate) file: PathBuf,

    /// How much real time the search in time may take.
    #[arg(long, value_name = "60s", default_value = "60s", value_parser = positive_duration)]
    pub(crate) budget: u64,

    /// How many worker processes; without this, one for each core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,

    /// How much real time one run may take before its worker is ended.
    #[arg(long, value_name = "5m", default_value = "5m", value_parser = positive_duration)]
    pub(crate) seed_timeout: u64,

    /// How long is waited for programs.
    #[command(flatten)]
    pub(crate) watch: WatchArguments,

    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,

    /// Bisect commits of the git repository that this is called in: GOOD is without the failure, BAD has it.
    #[arg(long, value_name = "GOOD..BAD", conflicts_with_all = ["budget", "jobs", "seed_timeout", "step_timeout"])]
    pub(crate) commits: Option<String>,

    /// Where the build leaves the program, from the worktree's top [default: target/release/ and this program's name].
    #[arg(long, value_name = "PATH", requires = "commits")]
    pub(crate) program: Option<PathBuf>,

    /// How each commit is built; one that can't be is skipped [default: cargo build --release].
    #[arg(last = true, value_name = "BUILD COMMAND", requires = "commits")]
    pub(crate) build: Vec<String>,
}

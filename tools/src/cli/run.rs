//! The arguments of `run`.

use super::{ArtifactArguments, CheckArguments, DrawArguments, LogArguments, WatchArguments};
use crate::seeds;
use clap::Args;
use std::path::PathBuf;

/// Run one seed.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Which scenarios: `all`, or names with commas between them (see `list scenarios`).
    #[arg(long, value_name = "all|A,B", default_value = "all", conflicts_with = "plan")]
    pub(crate) scenarios: String,

    /// The seed. Without one, any; it is printed.
    #[arg(long, value_name = "N", conflicts_with = "plan", value_parser = seeds::parse_one, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,

    /// Run the plan in this TOML file instead of drawing one.
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,

    /// Print the plan as TOML and run nothing.
    #[arg(long, conflicts_with_all = ["trace", "json", "without_invariants", "artifacts", "crash_points", "log"])]
    pub(crate) print_plan: bool,

    /// Write every event to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// Check no invariant of the scenario; `progress` and `no-panic` stay.
    #[arg(long)]
    pub(crate) without_invariants: bool,

    /// Where failures are kept.
    #[command(flatten)]
    pub(crate) artifacts: ArtifactArguments,

    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,

    /// What is printed of it while it goes on.
    #[command(flatten)]
    pub(crate) log: LogArguments,

    /// How long is waited for programs.
    #[command(flatten)]
    pub(crate) watch: WatchArguments,

    /// What is checked.
    #[command(flatten)]
    pub(crate) check: CheckArguments,

    /// How the plan is drawn.
    #[command(flatten)]
    pub(crate) draw: DrawArguments,
}

//! The arguments of `shrink`.

use super::WatchArguments;
use crate::hang;
use clap::Args;
use std::path::PathBuf;

/// Cut a recorded failure down to the smallest run that still fails alike.
#[derive(Debug, Args)]
pub(crate) struct ShrinkArguments {
    /// A reproducer that `run` or `sweep` wrote, or the folder of a failure.
    #[arg(value_name = "REPRODUCER")]
    pub(crate) reproducer: PathBuf,

    /// Where the smaller reproducer goes; `-` is the standard output. No reproducer is overwritten [default: shrunk.toml beside the one that it comes from].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// How much real time the search may take.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = super::sweep::positive_duration)]
    pub(crate) budget: u64,

    /// How many worker processes; by default one for each core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,

    /// How much real time may pass without a system call before a run is ended [default: 1m; in runs of a hang, each of which takes so long, 1s].
    #[arg(long, value_name = "DURATION", value_parser = super::sweep::positive_duration)]
    pub(crate) step_timeout: Option<u64>,

    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

impl ShrinkArguments {
    /// How long is waited for programs, where nothing is known of the failure.
    pub(crate) fn watch(&self) -> WatchArguments {
        WatchArguments { step_timeout: self.step_timeout.unwrap_or(hang::STEP_TIMEOUT_NS) }
    }
}

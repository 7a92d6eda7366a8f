//! The arguments of `shrink`.

use super::WatchArguments;
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

    #[command(flatten)]
    pub(crate) watch: WatchArguments,

    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

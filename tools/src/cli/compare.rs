//! The arguments of `compare`.

use super::{LogArguments, WatchArguments};
use clap::Args;
use std::path::PathBuf;

/// Show the first event where two runs part, with what comes before it and after it.
///
/// Each of the two is a trace, the folder of a failure, a reproducer or a plan; the last two are run. Runs of two seeds part at once in times and bytes, so
/// it also says where they first part in what is done. Ends with exit code 1 if they part, 0 if they are equal.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// The first.
    #[arg(value_name = "A")]
    pub(crate) first: PathBuf,

    /// The second.
    #[arg(value_name = "B")]
    pub(crate) second: PathBuf,

    /// How many events before it and after it are shown.
    #[arg(long, value_name = "N", default_value_t = 6)]
    pub(crate) context: usize,

    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,

    /// How long is waited for programs.
    #[command(flatten)]
    pub(crate) watch: WatchArguments,

    /// What is printed of it while it goes on.
    #[command(flatten)]
    pub(crate) log: LogArguments,
}

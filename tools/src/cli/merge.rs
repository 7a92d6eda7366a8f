//! The arguments of `merge`.

use super::{BudgetArguments, JunitArguments};
use clap::Args;
use std::path::PathBuf;

/// Put together what `sweep --json` wrote on several machines, and tell what one sweep of all their seeds would have told: the same summary, exit code and last line.
#[derive(Debug, Args)]
pub(crate) struct MergeArguments {
    /// What `sweep --json` wrote: shards, or any ranges of seeds. `-` reads the standard input. A run that is in several files counts once.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// How long simulated latencies may be, over all files.
    #[command(flatten)]
    pub(crate) budget: BudgetArguments,

    /// Print the summary as one JSON line.
    #[arg(long)]
    pub(crate) json: bool,

    /// Where pages of CI read results.
    #[command(flatten)]
    pub(crate) junit: JunitArguments,
}

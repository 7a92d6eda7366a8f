//! The arguments of `replay`.

use super::{ArtifactArguments, CheckArguments, DrawArguments};
use clap::Args;
use std::path::PathBuf;

/// Run again. A recorded failure that passes although nothing has changed ends with exit code 5: nondeterminism.
#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// A reproducer that `run` or `sweep` wrote, or a plan.
    #[arg(value_name = "FILE", required_unless_present_all = ["scenario", "seed"], conflicts_with_all = ["scenario", "seed"])]
    pub(crate) file: Option<PathBuf>,

    /// The scenario of the seed.
    #[arg(long, value_name = "S", requires = "seed")]
    pub(crate) scenario: Option<String>,

    /// The seed.
    #[arg(long, value_name = "N", requires = "scenario")]
    pub(crate) seed: Option<u64>,

    /// Write every event to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// Where failures of a plan or a seed are kept; a reproducer's is not written again.
    #[command(flatten)]
    pub(crate) artifacts: ArtifactArguments,

    /// Print one JSON object, as `run --json` does.
    #[arg(long)]
    pub(crate) json: bool,

    /// What is checked.
    #[command(flatten)]
    pub(crate) check: CheckArguments,

    /// How the seed's plan is drawn.
    #[command(flatten)]
    pub(crate) draw: DrawArguments,
}

//! The arguments of `replay`.

use super::{ArtifactArguments, CheckArguments, DrawArguments, LogArguments, WatchArguments};
use crate::seeds;
use clap::Args;
use std::path::PathBuf;

/// Run again. A recorded failure that passes although nothing has changed ends with exit code 5: nondeterminism.
#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// A reproducer that `run` or `sweep` wrote, or a plan.
    #[arg(value_name = "FILE", conflicts_with_all = ["scenario", "seed", "repro"])]
    pub(crate) file: Option<PathBuf>,

    /// The word that a failure has printed for logs, instead of a file.
    #[arg(long, value_name = "WORD", conflicts_with_all = ["scenario", "seed"])]
    pub(crate) repro: Option<String>,

    /// The scenario of the seed.
    #[arg(long, value_name = "S", requires = "seed")]
    pub(crate) scenario: Option<String>,

    /// The seed.
    #[arg(long, value_name = "N", requires = "scenario", value_parser = seeds::parse_one, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,

    /// Say whether the recorded violation is still there, by the exit codes that `git bisect run` reads: 0 it is gone, 1 it is there, 125 this
    /// build can't be judged, 128 our own error. Follows the recorded turns, and before it says gone also tries 40 runs near them,
    /// and 80 at random if calls don't come as they were recorded.
    #[arg(long, requires = "file", conflicts_with_all = ["scenario", "seed", "trace"])]
    pub(crate) git_bisect: bool,

    /// With --git-bisect: count the failures of all runs, near the recorded one and at random.
    #[arg(long, hide = true, requires = "git_bisect")]
    pub(crate) count_all: bool,

    /// With --git-bisect: how many of how many runs at random fail so where the violation is there.
    #[arg(long, hide = true, requires = "git_bisect", value_name = "COUNT/OF", value_parser = parse_share)]
    pub(crate) expected: Option<seedstorm_sim::explore::Share>,

    /// Stop after this step, and print the state there: processes, locks, files, tables, queues, beliefs. Nothing is judged.
    #[arg(long, value_name = "STEP", conflicts_with_all = ["git_bisect", "trace"], value_parser = some_step, allow_negative_numbers = true)]
    pub(crate) until: Option<u64>,

    /// Stop at the first step that is not as recorded, show the state there, and judge nothing: exit code 4.
    #[arg(long, requires = "file", conflicts_with_all = ["git_bisect", "until", "trace"])]
    pub(crate) strict: bool,

    /// Print so many of the last events before the violation, or before --until.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "200", require_equals = true, conflicts_with = "git_bisect")]
    pub(crate) verbose: Option<usize>,

    /// Write every event to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// Where failures of a plan or a seed are kept; a reproducer's is not written again.
    #[command(flatten)]
    pub(crate) artifacts: ArtifactArguments,

    /// Print one JSON object, as `run --json` does.
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

    /// How the seed's plan is drawn.
    #[command(flatten)]
    pub(crate) draw: DrawArguments,
}

fn some_step(text: &str) -> Result<u64, String> {
    let step = text.trim().parse().ok().filter(|step| *step > 0);
    step.ok_or_else(|| format!("`{text}` is no step; allowed: a whole number of 1 or more, the first step is 1"))
}

fn parse_share(text: &str) -> Result<seedstorm_sim::explore::Share, String> {
    let numbers = text.split_once('/').and_then(|(count, of)| Some((count.parse().ok()?, of.parse().ok()?)));
    let (count, of) =
        numbers.filter(|(count, of)| count <= of).ok_or_else(|| format!("`{text}` is not COUNT/OF, as in 3/80"))?;
    Ok(seedstorm_sim::explore::Share { count, of })
}

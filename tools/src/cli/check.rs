//! Arguments about what is checked of a run. None of them changes what happens in it.

use clap::Args;
use seedstorm_sim::invariant::CrashPoints;

/// How many crash points of a run are explored unless the command line says otherwise.
const CRASH_POINTS: CrashPoints = CrashPoints::Sampled(4);

/// What is checked.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "What is checked")]
pub(crate) struct CheckArguments {
    /// At how many moments of a run the machine is taken to have lost power, to see whether what is left recovers. A reproducer has its own [default: 4].
    #[arg(long, value_name = "N|all|none")]
    pub(crate) crash_points: Option<CrashPoints>,
}

impl CheckArguments {
    /// How many crash points are explored.
    pub(crate) fn crash_points(self) -> CrashPoints {
        self.crash_points.unwrap_or(CRASH_POINTS)
    }

    /// The words of a command line that mean the same.
    pub(crate) fn words(self) -> Vec<String> {
        self.crash_points.map_or_else(Vec::new, |points| vec!["--crash-points".to_owned(), points.to_string()])
    }
}

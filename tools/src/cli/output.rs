//! Arguments about where output goes, shared by commands.

use crate::shell;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

/// Where failures are kept when nothing is said.
const ARTIFACTS: &str = "artifacts";

/// How much of a run is printed while it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    /// Every step.
    Trace,
    /// What the model itself finds worth saying.
    Debug,
    /// Nothing.
    Off,
}

/// What is printed of a run while it goes on. Given before the command's name it is in `Cli::log`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct LogArguments {
    /// Print each event of the run on stderr, with simulated time and process; `debug`: what programs say of themselves (also: the variable SEEDSTORM_LOG).
    #[arg(long, value_enum, value_name = "trace|debug|off", hide_possible_values = true)]
    pub(crate) log: Option<LogLevel>,
}

/// Where failures are kept.
#[derive(Clone, Debug, Args)]
pub(crate) struct ArtifactArguments {
    /// The folder that reproducers of failures are written to; nothing in it is ever overwritten.
    #[arg(long, value_name = "DIR", default_value = ARTIFACTS)]
    pub(crate) artifacts: PathBuf,
}

impl ArtifactArguments {
    /// The words of a command line that mean the same.
    pub(crate) fn words(&self) -> Vec<String> {
        match self.artifacts.as_path() {
            path if path == Path::new(ARTIFACTS) => Vec::new(),
            path => shell::option("artifacts", &path.display().to_string()),
        }
    }
}

/// Where pages of CI read results.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct JunitArguments {
    /// Also write the result to this file as JUnit XML, which pages of CI show: a suite for each scenario, a test case for each invariant, each event that must happen
    /// sometimes, and determinism.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

impl JunitArguments {
    /// The words of a command line that mean the same.
    pub(crate) fn words(&self) -> Vec<String> {
        self.junit.as_ref().map_or_else(Vec::new, |path| shell::option("junit", &path.display().to_string()))
    }
}

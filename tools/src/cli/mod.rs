//! The command line: one file for each command's arguments. What a command does is in the file of its name beside this folder.

mod bisect;
mod budget;
mod check;
mod compare;
mod draw;
mod explore;
mod export;
mod list;
mod merge;
mod output;
mod replay;
mod report;
mod run;
mod selftest;
mod shrink;
mod sweep;
mod watch;

pub(crate) use bisect::BisectArguments;
pub(crate) use budget::BudgetArguments;
pub(crate) use check::CheckArguments;
pub(crate) use compare::CompareArguments;
pub(crate) use draw::DrawArguments;
pub(crate) use explore::ExploreArguments;
pub(crate) use export::{ExportArguments, ExportFormat};
pub(crate) use list::{ListArguments, Listed};
pub(crate) use merge::MergeArguments;
pub(crate) use output::{ArtifactArguments, JunitArguments, LogArguments, LogLevel};
pub(crate) use replay::ReplayArguments;
pub(crate) use report::ReportArguments;
pub(crate) use run::RunArguments;
pub(crate) use selftest::SelftestArguments;
pub(crate) use shrink::ShrinkArguments;
pub(crate) use sweep::{Share, SweepArguments};
pub(crate) use watch::{WatchArguments, words_to_show};

use clap::{Parser, Subcommand};

/// Deterministic simulation of agent swarms: run a seed, sweep many, replay a failure.
#[derive(Debug, Parser)]
#[command(
    name = "seedstorm",
    version,
    max_term_width = 120,
    after_help = "Exit codes: 0 pass, 1 an invariant was violated, 2 usage or bad input, or an output that can't be written, \
                  3 a latency is over its budget, 4 nothing ran, something that must happen never \
                  did, or a part of what was to be judged is missing, 5 nondeterminism found, 70 internal error, 130 interrupted."
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,

    /// See `LogArguments`: commands that take it show it. Others refuse it with a reason, and it may stand before any.
    #[arg(long, global = true, hide = true, value_enum)]
    pub(crate) log: Option<LogLevel>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one seed of one or more scenarios.
    Run(RunArguments),
    /// Run many seeds in worker processes.
    Sweep(SweepArguments),
    /// Put the results of several sweeps together, and judge them as one.
    Merge(MergeArguments),
    /// Run every schedule of one plan, up to a bound.
    Explore(ExploreArguments),
    /// Plant each known bug, and measure how soon it is found, by what.
    Selftest(SelftestArguments),
    /// Run a stored failure, a stored plan, or a seed again.
    Replay(ReplayArguments),
    /// Make a page that shows what happened in a run, or in a sweep.
    Report(ReportArguments),
    /// Write a trace in a format that other programs read.
    Export(ExportArguments),
    /// Find the step at which a failure was sealed, or the commit that brought it.
    Bisect(BisectArguments),
    /// Cut a recorded failure down to the smallest run that still fails alike.
    Shrink(ShrinkArguments),
    /// Show where two runs part.
    Compare(CompareArguments),
    /// List scenarios, faults, strategies, invariants or mutants.
    List(ListArguments),
    /// Print completions for a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, as roff.
    Man,
    /// Build and judge one commit: what `bisect --commits` has git run.
    #[command(hide = true)]
    BisectStep {
        /// What is to be done.
        job: std::path::PathBuf,
    },
    /// Run seeds that arrive on the standard input: the other half of `sweep`.
    #[command(hide = true)]
    Worker {
        /// What the program that asks was called by.
        #[arg(long)]
        program: String,
    },
}

impl Command {
    /// How long it waits for a program's next system call; `None`: it runs no program, or leaves that to whoever has started it.
    pub(crate) fn watch(&self) -> Option<WatchArguments> {
        match self {
            Command::Run(arguments) => Some(arguments.watch),
            Command::Sweep(arguments) => Some(arguments.watch),
            Command::Explore(arguments) => Some(arguments.watch),
            Command::Selftest(arguments) => Some(arguments.watch),
            Command::Replay(arguments) => Some(arguments.watch),
            Command::Bisect(arguments) => Some(arguments.watch),
            Command::Shrink(arguments) => Some(arguments.watch),
            Command::Compare(arguments) => Some(arguments.watch),
            Command::Merge(_)
            | Command::Report(_)
            | Command::Export(_)
            | Command::List(_)
            | Command::Completions { .. }
            | Command::Man
            | Command::BisectStep { .. }
            | Command::Worker { .. } => None,
        }
    }
}

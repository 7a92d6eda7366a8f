//! The command line of seedstorm: runs, sweeps and replays scenarios, and tells people and machines what came of it. All that touches files,
//! processes, terminals and the wall clock is here; what happens inside a run is in `seedstorm_sim`, what is run in a crate of scenarios.
//!
//! A crate with scenarios of its own gets the same command line by [`main_with`].

#![forbid(unsafe_code)]
// They panic where nobody listens: `stderr` is for the one, what a write says is looked at for the other.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod artifacts;
mod bisect;
mod blob;
mod budget;
mod catalogue;
mod checked;
mod cli;
mod compare;
mod duration;
mod exit;
mod explore;
mod export;
mod fault_options;
mod file_kind;
mod from_outside;
mod git_bisect;
mod hang;
mod interrupt;
mod keep;
mod list;
mod log;
mod measured;
mod merge;
mod misplaced;
mod moment_state;
mod panics;
mod parting;
mod picture;
mod plan_file;
mod progress;
mod refused;
mod replay;
mod report;
mod reproducer;
mod run;
mod seeds;
mod selftest;
mod shard;
mod shell;
mod shrink;
mod stderr;
mod sweep;
mod this_build;
mod traced;
mod two_plans;
mod until;
mod words;

pub use catalogue::Known;
pub use exit::Exit;
pub use report::SCHEMA_VERSION;
pub use reproducer::REPRODUCER_FORMAT;
pub use sweep::{ALLOCATOR_KEEPS_MEMORY, WORKER_INVARIANTS};

use catalogue::Catalogue;
use clap::{CommandFactory, FromArgMatches};
use cli::{Cli, Command};
use exit::{Problem, Result};
use std::io::Write;
use std::process::ExitCode;

/// Runs the command line of this process over `scenarios`.
pub fn main_with(scenarios: &'static [Known]) -> ExitCode {
    let exit = git_bisect::unless_no_verdict(panics::catch(|| main_here(scenarios)));
    // What was interrupted may still be at work, and can't remove what it has begun.
    keep::remove_all();
    exit.into()
}

fn main_here(scenarios: &'static [Known]) -> Exit {
    let command = command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let command = match command {
        Ok(command) => command,
        Err(error) => {
            // Help and version are printed on the standard output and are no error. If nobody reads, nothing is lost.
            return match error.print() {
                _ if error.use_stderr() => Exit::Usage,
                Err(unwritten) if unwritten.kind() != std::io::ErrorKind::BrokenPipe => {
                    complain("error", &format!("the standard output can't be written: {unwritten}"), Exit::Usage)
                }
                _ => Exit::Pass,
            };
        }
    };
    match carry_out(scenarios, &command) {
        Ok(exit) => exit,
        Err(Problem::OutputClosed) => Exit::Pass,
        Err(problem @ (Problem::Usage(_) | Problem::Refused(_))) => {
            complain("error", &problem.to_string(), Exit::Usage)
        }
        // Whoever could say more has done so. It would hang again where it has, so what was called is what shows it.
        Err(Problem::Hung(hang)) => {
            stderr::say(format_args!("{hang}\n\n{}", shell::called()));
            Exit::Violated
        }
        Err(Problem::Interrupted(when)) => complain("interrupted", &when.to_string(), Exit::Interrupted),
        Err(Problem::Internal(error)) => complain("internal error", &format!("{error:#}"), Exit::Internal),
    }
}

/// The command line, with the name that this program goes by: one with other scenarios has its own.
fn command() -> clap::Command {
    let program = shell::program();
    let name = shell::name_of(&program);
    if name == OWN_NAME {
        return Cli::command();
    }
    // Once, for the whole process.
    let name: &'static str = name.to_owned().leak();
    Cli::command().name(name).version(concat!("(seedstorm ", env!("CARGO_PKG_VERSION"), ")"))
}

const OWN_NAME: &str = "seedstorm";

/// Says what is wrong on stderr.
fn complain(what: &str, message: &str, exit: Exit) -> Exit {
    stderr::say(format_args!("{what}: {message}"));
    exit
}

fn carry_out(scenarios: &'static [Known], cli: &Cli) -> Result<Exit> {
    let program = match &cli.command {
        // A worker speaks for the program that has started it.
        Command::Worker { program } => program.clone(),
        _ => shell::program(),
    };
    // Once, for the whole process.
    let program: &'static str = program.leak();
    let catalogue = Catalogue::new(scenarios, program);
    words::learn(scenarios);
    if !matches!(cli.command, Command::Worker { .. }) {
        log::start(cli)?;
    }
    if let Some(watch) = cli.command.watch() {
        hang::limit(watch.step_timeout_ns());
    }
    match &cli.command {
        Command::Run(arguments) => run::run(catalogue, arguments),
        Command::Sweep(arguments) => sweep::sweep(catalogue, arguments),
        Command::Merge(arguments) => merge::merge(catalogue, arguments),
        Command::Explore(arguments) => explore::explore_command(catalogue, arguments),
        Command::Selftest(arguments) => selftest::selftest(catalogue, arguments),
        Command::Replay(arguments) => replay::replay(catalogue, arguments),
        Command::Report(arguments) => picture::report(catalogue, arguments),
        Command::Export(arguments) => export::export(arguments),
        Command::Bisect(arguments) => bisect::bisect(catalogue, arguments),
        Command::Shrink(arguments) => shrink::shrink_command(catalogue, arguments),
        Command::Compare(arguments) => compare::compare(catalogue, arguments),
        Command::List(arguments) => list::list(catalogue, arguments, &mut std::io::stdout()),
        Command::BisectStep { job } => bisect::step(job),
        Command::Worker { .. } => sweep::work(catalogue, &mut std::io::stdout()),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            let mut command = command();
            let name = command.get_name().to_owned();
            clap_complete::generate(*shell, &mut command, name, &mut text);
            print(&text)
        }
        Command::Man => {
            let mut text = Vec::new();
            let mut command = command();
            command.build();
            clap_mangen::Man::new(command.clone()).render(&mut text)?;
            for part in command.get_subcommands().filter(|part| !part.is_hide_set() && part.get_name() != "help") {
                clap_mangen::Man::new(part.clone()).render(&mut text)?;
            }
            print(&text)
        }
    }
}

fn print(text: &[u8]) -> Result<Exit> {
    let mut output = std::io::stdout();
    output.write_all(text)?;
    output.flush()?;
    Ok(Exit::Pass)
}

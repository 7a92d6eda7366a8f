//! `--log`: prints the events of a run while it goes on. It changes nothing in the run.

use crate::cli::{Cli, Command, LogLevel};
use crate::exit::{Problem, Result};
use crate::hang;
use crate::words::Narrator;
use clap::ValueEnum;
use seedstorm_sim::kernel::{Teller, View};
use seedstorm_sim::trace::Event;
use seedstorm_sim::trace::layer::{self, SimulatedTime, is_of_programs};
use std::io::{self, Write};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;

/// The variable that is asked when the option isn't given.
pub(crate) const VARIABLE: &str = "SEEDSTORM_LOG";

/// Starts printing on stderr, if the option or else the variable says so. Once in a process.
///
/// # Errors
/// The variable holds something else than a level; the option was given to a command that has no run of its own to tell of.
pub(crate) fn start(cli: &Cli) -> Result<()> {
    let given = match &cli.command {
        Command::Run(arguments) => Some(arguments.log),
        Command::Compare(arguments) => Some(arguments.log),
        // With --git-bisect it judges by many runs, in workers.
        Command::Replay(arguments) if !arguments.git_bisect => Some(arguments.log),
        _ => None,
    };
    let Some(given) = given else {
        return match cli.log {
            Some(_) => Err(Problem::usage(
                "--log prints the events of a run: `run`, `replay` without --git-bisect and `compare` take it; \
                 other commands have no run, or many of them in worker processes, which print nothing",
            )),
            // The variable is of a whole shell: it is no word to this command.
            None => Ok(()),
        };
    };
    let level = match (given.log.or(cli.log), std::env::var(VARIABLE)) {
        (Some(level), _) => level,
        (None, Ok(text)) if !text.is_empty() => LogLevel::from_str(&text, true)
            .map_err(|_| Problem::usage(format!("{VARIABLE}={text}: a level is trace, debug or off")))?,
        (None, _) => LogLevel::Off,
    };
    let filter = match level {
        LogLevel::Trace => LevelFilter::TRACE,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Off => return Ok(()),
    };
    let printer = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .event_format(SimulatedTime)
        .with_writer(|| Waiting)
        // It would say on stderr that stderr can't be written, and panic.
        .log_internal_errors(false);
    let subscriber = tracing_subscriber::registry().with(printer).with(filter).with(filter_fn(is_of_programs));
    tracing::subscriber::set_global_default(subscriber).map_err(|error| Problem::Internal(error.into()))
}

/// Tells events in the words that failures are told in, where somebody listens.
pub(crate) fn teller() -> Option<Teller> {
    if !layer::is_wanted() {
        return None;
    }
    let mut narrator = None;
    Some(Box::new(move |event: &Event<'_>, view: &View<'_>| {
        narrator.get_or_insert_with(|| Narrator::of(view)).tell(event)
    }))
}

/// The standard error: a run waits for whoever reads it, and does not hang.
struct Waiting;

impl Write for Waiting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        hang::writing(|| io::stderr().write(bytes))
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        hang::writing(|| io::stderr().write_all(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        hang::writing(|| io::stderr().flush())
    }
}

//! `--log`: prints the events of a run while it goes on. It changes nothing in the run.

use crate::cli::LogLevel;
use crate::exit::{Problem, Result};
use clap::ValueEnum;
use seedstorm_sim::trace::layer::SimulatedTime;
use tracing::level_filters::LevelFilter;

/// The variable that is asked when the option isn't given.
pub(crate) const VARIABLE: &str = "SEEDSTORM_LOG";

/// Starts printing on stderr, if the option or else the variable says so. Once in a process.
///
/// # Errors
/// The variable holds something else than a level.
pub(crate) fn start(option: Option<LogLevel>) -> Result<()> {
    let level = match (option, std::env::var(VARIABLE)) {
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
    let subscriber = tracing_subscriber::fmt()
        .event_format(SimulatedTime)
        .with_writer(std::io::stderr)
        .with_max_level(filter)
        .finish();
    tracing::subscriber::set_global_default(subscriber).map_err(|error| Problem::Internal(error.into()))
}

//! The arguments of `export`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Write a trace in a format that other programs read.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The format.
    #[arg(long, value_enum)]
    pub(crate) format: ExportFormat,

    /// A trace that `--trace` wrote.
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// Where to write it; `-` and without this: the standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// A format of another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Chrome's trace event format as JSON, for ui.perfetto.dev.
    Perfetto,
    /// A log with vector clocks, for ShiViz.
    Shiviz,
    /// One JSON object for each event.
    Jsonl,
}

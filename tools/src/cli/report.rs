//! The arguments of `report`. What it does is in `picture`.

use clap::Args;
use std::path::PathBuf;

/// Make a page that shows what happened: in one run, from its trace; or in a sweep, from its folder of artifacts.
///
/// The page is one HTML file that loads nothing: open it in any browser.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// A trace that `--trace` wrote, or a folder of artifacts.
    #[arg(value_name = "TRACE|DIR")]
    pub(crate) input: PathBuf,

    /// Where to write the page; `-` is the standard output. Without this: beside the trace, or index.html in the folder.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

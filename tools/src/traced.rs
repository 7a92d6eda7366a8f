//! Trace files on the real file system. Their format is `sim`'s; where two of them part is told by `parting`.

use crate::exit::Result;
use crate::keep::{self, Output};
use anyhow::Context;
use seedstorm_sim::Outcome;
use seedstorm_sim::kernel::Listener;
use seedstorm_sim::trace::file::{Ending, Reader, Writer};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// A trace that a run writes.
pub(crate) struct Tracing {
    writer: Writer<Output>,
    path: PathBuf,
}

impl Tracing {
    /// Begins the file, before the run. It gets its name when it is whole.
    ///
    /// # Errors
    /// It can't be written there.
    pub(crate) fn create(path: &Path) -> Result<Tracing> {
        Ok(Tracing::to(keep::output(path, true)?, path))
    }

    /// Writes to an output that is there, and is told by this path.
    pub(crate) fn to(output: impl Into<Output>, path: &Path) -> Tracing {
        Tracing { writer: Writer::new(output.into()), path: path.to_owned() }
    }

    /// Where it is to be.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The listener for the run's settings.
    pub(crate) fn listener(&self) -> Listener {
        self.writer.listener()
    }

    /// Ends the file, after the run, with what the run came to.
    ///
    /// # Errors
    /// Something could not be written.
    pub(crate) fn finish(self, outcome: &Outcome) -> anyhow::Result<()> {
        let ending = Some(Ending::from(outcome));
        let written = self.writer.finish(outcome.trace_hash, ending);
        let written = written.and_then(Output::finish);
        written.with_context(|| format!("writing the trace {}", self.path.display()))
    }
}

/// Opens a trace.
///
/// # Errors
/// It can't be read, or is none.
pub(crate) fn open(path: &Path) -> anyhow::Result<Reader<BufReader<File>>> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    Reader::new(BufReader::new(file)).with_context(|| path.display().to_string())
}

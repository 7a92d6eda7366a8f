//! Trace files on the real file system, and where two of them part. Their format is `sim`'s.

use crate::exit::Result;
use crate::keep::{self, Output};
use anyhow::Context;
use seedstorm_sim::Outcome;
use seedstorm_sim::kernel::Listener;
use seedstorm_sim::trace::drift;
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

/// The first step at which two traces differ, and what differs there; `None` if they are equal.
///
/// # Errors
/// A file that can't be read or is no whole trace.
pub(crate) fn first_difference(first: &Path, second: &Path) -> anyhow::Result<Option<(u64, String)>> {
    let (mut first_trace, mut second_trace) = (open(first)?, open(second)?);
    let found = drift::first_difference(&mut first_trace, &mut second_trace);
    let found = found.with_context(|| format!("comparing {} with {}", first.display(), second.display()))?;
    Ok(found.map(|difference| (difference.step(), difference.in_words(&first_trace.head().processes).to_string())))
}

/// Opens a trace.
///
/// # Errors
/// It can't be read, or is none.
pub(crate) fn open(path: &Path) -> anyhow::Result<Reader<BufReader<File>>> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    Reader::new(BufReader::new(file)).with_context(|| path.display().to_string())
}

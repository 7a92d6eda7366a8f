//! `export`: a trace in formats that other programs read, one file for each. Pages for people are in `picture`.

mod jsonl;
mod perfetto;
mod shiviz;

use crate::cli::{ExportArguments, ExportFormat};
use crate::exit::{Exit, Interrupted, Problem, Result};
use crate::file_kind::FileKind;
use crate::interrupt;
use crate::keep;
use seedstorm_sim::trace::file::{Reader, TraceError};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

/// Why an export has ended.
#[derive(Debug)]
enum Trouble {
    /// The trace.
    Trace(TraceError),
    /// The output.
    Output(io::Error),
}

impl From<TraceError> for Trouble {
    fn from(error: TraceError) -> Trouble {
        Trouble::Trace(error)
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::Output(error)
    }
}

/// Writes a trace in another format.
///
/// # Errors
/// A trace that is none, is damaged, cut short, or of another format; an output that can't be written.
pub(crate) fn export(arguments: &ExportArguments) -> Result<Exit> {
    let path = &arguments.trace;
    let wrong = |why: &dyn std::fmt::Display| Problem::Usage(FileKind::complaint(path, &[FileKind::Trace], why));
    let file = File::open(path).map_err(|error| wrong(&error))?;
    let reader = Reader::new(BufReader::new(file)).map_err(|error| wrong(&error))?;
    let written = match arguments.output.as_deref().filter(|output| *output != Path::new("-")) {
        None => write(arguments.format, reader, &mut BufWriter::new(io::stdout())),
        Some(path) => {
            // So that a draft is taken away, too.
            interrupt::flag()?;
            let mut out = BufWriter::new(Unless(keep::output(path, false)?));
            let written = write(arguments.format, reader, &mut out).and_then(|()| {
                let Unless(output) = out.into_inner().map_err(io::IntoInnerError::into_error)?;
                Ok(output.finish()?)
            });
            match written {
                Err(Trouble::Output(_)) if interrupt::is_raised() => {
                    return Err(Problem::Interrupted(Interrupted::Else("what was to be written is as it was")));
                }
                Err(Trouble::Output(error)) => return Err(keep::unwritten(path, &error)),
                other => other,
            }
        }
    };
    match written {
        Ok(()) => Ok(Exit::Pass),
        Err(Trouble::Trace(error)) => Err(wrong(&error)),
        Err(Trouble::Output(error)) => Err(error.into()),
    }
}

/// What is written to while nobody has interrupted.
struct Unless<W>(W);

impl<W: Write> Write for Unless<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if interrupt::is_raised() { Err(io::Error::other("interrupted")) } else { self.0.write(bytes) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn write(format: ExportFormat, reader: Reader<impl Read>, out: &mut impl Write) -> std::result::Result<(), Trouble> {
    match format {
        ExportFormat::Perfetto => perfetto::write(reader, out)?,
        ExportFormat::Shiviz => shiviz::write(reader, out)?,
        ExportFormat::Jsonl => jsonl::write(reader, out)?,
    }
    out.flush()?;
    Ok(())
}

//! `export`: a trace in formats that other programs read, one file for each. Pages for people are in `picture`.

mod jsonl;
mod perfetto;
mod shiviz;

use crate::cli::{ExportArguments, ExportFormat};
use crate::exit::{Exit, Problem, Result};
use crate::file_kind::FileKind;
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
        Some(output) => {
            keep::check_output(output, false)?;
            let unwritten =
                |error: io::Error| Problem::usage(format!("{}: can't be written: {error}", output.display()));
            let whole = keep::begin_replacement(output).map_err(unwritten)?;
            let exported = write(arguments.format, reader, &mut BufWriter::new(whole.file()));
            match exported {
                Err(Trouble::Output(error)) => return Err(unwritten(error)),
                Err(trouble) => Err(trouble),
                Ok(()) => return whole.finish().map_err(unwritten).map(|()| Exit::Pass),
            }
        }
    };
    match written {
        Ok(()) => Ok(Exit::Pass),
        Err(Trouble::Trace(error)) => Err(wrong(&error)),
        Err(Trouble::Output(error)) => Err(error.into()),
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

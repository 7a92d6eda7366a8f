//! A file of JSON lines that is read twice: once to see what is in it, then line by line in the order of seeds. What lines mean is in `sections`.

use crate::exit::{Problem, Result};
use crate::file_kind::FileKind;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// A file.
pub(super) struct Source {
    /// As messages name it.
    pub(super) name: String,
    bytes: Bytes,
}

enum Bytes {
    /// A file, which can be read again.
    File(File),
    /// All that came from where things can be read once only.
    Memory(Vec<u8>),
}

/// Where a line is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Its number; the first is 1.
    pub(super) line: u64,
    offset: u64,
    len: u64,
}

impl Source {
    /// Opens a file, or the standard input for `-`.
    ///
    /// # Errors
    /// It can't be read.
    pub(super) fn open(path: &Path) -> Result<Source> {
        let is_stdin = path == Path::new("-");
        let name = if is_stdin { "the standard input".to_owned() } else { path.display().to_string() };
        let read = || -> io::Result<Bytes> {
            let mut bytes = Vec::new();
            if is_stdin {
                io::stdin().lock().read_to_end(&mut bytes)?;
                return Ok(Bytes::Memory(bytes));
            }
            let mut file = File::open(path)?;
            if file.metadata()?.is_file() {
                return Ok(Bytes::File(file));
            }
            file.read_to_end(&mut bytes)?;
            Ok(Bytes::Memory(bytes))
        };
        let complain = |error: io::Error| match path.is_dir() {
            true => Problem::usage(FileKind::complaint(path, &[], error)),
            false => Problem::usage(format!("{name}: it can't be read: {error}")),
        };
        let bytes = read().map_err(complain)?;
        Ok(Source { name, bytes })
    }

    /// Shows each line, without its end, and whether it has one.
    ///
    /// # Errors
    /// The file can't be read; what `show` says.
    pub(super) fn lines(&self, mut show: impl FnMut(Place, &[u8], bool) -> Result<()>) -> Result<()> {
        let mut reader: Box<dyn BufRead> = match &self.bytes {
            Bytes::File(file) => Box::new(BufReader::new(file)),
            Bytes::Memory(bytes) => Box::new(&bytes[..]),
        };
        let (mut line, mut place) = (Vec::new(), Place { line: 1, offset: 0, len: 0 });
        loop {
            line.clear();
            let len = reader.read_until(b'\n', &mut line).map_err(|error| self.unreadable(&error))?;
            if len == 0 {
                return Ok(());
            }
            let has_end = line.last() == Some(&b'\n');
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            place.len = text.len() as u64;
            show(place, text, has_end)?;
            (place.line, place.offset) = (place.line + 1, place.offset + len as u64);
        }
    }

    /// Reads a line again.
    ///
    /// # Errors
    /// It can't be read.
    pub(super) fn line(&self, place: Place) -> Result<Vec<u8>> {
        match &self.bytes {
            Bytes::Memory(bytes) => Ok(bytes[place.offset as usize..][..place.len as usize].to_vec()),
            Bytes::File(file) => {
                let (mut file, mut line) = (file, vec![0; place.len as usize]);
                let read = file.seek(SeekFrom::Start(place.offset)).and_then(|_| file.read_exact(&mut line));
                read.map(|()| line).map_err(|error| self.unreadable(&error))
            }
        }
    }

    fn unreadable(&self, error: &io::Error) -> Problem {
        Problem::usage(format!("{}: it can't be read: {error}", self.name))
    }
}

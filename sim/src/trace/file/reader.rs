//! Reads trace files, and says where and how one is wrong. Writing is in `writer`.

use super::{FORMAT, FRAME_BYTES_MAX, Head, Hexadecimal, MAGIC, Problem, Tail, TraceError};
use crate::trace::{Record, codec};
use serde::de::DeserializeOwned;
use std::io::{self, Read};
use twox_hash::XxHash3_64;
use zstd::bulk::Decompressor;

/// Reads a trace: an iterator of its events. After the last one [`Reader::tail`] tells the run's hash; after an error there are no more.
pub struct Reader<R: Read> {
    input: R,
    decompressor: Decompressor<'static>,
    /// Bytes of the file that were read.
    offset: u64,
    head: Head,
    tail: Option<Tail>,
    frame: Vec<u8>,
    /// Where the frame begins in the file.
    frame_offset: u64,
    /// Bytes of the frame that were decoded.
    used: usize,
    events: u64,
    has_failed: bool,
}

impl<R: Read> Reader<R> {
    /// Begins to read. `input` is best buffered.
    ///
    /// # Errors
    /// A file that is no trace, is from a newer version, is cut short or damaged within its head.
    pub fn new(input: R) -> Result<Reader<R>, TraceError> {
        let decompressor = Decompressor::new().map_err(|error| at(0, Problem::Io(error)))?;
        let head = Head {
            scenario: String::new(),
            seed: crate::Seed(0),
            strategy: crate::plan::StrategyPlan::Timed,
            processes: Vec::new(),
            plan: String::new(),
        };
        let mut reader = Reader {
            input,
            decompressor,
            offset: 0,
            head,
            tail: None,
            frame: Vec::new(),
            frame_offset: 0,
            used: 0,
            events: 0,
            has_failed: false,
        };
        reader.read_magic()?;
        let version_offset = reader.offset;
        match reader.number("the version")? {
            version if version > FORMAT => return Err(at(version_offset, Problem::TooNew(version))),
            0 => return Err(at(version_offset, Problem::Damaged("there is no format 0".into()))),
            version if version < FORMAT => return Err(at(version_offset, Problem::TooOld(version))),
            _ => {}
        }
        let len = reader.number("the head")?;
        reader.read_frame(len, "the head")?;
        reader.head = reader.only_value()?;
        Ok(reader)
    }

    /// What the trace is of.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// What stands at the end, once all events were read.
    pub fn tail(&self) -> Option<&Tail> {
        self.tail.as_ref()
    }

    fn read_magic(&mut self) -> Result<(), TraceError> {
        let found = self.bytes(MAGIC.len() as u32)?;
        if found == MAGIC { Ok(()) } else { Err(at(0, Problem::NotATrace(Hexadecimal(found)))) }
    }

    /// So many bytes, or fewer at the end of the file. The memory that it takes grows with what is there, not with what is asked for.
    fn bytes(&mut self, len: u32) -> Result<Vec<u8>, TraceError> {
        let mut bytes = Vec::new();
        let read = (&mut self.input).take(u64::from(len)).read_to_end(&mut bytes);
        read.map_err(|error| at(self.offset, Problem::Io(error)))?;
        self.offset += bytes.len() as u64;
        Ok(bytes)
    }

    fn number(&mut self, within: &'static str) -> Result<u32, TraceError> {
        let offset = self.offset;
        let bytes = self.bytes(4)?;
        bytes.try_into().map(u32::from_le_bytes).map_err(|_| at(offset, Problem::Truncated(within)))
    }

    /// Reads the rest of a frame whose compressed length has been read.
    fn read_frame(&mut self, len: u32, within: &'static str) -> Result<(), TraceError> {
        self.frame_offset = self.offset - 4;
        let offset = self.frame_offset;
        let held = self.number(within)?;
        if let Some(&long) = [len, held].iter().find(|len| **len > FRAME_BYTES_MAX) {
            return Err(at(offset, Problem::TooLong(long)));
        }
        let (hash, compressed) = (self.bytes(8)?, self.bytes(len)?);
        if hash.len() < 8 || compressed.len() < len as usize {
            return Err(at(offset, Problem::Truncated(within)));
        }
        if hash != XxHash3_64::oneshot(&compressed).to_le_bytes() {
            return Err(at(
                offset,
                Problem::Damaged("a frame's bytes don't have the hash that they were written with".into()),
            ));
        }
        let damaged = |error: io::Error| at(offset, Problem::Damaged(error.to_string()));
        self.frame = self.decompressor.decompress(&compressed, held as usize).map_err(damaged)?;
        self.used = 0;
        if self.frame.len() == held as usize && held > 0 {
            return Ok(());
        }
        let found = self.frame.len();
        Err(at(offset, Problem::Damaged(format!("a frame holds {found} bytes where {held} are announced"))))
    }

    /// The one value that fills the frame.
    fn only_value<T: DeserializeOwned>(&mut self) -> Result<T, TraceError> {
        let value =
            codec::decode(&self.frame).map_err(|error| at(self.frame_offset, Problem::Damaged(error.to_string())))?;
        self.used = self.frame.len();
        Ok(value)
    }

    fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
        if self.used == self.frame.len() {
            match self.number("the events")? {
                0 => return self.read_tail().map(|()| None),
                len => self.read_frame(len, "the events")?,
            }
        }
        let decoded = codec::decode_prefix(&self.frame[self.used..]);
        let (record, used) = decoded.map_err(|error| {
            let problem = format!("event {}, at byte {} of this frame: {error}", self.events + 1, self.used);
            at(self.frame_offset, Problem::Damaged(problem))
        })?;
        self.used += used;
        self.events += 1;
        Ok(Some(record))
    }

    fn read_tail(&mut self) -> Result<(), TraceError> {
        let len = self.number("the end")?;
        self.read_frame(len, "the end")?;
        let tail: Tail = self.only_value()?;
        if tail.events != self.events {
            let problem = format!("there are {} events where {} are announced", self.events, tail.events);
            return Err(at(self.frame_offset, Problem::Damaged(problem)));
        }
        let offset = self.offset;
        if !self.bytes(1)?.is_empty() {
            return Err(at(offset, Problem::Damaged("something follows the end".into())));
        }
        self.tail = Some(tail);
        Ok(())
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.tail.is_some() || self.has_failed {
            return None;
        }
        let next = self.next_record();
        self.has_failed = next.is_err();
        next.transpose()
    }
}

fn at(offset: u64, problem: Problem) -> TraceError {
    TraceError { offset, problem }
}

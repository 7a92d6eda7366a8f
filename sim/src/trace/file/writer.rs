//! Writes trace files: as the listener of a run, or event by event. Reading is in `reader`.

use super::{Ending, FORMAT, FRAME_BYTES, FRAME_BYTES_MAX, Head, MAGIC, Tail};
use crate::kernel::{Listener, View};
use crate::plan::StrategyPlan;
use crate::seed::Seed;
use crate::trace::codec;
use crate::trace::{Event, TraceHash};
use serde::Serialize;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use twox_hash::XxHash3_64;
use zstd::bulk::Compressor;

/// zstd's level: the fastest of those that still halve a trace.
const LEVEL: i32 = 1;

/// Writes a trace, event by event.
pub struct FileWriter<W: Write> {
    out: W,
    compressor: Compressor<'static>,
    frame: Vec<u8>,
    events: u64,
}

impl<W: Write> FileWriter<W> {
    /// Begins a trace.
    ///
    /// # Errors
    /// Those of writing.
    pub fn new(out: W, head: &Head) -> io::Result<FileWriter<W>> {
        let compressor = Compressor::new(LEVEL)?;
        let mut writer = FileWriter { out, compressor, frame: Vec::with_capacity(FRAME_BYTES * 2), events: 0 };
        writer.out.write_all(&MAGIC)?;
        writer.out.write_all(&FORMAT.to_le_bytes())?;
        writer.frame_of(head)?;
        Ok(writer)
    }

    /// Adds an event.
    ///
    /// # Errors
    /// Those of writing; an event that no frame can hold.
    pub fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        codec::encode_into(&mut self.frame, event);
        self.events += 1;
        if self.frame.len() >= FRAME_BYTES { self.flush() } else { Ok(()) }
    }

    /// Ends the trace; gives back what it was written to, flushed.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(mut self, trace_hash: TraceHash, ending: Option<Ending>) -> io::Result<W> {
        self.flush()?;
        self.out.write_all(&[0; 4])?;
        let tail = Tail { events: self.events, trace_hash, ending };
        self.frame_of(&tail)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn frame_of<T: Serialize>(&mut self, value: &T) -> io::Result<()> {
        codec::encode_into(&mut self.frame, value);
        self.flush()
    }

    /// Writes what has been gathered as a frame.
    fn flush(&mut self) -> io::Result<()> {
        if self.frame.is_empty() {
            return Ok(());
        }
        if self.frame.len() > FRAME_BYTES_MAX as usize {
            let len = self.frame.len();
            return Err(io::Error::other(format!("an event of {len} bytes is longer than a frame may be")));
        }
        let compressed = self.compressor.compress(&self.frame)?;
        self.out.write_all(&(compressed.len() as u32).to_le_bytes())?;
        self.out.write_all(&(self.frame.len() as u32).to_le_bytes())?;
        self.out.write_all(&XxHash3_64::oneshot(&compressed).to_le_bytes())?;
        self.out.write_all(&compressed)?;
        self.frame.clear();
        Ok(())
    }
}

/// Writes the trace of a run: give [`Writer::listener`] to the run's settings, and call [`Writer::finish`] after it.
pub struct Writer<W: Write> {
    state: Arc<Mutex<State<W>>>,
}

enum State<W: Write> {
    /// No event yet: what the trace is of is not known.
    New(W),
    Open(FileWriter<W>),
    /// Writing failed; the run went on.
    Failed(io::Error),
    /// Taken by `finish`, or while changing.
    Gone,
}

impl<W: Write + Send + 'static> Writer<W> {
    /// A writer to `out`. It writes in large pieces: `out` needs no buffer.
    pub fn new(out: W) -> Writer<W> {
        Writer { state: Arc::new(Mutex::new(State::New(out))) }
    }

    /// The listener for [`crate::Settings::listener`].
    pub fn listener(&self) -> Listener {
        let state = self.state.clone();
        Box::new(move |event, view| {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            *state = std::mem::replace(&mut *state, State::Gone).with(event, view);
        })
    }

    /// Ends the trace after the run; gives back what it was written to.
    ///
    /// # Errors
    /// The first error of writing, at whichever event.
    pub fn finish(self, trace_hash: TraceHash, ending: Option<Ending>) -> io::Result<W> {
        let state = std::mem::replace(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner), State::Gone);
        match state {
            State::New(out) => FileWriter::new(out, &no_run())?.finish(trace_hash, ending),
            State::Open(writer) => writer.finish(trace_hash, ending),
            State::Failed(error) => Err(error),
            State::Gone => Err(io::Error::other("the trace's writer was lost in a panic")),
        }
    }
}

impl<W: Write> State<W> {
    fn with(self, event: &Event<'_>, view: &View<'_>) -> State<W> {
        let opened = match self {
            State::New(out) => FileWriter::new(out, &head(view)),
            State::Open(writer) => Ok(writer),
            failed => return failed,
        };
        let written = opened.and_then(|mut writer| {
            writer.event(event)?;
            Ok(writer)
        });
        written.map_or_else(State::Failed, State::Open)
    }
}

fn head(view: &View<'_>) -> Head {
    let plan = view.plan();
    let processes = view.processes().map(|process| process.name.to_owned()).collect();
    Head { scenario: plan.scenario.clone(), seed: plan.seed, strategy: plan.strategy, processes, plan: plan.to_toml() }
}

/// The head of a trace to whose listener nothing was told.
fn no_run() -> Head {
    Head {
        scenario: String::new(),
        seed: Seed(0),
        strategy: StrategyPlan::Timed,
        processes: Vec::new(),
        plan: String::new(),
    }
}

//! A process: what outlives its boots, and what one boot holds. Killing and restarting is in `control`.

use super::core::Core;
use crate::seed::{Draw, Path, Seed, Stream, stream_key};
use crate::sys::Sys;
use crate::sys::disk::Owner;
use crate::trace::{ProcessId, TaskId};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::LazyLock;

/// How a program ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The exit status; 0 is success, and the process is not started again.
    pub code: u8,
    /// Why, in the program's own words.
    pub why: String,
}

impl Exit {
    /// Success.
    pub fn success() -> Exit {
        Exit { code: 0, why: String::new() }
    }

    /// Failure, and why.
    pub fn failure(why: impl Into<String>) -> Exit {
        Exit { code: 1, why: why.into() }
    }
}

/// A running program.
pub(crate) type Running = Pin<Box<dyn Future<Output = Exit>>>;

/// A program: made afresh at each boot of its process.
pub type Program = Rc<dyn Fn(Sys) -> Running>;

/// When an ended process is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartPolicy {
    /// After a kill, a crash or a failure: with a back-off that doubles from the first to the last, in simulated nanoseconds.
    OnFailure {
        /// The first back-off.
        first_ns: u64,
        /// The longest.
        last_ns: u64,
    },
    /// Never.
    Never,
}

impl Default for RestartPolicy {
    fn default() -> Self {
        RestartPolicy::OnFailure { first_ns: 2_000_000, last_ns: 500_000_000 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// Not started, or between a death and its restart.
    Down,
    Up,
    Paused,
    /// Ended for good.
    Done,
}

pub(super) struct Process {
    pub(super) name: String,
    pub(super) role: &'static str,
    pub(super) index: u32,
    pub(super) path: Path,
    /// `None`: it has been taken away, at the end of the run.
    pub(super) program: Option<Program>,
    pub(super) restart: RestartPolicy,
    /// Whether the run ends without its end.
    pub(super) is_daemon: bool,
    pub(super) failures: u32,
    pub(super) life: Life,
    pub(super) boot: u32,
    pub(super) pid: u32,
    pub(super) owner: Owner,
    /// Machine time of this boot's start: with the PID it identifies a process, as /proc/PID/stat's field 22 does.
    pub(super) started_ns: u64,
    pub(super) tasks: Vec<TaskId>,
    pub(super) next_ordinal: u32,
    /// Keys given out in this boot to what its tasks share.
    pub(super) shared_keys: u32,
    pub(super) terminating: bool,
    pub(super) skew_ns: i64,
    pub(super) operation: u64,
    /// Positions it is in: bits of [`crate::plan::Position`].
    pub(super) positions: u8,
    pub(super) locks_claimed: u32,
    pub(super) streams: Streams,
}

/// The streams of an operation, each made when it is first drawn from. That of latencies, which every call draws from, is in the [`Core`](super::Core).
// In boxes: most processes of most runs draw from few of them, and a stream is larger than the rest of a process.
#[derive(Default)]
pub(super) struct Streams {
    entropy: Option<Box<Stream>>,
    /// What SQLite's own generator is seeded with.
    sqlite: Option<Box<Stream>>,
    /// What the network does to its messages.
    messages: Option<Box<Stream>>,
}

/// Operation ids from here up are boots: draws made before a process's first operation.
const BOOT_OPERATION: u64 = 1 << 63;

impl Core {
    /// Keys a process's streams by an operation of the plan.
    pub(super) fn set_operation(&mut self, id: ProcessId, operation: u64) {
        self.processes[id.0 as usize].set_operation(operation);
        if self.latencies.same_ns().is_none() {
            let streams = &mut self.latency_streams;
            // There is one for each process up to the last that has begun.
            while streams.len() <= id.0 as usize {
                streams.push(self.processes[streams.len()].latency(self.seed, self.stream_keys));
            }
            streams[id.0 as usize] = self.processes[id.0 as usize].latency(self.seed, self.stream_keys);
        }
    }
}

impl Process {
    pub(super) fn is_live(&self) -> bool {
        matches!(self.life, Life::Up | Life::Paused)
    }

    /// Whether the run waits for its end.
    pub(super) fn is_unfinished(&self) -> bool {
        !self.is_daemon && self.life != Life::Done
    }

    fn set_operation(&mut self, operation: u64) {
        self.operation = operation;
        self.streams = Streams::default();
    }

    /// The operation that draws before the first of a boot belong to.
    pub(super) fn boot_operation(&self) -> u64 {
        BOOT_OPERATION | u64::from(self.boot)
    }

    /// Whose draws are the latencies of its calls.
    pub(super) fn latency(&self, seed: Seed, keys: &StreamKeys) -> Stream {
        seed.stream_keyed(keys.latency, self.path, self.operation)
    }

    pub(super) fn entropy(&mut self, seed: Seed, keys: &StreamKeys) -> &mut Stream {
        let (path, operation) = (self.path, self.operation);
        self.streams.entropy.get_or_insert_with(|| made(seed, keys.entropy, path, operation))
    }

    pub(super) fn sqlite_entropy(&mut self, seed: Seed, keys: &StreamKeys) -> &mut Stream {
        let (path, operation) = (self.path, self.operation);
        self.streams.sqlite.get_or_insert_with(|| made(seed, keys.sqlite, path, operation))
    }

    /// The bits of its next message: its delay and its fate come from them.
    pub(super) fn message_bits(&mut self, seed: Seed, keys: &StreamKeys) -> u64 {
        let (path, operation) = (self.path, self.operation);
        self.streams.messages.get_or_insert_with(|| made(seed, keys.messages, path, operation)).bits()
    }
}

#[inline(never)]
fn made(seed: Seed, key: u64, path: Path, operation: u64) -> Box<Stream> {
    Box::new(seed.stream_keyed(key, path, operation))
}

/// The keys of the streams that every process has, made once.
pub(super) struct StreamKeys {
    latency: u64,
    entropy: u64,
    sqlite: u64,
    messages: u64,
}

/// The keys.
pub(super) static STREAM_KEYS: LazyLock<StreamKeys> = LazyLock::new(StreamKeys::new);

impl StreamKeys {
    fn new() -> StreamKeys {
        StreamKeys {
            latency: stream_key("latency"),
            entropy: stream_key("entropy"),
            sqlite: stream_key("sqlite"),
            messages: stream_key("messages"),
        }
    }
}

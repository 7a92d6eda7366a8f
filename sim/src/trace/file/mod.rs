//! Trace files: what is in them, and what can be wrong with one. Writing is in `writer`, reading in `reader`. No path is known here.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | the magic, [`MAGIC`] |
//! | 4 | the version of the format, [`FORMAT`] |
//! | frames | the first holds the [`Head`], the others events |
//! | 4 | zero: no further events |
//! | frame | the [`Tail`] |
//!
//! A frame is the length of its compressed bytes, the length of what they hold, the hash of the compressed bytes (XXH3, 64 bits), and
//! those (zstd, RFC 8878). Lengths and the version have four bytes, and all is little endian. Values are encoded by [`super::codec`].

mod reader;
mod writer;

pub use reader::Reader;
pub use writer::{FileWriter, Writer};

use super::TraceHash;
use crate::invariant::Violation;
use crate::kernel::Outcome;
use crate::metrics::Measurements;
use crate::plan::StrategyPlan;
use crate::seed::Seed;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use thiserror::Error;

/// The first bytes of a trace file. The first is no text, so that no text file passes for one.
pub const MAGIC: [u8; 8] = *b"\xF5trace\r\n";

/// The version of the format. A reader refuses any other. Since 2 a trace holds the plan, and tells how its run ended.
pub const FORMAT: u32 = 2;

/// Events are gathered until they take up so many bytes, then compressed together.
const FRAME_BYTES: usize = 256 << 10;

/// The most bytes that one frame may hold, compressed or not: a damaged length must not exhaust memory.
pub const FRAME_BYTES_MAX: u32 = 64 << 20;

/// What a trace is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The scenario's name.
    pub scenario: String,
    /// The seed.
    pub seed: Seed,
    /// The strategy: latencies mean time under `timed` only.
    pub strategy: StrategyPlan,
    /// The names of the processes, in the order of their ids.
    pub processes: Vec<String>,
    /// The whole plan as TOML; empty when no run was told of.
    pub plan: String,
}

/// What stands at the end of a trace that is whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tail {
    /// How many events there are.
    pub events: u64,
    /// The run's hash.
    pub trace_hash: TraceHash,
    /// How the run ended; `None` when whoever wrote the trace didn't say.
    pub ending: Option<Ending>,
}

/// How a run ended: what its outcome tells beside its events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ending {
    /// Steps taken.
    pub steps: u64,
    /// Simulated time at the end, in nanoseconds.
    pub simulated_ns: u64,
    /// What was violated; empty is a pass.
    pub violations: Vec<Violation>,
    /// Coverage, faults, counters and latencies.
    pub measurements: Measurements,
}

impl From<&Outcome> for Ending {
    fn from(outcome: &Outcome) -> Ending {
        Ending {
            steps: outcome.steps,
            simulated_ns: outcome.simulated_ns,
            violations: outcome.violations.clone(),
            measurements: Measurements::from(&outcome.observations),
        }
    }
}

/// What is wrong with a trace file, and where.
#[derive(Debug, Error)]
#[error("byte {offset}: {problem}")]
pub struct TraceError {
    /// Where the part begins that is wrong, in bytes from the start of the file.
    pub offset: u64,
    /// What is wrong with it. No source of the error: it is told already.
    pub problem: Problem,
}

/// What can be wrong with a trace file.
#[derive(Debug, Error)]
pub enum Problem {
    /// It begins with something else.
    #[error("this is no trace: it begins with {0}")]
    NotATrace(Hexadecimal),
    /// A newer version has written it.
    #[error("format {0} is newer than {FORMAT}, the newest that this version reads")]
    TooNew(u32),
    /// An older version has written it.
    #[error(
        "format {0} is older than {FORMAT}, the one that this version reads: run its seed or its reproducer again with `--trace`"
    )]
    TooOld(u32),
    /// It ends in the middle.
    #[error("the file ends within {0}: it was cut short, or its writer never finished")]
    Truncated(&'static str),
    /// A frame is longer than any writer makes it.
    #[error(
        "a frame of {0} bytes is longer than {FRAME_BYTES_MAX}, the most that a frame may hold: the file is damaged"
    )]
    TooLong(u32),
    /// Something that no writer writes.
    #[error("the file is damaged: {0}")]
    Damaged(String),
    /// It can't be read.
    #[error("reading failed: {0}")]
    Io(io::Error),
}

/// Bytes as people read them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hexadecimal(Vec<u8>);

impl fmt::Display for Hexadecimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nothing");
        }
        self.0
            .iter()
            .enumerate()
            .try_for_each(|(index, byte)| write!(f, "{}{byte:02x}", if index > 0 { " " } else { "" }))
    }
}

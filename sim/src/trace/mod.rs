//! What happened: events, their running hash, decisions. Files of traces are in `file`, their codec in `codec`.

pub mod codec;
mod event;
mod hash;
pub mod layer;

pub use event::{Body, CallKind, Ended, Event, Interest, ProcessId, TaskId};
pub use hash::{TraceHash, TraceHasher};

//! What happened: events, their running hash, records, files of traces and where two of them part. Who went when is in `schedule`.

pub mod codec;
pub mod drift;
mod event;
pub mod file;
mod hash;
pub mod layer;
mod record;

pub use event::{Body, CallKind, Dropped, Ended, Event, Interest, ProcessId, TaskId};
pub use hash::{CallHead, TraceHash, TraceHasher};
pub use record::{Record, RecordBody};

//! What happened: events, their running hash, records and files of traces. Where two of them part is told by `tools`; who went when is in `schedule`.

pub mod codec;
mod event;
pub mod file;
mod hash;
pub mod layer;
mod record;

pub use event::{Body, CallKind, Dropped, Ended, Event, Interest, ProcessId, TaskId};
pub use hash::{CallHead, TraceHash, TraceHasher};
pub use record::{Record, RecordBody};

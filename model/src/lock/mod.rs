//! Named locks between processes: three ways to exclude behind one trait, one way to wait, a fixed order. What locks protect is elsewhere.

mod backoff;
mod error;
mod flock;
mod kind;
mod lease;
mod locks;
mod order;
mod owner;
mod owner_file;
mod queue;
mod way;

pub use backoff::{Backoff, BackoffPolicy};
pub use error::{Holder, LockError};
pub use flock::Flock;
pub use kind::LockKind;
pub use lease::Lease;
pub use locks::{Held, Locks};
pub use order::{LockName, Order, Rank};
pub use owner::OwnerRecord;
pub use owner_file::OwnerFile;
pub use way::{Attempt, Attempting, Grant, Way};

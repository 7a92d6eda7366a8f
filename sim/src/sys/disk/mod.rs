//! The simulated storage of one machine. A folder of parts; this file only names them. No kernel, future, scheduler or
//! SQLite is known here.
//!
//! | file | what |
//! |---|---|
//! | `types` | identifiers, options, open flags, stat |
//! | `image` | the disk itself and the steps that its calls share |
//! | `inode`, `block`, `directory` | files, their bytes, names and the calls on names |
//! | `descriptor`, `calls` | open descriptions; read, write, truncate, stat |
//! | `flock`, `range_lock` | the two kinds of file lock |
//! | `pending`, `commit` | what is not durable, and how it becomes so |
//! | `crash`, `crash_plan`, `report` | what a crash keeps |
//! | `fault` | faulty variants of the calls |
//! | `query`, `digest`, `pending_words` | questions of oracles |

mod block;
mod calls;
mod commit;
mod crash;
mod crash_plan;
mod descriptor;
mod digest;
mod directory;
mod fault;
mod flaw;
mod flock;
mod image;
mod inode;
mod pending;
mod pending_words;
mod query;
mod range_lock;
mod report;
#[cfg(test)]
mod tests;
mod types;

pub use block::SECTOR_BYTES;
pub use digest::Digest;
pub use flaw::DiskFlaw;
pub use flock::FlockHolder;
pub use image::Disk;
pub use query::{Pending, PendingOperation};
pub use range_lock::{OwnedLocks, RangeLock, TO_INFINITY};
pub use report::{CrashMode, CrashReport, Loss, LostOperation};
pub use types::{DiskOptions, Fd, FileKind, InodeId, LockMode, OpenFlags, Owner, Persistence, Stat};

//! SQLite on the simulated disk: its VFS, its shared memory, and the reset of its process-wide state between runs.
//!
//! Unmodified SQLite, through rusqlite, runs inside `sys.blocking`. The VFS is SQLite's default one in this OS process from the first
//! run on; it does on the simulated disk what SQLite's own unix VFS does on a real one (sqlite.org/src/file/src/os_unix.c). What differs:
//!
//! - Every VFS method is *one* step, also where the unix VFS makes several system calls: a lock is PENDING and SHARED bytes, a mapping is
//!   open, DMS lock and truncation, a deletion is unlink and the directory's fsync. Only a write that the disk takes in part takes
//!   another step for the rest.
//! - `xFetch` gives no memory-mapped page. `xUnfetch` does nothing and is a step all the same: SQLite's checkpoint calls it between
//!   reading the wal-index header and using it, and no other method.
//! - The `-shm` file is a real inode of the right length, but what processes map lives beside the disk: no crash keeps it.
//! - Of the file controls these are steps: those that the pager and the checkpoint announce their progress with.
//! - `xRandomness` draws from a stream of the process and its operation, and is no step: SQLite holds a mutex while it calls it.
//!
//! # Who calls
//! Blocking code is its own caller. A connection that is used or dropped in `async` code works too, but takes no steps: its calls take effect
//! within the running one. From a dead process every method fails and has no effect, and closing frees memory only.
//!
//! | file | what |
//! |---|---|
//! | `vfs` | the VFS object: open, delete, access, sleep, time, randomness |
//! | `methods` | the methods of an open file, as SQLite calls them |
//! | `file` | an open file as SQLite holds it, and who its caller is |
//! | `open`, `calls` | the system calls behind the methods |
//! | `state`, `database_lock`, `shared_memory`, `shared_lock` | what the machine knows of open databases: locks and mapped memory |
//! | `commit` | whether what a process committed is durable |
//! | `random` | the seeding of SQLite's own generator |
//! | `inspect`, `tables` | SQLite on a copy of a disk, outside the run; what stands in a database |
//! | `memory`, `allocator` | the C library's allocator, tuned; SQLite's memory from Rust's |
//! | `code` | errors as SQLite's result codes |
//! | `version` | which SQLite this is |

#![allow(unsafe_code, reason = "SQLite calls through C function pointers and shares memory by raw pointers")]

mod allocator;
mod calls;
mod code;
mod commit;
mod database_lock;
mod file;
mod inspect;
mod memory;
mod methods;
mod open;
mod random;
mod shared_lock;
mod shared_memory;
mod state;
mod tables;
#[cfg(test)]
mod tests;
mod version;
mod vfs;

pub use commit::CommitDurability;
pub use inspect::inspect;
pub use shared_lock::{SharedLockCall, WalLocks};
pub use tables::{MAGIC, Table, tables};
pub use version::{compile_options, source_id};

pub(crate) use file::{program_key, serve};
pub(crate) use random::{Saved, forget_seed};
pub(crate) use state::State;

/// Resets SQLite's process-wide state, so that a run doesn't depend on the runs before it.
///
/// # Panics
/// When SQLite can't be initialised.
pub(crate) fn begin_run() {
    memory::keep();
    vfs::register();
    file::next_run();
    random::reset();
}

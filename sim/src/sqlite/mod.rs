//! SQLite on the simulated disk: its VFS, its shared memory, and the reset of its process-wide state between runs.

mod shared_memory;
#[allow(unsafe_code)]
mod version;

pub(crate) use shared_memory::SharedMemory;
pub use version::{compile_options, source_id};

/// Resets SQLite's process-wide state, so that a run doesn't depend on the runs before it.
pub(crate) fn begin_run() {}

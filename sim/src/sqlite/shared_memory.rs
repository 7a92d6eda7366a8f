//! The shared memory of SQLite's wal-index: regions mapped by processes, and what a kill and a power loss do to them.

use crate::sys::disk::Owner;

/// Every mapped region of the machine.
#[derive(Default)]
pub(crate) struct SharedMemory {}

impl SharedMemory {
    /// A process has died; its C code has yet to leave, and may still write through its mapping: keeps what is there.
    pub(crate) fn before_unwind(&mut self, _owner: Owner) {}

    /// The dead process's code has left: what it wrote meanwhile is undone.
    pub(crate) fn after_unwind(&mut self) {}

    /// The machine lost power.
    pub(crate) fn power_loss(&mut self) {}
}

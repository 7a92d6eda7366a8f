//! The system calls that programs make: the one seam between a model and the harness. Storage is below it, in `disk`.

pub(crate) mod call;
pub mod claim;
pub(crate) mod directory;
pub mod disk;
pub(crate) mod file;
pub(crate) mod lock;
pub mod net;
pub(crate) mod os;
pub(crate) mod process;
pub mod sync;
pub(crate) mod time;

pub use disk::{LockMode, OpenFlags, Stat};
pub use file::File;
pub use os::{OsEntropy, OsFile};
pub use process::{ProcessInfo, TaskHandle};

use crate::errno::Errno;
use crate::kernel::Kernel;
use crate::trace::{ProcessId, TaskId};
use disk::Owner;

/// Who makes a call: one task of one boot of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) task: TaskId,
    pub(crate) generation: u32,
    pub(crate) process: ProcessId,
    /// The task's number within its process and boot.
    pub(crate) ordinal: u32,
    pub(crate) owner: Owner,
    pub(crate) boot: u32,
}

/// A program's operating system. Any task of the process may use it, whichever it was made for: a call is made by the task that awaits it.
///
/// Every `async` call is a step: it is announced, picked by the strategy, and takes effect at once. A task has one outstanding call
/// at a time; a second needs a task of its own ([`Sys::spawn`]). A dropped future withdraws its call: it never happened.
/// After its process has died, nothing that a `Sys` is asked for takes effect.
#[derive(Clone)]
pub struct Sys {
    pub(crate) kernel: Kernel,
    pub(crate) identity: Identity,
}

/// What a system call returns.
pub type Result<T> = std::result::Result<T, Errno>;

//! An open file as SQLite holds it, and who its caller is: blocking code, `async` code, an inspection, or nobody that lives.

use super::calls::Offline;
use super::inspect;
use super::shared_memory::Regions;
use crate::blocking::Current;
use crate::errno::Errno;
use crate::kernel::Kernel;
use crate::sys::Identity;
use crate::sys::call::Call;
use crate::sys::disk::{Fd, InodeId, OpenFlags, Owner};
use rusqlite::ffi;
use std::cell::{Cell, RefCell};
use std::ffi::c_char;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a file is to SQLite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Database,
    Wal,
    /// Journals, and temporary files.
    Other,
}

/// What the machine's calls need to know of a file.
pub(super) struct Handle {
    pub(super) fd: Fd,
    pub(super) inode: InodeId,
    pub(super) role: Role,
    pub(super) flags: OpenFlags,
    /// What its process has of the database, by its place in the machine's state. None for journals and temporary files.
    pub(super) attachment: Option<u32>,
    /// The lock that this connection has on the database: SQLITE_LOCK_NONE to SQLITE_LOCK_EXCLUSIVE.
    pub(super) level: u8,
    /// The slots of the wal-index that this connection has locked, a bit for each.
    pub(super) slots_shared: u8,
    pub(super) slots_exclusive: u8,
    /// The inode of the `-shm` file, once it is mapped.
    pub(super) shared_inode: Option<InodeId>,
    /// The memory that is mapped, kept alive until SQLite lets go of it, in a dead process too.
    pub(super) regions: Option<Arc<Regions>>,
}

/// An open file. SQLite gives the memory; only its first field is SQLite's.
#[repr(C)]
pub(super) struct SimulatedFile {
    pub(super) base: ffi::sqlite3_file,
    /// Whose file it is: see [`program_key`].
    pub(super) key: u64,
    /// Its path, which SQLite keeps as long as the file is open; null for a temporary file.
    pub(super) name: *const c_char,
    /// The next sync is also one of the directory.
    pub(super) syncs_directory: bool,
    pub(super) keeps_wal: bool,
    pub(super) is_powersafe: bool,
    pub(super) handle: Handle,
}

/// Counts the runs of this OS process, so that a file that outlived its run is known.
static RUNS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static RUN: Cell<u32> = const { Cell::new(0) };
    static KERNEL: RefCell<Option<Kernel>> = const { RefCell::new(None) };
}

/// The bit that marks the files of an inspection.
pub(super) const INSPECTION: u64 = 1 << 63;

/// Tells a program, that is one boot of one process of one run, from all others of this OS process.
pub(crate) fn program_key(owner: Owner) -> u64 {
    u64::from(RUN.get()) << 32 | u64::from(owner.0)
}

/// Begins to tell another run's programs apart.
pub(super) fn next_run() {
    // 31 bits: the highest bit of a key is an inspection's.
    RUN.set((RUNS.fetch_add(1, Ordering::Relaxed) + 1) & (u32::MAX >> 1));
}

/// As long as it lives, connections in `async` code find the machine.
pub(crate) struct Serving;

/// Makes a machine known to connections in `async` code.
pub(crate) fn serve(kernel: &Kernel) -> Serving {
    KERNEL.set(Some(kernel.clone()));
    Serving
}

impl Drop for Serving {
    fn drop(&mut self) {
        KERNEL.set(None);
    }
}

/// Makes a call on a file of program `key`.
#[inline]
pub(super) fn perform<C: Call + Offline>(key: u64, call: C) -> Result<C::Value, Errno> {
    Current::with(|os| match os {
        Some(os) if os.key == key => os.call(call),
        _ => perform_elsewhere(key, call),
    })
}

/// As [`perform`], for a call that gives something back: in code that a living process has cut off it takes effect, so that what SQLite
/// believes of its locks stays true.
#[inline]
pub(super) fn perform_release<C: Call + Offline>(key: u64, mut call: C) -> Result<C::Value, Errno> {
    Current::with(|os| match os {
        Some(os) if os.key == key => match os.call(&mut call) {
            Err(Errno::Dead) => os.sys.kernel.take_effect_at_once(&os.sys.identity, &mut call),
            done => done,
        },
        _ => perform_elsewhere(key, call),
    })
}

/// A call that doesn't come from blocking code of the file's own program.
#[cold]
fn perform_elsewhere<C: Call + Offline>(key: u64, mut call: C) -> Result<C::Value, Errno> {
    if key & INSPECTION != 0 {
        return inspect::perform(key, &mut call);
    }
    if Current::with(|os| os.is_some()) {
        // Another program's file, got hold of through memory that simulated processes only seem to share.
        return Err(Errno::Dead);
    }
    perform_at_once(Some(key), call)
}

/// A call from `async` code takes effect within the running step.
fn perform_at_once<C: Call>(key: Option<u64>, mut call: C) -> Result<C::Value, Errno> {
    let Some(kernel) = KERNEL.with_borrow(Clone::clone) else { return Err(Errno::Dead) };
    match kernel.polled() {
        Some(identity) if key.is_none_or(|key| key == program_key(identity.owner)) => {
            kernel.take_effect_at_once(&identity, &mut call)
        }
        _ => Err(Errno::Dead),
    }
}

/// Whose code runs now: the key for the files that it opens.
pub(super) fn running_program() -> Option<u64> {
    inspect::running_program().or_else(|| Current::with(|os| os.map(|os| os.key))).or_else(|| {
        let kernel = KERNEL.with_borrow(Clone::clone)?;
        kernel.polled().map(|identity| program_key(identity.owner))
    })
}

/// Asks the machine something for the running program, without a step; `None` when nobody lives who could ask.
pub(super) fn ask<T>(question: impl FnOnce(&Kernel, &Identity) -> T) -> Option<T> {
    let code = Current::with(|os| os.map(|os| (os.sys.kernel.clone(), os.sys.identity)));
    match code {
        Some((kernel, identity)) => {
            // Code may have been started with the `Sys` of another task of its process, which has ended since.
            let acting = kernel.polled().filter(|polled| polled.owner == identity.owner).unwrap_or(identity);
            Some(question(&kernel, &acting))
        }
        None => {
            let kernel = KERNEL.with_borrow(Clone::clone)?;
            let identity = kernel.polled()?;
            Some(question(&kernel, &identity))
        }
    }
}

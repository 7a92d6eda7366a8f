//! SQLite on a copy of a disk, outside the run: for invariants that look into a database, and for images of a crash.

use super::calls::Offline;
use super::file::INSPECTION;
use super::random::Saved;
use super::state::State;
use crate::errno::Errno;
use crate::seed::{Seed, Stream};
use crate::sys::disk::{Disk, Owner};
use crate::sys::time::WALL_START_NS;
use std::cell::{Cell, RefCell};

/// A copy of a disk, and what its one process has open there.
pub(super) struct Scratch {
    pub(super) disk: Disk,
    pub(super) state: State,
    pub(super) owner: Owner,
    key: u64,
    entropy: Stream,
}

thread_local! {
    /// The inspections that are under way, the innermost last.
    static SCRATCHES: RefCell<Vec<Scratch>> = const { RefCell::new(Vec::new()) };
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// Runs rusqlite code on a copy of what processes see of `disk`; to look at what a crash would leave, pass a [`Disk::crash_image`].
///
/// Nothing of it reaches the run: no step, no trace, no draw, and SQLite's generator is afterwards as before. It may be called from an
/// invariant. The copy shares the disk's blocks, has room without limit, and is gone afterwards, with all that was written to it. The
/// connections that `work` opens must be closed by its end; what it opened earlier can't be used in it.
pub fn inspect<T>(disk: &Disk, work: impl FnOnce() -> T) -> T {
    let _saved = SCRATCHES.with_borrow(|scratches| scratches.is_empty().then(Saved::new));
    let number = COUNT.replace(COUNT.get() + 1);
    let scratch = Scratch {
        disk: disk.scratch_copy(),
        state: State::default(),
        owner: Owner(0),
        key: INSPECTION | number,
        entropy: Seed(0).stream("inspection"),
    };
    SCRATCHES.with_borrow_mut(|scratches| scratches.push(scratch));
    let _ends = Ends;
    work()
}

struct Ends;

impl Drop for Ends {
    fn drop(&mut self) {
        SCRATCHES.with_borrow_mut(Vec::pop);
    }
}

/// Makes a call on the copy of inspection `key`. Fails, like the call of a dead process, when that is not the one under way.
pub(super) fn perform<C: Offline>(key: u64, call: &mut C) -> Result<C::Value, Errno> {
    SCRATCHES.with_borrow_mut(|scratches| match scratches.last_mut() {
        Some(scratch) if scratch.key == key => call.offline(scratch),
        _ => Err(Errno::Dead),
    })
}

/// The key of the inspection that is under way.
pub(super) fn running_program() -> Option<u64> {
    SCRATCHES.with_borrow(|scratches| scratches.last().map(|scratch| scratch.key))
}

/// Draws bytes for an inspection. False when none is under way.
pub(super) fn fill_entropy(bytes: &mut [u8]) -> bool {
    SCRATCHES.with_borrow_mut(|scratches| match scratches.last_mut() {
        Some(scratch) => {
            scratch.entropy.fill(bytes);
            true
        }
        None => false,
    })
}

/// The time in an inspection stands still.
pub(super) fn wall_ns() -> Option<u64> {
    running_program().map(|_| WALL_START_NS)
}

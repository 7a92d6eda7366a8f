//! The seeding of SQLite's generator. There is one for the whole OS process, so it is reset whenever another simulated process, or another
//! operation, may use it: what a process draws depends on its own stream alone.

use rusqlite::ffi;
use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;

thread_local! {
    /// The program whose stream the generator was seeded from; 0 when it is to be seeded at its next use.
    static SEEDED_BY: Cell<u64> = const { Cell::new(0) };
}

/// SQLITE_TESTCTRL_PRNG_SAVE and SQLITE_TESTCTRL_PRNG_RESTORE (sqlite.org/c3ref/c_testctrl_always.html).
const SAVE: c_int = 5;
const RESTORE: c_int = 6;

/// Forgets the generator's state: it is seeded anew, through the default VFS, at its next use.
pub(super) fn reset() {
    SEEDED_BY.set(0);
    // SAFETY: a length of 0 or less resets the generator and reads no pointer (sqlite.org/c3ref/randomness.html).
    unsafe { ffi::sqlite3_randomness(0, ptr::null_mut()) };
}

/// Blocking code of a program goes on.
#[inline]
pub(crate) fn enters(program: u64) {
    let seeded_by = SEEDED_BY.get();
    if seeded_by != 0 && seeded_by != program {
        reset();
    }
}

/// A process begins another operation.
pub(crate) fn forget_seed() {
    if SEEDED_BY.get() != 0 {
        reset();
    }
}

/// The generator has been seeded from this program's stream.
pub(super) fn seeded_by(program: u64) {
    SEEDED_BY.set(program);
}

/// Keeps the generator's state, and brings it back when dropped.
pub(super) struct Saved;

impl Saved {
    pub(super) fn new() -> Saved {
        // SAFETY: this control has no arguments.
        unsafe { ffi::sqlite3_test_control(SAVE) };
        Saved
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        // SAFETY: as above, after a save.
        unsafe { ffi::sqlite3_test_control(RESTORE) };
    }
}

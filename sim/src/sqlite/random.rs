//! The seeding of SQLite's generator. There is one for the whole OS process, so its state is forgotten after each step in which it was used:
//! what a process draws comes from its own stream, whether or not others draw meanwhile.

use rusqlite::ffi;
use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;

thread_local! {
    /// Whether the generator has been seeded since it was reset.
    static IS_SEEDED: Cell<bool> = const { Cell::new(false) };
}

/// SQLITE_TESTCTRL_PRNG_SAVE and SQLITE_TESTCTRL_PRNG_RESTORE (sqlite.org/c3ref/c_testctrl_always.html).
const SAVE: c_int = 5;
const RESTORE: c_int = 6;

/// Forgets the generator's state: it is seeded anew, through the default VFS, at its next use.
pub(super) fn reset() {
    IS_SEEDED.set(false);
    // SAFETY: a length of 0 or less resets the generator and reads no pointer (sqlite.org/c3ref/randomness.html).
    unsafe { ffi::sqlite3_randomness(0, ptr::null_mut()) };
}

/// Blocking code goes on after a step, or a process begins another operation: it draws afresh.
#[inline]
pub(crate) fn forget_seed() {
    if IS_SEEDED.get() {
        reset();
    }
}

/// The generator has been seeded.
pub(super) fn seeded() {
    IS_SEEDED.set(true);
}

/// Keeps the generator's state, and brings it back when dropped.
pub(crate) struct Saved;

impl Saved {
    pub(crate) fn new() -> Saved {
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

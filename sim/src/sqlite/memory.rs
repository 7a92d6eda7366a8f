//! Keeps freed memory in the OS process. Each run has a thread of its own, and glibc would give each thread an arena, and the arena's pages back
//! to the OS at its end: a fifth of a short run's time went into page faults.

use super::allocator;
use rusqlite::ffi;
use std::ffi::c_int;
use std::sync::Once;

static TUNED: Once = Once::new();

/// Tunes the C library's allocator, and turns off SQLite's own accounts of it, once: each allocation would take a mutex for them.
pub(super) fn keep() {
    TUNED.call_once(|| {
        tune();
        // SAFETY: this option has one int. Where SQLite is in use already it refuses, and goes on keeping accounts that nobody reads.
        unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0 as c_int) };
        allocator::install();
    });
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn tune() {
    // mallopt(3). The numbers are part of glibc's interface (malloc.h).
    const TRIM_THRESHOLD: c_int = -1;
    const MMAP_THRESHOLD: c_int = -3;
    const ARENA_MAX: c_int = -8;
    const LARGE_BYTES: c_int = 256 << 20;

    unsafe extern "C" {
        fn mallopt(parameter: c_int, value: c_int) -> c_int;
    }

    for (parameter, value) in [(ARENA_MAX, 1), (TRIM_THRESHOLD, LARGE_BYTES), (MMAP_THRESHOLD, LARGE_BYTES)] {
        // SAFETY: it takes two numbers, at any time, and refuses what it doesn't know: then memory goes back as before.
        unsafe { mallopt(parameter, value) };
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn tune() {}

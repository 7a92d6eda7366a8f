//! Errors of the simulated system as SQLite's result codes (sqlite.org/rescode.html).

use crate::errno::Errno;
use rusqlite::ffi;
use std::cell::Cell;
use std::ffi::c_int;

thread_local! {
    static LAST: Cell<c_int> = const { Cell::new(0) };
}

/// The number of the last error, for SQLite's error messages.
pub(super) fn last() -> c_int {
    LAST.get()
}

/// The result code of a call: OK, or `otherwise` with the error noted.
#[inline]
pub(super) fn of<T>(result: Result<T, Errno>, otherwise: c_int) -> c_int {
    match result {
        Ok(_) => ffi::SQLITE_OK,
        Err(errno) => failed(errno, otherwise),
    }
}

/// Notes an error, and gives its code.
#[cold]
pub(super) fn failed(errno: Errno, otherwise: c_int) -> c_int {
    LAST.set(errno as c_int);
    otherwise
}

/// As [`of`], for locks: a lock that another holds is SQLITE_BUSY.
#[inline]
pub(super) fn of_lock(result: Result<(), Errno>, otherwise: c_int) -> c_int {
    match result {
        Ok(()) => ffi::SQLITE_OK,
        Err(Errno::WouldBlock) => ffi::SQLITE_BUSY,
        Err(errno) => failed(errno, otherwise),
    }
}

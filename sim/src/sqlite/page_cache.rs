//! SQLite's page cache. All connections of the OS process share one (SQLITE_ENABLE_MEMORY_MANAGEMENT, which libsqlite3-sys sets): a connection whose
//! own share is full takes the page that was not used for the longest time, whosever it is (pcache1.c, `pcache1FetchStage2`). Code outside of the run,
//! that takes a page from a program, makes the program read it again, and so shows in the trace. Here each connection of such code gets a share that is
//! never full.

use super::inspect;
use rusqlite::ffi::{self, sqlite3_pcache, sqlite3_pcache_methods2};
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::OnceLock;

/// SQLite's own `xCachesize`.
static SET_SHARE: OnceLock<unsafe extern "C" fn(*mut sqlite3_pcache, c_int)> = OnceLock::new();

/// More pages than any database here has, and far from where SQLite's sum over all shares ends.
const SHARE_PAGES: c_int = 1 << 20;

thread_local! {
    static IS_OUTSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Says that this thread's connections, to its end, are not those of a run's programs.
pub(crate) fn outside_of_the_run() {
    IS_OUTSIDE.set(true);
}

/// Puts itself before SQLite's own way of setting a connection's share. It must be called before SQLite is initialised; where it is in use already,
/// SQLite refuses, and everything stays as it was.
pub(super) fn install() {
    // SAFETY: all fields are pointers, which may be null: SQLite fills them in.
    let mut methods: sqlite3_pcache_methods2 = unsafe { std::mem::zeroed() };
    // SAFETY: this option has one pointer to a structure to be filled in (sqlite.org/c3ref/c_config_covering_index_scan.html).
    let got = unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_GETPCACHE2, &raw mut methods) };
    let (ffi::SQLITE_OK, Some(set_share)) = (got, methods.xCachesize) else { return };
    SET_SHARE.get_or_init(|| set_share);
    methods.xCachesize = Some(set_generous_share);
    // SAFETY: SQLite copies the structure.
    unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_PCACHE2, &raw mut methods) };
}

unsafe extern "C" fn set_generous_share(cache: *mut sqlite3_pcache, pages: c_int) {
    let is_outside = IS_OUTSIDE.get() || inspect::running_program().is_some();
    if let Some(set_share) = SET_SHARE.get() {
        // SAFETY: the arguments are SQLite's own.
        unsafe { set_share(cache, if is_outside { SHARE_PAGES } else { pages }) };
    }
}

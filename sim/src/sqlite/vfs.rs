//! The VFS object (sqlite.org/c3ref/vfs.html): open, delete, access, sleep, time, randomness. The methods of an open file are in `methods`.

use super::calls::{Access, Delete, Vfs};
use super::code;
use super::file::{Role, SimulatedFile, ask, perform, running_program};
use super::inspect;
use super::methods::{METHODS, text};
use super::open::OpenFile;
use super::random;
use crate::errno::Errno;
use crate::sys::disk::OpenFlags;
use crate::sys::time::{Sleep, WALL_START_NS};
use rusqlite::ffi::{self, sqlite3_file, sqlite3_vfs};
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

/// The VFS's name.
pub(super) const NAME: &CStr = c"seedstorm";

/// The longest path, in bytes, as the unix VFS has it.
const PATH_LEN_MAX: c_int = 512;

struct Registered(UnsafeCell<sqlite3_vfs>);

// SAFETY: SQLite alone writes to it, under its own mutex; otherwise it is never changed.
unsafe impl Sync for Registered {}

static VFS: Registered = Registered(UnsafeCell::new(sqlite3_vfs {
    iVersion: 2,
    szOsFile: size_of::<SimulatedFile>() as c_int,
    mxPathname: PATH_LEN_MAX,
    pNext: ptr::null_mut(),
    zName: NAME.as_ptr(),
    pAppData: ptr::null_mut(),
    xOpen: Some(open),
    xDelete: Some(delete),
    xAccess: Some(access),
    xFullPathname: Some(full_path),
    xDlOpen: Some(library_open),
    xDlError: Some(library_error),
    xDlSym: Some(library_symbol),
    xDlClose: Some(library_close),
    xRandomness: Some(randomness),
    xSleep: Some(sleep),
    xCurrentTime: Some(current_time_days),
    xGetLastError: Some(last_error),
    xCurrentTimeInt64: Some(current_time_ms),
    xSetSystemCall: None,
    xGetSystemCall: None,
    xNextSystemCall: None,
}));

/// Makes this VFS the default one. SQLite's generator seeds itself through the default VFS whatever VFS a connection has.
///
/// # Panics
/// When SQLite can't be initialised.
pub(super) fn register() {
    // SAFETY: the object lives for ever, and SQLite may be given it more than once.
    let registered = unsafe { ffi::sqlite3_vfs_register(VFS.0.get(), 1) };
    assert_eq!(registered, ffi::SQLITE_OK, "SQLite takes a VFS");
}

fn open_flags(flags: c_int) -> OpenFlags {
    let has = |flag: c_int| flags & flag != 0;
    OpenFlags {
        write: has(ffi::SQLITE_OPEN_READWRITE),
        create: has(ffi::SQLITE_OPEN_CREATE),
        exclusive: has(ffi::SQLITE_OPEN_CREATE) && has(ffi::SQLITE_OPEN_EXCLUSIVE),
        ..OpenFlags::READ
    }
}

unsafe extern "C" fn open(
    _vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    opened: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes memory of `szOsFile` bytes. Null says that there is nothing to close.
    unsafe { (*file).pMethods = ptr::null() };
    let Some(key) = running_program() else { return code::failed(Errno::Dead, ffi::SQLITE_CANTOPEN) };
    let has = |flag: c_int| flags & flag != 0;
    let role = if has(ffi::SQLITE_OPEN_MAIN_DB) {
        Role::Database
    } else if has(ffi::SQLITE_OPEN_WAL) {
        Role::Wal
    } else {
        Role::Other
    };
    // SAFETY: SQLite keeps the name as long as the file is open.
    let path = (!name.is_null()).then(|| unsafe { text(name) });
    let call = OpenFile { path, role, flags: open_flags(flags), deletes_on_close: has(ffi::SQLITE_OPEN_DELETEONCLOSE) };
    let handle = match perform(key, Vfs(call)) {
        Ok(handle) => handle,
        Err(errno) => return code::failed(errno, ffi::SQLITE_CANTOPEN),
    };
    let is_journal = ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL | ffi::SQLITE_OPEN_WAL;
    let uri = if has(ffi::SQLITE_OPEN_URI) { name } else { ptr::null() };
    let this = SimulatedFile {
        base: sqlite3_file { pMethods: &raw const METHODS },
        key,
        name,
        syncs_directory: has(ffi::SQLITE_OPEN_CREATE) && has(is_journal),
        keeps_wal: false,
        // SAFETY: with the URI flag the name is one that may have parameters; null has none.
        is_powersafe: unsafe { ffi::sqlite3_uri_boolean(uri, c"psow".as_ptr(), 1) } != 0,
        handle,
    };
    // SAFETY: the memory is large enough, aligned by SQLite to 8 bytes, and holds nothing that needs to be dropped.
    unsafe { file.cast::<SimulatedFile>().write(this) };
    if !opened.is_null() {
        // SAFETY: SQLite passes a place for the flags.
        unsafe { *opened = flags };
    }
    ffi::SQLITE_OK
}

const _: () = assert!(align_of::<SimulatedFile>() <= 8, "SQLite aligns files to 8 bytes");

unsafe extern "C" fn delete(_vfs: *mut sqlite3_vfs, name: *const c_char, syncs_directory: c_int) -> c_int {
    let Some(key) = running_program() else { return code::failed(Errno::Dead, ffi::SQLITE_IOERR_DELETE) };
    // SAFETY: SQLite passes a path.
    let path = unsafe { text(name) };
    match perform(key, Vfs(Delete { path, syncs_directory: syncs_directory & 1 != 0 })) {
        Ok(()) => ffi::SQLITE_OK,
        Err(Errno::NoEntry) => code::failed(Errno::NoEntry, ffi::SQLITE_IOERR_DELETE_NOENT),
        Err(errno) => code::failed(errno, ffi::SQLITE_IOERR_DELETE),
    }
}

unsafe extern "C" fn access(_vfs: *mut sqlite3_vfs, name: *const c_char, what: c_int, result: *mut c_int) -> c_int {
    let Some(key) = running_program() else { return code::failed(Errno::Dead, ffi::SQLITE_IOERR_ACCESS) };
    // SAFETY: SQLite passes a path.
    let path = unsafe { text(name) };
    match perform(key, Vfs(Access { path, counts_empty: what != ffi::SQLITE_ACCESS_EXISTS })) {
        Ok(exists) => {
            // SAFETY: SQLite passes a place for the result.
            unsafe { *result = c_int::from(exists) };
            ffi::SQLITE_OK
        }
        Err(errno) => code::failed(errno, ffi::SQLITE_IOERR_ACCESS),
    }
}

/// Paths of the simulated machine are absolute: a relative one starts at the root, where every process is at home.
unsafe extern "C" fn full_path(_vfs: *mut sqlite3_vfs, name: *const c_char, room: c_int, full: *mut c_char) -> c_int {
    // SAFETY: SQLite passes a path.
    let bytes = unsafe { CStr::from_ptr(name) }.to_bytes_with_nul();
    let bytes = bytes.strip_prefix(b"./").unwrap_or(bytes);
    let slash: &[u8] = if bytes.starts_with(b"/") { b"" } else { b"/" };
    if bytes.len() + slash.len() > room as usize {
        return ffi::SQLITE_CANTOPEN;
    }
    let full = full.cast::<u8>();
    // SAFETY: SQLite passes a buffer with that much room.
    unsafe {
        ptr::copy_nonoverlapping(slash.as_ptr(), full, slash.len());
        ptr::copy_nonoverlapping(bytes.as_ptr(), full.add(slash.len()), bytes.len());
    }
    ffi::SQLITE_OK
}

/// The simulated machine has no shared libraries.
unsafe extern "C" fn library_open(_vfs: *mut sqlite3_vfs, _name: *const c_char) -> *mut c_void {
    ptr::null_mut()
}

unsafe extern "C" fn library_error(_vfs: *mut sqlite3_vfs, room: c_int, message: *mut c_char) {
    const TEXT: &CStr = c"the simulated machine has no shared libraries";
    // SAFETY: SQLite passes a buffer with that much room; the format has one string.
    unsafe { ffi::sqlite3_snprintf(room, message, c"%s".as_ptr(), TEXT.as_ptr()) };
}

unsafe extern "C" fn library_symbol(
    _vfs: *mut sqlite3_vfs,
    _library: *mut c_void,
    _symbol: *const c_char,
) -> Option<unsafe extern "C" fn(*mut sqlite3_vfs, *mut c_void, *const c_char)> {
    None
}

unsafe extern "C" fn library_close(_vfs: *mut sqlite3_vfs, _library: *mut c_void) {}

/// Never a step: SQLite holds the mutex of its generator, which every simulated process needs.
unsafe extern "C" fn randomness(_vfs: *mut sqlite3_vfs, len: c_int, into: *mut c_char) -> c_int {
    // SAFETY: SQLite passes a buffer of that length, which it may not have initialised.
    let bytes = unsafe {
        ptr::write_bytes(into, 0, len as usize);
        std::slice::from_raw_parts_mut(into.cast::<u8>(), len as usize)
    };
    if !inspect::fill_entropy(bytes) {
        // From nobody who lives, zeros.
        ask(|kernel, identity| kernel.with(|core| core.fill_sqlite_entropy(identity, bytes)));
        random::seeded();
    }
    len
}

unsafe extern "C" fn sleep(_vfs: *mut sqlite3_vfs, for_us: c_int) -> c_int {
    if let Some(key) = running_program() {
        // Woken by a signal or cut off: the caller asks for its lock again either way.
        let _ = perform(key, Sleep { for_ns: for_us.max(0) as u64 * 1000 });
    }
    for_us
}

/// The Unix epoch in SQLite's time: milliseconds since noon in Greenwich on 24 November 4714 B.C.
const UNIX_EPOCH_MS: i64 = 210_866_760_000_000;
const DAY_MS: f64 = 86_400_000.0;

fn now_ms() -> i64 {
    let asked = || ask(|kernel, identity| kernel.with(|core| core.wall_ns(identity.process)));
    let wall_ns = inspect::wall_ns().or_else(asked).unwrap_or(WALL_START_NS);
    UNIX_EPOCH_MS + (wall_ns / 1_000_000) as i64
}

unsafe extern "C" fn current_time_ms(_vfs: *mut sqlite3_vfs, time: *mut ffi::sqlite3_int64) -> c_int {
    // SAFETY: SQLite passes a place for the result.
    unsafe { *time = now_ms() };
    ffi::SQLITE_OK
}

unsafe extern "C" fn current_time_days(_vfs: *mut sqlite3_vfs, time: *mut f64) -> c_int {
    // SAFETY: SQLite passes a place for the result.
    unsafe { *time = now_ms() as f64 / DAY_MS };
    ffi::SQLITE_OK
}

unsafe extern "C" fn last_error(_vfs: *mut sqlite3_vfs, _room: c_int, _message: *mut c_char) -> c_int {
    code::last()
}

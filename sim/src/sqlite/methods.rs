//! The methods of an open file, as SQLite calls them (sqlite.org/c3ref/io_methods.html). What each does to the machine is in `calls`.

use super::calls::{
    LockDatabase, LockShared, MapShared, Passing, QueryMoved, QueryReserved, UnlockDatabase, UnmapShared, Vfs,
    WriteFile,
};
use super::code;
use super::file::{Role, SimulatedFile, perform, perform_release};
use super::open::CloseFile;
use super::shared_lock::{Slots, UNLOCK};
use super::shared_memory::REGION_BYTES;
use super::vfs;
use crate::errno::Errno;
use crate::sys::file::{Read, SetLength, StatFile, Sync, Write};
use crate::trace::CallKind;
use rusqlite::ffi::{self, sqlite3_file};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

/// The methods. SQLite keeps a pointer to them in each open file.
pub(super) static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 3,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: Some(fetch),
    xUnfetch: Some(unfetch),
};

/// The file behind SQLite's pointer.
///
/// # Safety
/// `file` is one that `xOpen` filled, and no other reference to it is alive. SQLite serialises the calls on a file.
#[inline]
unsafe fn simulated<'a>(file: *mut sqlite3_file) -> &'a mut SimulatedFile {
    // SAFETY: `xOpen` put a `SimulatedFile` there.
    unsafe { &mut *file.cast::<SimulatedFile>() }
}

/// A path that SQLite gave; empty for none.
///
/// # Safety
/// `path` is null, or a string that ends in NUL and lives for `'a`.
pub(super) unsafe fn text<'a>(path: *const c_char) -> &'a str {
    if path.is_null() {
        return "";
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(path) }.to_str().unwrap_or_default()
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite passes a file that is open.
    let this = unsafe { simulated(file) };
    // SAFETY: SQLite keeps the name as long as the file is open.
    let path = unsafe { text(this.name) };
    let closed = perform_release(this.key, Vfs(CloseFile { file: &mut this.handle, path }));
    // What a dead process mapped stays until SQLite lets go of it, which is now.
    // SAFETY: the handle was filled by `xOpen`, and nobody uses it from here on: the methods are gone with the next line.
    unsafe { ptr::drop_in_place(&mut this.handle) };
    this.base.pMethods = ptr::null();
    code::of(closed, ffi::SQLITE_IOERR_CLOSE)
}

unsafe extern "C" fn read(file: *mut sqlite3_file, into: *mut c_void, len: c_int, offset: ffi::sqlite3_int64) -> c_int {
    // SAFETY: SQLite passes a file that is open.
    let this = unsafe { simulated(file) };
    // SAFETY: SQLite passes a buffer of that length, which nothing else uses during the call.
    let buffer = unsafe { std::slice::from_raw_parts_mut(into.cast::<u8>(), len as usize) };
    let (fd, inode) = (this.handle.fd, this.handle.inode);
    match perform(this.key, Read { fd, inode, offset: Some(offset as u64), buffer: &mut *buffer }) {
        Ok(read) if read == buffer.len() => ffi::SQLITE_OK,
        Ok(read) => {
            buffer[read..].fill(0);
            ffi::SQLITE_IOERR_SHORT_READ
        }
        Err(errno) => code::failed(errno, ffi::SQLITE_IOERR_READ),
    }
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    from: *const c_void,
    len: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite passes a file that is open.
    let this = unsafe { simulated(file) };
    // SAFETY: SQLite passes a buffer of that length, which nothing changes during the call.
    let mut bytes = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), len as usize) };
    let mut offset = offset as u64;
    let (fd, inode) = (this.handle.fd, this.handle.inode);
    let wal_of = if this.handle.role == Role::Wal { this.handle.attachment } else { None };
    loop {
        match perform(this.key, WriteFile { write: Write { fd, inode, offset: Some(offset), bytes }, wal_of }) {
            Ok(written) if written == bytes.len() => return ffi::SQLITE_OK,
            Ok(0) | Err(Errno::NoSpace) => return code::failed(Errno::NoSpace, ffi::SQLITE_FULL),
            Ok(written) => {
                bytes = &bytes[written..];
                offset += written as u64;
            }
            Err(errno) => return code::failed(errno, ffi::SQLITE_IOERR_WRITE),
        }
    }
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, len_bytes: ffi::sqlite3_int64) -> c_int {
    // SAFETY: SQLite passes a file that is open.
    let this = unsafe { simulated(file) };
    let (fd, inode) = (this.handle.fd, this.handle.inode);
    code::of(perform(this.key, SetLength { fd, inode, len_bytes: len_bytes as u64 }), ffi::SQLITE_IOERR_TRUNCATE)
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: SQLite passes a file that is open.
    let this = unsafe { simulated(file) };
    let (fd, inode) = (this.handle.fd, this.handle.inode);
    let synced = perform(this.key, Sync { fd, inode, with_entry: this.syncs_directory });
    if synced.is_ok() {
        this.syncs_directory = false;
    }
    code::of(synced, ffi::SQLITE_IOERR_FSYNC)
}

unsafe extern "C" fn file_size(file: *mut sqlite3_file, len_bytes: *mut ffi::sqlite3_int64) -> c_int {
    // SAFETY: SQLite passes a file that is open.
    let this = unsafe { simulated(file) };
    match perform(this.key, StatFile { fd: this.handle.fd, inode: this.handle.inode }) {
        Ok(stat) => {
            // SAFETY: SQLite passes a place for the result.
            unsafe { *len_bytes = stat.len_bytes as ffi::sqlite3_int64 };
            ffi::SQLITE_OK
        }
        Err(errno) => code::failed(errno, ffi::SQLITE_IOERR_FSTAT),
    }
}

unsafe extern "C" fn lock(file: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite passes a file that is open.
    let this = unsafe { simulated(file) };
    code::of_lock(
        perform(this.key, Vfs(LockDatabase { file: &mut this.handle, level: level as u8 })),
        ffi::SQLITE_IOERR_LOCK,
    )
}

unsafe extern "C" fn unlock(file: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite passes a file that is open.
    let this = unsafe { simulated(file) };
    code::of_lock(
        perform(this.key, Vfs(UnlockDatabase { file: &mut this.handle, level: level as u8 })),
        ffi::SQLITE_IOERR_UNLOCK,
    )
}

unsafe extern "C" fn check_reserved_lock(file: *mut sqlite3_file, is_reserved: *mut c_int) -> c_int {
    // SAFETY: SQLite passes a file that is open.
    let this = unsafe { simulated(file) };
    match perform(this.key, Vfs(QueryReserved { file: &this.handle })) {
        Ok(reserved) => {
            // SAFETY: SQLite passes a place for the result.
            unsafe { *is_reserved = c_int::from(reserved) };
            ffi::SQLITE_OK
        }
        Err(errno) => code::failed(errno, ffi::SQLITE_IOERR_CHECKRESERVEDLOCK),
    }
}

/// Numbers of file controls (sqlite.org/c3ref/c_fcntl_begin_atomic_write.html). Older bindings lack some of the names.
mod control {
    use std::ffi::c_int;

    pub(super) const LOCK_STATE: c_int = 1;
    pub(super) const LAST_ERRNO: c_int = 4;
    pub(super) const SIZE_HINT: c_int = 5;
    pub(super) const PERSIST_WAL: c_int = 10;
    pub(super) const OVERWRITE: c_int = 11;
    pub(super) const VFS_NAME: c_int = 12;
    pub(super) const POWERSAFE_OVERWRITE: c_int = 13;
    pub(super) const HAS_MOVED: c_int = 20;
    pub(super) const SYNC: c_int = 21;
    pub(super) const COMMIT_PHASE_TWO: c_int = 22;
    pub(super) const CHECKPOINT_DONE: c_int = 37;
    pub(super) const CHECKPOINT_START: c_int = 39;
}

unsafe extern "C" fn file_control(file: *mut sqlite3_file, operation: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: SQLite passes a file that is open.
    let this = unsafe { simulated(file) };
    match operation {
        control::SYNC
        | control::COMMIT_PHASE_TWO
        | control::CHECKPOINT_START
        | control::CHECKPOINT_DONE
        | control::OVERWRITE => {
            let kind = CallKind::FileControl;
            let step = Passing { kind, object: this.handle.inode.0, argument: operation as u64 };
            match perform(this.key, Vfs(step)) {
                Ok(()) => ffi::SQLITE_NOTFOUND,
                Err(errno) => code::failed(errno, ffi::SQLITE_IOERR),
            }
        }
        control::HAS_MOVED => {
            // SAFETY: SQLite keeps the name as long as the file is open.
            let path = unsafe { text(this.name) };
            match perform(this.key, Vfs(QueryMoved { file: &this.handle, path, argument: operation as u64 })) {
                Ok(has_moved) => {
                    // SAFETY: the argument of this control is a place for an int.
                    unsafe { *argument.cast::<c_int>() = c_int::from(has_moved) };
                    ffi::SQLITE_OK
                }
                Err(errno) => code::failed(errno, ffi::SQLITE_IOERR),
            }
        }
        // Without a chunk size, which this VFS doesn't offer, a hint changes nothing.
        control::SIZE_HINT => ffi::SQLITE_OK,
        control::PERSIST_WAL => {
            // SAFETY: the argument of this control is an int that is read and written.
            unsafe { mode(&mut this.keeps_wal, argument.cast()) };
            ffi::SQLITE_OK
        }
        control::POWERSAFE_OVERWRITE => {
            // SAFETY: as above.
            unsafe { mode(&mut this.is_powersafe, argument.cast()) };
            ffi::SQLITE_OK
        }
        control::LOCK_STATE => {
            // SAFETY: the argument of this control is a place for an int.
            unsafe { *argument.cast::<c_int>() = c_int::from(this.handle.level) };
            ffi::SQLITE_OK
        }
        control::LAST_ERRNO => {
            // SAFETY: the argument of this control is a place for an int.
            unsafe { *argument.cast::<c_int>() = code::last() };
            ffi::SQLITE_OK
        }
        control::VFS_NAME => {
            // SAFETY: the argument of this control is a place for a string from sqlite3_malloc; the format has one string.
            unsafe { *argument.cast::<*mut c_char>() = ffi::sqlite3_mprintf(c"%s".as_ptr(), vfs::NAME.as_ptr()) };
            ffi::SQLITE_OK
        }
        _ => ffi::SQLITE_NOTFOUND,
    }
}

/// Reads and sets a mode: negative asks, 0 clears, other sets.
///
/// # Safety
/// `argument` points to an int.
unsafe fn mode(flag: &mut bool, argument: *mut c_int) {
    // SAFETY: as the caller promises.
    unsafe {
        if *argument < 0 {
            *argument = c_int::from(*flag);
        } else {
            *flag = *argument != 0;
        }
    }
}

/// As the unix VFS says of an ordinary file system. Only the padding of journals without powersafe overwrite depends on it.
unsafe extern "C" fn sector_size(_file: *mut sqlite3_file) -> c_int {
    4096
}

/// As the unix VFS says. True of the simulated disk: a torn write loses whole sectors of what it wrote, and changes no byte beside it.
unsafe extern "C" fn device_characteristics(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite passes a file that is open.
    if unsafe { simulated(file) }.is_powersafe { ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE } else { 0 }
}

unsafe extern "C" fn shm_map(
    file: *mut sqlite3_file,
    index: c_int,
    len: c_int,
    extends: c_int,
    address: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite passes a file that is open.
    let this = unsafe { simulated(file) };
    // SAFETY: SQLite keeps the name as long as the file is open.
    let path = unsafe { text(this.name) };
    let mapped = if len as usize == REGION_BYTES {
        perform(this.key, Vfs(MapShared { file: &mut this.handle, path, index: index as usize, extends: extends != 0 }))
    } else {
        Err(Errno::Invalid)
    };
    // SAFETY: SQLite passes a place for the address.
    unsafe { *address = mapped.unwrap_or(ptr::null_mut()) };
    match mapped {
        Ok(_) => ffi::SQLITE_OK,
        Err(Errno::WouldBlock) => ffi::SQLITE_BUSY,
        Err(Errno::TooManyOpen | Errno::NoEntry) => code::failed(Errno::NoEntry, ffi::SQLITE_CANTOPEN),
        Err(errno) => code::failed(errno, ffi::SQLITE_IOERR_SHMMAP),
    }
}

unsafe extern "C" fn shm_lock(file: *mut sqlite3_file, first: c_int, count: c_int, flags: c_int) -> c_int {
    // SAFETY: SQLite passes a file that is open.
    let this = unsafe { simulated(file) };
    let slots = Slots { first: first as u8, count: count as u8, flags: flags as u8 };
    let releases = slots.flags & UNLOCK != 0;
    let call = Vfs(LockShared { file: &mut this.handle, slots });
    let changed = if releases { perform_release(this.key, call) } else { perform(this.key, call) };
    code::of_lock(changed, ffi::SQLITE_IOERR_SHMLOCK)
}

unsafe extern "C" fn shm_barrier(file: *mut sqlite3_file) {
    // SAFETY: SQLite passes a file that is open.
    let this = unsafe { simulated(file) };
    let object = this.handle.shared_inode.map_or(0, |inode| inode.0);
    // It returns nothing: a dead process learns of its death from the next call.
    let _ = perform(this.key, Vfs(Passing { kind: CallKind::SharedBarrier, object, argument: 0 }));
}

unsafe extern "C" fn shm_unmap(file: *mut sqlite3_file, deletes: c_int) -> c_int {
    // SAFETY: SQLite passes a file that is open.
    let this = unsafe { simulated(file) };
    // SAFETY: SQLite keeps the name as long as the file is open.
    let path = unsafe { text(this.name) };
    let unmapped = perform_release(this.key, Vfs(UnmapShared { file: &mut this.handle, path, deletes: deletes != 0 }));
    code::of(unmapped, ffi::SQLITE_IOERR_SHMMAP)
}

/// No memory-mapped pages: SQLite then reads with xRead.
unsafe extern "C" fn fetch(
    _file: *mut sqlite3_file,
    _offset: ffi::sqlite3_int64,
    _len: c_int,
    page: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite passes a place for the address.
    unsafe { *page = ptr::null_mut() };
    ffi::SQLITE_OK
}

unsafe extern "C" fn unfetch(file: *mut sqlite3_file, _offset: ffi::sqlite3_int64, _page: *mut c_void) -> c_int {
    // SAFETY: SQLite passes a file that is open.
    let this = unsafe { simulated(file) };
    let step = Passing { kind: CallKind::Unfetch, object: this.handle.inode.0, argument: 0 };
    code::of(perform(this.key, Vfs(step)), ffi::SQLITE_IOERR)
}

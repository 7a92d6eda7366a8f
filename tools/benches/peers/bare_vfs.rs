//! A plain in-memory SQLite VFS for the bare peer: files are byte vectors, each call counts itself and suspends its coroutine once.

use corosensei::Yielder;
use rusqlite::ffi;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;

thread_local! {
    /// VFS calls made.
    pub(crate) static CALLS: Cell<u64> = const { Cell::new(0) };
    static RUNNING: Cell<usize> = const { Cell::new(usize::MAX) };
    /// Microseconds that the calls so far stand for: one each, so that who sleeps stays out of the way meanwhile.
    static CLOCK_US: Cell<u64> = const { Cell::new(0) };
    static WAKES_US: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    static YIELDERS: RefCell<Vec<*const Yielder<(), ()>>> = const { RefCell::new(Vec::new()) };
    static WORLD: RefCell<World> = RefCell::new(World::default());
}

const REGION_BYTES: usize = 32_768;
const SLOTS: usize = 8;

#[derive(Default)]
struct World {
    names: BTreeMap<String, usize>,
    files: Vec<File>,
    handles: Vec<Option<Handle>>,
}

#[derive(Default)]
struct File {
    bytes: Vec<u8>,
    regions: Vec<Box<[u64; REGION_BYTES / 8]>>,
    shared: [u16; SLOTS],
    exclusive: [bool; SLOTS],
    mapped: u32,
}

struct Handle {
    file: usize,
    level: c_int,
    is_mapped: bool,
    shared: u8,
    exclusive: u8,
}

#[repr(C)]
struct Opened {
    base: ffi::sqlite3_file,
    handle: usize,
}

/// Forgets every file and the state of SQLite's random numbers.
pub(crate) fn begin() {
    WORLD.with_borrow_mut(|world| *world = World::default());
    RUNNING.set(usize::MAX);
    CLOCK_US.set(0);
    WAKES_US.with_borrow_mut(Vec::clear);
    // SAFETY: no connection is open between two runs.
    unsafe { ffi::sqlite3_randomness(0, null_mut()) };
}

/// Moves those of `left` to the front that don't sleep; gives how many. When all sleep, the clock goes on to the first wake-up.
pub(crate) fn awake(left: &mut [usize]) -> usize {
    WAKES_US.with_borrow(|wakes_us| {
        let wake_us = |agent: usize| wakes_us.get(agent).copied().unwrap_or(0);
        let first_us = left.iter().map(|agent| wake_us(*agent)).min().unwrap_or(0);
        CLOCK_US.set(CLOCK_US.get().max(first_us) + 1);
        let mut count = 0;
        for index in 0..left.len() {
            if wake_us(left[index]) <= CLOCK_US.get() {
                left.swap(count, index);
                count += 1;
            }
        }
        count
    })
}

/// A coroutine has started: how it suspends.
pub(crate) fn started(agent: usize, yielder: &Yielder<(), ()>) {
    YIELDERS.with_borrow_mut(|yielders| {
        yielders.resize(yielders.len().max(agent + 1), std::ptr::null());
        yielders[agent] = yielder;
    });
}

/// Says which coroutine is resumed next.
pub(crate) fn resume_as(agent: usize) {
    RUNNING.set(agent);
}

fn suspend() {
    CALLS.set(CALLS.get() + 1);
    let agent = RUNNING.get();
    if agent != usize::MAX {
        let yielder = YIELDERS.with_borrow(|yielders| yielders[agent]);
        // SAFETY: the yielder lives on the running coroutine's own stack.
        unsafe { (*yielder).suspend(()) };
    }
}

/// One call: suspends, then acts on the handle and its file.
fn call<T>(file: *mut ffi::sqlite3_file, act: impl FnOnce(&mut Handle, &mut File) -> T) -> T {
    suspend();
    // SAFETY: SQLite passes what x_open filled.
    let index = unsafe { (*file.cast::<Opened>()).handle };
    WORLD.with_borrow_mut(|world| {
        let World { files, handles, .. } = world;
        let handle = handles[index].as_mut().expect("an open handle");
        let file = &mut files[handle.file];
        act(handle, file)
    })
}

unsafe extern "C" fn x_open(
    _vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    suspend();
    // SAFETY: SQLite passes a NUL-terminated name, or none for a temporary file.
    let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned());
    let opened = WORLD.with_borrow_mut(|world| {
        let known = name.as_ref().and_then(|name| world.names.get(name).copied());
        if known.is_none() && flags & ffi::SQLITE_OPEN_CREATE == 0 {
            return None;
        }
        let index = known.unwrap_or_else(|| {
            world.files.push(File::default());
            world.files.len() - 1
        });
        if let Some(name) = name {
            world.names.insert(name, index);
        }
        world.handles.push(Some(Handle { file: index, level: 0, is_mapped: false, shared: 0, exclusive: 0 }));
        Some(world.handles.len() - 1)
    });
    // SAFETY: SQLite gave room for an `Opened`, as szOsFile says.
    unsafe {
        (*file).pMethods = std::ptr::null();
        let Some(handle) = opened else { return ffi::SQLITE_CANTOPEN };
        (*file.cast::<Opened>()).handle = handle;
        (*file).pMethods = &METHODS;
        if !out.is_null() {
            *out = flags;
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn x_close(file: *mut ffi::sqlite3_file) -> c_int {
    call(file, unmap);
    // SAFETY: as in `call`.
    let index = unsafe { (*file.cast::<Opened>()).handle };
    WORLD.with_borrow_mut(|world| world.handles[index] = None);
    ffi::SQLITE_OK
}

unsafe extern "C" fn x_read(file: *mut ffi::sqlite3_file, to: *mut c_void, len: c_int, offset: i64) -> c_int {
    // SAFETY: SQLite gives room for `len` bytes.
    let to = unsafe { std::slice::from_raw_parts_mut(to.cast::<u8>(), len as usize) };
    call(file, |_, file| {
        let from = file.bytes.get(offset as usize..).unwrap_or_default();
        let read = from.len().min(to.len());
        to[..read].copy_from_slice(&from[..read]);
        to[read..].fill(0);
        if read == to.len() { ffi::SQLITE_OK } else { ffi::SQLITE_IOERR_SHORT_READ }
    })
}

unsafe extern "C" fn x_write(file: *mut ffi::sqlite3_file, from: *const c_void, len: c_int, offset: i64) -> c_int {
    // SAFETY: SQLite gives `len` bytes.
    let from = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), len as usize) };
    call(file, |_, file| {
        let end = offset as usize + from.len();
        if file.bytes.len() < end {
            file.bytes.resize(end, 0);
        }
        file.bytes[offset as usize..end].copy_from_slice(from);
        ffi::SQLITE_OK
    })
}

unsafe extern "C" fn x_truncate(file: *mut ffi::sqlite3_file, len: i64) -> c_int {
    call(file, |_, file| file.bytes.resize(len as usize, 0));
    ffi::SQLITE_OK
}

unsafe extern "C" fn x_sync(file: *mut ffi::sqlite3_file, _flags: c_int) -> c_int {
    call(file, |_, _| ffi::SQLITE_OK)
}

unsafe extern "C" fn x_size(file: *mut ffi::sqlite3_file, out: *mut i64) -> c_int {
    let len = call(file, |_, file| file.bytes.len());
    // SAFETY: SQLite gives a place for the size.
    unsafe { *out = len as i64 };
    ffi::SQLITE_OK
}

fn others_level(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: as in `call`.
    let index = unsafe { (*file.cast::<Opened>()).handle };
    WORLD.with_borrow(|world| {
        let mine = world.handles[index].as_ref().map(|handle| handle.file);
        let others = world.handles.iter().enumerate().filter(|(other, _)| *other != index);
        others
            .filter_map(|(_, handle)| handle.as_ref())
            .filter(|handle| Some(handle.file) == mine)
            .map(|handle| handle.level)
            .max()
            .unwrap_or(0)
    })
}

unsafe extern "C" fn x_lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    suspend();
    let others = others_level(file);
    // SAFETY: as in `call`.
    let index = unsafe { (*file.cast::<Opened>()).handle };
    WORLD.with_borrow_mut(|world| {
        let handle = world.handles[index].as_mut().expect("an open handle");
        if handle.level >= level {
            return ffi::SQLITE_OK;
        }
        let refused = match level {
            ffi::SQLITE_LOCK_SHARED => others >= ffi::SQLITE_LOCK_PENDING,
            ffi::SQLITE_LOCK_RESERVED => others >= ffi::SQLITE_LOCK_RESERVED,
            _ => others >= ffi::SQLITE_LOCK_SHARED,
        };
        if refused {
            return ffi::SQLITE_BUSY;
        }
        handle.level = level;
        ffi::SQLITE_OK
    })
}

unsafe extern "C" fn x_unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    call(file, |handle, _| handle.level = handle.level.min(level));
    ffi::SQLITE_OK
}

unsafe extern "C" fn x_check_reserved(file: *mut ffi::sqlite3_file, out: *mut c_int) -> c_int {
    suspend();
    let reserved = others_level(file) >= ffi::SQLITE_LOCK_RESERVED;
    // SAFETY: SQLite gives a place for the answer.
    unsafe { *out = c_int::from(reserved) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn x_control(_file: *mut ffi::sqlite3_file, _operation: c_int, _argument: *mut c_void) -> c_int {
    suspend();
    ffi::SQLITE_NOTFOUND
}

unsafe extern "C" fn x_sector(_file: *mut ffi::sqlite3_file) -> c_int {
    4096
}

unsafe extern "C" fn x_device(_file: *mut ffi::sqlite3_file) -> c_int {
    ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE
}

unsafe extern "C" fn x_shm_map(
    file: *mut ffi::sqlite3_file,
    region: c_int,
    _len: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    let place = call(file, |handle, file| {
        if !handle.is_mapped {
            handle.is_mapped = true;
            file.mapped += 1;
        }
        while file.regions.len() <= region as usize && extend != 0 {
            file.regions.push(Box::new([0; REGION_BYTES / 8]));
        }
        file.regions.get_mut(region as usize).map_or(null_mut(), |region| region.as_mut_ptr().cast())
    });
    // SAFETY: SQLite gives a place for the pointer.
    unsafe { *out = place };
    ffi::SQLITE_OK
}

unsafe extern "C" fn x_shm_lock(file: *mut ffi::sqlite3_file, first: c_int, count: c_int, flags: c_int) -> c_int {
    call(file, |handle, file| {
        let slots = first as usize..(first + count) as usize;
        if flags & ffi::SQLITE_SHM_UNLOCK != 0 {
            slots.for_each(|slot| unlock_slot(handle, file, slot));
            return ffi::SQLITE_OK;
        }
        let is_shared = flags & ffi::SQLITE_SHM_SHARED != 0;
        for slot in slots.clone() {
            let mine = u16::from(handle.shared >> slot & 1);
            let taken = file.exclusive[slot] && handle.exclusive >> slot & 1 == 0;
            if taken || !is_shared && file.shared[slot] > mine {
                return ffi::SQLITE_BUSY;
            }
        }
        for slot in slots {
            if is_shared && handle.shared >> slot & 1 == 0 {
                file.shared[slot] += 1;
                handle.shared |= 1 << slot;
            } else if !is_shared {
                file.exclusive[slot] = true;
                handle.exclusive |= 1 << slot;
            }
        }
        ffi::SQLITE_OK
    })
}

fn unlock_slot(handle: &mut Handle, file: &mut File, slot: usize) {
    if handle.shared >> slot & 1 == 1 {
        file.shared[slot] -= 1;
        handle.shared &= !(1 << slot);
    }
    if handle.exclusive >> slot & 1 == 1 {
        file.exclusive[slot] = false;
        handle.exclusive &= !(1 << slot);
    }
}

fn unmap(handle: &mut Handle, file: &mut File) {
    (0..SLOTS).for_each(|slot| unlock_slot(handle, file, slot));
    if std::mem::take(&mut handle.is_mapped) {
        file.mapped -= 1;
        if file.mapped == 0 {
            file.regions.clear();
        }
    }
}

unsafe extern "C" fn x_shm_barrier(_file: *mut ffi::sqlite3_file) {
    suspend();
}

unsafe extern "C" fn x_shm_unmap(file: *mut ffi::sqlite3_file, _delete: c_int) -> c_int {
    call(file, unmap);
    ffi::SQLITE_OK
}

unsafe extern "C" fn x_fetch(_file: *mut ffi::sqlite3_file, _offset: i64, _len: c_int, out: *mut *mut c_void) -> c_int {
    // SAFETY: SQLite gives a place for the pointer.
    unsafe { *out = null_mut() };
    ffi::SQLITE_OK
}

unsafe extern "C" fn x_unfetch(_file: *mut ffi::sqlite3_file, _offset: i64, _page: *mut c_void) -> c_int {
    suspend();
    ffi::SQLITE_OK
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 3,
    xClose: Some(x_close),
    xRead: Some(x_read),
    xWrite: Some(x_write),
    xTruncate: Some(x_truncate),
    xSync: Some(x_sync),
    xFileSize: Some(x_size),
    xLock: Some(x_lock),
    xUnlock: Some(x_unlock),
    xCheckReservedLock: Some(x_check_reserved),
    xFileControl: Some(x_control),
    xSectorSize: Some(x_sector),
    xDeviceCharacteristics: Some(x_device),
    xShmMap: Some(x_shm_map),
    xShmLock: Some(x_shm_lock),
    xShmBarrier: Some(x_shm_barrier),
    xShmUnmap: Some(x_shm_unmap),
    xFetch: Some(x_fetch),
    xUnfetch: Some(x_unfetch),
};

unsafe extern "C" fn x_delete(_vfs: *mut ffi::sqlite3_vfs, name: *const c_char, _sync: c_int) -> c_int {
    suspend();
    // SAFETY: SQLite passes a NUL-terminated name.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let known = WORLD.with_borrow_mut(|world| world.names.remove(name.as_ref()));
    if known.is_some() { ffi::SQLITE_OK } else { ffi::SQLITE_IOERR_DELETE_NOENT }
}

unsafe extern "C" fn x_access(
    _vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    _flags: c_int,
    out: *mut c_int,
) -> c_int {
    suspend();
    // SAFETY: SQLite passes a NUL-terminated name and a place for the answer.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let is_there = WORLD
        .with_borrow(|world| world.names.get(name.as_ref()).is_some_and(|file| !world.files[*file].bytes.is_empty()));
    // SAFETY: as above.
    unsafe { *out = c_int::from(is_there) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn x_full_name(
    _vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    len: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes a NUL-terminated name and room for `len` bytes.
    unsafe {
        let bytes = CStr::from_ptr(name).to_bytes_with_nul();
        if bytes.len() > len as usize {
            return ffi::SQLITE_CANTOPEN;
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), out, bytes.len());
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn x_randomness(_vfs: *mut ffi::sqlite3_vfs, len: c_int, out: *mut c_char) -> c_int {
    // SAFETY: SQLite gives room for `len` bytes.
    unsafe { std::slice::from_raw_parts_mut(out.cast::<u8>(), len as usize) }.fill(7);
    len
}

unsafe extern "C" fn x_sleep(_vfs: *mut ffi::sqlite3_vfs, for_us: c_int) -> c_int {
    let agent = RUNNING.get();
    if agent != usize::MAX {
        WAKES_US.with_borrow_mut(|wakes_us| {
            wakes_us.resize(wakes_us.len().max(agent + 1), 0);
            wakes_us[agent] = CLOCK_US.get() + for_us as u64;
        });
    }
    suspend();
    for_us
}

unsafe extern "C" fn x_time(_vfs: *mut ffi::sqlite3_vfs, out: *mut i64) -> c_int {
    // SAFETY: SQLite gives a place for the time.
    unsafe { *out = 212_000_000_000_000 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn x_last_error(_vfs: *mut ffi::sqlite3_vfs, _len: c_int, _out: *mut c_char) -> c_int {
    0
}

/// Makes this VFS SQLite's default.
pub(crate) fn register() {
    // SAFETY: an all-zero sqlite3_vfs is a table without functions.
    let mut vfs: ffi::sqlite3_vfs = unsafe { std::mem::zeroed() };
    vfs.iVersion = 2;
    vfs.szOsFile = size_of::<Opened>() as c_int;
    vfs.mxPathname = 256;
    vfs.zName = c"bare".as_ptr();
    vfs.xOpen = Some(x_open);
    vfs.xDelete = Some(x_delete);
    vfs.xAccess = Some(x_access);
    vfs.xFullPathname = Some(x_full_name);
    vfs.xRandomness = Some(x_randomness);
    vfs.xSleep = Some(x_sleep);
    vfs.xCurrentTimeInt64 = Some(x_time);
    vfs.xGetLastError = Some(x_last_error);
    let vfs = Box::leak(Box::new(vfs));
    // SAFETY: the table lives for ever and SQLite is used from this thread only.
    unsafe {
        assert_eq!(ffi::sqlite3_initialize(), ffi::SQLITE_OK, "SQLite starts");
        assert_eq!(ffi::sqlite3_vfs_register(vfs, 1), ffi::SQLITE_OK, "the VFS is registered");
    }
}

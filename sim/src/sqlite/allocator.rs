//! SQLite's memory from the allocator of the Rust program, which may have chosen a faster one than the C library's. How memory is kept is in `memory`.

use rusqlite::ffi;
use std::alloc::{Layout, alloc, dealloc, realloc};
use std::ffi::{c_int, c_void};
use std::ptr;

/// Before each block stands its length. SQLite asks for alignment to 8 (sqlite.org/c3ref/mem_methods.html). An allocator may have to search for
/// more.
const HEADER_BYTES: usize = 8;

/// Blocks of this many bytes, with the header, aligned to it.
fn layout(len: usize) -> Option<Layout> {
    Layout::from_size_align(len.checked_add(HEADER_BYTES)?, HEADER_BYTES).ok()
}

/// Puts the header in. Null stays null.
///
/// # Safety
/// `block` is null, or can be written to for `HEADER_BYTES` bytes and is aligned to 8.
unsafe fn with_header(block: *mut u8, len: usize) -> *mut c_void {
    if block.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: as the caller promises.
    unsafe {
        block.cast::<usize>().write(len);
        block.add(HEADER_BYTES).cast()
    }
}

/// The block of what SQLite has, and its length.
///
/// # Safety
/// `memory` comes from `take` or `resize`, and has not been given back.
unsafe fn block_of(memory: *mut c_void) -> (*mut u8, usize) {
    // SAFETY: the header stands before it.
    unsafe {
        let block = memory.cast::<u8>().sub(HEADER_BYTES);
        (block, block.cast::<usize>().read())
    }
}

unsafe extern "C" fn take(len: c_int) -> *mut c_void {
    let len = len.max(0) as usize;
    let Some(layout) = layout(len) else { return ptr::null_mut() };
    // SAFETY: the layout has at least a header's bytes; the block is as long as that.
    unsafe { with_header(alloc(layout), len) }
}

unsafe extern "C" fn give_back(memory: *mut c_void) {
    if memory.is_null() {
        return;
    }
    // SAFETY: SQLite gives back what it was given, once.
    let (block, len) = unsafe { block_of(memory) };
    if let Some(layout) = layout(len) {
        // SAFETY: with this layout it was made.
        unsafe { dealloc(block, layout) };
    }
}

unsafe extern "C" fn resize(memory: *mut c_void, len: c_int) -> *mut c_void {
    let len = len.max(0) as usize;
    // SAFETY: SQLite never resizes null, and what it resizes it has (sqlite.org/c3ref/mem_methods.html).
    let (block, before) = unsafe { block_of(memory) };
    let (Some(from), Some(to)) = (layout(before), layout(len)) else { return ptr::null_mut() };
    // SAFETY: `from` is the layout that it was made with, and `to` is longer than nothing. Null leaves the old block as it was.
    unsafe { with_header(realloc(block, from, to.size()), len) }
}

unsafe extern "C" fn size(memory: *mut c_void) -> c_int {
    if memory.is_null() {
        return 0;
    }
    // SAFETY: SQLite asks about what it has.
    let (_, len) = unsafe { block_of(memory) };
    len as c_int
}

unsafe extern "C" fn round_up(len: c_int) -> c_int {
    len.saturating_add(7) & !7
}

unsafe extern "C" fn initialize(_: *mut c_void) -> c_int {
    ffi::SQLITE_OK
}

unsafe extern "C" fn shut_down(_: *mut c_void) {}

/// Tells SQLite to use it. Where SQLite is in use already it refuses, and goes on with malloc.
pub(super) fn install() {
    let methods = ffi::sqlite3_mem_methods {
        xMalloc: Some(take),
        xFree: Some(give_back),
        xRealloc: Some(resize),
        xSize: Some(size),
        xRoundup: Some(round_up),
        xInit: Some(initialize),
        xShutdown: Some(shut_down),
        pAppData: ptr::null_mut(),
    };
    // SAFETY: this option has one pointer, to methods that SQLite copies.
    unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MALLOC, &raw const methods) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_keep_their_bytes_and_lengths() {
        // SAFETY: as SQLite would use them.
        unsafe {
            let mut memory = take(5);
            assert_eq!((size(memory), memory as usize % 8), (5, 0));
            ptr::copy_nonoverlapping(b"hello".as_ptr(), memory.cast(), 5);
            for len in [6, 4_000, 70_000, 5] {
                memory = resize(memory, len);
                assert_eq!((size(memory), memory as usize % 8), (len, 0));
                assert_eq!(std::slice::from_raw_parts(memory.cast::<u8>(), 5), b"hello");
            }
            give_back(memory);
            give_back(ptr::null_mut());
            assert_eq!(size(ptr::null_mut()), 0);
            let nothing = take(0);
            assert!(!nothing.is_null() && size(nothing) == 0);
            give_back(nothing);
            assert_eq!((round_up(1), round_up(8), round_up(9)), (8, 8, 16));
        }
    }
}

//! Tests of what no SQL shows: raw shared memory, and what the machine keeps of open databases.

use super::calls::VfsCall;
use super::file::{Handle, Role};
use super::open::{CloseFile, OpenFile};
use super::shared_lock::{self, Slots};
use super::shared_memory::{self, REGION_BYTES};
use super::state::State;
use crate::errno::Errno;
use crate::sys::disk::{Disk, DiskOptions, OpenFlags, Owner, Persistence};
use std::ffi::c_void;

const A: Owner = Owner(1);
const B: Owner = Owner(2);

/// SQLITE_SHM_LOCK with SQLITE_SHM_SHARED or SQLITE_SHM_EXCLUSIVE, and SQLITE_SHM_UNLOCK with either.
const SHARE: u8 = 2 | 4;
const EXCLUDE: u8 = 2 | 8;
const UNSHARE: u8 = 1 | 4;
const RELEASE: u8 = 1 | 8;

struct Machine {
    disk: Disk,
    state: State,
}

impl Machine {
    fn new() -> Machine {
        Machine { disk: Disk::new(Persistence::Posix, DiskOptions::default()), state: State::default() }
    }

    fn open(&mut self, owner: Owner) -> Handle {
        let flags = OpenFlags::READ_WRITE.create();
        let mut call = OpenFile { path: Some("/db"), role: Role::Database, flags, deletes_on_close: false };
        call.on(&mut self.disk, &mut self.state, owner).expect("it opens")
    }

    fn close(&mut self, owner: Owner, file: &mut Handle) {
        CloseFile { file, path: "/db" }.on(&mut self.disk, &mut self.state, owner).expect("it closes");
        file.regions = None;
    }

    fn map(&mut self, owner: Owner, file: &mut Handle) -> *mut c_void {
        shared_memory::map(&mut self.disk, &mut self.state, owner, file, "/db", 0, true).expect("it is mapped")
    }

    fn lock(&mut self, owner: Owner, file: &mut Handle, first: u8, flags: u8) -> Result<(), Errno> {
        shared_lock::change(&mut self.disk, &mut self.state, owner, file, Slots { first, count: 1, flags })
    }

    fn dies(&mut self, owner: Owner, unwinding: impl FnOnce(&mut Machine)) {
        self.state.before_unwind(owner);
        self.disk.release_owner(owner);
        unwinding(self);
        self.state.after_unwind();
    }
}

fn poke(region: *mut c_void, at: usize, value: u8) {
    assert!(at < REGION_BYTES);
    // SAFETY: the tests poke at memory that is mapped.
    unsafe { region.cast::<u8>().add(at).write(value) };
}

fn peek(region: *mut c_void, at: usize) -> u8 {
    assert!(at < REGION_BYTES);
    // SAFETY: the tests peek at memory that is mapped.
    unsafe { region.cast::<u8>().add(at).read() }
}

#[test]
fn what_the_dying_write_to_shared_memory_is_undone() {
    let mut machine = Machine::new();
    let (mut first, mut second) = (machine.open(A), machine.open(B));
    let (mine, theirs) = (machine.map(A, &mut first), machine.map(B, &mut second));
    assert_eq!(mine, theirs, "processes map the same memory");
    poke(mine, 100, 7);
    machine.dies(A, |_| {
        poke(mine, 100, 66);
        poke(mine, REGION_BYTES - 1, 66);
    });
    assert_eq!((peek(theirs, 100), peek(theirs, REGION_BYTES - 1)), (7, 0));
    // SQLite of the dead process still has its file: the memory stays as long.
    poke(mine, 100, 8);
    machine.close(B, &mut second);
    drop(first);
}

#[test]
fn memory_lives_as_long_as_the_last_file_that_maps_it() {
    let mut machine = Machine::new();
    let mut file = machine.open(A);
    let region = machine.map(A, &mut file);
    poke(region, 0, 1);
    machine.dies(A, |_| {});
    machine.state.power_loss();
    assert_eq!(peek(region, 0), 1, "the machine has forgotten it, the dead connection not yet");
    let held = std::sync::Arc::downgrade(file.regions.as_ref().expect("it is mapped"));
    drop(file);
    assert!(held.upgrade().is_none());
}

#[test]
fn the_first_to_open_the_memory_finds_it_empty() {
    let mut machine = Machine::new();
    let mut first = machine.open(A);
    let region = machine.map(A, &mut first);
    poke(region, 5, 5);
    let mut second = machine.open(B);
    let again = machine.map(B, &mut second);
    assert_eq!(peek(again, 5), 5, "not while another process has it open");
    machine.close(A, &mut first);
    machine.dies(B, |_| {});
    let mut third = machine.open(A);
    let fresh = machine.map(A, &mut third);
    assert_eq!(peek(fresh, 5), 0);
    assert_eq!(machine.disk.stat("/db-shm").map(|stat| stat.len_bytes), Ok(REGION_BYTES as u64));
    // Without anything to extend it by, a region that nobody made isn't there.
    let absent = shared_memory::map(&mut machine.disk, &mut machine.state, A, &mut third, "/db", 3, false);
    assert_eq!(absent, Ok(std::ptr::null_mut()));
}

#[test]
fn whoever_lost_the_switch_sees_the_memory_cut() {
    let mut machine = Machine::new();
    let mut first = machine.open(A);
    let region = machine.map(A, &mut first);
    poke(region, 5, 5);
    // A rogue close of the -shm file takes the lock on the switch away.
    let fd = machine.disk.open(A, "/db-shm", OpenFlags::READ).expect("it is there");
    machine.disk.close(A, fd).expect("it is open");
    let mut second = machine.open(B);
    let cut = machine.map(B, &mut second);
    assert_eq!((cut, peek(region, 5)), (region, 0));
}

#[test]
fn slots_are_counted_within_a_process_and_exclude_between_processes() {
    let mut machine = Machine::new();
    let (mut one, mut two, mut other) = (machine.open(A), machine.open(A), machine.open(B));
    for (owner, file) in [(A, &mut one), (A, &mut two), (B, &mut other)] {
        machine.map(owner, file);
    }
    machine.lock(A, &mut one, 4, SHARE).expect("it is free");
    machine.lock(A, &mut two, 4, SHARE).expect("it is shared");
    machine.lock(A, &mut one, 4, UNSHARE).expect("it was held");
    assert_eq!(machine.lock(B, &mut other, 4, EXCLUDE), Err(Errno::WouldBlock), "the sibling still shares it");
    machine.lock(B, &mut other, 4, SHARE).expect("all share it");
    machine.lock(A, &mut two, 4, UNSHARE).expect("it was held");
    assert_eq!(machine.lock(A, &mut two, 4, EXCLUDE), Err(Errno::WouldBlock), "another process shares it");
    machine.lock(B, &mut other, 4, UNSHARE).expect("it was held");
    machine.lock(A, &mut two, 4, EXCLUDE).expect("it is free");
    for flags in [SHARE, EXCLUDE] {
        assert_eq!(machine.lock(A, &mut one, 4, flags), Err(Errno::WouldBlock), "a sibling has it exclusively");
        assert_eq!(machine.lock(B, &mut other, 4, flags), Err(Errno::WouldBlock), "another process has it exclusively");
    }
    machine.lock(A, &mut two, 4, RELEASE).expect("it was held");
    machine.lock(B, &mut other, 4, EXCLUDE).expect("it is free");
    machine.dies(B, |_| {});
    machine.lock(A, &mut one, 4, EXCLUDE).expect("the dead hold nothing");
    // Closing gives back what code that was cut off still has.
    machine.close(A, &mut one);
    machine.lock(A, &mut two, 4, SHARE).expect("it is free");
}

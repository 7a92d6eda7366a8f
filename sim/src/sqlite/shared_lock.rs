//! The eight locks on the wal-index (sqlite.org/walformat.html, "WAL Locks"), as POSIX byte-range locks at bytes 120 to 127 of the
//! `-shm` file.

use super::file::Handle;
use super::state::State;
use crate::errno::Errno;
use crate::sys::disk::{Disk, InodeId, LockMode, Owner};

/// The byte of slot 0 (`UNIX_SHM_BASE`).
const FIRST_BYTE: u64 = 120;

/// The number of slots (`SQLITE_SHM_NLOCK`).
pub(super) const SLOTS: u8 = 8;

/// The slot of the one writer (`WAL_WRITE_LOCK`).
const WRITE: u8 = 0;

/// SQLITE_SHM_UNLOCK and its kin: sqlite.org/c3ref/c_shm_exclusive.html.
pub(super) const UNLOCK: u8 = 1;
const SHARED: u8 = 4;

/// SQLITE_SHM_EXCLUSIVE.
const EXCLUSIVE: u64 = 8;

/// What a `shm-lock` call's event tells, read from its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedLockCall {
    /// The first slot.
    pub first: usize,
    /// How many slots.
    pub count: usize,
    /// Whether it unlocks them.
    pub releases: bool,
    /// Whether it locks them exclusively.
    pub excludes: bool,
}

impl SharedLockCall {
    /// How many slots a database has.
    pub const SLOTS: usize = SLOTS as usize;
    /// The slot of the one writer (`WAL_WRITE_LOCK`).
    pub const WRITE: usize = WRITE as usize;
    /// The slot of the one that checkpoints (`WAL_CKPT_LOCK`).
    pub const CHECKPOINT: usize = 1;
    /// The first slot of readers (`WAL_READ_LOCK(0)`); all above it are readers' too.
    pub const FIRST_READ: usize = 3;

    /// Reads the arguments of a call of kind [`crate::trace::CallKind::SharedLock`].
    pub fn of([slots, flags]: [u64; 2]) -> SharedLockCall {
        let releases = flags & u64::from(UNLOCK) != 0;
        let (first, count) = ((slots >> 8) as usize, (slots & 0xFF) as usize);
        SharedLockCall { first, count, releases, excludes: !releases && flags & EXCLUSIVE != 0 }
    }
}

/// Which slots, and what to do with them.
#[derive(Clone, Copy)]
pub(super) struct Slots {
    pub(super) first: u8,
    pub(super) count: u8,
    /// SQLITE_SHM_LOCK or SQLITE_SHM_UNLOCK, with SQLITE_SHM_SHARED or SQLITE_SHM_EXCLUSIVE.
    pub(super) flags: u8,
}

impl Slots {
    fn mask(self) -> u8 {
        (((1u16 << self.count) - 1) << self.first) as u8
    }

    fn bytes(self) -> (u64, u64) {
        (FIRST_BYTE + u64::from(self.first), u64::from(self.count))
    }

    fn range(self) -> std::ops::Range<usize> {
        usize::from(self.first)..usize::from(self.first + self.count)
    }
}

/// Locks or unlocks slots for a connection. EAGAIN when another connection stands in the way.
pub(super) fn change(
    disk: &mut Disk,
    state: &mut State,
    owner: Owner,
    file: &mut Handle,
    slots: Slots,
) -> Result<(), Errno> {
    let (Some(place), Some(_)) = (file.attachment, &file.regions) else { return Err(Errno::Invalid) };
    if slots.first + slots.count > SLOTS || slots.count == 0 {
        return Err(Errno::Invalid);
    }
    if slots.flags & UNLOCK != 0 {
        unlock(disk, state, owner, file, place, slots)
    } else if slots.flags & SHARED != 0 {
        share(disk, state, owner, file, place, slots)
    } else {
        exclude(disk, state, owner, file, place, slots)
    }
}

fn share(
    disk: &mut Disk,
    state: &mut State,
    owner: Owner,
    file: &mut Handle,
    place: u32,
    slots: Slots,
) -> Result<(), Errno> {
    if file.slots_shared & slots.mask() != 0 {
        return Ok(());
    }
    let Some(mapping) = &mut state.at(place).mapping else { return Err(Errno::Invalid) };
    let holders = &mut mapping.slots[usize::from(slots.first)];
    if *holders < 0 {
        return Err(Errno::WouldBlock);
    }
    if *holders == 0 {
        let (first, len) = slots.bytes();
        disk.try_lock_range(owner, mapping.fd, first, len, LockMode::Shared)?;
    }
    *holders += 1;
    file.slots_shared |= slots.mask();
    Ok(())
}

fn exclude(
    disk: &mut Disk,
    state: &mut State,
    owner: Owner,
    file: &mut Handle,
    place: u32,
    slots: Slots,
) -> Result<(), Errno> {
    let (attachment, memory) = state.at_with_memory(place);
    let Some(mapping) = &mut attachment.mapping else { return Err(Errno::Invalid) };
    if mapping.slots[slots.range()].iter().any(|&holders| holders != 0) {
        return Err(Errno::WouldBlock);
    }
    let (first, len) = slots.bytes();
    disk.try_lock_range(owner, mapping.fd, first, len, LockMode::Exclusive)?;
    mapping.slots[slots.range()].fill(-1);
    file.slots_exclusive |= slots.mask();
    if slots.first == WRITE {
        attachment.wal.begin(memory.header(mapping.node));
    }
    Ok(())
}

fn unlock(
    disk: &mut Disk,
    state: &mut State,
    owner: Owner,
    file: &mut Handle,
    place: u32,
    slots: Slots,
) -> Result<(), Errno> {
    let mask = slots.mask();
    if (file.slots_shared | file.slots_exclusive) & mask == 0 {
        return Ok(());
    }
    let (attachment, memory) = state.at_with_memory(place);
    let Some(mapping) = &mut attachment.mapping else { return Err(Errno::Invalid) };
    let holders = &mut mapping.slots[usize::from(slots.first)];
    if slots.flags & SHARED != 0 && *holders > 1 {
        // Another connection of this process still shares it.
        *holders -= 1;
        file.slots_shared &= !mask;
        return Ok(());
    }
    let releases_write_lock = file.slots_exclusive & mask & (1 << WRITE) != 0;
    let (first, len) = slots.bytes();
    disk.unlock_range(owner, mapping.fd, first, len)?;
    mapping.slots[slots.range()].fill(0);
    file.slots_shared &= !mask;
    file.slots_exclusive &= !mask;
    if releases_write_lock && let Some(commit) = attachment.wal.end(memory.header(mapping.node), disk) {
        state.committed(owner, commit);
    }
    Ok(())
}

/// Releases every slot of a connection, as closing it does.
pub(super) fn release_all(disk: &mut Disk, state: &mut State, owner: Owner, file: &mut Handle) -> Result<(), Errno> {
    for slot in 0..SLOTS {
        let flags = if file.slots_shared & (1 << slot) != 0 { UNLOCK | SHARED } else { UNLOCK };
        if (file.slots_shared | file.slots_exclusive) & (1 << slot) != 0 {
            change(disk, state, owner, file, Slots { first: slot, count: 1, flags })?;
        }
    }
    Ok(())
}

/// Who holds the locks of a wal-index, read from the disk's lock table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalLocks {
    /// The one writer's lock, slot 0.
    pub writer: Option<Owner>,
    /// The one checkpointer's lock, slot 1.
    pub checkpointer: Option<Owner>,
    /// The one who rebuilds the wal-index after a crash, slot 2.
    pub recoverer: Option<Owner>,
    /// Those who read a snapshot, slots 3 to 7: (which of the five read marks, owner). Mark 0 reads the database file alone.
    pub readers: Vec<(u8, Owner)>,
}

impl WalLocks {
    /// The locks on a `-shm` file.
    pub(crate) fn of(disk: &Disk, shared_inode: InodeId) -> WalLocks {
        let mut locks = WalLocks::default();
        for lock in disk.range_locks(shared_inode) {
            for slot in 0..SLOTS {
                let byte = FIRST_BYTE + u64::from(slot);
                if !(lock.start..lock.end).contains(&byte) {
                    continue;
                }
                let is_exclusive = lock.mode == LockMode::Exclusive;
                match slot {
                    0 if is_exclusive => locks.writer = Some(lock.owner),
                    1 if is_exclusive => locks.checkpointer = Some(lock.owner),
                    2 if is_exclusive => locks.recoverer = Some(lock.owner),
                    3.. if !is_exclusive => locks.readers.push((slot - 3, lock.owner)),
                    _ => {}
                }
            }
        }
        locks
    }
}

//! The locks on the database file (sqlite.org/lockingv3.html): SHARED, RESERVED, PENDING and EXCLUSIVE, as POSIX byte-range locks at
//! SQLite's own bytes. Those on the wal-index are in `shared_lock`.

use super::file::Handle;
use super::shared_memory;
use super::state::State;
use crate::errno::Errno;
use crate::sys::disk::{Disk, LockMode, Owner};

pub(super) const NONE: u8 = 0;
pub(super) const SHARED: u8 = 1;
pub(super) const RESERVED: u8 = 2;
pub(super) const PENDING: u8 = 3;
pub(super) const EXCLUSIVE: u8 = 4;

/// The bytes that are locked: past the first gigabyte, in a page that SQLite never uses (sqlite.org/fileformat2.html, "The lock-byte page").
const PENDING_BYTE: u64 = 0x4000_0000;
const RESERVED_BYTE: u64 = PENDING_BYTE + 1;
const SHARED_FIRST: u64 = PENDING_BYTE + 2;
const SHARED_LEN: u64 = 510;

/// Raises a connection's lock. EAGAIN when another connection's stands in the way; on the way to EXCLUSIVE, PENDING may have been reached.
pub(super) fn lock(
    disk: &mut Disk,
    state: &mut State,
    owner: Owner,
    file: &mut Handle,
    level: u8,
) -> Result<(), Errno> {
    let Some(place) = file.attachment else { return Ok(()) };
    if file.level >= level {
        return Ok(());
    }
    let attachment = state.at(place);
    // Another connection of the same process: POSIX locks don't keep the two apart.
    if file.level != attachment.level && (attachment.level >= PENDING || level > SHARED) {
        return Err(Errno::WouldBlock);
    }
    if level == SHARED && matches!(attachment.level, SHARED | RESERVED) {
        file.level = SHARED;
        attachment.shared += 1;
        return Ok(());
    }
    let fd = file.fd;
    if level == SHARED {
        // A reader looks in at PENDING only to see that no writer waits there.
        disk.try_lock_range(owner, fd, PENDING_BYTE, 1, LockMode::Shared)?;
        let shared = disk.try_lock_range(owner, fd, SHARED_FIRST, SHARED_LEN, LockMode::Shared);
        disk.unlock_range(owner, fd, PENDING_BYTE, 1)?;
        shared?;
        attachment.shared = 1;
    } else {
        if level == EXCLUSIVE && file.level == RESERVED {
            disk.try_lock_range(owner, fd, PENDING_BYTE, 1, LockMode::Exclusive)?;
            file.level = PENDING;
            attachment.level = PENDING;
        }
        if level == EXCLUSIVE && attachment.shared > 1 {
            return Err(Errno::WouldBlock);
        }
        if let Some(mapping) = &attachment.mapping
            && shared_memory::is_shared_with_others(disk, owner, mapping)?
        {
            // Others use the wal-index, so they must have locks here: someone has lost them (SQLite since 3.52 looks too).
            return Err(Errno::WouldBlock);
        }
        let (first, len) = if level == RESERVED { (RESERVED_BYTE, 1) } else { (SHARED_FIRST, SHARED_LEN) };
        disk.try_lock_range(owner, fd, first, len, LockMode::Exclusive)?;
    }
    file.level = level;
    attachment.level = level;
    Ok(())
}

/// Lowers a connection's lock to SHARED or NONE.
pub(super) fn unlock(
    disk: &mut Disk,
    state: &mut State,
    owner: Owner,
    file: &mut Handle,
    level: u8,
) -> Result<(), Errno> {
    let Some(place) = file.attachment else { return Ok(()) };
    if file.level <= level {
        return Ok(());
    }
    let attachment = state.at(place);
    let fd = file.fd;
    if file.level > SHARED {
        if level == SHARED {
            disk.try_lock_range(owner, fd, SHARED_FIRST, SHARED_LEN, LockMode::Shared)?;
        }
        // PENDING and RESERVED lie side by side.
        disk.unlock_range(owner, fd, PENDING_BYTE, 2)?;
        attachment.level = SHARED;
    }
    if level == NONE {
        attachment.shared -= 1;
        if attachment.shared == 0 {
            disk.unlock_range(owner, fd, 0, 0)?;
            attachment.level = NONE;
            state.close_unused(disk, place);
        }
    }
    file.level = level;
    Ok(())
}

/// Whether any connection has RESERVED or a higher lock.
pub(super) fn is_reserved(disk: &Disk, state: &mut State, owner: Owner, file: &Handle) -> Result<bool, Errno> {
    let Some(place) = file.attachment else { return Ok(false) };
    Ok(state.at(place).level > SHARED
        || disk.query_range(owner, file.fd, RESERVED_BYTE, 1, LockMode::Exclusive)?.is_some())
}

//! flock(2): locks on whole files that live on the open description. Byte-range locks are in `range_lock`; the two kinds
//! never conflict with each other (Linux, local file systems).

use std::collections::BTreeMap;

use super::descriptor::DescriptionId;
use super::image::Disk;
use super::types::{Fd, InodeId, LockMode, Owner};
use crate::errno::Errno;

/// Who holds what, by inode. An inode without locks has no entry.
#[derive(Default)]
pub(super) struct FlockTable {
    held: BTreeMap<InodeId, Vec<(DescriptionId, LockMode)>>,
}

impl FlockTable {
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    pub(super) fn release(&mut self, inode: InodeId, description: DescriptionId) -> bool {
        let Some(holders) = self.held.get_mut(&inode) else { return false };
        let before = holders.len();
        holders.retain(|(holder, _)| *holder != description);
        let is_released = holders.len() < before;
        if holders.is_empty() {
            self.held.remove(&inode);
        }
        is_released
    }

    fn of(&self, inode: InodeId) -> &[(DescriptionId, LockMode)] {
        self.held.get(&inode).map(Vec::as_slice).unwrap_or_default()
    }
}

/// A holder of a flock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlockHolder {
    /// The process whose open description it is.
    pub owner: Owner,
    /// Shared or exclusive.
    pub mode: LockMode,
}

impl Disk {
    /// flock(2) with LOCK_NB: takes or converts the lock of the open description behind `fd`.
    ///
    /// A conversion is not atomic on Linux: the old lock goes first. So a conversion that fails has lost the old lock too,
    /// and one from exclusive to shared lets waiters in.
    ///
    /// # Errors
    /// EAGAIN (`WouldBlock`) if another description holds a conflicting lock; EBADF.
    pub fn try_flock(&mut self, owner: Owner, fd: Fd, mode: LockMode) -> Result<(), Errno> {
        let description = self.descriptors.id(owner, fd)?;
        let inode = self.descriptors.get(owner, fd)?.inode;
        if self.flocks.of(inode).contains(&(description, mode)) {
            return Ok(());
        }
        let had_lock = self.flocks.release(inode, description);
        let is_refused = self.flocks.of(inode).iter().any(|(_, held)| held.conflicts_with(mode));
        // Waiters gain by a lock that is lost or weakened, not by one that became exclusive.
        if had_lock && (is_refused || mode == LockMode::Shared) {
            self.note_release(inode);
        }
        if is_refused {
            return Err(Errno::WouldBlock);
        }
        self.flocks.held.entry(inode).or_default().push((description, mode));
        Ok(())
    }

    /// flock(2) with LOCK_UN. Unlocking what is not locked is no error.
    ///
    /// # Errors
    /// EBADF.
    pub fn unlock_flock(&mut self, owner: Owner, fd: Fd) -> Result<(), Errno> {
        let description = self.descriptors.id(owner, fd)?;
        let inode = self.descriptors.get(owner, fd)?.inode;
        if self.flocks.release(inode, description) {
            self.note_release(inode);
        }
        Ok(())
    }

    /// Who holds a flock on the inode, in the order of their taking it. For oracles.
    pub fn flock_holders(&self, inode: InodeId) -> Vec<FlockHolder> {
        let holder = |&(id, mode): &(DescriptionId, LockMode)| {
            self.descriptors.by_id(id).map(|description| FlockHolder { owner: description.owner, mode })
        };
        self.flocks.of(inode).iter().filter_map(holder).collect()
    }

    /// The flock that the description behind `fd` holds.
    ///
    /// # Errors
    /// EBADF.
    pub fn flock_of(&self, owner: Owner, fd: Fd) -> Result<Option<LockMode>, Errno> {
        let description = self.descriptors.id(owner, fd)?;
        let inode = self.descriptors.get(owner, fd)?.inode;
        let held = self.flocks.of(inode).iter().find(|(holder, _)| *holder == description);
        Ok(held.map(|(_, mode)| *mode))
    }
}

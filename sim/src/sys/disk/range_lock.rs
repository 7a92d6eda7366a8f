//! POSIX byte-range locks (fcntl(2), "Record locks"): owned by the process, split and merged by ranges. The flock kind is
//! in `flock`.

use super::image::Disk;
use super::types::{Fd, InodeId, LockMode, Owner};
use crate::errno::Errno;

/// The end of a lock that reaches to infinity (`l_len` 0).
pub const TO_INFINITY: u64 = u64::MAX;

/// A byte-range lock that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RangeLock {
    /// The first byte.
    pub start: u64,
    /// The byte after the last one; [`TO_INFINITY`] for no end.
    pub end: u64,
    /// The process that holds it.
    pub owner: Owner,
    /// Shared or exclusive.
    pub mode: LockMode,
}

impl RangeLock {
    fn overlaps(&self, start: u64, end: u64) -> bool {
        self.start < end && start < self.end
    }
}

/// Who holds what, by inode, sorted by start. A list of few: SQLite locks two files. An inode keeps its own until a close finds it empty, since SQLite
/// fills it again at once.
#[derive(Default)]
pub(super) struct RangeLockTable {
    held: Vec<(InodeId, Vec<RangeLock>)>,
}

impl RangeLockTable {
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    fn of(&self, inode: InodeId) -> &[RangeLock] {
        self.held.iter().find(|(id, _)| *id == inode).map(|(_, locks)| locks.as_slice()).unwrap_or_default()
    }

    fn of_mut(&mut self, inode: InodeId) -> &mut Vec<RangeLock> {
        let place = self.held.iter().position(|(id, _)| *id == inode).unwrap_or_else(|| {
            self.held.push((inode, Vec::new()));
            self.held.len() - 1
        });
        &mut self.held[place].1
    }

    /// Releases all that `owner` holds on the inode. True if there was anything.
    pub(super) fn release_owner_on(&mut self, inode: InodeId, owner: Owner) -> bool {
        let Some(place) = self.held.iter().position(|(id, _)| *id == inode) else { return false };
        let locks = &mut self.held[place].1;
        let before = locks.len();
        locks.retain(|lock| lock.owner != owner);
        let is_released = locks.len() < before;
        if locks.is_empty() {
            self.held.swap_remove(place);
        }
        is_released
    }
}

/// The first lock of another process that stands in the way.
fn conflict(locks: &[RangeLock], owner: Owner, start: u64, end: u64, mode: LockMode) -> Option<RangeLock> {
    let stands_in_the_way =
        |lock: &&RangeLock| lock.owner != owner && lock.overlaps(start, end) && lock.mode.conflicts_with(mode);
    locks.iter().find(stands_in_the_way).copied()
}

/// Gives `owner` the mode `mode`, or none, on `start..end`: splits what it holds there, and merges what touches.
/// True if anything was released or weakened. In place: SQLite locks and unlocks at every transaction.
fn set(locks: &mut Vec<RangeLock>, owner: Owner, start: u64, end: u64, mode: Option<LockMode>) -> bool {
    match mode {
        // What a process holds doesn't overlap: a lock that is released as it was taken leaves nothing else to do.
        None => {
            let is_same = |lock: &RangeLock| (lock.start, lock.end, lock.owner) == (start, end, owner);
            if let Some(place) = locks.iter().position(is_same) {
                locks.remove(place);
                return true;
            }
        }
        Some(mode) => {
            let touches = |lock: &RangeLock| lock.owner == owner && lock.start <= end && start <= lock.end;
            if !locks.iter().any(touches) {
                insert(locks, RangeLock { start, end, owner, mode });
                return false;
            }
        }
    }
    let mut is_weakened = false;
    let mut new = mode.map(|mode| RangeLock { start, end, owner, mode });
    // What is left of locks that reach out of the range: on either side one at most.
    let (mut left, mut right) = (None, None);
    locks.retain(|lock| {
        if lock.owner != owner {
            return true;
        }
        if let Some(new) = &mut new
            && lock.mode == new.mode
            && lock.start <= new.end
            && new.start <= lock.end
        {
            new.start = new.start.min(lock.start);
            new.end = new.end.max(lock.end);
            return false;
        }
        if !lock.overlaps(start, end) {
            return true;
        }
        is_weakened |= mode.is_none() || lock.mode == LockMode::Exclusive;
        if lock.start < start {
            left = Some(RangeLock { end: start, ..*lock });
        }
        if end < lock.end {
            right = Some(RangeLock { start: end, ..*lock });
        }
        false
    });
    for lock in [left, new, right].into_iter().flatten() {
        insert(locks, lock);
    }
    is_weakened
}

fn insert(locks: &mut Vec<RangeLock>, lock: RangeLock) {
    let place = locks.partition_point(|other| *other < lock);
    locks.insert(place, lock);
}

/// The half-open range of `l_start` and `l_len`.
fn range_of(start: u64, len: u64) -> Result<(u64, u64), Errno> {
    let end = if len == 0 { TO_INFINITY } else { start.checked_add(len).ok_or(Errno::Invalid)? };
    if start > i64::MAX as u64 { Err(Errno::Invalid) } else { Ok((start, end)) }
}

impl Disk {
    /// fcntl(2) F_SETLK with F_RDLCK or F_WRLCK, on `len_bytes` bytes from `start` (0: to infinity, however the file grows).
    ///
    /// A process never conflicts with itself: a second lock on what it holds converts it, atomically.
    ///
    /// # Errors
    /// EAGAIN (`WouldBlock`) if another process holds a conflicting lock, and then nothing changes; EBADF also if `fd` is
    /// not open for reading (shared) or writing (exclusive); EINVAL for a range past what 63 bits hold.
    pub fn try_lock_range(
        &mut self,
        owner: Owner,
        fd: Fd,
        start: u64,
        len_bytes: u64,
        mode: LockMode,
    ) -> Result<(), Errno> {
        let description = self.descriptors.get(owner, fd)?;
        let is_allowed = match mode {
            LockMode::Shared => description.flags.read,
            LockMode::Exclusive => description.flags.write,
        };
        if !is_allowed {
            return Err(Errno::BadDescriptor);
        }
        let inode = description.inode;
        let (start, end) = range_of(start, len_bytes)?;
        let locks = self.range_locks.of_mut(inode);
        if conflict(locks, owner, start, end, mode).is_some() {
            return Err(Errno::WouldBlock);
        }
        if set(locks, owner, start, end, Some(mode)) {
            self.note_release(inode);
        }
        Ok(())
    }

    /// fcntl(2) F_SETLK with F_UNLCK: may split a lock in two. Unlocking what is not locked is no error.
    ///
    /// # Errors
    /// EBADF, EINVAL.
    pub fn unlock_range(&mut self, owner: Owner, fd: Fd, start: u64, len_bytes: u64) -> Result<(), Errno> {
        let inode = self.descriptors.get(owner, fd)?.inode;
        let (start, end) = range_of(start, len_bytes)?;
        if set(self.range_locks.of_mut(inode), owner, start, end, None) {
            self.note_release(inode);
        }
        Ok(())
    }

    /// fcntl(2) F_GETLK: the first lock of another process that would stand in the way of this one.
    ///
    /// # Errors
    /// EBADF, EINVAL.
    pub fn query_range(
        &self,
        owner: Owner,
        fd: Fd,
        start: u64,
        len_bytes: u64,
        mode: LockMode,
    ) -> Result<Option<RangeLock>, Errno> {
        let inode = self.descriptors.get(owner, fd)?.inode;
        let (start, end) = range_of(start, len_bytes)?;
        Ok(conflict(self.range_locks.of(inode), owner, start, end, mode))
    }

    /// The byte-range locks on an inode, sorted by start. For oracles.
    pub fn range_locks(&self, inode: InodeId) -> &[RangeLock] {
        self.range_locks.of(inode)
    }

    /// All locks of a process, of both kinds, by descriptor and by inode. For oracles.
    pub fn locks_of(&self, owner: Owner) -> OwnedLocks {
        let mut locks = OwnedLocks::default();
        let open = self.open_fds(owner);
        for &(fd, inode) in &open {
            if let Ok(Some(mode)) = self.flock_of(owner, fd) {
                locks.flocks.push((fd, inode, mode));
            }
        }
        // A process can hold byte-range locks only on files that it has open.
        let mut inodes: Vec<InodeId> = open.into_iter().map(|(_, inode)| inode).collect();
        inodes.sort_unstable();
        inodes.dedup();
        for inode in inodes {
            let of_owner = self.range_locks.of(inode).iter().filter(|lock| lock.owner == owner);
            locks.ranges.extend(of_owner.map(|lock| (inode, *lock)));
        }
        locks
    }
}

/// The locks of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnedLocks {
    /// The flocks, by descriptor; descriptors of one description repeat it.
    pub flocks: Vec<(Fd, InodeId, LockMode)>,
    /// The byte-range locks, by inode and start.
    pub ranges: Vec<(InodeId, RangeLock)>,
}

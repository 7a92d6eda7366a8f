//! File locks: flock(2), and POSIX byte ranges (fcntl(2)). Their release rules are the disk's.

use super::Result;
use super::call::{Call, Caller, Effect, Header};
use super::disk::{Fd, InodeId, LockMode};
use super::file::File;
use crate::errno::Errno;
use crate::kernel::{Core, Injected, WaitKey};
use crate::trace::CallKind;

pub(crate) struct Flock {
    pub(crate) fd: Fd,
    pub(crate) inode: InodeId,
    pub(crate) mode: LockMode,
    pub(crate) waits: bool,
}

impl Call for Flock {
    type Value = ();

    fn header(&self) -> Header {
        Header::new(CallKind::Lock, self.inode.0, [self.mode as u64, u64::from(self.waits)])
    }

    fn effect(&mut self, core: &mut Core, caller: Caller, _injected: Option<Injected>) -> Effect<()> {
        match core.disk.try_flock(caller.owner, self.fd, self.mode) {
            Err(Errno::WouldBlock) if self.waits => Effect::Wait(WaitKey::File(self.inode), None),
            result => result.into(),
        }
    }

    fn number(&self, (): &()) -> u64 {
        0
    }
}

pub(crate) struct Unflock {
    pub(crate) fd: Fd,
    pub(crate) inode: InodeId,
}

impl Call for Unflock {
    type Value = ();

    fn header(&self) -> Header {
        Header::new(CallKind::Unlock, self.inode.0, [0; 2])
    }

    fn effect(&mut self, core: &mut Core, caller: Caller, _injected: Option<Injected>) -> Effect<()> {
        core.disk.unlock_flock(caller.owner, self.fd).into()
    }

    fn number(&self, (): &()) -> u64 {
        0
    }
}

/// What to do with a byte range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RangeAction {
    TryLock(LockMode),
    /// Blocks until granted (F_SETLKW).
    Lock(LockMode),
    Unlock,
}

pub(crate) struct Range {
    pub(crate) fd: Fd,
    pub(crate) inode: InodeId,
    pub(crate) start: u64,
    /// 0 reaches to the end, however long the file becomes.
    pub(crate) len_bytes: u64,
    pub(crate) action: RangeAction,
}

impl Call for Range {
    type Value = ();

    fn header(&self) -> Header {
        let kind = if self.action == RangeAction::Unlock { CallKind::RangeUnlock } else { CallKind::RangeLock };
        Header::new(kind, self.inode.0, [self.start, self.len_bytes])
    }

    fn effect(&mut self, core: &mut Core, caller: Caller, _injected: Option<Injected>) -> Effect<()> {
        let Range { fd, inode, start, len_bytes, action } = *self;
        match action {
            RangeAction::Unlock => core.disk.unlock_range(caller.owner, fd, start, len_bytes).into(),
            RangeAction::TryLock(mode) => core.disk.try_lock_range(caller.owner, fd, start, len_bytes, mode).into(),
            RangeAction::Lock(mode) => match core.disk.try_lock_range(caller.owner, fd, start, len_bytes, mode) {
                Err(Errno::WouldBlock) => Effect::Wait(WaitKey::File(inode), None),
                result => result.into(),
            },
        }
    }

    fn number(&self, (): &()) -> u64 {
        0
    }
}

impl File {
    /// Locks the open file description; waits for others (flock(2)).
    ///
    /// # Errors
    /// EBADF.
    pub async fn lock(&self, mode: LockMode) -> Result<()> {
        self.sys.call(Flock { fd: self.fd, inode: self.inode, mode, waits: true }).await
    }

    /// As [`File::lock`], without waiting.
    ///
    /// # Errors
    /// EAGAIN when another description holds a conflicting lock.
    pub async fn try_lock(&self, mode: LockMode) -> Result<()> {
        self.sys.call(Flock { fd: self.fd, inode: self.inode, mode, waits: false }).await
    }

    /// Unlocks the open file description.
    ///
    /// # Errors
    /// EBADF.
    pub async fn unlock(&self) -> Result<()> {
        self.sys.call(Unflock { fd: self.fd, inode: self.inode }).await
    }

    /// Locks a range of bytes for this process, without waiting (fcntl(2), F_SETLK). A length of 0 reaches to the end.
    ///
    /// # Errors
    /// EAGAIN when another process holds a conflicting lock.
    pub async fn try_lock_range(&self, start: u64, len_bytes: u64, mode: LockMode) -> Result<()> {
        self.range(start, len_bytes, RangeAction::TryLock(mode)).await
    }

    /// As [`File::try_lock_range`], but waits (F_SETLKW). Deadlocks are not detected: the run stands still, and `progress` says who hangs.
    ///
    /// # Errors
    /// EBADF.
    pub async fn lock_range(&self, start: u64, len_bytes: u64, mode: LockMode) -> Result<()> {
        self.range(start, len_bytes, RangeAction::Lock(mode)).await
    }

    /// Unlocks a range of bytes.
    ///
    /// # Errors
    /// EBADF.
    pub async fn unlock_range(&self, start: u64, len_bytes: u64) -> Result<()> {
        self.range(start, len_bytes, RangeAction::Unlock).await
    }

    async fn range(&self, start: u64, len_bytes: u64, action: RangeAction) -> Result<()> {
        self.sys.call(Range { fd: self.fd, inode: self.inode, start, len_bytes, action }).await
    }
}

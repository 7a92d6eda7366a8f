//! The blocking face of the system calls: what [`Os`] offers to code that can't await. Each is the same call as the `async` one of
//! [`super::Sys`] or [`super::File`], and one step. How it leaves the coroutine is in `blocking`.

use super::Result;
use super::claim::{Claim, MakeClaim};
use super::directory::{OnePath, ReadDirectory, StatPath, TwoPaths};
use super::disk::{Fd, InodeId, LockMode, OpenFlags, Stat};
use super::file::{Close, Open, Read, SetLength, StatFile, Sync, Write};
use super::lock::{Flock, Range, RangeAction, Unflock};
use super::process::{ProcessInfo, QueryProcess};
use super::time::{Sleep, Yield};
use crate::blocking::Os;
use crate::errno::Errno;
use crate::seed::Draw;
use crate::trace::CallKind;
use std::cell::Cell;

impl Os {
    /// Opens a file or directory (open(2)).
    ///
    /// # Errors
    /// As [`super::Sys::open`]; like every call of an `Os` also [`Errno::Dead`].
    pub fn open(&self, path: &str, flags: OpenFlags) -> Result<OsFile<'_>> {
        let (fd, inode) = self.call(Open { path, flags })?;
        Ok(OsFile { os: self, fd, inode, is_open: Cell::new(true) })
    }

    /// Gives a file another name, in one step; a file that has the new name goes (rename(2)).
    ///
    /// # Errors
    /// As [`super::Sys::rename`].
    pub fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.call(TwoPaths::new(CallKind::Rename, from, to))
    }

    /// Gives a file a second name (link(2)).
    ///
    /// # Errors
    /// As [`super::Sys::link`].
    pub fn link(&self, existing: &str, new: &str) -> Result<()> {
        self.call(TwoPaths::new(CallKind::Link, existing, new))
    }

    /// Removes a name (unlink(2)).
    ///
    /// # Errors
    /// As [`super::Sys::unlink`].
    pub fn unlink(&self, path: &str) -> Result<()> {
        self.call(OnePath { path, kind: CallKind::Unlink })
    }

    /// Makes a directory (mkdir(2)).
    ///
    /// # Errors
    /// As [`super::Sys::mkdir`].
    pub fn mkdir(&self, path: &str) -> Result<()> {
        self.call(OnePath { path, kind: CallKind::MakeDirectory })
    }

    /// Removes an empty directory (rmdir(2)).
    ///
    /// # Errors
    /// As [`super::Sys::rmdir`].
    pub fn rmdir(&self, path: &str) -> Result<()> {
        self.call(OnePath { path, kind: CallKind::RemoveDirectory })
    }

    /// The names in a directory, sorted (readdir(3)).
    ///
    /// # Errors
    /// As [`super::Sys::read_dir`].
    pub fn read_dir(&self, path: &str) -> Result<Vec<String>> {
        self.call(ReadDirectory { path })
    }

    /// What a path names (stat(2)).
    ///
    /// # Errors
    /// As [`super::Sys::stat`].
    pub fn stat(&self, path: &str) -> Result<Stat> {
        self.call(StatPath { path })
    }

    /// Makes a directory's entries durable: open, fsync, close.
    ///
    /// # Errors
    /// As [`super::Sys::sync_dir`].
    pub fn sync_dir(&self, path: &str) -> Result<()> {
        let directory = self.open(path, OpenFlags::DIRECTORY)?;
        let synced = directory.sync();
        directory.close()?;
        synced
    }

    /// Lets others go first (sched_yield(2)).
    pub fn yield_now(&self) {
        let _: Result<()> = self.call(Yield);
    }

    /// Sleeps for at least so many simulated nanoseconds (nanosleep(2)).
    ///
    /// # Errors
    /// As [`super::Sys::sleep`].
    pub fn sleep(&self, for_ns: u64) -> Result<()> {
        self.call(Sleep { for_ns })
    }

    /// States a belief, as [`super::Sys::claim`]. Void once the process is dead.
    pub fn claim<C: Claim>(&self, claim: &C) {
        let _: Result<()> = self.call(MakeClaim::of(claim));
    }

    /// Whether a process of that PID is alive, and since when.
    ///
    /// # Errors
    /// As [`super::Sys::process_info`].
    pub fn process_info(&self, pid: u32) -> Result<Option<ProcessInfo>> {
        self.call(QueryProcess { pid })
    }

    /// Whether calls still have an effect: false once the process is dead, or nobody awaits this code any more. Code that got an
    /// answer from SQLite asks this before it believes it: a COMMIT may succeed in a process that has died meanwhile.
    pub fn is_alive(&self) -> bool {
        if self.is_cut_off() {
            self.called_after_death();
        }
        !self.is_cut_off()
    }

    /// As [`super::Sys::is_terminating`]. A dead process is told so too, that loops end.
    pub fn is_terminating(&self) -> bool {
        !self.is_alive() || self.sys.is_terminating()
    }

    /// Nanoseconds since the machine's boot, as [`super::Sys::monotonic_ns`].
    pub fn monotonic_ns(&self) -> u64 {
        self.is_alive();
        self.sys.monotonic_ns()
    }

    /// Nanoseconds since the Unix epoch, as [`super::Sys::wall_ns`].
    pub fn wall_ns(&self) -> u64 {
        self.is_alive();
        self.sys.wall_ns()
    }

    /// This process's entropy, as [`super::Sys::entropy`]. From a dead process all bits are 0.
    pub fn entropy(&self) -> OsEntropy<'_> {
        OsEntropy { os: self }
    }

    /// Says which operation of the plan the process is in, as [`super::Sys::begin_operation`].
    pub fn begin_operation(&self, id: u64) {
        if self.is_alive() {
            self.sys.begin_operation(id);
        }
    }

    /// This process's PID.
    pub fn pid(&self) -> u32 {
        self.sys.pid()
    }

    /// When this process started, as [`ProcessInfo::started_ns`].
    pub fn started_ns(&self) -> u64 {
        self.sys.started_ns()
    }

    /// The machine's boot id.
    pub fn boot_id(&self) -> u64 {
        self.sys.boot_id()
    }

    /// This process's name in the plan.
    pub fn name(&self) -> String {
        self.sys.name()
    }
}

/// A process's entropy, for blocking code.
pub struct OsEntropy<'a> {
    os: &'a Os,
}

impl Draw for OsEntropy<'_> {
    fn bits(&mut self) -> u64 {
        if self.os.is_alive() { self.os.sys.entropy().bits() } else { 0 }
    }
}

/// An open file of blocking code. Dropping it closes it, as part of the running step; nothing happens if the process is dead.
pub struct OsFile<'a> {
    os: &'a Os,
    fd: Fd,
    inode: InodeId,
    is_open: Cell<bool>,
}

impl OsFile<'_> {
    /// The file's inode.
    pub fn inode(&self) -> InodeId {
        self.inode
    }

    /// Reads at the cursor; 0 is the end (read(2)).
    ///
    /// # Errors
    /// As [`super::File::read`].
    pub fn read(&self, buffer: &mut [u8]) -> Result<usize> {
        self.os.call(Read { fd: self.fd, inode: self.inode, offset: None, buffer })
    }

    /// Reads at an offset (pread(2)).
    ///
    /// # Errors
    /// As [`super::File::read`].
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        self.os.call(Read { fd: self.fd, inode: self.inode, offset: Some(offset), buffer })
    }

    /// Reads from the cursor to the end.
    ///
    /// # Errors
    /// As [`super::File::read`].
    pub fn read_to_end(&self) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        let mut buffer = [0u8; 4096];
        loop {
            match self.read(&mut buffer)? {
                0 => return Ok(all),
                read => all.extend_from_slice(&buffer[..read]),
            }
        }
    }

    /// Writes at the cursor, or at the end of a file opened to append; may take in a part only (write(2)).
    ///
    /// # Errors
    /// As [`super::File::write`].
    pub fn write(&self, bytes: &[u8]) -> Result<usize> {
        self.os.call(Write { fd: self.fd, inode: self.inode, offset: None, bytes })
    }

    /// Writes at an offset (pwrite(2)).
    ///
    /// # Errors
    /// As [`super::File::write`].
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> Result<usize> {
        self.os.call(Write { fd: self.fd, inode: self.inode, offset: Some(offset), bytes })
    }

    /// Writes all of the bytes, in as many calls as it takes.
    ///
    /// # Errors
    /// As [`super::File::write`]; a part may have been written.
    pub fn write_all(&self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let written = self.write(bytes)?;
            bytes = &bytes[written..];
        }
        Ok(())
    }

    /// Cuts or extends the file with zero bytes (ftruncate(2)).
    ///
    /// # Errors
    /// As [`super::File::set_len`].
    pub fn set_len(&self, len_bytes: u64) -> Result<()> {
        self.os.call(SetLength { fd: self.fd, inode: self.inode, len_bytes })
    }

    /// Makes the file, or the directory's entries, durable (fsync(2)).
    ///
    /// # Errors
    /// As [`super::File::sync`].
    pub fn sync(&self) -> Result<()> {
        self.os.call(Sync { fd: self.fd, inode: self.inode, with_entry: false })
    }

    /// What the file is (fstat(2)).
    ///
    /// # Errors
    /// EBADF.
    pub fn stat(&self) -> Result<Stat> {
        self.os.call(StatFile { fd: self.fd, inode: self.inode })
    }

    /// Closes the file (close(2)). All POSIX locks of the process on it go, whichever descriptor took them.
    ///
    /// # Errors
    /// EBADF.
    pub fn close(self) -> Result<()> {
        let closed = self.os.call(Close { fd: self.fd, inode: self.inode });
        // A call that was cut off never closed it: the drop does, if the process lives.
        self.is_open.set(closed == Err(Errno::Dead));
        closed
    }

    /// Locks the open file description; waits for others (flock(2)).
    ///
    /// # Errors
    /// EBADF.
    pub fn lock(&self, mode: LockMode) -> Result<()> {
        self.os.call(Flock { fd: self.fd, inode: self.inode, mode, waits: true })
    }

    /// As [`OsFile::lock`], without waiting.
    ///
    /// # Errors
    /// EAGAIN when another description holds a conflicting lock.
    pub fn try_lock(&self, mode: LockMode) -> Result<()> {
        self.os.call(Flock { fd: self.fd, inode: self.inode, mode, waits: false })
    }

    /// Unlocks the open file description.
    ///
    /// # Errors
    /// EBADF.
    pub fn unlock(&self) -> Result<()> {
        self.os.call(Unflock { fd: self.fd, inode: self.inode })
    }

    /// Locks a range of bytes for this process, without waiting (fcntl(2), F_SETLK). A length of 0 reaches to the end.
    ///
    /// # Errors
    /// EAGAIN when another process holds a conflicting lock.
    pub fn try_lock_range(&self, start: u64, len_bytes: u64, mode: LockMode) -> Result<()> {
        self.range(start, len_bytes, RangeAction::TryLock(mode))
    }

    /// As [`OsFile::try_lock_range`], but waits (F_SETLKW).
    ///
    /// # Errors
    /// EBADF.
    pub fn lock_range(&self, start: u64, len_bytes: u64, mode: LockMode) -> Result<()> {
        self.range(start, len_bytes, RangeAction::Lock(mode))
    }

    /// Unlocks a range of bytes.
    ///
    /// # Errors
    /// EBADF.
    pub fn unlock_range(&self, start: u64, len_bytes: u64) -> Result<()> {
        self.range(start, len_bytes, RangeAction::Unlock)
    }

    fn range(&self, start: u64, len_bytes: u64, action: RangeAction) -> Result<()> {
        self.os.call(Range { fd: self.fd, inode: self.inode, start, len_bytes, action })
    }
}

impl Drop for OsFile<'_> {
    fn drop(&mut self) {
        if self.is_open.get() {
            let mut close = Close { fd: self.fd, inode: self.inode };
            match self.os.sys.kernel.take_effect_at_once(&self.os.sys.identity, &mut close) {
                Ok(()) | Err(Errno::Dead) => {}
                Err(error) => debug_assert!(false, "closing an open descriptor: {error}"),
            }
        }
    }
}

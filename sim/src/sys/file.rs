//! Calls on open files: read, write, truncate, fsync, stat, close. Calls on paths are in `directory`, locks in `lock`.

use super::call::{Call, Caller, Effect, Header};
use super::disk::{Fd, InodeId, OpenFlags, Stat};
use super::{Result, Sys};
use crate::errno::Errno;
use crate::kernel::{Core, Injected};
use crate::trace::CallKind;
use std::cell::Cell;

/// The bit in an `open` call's first argument that says: it created a file exclusively.
pub(crate) const CREATED_EXCLUSIVELY: u64 = 1 << 4;

pub(crate) fn flag_bits(flags: OpenFlags) -> u64 {
    let OpenFlags { read, write, create, exclusive, truncate, append, directory } = flags;
    let bits = [read, write, create, truncate, create && exclusive, append, directory];
    bits.iter().rev().fold(0, |all, bit| all << 1 | u64::from(*bit))
}

pub(crate) struct Open<'a> {
    pub(crate) path: &'a str,
    pub(crate) flags: OpenFlags,
}

impl Call for Open<'_> {
    type Value = (Fd, InodeId);

    fn header(&self) -> Header {
        Header::on_path(CallKind::Open, self.path, [flag_bits(self.flags), 0])
    }

    fn effect(&mut self, core: &mut Core, caller: Caller, _injected: Option<Injected>) -> Effect<Self::Value> {
        let opened = core.disk.open(caller.owner, self.path, self.flags);
        opened.and_then(|fd| Ok((fd, core.disk.inode_of_fd(caller.owner, fd)?))).into()
    }

    fn number(&self, (fd, _): &Self::Value) -> u64 {
        u64::from(fd.0)
    }

    fn data(&self, _value: Option<&Self::Value>) -> &[u8] {
        self.path.as_bytes()
    }

    fn object(&self, (_, inode): &Self::Value) -> Option<u64> {
        Some(inode.0)
    }
}

pub(crate) struct Close {
    pub(crate) fd: Fd,
    pub(crate) inode: InodeId,
}

impl Call for Close {
    type Value = ();

    fn header(&self) -> Header {
        Header::new(CallKind::Close, self.inode.0, [u64::from(self.fd.0), 0])
    }

    fn effect(&mut self, core: &mut Core, caller: Caller, _injected: Option<Injected>) -> Effect<()> {
        core.disk.close(caller.owner, self.fd).into()
    }

    fn number(&self, (): &()) -> u64 {
        0
    }
}

/// read(2) and, with an offset, pread(2).
pub(crate) struct Read<'a> {
    pub(crate) fd: Fd,
    pub(crate) inode: InodeId,
    pub(crate) offset: Option<u64>,
    pub(crate) buffer: &'a mut [u8],
}

impl Call for Read<'_> {
    type Value = usize;

    #[inline]
    fn header(&self) -> Header {
        let kind = if self.offset.is_some() { CallKind::ReadAt } else { CallKind::Read };
        Header::new(kind, self.inode.0, [self.offset.unwrap_or(0), self.buffer.len() as u64])
    }

    #[inline]
    fn effect(&mut self, core: &mut Core, caller: Caller, _injected: Option<Injected>) -> Effect<usize> {
        match self.offset {
            Some(offset) => core.disk.pread(caller.owner, self.fd, offset, self.buffer),
            None => core.disk.read(caller.owner, self.fd, self.buffer),
        }
        .into()
    }

    #[inline]
    fn number(&self, read: &usize) -> u64 {
        *read as u64
    }

    #[inline]
    fn data(&self, read: Option<&usize>) -> &[u8] {
        &self.buffer[..read.copied().unwrap_or(0)]
    }
}

/// read(2) into memory that nobody has to fill with zeros first.
struct ReadOnto<'a> {
    fd: Fd,
    inode: InodeId,
    bytes_max: usize,
    onto: &'a mut Vec<u8>,
}

impl Call for ReadOnto<'_> {
    type Value = usize;

    fn header(&self) -> Header {
        Header::new(CallKind::Read, self.inode.0, [0, self.bytes_max as u64])
    }

    fn effect(&mut self, core: &mut Core, caller: Caller, _injected: Option<Injected>) -> Effect<usize> {
        core.disk.read_onto(caller.owner, self.fd, self.bytes_max, self.onto).into()
    }

    fn number(&self, read: &usize) -> u64 {
        *read as u64
    }

    fn data(&self, read: Option<&usize>) -> &[u8] {
        &self.onto[self.onto.len() - read.copied().unwrap_or(0)..]
    }
}

/// write(2) and, with an offset, pwrite(2).
pub(crate) struct Write<'a> {
    pub(crate) fd: Fd,
    pub(crate) inode: InodeId,
    pub(crate) offset: Option<u64>,
    pub(crate) bytes: &'a [u8],
}

impl Call for Write<'_> {
    type Value = usize;

    #[inline]
    fn header(&self) -> Header {
        let kind = if self.offset.is_some() { CallKind::WriteAt } else { CallKind::Write };
        Header::new(kind, self.inode.0, [self.offset.unwrap_or(0), self.bytes.len() as u64])
    }

    #[inline]
    fn effect(&mut self, core: &mut Core, caller: Caller, injected: Option<Injected>) -> Effect<usize> {
        let (disk, owner, fd) = (&mut core.disk, caller.owner, self.fd);
        let bytes = match injected {
            // A short write takes in at least one byte, and never all of more than one (write(2)).
            Some(Injected::Short { bits }) if self.bytes.len() > 1 => {
                &self.bytes[..1 + (bits % (self.bytes.len() as u64 - 1)) as usize]
            }
            _ => self.bytes,
        };
        let written = match self.offset {
            Some(offset) => disk.pwrite(owner, fd, offset, bytes),
            None => disk.write(owner, fd, bytes),
        };
        if let (Ok(written), Some(Injected::Torn)) = (&written, injected) {
            let end = disk.fstat(owner, fd).map_or(0, |stat| stat.len_bytes);
            let start = self.offset.unwrap_or_else(|| end - *written as u64);
            return disk.tear_next_crash(self.inode, start, *written as u64).and(Ok(*written)).into();
        }
        written.into()
    }

    #[inline]
    fn number(&self, written: &usize) -> u64 {
        *written as u64
    }

    #[inline]
    fn data(&self, written: Option<&usize>) -> &[u8] {
        &self.bytes[..written.copied().unwrap_or(0)]
    }
}

pub(crate) struct SetLength {
    pub(crate) fd: Fd,
    pub(crate) inode: InodeId,
    pub(crate) len_bytes: u64,
}

impl Call for SetLength {
    type Value = ();

    fn header(&self) -> Header {
        Header::new(CallKind::SetLength, self.inode.0, [self.len_bytes, 0])
    }

    fn effect(&mut self, core: &mut Core, caller: Caller, _injected: Option<Injected>) -> Effect<()> {
        core.disk.set_len(caller.owner, self.fd, self.len_bytes).into()
    }

    fn number(&self, (): &()) -> u64 {
        0
    }
}

pub(crate) struct Sync {
    pub(crate) fd: Fd,
    pub(crate) inode: InodeId,
    /// Also make the file's own directory entry durable, as SQLite's unix VFS does at the first sync of a new file.
    pub(crate) with_entry: bool,
}

impl Call for Sync {
    type Value = ();

    fn header(&self) -> Header {
        Header::new(CallKind::Sync, self.inode.0, [u64::from(self.with_entry), 0])
    }

    fn effect(&mut self, core: &mut Core, caller: Caller, injected: Option<Injected>) -> Effect<()> {
        if let Some(Injected::SyncFails { bits }) = injected {
            core.evict_later(self.inode, bits);
            return Effect::Done(Err(core.disk.fsync_failed(caller.owner, self.fd)));
        }
        let (disk, owner, fd) = (&mut core.disk, caller.owner, self.fd);
        match injected {
            Some(Injected::SyncLies) => disk.fsync_lying(owner, fd),
            _ if self.with_entry => disk.fsync_with_new_entry(owner, fd),
            _ => disk.fsync(owner, fd),
        }
        .into()
    }

    fn number(&self, (): &()) -> u64 {
        0
    }
}

pub(crate) struct StatFile {
    pub(crate) fd: Fd,
    pub(crate) inode: InodeId,
}

impl Call for StatFile {
    type Value = Stat;

    fn header(&self) -> Header {
        Header::new(CallKind::Stat, self.inode.0, [0; 2])
    }

    fn effect(&mut self, core: &mut Core, caller: Caller, _injected: Option<Injected>) -> Effect<Stat> {
        core.disk.fstat(caller.owner, self.fd).into()
    }

    fn number(&self, stat: &Stat) -> u64 {
        stat.len_bytes
    }
}

/// An open file. Dropping it closes it, as part of the running step; nothing happens if the process is dead.
pub struct File {
    pub(super) sys: Sys,
    pub(super) fd: Fd,
    pub(super) inode: InodeId,
    is_open: Cell<bool>,
}

impl Sys {
    /// Opens a file or directory (open(2)).
    ///
    /// # Errors
    /// ENOENT, EEXIST, EISDIR, ENOTDIR, EMFILE, EINVAL, EIO.
    pub async fn open(&self, path: &str, flags: OpenFlags) -> Result<File> {
        let (fd, inode) = self.call(Open { path, flags }).await?;
        Ok(File { sys: self.clone(), fd, inode, is_open: Cell::new(true) })
    }
}

impl File {
    /// The file's inode.
    pub fn inode(&self) -> InodeId {
        self.inode
    }

    /// Reads at the cursor; 0 is the end (read(2)).
    ///
    /// # Errors
    /// EBADF when not open for reading, EIO.
    pub async fn read(&self, buffer: &mut [u8]) -> Result<usize> {
        self.sys.call(Read { fd: self.fd, inode: self.inode, offset: None, buffer }).await
    }

    /// Reads at the cursor, as [`File::read`], at most so many bytes, and appends them. Without effect on `onto` where it fails.
    ///
    /// # Errors
    /// As [`File::read`].
    pub async fn read_onto(&self, onto: &mut Vec<u8>, bytes_max: usize) -> Result<usize> {
        self.sys.call(ReadOnto { fd: self.fd, inode: self.inode, bytes_max, onto }).await
    }

    /// Reads at an offset (pread(2)).
    ///
    /// # Errors
    /// As [`File::read`].
    pub async fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        self.sys.call(Read { fd: self.fd, inode: self.inode, offset: Some(offset), buffer }).await
    }

    /// Reads from the cursor to the end.
    ///
    /// # Errors
    /// As [`File::read`].
    pub async fn read_to_end(&self) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        while self.read_onto(&mut all, 4096).await? > 0 {}
        Ok(all)
    }

    /// Writes at the cursor, or at the end of a file opened to append; may take in a part only (write(2)).
    ///
    /// # Errors
    /// EBADF when not open for writing, ENOSPC, EIO.
    pub async fn write(&self, bytes: &[u8]) -> Result<usize> {
        self.sys.call(Write { fd: self.fd, inode: self.inode, offset: None, bytes }).await
    }

    /// Writes at an offset (pwrite(2)).
    ///
    /// # Errors
    /// As [`File::write`].
    pub async fn write_at(&self, bytes: &[u8], offset: u64) -> Result<usize> {
        self.sys.call(Write { fd: self.fd, inode: self.inode, offset: Some(offset), bytes }).await
    }

    /// Writes all of the bytes, in as many calls as it takes.
    ///
    /// # Errors
    /// As [`File::write`]; a part may have been written.
    pub async fn write_all(&self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let written = self.write(bytes).await?;
            bytes = &bytes[written..];
        }
        Ok(())
    }

    /// Cuts or extends the file with zero bytes (ftruncate(2)).
    ///
    /// # Errors
    /// EBADF when not open for writing, ENOSPC, EIO.
    pub async fn set_len(&self, len_bytes: u64) -> Result<()> {
        self.sys.call(SetLength { fd: self.fd, inode: self.inode, len_bytes }).await
    }

    /// Makes the file, or the directory's entries, durable (fsync(2)).
    ///
    /// # Errors
    /// EIO: what was not durable may be lost, and a second fsync will not say so.
    pub async fn sync(&self) -> Result<()> {
        self.sys.call(Sync { fd: self.fd, inode: self.inode, with_entry: false }).await
    }

    /// What the file is (fstat(2)).
    ///
    /// # Errors
    /// EBADF.
    pub async fn stat(&self) -> Result<Stat> {
        self.sys.call(StatFile { fd: self.fd, inode: self.inode }).await
    }

    /// Closes the file (close(2)). All POSIX locks of the process on it go, whichever descriptor took them.
    ///
    /// # Errors
    /// EBADF.
    pub async fn close(self) -> Result<()> {
        self.is_open.set(false);
        self.sys.call(Close { fd: self.fd, inode: self.inode }).await
    }
}

impl Drop for File {
    fn drop(&mut self) {
        if self.is_open.get() {
            let mut close = Close { fd: self.fd, inode: self.inode };
            match self.sys.kernel.take_effect_at_once(&self.sys.identity, &mut close) {
                Ok(()) | Err(Errno::Dead) => {}
                Err(error) => debug_assert!(false, "closing an open descriptor: {error}"),
            }
        }
    }
}

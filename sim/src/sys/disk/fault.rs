//! Faults, each a variant of a call or a mark for the next crash. When they strike is the injector's business, not the disk's.

use super::image::Disk;
use super::types::{Fd, InodeId, Owner};
use crate::errno::Errno;

impl Disk {
    /// A short pwrite(2): only the first `keep` bytes are written, and their number is returned. Also what a kill in the
    /// middle of a write leaves. Voids nothing: POSIX allows it.
    ///
    /// # Errors
    /// As [`Disk::pwrite`].
    pub fn pwrite_short(
        &mut self,
        owner: Owner,
        fd: Fd,
        offset: u64,
        bytes: &[u8],
        keep: usize,
    ) -> Result<usize, Errno> {
        self.pwrite(owner, fd, offset, &bytes[..keep.min(bytes.len())])
    }

    /// A short write(2): as [`Disk::pwrite_short`] at the cursor.
    ///
    /// # Errors
    /// As [`Disk::write`].
    pub fn write_short(&mut self, owner: Owner, fd: Fd, bytes: &[u8], keep: usize) -> Result<usize, Errno> {
        self.write(owner, fd, &bytes[..keep.min(bytes.len())])
    }

    /// pwrite(2) on a full disk: the first `keep` bytes still find room. POSIX reports the error only when not one byte was
    /// written. Voids nothing.
    ///
    /// # Errors
    /// ENOSPC if `keep` is 0; else as [`Disk::pwrite`].
    pub fn pwrite_no_space(
        &mut self,
        owner: Owner,
        fd: Fd,
        offset: u64,
        bytes: &[u8],
        keep: usize,
    ) -> Result<usize, Errno> {
        match self.pwrite_short(owner, fd, offset, bytes, keep)? {
            0 if !bytes.is_empty() => Err(Errno::NoSpace),
            count => Ok(count),
        }
    }

    /// write(2) on a full disk: as [`Disk::pwrite_no_space`] at the cursor.
    ///
    /// # Errors
    /// ENOSPC if `keep` is 0; else as [`Disk::write`].
    pub fn write_no_space(&mut self, owner: Owner, fd: Fd, bytes: &[u8], keep: usize) -> Result<usize, Errno> {
        match self.write_short(owner, fd, bytes, keep)? {
            0 if !bytes.is_empty() => Err(Errno::NoSpace),
            count => Ok(count),
        }
    }

    /// A read that fails: no byte is read, and the cursor stays. Voids nothing.
    ///
    /// # Errors
    /// Always: EIO, or what the call would have failed with anyway.
    pub fn read_failed(&self, owner: Owner, fd: Fd) -> Errno {
        match self.pread(owner, fd, 0, &mut []) {
            Ok(_) => Errno::Io,
            Err(error) => error,
        }
    }

    /// A write that fails: no byte is written, and the cursor stays. Voids nothing.
    ///
    /// # Errors
    /// Always: EIO, or what the call would have failed with anyway.
    pub fn write_failed(&mut self, owner: Owner, fd: Fd) -> Errno {
        match self.pwrite(owner, fd, 0, &[]) {
            Ok(_) => Errno::Io,
            Err(error) => error,
        }
    }

    /// An fsync(2) that fails, as on Linux since 4.13 (LWN 752063, "PostgreSQL's fsync() surprise").
    ///
    /// Of a file: the error is reported this once through this description, and once through each other that is open now (errseq_t). The operations that were not durable leave the pending set as if clean:
    /// no later fsync makes them durable, and no crash keeps them. Reads go on showing them until [`Disk::evict`].
    /// Of a directory: nothing becomes durable, and its entries stay pending (they are in the journal, not in pages).
    ///
    /// Voids: durability of what was written since the last good fsync, *if* the caller took the error for success, or a
    /// retry's success for its own. A caller that got the error may not rely on either outcome.
    ///
    /// # Errors
    /// Always: EIO, or EBADF.
    pub fn fsync_failed(&mut self, owner: Owner, fd: Fd) -> Errno {
        let (inode, description) = match (self.descriptors.get(owner, fd), self.descriptors.id(owner, fd)) {
            (Ok(description), Ok(id)) => (description.inode, id),
            (Err(error), _) | (_, Err(error)) => return error,
        };
        self.descriptors.owe_error(inode, description);
        if let Ok(file) = self.inode(inode).and_then(|inode| inode.file())
            && !file.log.is_empty()
        {
            self.drop_log(inode);
            if let Ok(file) = self.inode_mut(inode).and_then(|inode| inode.file_mut()) {
                file.is_diverged = true;
                file.logged_len = file.durable.len();
                self.diverged.insert(inode);
            }
        }
        Errno::Io
    }

    /// An fsync(2) that lies: it succeeds, and nothing becomes durable. All stays pending, so a later honest fsync may make
    /// it durable.
    ///
    /// Voids: durability of everything acknowledged on the strength of it, until an honest fsync of the same file; and the
    /// order between it and what was written after it.
    ///
    /// # Errors
    /// EBADF.
    pub fn fsync_lying(&mut self, owner: Owner, fd: Fd) -> Result<(), Errno> {
        self.descriptors.get(owner, fd).map(|_| ())
    }

    /// The page cache lets go of a file's clean pages: reads show what is durable, with what is still pending on top.
    /// It tells processes about a failed fsync. Without one before it, it changes nothing, and voids nothing. True if reads may
    /// have changed.
    pub fn evict(&mut self, inode: InodeId) -> bool {
        if !self.diverged.contains(&inode) || self.inodes.get(&inode).is_none_or(|inode| inode.links == 0) {
            // A file without names has no durable state that its descriptors could fall back to.
            return false;
        }
        let Ok(file) = self.inode_mut(inode).and_then(|inode| inode.file_mut()) else { return false };
        let present_before = file.visible.present();
        let mut content = file.durable.clone();
        file.log.apply_all(&mut content);
        file.visible = content;
        file.is_diverged = false;
        let present_after = file.visible.present();
        self.diverged.remove(&inode);
        self.blocks_used = self.blocks_used + present_after - present_before;
        true
    }

    /// Marks a range of a file: of the sectors in it that hold pending writes, the next crash keeps some and loses some, if
    /// there are two at least, whatever the profile allows otherwise. An honest fsync of the file takes the mark away.
    ///
    /// Voids: under `strict` and `ext4`, that a write (a page) is kept whole or not at all. Nothing under `posix`.
    ///
    /// # Errors
    /// EBADF if there is no such inode; EISDIR.
    pub fn tear_next_crash(&mut self, inode: InodeId, offset: u64, len_bytes: u64) -> Result<(), Errno> {
        let end = offset.saturating_add(len_bytes);
        self.inode_mut(inode)?.file_mut()?.torn.push((offset, end));
        Ok(())
    }

    /// Bit-rot: flips one bit (0 to 7) of the byte at `offset`, in what is durable, in what processes see and in what is
    /// pending: whatever a crash keeps, the byte is wrong until it is written again.
    ///
    /// Voids: every guarantee about that byte, so all invariants but those that promise to *detect* corruption.
    ///
    /// # Errors
    /// EBADF if there is no such inode; EISDIR; EINVAL if neither image has that byte.
    pub fn rot(&mut self, inode: InodeId, offset: u64, bit: u8) -> Result<(), Errno> {
        let file = self.inode_mut(inode)?.file_mut()?;
        let present_before = file.visible.present();
        let in_durable = file.durable.flip(offset, bit);
        let in_visible = file.visible.flip(offset, bit);
        file.log.flip(offset, bit);
        let present_after = file.visible.present();
        self.blocks_used = self.blocks_used + present_after - present_before;
        if !(in_durable || in_visible) {
            return Err(Errno::Invalid);
        }
        self.durable_version += u64::from(in_durable);
        Ok(())
    }
}

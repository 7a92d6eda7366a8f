//! Reading, writing, sizes and stat: what processes see. What becomes durable is in `commit`, faulty variants are in `fault`.

use super::block::Content;
use super::image::Disk;
use super::inode::Node;
use super::pending::Ordered;
use super::types::{Fd, FileKind, InodeId, Owner, Persistence, Stat};
use crate::errno::Errno;

impl Disk {
    /// pread(2): reads at `offset` into `into`; returns how many bytes there were before the end of the file.
    ///
    /// # Errors
    /// EBADF, also if not open for reading; EISDIR.
    #[inline]
    pub fn pread(&self, owner: Owner, fd: Fd, offset: u64, into: &mut [u8]) -> Result<usize, Errno> {
        Ok(self.readable(owner, fd)?.read(offset, into))
    }

    /// What processes see of a file that is open for reading.
    #[inline]
    fn readable(&self, owner: Owner, fd: Fd) -> Result<&Content, Errno> {
        let description = self.descriptors.get(owner, fd)?;
        if !description.flags.read {
            return Err(Errno::BadDescriptor);
        }
        Ok(&self.inode(description.inode)?.file()?.visible)
    }

    /// read(2): as [`Disk::pread`] at the description's cursor, which it moves.
    ///
    /// # Errors
    /// As [`Disk::pread`].
    pub fn read(&mut self, owner: Owner, fd: Fd, into: &mut [u8]) -> Result<usize, Errno> {
        let cursor = self.descriptors.get(owner, fd)?.cursor;
        let count = self.pread(owner, fd, cursor, into)?;
        self.descriptors.get_mut(owner, fd)?.cursor = cursor + count as u64;
        Ok(count)
    }

    /// read(2), as [`Disk::read`], of at most so many bytes, which are appended to `onto`.
    ///
    /// # Errors
    /// As [`Disk::pread`].
    pub fn read_onto(&mut self, owner: Owner, fd: Fd, bytes_max: usize, onto: &mut Vec<u8>) -> Result<usize, Errno> {
        let cursor = self.descriptors.get(owner, fd)?.cursor;
        let count = self.readable(owner, fd)?.read_onto(cursor, bytes_max, onto);
        self.descriptors.get_mut(owner, fd)?.cursor = cursor + count as u64;
        Ok(count)
    }

    /// pwrite(2): writes at `offset`; returns how many bytes were written, which is less than asked for only when space or
    /// the greatest file length ran out on the way. With O_APPEND it writes at the end, whatever the offset (pwrite(2),
    /// "Bugs": so Linux has it).
    ///
    /// # Errors
    /// EBADF, also if not open for writing; ENOSPC or EFBIG if not one byte could be written.
    #[inline]
    pub fn pwrite(&mut self, owner: Owner, fd: Fd, offset: u64, bytes: &[u8]) -> Result<usize, Errno> {
        let description = self.descriptors.get(owner, fd)?;
        if !description.flags.write {
            return Err(Errno::BadDescriptor);
        }
        let inode = description.inode;
        let offset = if description.flags.append { self.inode(inode)?.file()?.visible.len() } else { offset };
        self.write_at(inode, offset, bytes)
    }

    /// write(2): as [`Disk::pwrite`] at the description's cursor, which it moves; with O_APPEND at the end.
    ///
    /// # Errors
    /// As [`Disk::pwrite`].
    pub fn write(&mut self, owner: Owner, fd: Fd, bytes: &[u8]) -> Result<usize, Errno> {
        let description = self.descriptors.get(owner, fd)?;
        let (inode, flags, cursor) = (description.inode, description.flags, description.cursor);
        if !flags.write {
            return Err(Errno::BadDescriptor);
        }
        let offset = if flags.append { self.inode(inode)?.file()?.visible.len() } else { cursor };
        let count = self.write_at(inode, offset, bytes)?;
        self.descriptors.get_mut(owner, fd)?.cursor = offset + count as u64;
        Ok(count)
    }

    /// ftruncate(2): cuts or grows the file; what it gains reads as zeros and takes up no space.
    ///
    /// # Errors
    /// EBADF, also if not open for writing; EFBIG.
    pub fn set_len(&mut self, owner: Owner, fd: Fd, len_bytes: u64) -> Result<(), Errno> {
        let description = self.descriptors.get(owner, fd)?;
        if !description.flags.write {
            return Err(Errno::BadDescriptor);
        }
        let inode = description.inode;
        self.set_len_of(inode, len_bytes)?;
        self.enforce_dirty_limit();
        Ok(())
    }

    /// stat(2).
    ///
    /// # Errors
    /// ENOENT, and those of the path.
    pub fn stat(&self, path: &str) -> Result<Stat, Errno> {
        self.stat_of(self.resolve(path)?)
    }

    /// fstat(2). Works on a file without names.
    ///
    /// # Errors
    /// EBADF.
    pub fn fstat(&self, owner: Owner, fd: Fd) -> Result<Stat, Errno> {
        self.stat_of(self.descriptors.get(owner, fd)?.inode)
    }

    fn stat_of(&self, id: InodeId) -> Result<Stat, Errno> {
        let inode = self.inode(id)?;
        let (kind, len_bytes) = match &inode.node {
            Node::File(file) => (FileKind::File, file.visible.len()),
            Node::Directory(directory) => (FileKind::Directory, directory.visible.len() as u64),
        };
        Ok(Stat { inode: id, kind, len_bytes, links: inode.links, modified_ns: inode.modified_ns })
    }

    /// Writes into the visible image and records the write as pending. Returns how many bytes found room.
    pub(super) fn write_at(&mut self, id: InodeId, offset: u64, bytes: &[u8]) -> Result<usize, Errno> {
        if bytes.is_empty() {
            self.inode(id)?.file()?;
            return Ok(0);
        }
        let len_max = self.options.file_len_max_bytes;
        if offset >= len_max {
            return Err(Errno::TooLarge);
        }
        let mut count = bytes.len().min((len_max - offset) as usize);
        if self.options.capacity_bytes.is_some() {
            count = self.inode(id)?.file()?.visible.fitting(offset, count, self.blocks_free());
            if count == 0 {
                return Err(Errno::NoSpace);
            }
        }
        let bytes = &bytes[..count];
        let sequence = self.next_sequence;
        let now_ns = self.now_ns;
        let inode = self.inode_mut(id)?;
        inode.modified_ns = now_ns;
        let is_recorded = inode.may_have_name();
        let file = inode.file_mut()?;
        let present_before = file.visible.present();
        let extends = offset + count as u64 > file.logged_len;
        file.visible.write(offset, bytes);
        let present_gained = file.visible.present() - present_before;
        if is_recorded {
            let is_first = file.log.is_empty();
            file.log.push_write(sequence, offset, bytes, extends);
            file.logged_len = file.logged_len.max(offset + count as u64);
            if is_first {
                self.dirty.insert(id);
            }
            self.next_sequence += 1;
            self.pending_count += 1;
            self.dirty_bytes += count as u64;
        }
        self.blocks_used += present_gained;
        self.enforce_dirty_limit();
        Ok(count)
    }

    /// Sets the length in the visible image and records that as pending. No operation if the length stays.
    pub(super) fn set_len_of(&mut self, id: InodeId, len: u64) -> Result<(), Errno> {
        if len > self.options.file_len_max_bytes {
            return Err(Errno::TooLarge);
        }
        let now_ns = self.now_ns;
        let inode = self.inode_mut(id)?;
        let is_recorded = inode.may_have_name();
        let file = inode.file_mut()?;
        if file.visible.len() == len && file.logged_len == len {
            return Ok(());
        }
        file.logged_len = len;
        let present_before = file.visible.present();
        file.visible.set_len(len);
        let present_lost = present_before - file.visible.present();
        inode.modified_ns = now_ns;
        self.blocks_used -= present_lost;
        if !is_recorded {
            return Ok(());
        }
        let sequence = self.take_sequence();
        self.inode_mut(id)?.file_mut()?.log.push_set_len(sequence, len);
        self.dirty.insert(id);
        self.pending_count += 1;
        if self.persistence == Persistence::Ext4 {
            std::rc::Rc::make_mut(&mut self.names).ordered.insert(sequence, Ordered::SetLen(id));
        }
        Ok(())
    }

    /// Writes everything back when more is pending than the options allow, as a kernel does at its dirty limit.
    #[inline]
    pub(super) fn enforce_dirty_limit(&mut self) {
        if self.dirty_bytes > self.options.dirty_max_bytes || self.pending_count > self.options.pending_max {
            self.write_back();
        }
    }
}

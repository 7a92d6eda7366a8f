//! Making things durable: fsync of files and directories, write-back, and the order that each profile keeps.

use std::rc::Rc;

use super::flaw::DiskFlaw;
use super::image::Disk;
use super::inode::{FileNode, Node};
use super::pending::{DataChange, DataLog, Name, NameChange, Ordered};
use super::types::{Fd, InodeId, Owner, Persistence};
use crate::errno::Errno;

impl Disk {
    /// fsync(2): makes a file's data and size, or a directory's entries, durable. What else becomes durable with it is
    /// the profile's to say: see [`Persistence`].
    ///
    /// # Errors
    /// EBADF; EIO, once, if an fsync through another description has failed since this one was opened: what was not durable then is lost,
    /// whoever wrote it (fsync(2), "Notes"). What has been written since is durable all the same.
    pub fn fsync(&mut self, owner: Owner, fd: Fd) -> Result<(), Errno> {
        let inode = self.descriptors.get(owner, fd)?.inode;
        self.fsync_inode(inode)?;
        if self.descriptors.take_error(owner, fd)? { Err(Errno::Io) } else { Ok(()) }
    }

    /// What SQLite's unix VFS does at the first sync of a journal that it created: an fsync of the file, then one of the
    /// directory that its name is in (os_unix.c, `unixSync` with `UNIXFILE_DIRSYNC`).
    ///
    /// # Errors
    /// As [`Disk::fsync`].
    pub fn fsync_with_new_entry(&mut self, owner: Owner, fd: Fd) -> Result<(), Errno> {
        self.fsync(owner, fd)?;
        let inode = self.descriptors.get(owner, fd)?.inode;
        let parent = self.inode(inode)?.parent;
        if self.inodes.contains_key(&parent) { self.fsync_inode(parent) } else { Ok(()) }
    }

    fn fsync_inode(&mut self, id: InodeId) -> Result<(), Errno> {
        if self.options.flaw.is_some() && self.fsync_flawed(id)? {
            return Ok(());
        }
        let inode = self.inode(id)?;
        let last_on_it = match &inode.node {
            Node::File(file) => file.log.items().last().map_or(0, |item| item.sequence).max(inode.naming),
            Node::Directory(directory) => directory.pending.last().copied().unwrap_or(0).max(inode.naming),
        };
        match self.persistence {
            Persistence::Strict => self.commit_through(last_on_it),
            Persistence::Ext4 => {
                let last_in_journal = match &inode.node {
                    Node::File(file) => last_set_len(&file.log).max(inode.naming),
                    Node::Directory(_) => last_on_it,
                };
                self.commit_ordered_through(last_in_journal);
                self.commit_file(id);
            }
            Persistence::Posix => match &inode.node {
                Node::File(_) => self.commit_file(id),
                Node::Directory(directory) => {
                    let closure = self.names.closure(directory.pending.iter().copied());
                    for sequence in closure {
                        self.commit_ordered(sequence);
                    }
                }
            },
        }
        if let Some(inode) = self.inodes.get_mut(&id)
            && let Node::File(file) = &inode.node
            && !file.torn.is_empty()
            && let Node::File(file) = &mut Rc::make_mut(inode).node
        {
            file.torn.clear();
        }
        Ok(())
    }

    /// As the planted bug has it. False where it changes nothing.
    fn fsync_flawed(&mut self, id: InodeId) -> Result<bool, Errno> {
        match (self.options.flaw, &self.inode(id)?.node) {
            (Some(DiskFlaw::SyncLeavesLastWrite), Node::File(file)) => {
                let last = file.log.items().last().map_or(0, |item| item.sequence);
                if file.durable.len() == 0 {
                    return Ok(false);
                }
                if last > 0 {
                    self.commit_ordered_through(last - 1);
                    self.commit_file_through(id, last - 1);
                }
                Ok(true)
            }
            (Some(DiskFlaw::SyncLeavesReplacements), Node::Directory(directory)) => {
                let pending: Vec<u64> = directory.pending.iter().copied().collect();
                let replaces = |sequence: &u64| match self.names.ordered.get(sequence) {
                    Some(Ordered::Name(operation)) => operation.change.replaces(),
                    _ => false,
                };
                for sequence in pending.iter().filter(|sequence| !replaces(sequence)).copied().collect::<Vec<_>>() {
                    self.commit_ordered(sequence);
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Makes everything durable that is pending, as a kernel's write-back does in time. Allowed at any moment under every
    /// profile: it takes nothing away that a crash must keep.
    pub fn write_back(&mut self) {
        self.commit_through(u64::MAX);
    }

    /// Makes all operations durable up to this one.
    fn commit_through(&mut self, sequence: u64) {
        self.commit_ordered_through(sequence);
        let dirty: Vec<InodeId> = self.dirty.iter().copied().collect();
        for id in dirty {
            self.commit_file_through(id, sequence);
        }
    }

    /// Makes the global items durable up to this one, in order.
    fn commit_ordered_through(&mut self, last: u64) {
        while let Some((&sequence, _)) = self.names.ordered.first_key_value()
            && sequence <= last
        {
            self.commit_ordered(sequence);
        }
    }

    fn commit_ordered(&mut self, sequence: u64) {
        match self.take_ordered(sequence) {
            None => {}
            Some(Ordered::Name(operation)) => {
                self.durable_version += 1;
                self.commit_name(&operation.change);
            }
            Some(Ordered::SetLen(id)) => self.commit_set_len(id, sequence),
        }
    }

    /// Changes the durable directories.
    fn commit_name(&mut self, change: &NameChange) {
        match change {
            NameChange::Link { name, inode } => {
                let replaced = self.set_durable(name, Some(*inode));
                self.gained_durable_name(*inode);
                self.lost_durable_name(replaced);
            }
            NameChange::Unlink { name, inode } => {
                let removed = self.set_durable(name, None);
                self.lost_durable_name(removed);
                self.release_if_unused(*inode);
            }
            NameChange::Rename { from, to, inode, .. } => {
                let removed = self.set_durable(from, None);
                let replaced = self.set_durable(to, Some(*inode));
                self.gained_durable_name(*inode);
                self.lost_durable_name(removed);
                self.lost_durable_name(replaced);
            }
        }
    }

    /// Sets or removes a durable entry; tells what was there.
    fn set_durable(&mut self, name: &Name, inode: Option<InodeId>) -> Option<InodeId> {
        let Node::Directory(directory) = &mut Rc::make_mut(self.inodes.get_mut(&name.0)?).node else { return None };
        match inode {
            Some(inode) => directory.durable.insert(Rc::clone(&name.1), inode),
            None => directory.durable.remove(&name.1),
        }
    }

    /// An operation that would give the inode a name did.
    fn gained_durable_name(&mut self, id: InodeId) {
        if let Some(inode) = self.inodes.get_mut(&id) {
            let inode = Rc::make_mut(inode);
            inode.durable_links += 1;
            inode.pending_names -= 1;
        }
    }

    fn lost_durable_name(&mut self, id: Option<InodeId>) {
        let Some(id) = id else { return };
        if let Some(inode) = self.inodes.get_mut(&id) {
            Rc::make_mut(inode).durable_links -= 1;
            self.release_if_unused(id);
        }
    }

    /// A size change reached the journal before the file's data.
    fn commit_set_len(&mut self, id: InodeId, sequence: u64) {
        let Some(inode) = self.inodes.get_mut(&id) else { return };
        let Node::File(file) = &mut Rc::make_mut(inode).node else { return };
        let place = file.log.items().iter().find(|item| item.sequence == sequence);
        let Some(DataChange::SetLen { len }) = place.map(|item| item.change) else { return };
        let (bytes_before, items_before) = (file.log.held_bytes(), file.log.items().len());
        file.durable.set_len(len);
        file.log.cut_before(sequence, len);
        self.durable_version += 1;
        self.dirty_bytes -= bytes_before - file.log.held_bytes();
        self.pending_count -= (items_before - file.log.items().len()) as u32;
        if file.log.is_empty() {
            self.dirty.remove(&id);
        }
    }

    /// Makes all that is pending on a file's data and size durable.
    fn commit_file(&mut self, id: InodeId) {
        self.commit_file_through(id, u64::MAX);
    }

    /// Makes what is pending on a file's data and size durable, up to this operation.
    fn commit_file_through(&mut self, id: InodeId, sequence: u64) {
        let Some(inode) = self.inodes.get_mut(&id) else { return };
        let Node::File(file) = &mut Rc::make_mut(inode).node else { return };
        if file.log.items().first().is_none_or(|item| item.sequence > sequence) {
            return;
        }
        let (bytes_before, items_before) = (file.log.held_bytes(), file.log.items().len());
        let has_set_len = last_set_len(&file.log) > 0;
        let is_whole = file.log.items().last().is_some_and(|item| item.sequence <= sequence);
        if is_whole && !file.is_diverged && !has_set_len {
            share_written(file);
            file.log.clear();
            self.dirty.remove(&id);
        } else {
            let taken = file.log.split_through(sequence);
            taken.apply_all(&mut file.durable);
            if file.log.is_empty() {
                self.dirty.remove(&id);
            }
            self.forget_set_lens(&taken);
        }
        let Some(Node::File(file)) = self.inodes.get(&id).map(|inode| &inode.node) else { return };
        self.dirty_bytes -= bytes_before - file.log.held_bytes();
        self.pending_count -= (items_before - file.log.items().len()) as u32;
        self.durable_version += 1;
    }

    /// Before a rename over an existing file, ext4 writes the source's data (`auto_da_alloc`). A size change among it takes
    /// along what the journal holds before it.
    pub(super) fn commit_file_on_replace(&mut self, id: InodeId) -> Result<(), Errno> {
        let last_in_journal = last_set_len(&self.inode(id)?.file()?.log);
        self.commit_ordered_through(last_in_journal);
        self.commit_file(id);
        Ok(())
    }

    /// Takes a log's size changes out of the journal: they are durable by now, or dropped.
    pub(super) fn forget_set_lens(&mut self, log: &DataLog) {
        if self.persistence != Persistence::Ext4 || last_set_len(log) == 0 {
            return;
        }
        let names = Rc::make_mut(&mut self.names);
        for item in log.items() {
            if matches!(item.change, DataChange::SetLen { .. }) {
                names.ordered.remove(&item.sequence);
            }
        }
    }
}

/// The last size change in a log; 0 if there is none.
fn last_set_len(log: &DataLog) -> u64 {
    let last = log.items().iter().rev().find(|item| matches!(item.change, DataChange::SetLen { .. }));
    last.map_or(0, |item| item.sequence)
}

/// The durable image takes over the visible blocks that were written: no byte is copied. Right only if the log holds all
/// that tells the two images apart, and nothing but writes.
fn share_written(file: &mut FileNode) {
    for item in file.log.items() {
        if let DataChange::Write { offset, len, .. } = item.change {
            file.durable.share_range(&file.visible, offset, offset + len as u64);
        }
    }
    file.durable.set_len(file.visible.len());
}

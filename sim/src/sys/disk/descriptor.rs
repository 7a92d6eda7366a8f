//! Open descriptions and the descriptors that lead to them: open, dup, close, and the death of a process. Reading and
//! writing are in `calls`.

use std::collections::BTreeMap;

use super::image::{Disk, ROOT};
use super::inode::{FileNode, Node};
use super::types::{Fd, InodeId, OpenFlags, Owner};
use crate::errno::Errno;

/// An open file description (POSIX.1-2017 3.258): what dup(2) shares, and where flock(2) lives.
#[derive(Clone, Debug)]
pub(super) struct Description {
    pub(super) inode: InodeId,
    pub(super) owner: Owner,
    pub(super) flags: OpenFlags,
    pub(super) cursor: u64,
    /// The file's write-back has failed since this was opened, and no fsync through it has said so yet (Linux: errseq_t).
    pub(super) owes_error: bool,
    /// How many descriptors lead to it.
    references: u32,
}

/// The number of an open description. Reused once it is closed.
pub(super) type DescriptionId = u32;

/// All descriptor tables and open descriptions of the machine.
#[derive(Default)]
pub(super) struct Descriptors {
    /// By owner: a boot is numbered once, and most of a machine's calls look here.
    tables: Vec<Vec<Option<DescriptionId>>>,
    descriptions: Vec<Option<Description>>,
    unused: Vec<DescriptionId>,
    /// How many descriptions each inode has.
    opens: BTreeMap<InodeId, u32>,
}

impl Descriptors {
    /// The description behind a descriptor, or EBADF.
    #[inline]
    pub(super) fn id(&self, owner: Owner, fd: Fd) -> Result<DescriptionId, Errno> {
        let table = self.tables.get(owner.0 as usize).ok_or(Errno::BadDescriptor)?;
        table.get(fd.0 as usize).copied().flatten().ok_or(Errno::BadDescriptor)
    }

    /// The description, or EBADF.
    #[inline]
    pub(super) fn get(&self, owner: Owner, fd: Fd) -> Result<&Description, Errno> {
        self.by_id(self.id(owner, fd)?).ok_or(Errno::BadDescriptor)
    }

    /// The description to change, or EBADF.
    #[inline]
    pub(super) fn get_mut(&mut self, owner: Owner, fd: Fd) -> Result<&mut Description, Errno> {
        let id = self.id(owner, fd)?;
        self.descriptions.get_mut(id as usize).and_then(Option::as_mut).ok_or(Errno::BadDescriptor)
    }

    pub(super) fn by_id(&self, id: DescriptionId) -> Option<&Description> {
        self.descriptions.get(id as usize).and_then(Option::as_ref)
    }

    /// Write-back of a file failed, and the fsync through `reported` says so: each other description of it will say so once.
    pub(super) fn owe_error(&mut self, inode: InodeId, reported: DescriptionId) {
        for (id, description) in self.descriptions.iter_mut().enumerate() {
            if let Some(description) = description.as_mut().filter(|description| description.inode == inode) {
                description.owes_error = id as DescriptionId != reported;
            }
        }
    }

    /// Whether an fsync through this description must report an earlier failure. Asking settles it.
    #[inline]
    pub(super) fn take_error(&mut self, owner: Owner, fd: Fd) -> Result<bool, Errno> {
        self.get_mut(owner, fd).map(|description| std::mem::take(&mut description.owes_error))
    }

    /// Whether none has ever been opened.
    pub(super) fn are_unused(&self) -> bool {
        let Descriptors { tables, descriptions, unused, opens } = self;
        tables.is_empty() && descriptions.is_empty() && unused.is_empty() && opens.is_empty()
    }

    pub(super) fn is_open(&self, inode: InodeId) -> bool {
        self.opens.contains_key(&inode)
    }

    /// The descriptors of an owner, in order, with their descriptions.
    pub(super) fn of_owner(&self, owner: Owner) -> impl Iterator<Item = (Fd, DescriptionId)> + '_ {
        let table = self.table(owner);
        table.iter().enumerate().filter_map(|(fd, id)| id.map(|id| (Fd(fd as u32), id)))
    }

    fn table(&self, owner: Owner) -> &[Option<DescriptionId>] {
        self.tables.get(owner.0 as usize).map(Vec::as_slice).unwrap_or_default()
    }

    fn lowest_free(&self, owner: Owner, max: u32) -> Result<Fd, Errno> {
        let table = self.table(owner);
        let free = table.iter().position(Option::is_none).unwrap_or(table.len());
        if free < max as usize { Ok(Fd(free as u32)) } else { Err(Errno::TooManyOpen) }
    }

    fn set(&mut self, owner: Owner, fd: Fd, id: DescriptionId) {
        let index = owner.0 as usize;
        if self.tables.len() <= index {
            self.tables.resize_with(index + 1, Vec::new);
        }
        let table = &mut self.tables[index];
        if table.len() <= fd.0 as usize {
            table.resize(fd.0 as usize + 1, None);
        }
        table[fd.0 as usize] = Some(id);
    }

    fn add(&mut self, description: Description) -> DescriptionId {
        *self.opens.entry(description.inode).or_default() += 1;
        match self.unused.pop() {
            Some(id) => {
                self.descriptions[id as usize] = Some(description);
                id
            }
            None => {
                self.descriptions.push(Some(description));
                (self.descriptions.len() - 1) as DescriptionId
            }
        }
    }

    /// Takes a descriptor away, and with the last one its description. Tells the inode, and the description if it went.
    fn remove(&mut self, owner: Owner, fd: Fd) -> Result<(InodeId, Option<DescriptionId>), Errno> {
        let id = self.id(owner, fd)?;
        if let Some(table) = self.tables.get_mut(owner.0 as usize) {
            table[fd.0 as usize] = None;
            if table.iter().all(Option::is_none) {
                *table = Vec::new();
            }
        }
        let slot = self.descriptions.get_mut(id as usize).ok_or(Errno::BadDescriptor)?;
        let description = slot.as_mut().ok_or(Errno::BadDescriptor)?;
        let inode = description.inode;
        description.references -= 1;
        if description.references > 0 {
            return Ok((inode, None));
        }
        *slot = None;
        self.unused.push(id);
        if let Some(count) = self.opens.get_mut(&inode) {
            *count -= 1;
            if *count == 0 {
                self.opens.remove(&inode);
            }
        }
        Ok((inode, Some(id)))
    }
}

impl Disk {
    /// open(2).
    ///
    /// # Errors
    /// ENOENT; EEXIST with `create_exclusive`; EISDIR for writing to a directory; ENOTDIR with `directory` on a file;
    /// EINVAL if neither reading nor writing is asked for, or truncation without writing; EMFILE; those of the path.
    pub fn open(&mut self, owner: Owner, path: &str, flags: OpenFlags) -> Result<Fd, Errno> {
        let is_for_nothing = !flags.read && !flags.write;
        let truncates_unwritten = flags.truncate && !flags.write;
        if is_for_nothing || truncates_unwritten || (flags.directory && flags.create) {
            return Err(Errno::Invalid);
        }
        let fd = self.descriptors.lowest_free(owner, self.options.descriptors_max)?;
        let inode = match self.resolve(path) {
            Ok(_) if flags.create && flags.exclusive => return Err(Errno::Exists),
            Ok(inode) => {
                self.check_openable(inode, flags)?;
                inode
            }
            Err(Errno::NoEntry) if flags.create => {
                // A component on the way may be what is missing: resolve_parent tells.
                let (directory, name) = self.resolve_parent(path)?;
                let inode = self.add_inode(Node::File(FileNode::default()), directory);
                self.add_name((directory, name.into()), inode)?;
                inode
            }
            Err(error) => return Err(error),
        };
        if flags.truncate {
            self.set_len_of(inode, 0)?;
        }
        let id = self.descriptors.add(Description { inode, owner, flags, cursor: 0, owes_error: false, references: 1 });
        self.descriptors.set(owner, fd, id);
        self.enforce_dirty_limit();
        Ok(fd)
    }

    /// Opens a file without a name for reading and writing (open(2), O_TMPFILE): it is gone when it is closed, and no crash keeps it.
    ///
    /// # Errors
    /// EMFILE.
    pub fn open_unnamed(&mut self, owner: Owner) -> Result<Fd, Errno> {
        let fd = self.descriptors.lowest_free(owner, self.options.descriptors_max)?;
        let inode = self.add_inode(Node::File(FileNode::default()), ROOT);
        let flags = OpenFlags::READ_WRITE;
        let id = self.descriptors.add(Description { inode, owner, flags, cursor: 0, owes_error: false, references: 1 });
        self.descriptors.set(owner, fd, id);
        Ok(fd)
    }

    fn check_openable(&self, inode: InodeId, flags: OpenFlags) -> Result<(), Errno> {
        match (&self.inode(inode)?.node, flags.directory) {
            (Node::File(_), true) => Err(Errno::NotDirectory),
            (Node::Directory(_), _) if flags.write || flags.create => Err(Errno::IsDirectory),
            _ => Ok(()),
        }
    }

    /// dup(2): a further descriptor of the same open description, so of the same cursor and the same flock.
    ///
    /// # Errors
    /// EBADF, EMFILE.
    pub fn duplicate(&mut self, owner: Owner, fd: Fd) -> Result<Fd, Errno> {
        let id = self.descriptors.id(owner, fd)?;
        let new = self.descriptors.lowest_free(owner, self.options.descriptors_max)?;
        self.descriptors.set(owner, new, id);
        self.descriptors.get_mut(owner, new)?.references += 1;
        Ok(new)
    }

    /// close(2).
    ///
    /// It releases *all* byte-range locks of this owner on the file, whichever descriptor they were taken through
    /// (fcntl(2), "Record locks"), and with the description's last descriptor its flock (flock(2)). It makes nothing durable.
    ///
    /// # Errors
    /// EBADF.
    pub fn close(&mut self, owner: Owner, fd: Fd) -> Result<(), Errno> {
        let (inode, description) = self.descriptors.remove(owner, fd)?;
        if self.range_locks.release_owner_on(inode, owner) {
            self.note_release(inode);
        }
        if let Some(description) = description {
            if self.flocks.release(inode, description) {
                self.note_release(inode);
            }
            self.release_if_unused(inode);
        }
        Ok(())
    }

    /// The death of a process: closes its descriptors and releases its locks, all at once. What its system calls did
    /// stays, durable or not.
    pub fn release_owner(&mut self, owner: Owner) {
        let fds: Vec<Fd> = self.descriptors.of_owner(owner).map(|(fd, _)| fd).collect();
        for fd in fds {
            // The descriptor was just listed, so this cannot fail.
            let _ = self.close(owner, fd);
        }
    }

    /// The inode behind a descriptor.
    ///
    /// # Errors
    /// EBADF.
    pub fn inode_of_fd(&self, owner: Owner, fd: Fd) -> Result<InodeId, Errno> {
        Ok(self.descriptors.get(owner, fd)?.inode)
    }

    /// The open descriptors of an owner, in order.
    pub fn open_fds(&self, owner: Owner) -> Vec<(Fd, InodeId)> {
        let with_inode = |(fd, id)| self.descriptors.by_id(id).map(|description| (fd, description.inode));
        self.descriptors.of_owner(owner).filter_map(with_inode).collect()
    }

    /// Notes that waiters for a lock on this inode may try again.
    pub(super) fn note_release(&mut self, inode: InodeId) {
        if !self.released.contains(&inode) {
            self.released.push(inode);
        }
    }

    /// The inodes on which some lock was released or weakened since the last call, in the order of the first release.
    /// Costs nothing when there is none.
    #[inline]
    pub fn take_released(&mut self) -> Vec<InodeId> {
        std::mem::take(&mut self.released)
    }

    /// The first of the inodes that [`Disk::take_released`] would tell, which then tells it no more. Frees no memory.
    #[inline]
    pub fn next_released(&mut self) -> Option<InodeId> {
        if self.released.is_empty() { None } else { Some(self.released.remove(0)) }
    }
}

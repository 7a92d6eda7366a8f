//! Paths and the calls on names: mkdir, rmdir, link, unlink, rename, read_dir. Opening is in `descriptor`.

use std::rc::Rc;

use super::image::{Disk, ROOT};
use super::inode::{DirectoryNode, Node};
use super::pending::{Name, NameChange};
use super::types::{InodeId, Persistence};
use crate::errno::Errno;

/// The longest name, in bytes (Linux `NAME_MAX`).
const NAME_LEN_MAX: usize = 255;

/// The longest path, in bytes (Linux `PATH_MAX`, which counts a terminating NUL).
const PATH_LEN_MAX: usize = 4095;

impl Disk {
    /// The inode that processes see at `path`.
    ///
    /// Paths are absolute. Empty components are skipped, so `/a/` is `/a`.
    ///
    /// # Errors
    /// ENOENT or ENOTDIR on the way; EINVAL for a relative path or one with `.`, `..` or NUL in it; ENAMETOOLONG.
    pub(super) fn resolve(&self, path: &str) -> Result<InodeId, Errno> {
        let mut at = ROOT;
        for component in components(path)? {
            let component = component?;
            at = *self.inode(at)?.directory()?.visible.get(component).ok_or(Errno::NoEntry)?;
        }
        Ok(at)
    }

    /// The directory that `path` is in, and the last component. EINVAL for the root, which is in none.
    pub(super) fn resolve_parent<'a>(&self, path: &'a str) -> Result<(InodeId, &'a str), Errno> {
        let mut at = ROOT;
        let mut rest = components(path)?;
        let mut last = rest.next().ok_or(Errno::Invalid)??;
        loop {
            let directory = self.inode(at)?.directory()?;
            let Some(component) = rest.next() else { return Ok((at, last)) };
            at = *directory.visible.get(last).ok_or(Errno::NoEntry)?;
            last = component?;
        }
    }

    /// What processes see at a name.
    pub(super) fn lookup(&self, directory: InodeId, name: &str) -> Result<Option<InodeId>, Errno> {
        Ok(self.inode(directory)?.directory()?.visible.get(name).copied())
    }

    /// mkdir(2).
    ///
    /// # Errors
    /// EEXIST, and those of the path.
    pub fn mkdir(&mut self, path: &str) -> Result<InodeId, Errno> {
        if components(path)?.next().is_none() {
            return Err(Errno::Exists);
        }
        let (directory, name) = self.resolve_parent(path)?;
        if self.lookup(directory, name)?.is_some() {
            return Err(Errno::Exists);
        }
        let inode = self.add_inode(Node::Directory(DirectoryNode::default()), directory);
        self.add_name((directory, name.into()), inode)?;
        self.enforce_dirty_limit();
        Ok(inode)
    }

    /// rmdir(2).
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, ENOTEMPTY; EINVAL for the root.
    pub fn rmdir(&mut self, path: &str) -> Result<(), Errno> {
        let (directory, name) = self.resolve_parent(path)?;
        let inode = self.lookup(directory, name)?.ok_or(Errno::NoEntry)?;
        let removed = self.inode(inode)?.directory()?;
        if !removed.visible.is_empty() {
            return Err(Errno::NotEmpty);
        }
        // What emptied it must be kept if its removal is: else a file that was moved out would be in neither place.
        let also = removed.pending.iter().copied().collect();
        self.remove_name((directory, name.into()), inode, also)
    }

    /// unlink(2). The file lives on while it is open.
    ///
    /// # Errors
    /// ENOENT; EISDIR for a directory (as Linux has it; POSIX says EPERM).
    pub fn unlink(&mut self, path: &str) -> Result<(), Errno> {
        let (directory, name) = self.resolve_parent(path)?;
        let inode = self.lookup(directory, name)?.ok_or(Errno::NoEntry)?;
        self.inode(inode)?.file()?;
        self.remove_name((directory, name.into()), inode, Vec::new())
    }

    /// link(2): a further name for a file.
    ///
    /// # Errors
    /// ENOENT; EEXIST if `new` exists; EPERM for a directory.
    pub fn link(&mut self, existing: &str, new: &str) -> Result<(), Errno> {
        let inode = self.resolve(existing)?;
        if self.inode(inode)?.is_directory() {
            return Err(Errno::NotPermitted);
        }
        let (directory, name) = self.resolve_parent(new)?;
        if self.lookup(directory, name)?.is_some() {
            return Err(Errno::Exists);
        }
        self.add_name((directory, name.into()), inode)?;
        self.enforce_dirty_limit();
        Ok(())
    }

    /// rename(2): atomic, over an existing file or an empty directory if there is one.
    ///
    /// # Errors
    /// ENOENT; EISDIR or ENOTDIR if one is a directory and the other is not; ENOTEMPTY; EINVAL for moving a directory into
    /// itself, and for the root.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<(), Errno> {
        let (from_directory, from_name) = self.resolve_parent(from)?;
        let inode = self.lookup(from_directory, from_name)?.ok_or(Errno::NoEntry)?;
        let (to_directory, to_name) = self.resolve_parent(to)?;
        let over = self.lookup(to_directory, to_name)?;
        let above = self.directories_above(to_directory)?;
        if above.contains(&inode) {
            return Err(Errno::Invalid);
        }
        if over == Some(inode) {
            return Ok(());
        }
        // The rename brings the directories into which it moves, or its source could end up in neither place.
        let mut also = Vec::new();
        for &directory in &above {
            let naming = self.inode(directory)?.naming;
            if self.names.ordered.contains_key(&naming) {
                also.push(naming);
            }
        }
        if let Some(over) = over {
            self.check_replaceable(inode, over)?;
            if let Ok(directory) = self.inode(over)?.directory() {
                also.extend(directory.pending.iter().copied());
            } else if self.persistence == Persistence::Ext4 {
                self.commit_file_on_replace(inode)?;
            }
        }
        let from: Name = (from_directory, from_name.into());
        let to: Name = (to_directory, to_name.into());
        self.inode_mut(from_directory)?.directory_mut()?.visible.remove(from_name);
        self.inode_mut(to_directory)?.directory_mut()?.visible.insert(Rc::clone(&to.1), inode);
        self.inode_mut(inode)?.parent = to_directory;
        self.push_name(NameChange::Rename { from, to, inode, over }, also)?;
        if let Some(over) = over {
            self.inode_mut(over)?.links -= 1;
            self.release_if_unused(over);
        }
        self.enforce_dirty_limit();
        Ok(())
    }

    /// The names in a directory, sorted: the order of a listing must not reach a run.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR.
    pub fn read_dir(&self, path: &str) -> Result<Vec<String>, Errno> {
        let directory = self.inode(self.resolve(path)?)?.directory()?;
        Ok(directory.visible.keys().map(|name| name.to_string()).collect())
    }

    /// Gives an inode a name in the visible image, and records that as pending.
    pub(super) fn add_name(&mut self, name: Name, inode: InodeId) -> Result<(), Errno> {
        self.inode_mut(name.0)?.directory_mut()?.visible.insert(Rc::clone(&name.1), inode);
        let named = self.inode_mut(inode)?;
        named.links += 1;
        named.parent = name.0;
        self.push_name(NameChange::Link { name, inode }, Vec::new())
    }

    fn remove_name(&mut self, name: Name, inode: InodeId, also: Vec<u64>) -> Result<(), Errno> {
        self.inode_mut(name.0)?.directory_mut()?.visible.remove(&name.1);
        self.inode_mut(inode)?.links -= 1;
        self.push_name(NameChange::Unlink { name, inode }, also)?;
        self.release_if_unused(inode);
        self.enforce_dirty_limit();
        Ok(())
    }

    fn check_replaceable(&self, inode: InodeId, over: InodeId) -> Result<(), Errno> {
        match (self.inode(inode)?.is_directory(), &self.inode(over)?.node) {
            (false, Node::File(_)) => Ok(()),
            (false, Node::Directory(_)) => Err(Errno::IsDirectory),
            (true, Node::File(_)) => Err(Errno::NotDirectory),
            (true, Node::Directory(directory)) if directory.visible.is_empty() => Ok(()),
            (true, Node::Directory(_)) => Err(Errno::NotEmpty),
        }
    }

    /// The directory and all that it is in, up to the root.
    fn directories_above(&self, directory: InodeId) -> Result<Vec<InodeId>, Errno> {
        let mut above = vec![directory];
        let mut at = directory;
        while at != ROOT {
            at = self.inode(at)?.parent;
            above.push(at);
        }
        Ok(above)
    }
}

/// The components of an absolute path; each is checked when it is reached.
pub(super) fn components(path: &str) -> Result<Components<'_>, Errno> {
    if path.len() > PATH_LEN_MAX {
        return Err(Errno::NameTooLong);
    }
    let rest = path.strip_prefix('/').ok_or(Errno::Invalid)?;
    Ok(Components { rest })
}

/// What is left of a path. Its own loop over the bytes: components are short, and std's search is made for long texts.
pub(super) struct Components<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Components<'a> {
    type Item = Result<&'a str, Errno>;

    fn next(&mut self) -> Option<Result<&'a str, Errno>> {
        let bytes = self.rest.as_bytes();
        let begin = bytes.iter().position(|byte| *byte != b'/')?;
        let (mut end, mut has_nul) = (begin, false);
        while let Some(byte) = bytes.get(end)
            && *byte != b'/'
        {
            has_nul |= *byte == 0;
            end += 1;
        }
        let component = &self.rest[begin..end];
        self.rest = &self.rest[end..];
        Some(if component.len() > NAME_LEN_MAX {
            Err(Errno::NameTooLong)
        } else if component == "." || component == ".." || has_nul {
            Err(Errno::Invalid)
        } else {
            Ok(component)
        })
    }
}

//! Files and directories as the disk keeps them: each with the image that processes see and the one that is durable.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::block::Content;
use super::pending::DataLog;
use super::types::InodeId;
use crate::errno::Errno;

/// The entries of a directory. Sorted, so that the order of a listing never depends on a run's past.
pub(super) type Entries = BTreeMap<Rc<str>, InodeId>;

/// A file or directory. Shared between a disk and its crash images until one of them changes it.
#[derive(Clone)]
pub(super) struct Inode {
    pub(super) node: Node,
    /// How many names processes see.
    pub(super) links: u32,
    /// How many names it has in the durable directories.
    pub(super) durable_links: u32,
    /// How many pending operations would give it a name.
    pub(super) pending_names: u32,
    /// The last operation on its name (an old one may be durable by now; 0 if none).
    pub(super) naming: u64,
    /// The directory that its latest name is in.
    pub(super) parent: InodeId,
    pub(super) modified_ns: u64,
}

#[derive(Clone)]
pub(super) enum Node {
    File(FileNode),
    Directory(DirectoryNode),
}

#[derive(Clone, Default)]
pub(super) struct FileNode {
    pub(super) visible: Content,
    pub(super) durable: Content,
    /// What was done to the file and is not durable, in order.
    pub(super) log: DataLog,
    /// The length of the durable image with the log applied. The visible length, unless the two diverged.
    pub(super) logged_len: u64,
    /// True if the visible image is not the durable one with the log applied: after a failed fsync, or when the last
    /// name and descriptor went.
    pub(super) is_diverged: bool,
    /// Ranges (start, end) in which the next crash tears.
    pub(super) torn: Vec<(u64, u64)>,
}

#[derive(Clone, Default)]
pub(super) struct DirectoryNode {
    pub(super) visible: Entries,
    pub(super) durable: Entries,
    /// The operations on this directory's entries that are not durable, by sequence number.
    pub(super) pending: BTreeSet<u64>,
}

impl Inode {
    pub(super) fn new(node: Node, parent: InodeId, modified_ns: u64) -> Inode {
        Inode { node, links: 0, durable_links: 0, pending_names: 0, naming: 0, parent, modified_ns }
    }

    /// True if it has a name, or a crash may give it one. What happens to others concerns no crash.
    #[inline]
    pub(super) fn may_have_name(&self) -> bool {
        self.links > 0 || self.may_have_name_after_crash()
    }

    /// True if a crash may leave it with a name.
    #[inline]
    pub(super) fn may_have_name_after_crash(&self) -> bool {
        self.durable_links > 0 || self.pending_names > 0
    }

    /// The file, or EISDIR.
    #[inline]
    pub(super) fn file(&self) -> Result<&FileNode, Errno> {
        match &self.node {
            Node::File(file) => Ok(file),
            Node::Directory(_) => Err(Errno::IsDirectory),
        }
    }

    /// The file, or EISDIR.
    #[inline]
    pub(super) fn file_mut(&mut self) -> Result<&mut FileNode, Errno> {
        match &mut self.node {
            Node::File(file) => Ok(file),
            Node::Directory(_) => Err(Errno::IsDirectory),
        }
    }

    /// The directory, or ENOTDIR.
    pub(super) fn directory(&self) -> Result<&DirectoryNode, Errno> {
        match &self.node {
            Node::Directory(directory) => Ok(directory),
            Node::File(_) => Err(Errno::NotDirectory),
        }
    }

    /// The directory, or ENOTDIR.
    pub(super) fn directory_mut(&mut self) -> Result<&mut DirectoryNode, Errno> {
        match &mut self.node {
            Node::Directory(directory) => Ok(directory),
            Node::File(_) => Err(Errno::NotDirectory),
        }
    }

    pub(super) fn is_directory(&self) -> bool {
        matches!(self.node, Node::Directory(_))
    }
}

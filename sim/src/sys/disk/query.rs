//! Questions that oracles ask: what is durable, what is pending, which files there are. Nothing here changes the disk.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::directory::components;
use super::image::{Disk, ROOT};
use super::inode::{FileNode, Node};
use super::pending::{DataChange, Name, NameChange, Ordered};
use super::types::InodeId;

/// One operation that is not durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// Its place in the order of all operations of the disk.
    pub sequence: u64,
    /// What it did.
    pub what: PendingOperation,
}

/// What an operation that is not durable did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PendingOperation {
    /// Wrote data.
    Write {
        /// Where it began.
        offset: u64,
        /// How long it was.
        len_bytes: u64,
        /// True if the file grew by it.
        extends: bool,
    },
    /// Set the size.
    SetLen {
        /// The new length.
        len_bytes: u64,
    },
    /// Gave a file or directory a name.
    Link {
        /// The directory.
        directory: InodeId,
        /// The name in it.
        name: String,
        /// What was named.
        inode: InodeId,
    },
    /// Took a name away.
    Unlink {
        /// The directory.
        directory: InodeId,
        /// The name in it.
        name: String,
        /// What it had named.
        inode: InodeId,
    },
    /// Renamed.
    Rename {
        /// The old directory.
        from_directory: InodeId,
        /// The old name in it.
        from_name: String,
        /// The new directory.
        to_directory: InodeId,
        /// The new name in it.
        to_name: String,
        /// What was renamed.
        inode: InodeId,
        /// What the new name had stood for.
        over: Option<InodeId>,
    },
}

impl Disk {
    /// True if the bytes that processes see in this range, and a length of the file that covers it, survive every crash
    /// that the profile allows. An empty range asks only for the length. False for what is no file, and for a range past the
    /// end. Whether the file keeps a *name* is [`Disk::is_entry_durable`]'s question.
    pub fn is_range_durable(&self, inode: InodeId, offset: u64, len_bytes: u64) -> bool {
        let Ok(file) = self.inode(inode).and_then(|inode| inode.file()) else { return false };
        let Some(end) = offset.checked_add(len_bytes) else { return false };
        if end > file.visible.len() || end > file.durable.len() || !file.durable.is_same_in(&file.visible, offset, end)
        {
            return false;
        }
        file.log.items().iter().all(|item| match item.change {
            DataChange::SetLen { len } => len >= end,
            DataChange::Write { offset: at, len, .. } => {
                // A pending write of the very bytes that are durable takes nothing away, kept or lost.
                let (from, to) = (at.max(offset), (at + len as u64).min(end));
                from >= to || {
                    let bytes = &file.log.bytes_of(item)[(from - at) as usize..(to - at) as usize];
                    file.durable.holds(from, bytes)
                }
            }
        })
    }

    /// True if a file has a name in the durable directories.
    pub fn has_durable_name(&self, inode: InodeId) -> bool {
        self.inodes.get(&inode).is_some_and(|inode| inode.durable_links > 0)
    }

    /// True if `path` leads to the inode that processes see there after every crash that the profile allows. While an
    /// operation on a name along the path is pending it is false, even if that operation could change nothing.
    pub fn is_entry_durable(&self, path: &str) -> bool {
        let Ok(components) = components(path) else { return false };
        let mut at = ROOT;
        for component in components {
            let Ok(component) = component else { return false };
            let Some(Node::Directory(directory)) = self.inodes.get(&at).map(|inode| &inode.node) else { return false };
            let (Some(visible), Some(durable)) = (directory.visible.get(component), directory.durable.get(component))
            else {
                return false;
            };
            let name: Name = (at, component.into());
            if visible != durable || self.names.is_pending(&name) {
                return false;
            }
            at = *visible;
        }
        true
    }

    /// What is pending on a file's data, or on a directory's entries, in order.
    pub fn pending(&self, inode: InodeId) -> Vec<Pending> {
        match self.inodes.get(&inode).map(|inode| &inode.node) {
            None => Vec::new(),
            Some(Node::File(file)) => pending_of_file(file),
            Some(Node::Directory(directory)) => {
                let operations = directory.pending.iter();
                operations.filter_map(|sequence| self.pending_name(*sequence)).collect()
            }
        }
    }

    fn pending_name(&self, sequence: u64) -> Option<Pending> {
        let Some(Ordered::Name(operation)) = self.names.ordered.get(&sequence) else { return None };
        let what = match &operation.change {
            NameChange::Link { name, inode } => {
                PendingOperation::Link { directory: name.0, name: name.1.to_string(), inode: *inode }
            }
            NameChange::Unlink { name, inode } => {
                PendingOperation::Unlink { directory: name.0, name: name.1.to_string(), inode: *inode }
            }
            NameChange::Rename { from, to, inode, over } => PendingOperation::Rename {
                from_directory: from.0,
                from_name: from.1.to_string(),
                to_directory: to.0,
                to_name: to.1.to_string(),
                inode: *inode,
                over: *over,
            },
        };
        Some(Pending { sequence, what })
    }

    /// How many operations on the whole disk are not durable.
    pub fn pending_count(&self) -> u64 {
        u64::from(self.pending_count)
    }

    /// The inode that processes see at `path`.
    pub fn inode_of(&self, path: &str) -> Option<InodeId> {
        self.resolve(path).ok()
    }

    /// The bytes that are durable at `path`, along durable directories. `None` if there is no file.
    pub fn durable_read(&self, path: &str) -> Option<Vec<u8>> {
        let mut at = ROOT;
        for component in components(path).ok()? {
            let Node::Directory(directory) = &self.inodes.get(&at)?.node else { return None };
            at = *directory.durable.get(component.ok()?)?;
        }
        self.inode(at).and_then(|inode| inode.file()).ok().map(|file| file.durable.to_vec())
    }

    /// The bytes that processes see at `path`, without opening it. `None` if there is no file. This is what an invariant reads a file with.
    #[doc(alias = "read_file")]
    pub fn visible_read(&self, path: &str) -> Option<Vec<u8>> {
        let inode = self.inode(self.resolve(path).ok()?).ok()?;
        inode.file().ok().map(|file| file.visible.to_vec())
    }

    /// The files that processes see: path, inode and length in bytes, sorted by path within each directory. A file with two
    /// names comes twice.
    pub fn files(&self) -> impl Iterator<Item = (String, InodeId, u64)> + '_ {
        self.walk().filter_map(|(path, id)| match self.inodes.get(&id).map(|inode| &inode.node) {
            Some(Node::File(file)) => Some((path, id, file.visible.len())),
            _ => None,
        })
    }

    /// True if processes see a file that is not empty and has no byte but zeros: what a crash leaves of data that was never
    /// synced.
    pub fn is_all_zero(&self, inode: InodeId) -> bool {
        let file = self.inode(inode).and_then(|inode| inode.file());
        file.is_ok_and(|file| file.visible.len() > 0 && file.visible.is_zero())
    }

    /// The path of each inode that processes see; of a file with two names the first.
    pub(super) fn visible_paths(&self) -> BTreeMap<InodeId, String> {
        let mut paths = BTreeMap::new();
        for (path, id) in self.walk() {
            paths.entry(id).or_insert(path);
        }
        paths
    }

    /// All that processes see, directories before what is in them.
    fn walk(&self) -> impl Iterator<Item = (String, InodeId)> + '_ {
        let mut stack = vec![(String::new(), ROOT)];
        std::iter::from_fn(move || {
            let (path, id) = stack.pop()?;
            if let Some(Node::Directory(directory)) = self.inodes.get(&id).map(|inode| &inode.node) {
                for (name, child) in directory.visible.iter().rev() {
                    stack.push((format!("{path}/{name}"), *child));
                }
            }
            Some((if path.is_empty() { "/".to_owned() } else { path }, id))
        })
    }
}

fn pending_of_file(file: &FileNode) -> Vec<Pending> {
    let describe = |change| match change {
        DataChange::Write { offset, len, extends, .. } => {
            PendingOperation::Write { offset, len_bytes: len as u64, extends }
        }
        DataChange::SetLen { len } => PendingOperation::SetLen { len_bytes: len },
    };
    let items = file.log.items().iter();
    items.map(|item| Pending { sequence: item.sequence, what: describe(item.change) }).collect()
}

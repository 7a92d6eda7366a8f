//! Digests of the two images, for recognising crash images and for trace hashes. They cover names, kinds, hard links, lengths
//! and bytes; not inode numbers, times, descriptors or locks.

use std::collections::BTreeMap;
use twox_hash::XxHash3_128;

use super::block::Content;
use super::image::{Disk, ROOT};
use super::inode::{DirectoryNode, Entries, FileNode, Node};
use super::types::InodeId;

/// A digest: 128 bits of xxh3. No cryptographic strength is meant: nobody makes images collide on purpose, and the trace hash that takes them in has no
/// more bits.
pub type Digest = [u8; 16];

impl Disk {
    /// The digest of what is durable. Costs the blocks and files that changed since they were last digested, plus the
    /// number of files; nothing if nothing became durable since the last call.
    pub fn durable_digest(&self) -> Digest {
        if let Some((version, digest)) = self.durable_digest.get()
            && version == self.durable_version
        {
            return digest;
        }
        let digest = self.digest(|directory| &directory.durable, |file| &file.durable);
        self.durable_digest.set(Some((self.durable_version, digest)));
        digest
    }

    /// The digest of what processes see.
    pub fn visible_digest(&self) -> Digest {
        self.digest(|directory| &directory.visible, |file| &file.visible)
    }

    fn digest(&self, entries: fn(&DirectoryNode) -> &Entries, content: fn(&FileNode) -> &Content) -> Digest {
        let mut hasher = XxHash3_128::new();
        // Files are numbered as the walk finds them, so that hard links show and inode numbers do not.
        let mut found: BTreeMap<InodeId, u64> = BTreeMap::new();
        let mut stack = vec![ROOT];
        while let Some(id) = stack.pop() {
            let count = found.len() as u64;
            let ordinal = *found.entry(id).or_insert(count);
            hasher.write(&ordinal.to_le_bytes());
            if ordinal < count {
                continue;
            }
            match self.inodes.get(&id).map(|inode| &inode.node) {
                None => {}
                Some(Node::File(file)) => {
                    hasher.write(b"f");
                    hasher.write(&content(file).digest());
                }
                Some(Node::Directory(directory)) => {
                    let entries = entries(directory);
                    hasher.write(b"d");
                    hasher.write(&(entries.len() as u64).to_le_bytes());
                    for (name, child) in entries {
                        hasher.write(&(name.len() as u64).to_le_bytes());
                        hasher.write(name.as_bytes());
                        stack.push(*child);
                    }
                }
            }
        }
        hasher.finish_128().to_le_bytes()
    }
}

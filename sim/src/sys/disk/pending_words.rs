//! What is not durable, in words: for telling people what a crash image has kept. What it has lost tells `report`.

use std::collections::BTreeMap;

use super::image::Disk;
use super::inode::Node;
use super::pending::{DataChange, Name, NameChange, Ordered};
use super::report::CrashReport;
use super::types::InodeId;

impl Disk {
    /// What a crash image has made of what is not durable on this disk: what it kept whole, and what it lost or tore, each in the order in which it
    /// was done. `report` is of an image of this disk as it is now. Files that have no name any more are left out.
    pub fn kept_and_lost(&self, report: &CrashReport) -> (Vec<String>, Vec<String>) {
        let mut kept = self.pending_in_words();
        for loss in &report.losses {
            kept.remove(&loss.sequence);
        }
        let kept = kept.into_values().map(|what| format!("kept {what}"));
        (kept.collect(), report.losses.iter().map(ToString::to_string).collect())
    }

    /// By its place in the order of all operations: each that is not durable.
    fn pending_in_words(&self) -> BTreeMap<u64, String> {
        let paths = self.visible_paths();
        let path_of = |name: &Name| {
            let directory = paths.get(&name.0).map_or("", String::as_str);
            format!("{}/{}", directory.trim_end_matches('/'), name.1)
        };
        let mut words = BTreeMap::new();
        for (sequence, ordered) in &self.names.ordered {
            let Ordered::Name(operation) = ordered else { continue };
            let what = match &operation.change {
                NameChange::Link { name, .. } => format!("the name {}", path_of(name)),
                NameChange::Unlink { name, .. } => format!("the removal of {}", path_of(name)),
                NameChange::Rename { from, to, .. } => format!("the rename of {} to {}", path_of(from), path_of(to)),
            };
            words.insert(*sequence, what);
        }
        for id in &self.dirty {
            let Some(path) = paths.get(id) else { continue };
            let Some(Node::File(file)) = self.inodes.get(id).map(|inode| &inode.node) else { continue };
            for item in file.log.items() {
                let what = match item.change {
                    DataChange::Write { offset, len, .. } => format!("the write of {len} bytes at {offset} of {path}"),
                    DataChange::SetLen { len } => format!("the length {len} of {path}"),
                };
                words.insert(item.sequence, what);
            }
        }
        words
    }

    /// The path at which processes see an inode; of a file with two names the first.
    pub fn path_of(&self, inode: InodeId) -> Option<String> {
        self.visible_paths().remove(&inode)
    }
}

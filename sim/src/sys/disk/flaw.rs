//! Planted bugs of the disk itself: promises that it breaks without a word. They prove that invariants judge what is on the disk, and not what the disk says; what real disks
//! may do is in `fault`.

use serde::{Deserialize, Serialize};

/// A planted bug of the disk. None is ever on by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DiskFlaw {
    /// fsync(2) of a file that has something durable already makes all durable but the last thing that was written.
    SyncLeavesLastWrite,
    /// fsync(2) of a directory leaves renames over a file that was there as they are.
    SyncLeavesReplacements,
}

impl DiskFlaw {
    /// Every flaw.
    pub const ALL: [DiskFlaw; 2] = [DiskFlaw::SyncLeavesLastWrite, DiskFlaw::SyncLeavesReplacements];

    /// Its name, as the setting `mutant` of a plan has it.
    pub const fn name(self) -> &'static str {
        match self {
            DiskFlaw::SyncLeavesLastWrite => "disk-sync-leaves-last-write",
            DiskFlaw::SyncLeavesReplacements => "disk-sync-leaves-replacements",
        }
    }

    /// The flaw of that name.
    pub fn parse(name: &str) -> Option<DiskFlaw> {
        DiskFlaw::ALL.into_iter().find(|flaw| flaw.name() == name)
    }
}

//! What a crash kept and lost, ready to be told in words. How it is decided lives in `crash_plan`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::types::InodeId;

/// How a crash image was drawn: the extremes are drawn as often as the middle, since bugs live there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CrashMode {
    /// All that is not durable is lost.
    Nothing,
    /// All is kept.
    Everything,
    /// What was done before some moment is kept.
    Prefix,
    /// Names and sizes are kept, data is lost: files of the right length, full of zeros.
    NamesAndSizes,
    /// Data and sizes are kept, operations on names are lost.
    DataOnly,
    /// One operation is lost, with what cannot be without it.
    AllButOne,
    /// Each operation is drawn by itself.
    Subset,
    /// Names are kept, and writes are torn.
    Torn,
}

/// What a crash did to the operations that were pending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrashReport {
    /// How it was drawn.
    pub mode: CrashMode,
    /// How many operations were kept whole.
    pub kept: u32,
    /// How many were lost whole.
    pub lost: u32,
    /// How many writes were kept in part.
    pub torn: u32,
    /// What was lost whole or in part, in the order in which it was done.
    pub losses: Vec<Loss>,
}

/// One operation that a crash lost, whole or in part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// Its place in the order of all operations of the disk.
    pub sequence: u64,
    /// The file or directory that it was on.
    pub inode: InodeId,
    /// What it was.
    pub what: LostOperation,
}

/// What an operation that was lost had done. Paths are as processes saw them just before the crash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LostOperation {
    /// A write.
    Write {
        /// The file; empty if it had no name any more.
        path: String,
        /// Where it began.
        offset: u64,
        /// How long it was.
        len_bytes: u64,
        /// How much of it was kept.
        kept_bytes: u64,
        /// True if it made the file longer, and the file did not stay so.
        is_size_lost: bool,
    },
    /// A size change.
    SetLen {
        /// The file; empty if it had no name any more.
        path: String,
        /// The length that it set.
        len_bytes: u64,
    },
    /// A new name: of a new file or directory, or a further link.
    Link {
        /// The name.
        path: String,
    },
    /// An unlink or rmdir: the name is back.
    Unlink {
        /// The name.
        path: String,
    },
    /// A rename: the old name is back, and what the new one stood for before.
    Rename {
        /// The old name.
        from: String,
        /// The new name.
        to: String,
    },
}

impl fmt::Display for Loss {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            LostOperation::Write { path, offset, len_bytes, kept_bytes: 0, is_size_lost } => {
                let size = if *is_size_lost { ", and the length it gave" } else { "" };
                write!(out, "lost the write of {len_bytes} bytes at {offset} of {path}{size}")
            }
            LostOperation::Write { path, offset, len_bytes, kept_bytes, is_size_lost } => {
                let size = if *is_size_lost { ", but not the length that it gave" } else { "" };
                write!(out, "kept {kept_bytes} of {len_bytes} bytes written at {offset} of {path}{size}")
            }
            LostOperation::SetLen { path, len_bytes } => write!(out, "lost the length {len_bytes} of {path}"),
            LostOperation::Link { path } => write!(out, "lost the name {path}"),
            LostOperation::Unlink { path } => write!(out, "lost the removal of {path}"),
            LostOperation::Rename { from, to } => write!(out, "lost the rename of {from} to {to}"),
        }
    }
}

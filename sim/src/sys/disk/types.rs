//! The disk's plain values: identifiers, options, open flags and what `stat` tells. No behaviour of the disk lives here.

use super::flaw::DiskFlaw;
use serde::{Deserialize, Serialize};

/// The identity of a file or directory. Never reused on one disk, not even across crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InodeId(pub u64);

/// A file descriptor: the lowest number that is free in its owner's table (POSIX.1-2017 `open`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fd(pub u32);

/// One incarnation (one boot) of one process: it owns descriptors and byte-range locks. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Owner(pub u32);

/// Which images a machine crash may leave.
///
/// Whatever the profile, a crash keeps what an honest fsync made durable, and a killed process loses nothing that a
/// system call completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Persistence {
    /// A prefix of all operations, in their order; each is whole or absent. An fsync of anything makes all operations
    /// durable that were issued no later than the last one on it, since a prefix leaves no other choice.
    Strict,
    /// As ext4 with `data=ordered,delalloc,auto_da_alloc`.
    ///
    /// Names and explicit size changes go through one journal: a crash keeps a prefix of them. The data of a file, and
    /// the size that writing past its end gave it, reach the disk later (delayed allocation): of each 4,096-byte page a
    /// crash keeps the state after some prefix of the writes to it, so that a file may have its new length with zero
    /// bytes where data was lost. A rename over an existing file makes the data of its source durable first
    /// (`auto_da_alloc`). The other half of that option, which starts write-back when a file that was truncated to
    /// nothing is closed, waits for nothing and promises nothing: it is left out.
    ///
    /// An fsync of a file commits the journal through the last operation on its inode. So a newly created file's
    /// entry, and a rename of it, become durable with it: ext4 cannot commit the inode without what came before.
    Ext4,
    /// What POSIX.1-2017 promises, no more: any subset of the operations that no fsync forbids.
    ///
    /// An fsync of a file makes its data and size durable, but not its directory entry: that takes an fsync of the
    /// directory. A write's data and the size that it gave are separate, and data may tear at 512-byte sectors. The
    /// image stays consistent: the operations on *one* name are kept in order; a rename is one operation on two
    /// names, and brings the directory that it moves into.
    Posix,
}

/// What a disk is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskOptions {
    /// Space for file contents, in bytes, counted in blocks of 4,096. `None` is without limit.
    pub capacity_bytes: Option<u64>,
    /// The greatest length of a file, in bytes; a write past it gives EFBIG.
    pub file_len_max_bytes: u64,
    /// The most descriptors that one owner may have open; one more gives EMFILE.
    pub descriptors_max: u32,
    /// When more bytes than this are written and not durable, all of it is written back, as a kernel does at its dirty
    /// limit. It keeps memory bounded in runs that never call fsync.
    pub dirty_max_bytes: u64,
    /// The same for the number of operations that are not durable.
    pub pending_max: u32,
    /// A planted bug.
    pub flaw: Option<DiskFlaw>,
}

impl Default for DiskOptions {
    fn default() -> DiskOptions {
        DiskOptions {
            capacity_bytes: None,
            file_len_max_bytes: 1 << 32,
            descriptors_max: 1024,
            dirty_max_bytes: 64 << 20,
            pending_max: 16_384,
            flaw: None,
        }
    }
}

/// How a file is opened (open(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFlags {
    /// Reading is allowed.
    pub read: bool,
    /// Writing is allowed.
    pub write: bool,
    /// O_CREAT: make the file if it is absent.
    pub create: bool,
    /// O_EXCL: with `create`, fail with EEXIST if the name exists.
    pub exclusive: bool,
    /// O_TRUNC: cut an existing file to length 0. Needs `write`.
    pub truncate: bool,
    /// O_APPEND: every write goes to the end of the file.
    pub append: bool,
    /// O_DIRECTORY: open a directory, for its fsync.
    pub directory: bool,
}

impl OpenFlags {
    /// O_RDONLY
    pub const READ: OpenFlags = OpenFlags {
        read: true,
        write: false,
        create: false,
        exclusive: false,
        truncate: false,
        append: false,
        directory: false,
    };
    /// O_WRONLY
    pub const WRITE: OpenFlags = OpenFlags { read: false, write: true, ..OpenFlags::READ };
    /// O_RDWR
    pub const READ_WRITE: OpenFlags = OpenFlags { write: true, ..OpenFlags::READ };
    /// O_RDONLY | O_DIRECTORY
    pub const DIRECTORY: OpenFlags = OpenFlags { directory: true, ..OpenFlags::READ };

    /// With O_CREAT.
    pub const fn create(self) -> OpenFlags {
        OpenFlags { create: true, ..self }
    }

    /// With O_CREAT | O_EXCL.
    pub const fn create_exclusive(self) -> OpenFlags {
        OpenFlags { create: true, exclusive: true, ..self }
    }

    /// With O_TRUNC.
    pub const fn truncate(self) -> OpenFlags {
        OpenFlags { truncate: true, ..self }
    }

    /// With O_APPEND.
    pub const fn append(self) -> OpenFlags {
        OpenFlags { append: true, ..self }
    }
}

/// What an inode is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
}

/// What stat(2) tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    /// Which inode it is.
    pub inode: InodeId,
    /// File or directory.
    pub kind: FileKind,
    /// The length in bytes; for a directory the number of its entries.
    pub len_bytes: u64,
    /// How many names it has; a directory has one, or none after its rmdir (btrfs counts so too).
    pub links: u32,
    /// When it was last changed, in nanoseconds of the clock given to [`super::Disk::set_now_ns`]. A crash leaves the
    /// time as processes last saw it.
    pub modified_ns: u64,
}

/// Shared or exclusive, for both kinds of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockMode {
    /// LOCK_SH or F_RDLCK: any number of holders.
    Shared,
    /// LOCK_EX or F_WRLCK: one holder.
    Exclusive,
}

impl LockMode {
    /// True if two holders may not have these modes at once.
    pub const fn conflicts_with(self, other: LockMode) -> bool {
        matches!(self, LockMode::Exclusive) || matches!(other, LockMode::Exclusive)
    }
}

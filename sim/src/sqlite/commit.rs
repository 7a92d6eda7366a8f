//! Whether what a process committed to a WAL is durable, judged when the transaction ends (sqlite.org/walformat.html, "The WAL File Format").

use crate::sys::disk::{Disk, InodeId};

/// A transaction that was committed to a WAL, as it stood when the write lock was released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitDurability {
    /// Its number among the commits of this boot of its process; the first is 1.
    pub number: u64,
    /// The WAL file.
    pub wal: InodeId,
    /// Where in it the transaction's first byte is, header included if the transaction wrote it.
    pub offset: u64,
    /// How many bytes lie between its first and its last one.
    pub len_bytes: u64,
    /// Whether all of them, and the WAL's name, would have survived a power loss then. With `synchronous=FULL` they must; with NORMAL they
    /// need not.
    pub is_durable: bool,
}

/// What the wal-index says of the WAL (sqlite.org/walformat.html, "WAL-Index Header"): it changes when a transaction becomes visible to others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WalHeader {
    /// The last frame of the last committed transaction; 0 for none.
    pub(super) frame_last: u32,
    pub(super) page_bytes: u32,
    /// Another one each time the WAL starts over.
    pub(super) salt: u64,
}

/// The headers of the WAL file and of a frame.
const FILE_HEADER_BYTES: u64 = 32;
const FRAME_HEADER_BYTES: u64 = 24;

impl WalHeader {
    fn end(&self) -> u64 {
        FILE_HEADER_BYTES + u64::from(self.frame_last) * (FRAME_HEADER_BYTES + u64::from(self.page_bytes))
    }
}

/// What a process has written to a WAL under the write lock.
#[derive(Default)]
pub(super) struct WalProgress {
    /// 0, which no file has, until something is written.
    wal: u64,
    start: u64,
    before: WalHeader,
    is_writing: bool,
}

impl WalProgress {
    /// The write lock was taken.
    pub(super) fn begin(&mut self, before: WalHeader) {
        *self = WalProgress { wal: 0, start: u64::MAX, before, is_writing: true };
    }

    /// Bytes were written to the WAL.
    #[inline]
    pub(super) fn wrote(&mut self, wal: InodeId, offset: u64) {
        if self.is_writing {
            self.wal = wal.0;
            self.start = self.start.min(offset);
        }
    }

    /// The write lock is released: what was committed under it, if anything was. A transaction that was rolled back, or failed, has left
    /// the wal-index as it was, or has made it say that the WAL is empty.
    pub(super) fn end(&mut self, now: WalHeader, disk: &Disk) -> Option<CommitDurability> {
        let WalProgress { wal, start, before, .. } = std::mem::take(self);
        let wal = InodeId(wal);
        if wal.0 == 0 || now.frame_last == 0 || now == before || now.end() <= start {
            return None;
        }
        let (offset, len_bytes) = (start, now.end() - start);
        let is_durable = disk.is_range_durable(wal, offset, len_bytes) && disk.has_durable_name(wal);
        Some(CommitDurability { number: 0, wal, offset, len_bytes, is_durable })
    }
}

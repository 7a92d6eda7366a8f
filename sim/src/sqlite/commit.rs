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

/// A frame's header: the size of the database follows the page number, and is not zero in the last frame of a transaction.
const FRAME_HEADER_BYTES: usize = 24;

/// What a process has written to a WAL under the write lock.
#[derive(Default)]
pub(super) struct WalProgress {
    /// 0, which no file has, until something is written.
    wal: u64,
    start: u64,
    end: u64,
    has_commit_frame: bool,
    is_writing: bool,
}

impl WalProgress {
    /// The write lock was taken.
    pub(super) fn begin(&mut self) {
        *self = WalProgress { start: u64::MAX, is_writing: true, ..WalProgress::default() };
    }

    /// Of these bytes, so many were written to the WAL. The rest of a short write comes in a call of its own.
    #[inline]
    pub(super) fn wrote(&mut self, wal: InodeId, offset: u64, bytes: &[u8], written: usize) {
        if !self.is_writing {
            return;
        }
        self.wal = wal.0;
        self.start = self.start.min(offset);
        self.end = self.end.max(offset + written as u64);
        if bytes.len() == FRAME_HEADER_BYTES && bytes[4..8] != [0; 4] {
            self.has_commit_frame = true;
        }
    }

    /// The write lock is released: what was committed under it, if anything was. A transaction that was rolled back left no commit frame.
    pub(super) fn end(&mut self, disk: &Disk) -> Option<CommitDurability> {
        let WalProgress { wal, start, end, has_commit_frame, .. } = std::mem::take(self);
        let wal = InodeId(wal);
        let is_durable = || disk.is_range_durable(wal, start, end - start) && disk.has_durable_name(wal);
        has_commit_frame.then(|| CommitDurability {
            number: 0,
            wal,
            offset: start,
            len_bytes: end - start,
            is_durable: is_durable(),
        })
    }
}

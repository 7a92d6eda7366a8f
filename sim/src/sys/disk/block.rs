//! The content of one file in one image: 4,096-byte blocks, shared until written. What is pending lives in `pending`.

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::LazyLock;
use twox_hash::XxHash3_128;

use super::digest::Digest;

/// The size of a block, and of a page of the page cache.
pub(super) const BLOCK_BYTES: usize = 4096;

/// The unit that a device writes whole: a torn write keeps or loses each sector as one.
pub const SECTOR_BYTES: u64 = 512;

/// A block, with the digest of its bytes once someone asked for it. Images share blocks, so they share digests.
#[derive(Clone)]
pub(super) struct Block {
    bytes: [u8; BLOCK_BYTES],
    digest: OnceCell<Digest>,
}

impl Block {
    fn digest(&self) -> Digest {
        *self.digest.get_or_init(|| XxHash3_128::oneshot(&self.bytes).to_le_bytes())
    }
}

thread_local! {
    /// A block of zeros. No file keeps it: whoever writes takes a copy.
    static ZERO: Rc<Block> = Rc::new(Block { bytes: [0; BLOCK_BYTES], digest: OnceCell::new() });
}

/// The digest of a block of zeros, which is what an absent block reads as.
static ZERO_DIGEST: LazyLock<Digest> = LazyLock::new(|| XxHash3_128::oneshot(&[0; BLOCK_BYTES]).to_le_bytes());

/// A file's bytes. Absent blocks read as zeros. All bytes of present blocks past the length are zero.
#[derive(Clone, Default)]
pub(super) struct Content {
    len: u64,
    blocks: Vec<Option<Rc<Block>>>,
    present: u64,
    /// The digest of length and bytes, once someone asked for it.
    digest: OnceCell<Digest>,
}

/// The block that a byte is in, and its place there.
#[inline]
fn split(offset: u64) -> (usize, usize) {
    ((offset / BLOCK_BYTES as u64) as usize, (offset % BLOCK_BYTES as u64) as usize)
}

impl Content {
    /// The length in bytes.
    #[inline]
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// How many blocks take up space.
    pub(super) fn present(&self) -> u64 {
        self.present
    }

    /// Copies from `offset` into `into`; returns how many bytes there were before the end.
    #[inline]
    pub(super) fn read(&self, offset: u64, into: &mut [u8]) -> usize {
        let wanted = self.available(offset, into.len());
        let mut done = 0;
        self.pieces(offset, wanted, |len, bytes| {
            let target = &mut into[done..done + len];
            match bytes {
                Some(bytes) => target.copy_from_slice(bytes),
                None => target.fill(0),
            }
            done += len;
        });
        wanted
    }

    /// Appends what is at `offset` to `onto`, at most so many bytes; returns how many there were before the end.
    pub(super) fn read_onto(&self, offset: u64, bytes_max: usize, onto: &mut Vec<u8>) -> usize {
        let wanted = self.available(offset, bytes_max);
        onto.reserve(wanted);
        self.pieces(offset, wanted, |len, bytes| match bytes {
            Some(bytes) => onto.extend_from_slice(bytes),
            None => onto.resize(onto.len() + len, 0),
        });
        wanted
    }

    /// How many bytes there are from `offset` to the end, at most so many.
    #[inline(always)]
    fn available(&self, offset: u64, bytes_max: usize) -> usize {
        (bytes_max as u64).min(self.len.saturating_sub(offset)) as usize
    }

    /// Shows what is at `offset` block by block: how long each piece is, and its bytes; none in a hole.
    #[inline(always)]
    fn pieces(&self, offset: u64, wanted: usize, mut show: impl FnMut(usize, Option<&[u8]>)) {
        let (mut index, mut within) = split(offset);
        let mut left = wanted;
        while left > 0 {
            let len = (BLOCK_BYTES - within).min(left);
            let block = self.blocks.get(index).and_then(Option::as_ref);
            show(len, block.map(|block| &block.bytes[within..within + len]));
            left -= len;
            index += 1;
            within = 0;
        }
    }

    /// Writes all of `bytes` at `offset`, growing the file if it must.
    #[inline]
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.digest.take();
        let end = offset + bytes.len() as u64;
        let blocks_needed = end.div_ceil(BLOCK_BYTES as u64) as usize;
        if self.blocks.len() < blocks_needed {
            self.blocks.resize(blocks_needed, None);
        }
        let (mut index, mut within) = split(offset);
        let mut done = 0;
        while done < bytes.len() {
            let piece = (BLOCK_BYTES - within).min(bytes.len() - done);
            self.write_piece(index, within, &bytes[done..done + piece]);
            done += piece;
            index += 1;
            within = 0;
        }
        self.len = self.len.max(end);
    }

    #[inline]
    fn write_piece(&mut self, index: usize, within: usize, piece: &[u8]) {
        let slot = &mut self.blocks[index];
        self.present += u64::from(slot.is_none());
        // A fresh block is a copy of zeros that are there already, made only where a piece leaves some of them.
        let shared = slot.get_or_insert_with(|| ZERO.with(Rc::clone));
        if let Ok(whole) = <&[u8; BLOCK_BYTES]>::try_from(piece)
            && Rc::strong_count(shared) > 1
        {
            // A whole block is replaced: the old bytes need no copy.
            *shared = Rc::new(Block { bytes: *whole, digest: OnceCell::new() });
            return;
        }
        let block = Rc::make_mut(shared);
        block.digest.take();
        block.bytes[within..within + piece.len()].copy_from_slice(piece);
    }

    /// Cuts or grows to `len`; what is gained reads as zeros.
    pub(super) fn set_len(&mut self, len: u64) {
        if len == self.len {
            return;
        }
        self.digest.take();
        if len < self.len {
            let blocks_kept = len.div_ceil(BLOCK_BYTES as u64) as usize;
            if blocks_kept < self.blocks.len() {
                self.present -= self.blocks[blocks_kept..].iter().flatten().count() as u64;
                self.blocks.truncate(blocks_kept);
            }
            let (index, within) = split(len);
            if within > 0
                && let Some(Some(shared)) = self.blocks.get_mut(index)
            {
                let block = Rc::make_mut(shared);
                block.digest.take();
                block.bytes[within..].fill(0);
            }
        }
        self.len = len;
    }

    /// Grows to `len` if it is shorter.
    pub(super) fn extend_to(&mut self, len: u64) {
        self.set_len(self.len.max(len));
    }

    /// Takes over the bytes `offset..end` of `from`, whose other bytes may come along; the length stays. `from` must have `end` bytes or the range
    /// is cut there.
    ///
    /// Blocks become shared, but for parts of blocks that nobody shares yet: if the rest is written next, sharing would cost a copy of it all.
    pub(super) fn share_range(&mut self, from: &Content, offset: u64, end: u64) {
        self.digest.take();
        let last = (end.div_ceil(BLOCK_BYTES as u64) as usize).min(from.blocks.len());
        let (first, first_within) = split(offset);
        if self.blocks.len() < last {
            self.blocks.resize(last, None);
        }
        for index in first..last {
            let begin = if index == first { first_within } else { 0 };
            let until = (end - (index * BLOCK_BYTES) as u64).min(BLOCK_BYTES as u64) as usize;
            if until - begin < BLOCK_BYTES
                && let Some(mine) = self.blocks[index].as_mut().and_then(Rc::get_mut)
                && let Some(theirs) = &from.blocks[index]
            {
                mine.bytes[begin..until].copy_from_slice(&theirs.bytes[begin..until]);
                mine.digest.take();
                continue;
            }
            let new = from.blocks[index].clone();
            self.present += u64::from(new.is_some());
            self.present -= u64::from(self.blocks[index].is_some());
            self.blocks[index] = new;
        }
    }

    /// True if both hold the same bytes in `offset..end`, where what is past an end counts as zeros.
    pub(super) fn is_same_in(&self, other: &Content, offset: u64, end: u64) -> bool {
        let mut at = offset;
        while at < end {
            let (index, within) = split(at);
            let piece = ((BLOCK_BYTES - within) as u64).min(end - at) as usize;
            let mine = self.blocks.get(index).and_then(Option::as_ref);
            let theirs = other.blocks.get(index).and_then(Option::as_ref);
            let same = match (mine, theirs) {
                (None, None) => true,
                (Some(one), None) | (None, Some(one)) => {
                    one.bytes[within..within + piece].iter().all(|&byte| byte == 0)
                }
                (Some(one), Some(two)) => {
                    Rc::ptr_eq(one, two) || one.bytes[within..within + piece] == two.bytes[within..within + piece]
                }
            };
            if !same {
                return false;
            }
            at += piece as u64;
        }
        true
    }

    /// True if the bytes at `offset` are `bytes`, where what is past the end counts as zeros.
    pub(super) fn holds(&self, offset: u64, bytes: &[u8]) -> bool {
        let mut at = 0;
        while at < bytes.len() {
            let (index, within) = split(offset + at as u64);
            let piece = (BLOCK_BYTES - within).min(bytes.len() - at);
            let expected = &bytes[at..at + piece];
            let same = match self.blocks.get(index).and_then(Option::as_ref) {
                None => expected.iter().all(|&byte| byte == 0),
                Some(block) => &block.bytes[within..within + piece] == expected,
            };
            if !same {
                return false;
            }
            at += piece;
        }
        true
    }

    /// Of `len` bytes to be written at `offset`, how many fit if `blocks_free` blocks may be added.
    pub(super) fn fitting(&self, offset: u64, len: usize, mut blocks_free: u64) -> usize {
        let mut done = 0;
        while done < len {
            let (index, within) = split(offset + done as u64);
            if self.blocks.get(index).is_none_or(Option::is_none) {
                if blocks_free == 0 {
                    return done;
                }
                blocks_free -= 1;
            }
            done += (BLOCK_BYTES - within).min(len - done);
        }
        len
    }

    /// Flips one bit of the byte at `offset`. False if the file is shorter.
    pub(super) fn flip(&mut self, offset: u64, bit: u8) -> bool {
        let mut byte = [0];
        if self.read(offset, &mut byte) == 0 {
            return false;
        }
        self.write(offset, &[byte[0] ^ (1 << (bit % 8))]);
        true
    }

    /// All bytes.
    pub(super) fn to_vec(&self) -> Vec<u8> {
        let mut all = vec![0; self.len as usize];
        self.read(0, &mut all);
        all
    }

    /// True if it has no byte but zeros.
    pub(super) fn is_zero(&self) -> bool {
        self.blocks.iter().flatten().all(|block| block.bytes.iter().all(|&byte| byte == 0))
    }

    /// The digest of the length and the bytes, by way of the digests of the blocks.
    pub(super) fn digest(&self) -> Digest {
        *self.digest.get_or_init(|| {
            let count = self.len.div_ceil(BLOCK_BYTES as u64) as usize;
            let mut digests = XxHash3_128::new();
            digests.write(&self.len.to_le_bytes());
            for index in 0..count {
                match self.blocks.get(index) {
                    Some(Some(block)) => digests.write(&block.digest()),
                    _ => digests.write(&*ZERO_DIGEST),
                }
            }
            digests.finish_128().to_le_bytes()
        })
    }
}

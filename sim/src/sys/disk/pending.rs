//! Operations that are not durable: those on one file's data, and those on names, with what each requires. How they
//! become durable is in `commit`, which of them a crash keeps in `crash`.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::block::Content;
use super::types::InodeId;

/// A name in a directory.
pub(super) type Name = (InodeId, Rc<str>);

/// One operation on a file's data or size.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataItem {
    pub(super) sequence: u64,
    pub(super) change: DataChange,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum DataChange {
    /// Bytes `start..start + len` of the log's arena were written at `offset`.
    Write { offset: u64, start: usize, len: usize, extends: bool },
    /// The size was set, up or down.
    SetLen { len: u64 },
}

/// What was done to one file and is not durable, in order. The written bytes stand in one arena, so that a write costs no
/// allocation once the arena has grown.
#[derive(Clone, Default)]
pub(super) struct DataLog {
    items: Vec<DataItem>,
    bytes: Vec<u8>,
}

/// An arena above this size is given back when it empties.
const ARENA_KEPT_BYTES: usize = 1 << 20;

impl DataLog {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(super) fn items(&self) -> &[DataItem] {
        &self.items
    }

    /// The bytes held for writes.
    pub(super) fn held_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The bytes that a write wrote; none for a change of size.
    pub(super) fn bytes_of(&self, item: &DataItem) -> &[u8] {
        match item.change {
            DataChange::Write { start, len, .. } => &self.bytes[start..start + len],
            DataChange::SetLen { .. } => &[],
        }
    }

    #[inline]
    pub(super) fn push_write(&mut self, sequence: u64, offset: u64, bytes: &[u8], extends: bool) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.items.push(DataItem { sequence, change: DataChange::Write { offset, start, len: bytes.len(), extends } });
    }

    pub(super) fn push_set_len(&mut self, sequence: u64, len: u64) {
        self.items.push(DataItem { sequence, change: DataChange::SetLen { len } });
    }

    pub(super) fn clear(&mut self) {
        self.items.clear();
        self.bytes.clear();
        if self.bytes.capacity() > ARENA_KEPT_BYTES {
            self.bytes = Vec::new();
        }
    }

    /// Applies all items to `content`.
    pub(super) fn apply_all(&self, content: &mut Content) {
        for item in &self.items {
            match item.change {
                DataChange::Write { offset, .. } => content.write(offset, self.bytes_of(item)),
                DataChange::SetLen { len } => content.set_len(len),
            }
        }
    }

    /// Flips one bit of the byte at `offset` in every write of it.
    pub(super) fn flip(&mut self, at: u64, bit: u8) {
        for item in &self.items {
            if let DataChange::Write { offset, start, len, .. } = item.change
                && (offset..offset + len as u64).contains(&at)
            {
                self.bytes[start + (at - offset) as usize] ^= 1 << (bit % 8);
            }
        }
    }

    /// Takes out the items up to `sequence`, in order.
    pub(super) fn split_through(&mut self, sequence: u64) -> DataLog {
        let count = self.items.partition_point(|item| item.sequence <= sequence);
        if count == self.items.len() {
            return std::mem::take(self);
        }
        let mut taken = DataLog::default();
        let mut left = DataLog::default();
        for (index, item) in self.items.iter().enumerate() {
            let into = if index < count { &mut taken } else { &mut left };
            into.push_copy(item, self.bytes_of(item));
        }
        *self = left;
        taken
    }

    /// Cuts what was done before the size change `sequence` down to its `len`, and takes the size change out: it is
    /// durable now, and what it cut off can no longer come back.
    pub(super) fn cut_before(&mut self, sequence: u64, cut: u64) {
        let mut left = DataLog::default();
        for item in &self.items {
            let bytes = self.bytes_of(item);
            match item.change {
                _ if item.sequence > sequence => left.push_copy(item, bytes),
                DataChange::Write { offset, len, .. } if offset < cut => {
                    let kept = (len as u64).min(cut - offset) as usize;
                    left.push_write(item.sequence, offset, &bytes[..kept], false);
                }
                _ => {}
            }
        }
        *self = left;
    }

    fn push_copy(&mut self, item: &DataItem, bytes: &[u8]) {
        match item.change {
            DataChange::Write { offset, extends, .. } => self.push_write(item.sequence, offset, bytes, extends),
            DataChange::SetLen { len } => self.push_set_len(item.sequence, len),
        }
    }
}

/// One operation on names.
#[derive(Clone, Debug)]
pub(super) struct NameOperation {
    pub(super) change: NameChange,
    /// Operations that must be kept if this one is: the previous ones on its names, and for a rename the ones that gave
    /// the directories their place into which it moves. Those that are durable by now count as kept.
    pub(super) requires: Vec<u64>,
}

#[derive(Clone, Debug)]
pub(super) enum NameChange {
    /// A file or directory was created, or a further link was made.
    Link { name: Name, inode: InodeId },
    /// unlink or rmdir.
    Unlink { name: Name, inode: InodeId },
    /// rename; `over` is what the new name stood for before.
    Rename { from: Name, to: Name, inode: InodeId, over: Option<InodeId> },
}

impl NameChange {
    /// The names that it changes.
    pub(super) fn names(&self) -> (&Name, Option<&Name>) {
        match self {
            NameChange::Link { name, .. } | NameChange::Unlink { name, .. } => (name, None),
            NameChange::Rename { from, to, .. } => (from, Some(to)),
        }
    }

    /// Whether it puts a name in the place of another file.
    pub(super) fn replaces(&self) -> bool {
        matches!(self, NameChange::Rename { over: Some(_), .. })
    }

    /// The inode that it names or no longer names.
    pub(super) fn inode(&self) -> InodeId {
        match self {
            NameChange::Link { inode, .. } | NameChange::Unlink { inode, .. } | NameChange::Rename { inode, .. } => {
                *inode
            }
        }
    }
}

/// What is kept in one global order.
#[derive(Clone, Debug)]
pub(super) enum Ordered {
    /// An operation on names.
    Name(NameOperation),
    /// Under `ext4`, a size change: it goes through the journal as names do. Its data is in the file's log.
    SetLen(InodeId),
}

/// The operations on names that are not durable, over the whole disk.
#[derive(Clone, Default)]
pub(super) struct NameLog {
    pub(super) ordered: BTreeMap<u64, Ordered>,
    /// The last pending operation on each name.
    last_on: BTreeMap<Name, u64>,
}

impl NameLog {
    /// Adds an operation; `also` are required besides the previous ones on its names.
    pub(super) fn push(&mut self, sequence: u64, change: NameChange, also: Vec<u64>) {
        let mut requires = also;
        let (first, second) = change.names();
        for name in std::iter::once(first).chain(second) {
            requires.extend(self.last_on.insert(name.clone(), sequence));
        }
        requires.retain(|required| *required != sequence);
        self.ordered.insert(sequence, Ordered::Name(NameOperation { change, requires }));
    }

    /// Takes an operation out.
    pub(super) fn remove(&mut self, sequence: u64) -> Option<Ordered> {
        let taken = self.ordered.remove(&sequence);
        if let Some(Ordered::Name(operation)) = &taken {
            let (first, second) = operation.change.names();
            for name in std::iter::once(first).chain(second) {
                if self.last_on.get(name) == Some(&sequence) {
                    self.last_on.remove(name);
                }
            }
        }
        taken
    }

    /// True if an operation on this name is pending.
    pub(super) fn is_pending(&self, name: &Name) -> bool {
        self.last_on.contains_key(name)
    }

    /// `roots` and all that they require, directly or not, as far as pending.
    pub(super) fn closure(&self, roots: impl IntoIterator<Item = u64>) -> std::collections::BTreeSet<u64> {
        let mut closed = std::collections::BTreeSet::new();
        let mut open: Vec<u64> = roots.into_iter().collect();
        while let Some(sequence) = open.pop() {
            if let Some(ordered) = self.ordered.get(&sequence)
                && closed.insert(sequence)
                && let Ordered::Name(operation) = ordered
            {
                open.extend(operation.requires.iter().copied());
            }
        }
        closed
    }
}

//! The disk itself: its parts, how it is made, and the small steps that its calls share. The calls are in the other files.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::LazyLock;

use super::block::BLOCK_BYTES;
use super::descriptor::Descriptors;
use super::digest::Digest;
use super::flock::FlockTable;
use super::inode::{DirectoryNode, Inode, Node};
use super::pending::{NameChange, NameLog, Ordered};
use super::range_lock::RangeLockTable;
use super::types::{DiskOptions, InodeId, Persistence};
use crate::errno::Errno;

/// The root directory's inode.
pub(super) const ROOT: InodeId = InodeId(1);

/// The simulated storage of one machine: files, directories, open descriptions and file locks, with two images: what
/// processes see, and what is durable.
///
/// A pure, synchronous data structure: equal calls on equal disks give equal results on any machine. A call costs what it
/// touches, never what the run did before. It is not `Send`: a run has one thread.
pub struct Disk {
    pub(super) persistence: Persistence,
    pub(super) options: DiskOptions,
    pub(super) inodes: BTreeMap<InodeId, Rc<Inode>>,
    /// The operations on names that are not durable.
    pub(super) names: Rc<NameLog>,
    /// Files whose log is not empty.
    pub(super) dirty: BTreeSet<InodeId>,
    /// Files whose visible image is not their durable one with the log applied.
    pub(super) diverged: BTreeSet<InodeId>,
    pub(super) descriptors: Descriptors,
    pub(super) flocks: FlockTable,
    pub(super) range_locks: RangeLockTable,
    /// Inodes on which a lock was released since someone asked.
    pub(super) released: Vec<InodeId>,
    pub(super) next_inode: u64,
    pub(super) next_sequence: u64,
    pub(super) now_ns: u64,
    /// Blocks that the visible files take up.
    pub(super) blocks_used: u64,
    /// Bytes and operations that are not durable, against the dirty limit.
    pub(super) dirty_bytes: u64,
    pub(super) pending_count: u32,
    pub(super) durable_version: u64,
    pub(super) durable_digest: Cell<Option<(u64, Digest)>>,
}

/// The durable digest of an empty disk: many short runs leave it empty.
static EMPTY: LazyLock<Digest> =
    LazyLock::new(|| Disk::of_digest(Persistence::Posix, DiskOptions::default(), None).durable_digest());

thread_local! {
    /// The root directory of every empty disk, and that no operation on names is under way there: whoever changes them takes copies.
    static EMPTY_ROOT: Rc<Inode> = {
        let mut root = Inode::new(Node::Directory(DirectoryNode::default()), ROOT, 0);
        root.links = 1;
        root.durable_links = 1;
        Rc::new(root)
    };
    static NONE: Rc<NameLog> = Rc::default();
}

impl Disk {
    /// An empty disk: the root directory `/` exists and is durable.
    pub fn new(persistence: Persistence, options: DiskOptions) -> Disk {
        Disk::of_digest(persistence, options, Some((0, *EMPTY)))
    }

    /// Makes a disk an empty one, whatever it was before.
    pub(crate) fn begin_again(&mut self, persistence: Persistence, options: DiskOptions) {
        if self.is_untouched() {
            self.persistence = persistence;
            self.options = options;
            self.now_ns = 0;
        } else {
            *self = Disk::new(persistence, options);
        }
    }

    /// Whether nothing has ever been done to it: many short runs leave it so.
    fn is_untouched(&self) -> bool {
        // Each by its name, so that none can be forgotten.
        let Disk {
            persistence: _,
            options: _,
            inodes,
            names,
            dirty,
            diverged,
            descriptors,
            flocks,
            range_locks,
            released,
            next_inode,
            next_sequence,
            now_ns: _,
            blocks_used,
            dirty_bytes,
            pending_count,
            durable_version,
            // That of this durable image.
            durable_digest: _,
        } = self;
        let has_made_none = *next_inode == ROOT.0 + 1 && *next_sequence == 1 && *durable_version == 0;
        let has_nothing = *blocks_used == 0 && *dirty_bytes == 0 && *pending_count == 0;
        let is_open_nowhere = descriptors.are_unused() && flocks.is_empty() && range_locks.is_empty();
        let is_root_alone = || {
            let root = inodes.get(&ROOT).filter(|_| inodes.len() == 1);
            root.is_some_and(|root| EMPTY_ROOT.with(|empty| Rc::ptr_eq(root, empty)))
        };
        has_made_none
            && has_nothing
            && is_open_nowhere
            && dirty.is_empty()
            && diverged.is_empty()
            && released.is_empty()
            && is_root_alone()
            && NONE.with(|none| Rc::ptr_eq(names, none))
    }

    /// An empty disk, with what is known of its durable digest.
    fn of_digest(persistence: Persistence, options: DiskOptions, durable_digest: Option<(u64, Digest)>) -> Disk {
        let mut inodes = BTreeMap::new();
        inodes.insert(ROOT, EMPTY_ROOT.with(Rc::clone));
        Disk {
            persistence,
            options,
            inodes,
            names: NONE.with(Rc::clone),
            dirty: BTreeSet::new(),
            diverged: BTreeSet::new(),
            descriptors: Descriptors::default(),
            flocks: FlockTable::default(),
            range_locks: RangeLockTable::default(),
            released: Vec::new(),
            next_inode: ROOT.0 + 1,
            next_sequence: 1,
            now_ns: 0,
            blocks_used: 0,
            dirty_bytes: 0,
            pending_count: 0,
            durable_version: 0,
            durable_digest: Cell::new(durable_digest),
        }
    }

    /// The profile that it was made with.
    pub fn persistence(&self) -> Persistence {
        self.persistence
    }

    /// Sets the time, in nanoseconds, that later changes give to files as their time of modification.
    pub fn set_now_ns(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    /// The space that the files processes see take up, in bytes, counted in whole blocks. Files without a name count while
    /// they are open.
    pub fn used_bytes(&self) -> u64 {
        self.blocks_used * BLOCK_BYTES as u64
    }

    /// How many times the durable image has changed so far. Equal numbers mean that nothing became durable in between.
    pub fn durable_version(&self) -> u64 {
        self.durable_version
    }

    /// Blocks that may still be taken; without a limit, more than anyone asks for.
    pub(super) fn blocks_free(&self) -> u64 {
        match self.options.capacity_bytes {
            None => u64::MAX,
            Some(capacity) => (capacity / BLOCK_BYTES as u64).saturating_sub(self.blocks_used),
        }
    }

    /// The inode, or EBADF for one that is gone (which no descriptor or name can lead to).
    #[inline]
    pub(super) fn inode(&self, id: InodeId) -> Result<&Inode, Errno> {
        self.inodes.get(&id).map(Rc::as_ref).ok_or(Errno::BadDescriptor)
    }

    /// The inode to change; its own copy if a crash image shares it.
    #[inline]
    pub(super) fn inode_mut(&mut self, id: InodeId) -> Result<&mut Inode, Errno> {
        self.inodes.get_mut(&id).map(Rc::make_mut).ok_or(Errno::BadDescriptor)
    }

    #[inline]
    pub(super) fn take_sequence(&mut self) -> u64 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        sequence
    }

    /// Puts a new inode without a name into the table.
    pub(super) fn add_inode(&mut self, node: Node, parent: InodeId) -> InodeId {
        let id = InodeId(self.next_inode);
        self.next_inode += 1;
        self.inodes.insert(id, Rc::new(Inode::new(node, parent, self.now_ns)));
        id
    }

    /// Records an operation on names as pending; the visible image is changed by the caller.
    pub(super) fn push_name(&mut self, change: NameChange, also: Vec<u64>) -> Result<(), Errno> {
        let sequence = self.take_sequence();
        let inode = self.inode_mut(change.inode())?;
        inode.naming = sequence;
        if !matches!(change, NameChange::Unlink { .. }) {
            inode.pending_names += 1;
        }
        let (first, second) = change.names();
        let directories = [Some(first.0), second.map(|name| name.0)];
        for directory in directories.into_iter().flatten() {
            let now_ns = self.now_ns;
            let inode = self.inode_mut(directory)?;
            inode.modified_ns = now_ns;
            inode.directory_mut()?.pending.insert(sequence);
        }
        Rc::make_mut(&mut self.names).push(sequence, change, also);
        self.pending_count += 1;
        Ok(())
    }

    /// Takes one global item out of the log, where it was kept or dropped.
    pub(super) fn take_ordered(&mut self, sequence: u64) -> Option<Ordered> {
        let taken = Rc::make_mut(&mut self.names).remove(sequence)?;
        if let Ordered::Name(operation) = &taken {
            self.pending_count -= 1;
            let (first, second) = operation.change.names();
            for directory in [Some(first.0), second.map(|name| name.0)].into_iter().flatten() {
                if let Some(inode) = self.inodes.get_mut(&directory)
                    && let Node::Directory(node) = &mut Rc::make_mut(inode).node
                {
                    node.pending.remove(&sequence);
                }
            }
        }
        Some(taken)
    }

    /// Lets go of what an inode no longer needs, after its last name or descriptor may have gone.
    pub(super) fn release_if_unused(&mut self, id: InodeId) {
        let is_open = self.descriptors.is_open(id);
        let Some(shared) = self.inodes.get_mut(&id) else { return };
        if shared.links > 0 {
            return;
        }
        if !shared.may_have_name_after_crash() {
            // No crash can bring it back: what is pending on it concerns nobody.
            if is_open {
                self.drop_log(id);
                return;
            }
            self.drop_log(id);
            if let Some(inode) = self.inodes.remove(&id)
                && let Node::File(file) = &inode.node
            {
                self.blocks_used -= file.visible.present();
            }
            self.diverged.remove(&id);
            return;
        }
        if is_open {
            return;
        }
        // Only a crash can bring it back, and a crash looks at the durable image and at the log.
        if let Node::File(file) = &mut Rc::make_mut(shared).node {
            self.blocks_used -= file.visible.present();
            file.visible = super::block::Content::default();
            file.is_diverged = true;
            self.diverged.insert(id);
        }
    }

    /// Forgets what is pending on a file's data.
    pub(super) fn drop_log(&mut self, id: InodeId) {
        let Some(shared) = self.inodes.get_mut(&id) else { return };
        let Node::File(file) = &mut Rc::make_mut(shared).node else { return };
        if file.log.is_empty() {
            return;
        }
        self.dirty_bytes -= file.log.held_bytes();
        self.pending_count -= file.log.items().len() as u32;
        self.dirty.remove(&id);
        let dropped = std::mem::take(&mut file.log);
        self.forget_set_lens(&dropped);
    }
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let files: Vec<_> = self.files().map(|(path, inode, len)| (path, inode.0, len)).collect();
        out.debug_struct("Disk")
            .field("persistence", &self.persistence)
            .field("files", &files)
            .field("pending", &self.pending_count)
            .finish_non_exhaustive()
    }
}

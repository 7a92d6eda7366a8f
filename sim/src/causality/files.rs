//! Influence by way of files: their contents, names and locks, and SQLite's shared memory. Which incarnation is where, and messages, are in `influence`.

use super::clock::{Latest, Line};
use super::names::Names;
use crate::errno::Errno;
use crate::sqlite::SharedLockCall;
use crate::sys::disk::LockMode;
use crate::trace::CallKind;
use std::collections::{BTreeMap, BTreeSet};

/// A call that took effect, as its event has it.
pub(super) struct Called<'a> {
    pub(super) kind: CallKind,
    pub(super) object: u64,
    pub(super) arguments: [u64; 2],
    pub(super) result: Result<u64, Errno>,
    pub(super) data: &'a [u8],
}

/// A lock of a file: which of its locks, and the slot of a wal-index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LockOf {
    Flock,
    Range,
    Database,
    Shared(usize),
}

/// Releases of a lock.
#[derive(Default)]
struct Releases {
    all: Latest,
    /// Those of who held it exclusively.
    exclusive: Latest,
}

/// What is remembered of an inode.
#[derive(Default)]
struct Inode {
    names: u32,
    /// Descriptors and mappings.
    users: u32,
    writes: Latest,
    locks: BTreeMap<LockOf, Releases>,
    /// Releases of exclusive locks of a wal-index, whichever.
    published: Latest,
}

/// What an incarnation holds.
#[derive(Default)]
struct Holdings {
    open: BTreeMap<u64, u32>,
    mapped: BTreeSet<u64>,
    /// Locks, and whether exclusively.
    locks: BTreeMap<(u64, LockOf), bool>,
}

/// Files as far as events have told of them. An inode is forgotten with its last name and user: its number is never used again.
#[derive(Default)]
pub(super) struct Files {
    inodes: BTreeMap<u64, Inode>,
    names: Names,
    /// By line.
    holdings: BTreeMap<u32, Holdings>,
}

/// Bits of an `open` call's first argument.
const CREATES: u64 = 1 << 2;
const TRUNCATES: u64 = 1 << 3;

/// SQLite's lock levels: from RESERVED on one holder.
const DATABASE_RESERVED: u64 = 2;
const DATABASE_NONE: u64 = 0;

impl Files {
    /// How much is remembered.
    pub(super) fn len(&self) -> usize {
        self.inodes.len() + self.names.len()
    }

    /// A call of a line takes effect.
    pub(super) fn called(&mut self, line: &mut Line, call: &Called<'_>) {
        let &Called { kind, object, arguments, result, data } = call;
        let succeeded = result.is_ok();
        match kind {
            CallKind::Open => self.opened(line, call),
            CallKind::Close if succeeded => self.closed(line, object),
            CallKind::Read | CallKind::ReadAt if succeeded => self.read(line, object),
            CallKind::Write | CallKind::WriteAt | CallKind::SetLength if succeeded => self.wrote(line, object),
            CallKind::Stat => {
                self.look(line, data);
                if succeeded {
                    self.read(line, object);
                }
            }
            CallKind::Access => {
                self.look(line, data);
                if let Some(inode) = self.names.inode(data) {
                    self.read(line, inode);
                }
            }
            CallKind::Rename => self.renamed(line, data, succeeded),
            CallKind::Link => self.linked(line, data, succeeded),
            CallKind::Unlink => {
                self.look(line, data);
                if succeeded {
                    self.unlinked(line, data);
                }
            }
            CallKind::MakeDirectory => {
                self.look(line, data);
                if succeeded {
                    self.names.put(data, None, line.past());
                }
            }
            CallKind::RemoveDirectory => {
                self.names.list(data, line);
                if succeeded {
                    let inode = self.names.inode(data);
                    self.names.remove_directory(data, line.past());
                    self.less_names(inode);
                }
            }
            CallKind::ReadDirectory => self.names.list(data, line),
            CallKind::Lock if succeeded => {
                self.acquired(line, object, LockOf::Flock, arguments[0] == LockMode::Exclusive as u64);
            }
            CallKind::Unlock if succeeded => self.released(line, object, LockOf::Flock),
            // Its event doesn't say how it was locked.
            CallKind::RangeLock if succeeded => self.acquired(line, object, LockOf::Range, true),
            CallKind::RangeUnlock if succeeded => self.released(line, object, LockOf::Range),
            CallKind::DatabaseLock if succeeded => {
                self.acquired(line, object, LockOf::Database, arguments[0] >= DATABASE_RESERVED);
            }
            CallKind::DatabaseUnlock if succeeded => {
                self.released(line, object, LockOf::Database);
                if arguments[0] != DATABASE_NONE {
                    self.holdings(line).locks.insert((object, LockOf::Database), false);
                }
            }
            CallKind::MapShared if succeeded => self.mapped(line, object),
            CallKind::UnmapShared if succeeded => self.unmapped(line, object),
            CallKind::SharedLock if succeeded => self.shared_lock(line, object, SharedLockCall::of(arguments)),
            _ => {}
        }
    }

    /// A line has ended: what it held is released.
    pub(super) fn ended(&mut self, line: &mut Line) {
        let Some(holdings) = self.holdings.remove(&line.past().stamp().line) else { return };
        for ((inode, lock), was_exclusive) in holdings.locks {
            self.release(line, inode, lock, was_exclusive);
        }
        for (inode, count) in holdings.open {
            self.less_users(inode, count);
        }
        for inode in holdings.mapped {
            self.less_users(inode, 1);
        }
    }

    fn holdings(&mut self, line: &Line) -> &mut Holdings {
        self.holdings.entry(line.past().stamp().line).or_default()
    }

    fn look(&self, line: &mut Line, path: &[u8]) {
        // What is open is looked at without its name.
        if !path.is_empty() {
            self.names.look(path, line);
        }
    }

    fn read(&self, line: &mut Line, inode: u64) {
        if let Some(inode) = self.inodes.get(&inode) {
            inode.writes.join_into(line);
        }
    }

    fn wrote(&mut self, line: &Line, inode: u64) {
        self.inodes.entry(inode).or_default().writes.add(line.past());
    }

    fn opened(&mut self, line: &mut Line, call: &Called<'_>) {
        let &Called { object: inode, arguments: [flags, _], result, data: path, .. } = call;
        self.look(line, path);
        if result.is_err() {
            return;
        }
        let is_new = !self.names.is_there(path) && flags & CREATES != 0;
        let known = self.inodes.entry(inode).or_default();
        known.users += 1;
        let before = self.names.inode(path);
        if !path.is_empty() && before != Some(inode) {
            known.names += 1;
            self.less_names(before);
            if is_new {
                self.names.put(path, Some(inode), line.past());
            } else {
                self.names.learn(path, inode);
            }
        }
        *self.holdings(line).open.entry(inode).or_default() += 1;
        if flags & TRUNCATES != 0 {
            self.wrote(line, inode);
        }
    }

    fn closed(&mut self, line: &Line, inode: u64) {
        self.released(line, inode, LockOf::Flock);
        self.released(line, inode, LockOf::Range);
        let open = &mut self.holdings(line).open;
        let Some(count) = open.get_mut(&inode) else { return };
        *count -= 1;
        if *count == 0 {
            open.remove(&inode);
        }
        self.less_users(inode, 1);
    }

    fn less_users(&mut self, inode: u64, count: u32) {
        if let Some(known) = self.inodes.get_mut(&inode) {
            known.users = known.users.saturating_sub(count);
        }
        self.forget_unused(inode);
    }

    fn less_names(&mut self, inode: Option<u64>) {
        let Some(inode) = inode else { return };
        if let Some(known) = self.inodes.get_mut(&inode) {
            known.names = known.names.saturating_sub(1);
        }
        self.forget_unused(inode);
    }

    fn forget_unused(&mut self, inode: u64) {
        if self.inodes.get(&inode).is_some_and(|known| known.names == 0 && known.users == 0) {
            self.inodes.remove(&inode);
        }
    }

    /// The two paths of a call that names two.
    fn two(data: &[u8]) -> (&[u8], &[u8]) {
        let nul = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
        (&data[..nul], data.get(nul + 1..).unwrap_or_default())
    }

    fn renamed(&mut self, line: &mut Line, data: &[u8], succeeded: bool) {
        let (from, to) = Files::two(data);
        self.look(line, from);
        self.look(line, to);
        let (inode, before) = (self.names.inode(from), self.names.inode(to));
        // Two names of one file: rename(2) does nothing then.
        if !succeeded || from == to || inode.is_some() && inode == before {
            return;
        }
        self.names.remove(from, line.past());
        self.names.put(to, inode, line.past());
        self.less_names(before);
    }

    fn linked(&mut self, line: &mut Line, data: &[u8], succeeded: bool) {
        let (existing, new) = Files::two(data);
        self.look(line, existing);
        self.look(line, new);
        if !succeeded {
            return;
        }
        let inode = self.names.inode(existing);
        self.names.put(new, inode, line.past());
        if let Some(known) = inode.and_then(|inode| self.inodes.get_mut(&inode)) {
            known.names += 1;
        }
    }

    fn unlinked(&mut self, line: &Line, path: &[u8]) {
        let inode = self.names.inode(path);
        self.names.remove(path, line.past());
        self.less_names(inode);
    }

    fn mapped(&mut self, line: &Line, inode: u64) {
        if self.holdings(line).mapped.insert(inode) {
            self.inodes.entry(inode).or_default().users += 1;
        }
    }

    fn unmapped(&mut self, line: &Line, inode: u64) {
        for slot in 0..SharedLockCall::SLOTS {
            self.released(line, inode, LockOf::Shared(slot));
        }
        if self.holdings(line).mapped.remove(&inode) {
            self.less_users(inode, 1);
        }
    }

    fn shared_lock(&mut self, line: &mut Line, inode: u64, call: SharedLockCall) {
        if !call.releases
            && let Some(known) = self.inodes.get(&inode)
        {
            known.published.join_into(line);
        }
        for slot in (call.first..).take(call.count).map(LockOf::Shared) {
            if call.releases {
                self.released(line, inode, slot);
            } else {
                self.acquired(line, inode, slot, call.excludes);
            }
        }
    }

    fn acquired(&mut self, line: &mut Line, inode: u64, lock: LockOf, is_exclusive: bool) {
        if let Some(releases) = self.inodes.get(&inode).and_then(|known| known.locks.get(&lock)) {
            if is_exclusive { &releases.all } else { &releases.exclusive }.join_into(line);
        }
        let held = self.holdings(line).locks.entry((inode, lock)).or_default();
        *held |= is_exclusive;
    }

    fn released(&mut self, line: &Line, inode: u64, lock: LockOf) {
        if let Some(was_exclusive) = self.holdings(line).locks.remove(&(inode, lock)) {
            self.release(line, inode, lock, was_exclusive);
        }
    }

    fn release(&mut self, line: &Line, inode: u64, lock: LockOf, was_exclusive: bool) {
        let known = self.inodes.entry(inode).or_default();
        let releases = known.locks.entry(lock).or_default();
        releases.all.add(line.past());
        if was_exclusive {
            releases.exclusive.add(line.past());
            if matches!(lock, LockOf::Shared(_)) {
                known.published.add(line.past());
            }
        }
    }
}

//! Operations that a property test draws, done both to the disk and to the reference; the two must agree on what processes see.

use proptest::prelude::*;
use seedstorm_sim::errno::Errno;
use seedstorm_sim::sys::disk::{Disk, OpenFlags, Owner, Persistence};

use super::{Event, ROOT, Reference};

/// The paths that operations are drawn over: few, so that they meet.
pub(crate) const PATHS: [&str; 9] = ["/a", "/b", "/c", "/d", "/d/a", "/d/b", "/d/e", "/e", "/e/a"];

const OWNER: Owner = Owner(1);

/// One operation on a path of [`PATHS`], by index.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Create(usize),
    Truncate(usize),
    Write { path: usize, offset: u64, len: usize, byte: u8 },
    SetLen(usize, u64),
    Mkdir(usize),
    Rmdir(usize),
    Unlink(usize),
    Link(usize, usize),
    Rename(usize, usize),
    Sync(usize),
    SyncRoot,
    SyncWithEntry(usize),
    SyncFailed(usize),
    SyncLying(usize),
    Evict(usize),
}

/// Draws an operation. Writes begin and end on and off the borders of sectors and pages.
pub(crate) fn any_operation() -> impl Strategy<Value = Operation> {
    let path = || 0..PATHS.len();
    let file = || prop_oneof![6 => Just(0_usize), 3 => Just(1_usize), 2 => Just(4_usize), 1 => path()];
    let offset = || prop_oneof![Just(0), Just(100), Just(512), Just(700), Just(4000), Just(4096)];
    let len = prop_oneof![Just(1_usize), Just(100), Just(512), Just(700), Just(1024)];
    prop_oneof![
        4 => file().prop_map(Operation::Create),
        1 => file().prop_map(Operation::Truncate),
        8 => (file(), offset(), len, 1..=255_u8)
            .prop_map(|(path, offset, len, byte)| Operation::Write { path, offset, len, byte }),
        3 => (file(), offset()).prop_map(|(path, len)| Operation::SetLen(path, len)),
        2 => (3..PATHS.len()).prop_map(Operation::Mkdir),
        1 => path().prop_map(Operation::Rmdir),
        2 => file().prop_map(Operation::Unlink),
        1 => (file(), path()).prop_map(|(from, to)| Operation::Link(from, to)),
        4 => (path(), path()).prop_map(|(from, to)| Operation::Rename(from, to)),
        3 => file().prop_map(Operation::Sync),
        1 => path().prop_map(Operation::Sync),
        1 => Just(Operation::SyncRoot),
        1 => file().prop_map(Operation::SyncWithEntry),
        2 => file().prop_map(Operation::SyncFailed),
        1 => file().prop_map(Operation::SyncLying),
        2 => file().prop_map(Operation::Evict),
    ]
}

/// Draws an operation that moves names about, and seldom makes them durable.
pub(crate) fn any_move() -> impl Strategy<Value = Operation> {
    let path = || 0..PATHS.len();
    prop_oneof![
        3 => path().prop_map(Operation::Create),
        3 => (3..PATHS.len()).prop_map(Operation::Mkdir),
        1 => path().prop_map(Operation::Rmdir),
        1 => path().prop_map(Operation::Unlink),
        9 => (path(), path()).prop_map(|(from, to)| Operation::Rename(from, to)),
        1 => prop_oneof![Just(3_usize), Just(7)].prop_map(Operation::Sync),
        1 => Just(Operation::SyncRoot),
    ]
}

/// What every run begins with: two files and two directories.
pub(crate) const SETUP: [Operation; 4] =
    [Operation::Create(0), Operation::Mkdir(3), Operation::Create(4), Operation::Mkdir(7)];

/// Does the operation to both. Panics if one succeeds where the other fails.
pub(crate) fn perform(disk: &mut Disk, reference: &mut Reference, operation: &Operation) {
    let on_disk = on_disk(disk, operation);
    let before = reference.log.len();
    let expected = reference.perform(operation);
    assert_eq!(on_disk.is_ok(), expected, "{operation:?} gave {on_disk:?}; events {:?}", &reference.log[before..]);
}

fn on_disk(disk: &mut Disk, operation: &Operation) -> Result<(), Errno> {
    let with = |disk: &mut Disk, path: &str, flags, act: &mut dyn FnMut(&mut Disk, _) -> Result<(), Errno>| {
        let fd = disk.open(OWNER, path, flags)?;
        let result = act(disk, fd);
        disk.close(OWNER, fd)?;
        result
    };
    match *operation {
        Operation::Create(path) => {
            with(disk, PATHS[path], OpenFlags::READ_WRITE.create_exclusive(), &mut |_, _| Ok(()))
        }
        Operation::Truncate(path) => with(disk, PATHS[path], OpenFlags::WRITE.truncate(), &mut |_, _| Ok(())),
        Operation::Write { path, offset, len, byte } => {
            let bytes = vec![byte; len];
            with(disk, PATHS[path], OpenFlags::WRITE, &mut |disk, fd| {
                assert_eq!(disk.pwrite(OWNER, fd, offset, &bytes)?, len);
                Ok(())
            })
        }
        Operation::SetLen(path, len) => {
            with(disk, PATHS[path], OpenFlags::WRITE, &mut |disk, fd| disk.set_len(OWNER, fd, len))
        }
        Operation::Mkdir(path) => disk.mkdir(PATHS[path]).map(|_| ()),
        Operation::Rmdir(path) => disk.rmdir(PATHS[path]),
        Operation::Unlink(path) => disk.unlink(PATHS[path]),
        Operation::Link(from, to) => disk.link(PATHS[from], PATHS[to]),
        Operation::Rename(from, to) => disk.rename(PATHS[from], PATHS[to]),
        Operation::Sync(path) => with(disk, PATHS[path], OpenFlags::READ, &mut |disk, fd| disk.fsync(OWNER, fd)),
        Operation::SyncRoot => with(disk, "/", OpenFlags::DIRECTORY, &mut |disk, fd| disk.fsync(OWNER, fd)),
        Operation::SyncWithEntry(path) => {
            with(disk, PATHS[path], OpenFlags::READ, &mut |disk, fd| disk.fsync_with_new_entry(OWNER, fd))
        }
        Operation::SyncFailed(path) => with(disk, PATHS[path], OpenFlags::READ, &mut |disk, fd| {
            assert_eq!(disk.fsync_failed(OWNER, fd), Errno::Io);
            Ok(())
        }),
        Operation::SyncLying(path) => {
            with(disk, PATHS[path], OpenFlags::READ, &mut |disk, fd| disk.fsync_lying(OWNER, fd))
        }
        Operation::Evict(path) => {
            let inode = disk.inode_of(PATHS[path]).ok_or(Errno::NoEntry)?;
            disk.evict(inode);
            Ok(())
        }
    }
}

impl Reference {
    /// Does the operation here. False if it must fail.
    fn perform(&mut self, operation: &Operation) -> bool {
        self.try_perform(operation).is_some()
    }

    fn file(&self, path: usize) -> Option<super::Id> {
        self.resolve(PATHS[path]).filter(|id| self.files.contains_key(id))
    }

    fn try_perform(&mut self, operation: &Operation) -> Option<()> {
        match *operation {
            Operation::Create(path) => {
                let id = self.new_name(path)?;
                self.files.insert(id, Vec::new());
            }
            Operation::Mkdir(path) => {
                let id = self.new_name(path)?;
                self.directories.insert(id);
            }
            Operation::Truncate(path) => self.set_len(self.file(path)?, 0),
            Operation::SetLen(path, len) => self.set_len(self.file(path)?, len),
            Operation::Write { path, offset, len, byte } => {
                let id = self.file(path)?;
                let bytes = vec![byte; len];
                let end = offset + len as u64;
                let extends = end > self.logged_len(id);
                let content = self.files.get_mut(&id)?;
                write(content, offset, &bytes);
                self.log.push(Event::Write { id, offset, bytes, extends });
            }
            Operation::Rmdir(path) => {
                let (directory, name) = self.parent(PATHS[path])?;
                let id = self.resolve(PATHS[path])?;
                if !self.directories.contains(&id) || !self.is_empty(id) {
                    return None;
                }
                self.names.remove(&(directory, name.clone()));
                self.log.push(Event::Unlink { directory, name, id });
            }
            Operation::Unlink(path) => {
                let (directory, name) = self.parent(PATHS[path])?;
                let id = self.file(path)?;
                self.names.remove(&(directory, name.clone()));
                self.log.push(Event::Unlink { directory, name, id });
            }
            Operation::Link(from, to) => {
                let id = self.file(from)?;
                let (directory, name) = self.parent(PATHS[to])?;
                if self.resolve(PATHS[to]).is_some() {
                    return None;
                }
                self.names.insert((directory, name.clone()), id);
                self.log.push(Event::Link { directory, name, id });
            }
            Operation::Rename(from, to) => self.rename(PATHS[from], PATHS[to])?,
            Operation::Sync(path) => {
                let id = self.resolve(PATHS[path])?;
                self.sync(id);
            }
            Operation::SyncRoot => self.sync(ROOT),
            Operation::SyncWithEntry(path) => {
                let id = self.resolve(PATHS[path])?;
                self.sync(id);
                // The directory of the latest name that it was given.
                let latest = self.log.iter().rev().find_map(|event| match event {
                    Event::Link { directory, id: named, .. } if *named == id => Some(*directory),
                    Event::Rename { to, id: named, .. } if *named == id => Some(to.0),
                    _ => None,
                });
                let first = || self.names.iter().find(|(_, named)| **named == id).map(|((directory, _), _)| *directory);
                if let Some(directory) = latest.or_else(first) {
                    self.sync(directory);
                }
            }
            Operation::SyncFailed(path) => {
                let id = self.resolve(PATHS[path])?;
                if self.files.contains_key(&id) {
                    self.log.push(Event::Fail(id));
                }
            }
            Operation::SyncLying(path) => {
                self.resolve(PATHS[path])?;
            }
            Operation::Evict(path) => {
                let id = self.resolve(PATHS[path])?;
                if self.files.contains_key(&id) {
                    let content = self.without_failed(id);
                    self.files.insert(id, content);
                }
            }
        }
        Some(())
    }

    fn sync(&mut self, id: super::Id) {
        self.log.push(if self.directories.contains(&id) { Event::SyncDirectory(id) } else { Event::SyncFile(id) });
    }

    fn new_name(&mut self, path: usize) -> Option<super::Id> {
        let (directory, name) = self.parent(PATHS[path])?;
        if self.resolve(PATHS[path]).is_some() {
            return None;
        }
        let id = self.next_id;
        self.next_id += 1;
        self.names.insert((directory, name.clone()), id);
        self.log.push(Event::Link { directory, name, id });
        Some(id)
    }

    fn set_len(&mut self, id: super::Id, len: u64) {
        if self.logged_len(id) == len && self.files[&id].len() as u64 == len {
            return;
        }
        if let Some(content) = self.files.get_mut(&id) {
            content.resize(len as usize, 0);
        }
        self.log.push(Event::SetLen { id, len });
    }

    fn rename(&mut self, from: &str, to: &str) -> Option<()> {
        let (from_name, to_name) = (self.parent(from)?, self.parent(to)?);
        let id = self.resolve(from)?;
        let over = self.resolve(to);
        let above = self.above(to_name.0);
        if above.contains(&id) {
            return None;
        }
        if over == Some(id) {
            return Some(());
        }
        if let Some(over) = over {
            if self.directories.contains(&id) != self.directories.contains(&over) {
                return None;
            }
            if self.directories.contains(&over) && !self.is_empty(over) {
                return None;
            }
            if self.persistence == Persistence::Ext4 && self.files.contains_key(&id) {
                self.log.push(Event::Flush(id));
            }
        }
        self.names.remove(&from_name);
        self.names.insert(to_name.clone(), id);
        self.log.push(Event::Rename { from: from_name, to: to_name, id, over, above });
        Some(())
    }
}

/// Writes into a plain byte vector.
pub(crate) fn write(content: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let end = offset as usize + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[offset as usize..end].copy_from_slice(bytes);
}

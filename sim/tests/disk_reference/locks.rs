//! A naive reference for file locks: one entry for each open description, and one for each locked byte of each process.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use seedstorm_sim::errno::Errno;
use seedstorm_sim::sys::disk::{Disk, DiskOptions, Fd, InodeId, LockMode, OpenFlags, Owner, Persistence};

/// Bytes 0 to 11 are told apart; byte 12 stands for all that follow.
const BYTES: u64 = 13;

#[derive(Clone, Debug)]
pub(crate) enum LockOperation {
    Open { owner: u32, file: usize },
    Duplicate { owner: u32, nth: usize },
    Close { owner: u32, nth: usize },
    Flock { owner: u32, nth: usize, mode: LockMode },
    Unflock { owner: u32, nth: usize },
    Lock { owner: u32, nth: usize, start: u64, len: u64, mode: LockMode },
    Unlock { owner: u32, nth: usize, start: u64, len: u64 },
    Query { owner: u32, nth: usize, start: u64, len: u64, mode: LockMode },
    Kill { owner: u32 },
}

pub(crate) fn any_lock_operation() -> impl Strategy<Value = LockOperation> {
    let owner = || 1..4_u32;
    let nth = || 0..4_usize;
    let mode = || prop_oneof![Just(LockMode::Shared), Just(LockMode::Exclusive)];
    let range = || (0..12_u64, 0..8_u64).prop_map(|(start, len)| (start, len.min(12 - start)));
    prop_oneof![
        4 => (owner(), 0..2_usize).prop_map(|(owner, file)| LockOperation::Open { owner, file }),
        1 => (owner(), nth()).prop_map(|(owner, nth)| LockOperation::Duplicate { owner, nth }),
        2 => (owner(), nth()).prop_map(|(owner, nth)| LockOperation::Close { owner, nth }),
        4 => (owner(), nth(), mode()).prop_map(|(owner, nth, mode)| LockOperation::Flock { owner, nth, mode }),
        1 => (owner(), nth()).prop_map(|(owner, nth)| LockOperation::Unflock { owner, nth }),
        8 => (owner(), nth(), range(), mode())
            .prop_map(|(owner, nth, (start, len), mode)| LockOperation::Lock { owner, nth, start, len, mode }),
        4 => (owner(), nth(), range())
            .prop_map(|(owner, nth, (start, len))| LockOperation::Unlock { owner, nth, start, len }),
        2 => (owner(), nth(), range(), mode())
            .prop_map(|(owner, nth, (start, len), mode)| LockOperation::Query { owner, nth, start, len, mode }),
        1 => owner().prop_map(|owner| LockOperation::Kill { owner }),
    ]
}

/// The reference beside the disk.
pub(crate) struct LockReference {
    disk: Disk,
    files: [InodeId; 2],
    /// Which description each descriptor leads to.
    fds: BTreeMap<(u32, u32), usize>,
    /// The file of each description ever opened.
    descriptions: Vec<(usize, u32)>,
    flocks: BTreeMap<usize, LockMode>,
    bytes: BTreeMap<(usize, u64, u32), LockMode>,
}

const PATHS: [&str; 2] = ["/one", "/two"];

impl LockReference {
    pub(crate) fn new() -> LockReference {
        let mut disk = Disk::new(Persistence::Posix, DiskOptions::default());
        let setup = Owner(0);
        let files = PATHS.map(|path| {
            let fd = disk.open(setup, path, OpenFlags::READ_WRITE.create()).expect("it opens");
            disk.inode_of_fd(setup, fd).expect("it is open")
        });
        disk.release_owner(setup);
        LockReference {
            disk,
            files,
            fds: BTreeMap::new(),
            descriptions: Vec::new(),
            flocks: BTreeMap::new(),
            bytes: BTreeMap::new(),
        }
    }

    fn nth_fd(&self, owner: u32, nth: usize) -> Option<(u32, usize)> {
        let open: Vec<_> = self.fds.range((owner, 0)..=(owner, u32::MAX)).map(|((_, fd), at)| (*fd, *at)).collect();
        if open.is_empty() { None } else { Some(open[nth % open.len()]) }
    }

    fn lowest_free(&self, owner: u32) -> u32 {
        (0..).find(|fd| !self.fds.contains_key(&(owner, *fd))).expect("there is a number")
    }

    fn close(&mut self, owner: u32, fd: u32) {
        let Some(description) = self.fds.remove(&(owner, fd)) else { return };
        let file = self.descriptions[description].0;
        self.bytes.retain(|(at, _, holder), _| (*at, *holder) != (file, owner));
        if !self.fds.values().any(|at| *at == description) {
            self.flocks.remove(&description);
        }
    }

    fn conflicts(&self, file: usize, owner: u32, range: &[u64], mode: LockMode) -> BTreeSet<u32> {
        let others = self.bytes.iter().filter(|((at, byte, holder), held)| {
            *at == file && *holder != owner && range.contains(byte) && held.conflicts_with(mode)
        });
        others.map(|((_, _, holder), _)| *holder).collect()
    }

    /// All that is held, to see whether something was released.
    fn strength(&self) -> Vec<(usize, BTreeMap<String, LockMode>)> {
        let of = |file: usize| {
            let flocks = self.flocks.iter().filter(|(at, _)| self.descriptions[**at].0 == file);
            let bytes = self.bytes.iter().filter(|((at, _, _), _)| *at == file);
            let flocks = flocks.map(|(at, mode)| (format!("flock {at}"), *mode));
            let bytes = bytes.map(|((_, byte, holder), mode)| (format!("byte {byte} {holder}"), *mode));
            flocks.chain(bytes).collect::<BTreeMap<_, _>>()
        };
        (0..2).map(|file| (file, of(file))).collect()
    }

    /// Does it to both, and compares the result, what is held, and who is told of it.
    pub(crate) fn perform(&mut self, operation: &LockOperation) {
        let before = self.strength();
        self.perform_one(operation);
        let after = self.strength();
        let mut told = self.disk.take_released();
        told.sort_unstable();
        let is_weaker = |one: &BTreeMap<String, LockMode>, two: &BTreeMap<String, LockMode>| {
            one.iter().any(|(what, mode)| two.get(what).is_none_or(|now| now < mode))
        };
        let weaker = before.iter().zip(&after).filter(|(one, two)| is_weaker(&one.1, &two.1));
        let expected: Vec<InodeId> = weaker.map(|(one, _)| self.files[one.0]).collect();
        assert_eq!(told, expected, "who is told of a release by {operation:?}");
        self.compare();
    }

    fn perform_one(&mut self, operation: &LockOperation) {
        match *operation {
            LockOperation::Open { owner, file } => {
                let fd = self.lowest_free(owner);
                let opened = self.disk.open(Owner(owner), PATHS[file], OpenFlags::READ_WRITE);
                assert_eq!(opened, Ok(Fd(fd)));
                self.descriptions.push((file, owner));
                self.fds.insert((owner, fd), self.descriptions.len() - 1);
            }
            LockOperation::Kill { owner } => {
                self.disk.release_owner(Owner(owner));
                let open: Vec<u32> =
                    self.fds.keys().filter(|(holder, _)| *holder == owner).map(|(_, fd)| *fd).collect();
                open.into_iter().for_each(|fd| self.close(owner, fd));
            }
            LockOperation::Duplicate { owner, nth } => {
                let Some((fd, description)) = self.nth_fd(owner, nth) else { return };
                let new = self.lowest_free(owner);
                assert_eq!(self.disk.duplicate(Owner(owner), Fd(fd)), Ok(Fd(new)));
                self.fds.insert((owner, new), description);
            }
            LockOperation::Close { owner, nth } => {
                let Some((fd, _)) = self.nth_fd(owner, nth) else { return };
                assert_eq!(self.disk.close(Owner(owner), Fd(fd)), Ok(()));
                self.close(owner, fd);
            }
            LockOperation::Flock { owner, nth, mode } => {
                let Some((fd, description)) = self.nth_fd(owner, nth) else { return };
                let file = self.descriptions[description].0;
                let mut others = self.flocks.iter().filter(|(at, _)| **at != description);
                let is_free = others.all(|(at, held)| self.descriptions[*at].0 != file || !held.conflicts_with(mode));
                if is_free {
                    self.flocks.insert(description, mode);
                } else if self.flocks.get(&description) != Some(&mode) {
                    // A conversion gives the old lock up first.
                    self.flocks.remove(&description);
                }
                let expected = if is_free { Ok(()) } else { Err(Errno::WouldBlock) };
                assert_eq!(self.disk.try_flock(Owner(owner), Fd(fd), mode), expected);
            }
            LockOperation::Unflock { owner, nth } => {
                let Some((fd, description)) = self.nth_fd(owner, nth) else { return };
                self.flocks.remove(&description);
                assert_eq!(self.disk.unlock_flock(Owner(owner), Fd(fd)), Ok(()));
            }
            LockOperation::Lock { owner, nth, start, len, mode } => {
                let Some((fd, description)) = self.nth_fd(owner, nth) else { return };
                let file = self.descriptions[description].0;
                let range = bytes(start, len);
                let is_free = self.conflicts(file, owner, &range, mode).is_empty();
                if is_free {
                    self.bytes.extend(range.iter().map(|byte| ((file, *byte, owner), mode)));
                }
                let expected = if is_free { Ok(()) } else { Err(Errno::WouldBlock) };
                assert_eq!(self.disk.try_lock_range(Owner(owner), Fd(fd), start, len, mode), expected);
            }
            LockOperation::Unlock { owner, nth, start, len } => {
                let Some((fd, description)) = self.nth_fd(owner, nth) else { return };
                let file = self.descriptions[description].0;
                for byte in bytes(start, len) {
                    self.bytes.remove(&(file, byte, owner));
                }
                assert_eq!(self.disk.unlock_range(Owner(owner), Fd(fd), start, len), Ok(()));
            }
            LockOperation::Query { owner, nth, start, len, mode } => {
                let Some((fd, description)) = self.nth_fd(owner, nth) else { return };
                let expected = self.conflicts(self.descriptions[description].0, owner, &bytes(start, len), mode);
                let found = self.disk.query_range(Owner(owner), Fd(fd), start, len, mode).expect("it is open");
                match found {
                    None => assert!(expected.is_empty(), "a holder was overlooked"),
                    Some(lock) => assert!(expected.contains(&lock.owner.0), "{lock:?} does not stand in the way"),
                }
            }
        }
    }

    fn compare(&self) {
        for file in 0..2 {
            let mut on_disk = BTreeMap::new();
            let locks = self.disk.range_locks(self.files[file]);
            for lock in locks {
                for byte in bytes(lock.start, if lock.end > BYTES { 0 } else { lock.end - lock.start }) {
                    let old = on_disk.insert((file, byte, lock.owner.0), lock.mode);
                    assert_eq!(old, None, "two locks of a process overlap: {locks:?}");
                }
                let touches = |other: &&_| {
                    let other: &seedstorm_sim::sys::disk::RangeLock = other;
                    other.owner == lock.owner && other.mode == lock.mode && other.start == lock.end
                };
                assert!(!locks.iter().any(|other| touches(&other)), "locks that touch are not merged: {locks:?}");
            }
            let expected: BTreeMap<_, _> =
                self.bytes.iter().filter(|((at, _, _), _)| *at == file).map(|(at, mode)| (*at, *mode)).collect();
            assert_eq!(on_disk, expected, "the bytes that are locked");

            let mut holders: Vec<_> =
                self.disk.flock_holders(self.files[file]).iter().map(|holder| (holder.owner.0, holder.mode)).collect();
            holders.sort_unstable();
            let of_file = self.flocks.iter().filter(|(at, _)| self.descriptions[**at].0 == file);
            let mut expected: Vec<_> = of_file.map(|(at, mode)| (self.descriptions[*at].1, *mode)).collect();
            expected.sort_unstable();
            assert_eq!(holders, expected, "who holds a flock");
        }
        for owner in 1..4 {
            let locks = self.disk.locks_of(Owner(owner));
            let on_files: usize = (0..2)
                .map(|file| self.disk.range_locks(self.files[file]).iter().filter(|lock| lock.owner.0 == owner).count())
                .sum();
            assert_eq!(locks.ranges.len(), on_files);
        }
    }
}

/// The bytes of a range, as far as they are told apart.
fn bytes(start: u64, len: u64) -> Vec<u64> {
    let end = if len == 0 { BYTES } else { (start + len).min(BYTES) };
    (start..end).collect()
}

//! The system calls behind the VFS methods, but for open and close (`open`) and for reading, writing and the like, which are those of
//! any program (`sys::file`). Each works on a machine in a run, and on an inspection's copy.

use super::database_lock;
use super::file::Handle;
use super::inspect::Scratch;
use super::shared_lock::{self, Slots};
use super::shared_memory;
use super::state::State;
use crate::errno::Errno;
use crate::kernel::{Core, Injected};
use crate::sys::call::{Call, Caller, Effect, Header};
use crate::sys::disk::{Disk, OpenFlags, Owner};
use crate::sys::file::{Read, SetLength, StatFile, Sync, Write};
use crate::sys::time::Sleep;
use crate::trace::CallKind;
use std::ffi::c_void;

/// A call that can also be made outside a run, on an inspection's copy of a disk.
pub(super) trait Offline: Call {
    fn offline(&mut self, scratch: &mut Scratch) -> Result<Self::Value, Errno>;
}

/// A call that touches the disk and SQLite's state, and nothing else of the machine.
pub(super) trait VfsCall {
    type Value;

    fn header(&self) -> Header;

    fn on(&mut self, disk: &mut Disk, state: &mut State, owner: Owner) -> Result<Self::Value, Errno>;

    fn number(&self, value: &Self::Value) -> u64;

    /// The path that it names.
    fn path(&self) -> &str {
        ""
    }

    /// What it turned out to touch.
    fn object(&self, value: &Self::Value) -> Option<u64> {
        let _ = value;
        None
    }
}

/// Makes a [`VfsCall`] a call of the machine.
pub(super) struct Vfs<C>(pub(super) C);

impl<C: VfsCall> Call for Vfs<C> {
    type Value = C::Value;

    #[inline]
    fn header(&self) -> Header {
        self.0.header()
    }

    #[inline]
    fn effect(&mut self, core: &mut Core, caller: Caller, _injected: Option<Injected>) -> Effect<C::Value> {
        self.0.on(&mut core.disk, &mut core.sqlite, caller.owner).into()
    }

    #[inline]
    fn number(&self, value: &C::Value) -> u64 {
        self.0.number(value)
    }

    #[inline]
    fn data(&self, _value: Option<&C::Value>) -> &[u8] {
        self.0.path().as_bytes()
    }

    #[inline]
    fn object(&self, value: &C::Value) -> Option<u64> {
        self.0.object(value)
    }
}

impl<C: VfsCall> Offline for Vfs<C> {
    fn offline(&mut self, scratch: &mut Scratch) -> Result<C::Value, Errno> {
        self.0.on(&mut scratch.disk, &mut scratch.state, scratch.owner)
    }
}

impl Offline for Read<'_> {
    fn offline(&mut self, scratch: &mut Scratch) -> Result<usize, Errno> {
        scratch.disk.pread(scratch.owner, self.fd, self.offset.unwrap_or(0), self.buffer)
    }
}

impl Offline for SetLength {
    fn offline(&mut self, scratch: &mut Scratch) -> Result<(), Errno> {
        scratch.disk.set_len(scratch.owner, self.fd, self.len_bytes)
    }
}

impl Offline for Sync {
    fn offline(&mut self, _scratch: &mut Scratch) -> Result<(), Errno> {
        // Nothing of a copy is worth making durable.
        Ok(())
    }
}

impl Offline for StatFile {
    fn offline(&mut self, scratch: &mut Scratch) -> Result<crate::sys::disk::Stat, Errno> {
        scratch.disk.fstat(scratch.owner, self.fd)
    }
}

impl Offline for Sleep {
    fn offline(&mut self, _scratch: &mut Scratch) -> Result<(), Errno> {
        Ok(())
    }
}

/// A write, which the WAL's commits are followed by.
pub(super) struct WriteFile<'a> {
    pub(super) write: Write<'a>,
    /// What the process has of the database, if this is its WAL.
    pub(super) wal_of: Option<u32>,
}

impl Call for WriteFile<'_> {
    type Value = usize;

    #[inline]
    fn header(&self) -> Header {
        self.write.header()
    }

    #[inline]
    fn effect(&mut self, core: &mut Core, caller: Caller, injected: Option<Injected>) -> Effect<usize> {
        let effect = self.write.effect(core, caller, injected);
        if let (Effect::Done(Ok(_)), Some(place), Some(offset)) = (&effect, self.wal_of, self.write.offset) {
            core.sqlite.at(place).wal.wrote(self.write.inode, offset);
        }
        effect
    }

    #[inline]
    fn number(&self, written: &usize) -> u64 {
        *written as u64
    }

    #[inline]
    fn data(&self, written: Option<&usize>) -> &[u8] {
        self.write.data(written)
    }
}

impl Offline for WriteFile<'_> {
    fn offline(&mut self, scratch: &mut Scratch) -> Result<usize, Errno> {
        scratch.disk.pwrite(scratch.owner, self.write.fd, self.write.offset.unwrap_or(0), self.write.bytes)
    }
}

/// xLock
pub(super) struct LockDatabase<'a> {
    pub(super) file: &'a mut Handle,
    pub(super) level: u8,
}

impl VfsCall for LockDatabase<'_> {
    type Value = ();

    #[inline]
    fn header(&self) -> Header {
        Header::new(CallKind::DatabaseLock, self.file.inode.0, [u64::from(self.level), 0])
    }

    #[inline]
    fn on(&mut self, disk: &mut Disk, state: &mut State, owner: Owner) -> Result<(), Errno> {
        database_lock::lock(disk, state, owner, self.file, self.level)
    }

    #[inline]
    fn number(&self, (): &()) -> u64 {
        u64::from(self.file.level)
    }
}

/// xUnlock
pub(super) struct UnlockDatabase<'a> {
    pub(super) file: &'a mut Handle,
    pub(super) level: u8,
}

impl VfsCall for UnlockDatabase<'_> {
    type Value = ();

    #[inline]
    fn header(&self) -> Header {
        Header::new(CallKind::DatabaseUnlock, self.file.inode.0, [u64::from(self.level), 0])
    }

    #[inline]
    fn on(&mut self, disk: &mut Disk, state: &mut State, owner: Owner) -> Result<(), Errno> {
        database_lock::unlock(disk, state, owner, self.file, self.level)
    }

    #[inline]
    fn number(&self, (): &()) -> u64 {
        u64::from(self.file.level)
    }
}

/// xCheckReservedLock
pub(super) struct QueryReserved<'a> {
    pub(super) file: &'a Handle,
}

impl VfsCall for QueryReserved<'_> {
    type Value = bool;

    fn header(&self) -> Header {
        Header::new(CallKind::RangeQuery, self.file.inode.0, [0; 2])
    }

    fn on(&mut self, disk: &mut Disk, state: &mut State, owner: Owner) -> Result<bool, Errno> {
        database_lock::is_reserved(disk, state, owner, self.file)
    }

    fn number(&self, is_reserved: &bool) -> u64 {
        u64::from(*is_reserved)
    }
}

/// xShmMap
pub(super) struct MapShared<'a> {
    pub(super) file: &'a mut Handle,
    pub(super) path: &'a str,
    pub(super) index: usize,
    pub(super) extends: bool,
}

impl VfsCall for MapShared<'_> {
    type Value = *mut c_void;

    fn header(&self) -> Header {
        Header::new(CallKind::MapShared, self.file.inode.0, [self.index as u64, u64::from(self.extends)])
    }

    fn on(&mut self, disk: &mut Disk, state: &mut State, owner: Owner) -> Result<*mut c_void, Errno> {
        shared_memory::map(disk, state, owner, self.file, self.path, self.index, self.extends)
    }

    /// Never the address: it differs from run to run.
    fn number(&self, address: &*mut c_void) -> u64 {
        u64::from(!address.is_null())
    }

    fn object(&self, _address: &*mut c_void) -> Option<u64> {
        self.file.shared_inode.map(|inode| inode.0)
    }
}

/// xShmLock
pub(super) struct LockShared<'a> {
    pub(super) file: &'a mut Handle,
    pub(super) slots: Slots,
}

impl VfsCall for LockShared<'_> {
    type Value = ();

    #[inline]
    fn header(&self) -> Header {
        let Slots { first, count, flags } = self.slots;
        let object = self.file.shared_inode.map_or(0, |inode| inode.0);
        Header::new(CallKind::SharedLock, object, [u64::from(first) << 8 | u64::from(count), u64::from(flags)])
    }

    #[inline]
    fn on(&mut self, disk: &mut Disk, state: &mut State, owner: Owner) -> Result<(), Errno> {
        shared_lock::change(disk, state, owner, self.file, self.slots)
    }

    #[inline]
    fn number(&self, (): &()) -> u64 {
        0
    }
}

/// xShmUnmap
pub(super) struct UnmapShared<'a> {
    pub(super) file: &'a mut Handle,
    pub(super) path: &'a str,
    pub(super) deletes: bool,
}

impl VfsCall for UnmapShared<'_> {
    type Value = ();

    fn header(&self) -> Header {
        let object = self.file.shared_inode.map_or(0, |inode| inode.0);
        Header::new(CallKind::UnmapShared, object, [u64::from(self.deletes), 0])
    }

    fn on(&mut self, disk: &mut Disk, state: &mut State, owner: Owner) -> Result<(), Errno> {
        shared_lock::release_all(disk, state, owner, self.file)?;
        shared_memory::unmap(disk, state, owner, self.file, self.path, self.deletes)
    }

    fn number(&self, (): &()) -> u64 {
        0
    }
}

/// A method that changes nothing, and is a step all the same: xShmBarrier, xUnfetch, most of xFileControl.
pub(super) struct Passing {
    pub(super) kind: CallKind,
    pub(super) object: u64,
    pub(super) argument: u64,
}

impl VfsCall for Passing {
    type Value = ();

    #[inline]
    fn header(&self) -> Header {
        Header::new(self.kind, self.object, [self.argument, 0])
    }

    #[inline]
    fn on(&mut self, _disk: &mut Disk, _state: &mut State, _owner: Owner) -> Result<(), Errno> {
        Ok(())
    }

    #[inline]
    fn number(&self, (): &()) -> u64 {
        0
    }
}

/// SQLITE_FCNTL_HAS_MOVED: whether the path no longer leads to the open file.
pub(super) struct QueryMoved<'a> {
    pub(super) file: &'a Handle,
    pub(super) path: &'a str,
    pub(super) argument: u64,
}

impl VfsCall for QueryMoved<'_> {
    type Value = bool;

    fn header(&self) -> Header {
        Header::new(CallKind::FileControl, self.file.inode.0, [self.argument, 0])
    }

    fn on(&mut self, disk: &mut Disk, _state: &mut State, _owner: Owner) -> Result<bool, Errno> {
        Ok(disk.inode_of(self.path) != Some(self.file.inode))
    }

    fn number(&self, has_moved: &bool) -> u64 {
        u64::from(*has_moved)
    }
}

/// xDelete
pub(super) struct Delete<'a> {
    pub(super) path: &'a str,
    pub(super) syncs_directory: bool,
}

impl VfsCall for Delete<'_> {
    type Value = ();

    fn header(&self) -> Header {
        Header::on_path(CallKind::Unlink, self.path, [u64::from(self.syncs_directory), 0])
    }

    fn on(&mut self, disk: &mut Disk, _state: &mut State, owner: Owner) -> Result<(), Errno> {
        disk.unlink(self.path)?;
        if self.syncs_directory {
            let directory = self
                .path
                .rsplit_once('/')
                .map_or("/", |(directory, _)| if directory.is_empty() { "/" } else { directory });
            let fd = disk.open(owner, directory, OpenFlags::DIRECTORY)?;
            disk.fsync(owner, fd)?;
            disk.close(owner, fd)?;
        }
        Ok(())
    }

    fn number(&self, (): &()) -> u64 {
        0
    }

    fn path(&self) -> &str {
        self.path
    }
}

/// xAccess: whether there is such a file. `counts_empty`: also if it is empty; SQLite takes an empty journal for none.
pub(super) struct Access<'a> {
    pub(super) path: &'a str,
    pub(super) counts_empty: bool,
}

impl VfsCall for Access<'_> {
    type Value = bool;

    fn header(&self) -> Header {
        Header::on_path(CallKind::Access, self.path, [u64::from(self.counts_empty), 0])
    }

    fn on(&mut self, disk: &mut Disk, _state: &mut State, _owner: Owner) -> Result<bool, Errno> {
        Ok(disk.stat(self.path).is_ok_and(|stat| self.counts_empty || stat.len_bytes > 0))
    }

    fn number(&self, exists: &bool) -> u64 {
        u64::from(*exists)
    }

    fn path(&self) -> &str {
        self.path
    }
}

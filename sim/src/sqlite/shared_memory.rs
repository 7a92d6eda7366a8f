//! The shared memory of SQLite's wal-index (sqlite.org/walformat.html, "The WAL-Index File"): regions that processes map, and what a
//! kill does to them. The locks on it are in `shared_lock`.

use super::commit::WalHeader;
use super::file::Handle;
use super::state::State;
use crate::errno::Errno;
use crate::sys::disk::{Disk, Fd, InodeId, LockMode, OpenFlags, Owner};
use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::Arc;

/// The size of a region, which SQLite never varies (`WALINDEX_PGSZ`).
pub(super) const REGION_BYTES: usize = 32 << 10;

/// The byte of the `-shm` file on which whoever has it open holds a lock, the "dead man's switch" (`UNIX_SHM_DMS`).
const DEAD_MAN_SWITCH: u64 = 128;

/// What the unix VFS cuts the file to when nobody has it open: less than its header, and recognisable.
const CUT_BYTES: u64 = 3;

type Region = [u64; REGION_BYTES / 8];

/// The regions of one `-shm` file. SQLite has raw pointers into them, so each open file that mapped them keeps them alive.
#[derive(Default)]
pub(super) struct Regions {
    /// Boxes, taken apart so that no Rust reference to memory that SQLite writes is ever held for long.
    regions: RefCell<Vec<*mut Region>>,
}

// SAFETY: a thread other than the run's can at most drop a connection that outlived its run, and that touches the count of the `Arc` alone.
unsafe impl Send for Regions {}
// SAFETY: as above: the cell is used by the thread of the run alone.
unsafe impl Sync for Regions {}

impl Regions {
    fn len(&self) -> usize {
        self.regions.borrow().len()
    }

    fn get(&self, index: usize) -> Option<*mut Region> {
        self.regions.borrow().get(index).copied()
    }

    fn add(&self) {
        self.regions.borrow_mut().push(Box::into_raw(Box::new([0; REGION_BYTES / 8])));
    }

    fn clear(&self) {
        for &region in &*self.regions.borrow() {
            // SAFETY: the region is alive, and no code but the caller's runs now.
            unsafe { region.write([0; REGION_BYTES / 8]) };
        }
    }
}

impl Drop for Regions {
    fn drop(&mut self) {
        for &region in &*self.regions.borrow() {
            // SAFETY: it came from a box, and the last file that mapped it has let go of it.
            drop(unsafe { Box::from_raw(region) });
        }
    }
}

/// The mapped memory of one `-shm` file.
struct Node {
    inode: InodeId,
    regions: Arc<Regions>,
    /// How many processes map it.
    mappings: u32,
}

/// Every mapped region of the machine.
#[derive(Default)]
pub(super) struct SharedMemory {
    nodes: Vec<Option<Node>>,
}

/// What one process has of a `-shm` file.
pub(super) struct Mapping {
    pub(super) node: u32,
    pub(super) fd: Fd,
    pub(super) inode: InodeId,
    /// How many of its connections map it.
    pub(super) connections: u32,
    /// By slot: how many of its connections share the lock, or -1 when one has it exclusively.
    pub(super) slots: [i16; 8],
}

/// What regions held at a moment.
pub(super) struct Snapshot(Vec<(u32, Vec<Box<Region>>)>);

impl SharedMemory {
    /// A process maps the memory of an inode. `is_first`: no process has the file open, so what it held is void.
    fn map(&mut self, inode: InodeId, is_first: bool) -> u32 {
        let place = match self.nodes.iter().position(|node| node.as_ref().is_some_and(|node| node.inode == inode)) {
            Some(place) => place,
            None => {
                let place = self.nodes.iter().position(Option::is_none).unwrap_or(self.nodes.len());
                let node = Some(Node { inode, regions: Arc::default(), mappings: 0 });
                if place == self.nodes.len() {
                    self.nodes.push(node);
                } else {
                    self.nodes[place] = node;
                }
                place
            }
        };
        let node = self.nodes[place].as_mut().expect("the place was just found or filled");
        node.mappings += 1;
        if is_first {
            // Others may map it all the same, if they lost their lock on the switch: they see the file cut, as they would on a real system.
            node.regions.clear();
        }
        place as u32
    }

    /// A process no longer maps it.
    pub(super) fn unmap(&mut self, place: u32) {
        let slot = &mut self.nodes[place as usize];
        let Some(node) = slot else { return };
        node.mappings -= 1;
        if node.mappings == 0 {
            // Whoever opens the file next finds nobody on the switch, and would clear what is here.
            *slot = None;
        }
    }

    fn regions(&self, place: u32) -> &Arc<Regions> {
        &self.nodes[place as usize].as_ref().expect("a mapping refers to memory that is mapped").regions
    }

    /// What the first copy of the wal-index header says. Zeros where there is none yet.
    pub(super) fn header(&self, place: u32) -> WalHeader {
        let Some(region) = self.regions(place).get(0) else { return WalHeader::default() };
        // SAFETY: the region is alive, no code that writes it runs now, and the words lie within it.
        let [second, third, fifth] = unsafe { [(*region)[1], (*region)[2], (*region)[4]] };
        // Bytes 14 to 15, 16 to 19 and 32 to 39, in the machine's byte order; a page of 65,536 bytes is stored as 1.
        let page_bytes = u16::from_ne_bytes([second.to_ne_bytes()[6], second.to_ne_bytes()[7]]);
        let [first, next, after, last, ..] = third.to_ne_bytes();
        WalHeader {
            frame_last: u32::from_ne_bytes([first, next, after, last]),
            page_bytes: if page_bytes == 1 { 65_536 } else { u32::from(page_bytes) },
            salt: fifth,
        }
    }

    /// What the regions behind some mappings hold now.
    pub(super) fn snapshot<'a>(&self, mappings: impl Iterator<Item = &'a Mapping>) -> Snapshot {
        let contents = mappings.map(|mapping| {
            let regions = self.regions(mapping.node).regions.borrow();
            // SAFETY: the regions are alive, and no code that writes them runs now.
            let copies = regions.iter().map(|&region| Box::new(unsafe { region.read() })).collect();
            (mapping.node, copies)
        });
        Snapshot(contents.collect())
    }

    /// Puts back what they held then. Regions that were added since stay: they belong to nobody but the dead.
    pub(super) fn restore(&mut self, snapshot: Snapshot) {
        for (place, copies) in snapshot.0 {
            for (&region, copy) in self.regions(place).regions.borrow().iter().zip(copies) {
                // SAFETY: the region is alive, and no code that uses it runs now.
                unsafe { region.write(*copy) };
            }
        }
    }
}

/// Whether another process has the `-shm` file open.
pub(super) fn is_shared_with_others(disk: &Disk, owner: Owner, mapping: &Mapping) -> Result<bool, Errno> {
    Ok(disk.query_range(owner, mapping.fd, DEAD_MAN_SWITCH, 1, LockMode::Exclusive)?.is_some())
}

/// Maps region `index` for a connection: its address, or null if it doesn't exist and `extends` is false.
pub(super) fn map(
    disk: &mut Disk,
    state: &mut State,
    owner: Owner,
    file: &mut Handle,
    path: &str,
    index: usize,
    extends: bool,
) -> Result<*mut c_void, Errno> {
    let Some(place) = file.attachment else { return Err(Errno::Invalid) };
    let (attachment, memory) = state.at_with_memory(place);
    let mapping = match &mut attachment.mapping {
        Some(mapping) => {
            mapping.connections += u32::from(file.regions.is_none());
            mapping
        }
        none => none.insert(open(disk, memory, owner, path)?),
    };
    let regions = memory.regions(mapping.node);
    if file.regions.is_none() {
        file.regions = Some(regions.clone());
        file.shared_inode = Some(mapping.inode);
    }
    while extends && regions.len() <= index {
        let len_bytes = ((regions.len() + 1) * REGION_BYTES) as u64;
        disk.set_len(owner, mapping.fd, len_bytes)?;
        regions.add();
    }
    Ok(regions.get(index).map_or(std::ptr::null_mut(), |region| region.cast()))
}

/// Opens a database's `-shm` file. Whoever finds nobody on the switch cuts it.
fn open(disk: &mut Disk, memory: &mut SharedMemory, owner: Owner, path: &str) -> Result<Mapping, Errno> {
    let fd = disk.open(owner, &format!("{path}-shm"), OpenFlags::READ_WRITE.create())?;
    let enter = |disk: &mut Disk| {
        let others = disk.query_range(owner, fd, DEAD_MAN_SWITCH, 1, LockMode::Exclusive)?;
        if others.is_none() {
            disk.try_lock_range(owner, fd, DEAD_MAN_SWITCH, 1, LockMode::Exclusive)?;
            disk.set_len(owner, fd, CUT_BYTES)?;
        }
        disk.try_lock_range(owner, fd, DEAD_MAN_SWITCH, 1, LockMode::Shared)?;
        Ok((disk.inode_of_fd(owner, fd)?, others.is_none()))
    };
    match enter(disk) {
        Ok((inode, is_first)) => {
            Ok(Mapping { node: memory.map(inode, is_first), fd, inode, connections: 1, slots: [0; 8] })
        }
        Err(error) => {
            let _ = disk.close(owner, fd);
            Err(error)
        }
    }
}

/// A connection no longer maps it. With the last one of its process the `-shm` file is closed, and removed if `deletes`.
pub(super) fn unmap(
    disk: &mut Disk,
    state: &mut State,
    owner: Owner,
    file: &mut Handle,
    path: &str,
    deletes: bool,
) -> Result<(), Errno> {
    let (Some(place), Some(_)) = (file.attachment, file.regions.take()) else { return Ok(()) };
    file.shared_inode = None;
    let (attachment, memory) = state.at_with_memory(place);
    let Some(mapping) = &mut attachment.mapping else { return Ok(()) };
    mapping.connections -= 1;
    if mapping.connections > 0 {
        return Ok(());
    }
    memory.unmap(mapping.node);
    let fd = mapping.fd;
    attachment.mapping = None;
    if deletes {
        // Gone already is as good: another process may have been faster.
        let _ = disk.unlink(&format!("{path}-shm"));
    }
    disk.close(owner, fd)
}

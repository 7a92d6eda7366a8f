//! What the machine knows of the databases that its processes have open. The rules of their locks are in `database_lock` and `shared_lock`.

use super::commit::{CommitDurability, WalProgress};
use super::shared_memory::{Mapping, SharedMemory, Snapshot};
use crate::sys::disk::{Disk, Fd, InodeId, OpenFlags, Owner};

/// What one process has of one database: the unix VFS keeps it too (`unixInodeInfo`, `unixShmNode`), since POSIX locks belong to
/// the process, and its connections must not take them from each other.
pub(super) struct Attachment {
    pub(super) owner: Owner,
    /// The database file's inode.
    pub(super) inode: InodeId,
    /// Open files of the process that refer to this: databases and their WALs.
    pub(super) references: u32,
    /// The highest lock that a connection of the process has.
    pub(super) level: u8,
    /// How many connections have a SHARED lock or a higher one.
    pub(super) shared: u32,
    /// Closed files whose descriptors stay open while the process has a lock: to close one would release them all (fcntl(2)).
    pub(super) unused: Vec<(Fd, OpenFlags)>,
    pub(super) mapping: Option<Mapping>,
    pub(super) wal: WalProgress,
}

/// The open databases of the machine.
#[derive(Default)]
pub(crate) struct State {
    attachments: Vec<Option<Attachment>>,
    pub(super) memory: SharedMemory,
    /// By owner: the last transaction that it committed to a WAL.
    commits: Vec<Option<CommitDurability>>,
    dying: Option<(Owner, Snapshot)>,
}

impl State {
    /// The place of what a process has of a database, if it has it open.
    pub(super) fn find(&self, owner: Owner, inode: InodeId) -> Option<u32> {
        let is_it =
            |slot: &Option<Attachment>| slot.as_ref().is_some_and(|found| found.owner == owner && found.inode == inode);
        self.attachments.iter().position(is_it).map(|place| place as u32)
    }

    /// Another file of the process refers to the database.
    pub(super) fn attach(&mut self, owner: Owner, inode: InodeId) -> u32 {
        if let Some(place) = self.find(owner, inode) {
            self.at(place).references += 1;
            return place;
        }
        let wal = WalProgress::default();
        let new =
            Attachment { owner, inode, references: 1, level: 0, shared: 0, unused: Vec::new(), mapping: None, wal };
        match self.attachments.iter().position(Option::is_none) {
            Some(free) => {
                self.attachments[free] = Some(new);
                free as u32
            }
            None => {
                self.attachments.push(Some(new));
                self.attachments.len() as u32 - 1
            }
        }
    }

    /// A file no longer refers to it.
    pub(super) fn detach(&mut self, place: u32) {
        let attachment = self.at(place);
        attachment.references -= 1;
        if attachment.references == 0 {
            self.attachments[place as usize] = None;
        }
    }

    /// What a process has of a database. The files of live processes refer to places that are in use, and no others get here.
    #[inline]
    pub(super) fn at(&mut self, place: u32) -> &mut Attachment {
        self.attachments[place as usize].as_mut().expect("an open file refers to what its process has of the database")
    }

    /// As [`State::at`], with the mapped memory beside it.
    pub(super) fn at_with_memory(&mut self, place: u32) -> (&mut Attachment, &mut SharedMemory) {
        let attachment = self.attachments[place as usize].as_mut();
        (attachment.expect("an open file refers to what its process has of the database"), &mut self.memory)
    }

    /// A process has committed a transaction to a WAL.
    pub(super) fn committed(&mut self, owner: Owner, commit: CommitDurability) {
        let place = owner.0 as usize;
        if self.commits.len() <= place {
            self.commits.resize(place + 1, None);
        }
        let number = self.commits[place].map_or(0, |last| last.number) + 1;
        self.commits[place] = Some(CommitDurability { number, ..commit });
    }

    /// The last transaction that this boot of a process has committed to a WAL.
    pub(crate) fn commit_of(&self, owner: Owner) -> Option<CommitDurability> {
        self.commits.get(owner.0 as usize).copied().flatten()
    }

    /// A process has died; its C code has yet to leave, and may still write through its mapping: keeps what is there.
    pub(crate) fn before_unwind(&mut self, owner: Owner) {
        let of_owner = self.attachments.iter().flatten().filter(|attachment| attachment.owner == owner);
        let mappings = of_owner.filter_map(|attachment| attachment.mapping.as_ref());
        self.dying = Some((owner, self.memory.snapshot(mappings)));
    }

    /// The dead process's code has left: what it wrote meanwhile is undone, and what it had of databases is gone.
    pub(crate) fn after_unwind(&mut self) {
        let Some((owner, snapshot)) = self.dying.take() else { return };
        self.memory.restore(snapshot);
        for slot in &mut self.attachments {
            if slot.as_ref().is_some_and(|attachment| attachment.owner == owner)
                && let Some(Attachment { mapping: Some(mapping), .. }) = slot.take()
            {
                self.memory.unmap(mapping.node);
            }
        }
    }

    /// The machine lost power: no memory is left. All processes are dead by now.
    pub(crate) fn power_loss(&mut self) {
        *self = State { commits: std::mem::take(&mut self.commits), ..State::default() };
    }

    /// Closes the descriptors that were kept open for the sake of locks.
    pub(super) fn close_unused(&mut self, disk: &mut Disk, place: u32) {
        let attachment = self.at(place);
        for (fd, _) in std::mem::take(&mut attachment.unused) {
            // It was open: this can't fail.
            let _ = disk.close(attachment.owner, fd);
        }
    }
}

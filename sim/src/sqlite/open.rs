//! xOpen and xClose: which file it is, what its process has of the database already, and when a descriptor may be closed.

use super::calls::VfsCall;
use super::database_lock;
use super::file::{Handle, Role};
use super::shared_lock;
use super::shared_memory;
use super::state::State;
use crate::errno::Errno;
use crate::sys::call::Header;
use crate::sys::disk::{Disk, Fd, OpenFlags, Owner};
use crate::sys::file::{CREATED_EXCLUSIVELY, flag_bits};
use crate::trace::CallKind;

/// xOpen
pub(super) struct OpenFile<'a> {
    /// `None` for a temporary file, which has no name.
    pub(super) path: Option<&'a str>,
    pub(super) role: Role,
    pub(super) flags: OpenFlags,
    /// Remove the name at once: the file is gone when it is closed.
    pub(super) deletes_on_close: bool,
}

impl VfsCall for OpenFile<'_> {
    type Value = Handle;

    fn header(&self) -> Header {
        // A journal that SQLite creates is no temporary file that is about to be renamed.
        Header::on_path(CallKind::Open, self.path.unwrap_or(""), [flag_bits(self.flags) & !CREATED_EXCLUSIVELY, 0])
    }

    fn on(&mut self, disk: &mut Disk, state: &mut State, owner: Owner) -> Result<Handle, Errno> {
        let Some(path) = self.path else { return self.unnamed(disk, owner) };
        let fd = match self.unused(disk, state, owner, path) {
            Some(fd) => fd,
            None => disk.open(owner, path, self.flags)?,
        };
        if self.deletes_on_close {
            disk.unlink(path)?;
        }
        let inode = disk.inode_of_fd(owner, fd)?;
        let attachment = match self.role {
            Role::Database => Some(state.attach(owner, inode)),
            Role::Wal => {
                let database = path.strip_suffix("-wal").and_then(|path| disk.inode_of(path));
                let place = database.and_then(|inode| state.find(owner, inode));
                if let Some(place) = place {
                    state.at(place).references += 1;
                }
                place
            }
            Role::Other => None,
        };
        Ok(Handle { inode, attachment, ..self.handle(fd) })
    }

    fn number(&self, file: &Handle) -> u64 {
        u64::from(file.fd.0)
    }

    fn path(&self) -> &str {
        self.path.unwrap_or_default()
    }

    fn object(&self, file: &Handle) -> Option<u64> {
        Some(file.inode.0)
    }
}

impl OpenFile<'_> {
    fn handle(&self, fd: Fd) -> Handle {
        Handle {
            fd,
            inode: crate::sys::disk::InodeId(0),
            role: self.role,
            flags: self.flags,
            attachment: None,
            level: database_lock::NONE,
            slots_shared: 0,
            slots_exclusive: 0,
            shared_inode: None,
            regions: None,
        }
    }

    fn unnamed(&self, disk: &mut Disk, owner: Owner) -> Result<Handle, Errno> {
        let fd = disk.open_unnamed(owner)?;
        Ok(Handle { inode: disk.inode_of_fd(owner, fd)?, ..self.handle(fd) })
    }

    /// A descriptor of the same file, opened the same way, that was kept for the sake of a lock.
    fn unused(&self, disk: &Disk, state: &mut State, owner: Owner, path: &str) -> Option<Fd> {
        if self.role != Role::Database {
            return None;
        }
        let place = state.find(owner, disk.inode_of(path)?)?;
        let unused = &mut state.at(place).unused;
        let fitting = unused.iter().position(|(_, flags)| *flags == self.flags)?;
        Some(unused.remove(fitting).0)
    }
}

/// xClose
pub(super) struct CloseFile<'a> {
    pub(super) file: &'a mut Handle,
    pub(super) path: &'a str,
}

impl VfsCall for CloseFile<'_> {
    type Value = ();

    fn header(&self) -> Header {
        Header::new(CallKind::Close, self.file.inode.0, [u64::from(self.file.fd.0), 0])
    }

    fn on(&mut self, disk: &mut Disk, state: &mut State, owner: Owner) -> Result<(), Errno> {
        let Some(place) = self.file.attachment else { return disk.close(owner, self.file.fd) };
        if self.file.role == Role::Database {
            // Nothing to do after an orderly close; after code was cut off there is.
            shared_lock::release_all(disk, state, owner, self.file)?;
            shared_memory::unmap(disk, state, owner, self.file, self.path, false)?;
            database_lock::unlock(disk, state, owner, self.file, database_lock::NONE)?;
        }
        let attachment = state.at(place);
        let others_hold_locks = self.file.role == Role::Database && attachment.shared > 0;
        if others_hold_locks {
            attachment.unused.push((self.file.fd, self.file.flags));
        }
        state.detach(place);
        self.file.attachment = None;
        if others_hold_locks { Ok(()) } else { disk.close(owner, self.file.fd) }
    }

    fn number(&self, (): &()) -> u64 {
        0
    }
}

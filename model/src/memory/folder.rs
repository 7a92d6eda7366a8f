//! The folder of the memories' files. Whoever writes there holds a shared lock from before its file appears until its transaction has ended; whoever sweeps
//! holds the exclusive one. So a sweeper never sees a file whose writer could still seal it.
//!
//! The lock is an flock on a side-car that is never replaced; it goes with its holder's life.

use super::Digest;
use crate::config::Config;
use crate::file::{FileError, read_whole, replace, replace_volatile};
use crate::lock::Backoff;
use crate::mutant::{Mutant, is};
use seedstorm_sim::sys::{File, LockMode, OpenFlags};
use seedstorm_sim::{Errno, Sys};
use std::cell::Cell;

/// The folder.
#[derive(Clone, Debug)]
pub struct Folder {
    path: String,
    side_car: String,
    timeout_ns: u64,
    mutant: Option<Mutant>,
}

/// The right to write memories. Keep it until the transaction that seals them has ended; dropping it gives it back.
pub struct Writing {
    path: String,
    mutant: Option<Mutant>,
    _side_car: File,
}

/// The right to sweep: nobody is writing. Dropping it gives it back.
pub struct Sweeping {
    path: String,
    _side_car: File,
}

impl Folder {
    /// The folder that a configuration says.
    pub fn new(config: &Config) -> Folder {
        let side_car = format!("{}/memories", config.locks());
        Folder { path: config.memories(), side_car, timeout_ns: config.lock_timeout_ns, mutant: config.mutant }
    }

    /// Where the file of a memory stands.
    pub fn path_of(&self, memory: &Digest) -> String {
        format!("{}/{memory}", self.path)
    }

    /// Begins to write: waits for a sweeper, if there is one.
    ///
    /// # Errors
    /// [`FileError::FolderBusy`], or what the system says.
    pub async fn open(&self, sys: &Sys) -> Result<Writing, FileError> {
        let side_car = self.side_car(sys).await?;
        let since_ns = sys.monotonic_ns();
        let mut backoff = Backoff::short();
        loop {
            match side_car.try_lock(LockMode::Shared).await {
                Ok(()) => return Ok(Writing { path: self.path.clone(), mutant: self.mutant, _side_car: side_car }),
                Err(Errno::WouldBlock) => {}
                Err(error) => return Err(FileError::no_effect("flock", &self.side_car, error)),
            }
            let waited_ns = sys.monotonic_ns() - since_ns;
            if waited_ns >= self.timeout_ns || sys.is_terminating() {
                return Err(FileError::FolderBusy { path: self.path.clone(), waited_ns });
            }
            // A sleep that a signal cuts short is a shorter one.
            let _ = sys.sleep(backoff.next_within_ns(self.timeout_ns - waited_ns, &mut sys.entropy())).await;
        }
    }

    /// Begins to sweep; `None` if somebody is writing.
    ///
    /// # Errors
    /// What the system says.
    pub async fn try_sweep(&self, sys: &Sys) -> Result<Option<Sweeping>, FileError> {
        let side_car = self.side_car(sys).await?;
        match side_car.try_lock(LockMode::Exclusive).await {
            Ok(()) => Ok(Some(Sweeping { path: self.path.clone(), _side_car: side_car })),
            Err(Errno::WouldBlock) => Ok(None),
            Err(error) => Err(FileError::no_effect("flock", &self.side_car, error)),
        }
    }

    async fn side_car(&self, sys: &Sys) -> Result<File, FileError> {
        let opened = sys.open(&self.side_car, OpenFlags::READ_WRITE.create()).await;
        opened.map_err(|error| FileError::no_effect("open", &self.side_car, error))
    }

    /// The memories that have files, whole or not, in the order of their digests.
    ///
    /// # Errors
    /// What readdir(3) says.
    pub async fn list(&self, sys: &Sys) -> Result<Vec<Digest>, FileError> {
        let names = sys.read_dir(&self.path).await;
        let names = names.map_err(|error| FileError::no_effect("readdir", &self.path, error))?;
        let mut memories: Vec<Digest> = names.iter().filter_map(|name| name.parse().ok()).collect();
        memories.sort_unstable();
        Ok(memories)
    }

    /// What is wrong with a memory's file; `None` if it holds what its name says.
    ///
    /// # Errors
    /// What the system says. An I/O error is no damage: the file may be whole.
    pub(super) async fn damage(&self, sys: &Sys, memory: &Digest) -> Result<Option<&'static str>, FileError> {
        let trusts_names = is(self.mutant, Mutant::VerificationTrustsNames);
        let is_whole = Cell::new(false);
        // Bytes with this digest are all: nothing stands behind them.
        let is_all = |bytes: &[u8]| {
            is_whole.set(Digest::of(bytes) == *memory);
            is_whole.get()
        };
        let Some(bytes) = read_whole(sys, &self.path_of(memory), is_all).await? else {
            return Ok(Some("it is missing"));
        };
        // What ends where a read does has not been looked at.
        let is_whole = is_whole.get() || trusts_names || Digest::of(&bytes) == *memory;
        Ok((!is_whole).then_some("it holds something else than what was sealed"))
    }
}

impl Writing {
    /// Writes a memory, durably: when it returns success, no crash takes the file away. One that is there is written once more, since whoever wrote it may
    /// have died before it was durable; that heals a damaged one, too. Gives what to seal.
    ///
    /// # Errors
    /// As [`replace`].
    pub async fn write(&self, sys: &Sys, bytes: &[u8]) -> Result<Digest, FileError> {
        let memory = Digest::of(bytes);
        let path = format!("{}/{memory}", self.path);
        if is(self.mutant, Mutant::MemoryNotDurable) {
            replace_volatile(sys, &path, &path, bytes).await?;
        } else {
            replace(sys, &path, bytes).await?;
        }
        Ok(memory)
    }
}

impl Sweeping {
    /// Removes an orphan. Before that, ask the store whether it is one in a transaction that writes and has been committed since this right was had: what
    /// a dead process had written to the WAL and never committed is overwritten by then, and can't come back and seal what is gone.
    ///
    /// # Errors
    /// What unlink(2) says.
    pub async fn remove(&self, sys: &Sys, orphan: &Digest) -> Result<(), FileError> {
        let path = format!("{}/{orphan}", self.path);
        // It needn't be durable: an orphan that a crash brings back harms nobody.
        sys.unlink(&path).await.map_err(|error| FileError::no_effect("unlink", &path, error))
    }
}

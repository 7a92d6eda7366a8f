//! Temporary files: unique names, created exclusively, that carry the identity of their owner, so that a sweeper takes only what the dead left.

use super::FileError;
use crate::identity::ProcessIdentity;
use crate::mutant::{Mutant, is};
use seedstorm_sim::sys::{File, OpenFlags};
use seedstorm_sim::{Draw, Errno, Sys};

/// What stands between a file's name and its temporary file's own part.
const MARK: &str = ".tmp.";

/// A temporary file that is being written.
pub struct Temporary {
    /// Its path.
    pub path: String,
    file: File,
}

impl Temporary {
    /// Creates a temporary file beside `path`, for this process alone.
    ///
    /// # Errors
    /// What open(2) says.
    pub async fn beside(sys: &Sys, path: &str) -> Result<Temporary, FileError> {
        let unique = sys.entropy().bits();
        let path = format!("{path}{MARK}{}.{unique:016x}", ProcessIdentity::of(sys));
        Temporary::at(sys, path).await
    }

    /// As [`Temporary::beside`], for code that may carry a planted bug.
    pub(crate) async fn beside_as(sys: &Sys, path: &str, mutant: Option<Mutant>) -> Result<Temporary, FileError> {
        if !is(mutant, Mutant::FixedTemporaryName) {
            return Temporary::beside(sys, path).await;
        }
        Temporary::over(sys, format!("{path}.tmp")).await
    }

    /// Opens a file of exactly this name, and empties it if it is there.
    pub(super) async fn over(sys: &Sys, path: String) -> Result<Temporary, FileError> {
        let opened = sys.open(&path, OpenFlags::WRITE.create().truncate()).await;
        let file = opened.map_err(|error| FileError::no_effect("open", &path, error))?;
        Ok(Temporary { path, file })
    }

    /// Creates a file of exactly this name.
    ///
    /// # Errors
    /// What open(2) says: EEXIST if the name is taken.
    pub(crate) async fn at(sys: &Sys, path: String) -> Result<Temporary, FileError> {
        let opened = sys.open(&path, OpenFlags::WRITE.create_exclusive()).await;
        let file = opened.map_err(|error| FileError::no_effect("open", &path, error))?;
        Ok(Temporary { path, file })
    }

    /// Writes everything, in as many calls as it takes.
    ///
    /// # Errors
    /// ENOSPC, EIO. A part may be in the file: remove it.
    pub async fn write(&self, mut bytes: &[u8]) -> Result<(), FileError> {
        while !bytes.is_empty() {
            match self.file.write(bytes).await {
                Ok(written) => bytes = &bytes[written..],
                Err(Errno::Interrupted) => {}
                Err(error) => return Err(FileError::no_effect("write", &self.path, error)),
            }
        }
        Ok(())
    }

    /// Makes the content durable.
    ///
    /// # Errors
    /// EIO: the content may be lost, and a second fsync wouldn't say so. Remove the file.
    pub async fn sync(&self) -> Result<(), FileError> {
        self.file.sync().await.map_err(|error| FileError::no_effect("fsync", &self.path, error))
    }

    /// Closes it; the file stays.
    ///
    /// # Errors
    /// What close(2) says.
    pub async fn close(self) -> Result<String, FileError> {
        self.file.close().await.map_err(|error| FileError::no_effect("close", &self.path, error))?;
        Ok(self.path)
    }

    /// Closes and removes it. What can't be removed now is swept after this process's death.
    pub async fn remove(self, sys: &Sys) {
        if let Ok(path) = self.close().await {
            remove(sys, &path).await;
        }
    }
}

/// Removes a temporary file. What can't be removed now is swept after its owner's death.
pub(crate) async fn remove(sys: &Sys, path: &str) {
    if let Err(error) = sys.unlink(path).await {
        tracing::debug!(path, %error, "a temporary file stays");
    }
}

/// The owner of the temporary file of that name; `None` for other files.
pub fn temporary_owner(name: &str) -> Option<ProcessIdentity> {
    let (_, own) = name.rsplit_once(MARK)?;
    let (owner, _) = own.split_once('.')?;
    owner.parse().ok()
}

/// Removes the temporary files in a directory whose owners are dead; those of the living are in use. Gives how many it removed.
///
/// # Errors
/// What readdir(3) says.
pub async fn sweep(sys: &Sys, directory: &str) -> Result<usize, FileError> {
    sweep_as(sys, directory, None).await
}

/// As [`sweep`], for code that may carry a planted bug.
pub(crate) async fn sweep_as(sys: &Sys, directory: &str, mutant: Option<Mutant>) -> Result<usize, FileError> {
    let names = sys.read_dir(directory).await.map_err(|error| FileError::no_effect("readdir", directory, error))?;
    let mut removed = 0;
    for name in names {
        let Some(owner) = temporary_owner(&name) else { continue };
        // A name is used once, so what is judged here is what is removed; another sweeper may have been faster.
        let is_dead = !owner.is_alive(sys, None).await || is(mutant, Mutant::SweeperReapsLive);
        if is_dead && sys.unlink(&format!("{directory}/{name}")).await.is_ok() {
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_their_owner() {
        let owner = ProcessIdentity { pid: 7, started_ns: 99, boot_id: 3 };
        assert_eq!(temporary_owner(&format!("board{MARK}{owner}.00000000000000aa")), Some(owner));
        assert_eq!(temporary_owner("board"), None);
        assert_eq!(temporary_owner("board.tmp.anything.1"), None, "somebody else's file is none of our business");
    }
}

//! Loading a file that was sealed: absent, damaged and whole are three different things, and a damaged file is kept, never saved over.

use super::envelope::{has_its_length, unseal};
use super::{Damage, FileError};
use crate::identity::ProcessIdentity;
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::{Draw, Errno, Sys};
use serde::de::DeserializeOwned;

/// What was found at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loaded<T> {
    /// Nothing: the file has never been written.
    Absent,
    /// A file that is damaged. Don't write there before it is out of the way: see [`quarantine`].
    Damaged(Damage),
    /// A whole value.
    Whole(T),
}

/// Loads what [`super::seal`] and [`super::replace`] wrote.
///
/// # Errors
/// What the system says. An I/O error is no damage: the file may be whole.
pub async fn load<T: DeserializeOwned>(sys: &Sys, path: &str) -> Result<Loaded<T>, FileError> {
    Ok(match read_sealed(sys, path).await? {
        None => Loaded::Absent,
        Some(bytes) => unseal(&bytes).map_or_else(Loaded::Damaged, Loaded::Whole),
    })
}

/// All bytes of a file that was sealed, `None` if it is absent. Its header tells where it ends.
pub(crate) async fn read_sealed(sys: &Sys, path: &str) -> Result<Option<Vec<u8>>, FileError> {
    read_whole(sys, path, has_its_length).await
}

/// What one read asks for, in bytes.
const READ_BYTES: usize = 8192;

/// All bytes of a file, `None` if it is absent. A read that gives less than it could stands at the end, or a signal has cut it short (read(2)): only another
/// one that gives nothing tells, unless the bytes themselves say that they are all.
pub(crate) async fn read_whole(
    sys: &Sys,
    path: &str,
    is_all: impl Fn(&[u8]) -> bool,
) -> Result<Option<Vec<u8>>, FileError> {
    let file = match sys.open(path, OpenFlags::READ).await {
        Ok(file) => file,
        Err(Errno::NoEntry) => return Ok(None),
        Err(error) => return Err(FileError::no_effect("open", path, error)),
    };
    let mut bytes = Vec::new();
    loop {
        match file.read_onto(&mut bytes, READ_BYTES).await {
            Ok(read) if read == 0 || read < READ_BYTES && is_all(&bytes) => break,
            Ok(_) | Err(Errno::Interrupted) => {}
            Err(error) => return Err(FileError::no_effect("read", path, error)),
        }
    }
    file.close().await.map_err(|error| FileError::no_effect("close", path, error))?;
    Ok(Some(bytes))
}

/// Moves a damaged file out of the way, under a unique name: its bytes still exist for whoever wants to look. Gives the new path.
///
/// Call it under the lock that guards the file: otherwise a repaired file could be moved away instead.
///
/// # Errors
/// What rename(2) says.
pub async fn quarantine(sys: &Sys, path: &str) -> Result<String, FileError> {
    let unique = sys.entropy().bits();
    let kept = format!("{path}.corrupt.{}.{unique:016x}", ProcessIdentity::of(sys));
    sys.rename(path, &kept).await.map_err(|error| FileError::no_effect("rename", path, error))?;
    tracing::warn!(path, kept, "a damaged file was put aside");
    Ok(kept)
}

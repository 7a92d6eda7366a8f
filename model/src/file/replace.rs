//! Replacing a file atomically: a reader sees the whole old or the whole new content, also after a crash.

use super::FileError;
use super::temporary::{Temporary, remove};
use crate::mutant::{Mutant, is};
use seedstorm_sim::{Errno, Sys};

/// Replaces a file's content, durably. When it returns success, no crash takes the new content back.
///
/// The order is the point: the content is durable before the rename publishes it (or a crash could leave the name with nothing behind
/// it), and the directory after it (or a crash could leave the old content after we said that it is the new).
///
/// # Errors
/// [`FileError::NoEffect`], or [`FileError::NotDurable`] when only the last step failed.
pub async fn replace(sys: &Sys, path: &str, bytes: &[u8]) -> Result<(), FileError> {
    replace_as(sys, path, bytes, None).await
}

/// As [`replace`], for code that may carry a planted bug.
pub(crate) async fn replace_as(sys: &Sys, path: &str, bytes: &[u8], mutant: Option<Mutant>) -> Result<(), FileError> {
    if is(mutant, Mutant::TruncateInPlace) {
        let file = Temporary::over(sys, path.to_owned()).await?;
        write_durably(&file, bytes).await?;
        file.close().await?;
        return sync_parent(sys, path).await;
    }
    let temporary = Temporary::beside(sys, path).await?;
    let written = if is(mutant, Mutant::NoSyncBeforeRename) {
        temporary.write(bytes).await
    } else {
        write_durably(&temporary, bytes).await
    };
    if let Err(error) = written {
        temporary.remove(sys).await;
        return Err(error);
    }
    publish(sys, temporary, path).await?;
    if is(mutant, Mutant::NoDirectorySync) {
        return Ok(());
    }
    sync_parent(sys, path).await
}

/// As [`replace`], for content that means nothing after a crash of the machine: atomic for readers, not durable. The temporary file stands
/// beside another path, in a directory that is swept.
pub(crate) async fn replace_volatile(sys: &Sys, beside: &str, path: &str, bytes: &[u8]) -> Result<(), FileError> {
    let temporary = Temporary::beside(sys, beside).await?;
    if let Err(error) = temporary.write(bytes).await {
        temporary.remove(sys).await;
        return Err(error);
    }
    publish(sys, temporary, path).await
}

pub(crate) async fn write_durably(temporary: &Temporary, bytes: &[u8]) -> Result<(), FileError> {
    temporary.write(bytes).await?;
    temporary.sync().await
}

async fn publish(sys: &Sys, temporary: Temporary, path: &str) -> Result<(), FileError> {
    let temporary = temporary.close().await?;
    let renamed = sys.rename(&temporary, path).await;
    if let Err(error) = renamed {
        remove(sys, &temporary).await;
        return Err(FileError::no_effect("rename", path, error));
    }
    Ok(())
}

/// Makes a directory, durably, unless it is there.
///
/// # Errors
/// What mkdir(2) and fsync(2) say.
pub async fn create_directory(sys: &Sys, path: &str) -> Result<(), FileError> {
    create_directories(sys, &[path]).await
}

/// Makes directories in this order, durably, those that aren't there. What they are in is synced once.
///
/// # Errors
/// What mkdir(2) and fsync(2) say.
pub async fn create_directories(sys: &Sys, paths: &[&str]) -> Result<(), FileError> {
    for path in paths {
        match sys.mkdir(path).await {
            // Its maker may have died before it was durable: whoever finds it makes sure.
            Ok(()) | Err(Errno::Exists) => {}
            Err(error) => return Err(FileError::no_effect("mkdir", path, error)),
        }
    }
    for (index, path) in paths.iter().enumerate() {
        if !paths[..index].iter().any(|earlier| parent(earlier) == parent(path)) {
            sync_parent(sys, path).await?;
        }
    }
    Ok(())
}

async fn sync_parent(sys: &Sys, path: &str) -> Result<(), FileError> {
    sys.sync_dir(parent(path)).await.map_err(|source| FileError::NotDurable { path: path.to_owned(), source })
}

/// The directory that a path is in.
fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((parent, _)) => parent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents() {
        for (path, expected) in [("/swarm/a", "/swarm"), ("/swarm", "/"), ("/a/b/c", "/a/b")] {
            assert_eq!(parent(path), expected);
        }
    }
}

//! Why a file operation failed, and what is known of the file then.

use super::Damage;
use seedstorm_sim::Errno;

/// Why a file operation failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// It had no effect.
    #[error("{path}: {step}: {source}")]
    NoEffect {
        /// What was tried: a system call, in its own words.
        step: &'static str,
        /// On what.
        path: String,
        /// What the system said.
        source: Errno,
    },
    /// The new content is in place, and a crash may still take it back: say neither yes nor no before the file has been replaced again.
    ///
    /// Calling fsync once more proves nothing: Linux reports a failed write-back once, and counts the pages as clean from then on.
    #[error("{path}: replaced, but not known to be durable: {source}")]
    NotDurable {
        /// The file.
        path: String,
        /// What fsync of the directory said.
        source: Errno,
    },
    /// A value that can't be written down.
    #[error("{path}: {source}")]
    Value {
        /// The file.
        path: String,
        /// Why.
        source: Damage,
    },
    /// The lease under which the write was to happen has passed to another.
    #[error("{path}: token {token} is too old, token {newest} has been here")]
    Fenced {
        /// The file.
        path: String,
        /// The writer's token.
        token: u64,
        /// The highest that the file has seen.
        newest: u64,
    },
    /// Somebody stays at the file's fence for longer than we may wait.
    #[error("{path}: its fence was busy for {waited_ns} ns")]
    FenceBusy {
        /// The file.
        path: String,
        /// How long we waited.
        waited_ns: u64,
    },
    /// Somebody sweeps a folder for longer than we may wait.
    #[error("{path}: the folder was busy for {waited_ns} ns")]
    FolderBusy {
        /// The folder.
        path: String,
        /// How long we waited.
        waited_ns: u64,
    },
}

impl FileError {
    pub(crate) fn no_effect(step: &'static str, path: &str, source: Errno) -> FileError {
        FileError::NoEffect { step, path: path.to_owned(), source }
    }

    /// Whether the disk is full.
    pub fn is_disk_full(&self) -> bool {
        matches!(
            self,
            FileError::NoEffect { source: Errno::NoSpace, .. } | FileError::NotDurable { source: Errno::NoSpace, .. }
        )
    }

    /// Whether the new content may be in place.
    pub fn may_have_taken_effect(&self) -> bool {
        matches!(self, FileError::NotDurable { .. })
    }
}

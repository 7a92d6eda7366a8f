//! Why a lock was not acquired: typed, retryable or not, and with the holder's name.

use super::{LockName, OwnerRecord};
use crate::file::FileError;
use seedstorm_sim::Errno;
use std::fmt;

/// Who holds a lock, as far as one can tell from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Holder {
    /// Nobody has said.
    #[default]
    Unknown,
    /// It has left its record.
    Process(Box<OwnerRecord>),
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Unknown => f.write_str("an unknown holder"),
            Holder::Process(record) => record.fmt(f),
        }
    }
}

/// Why a lock was not acquired or not released.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// It was held for as long as we would wait. Try again later: nothing is wrong.
    #[error("lock `{lock}` was not free within {waited_ns} ns and {attempts} attempts: held by {holder}{}", last_words(.last))]
    TimedOut {
        /// The lock.
        lock: LockName,
        /// Who holds it.
        holder: Holder,
        /// How long we waited, in nanoseconds.
        waited_ns: u64,
        /// How often we tried.
        attempts: u32,
        /// What the system said last, if attempts failed for another reason than a holder.
        last: Option<(&'static str, Errno)>,
    },
    /// The process is asked to end: it waits for nothing more.
    #[error("lock `{lock}`: the process is asked to end")]
    Terminating {
        /// The lock.
        lock: LockName,
    },
    /// The process holds this lock already. Waiting would be for ever.
    #[error("lock `{lock}` is already held by this process")]
    ReEntered {
        /// The lock.
        lock: LockName,
    },
    /// The process holds a lock that comes later in the fixed order. Waiting could be for ever.
    #[error("lock `{lock}` must be acquired before `{held}`, which this process holds already")]
    OutOfOrder {
        /// The lock that was asked for.
        lock: LockName,
        /// The lock that it comes before.
        held: LockName,
    },
    /// The system refused a call. On release: the lock may still be held.
    #[error("lock `{lock}`: {step}: {source}")]
    System {
        /// The lock.
        lock: LockName,
        /// The call.
        step: &'static str,
        /// What the system said.
        source: Errno,
    },
}

impl LockError {
    /// A file operation of a lock's own has failed.
    pub(super) fn of_file(lock: &LockName, error: &FileError) -> LockError {
        let (step, source) = match error {
            FileError::NoEffect { step, source, .. } => (*step, *source),
            FileError::NotDurable { source, .. } => ("fsync", *source),
            FileError::Value { .. }
            | FileError::Fenced { .. }
            | FileError::FenceBusy { .. }
            | FileError::FolderBusy { .. } => ("file", Errno::Invalid),
        };
        LockError::System { lock: lock.clone(), step, source }
    }
}

fn last_words(last: &Option<(&'static str, Errno)>) -> String {
    last.as_ref().map_or_else(String::new, |(step, error)| format!("; {step} failed last: {error}"))
}

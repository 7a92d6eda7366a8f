//! What can go wrong in SQLite, sorted by what to do about it (sqlite.org/rescode.html).

use crate::mutant::{Mutant, is};
use rusqlite::ffi;

/// An error that no retry heals and nobody expects: damage, a broken constraint, a bug.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {source}")]
pub struct StoreError {
    /// What was tried.
    pub step: &'static str,
    /// What SQLite said.
    pub source: rusqlite::Error,
}

/// What to do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Somebody else was there: do the whole transaction again, a little later. Nothing has happened.
    Again,
    /// The disk is full: do the whole transaction again, with a new connection. Nothing has happened.
    MakeRoom,
    /// The disk failed: as above.
    Reopen,
    /// COMMIT failed, and may have taken effect all the same: look before doing it again.
    Look,
    /// None.
    None,
}

/// A failed attempt.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(super) remedy: Remedy,
    pub(super) step: &'static str,
    pub(super) source: rusqlite::Error,
}

impl Trouble {
    /// Sorts an error of any statement but COMMIT.
    pub(super) fn of(step: &'static str, source: rusqlite::Error, mutant: Option<Mutant>) -> Trouble {
        let remedy = match source.sqlite_error().map(|error| error.extended_code) {
            // A deferred transaction that trusts the busy timeout doesn't know this one: it comes at once, and no waiting heals it.
            Some(ffi::SQLITE_BUSY_SNAPSHOT) if is(mutant, Mutant::DeferredTransaction) => Remedy::None,
            Some(code) => remedy(code),
            None => Remedy::None,
        };
        Trouble { remedy, step, source }
    }

    /// Somebody else's turn: as if SQLite had said that it is busy.
    pub(super) fn busy(step: &'static str) -> Trouble {
        let source = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_BUSY), None);
        Trouble { remedy: Remedy::Again, step, source }
    }

    /// Sorts an error of COMMIT.
    pub(super) fn of_commit(source: rusqlite::Error) -> Trouble {
        let code = source.sqlite_error().map(|error| error.extended_code);
        let remedy = match code.map(remedy) {
            // A busy COMMIT leaves the transaction as it was: it has not happened.
            Some(Remedy::Again) => Remedy::Again,
            Some(Remedy::None) | None => Remedy::None,
            Some(_) => Remedy::Look,
        };
        Trouble { remedy, step: "COMMIT", source }
    }

    /// Whether the connection may be in a state that nobody knows. A new one reads everything afresh.
    pub(super) fn spoils_connection(&self) -> bool {
        self.remedy != Remedy::Again
    }
}

fn remedy(extended_code: i32) -> Remedy {
    match extended_code & 0xFF {
        // PROTOCOL: too many lost races for the WAL's locks. SCHEMA: somebody made the tables just now.
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED | ffi::SQLITE_PROTOCOL | ffi::SQLITE_SCHEMA => Remedy::Again,
        ffi::SQLITE_FULL => Remedy::MakeRoom,
        ffi::SQLITE_IOERR | ffi::SQLITE_CANTOPEN => Remedy::Reopen,
        _ => Remedy::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
    }

    #[test]
    fn errors_are_sorted_by_their_remedy() {
        let check = |code, expected| assert_eq!(Trouble::of("test", failure(code), None).remedy, expected, "{code}");
        check(ffi::SQLITE_BUSY, Remedy::Again);
        check(ffi::SQLITE_BUSY_SNAPSHOT, Remedy::Again);
        check(ffi::SQLITE_FULL, Remedy::MakeRoom);
        check(ffi::SQLITE_IOERR_FSYNC, Remedy::Reopen);
        check(ffi::SQLITE_CONSTRAINT_PRIMARYKEY, Remedy::None);
        check(ffi::SQLITE_CORRUPT, Remedy::None);
    }

    #[test]
    fn a_failed_commit_is_neither_yes_nor_no() {
        assert_eq!(Trouble::of_commit(failure(ffi::SQLITE_IOERR_FSYNC)).remedy, Remedy::Look);
        assert_eq!(Trouble::of_commit(failure(ffi::SQLITE_FULL)).remedy, Remedy::Look);
        assert_eq!(Trouble::of_commit(failure(ffi::SQLITE_BUSY)).remedy, Remedy::Again);
    }
}

//! What a client of sqlite-wal does about an error of SQLite (sqlite.org/rescode.html).

use rusqlite::{Connection, ffi};

/// A failed attempt, by what to do about it.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Somebody else was there: try again, a little later. Nothing has happened.
    Busy,
    /// The transaction has a snapshot that is no longer the latest, and can't write: try again from its beginning, at once. Nothing has happened.
    Stale,
    /// The disk failed or is full: try again, on a new connection. Nothing has happened.
    Disk,
    /// COMMIT failed: the transaction may have happened all the same. Try again, on a new connection, and look first.
    Unsettled,
    /// The database is damaged: SQLite says so, or what it returns can't be.
    Damaged(String),
    /// Anything else: a bug of the client's.
    Unexpected(rusqlite::Error),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Trouble {
        let code = error.sqlite_error().map(|error| error.extended_code);
        if code == Some(ffi::SQLITE_BUSY_SNAPSHOT) {
            return Trouble::Stale;
        }
        match code.map(|code| code & 0xFF) {
            // PROTOCOL: too many lost races for the WAL's locks. SCHEMA: somebody made the tables just now.
            Some(ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED | ffi::SQLITE_PROTOCOL | ffi::SQLITE_SCHEMA) => Trouble::Busy,
            Some(ffi::SQLITE_FULL | ffi::SQLITE_IOERR | ffi::SQLITE_CANTOPEN) => Trouble::Disk,
            // No client breaks a constraint by itself: an index and its table disagree.
            Some(ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB | ffi::SQLITE_CONSTRAINT) => {
                Trouble::Damaged(error.to_string())
            }
            Some(_) => Trouble::Unexpected(error),
            // A row that always is there isn't, or holds what nobody wrote.
            None => Trouble::Damaged(error.to_string()),
        }
    }
}

impl Trouble {
    /// Sorts an error of COMMIT.
    pub(super) fn of_commit(error: rusqlite::Error) -> Trouble {
        match Trouble::from(error) {
            // A busy COMMIT leaves the transaction as it was: it has not happened.
            Trouble::Disk => Trouble::Unsettled,
            other => other,
        }
    }

    /// Sorts what integrity_check says that isn't `ok`. A page that it could not read is no damage: the disk failed it, once.
    pub(super) fn of_check(found: String) -> Trouble {
        // Its words for it: the extended code stands behind them (SQLite's btree.c, checkTreePage).
        let code = found.rsplit_once("error code=").and_then(|(_, code)| code.trim().parse::<i32>().ok());
        match code {
            Some(code) if code & 0xFF == ffi::SQLITE_IOERR => Trouble::Disk,
            _ => Trouble::Damaged(found),
        }
    }

    /// An error that nobody expects may come of damage, such as a table that is gone: SQLite is asked.
    pub(super) fn examined(self, connection: Option<&Connection>) -> Trouble {
        let (Trouble::Unexpected(error), Some(connection)) = (&self, connection) else { return self };
        let found: rusqlite::Result<String> = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0));
        match found {
            Ok(found) if found != "ok" => match Trouble::of_check(found) {
                Trouble::Damaged(found) => Trouble::Damaged(format!("{error}; {found}")),
                _ => self,
            },
            _ => self,
        }
    }

    /// Whether the connection may be in a state that nobody knows.
    pub(super) fn spoils_connection(&self) -> bool {
        !matches!(self, Trouble::Busy | Trouble::Stale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_could_not_be_read_is_no_damage() {
        let found =
            |code: i32| format!("*** in database main ***\nTree 5 page 5: unable to get the page. error code={code}");
        assert!(matches!(Trouble::of_check(found(ffi::SQLITE_IOERR_READ)), Trouble::Disk));
        assert!(matches!(Trouble::of_check(found(ffi::SQLITE_CORRUPT)), Trouble::Damaged(_)));
        assert!(matches!(Trouble::of_check("Page 3: never used".to_owned()), Trouble::Damaged(_)));
    }

    #[test]
    fn errors_are_sorted_by_what_to_do() {
        let failure = |code| rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        assert!(matches!(Trouble::from(failure(ffi::SQLITE_BUSY_SNAPSHOT)), Trouble::Stale));
        assert!(matches!(Trouble::from(failure(ffi::SQLITE_LOCKED)), Trouble::Busy));
        assert!(matches!(Trouble::from(failure(ffi::SQLITE_IOERR_FSYNC)), Trouble::Disk));
        assert!(matches!(Trouble::from(failure(ffi::SQLITE_CORRUPT)), Trouble::Damaged(_)));
        assert!(matches!(Trouble::from(rusqlite::Error::QueryReturnedNoRows), Trouble::Damaged(_)));
        assert!(matches!(Trouble::from(failure(ffi::SQLITE_MISUSE)), Trouble::Unexpected(_)));
    }

    #[test]
    fn a_failed_commit_is_neither_yes_nor_no() {
        let failure = |code| rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        assert!(matches!(Trouble::of_commit(failure(ffi::SQLITE_IOERR_FSYNC)), Trouble::Unsettled));
        assert!(matches!(Trouble::of_commit(failure(ffi::SQLITE_BUSY)), Trouble::Busy));
    }
}

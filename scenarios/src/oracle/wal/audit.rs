//! What stands in the database of sqlite-wal, read on a copy of the disk. What must stand there is judged in `commits_kept` and `effect_once`.

use crate::oracle::reading::PerEvent;
use crate::wal::content::Contents;
use crate::wal::schema::DATABASE;
use rusqlite::{Connection, OpenFlags};
use seedstorm_sim::View;
use seedstorm_sim::sqlite::inspect;
use seedstorm_sim::sys::disk::Disk;
use std::rc::Rc;

/// The content of the database.
#[derive(Debug)]
pub(super) struct Audit {
    /// What integrity_check found.
    pub(super) problems: Vec<String>,
    /// What a client would read.
    pub(super) contents: Contents,
    /// By sequence, the first is 1: the operation of each transaction that the log has rows of.
    pub(super) commits: Vec<u64>,
}

/// An audit, or why there is none. SQLite's own words, when the database can't be read.
pub(super) type Reading = Result<Audit, String>;

impl Audit {
    /// Reads the database of a disk.
    ///
    /// # Errors
    /// SQLite's own words.
    pub(super) fn of(disk: &Disk) -> Reading {
        if disk.inode_of(DATABASE).is_none() {
            return Err("it is gone".into());
        }
        inspect(disk, || Audit::read().map_err(|error| error.to_string()))
    }

    fn read() -> rusqlite::Result<Audit> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(DATABASE, flags)?;
        let mut problems = Vec::new();
        super::super::audit::each(&connection, "PRAGMA integrity_check(3)", |row| {
            let found: String = row.get(0)?;
            if found != "ok" {
                problems.push(found);
            }
            Ok(())
        })?;
        let mut commits = Vec::new();
        let log = "SELECT sequence, operation FROM log ORDER BY id";
        let mut last = None;
        super::super::audit::each(&connection, log, |row| {
            let (sequence, operation): (i64, i64) = (row.get(0)?, row.get(1)?);
            if last != Some((sequence, operation)) {
                commits.push(operation as u64);
            }
            last = Some((sequence, operation));
            Ok(())
        })?;
        Ok(Audit { problems, contents: Contents::read(&connection)?, commits })
    }
}

/// Reads the database once for all who ask at the same event.
#[derive(Clone, Default)]
pub(super) struct Auditor(PerEvent<Rc<Reading>>);

impl Auditor {
    pub(super) fn read(&self, view: &View<'_>) -> Rc<Reading> {
        self.0.at(view, |_| Rc::new(Audit::of(view.disk())))
    }
}

//! The tables of sqlite-wal, and how a connection to them is opened. What is done with them is in `writing` and `looking`.

use crate::setting::MUTANT;
use rusqlite::{Connection, OpenFlags};
use seedstorm_model::mutant::Mutant;
use seedstorm_sim::Plan;
use std::time::Duration;

/// Where the database is.
pub const DATABASE: &str = "/wal.db";

/// How durable a commit is when it returns (sqlite.org/pragma.html#pragma_synchronous).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronous {
    /// It outlasts a power loss.
    Full,
    /// A power loss may take it back, with all that came after it.
    Normal,
}

impl Synchronous {
    /// What a plan's settings say.
    pub fn of(plan: &Plan) -> Synchronous {
        if plan.setting_str("synchronous") == Some("normal") { Synchronous::Normal } else { Synchronous::Full }
    }
}

/// What all connections of a run know.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) synchronous: Synchronous,
    pub(super) page_bytes: u64,
    pub(super) autocheckpoint_pages: u64,
    pub(super) cache_pages: u64,
    pub(super) busy_timeout_ms: u64,
    pub(super) slots: u64,
    pub(super) mutant: Option<Mutant>,
}

impl Config {
    pub(super) fn of(plan: &Plan) -> Config {
        Config {
            synchronous: Synchronous::of(plan),
            page_bytes: plan.setting_u64("page_bytes", 4_096),
            autocheckpoint_pages: plan.setting_u64("autocheckpoint_pages", 1_000),
            cache_pages: plan.setting_u64("cache_pages", 2_000),
            busy_timeout_ms: plan.setting_u64("busy_timeout_ms", 5_000),
            slots: plan.setting_u64("slots", 1).max(1),
            mutant: plan.setting_str(MUTANT).and_then(Mutant::parse),
        }
    }

    /// Whether this planted bug is on.
    pub(super) fn has(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// The slot that a commit overwrites.
    pub(super) fn slot(&self, sequence: u64) -> u64 {
        sequence % self.slots
    }

    /// Opens the database; makes an empty one if there is none. `only_reads`: the connection will never write.
    ///
    /// # Errors
    /// SQLite's.
    pub(super) fn open(&self, only_reads: bool) -> rusqlite::Result<Connection> {
        // One task uses a connection: SQLite needs no mutex of its own.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = if only_reads && self.has(Mutant::ReaderBelievesImmutable) {
            let name = format!("file:{DATABASE}?immutable=1");
            Connection::open_with_flags(name, flags | OpenFlags::SQLITE_OPEN_URI)?
        } else {
            Connection::open_with_flags(DATABASE, flags)?
        };
        connection.busy_timeout(Duration::from_millis(self.busy_timeout_ms))?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
        // The page size only counts while the database is empty, and must come before WAL.
        let settings = format!(
            "PRAGMA page_size = {}; PRAGMA cache_size = {}; PRAGMA wal_autocheckpoint = {}; PRAGMA synchronous = {}",
            self.page_bytes,
            self.cache_pages,
            self.autocheckpoint_pages,
            self.synchronous_pragma()
        );
        connection.execute_batch(&settings)?;
        Ok(connection)
    }

    fn synchronous_pragma(&self) -> &'static str {
        match self.synchronous {
            Synchronous::Full if self.has(Mutant::NormalForFull) => "NORMAL",
            Synchronous::Full => "FULL",
            Synchronous::Normal if self.has(Mutant::OffForNormal) => "OFF",
            Synchronous::Normal => "NORMAL",
        }
    }

    /// Makes the tables. Nobody else is there yet, and no fault.
    ///
    /// # Errors
    /// SQLite's.
    pub(super) fn prepare(&self) -> rusqlite::Result<()> {
        let connection = self.open(false)?;
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        // What stands here is promised whatever the seed's contract is.
        connection.execute_batch("PRAGMA synchronous = FULL")?;
        // No UNIQUE: that an operation has no two commits is for whoever commits it to see to.
        connection.execute_batch(
            "BEGIN IMMEDIATE;
             CREATE TABLE head (id INTEGER PRIMARY KEY, sequence INTEGER, operation INTEGER, asked INTEGER);
             INSERT INTO head VALUES (1, 0, 0, 0);
             CREATE TABLE log (id INTEGER PRIMARY KEY, sequence INTEGER, operation INTEGER, part INTEGER, content BLOB);
             CREATE INDEX log_by_operation ON log (operation, part);
             CREATE TABLE slots (slot INTEGER PRIMARY KEY, sequence INTEGER, operation INTEGER, content BLOB)",
        )?;
        for slot in 0..self.slots {
            connection.prepare_cached("INSERT INTO slots VALUES (?1, 0, 0, x'')")?.execute([slot as i64])?;
        }
        connection.execute_batch("COMMIT")
    }
}

/// Compiled statements that a connection keeps: all that there are.
const STATEMENTS_KEPT: usize = 32;

//! The connection: opened with the settings that the acknowledgement contract rests on, used on a coroutine, thrown away after an I/O error.

use super::error::{Remedy, StoreError, Trouble};
use super::transaction::run_cached;
use crate::claims::{BusyRetried, OperationKey, OutcomeUnknown};
use crate::config::Config;
use crate::lock::{Backoff, BackoffPolicy};
use crate::mutant::{Mutant, is};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use seedstorm_sim::sys::claim::Happened;
use seedstorm_sim::{Os, Sys};
use std::rc::Rc;
use std::time::Duration;

/// One agent's access to the database.
pub struct Store {
    pub(super) config: Rc<Config>,
    /// Open between two uses, unless an error spoilt it.
    connection: Option<Connection>,
    /// The operation whose COMMIT has failed and that has not been found or made since: nobody may call it refused.
    pub(super) unsettled: Option<OperationKey>,
}

/// What an agent does with a connection. It may be done more than once.
pub(super) type Work<T> = Rc<dyn Fn(&Os, &Connection) -> Result<T, Trouble>>;

impl Store {
    /// A store that opens its database when it is first used.
    pub fn new(config: Rc<Config>) -> Store {
        Store { config, connection: None, unsettled: None }
    }

    /// Does the work, again and again while that can help, a bounded number of times. The inner error is the last one's when it didn't.
    pub(super) async fn run<T: 'static>(
        &mut self,
        sys: &Sys,
        asked: Option<&OperationKey>,
        work: Work<T>,
    ) -> Result<Result<T, Trouble>, StoreError> {
        let mut backoff = Backoff::new(BackoffPolicy::DecorrelatedJitter, None);
        let mut attempt = 0;
        loop {
            attempt += 1;
            let trouble = match self.use_connection(sys, work.clone()).await {
                Ok(done) => return Ok(Ok(done)),
                Err(trouble) => trouble,
            };
            tracing::debug!(attempt, step = trouble.step, error = %trouble.source, "a transaction failed");
            match (trouble.remedy, asked) {
                (Remedy::None, _) => return Err(StoreError { step: trouble.step, source: trouble.source }),
                (Remedy::Again, Some(key)) => sys.claim(&BusyRetried { key: key.clone(), attempt }).await,
                (Remedy::Look, Some(key)) => {
                    self.unsettled = Some(key.clone());
                    sys.claim(&OutcomeUnknown { key: key.clone(), why: trouble.source.to_string() }).await;
                }
                (Remedy::MakeRoom, _) => sys.claim(&Happened { what: "disk_full_handled".into() }).await,
                (Remedy::Reopen, _) => sys.claim(&Happened { what: "reopened".into() }).await,
                (Remedy::Again | Remedy::Look, None) => {}
            }
            if attempt >= self.config.attempts_max || sys.is_terminating() {
                return Ok(Err(trouble));
            }
            // A sleep that a signal cuts short is a shorter one.
            let _ = sys.sleep(backoff.next_ns(&mut sys.entropy())).await;
        }
    }

    async fn use_connection<T: 'static>(&mut self, sys: &Sys, work: Work<T>) -> Result<T, Trouble> {
        let (kept, config) = (self.connection.take(), self.config.clone());
        let (connection, result) = sys
            .blocking(move |os| {
                let connection = match kept.map_or_else(|| open(&config), Ok) {
                    Ok(connection) => connection,
                    Err(trouble) => return (None, Err(trouble)),
                };
                let result = work(os, &connection);
                let stays_open = is(config.mutant, Mutant::TransactionLeftOpen)
                    || is(config.mutant, Mutant::SnapshotLeftOpen) && result.is_ok();
                if !connection.is_autocommit() && !stays_open {
                    // On every path: an open transaction would lock everybody out.
                    let _ = run_cached(&connection, "ROLLBACK");
                }
                let is_spoilt = matches!(&result, Err(trouble) if trouble.spoils_connection());
                let keep = !is_spoilt && (connection.is_autocommit() || stays_open);
                (keep.then_some(connection), result)
            })
            .await;
        self.connection = connection;
        result
    }

    /// Closes the connection. The last one to close checkpoints the WAL.
    pub async fn close(&mut self, sys: &Sys) {
        if let Some(connection) = self.connection.take() {
            sys.blocking(move |_| drop(connection)).await;
        }
    }
}

/// Compiled statements that a connection keeps: all that the engine has. Fewer would be compiled over and over.
const STATEMENTS_KEPT: usize = 64;

/// Opens the database; makes an empty one if there is none.
fn open(config: &Config) -> Result<Connection, Trouble> {
    let trouble = |step| move |error| Trouble::of(step, error, None);
    // One task uses a connection at a time: SQLite needs no mutex of its own.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(config.database(), flags).map_err(trouble("open"))?;
    // Plans then don't depend on bound values, and no statement is compiled anew for each of them (sqlite.org/c3ref/c_dbconfig_defensive.html).
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(trouble("db_config"))?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true).map_err(trouble("db_config"))?;
    connection.busy_timeout(Duration::from_nanos(config.busy_timeout_ns)).map_err(trouble("busy_timeout"))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    let synchronous = if is(config.mutant, Mutant::SynchronousNormal) { "NORMAL" } else { "FULL" };
    // The page size only counts while the database is empty, and must come before WAL.
    let settings = format!(
        "PRAGMA page_size = {}; PRAGMA cache_size = {}; PRAGMA wal_autocheckpoint = {}; PRAGMA synchronous = {synchronous}",
        config.page_bytes, config.cache_pages, config.autocheckpoint_pages
    );
    connection.execute_batch(&settings).map_err(trouble("PRAGMA"))?;
    let mode: String = connection
        .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
        .map_err(trouble("PRAGMA journal_mode"))?;
    if mode != "wal" {
        return Err(Trouble::busy("PRAGMA journal_mode"));
    }
    Ok(connection)
}

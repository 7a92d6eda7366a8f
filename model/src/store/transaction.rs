//! One operation, one transaction: begun for writing, looked up before it is done again, acknowledged when COMMIT has returned and not before.

use super::connection::Store;
use super::error::{Remedy, StoreError, Trouble};
use crate::claims::{Committed, Effect, OperationKey};
use crate::config::Config;
use crate::lock::{Backoff, BackoffPolicy};
use crate::mutant::{Mutant, is};
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use seedstorm_sim::{Errno, Os, Sys};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// What an operation came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has taken effect, durably, and has been acknowledged.
    Acknowledged(Effect),
    /// It has not taken effect and will not, and why.
    Refused(&'static str),
    /// It may have taken effect or not. Ask again with the same key.
    Unanswered,
}

/// What a transaction decided.
pub(super) enum Verdict {
    /// It is to take effect.
    Commit(Effect),
    /// An earlier try has taken effect.
    Found(Effect),
    /// It is not to take effect.
    Refuse(&'static str),
}

/// One try of an operation, on the coroutine.
pub(super) struct Attempt<'a> {
    pub(super) os: &'a Os,
    pub(super) connection: &'a Connection,
    pub(super) key: &'a OperationKey,
    pub(super) config: &'a Config,
    /// The wall clock at the attempt's start, in nanoseconds.
    pub(super) now_ns: u64,
    /// Set once the operation is known to have had no effect.
    is_absent: &'a Cell<bool>,
}

/// What one operation does, each time it is tried.
pub(super) type Body = Rc<dyn Fn(&Attempt<'_>) -> Result<Verdict, Trouble>>;

impl Attempt<'_> {
    /// Begins to write, and looks whether an earlier try has taken effect.
    ///
    /// IMMEDIATE takes the write lock now, when there is nothing to lose. A deferred transaction takes it after its first read, and must be
    /// thrown away when another has written in between (SQLITE_BUSY_SNAPSHOT).
    pub(super) fn begin(&self) -> Result<Option<Effect>, Trouble> {
        if is(self.config.mutant, Mutant::DeferredTransaction) {
            run_cached(self.connection, "BEGIN DEFERRED").map_err(self.trouble("BEGIN"))?;
        } else {
            begin_to_write(self.os, self.connection, self.config).map_err(self.trouble("BEGIN"))?;
        }
        self.find_applied()
    }

    /// What an earlier try of this operation did, if it took effect.
    pub(super) fn find_applied(&self) -> Result<Option<Effect>, Trouble> {
        if is(self.config.mutant, Mutant::RetryWithoutIdempotence) {
            self.is_absent.set(true);
            return Ok(None);
        }
        let find = || {
            let mut find =
                self.connection.prepare_cached("SELECT effect FROM applied WHERE agent = ?1 AND number = ?2")?;
            find.query_row(params![self.key.agent, self.key.number as i64], |row| row.get::<_, String>(0)).optional()
        };
        let Some(json) = find().map_err(self.trouble("find the operation"))? else {
            self.is_absent.set(true);
            return Ok(None);
        };
        let effect = serde_json::from_str(&json).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
        });
        effect.map(Some).map_err(self.trouble("read the effect"))
    }

    /// Sorts an error of this attempt.
    pub(super) fn trouble(&self, step: &'static str) -> impl Fn(rusqlite::Error) -> Trouble + use<> {
        let mutant = self.config.mutant;
        move |error| Trouble::of(step, error, mutant)
    }

    fn finish(&self, verdict: Verdict) -> Result<Outcome, Trouble> {
        match verdict {
            Verdict::Refuse(why) => {
                self.is_absent.set(true);
                if is(self.config.mutant, Mutant::SnapshotLeftOpen) && !self.connection.is_autocommit() {
                    // What is left open is a reader's alone.
                    run_cached(self.connection, "ROLLBACK").map_err(self.trouble("ROLLBACK"))?;
                }
                Ok(Outcome::Refused(why))
            }
            Verdict::Commit(effect) => {
                self.note_applied(&effect).map_err(self.trouble("note the operation"))?;
                self.commit(effect, false)
            }
            Verdict::Found(effect) => {
                // What we found may have come from a WAL that a dead process had written and never synced. A commit of our own syncs it.
                let asked = "UPDATE applied SET asked = asked + 1 WHERE agent = ?1 AND number = ?2";
                let asked = self
                    .connection
                    .prepare_cached(asked)
                    .and_then(|mut asked| asked.execute(params![self.key.agent, self.key.number as i64]));
                asked.map_err(self.trouble("note the question"))?;
                self.commit(effect, true)
            }
        }
    }

    fn note_applied(&self, effect: &Effect) -> rusqlite::Result<()> {
        let json =
            serde_json::to_string(effect).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        let insert =
            if is(self.config.mutant, Mutant::RetryWithoutIdempotence) { "INSERT OR REPLACE" } else { "INSERT" };
        let insert =
            format!("{insert} INTO applied (agent, number, effect, asked, applied_ns) VALUES (?1, ?2, ?3, 1, ?4)");
        self.connection.prepare_cached(&insert)?.execute(params![
            self.key.agent,
            self.key.number as i64,
            json,
            self.now_ns as i64
        ])?;
        Ok(())
    }

    /// Commits, then acknowledges. A claim of a process that has died meanwhile is void: COMMIT may return OK to the dead.
    fn commit(&self, effect: Effect, was_found: bool) -> Result<Outcome, Trouble> {
        let acknowledgement = Committed { key: self.key.clone(), effect, was_found };
        if is(self.config.mutant, Mutant::AcknowledgedBeforeCommit) {
            self.os.claim(&acknowledgement);
            run_cached(self.connection, "COMMIT").map_err(Trouble::of_commit)?;
        } else {
            run_cached(self.connection, "COMMIT").map_err(Trouble::of_commit)?;
            self.os.claim(&acknowledgement);
        }
        Ok(Outcome::Acknowledged(acknowledgement.effect))
    }
}

/// Begins a transaction that writes: waits for those that others write, for the busy timeout at most.
///
/// SQLite's own waiting asks after 1 ms, 2 ms, 5 ms and so on, up to ten times a second, and each question takes and gives back a snapshot
/// (sqlite.org/c3ref/busy_timeout.html). Where many write, most of what they do is asking. So it is told not to wait here.
fn begin_to_write(os: &Os, connection: &Connection, config: &Config) -> rusqlite::Result<()> {
    let mut begin = connection.prepare_cached("BEGIN IMMEDIATE")?;
    connection.busy_timeout(Duration::ZERO)?;
    let since_ns = os.monotonic_ns();
    let mut backoff = Backoff::new(BackoffPolicy::DecorrelatedJitter, None);
    let begun = loop {
        let Err(error) = begin.execute([]) else { break Ok(()) };
        let left_ns = config.busy_timeout_ns.saturating_sub(os.monotonic_ns() - since_ns);
        if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) || left_ns == 0 {
            break Err(error);
        }
        // A sleep that a signal cuts short is a shorter one.
        if let Err(Errno::Dead) = os.sleep(backoff.next_within_ns(left_ns, &mut os.entropy())) {
            break Err(error);
        }
    };
    connection.busy_timeout(Duration::from_nanos(config.busy_timeout_ns))?;
    begun
}

/// Runs a statement without parameters; it is compiled once for each connection.
pub(super) fn run_cached(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

impl Store {
    /// Carries out one operation: at most once, whatever fails, and however often it is asked for.
    pub(super) async fn write(&mut self, sys: &Sys, key: &OperationKey, body: Body) -> Result<Outcome, StoreError> {
        let is_absent = Rc::new(Cell::new(false));
        let (config, own_key, absent) = (self.config.clone(), key.clone(), is_absent.clone());
        let done = self
            .run(
                sys,
                Some(key),
                Rc::new(move |os, connection| {
                    let (config, key, now_ns) = (&config, &own_key, os.wall_ns());
                    let attempt = Attempt { os, connection, key, config, now_ns, is_absent: &absent };
                    body(&attempt).and_then(|verdict| attempt.finish(verdict))
                }),
            )
            .await?;
        let trouble = match done {
            Ok(outcome) => {
                self.unsettled = self.unsettled.take().filter(|unsettled| unsettled != key);
                return Ok(outcome);
            }
            Err(trouble) => trouble,
        };
        // After a failed COMMIT not even looking settles it: the WAL holds frames that a recovery may still find whole, until a later commit
        // has overwritten them.
        if !is_absent.get() || self.unsettled.as_ref() == Some(key) {
            return Ok(Outcome::Unanswered);
        }
        Ok(Outcome::Refused(match trouble.remedy {
            Remedy::MakeRoom => "disk-full",
            Remedy::Again => "busy",
            Remedy::Reopen | Remedy::Look | Remedy::None => "io-error",
        }))
    }

    /// A transaction that may be done twice: what it does a second time changes nothing.
    pub(super) async fn change<T: 'static>(
        &mut self,
        sys: &Sys,
        step: &'static str,
        body: impl Fn(&Os, &Connection) -> rusqlite::Result<T> + 'static,
    ) -> Result<Result<T, Trouble>, StoreError> {
        self.change_within(sys, step, Bounds::Transaction, body).await
    }

    /// As [`Store::change`], in these bounds.
    pub(crate) async fn change_within<T: 'static>(
        &mut self,
        sys: &Sys,
        step: &'static str,
        bounds: Bounds,
        body: impl Fn(&Os, &Connection) -> rusqlite::Result<T> + 'static,
    ) -> Result<Result<T, Trouble>, StoreError> {
        let config = self.config.clone();
        self.run(
            sys,
            None,
            Rc::new(move |os, connection| {
                let sort = |error| Trouble::of(step, error, None);
                if bounds == Bounds::Transaction {
                    begin_to_write(os, connection, &config).map_err(sort)?;
                }
                let done = body(os, connection).map_err(sort)?;
                if bounds == Bounds::Transaction {
                    run_cached(connection, "COMMIT").map_err(Trouble::of_commit)?;
                }
                Ok(done)
            }),
        )
        .await
    }
}

/// What holds the statements of a change together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bounds {
    /// One transaction.
    Transaction,
    /// Nothing: there is one statement, and it reads.
    OneStatement,
}

/// Commits what has been done so far of a transaction, and begins another. No sound change is made in two halves: it is for planted bugs.
pub(crate) fn commit_halfway(connection: &Connection) -> rusqlite::Result<()> {
    run_cached(connection, "COMMIT")?;
    run_cached(connection, "BEGIN IMMEDIATE")
}

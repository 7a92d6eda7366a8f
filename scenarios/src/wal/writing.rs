//! One operation, one transaction: it adds rows to the log, overwrites a slot, and numbers itself in the head. It is looked up before it is done again, and
//! acknowledged when COMMIT has returned and not before.

use super::claims::{Committed, Found, Writing};
use super::content::{Payload, head};
use super::error::Trouble;
use super::schema::{Config, Synchronous};
use rusqlite::{Connection, OptionalExtension, params};
use seedstorm_model::mutant::Mutant;
use seedstorm_sim::Os;

/// Commits an operation, or finds that it is committed.
pub(super) fn write(os: &Os, connection: &Connection, config: &Config, payload: Payload) -> Result<(), Trouble> {
    // A deferred transaction begins as a reader, and can't become a writer once another has committed.
    let begin = if config.has(Mutant::UpgradesSnapshot) { "BEGIN" } else { "BEGIN IMMEDIATE" };
    run(connection, begin)?;
    match change(os, connection, config, payload) {
        Err(Trouble::Stale) if config.has(Mutant::UpgradesSnapshot) => Err(Trouble::Unexpected(stale())),
        done => done,
    }
}

/// What a program says that trusts the busy timeout: SQLITE_BUSY_SNAPSHOT comes at once, and no waiting heals it.
fn stale() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY_SNAPSHOT), None)
}

fn change(os: &Os, connection: &Connection, config: &Config, payload: Payload) -> Result<(), Trouble> {
    let operation = payload.operation;
    let found = if config.has(Mutant::RetriesBlindly) { None } else { find(connection, operation)? };
    if let Some(sequence) = found {
        os.claim(&Found { operation, sequence });
        if config.has(Mutant::ClientTakesFoundForDurable) {
            run(connection, "ROLLBACK")?;
        } else {
            // What is found may come from frames that a dead process has written and never synced. A commit of one's own syncs them.
            run(connection, "UPDATE head SET asked = asked + 1")?;
            commit(connection, config)?;
        }
        acknowledge(os, Committed { operation, sequence, was_found: true });
        return Ok(());
    }
    let (last, after) = head(connection)?;
    let sequence = last + 1;
    let mut insert =
        connection.prepare_cached("INSERT INTO log (sequence, operation, part, content) VALUES (?1, ?2, ?3, ?4)")?;
    for part in 0..payload.rows {
        insert.execute(params![sequence as i64, operation as i64, part as i64, payload.part(part)])?;
    }
    let slot = config.slot(sequence) as i64;
    connection
        .prepare_cached("UPDATE slots SET sequence = ?1, operation = ?2, content = ?3 WHERE slot = ?4")?
        .execute(params![sequence as i64, operation as i64, payload.part(0), slot])?;
    connection
        .prepare_cached("UPDATE head SET sequence = ?1, operation = ?2")?
        .execute(params![sequence as i64, operation as i64])?;
    os.claim(&Writing { operation, sequence, after });
    commit(connection, config)?;
    acknowledge(os, Committed { operation, sequence, was_found: false });
    Ok(())
}

/// COMMIT may return OK to a process that has died meanwhile: its claim is void then.
fn acknowledge(os: &Os, committed: Committed) {
    os.claim(&committed);
}

fn commit(connection: &Connection, config: &Config) -> Result<(), Trouble> {
    match run(connection, "COMMIT").map_err(Trouble::of_commit) {
        Err(Trouble::Unsettled)
            if config.has(Mutant::FailedCommitIsDone) && config.synchronous == Synchronous::Normal =>
        {
            Ok(())
        }
        done => done,
    }
}

/// The number of the commit that has an operation's effect.
fn find(connection: &Connection, operation: u64) -> rusqlite::Result<Option<u64>> {
    let mut find = connection.prepare_cached("SELECT sequence FROM log WHERE operation = ?1 AND part = 0")?;
    let sequence: Option<i64> = find.query_row([operation as i64], |row| row.get(0)).optional()?;
    Ok(sequence.map(|sequence| sequence as u64))
}

/// Runs a statement without parameters; it is compiled once for each connection.
pub(super) fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

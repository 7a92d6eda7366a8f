//! The SQLite work that both sides of `sqlite_calls_vs_bare` do: schema, transactions, connection options. It knows neither side.

use rusqlite::{Connection, OpenFlags, params};
use std::time::Duration;

/// Where the database is.
pub(crate) const PATH: &str = "/bench.db";

/// Opens a connection as the engine does.
pub(crate) fn open() -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(PATH, flags)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.set_prepared_statement_cache_capacity(32);
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 100)?;
    Ok(connection)
}

/// Makes the schema.
pub(crate) fn prepare() -> rusqlite::Result<()> {
    let connection = open()?;
    connection.execute_batch(
        "PRAGMA journal_mode=WAL;
         CREATE TABLE board(key TEXT PRIMARY KEY, value BLOB, version INTEGER NOT NULL);
         CREATE TABLE operation(agent INTEGER, number INTEGER, PRIMARY KEY(agent, number)) WITHOUT ROWID;
         CREATE TABLE note(id INTEGER PRIMARY KEY, agent INTEGER, body BLOB);",
    )?;
    for key in 0..12 {
        connection.execute("INSERT INTO board VALUES(?, zeroblob(100), 1)", [format!("key-{key}")])?;
    }
    Ok(())
}

/// One agent's transactions; gives how many were committed.
pub(crate) fn agent(agent: u64, transactions: u64) -> rusqlite::Result<u64> {
    let connection = open()?;
    let mut committed = 0;
    for number in 0..transactions {
        let mix = (agent * 7919 + number).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let key = format!("key-{}", mix % 12);
        if mix.is_multiple_of(8) {
            connection
                .prepare_cached("SELECT count(*), sum(version) FROM board")?
                .query_row([], |row| row.get::<_, i64>(0))?;
            continue;
        }
        let done = transaction(&connection, agent, number, &key, (mix % 300) as usize);
        match done {
            Ok(()) => committed += 1,
            Err(_) if !connection.is_autocommit() => drop(connection.execute_batch("ROLLBACK")),
            Err(_) => {}
        }
    }
    Ok(committed)
}

fn transaction(connection: &Connection, agent: u64, number: u64, key: &str, bytes: usize) -> rusqlite::Result<()> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    connection.prepare_cached("INSERT INTO operation VALUES(?, ?)")?.execute(params![agent as i64, number as i64])?;
    if number.is_multiple_of(3) {
        connection
            .prepare_cached("INSERT INTO note(agent, body) VALUES(?, zeroblob(?))")?
            .execute(params![agent as i64, bytes as i64])?;
    } else {
        let version: i64 =
            connection.prepare_cached("SELECT version FROM board WHERE key = ?")?.query_row([key], |row| row.get(0))?;
        connection
            .prepare_cached("UPDATE board SET value = zeroblob(?), version = ? WHERE key = ?")?
            .execute(params![bytes as i64, version + 1, key])?;
    }
    connection.prepare_cached("COMMIT")?.execute([])?;
    Ok(())
}

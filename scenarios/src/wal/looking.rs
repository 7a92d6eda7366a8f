//! What clients of sqlite-wal do without writing: they read everything in one transaction, perhaps twice; check the database; checkpoint the WAL.

use super::claims::{Checkpointed, Looked, Peeked};
use super::content::{Contents, Newest};
use super::error::Trouble;
use super::schema::Config;
use super::writing::run;
use rusqlite::Connection;
use seedstorm_model::mutant::Mutant;
use seedstorm_sim::Os;

/// Reads the newest commit.
pub(super) fn peek(os: &Os, connection: &Connection, operation: u64) -> Result<(), Trouble> {
    run(connection, "BEGIN")?;
    os.claim(&Peeked { operation, newest: Newest::read(connection)? });
    run(connection, "COMMIT")?;
    Ok(())
}

/// Reads everything, and once more after so many nanoseconds, unless that is 0. It is one transaction, and sees one snapshot.
pub(super) fn look(
    os: &Os,
    connection: &Connection,
    config: &Config,
    operation: u64,
    held_ns: u64,
) -> Result<(), Trouble> {
    let is_transaction = !(config.has(Mutant::LooksWithoutTransaction) && held_ns > 0);
    if is_transaction {
        run(connection, "BEGIN")?;
    }
    os.claim(&Looked { operation, contents: whole(connection)?, again: false });
    if held_ns > 0 {
        // A sleep that a signal cuts short is a shorter one.
        let _ = os.sleep(held_ns);
        os.claim(&Looked { operation, contents: whole(connection)?, again: true });
    }
    if is_transaction {
        run(connection, "COMMIT")?;
    }
    Ok(())
}

/// What several statements read as one: nested in a transaction it changes nothing, and where there is none it is one.
fn whole(connection: &Connection) -> Result<Contents, Trouble> {
    run(connection, "SAVEPOINT whole")?;
    let contents = Contents::read(connection)?;
    run(connection, "RELEASE whole")?;
    Ok(contents)
}

/// Lets SQLite look at all of its pages.
pub(super) fn check(connection: &Connection) -> Result<(), Trouble> {
    let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if found == "ok" { Ok(()) } else { Err(Trouble::of_check(found)) }
}

/// Checkpoints in a mode. One that readers or writers held up is no failure: it says how far it came.
pub(super) fn checkpoint(os: &Os, connection: &Connection, operation: u64, mode: &str) -> Result<(), Trouble> {
    let claim = connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| {
        // -1: there is no WAL.
        let frames = |index| row.get::<_, i64>(index).map(|frames| u64::try_from(frames).ok());
        Ok(Checkpointed { operation, was_busy: row.get::<_, i64>(0)? != 0, frames: frames(1)?, moved: frames(2)? })
    })?;
    os.claim(&claim);
    Ok(())
}

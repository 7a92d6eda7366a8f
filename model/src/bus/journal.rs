//! Where clocks are kept: a journal for each member, whose rows together are its clock. The first row is a snapshot; each transaction adds what has risen. A row that
//! isn't a clock is put aside and the clock is refused: a clock that lacks something would give numbers away twice.

use super::clock::Clock;
use super::encoding::{ClockRefused, encode};
use super::signal::read_clock;
use crate::mutant::{Mutant, is};
use rusqlite::{Connection, params};
use seedstorm_sim::Os;

/// Rows of a journal after which a snapshot replaces them.
const ROWS_MAX: u32 = 24;

/// A clock, as its journal has it.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    pub(super) clock: Clock,
    /// The number of the journal's last row.
    pub(super) number: i64,
    /// How many rows there are.
    pub(super) rows: u32,
}

/// Reads a member's clock: the snapshot, and what has risen since. The inner error is a row that is no clock; it has been put aside.
pub(super) fn load(
    os: &Os,
    connection: &Connection,
    member: u32,
    mutant: Option<Mutant>,
) -> rusqlite::Result<Result<Kept, ClockRefused>> {
    // The snapshot alone is older than the log.
    let limit = if is(mutant, Mutant::ClockFromSnapshot) { 1 } else { -1 };
    let mut kept = Kept::default();
    let mut select = connection
        .prepare_cached("SELECT number, clock FROM clock_journal WHERE member = ?1 ORDER BY number LIMIT ?2")?;
    let mut rows = select.query(params![member, limit])?;
    while let Some(row) = rows.next()? {
        kept.number = row.get(0)?;
        kept.rows += 1;
        let bytes: Vec<u8> = row.get(1)?;
        match read_clock(&bytes, mutant) {
            Ok(clock) => kept.clock.merge(&clock, &mut Clock::default()),
            Err(why) => {
                put_aside(os, connection, member, kept.number, why)?;
                return Ok(Err(why));
            }
        }
    }
    Ok(Ok(kept))
}

fn put_aside(os: &Os, connection: &Connection, member: u32, number: i64, why: ClockRefused) -> rusqlite::Result<()> {
    let keep = "INSERT OR IGNORE INTO refused_clocks (member, number, clock, why, refused_ns)
                SELECT member, number, clock, ?3, ?4 FROM clock_journal WHERE member = ?1 AND number = ?2";
    connection.execute(keep, params![member, number, why.to_string(), os.wall_ns() as i64])?;
    Ok(())
}

/// Whether a clock of this member has been put aside and nobody has seen to it.
pub(super) fn is_refused(connection: &Connection, member: u32) -> rusqlite::Result<bool> {
    let mut refused = connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM refused_clocks WHERE member = ?1)")?;
    refused.query_row([member], |row| row.get(0))
}

/// Writes down what has risen. `whole` is the clock with it.
pub(super) fn append(
    connection: &Connection,
    member: u32,
    kept: &mut Kept,
    risen: &Clock,
    whole: &Clock,
) -> rusqlite::Result<()> {
    if kept.rows >= ROWS_MAX {
        return replace(connection, member, kept, whole);
    }
    kept.number += 1;
    kept.rows += 1;
    insert(connection, member, kept.number, risen)
}

/// Writes a snapshot in the place of all there is.
pub(super) fn replace(connection: &Connection, member: u32, kept: &mut Kept, whole: &Clock) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM clock_journal WHERE member = ?1")?.execute([member])?;
    kept.number += 1;
    kept.rows = 1;
    insert(connection, member, kept.number, whole)
}

fn insert(connection: &Connection, member: u32, number: i64, clock: &Clock) -> rusqlite::Result<()> {
    let mut insert =
        connection.prepare_cached("INSERT INTO clock_journal (member, number, clock) VALUES (?1, ?2, ?3)")?;
    insert.execute(params![member, number, encode(clock)]).map(drop)
}

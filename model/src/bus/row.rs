//! A member's own row, and what a member keeps of it between transactions.

use super::encoding::ClockRefused;
use super::journal::{self, Kept};
use crate::mutant::Mutant;
use rusqlite::{Connection, params};
use seedstorm_sim::Os;
use seedstorm_sim::sys::claim::signal::Life;

/// A member's row, as far as it changes.
pub(super) struct Row {
    pub(super) incarnation: u32,
    pub(super) counter: u64,
    pub(super) sequence: u64,
    pub(super) operation: u64,
}

impl Row {
    pub(super) fn of(connection: &Connection, member: u32) -> rusqlite::Result<Row> {
        let mut select = connection
            .prepare_cached("SELECT incarnation, counter, sequence, operation FROM members WHERE member = ?1")?;
        select.query_row([member], |row| {
            let number = |at| row.get::<_, i64>(at).map(|number| number as u64);
            Ok(Row { incarnation: row.get(0)?, counter: number(1)?, sequence: number(2)?, operation: number(3)? })
        })
    }

    pub(super) fn write(&self, connection: &Connection, member: u32) -> rusqlite::Result<()> {
        let update = "UPDATE members SET counter = ?2, sequence = ?3, operation = ?4 WHERE member = ?1";
        let (counter, sequence, operation) = (self.counter as i64, self.sequence as i64, self.operation as i64);
        connection.prepare_cached(update)?.execute(params![member, counter, sequence, operation]).map(drop)
    }
}

/// What a life knows of its clock between two transactions. It is the only one to write it.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) kept: Kept,
    pub(super) counter: u64,
}

/// Why a transaction isn't done.
pub(super) enum Stop {
    /// A later life has begun.
    Superseded,
    /// The clock isn't one.
    Refused(ClockRefused),
}

impl State {
    /// The state at the beginning of a transaction: what is remembered, unless the row says that a transaction has taken effect whose COMMIT seemed to fail.
    pub(super) fn at_begin(
        &self,
        os: &Os,
        connection: &Connection,
        life: Life,
        row: &Row,
        mutant: Option<Mutant>,
    ) -> rusqlite::Result<Result<State, Stop>> {
        if row.incarnation != life.incarnation {
            return Ok(Err(Stop::Superseded));
        }
        if row.counter == self.counter {
            return Ok(Ok(self.clone()));
        }
        let kept = journal::load(os, connection, life.agent, mutant)?;
        Ok(kept.map(|kept| State { kept, counter: row.counter }).map_err(Stop::Refused))
    }
}

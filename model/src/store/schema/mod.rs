//! The tables, and their making: parts, of which a configuration says which it needs. Each part's tables are in a file of SQL beside this one.

use super::error::Trouble;
use crate::config::Config;
use crate::mutant::{Mutant, is};
use rusqlite::Connection;

/// Tables that come together.
struct Part {
    /// Its bit in the version (PRAGMA user_version). Part of the format: never used for another.
    bit: i64,
    is_needed: fn(&Config) -> bool,
    tables: &'static str,
}

/// Every part; a later one may refer to an earlier one's tables.
const PARTS: &[Part] = &[
    Part { bit: 1, is_needed: |_| true, tables: include_str!("swarm.sql") },
    Part { bit: 2, is_needed: |config| config.keeps_days, tables: include_str!("days.sql") },
    Part { bit: 4, is_needed: |config| config.bus.is_some(), tables: include_str!("signals.sql") },
    Part { bit: 16, is_needed: |config| config.keeps_memories, tables: include_str!("memories.sql") },
    Part { bit: 32, is_needed: |config| config.tasks_need_each_other, tables: include_str!("needs.sql") },
    Part { bit: 8, is_needed: |config| config.keeps_beliefs, tables: include_str!("beliefs.sql") },
    Part { bit: 64, is_needed: guards_core, tables: include_str!("core_guard.sql") },
];

fn guards_core(config: &Config) -> bool {
    config.keeps_beliefs && !is(config.mutant, Mutant::CoreGuardOnlyInCaller)
}

fn missing<'a>(
    connection: &Connection,
    config: &'a Config,
) -> rusqlite::Result<(i64, impl Iterator<Item = &'static Part> + use<'a>)> {
    let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok((found, PARTS.iter().filter(move |part| (part.is_needed)(config) && found & part.bit == 0)))
}

/// Whether the tables are there.
pub(super) fn is_current(connection: &Connection, config: &Config) -> Result<bool, Trouble> {
    let (_, mut missing) =
        missing(connection, config).map_err(|error| Trouble::of("PRAGMA user_version", error, None))?;
    Ok(missing.next().is_none())
}

/// Makes the tables that are missing, inside a transaction.
pub(super) fn create(connection: &Connection, config: &Config) -> rusqlite::Result<()> {
    let (mut version, missing) = missing(connection, config)?;
    for part in missing {
        connection.execute_batch(part.tables)?;
        version |= part.bit;
        connection.pragma_update(None, "user_version", version)?;
    }
    Ok(())
}

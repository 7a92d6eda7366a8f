//! What stands in the database, read by SQL of the oracles' own on a copy of the disk. What must stand there is judged in `database`.

use super::paths::DATABASE;
use rusqlite::{Connection, OpenFlags};
use seedstorm_model::memory::{Digest, Transition};
use seedstorm_sim::sqlite::inspect;
use seedstorm_sim::sys::disk::Disk;
use std::collections::{BTreeMap, BTreeSet};

/// Bits of the schema's version: agents keep days, memories are sealed, tasks need each other.
const WITH_DAYS: i64 = 2;
const WITH_MEMORIES: i64 = 16;
const WITH_NEEDS: i64 = 32;

/// The content of the database, as far as oracles compare it.
#[derive(Debug, Default)]
pub struct Audit {
    /// What integrity_check and foreign_key_check found.
    pub problems: Vec<String>,
    /// By agent and operation: each note's text.
    pub notes: BTreeMap<(String, u64), Vec<String>>,
    /// By agent: the machine's boot id at its last life.
    pub boots: BTreeMap<String, u64>,
    /// By key: the board's version.
    pub board: BTreeMap<String, u64>,
    /// By task: the generation of its last claim, and whether it is done.
    pub tasks: BTreeMap<String, (u64, bool)>,
    /// What tasks need: (task, needed).
    pub needs: Vec<(String, String)>,
    /// By task and item: the generation under which it was ticked.
    pub items: BTreeMap<(String, u64), Option<u64>>,
    /// By agent, operation and name: the text of each note that an introspection or a sleep has put there.
    pub memories: BTreeMap<(String, u64, String), String>,
    /// By agent: the operation that closed its day, if it is asleep.
    pub asleep: BTreeMap<String, u64>,
    /// Introspections and sleeps that have taken effect.
    pub days: BTreeSet<(String, u64)>,
    /// By sealed memory: the transition that sealed it.
    pub sealed: BTreeMap<Digest, u64>,
    /// The Merkle root after each transition, in their order.
    pub transitions: Vec<Transition>,
}

impl Audit {
    /// Reads the database of a disk. `None` when there is none.
    ///
    /// # Errors
    /// SQLite's own words, when it can't be read.
    pub fn of(disk: &Disk) -> Result<Option<Audit>, String> {
        if disk.inode_of(DATABASE).is_none() {
            return Ok(None);
        }
        inspect(disk, || Audit::read().map(Some).map_err(|error| error.to_string()))
    }

    fn read() -> rusqlite::Result<Audit> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(DATABASE, flags)?;
        let mut audit = Audit::default();
        each(&connection, "PRAGMA integrity_check(5)", |row| {
            let found: String = row.get(0)?;
            if found != "ok" {
                audit.problems.push(found);
            }
            Ok(())
        })?;
        each(&connection, "PRAGMA foreign_key_check", |row| {
            audit.problems.push(format!(
                "a row of {} names a row of {} that isn't there",
                row.get::<_, String>(0)?,
                row.get::<_, String>(2)?
            ));
            Ok(())
        })?;
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if version == 0 {
            return Ok(audit);
        }
        each(&connection, "SELECT agent, number, text FROM notes", |row| {
            let key = (row.get(0)?, row.get::<_, i64>(1)? as u64);
            audit.notes.entry(key).or_default().push(row.get(2)?);
            Ok(())
        })?;
        each(&connection, "SELECT name, boot_id FROM agents", |row| {
            audit.boots.insert(row.get(0)?, row.get::<_, i64>(1)? as u64);
            Ok(())
        })?;
        each(&connection, "SELECT key, version FROM session_state", |row| {
            audit.board.insert(row.get(0)?, row.get::<_, i64>(1)? as u64);
            Ok(())
        })?;
        each(&connection, "SELECT name, generation, state = 'done' FROM tasks", |row| {
            audit.tasks.insert(row.get(0)?, (row.get::<_, i64>(1)? as u64, row.get(2)?));
            Ok(())
        })?;
        each(&connection, "SELECT task, item, generation FROM checklist", |row| {
            let generation = row.get::<_, Option<i64>>(2)?.map(|generation| generation as u64);
            audit.items.insert((row.get(0)?, row.get::<_, i64>(1)? as u64), generation);
            Ok(())
        })?;
        if version & WITH_DAYS != 0 {
            audit.read_days(&connection)?;
        }
        if version & WITH_NEEDS != 0 {
            each(&connection, "SELECT task, needed FROM needs", |row| {
                audit.needs.push((row.get(0)?, row.get(1)?));
                Ok(())
            })?;
        }
        if version & WITH_MEMORIES != 0 {
            audit.read_memories(&connection)?;
        }
        Ok(audit)
    }

    fn read_days(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        each(connection, "SELECT agent, number, note, text FROM memories", |row| {
            let key = (row.get(0)?, row.get::<_, i64>(1)? as u64, row.get(2)?);
            self.memories.insert(key, row.get(3)?);
            Ok(())
        })?;
        each(connection, "SELECT agent, number FROM sleeps", |row| {
            self.asleep.insert(row.get(0)?, row.get::<_, i64>(1)? as u64);
            Ok(())
        })?;
        let days = "SELECT agent, number FROM applied WHERE effect = '\"Slept\"' OR effect LIKE '{\"Introspected\"%'";
        each(connection, days, |row| {
            self.days.insert((row.get(0)?, row.get::<_, i64>(1)? as u64));
            Ok(())
        })
    }

    fn read_memories(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        each(connection, "SELECT digest, transition FROM sealed_memories", |row| {
            self.sealed.insert(row.get(0)?, row.get::<_, i64>(1)? as u64);
            Ok(())
        })?;
        each(connection, "SELECT transition, root, memories FROM merkle_roots ORDER BY transition", |row| {
            let (number, memories) = (row.get::<_, i64>(0)? as u64, row.get::<_, i64>(2)? as u64);
            self.transitions.push(Transition { number, root: row.get(1)?, memories });
            Ok(())
        })
    }
}

/// Shows each row of a query.
pub(super) fn each(
    connection: &Connection,
    sql: &str,
    mut see: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        see(row)?;
    }
    Ok(())
}

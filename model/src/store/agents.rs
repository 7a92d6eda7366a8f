//! Agents: who is there, since when, and what each had claimed when it last died.

use super::connection::Store;
use super::error::{StoreError, Trouble};
use super::tasks::HeldTask;
use super::transaction::run_cached;
use crate::identity::ProcessIdentity;
use crate::mutant::{Mutant, is};
use rusqlite::{Connection, OptionalExtension, params};
use seedstorm_sim::Sys;
use std::collections::BTreeMap;
use std::rc::Rc;

/// An agent, as the store has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentStatus {
    /// Its name.
    pub name: String,
    /// `active` or `stopped`. An active one may be dead: ask for its process.
    pub status: String,
    /// Its last life.
    pub process: ProcessIdentity,
    /// How many lives it has had.
    pub incarnation: u64,
}

/// What there is, in numbers and names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwarmStatus {
    /// The agents, by name.
    pub agents: Vec<AgentStatus>,
    /// Tasks by state.
    pub tasks: BTreeMap<String, u64>,
    /// Keys of the board that have been written.
    pub board_keys: u64,
    /// Notes.
    pub notes: u64,
}

/// What a waking agent finds of itself.
pub(crate) enum Registered {
    /// It is registered. These are the claims that its last life left; it goes on with them.
    Ours(BTreeMap<String, HeldTask>),
    /// Another process of that name is alive.
    Taken(ProcessIdentity),
}

impl Store {
    /// Registers a life of an agent, and takes over what its last life had claimed. `None`: the store can't be reached now.
    pub(crate) async fn register(&mut self, sys: &Sys, name: &str) -> Result<Option<Registered>, StoreError> {
        let (name, ours, keeps_days) = (name.to_owned(), ProcessIdentity::of(sys), self.config.keeps_days);
        let mutant = self.config.mutant;
        let registered = self.change(sys, "register", move |os, connection| {
            let last = last_life(connection, &name)?;
            if let Some(last) = last.filter(|last| *last != ours) {
                let found = os.process_info(last.pid);
                let lives = match found {
                    Err(_) => true,
                    Ok(found) if is(mutant, Mutant::OwnPidTakenForOwnLife) => {
                        found.is_some() && last.boot_id == os.boot_id()
                    }
                    Ok(found) => last.is_that_of(found, os.boot_id(), None),
                };
                if lives && is_active(connection, &name)? {
                    return Ok(Registered::Taken(last));
                }
            }
            let (process, now_ns) = ((ours.pid, ours.started_ns as i64, ours.boot_id as i64), os.wall_ns() as i64);
            let Some(last) = last else {
                let insert = "INSERT INTO agents (name, status, pid, started_ns, boot_id, incarnation, seen_ns) VALUES (?1, 'active', ?2, ?3, ?4, 1, ?5)";
                connection.execute(insert, params![name, process.0, process.1, process.2, now_ns])?;
                return Ok(Registered::Ours(BTreeMap::new()));
            };
            if is(mutant, Mutant::RegistrationOfLastLife) {
                return held_by(connection, &name).map(Registered::Ours);
            }
            let update = "UPDATE agents SET status = 'active', pid = ?2, started_ns = ?3, boot_id = ?4, seen_ns = ?5, incarnation = incarnation + ?6
                          WHERE name = ?1";
            let is_another = last != ours;
            connection.execute(update, params![name, process.0, process.1, process.2, now_ns, is_another])?;
            if keeps_days {
                connection.execute("DELETE FROM sleeps WHERE agent = ?1", [&name])?;
            }
            held_by(connection, &name).map(Registered::Ours)
        });
        Ok(registered.await?.ok())
    }

    /// Says that an agent has stopped, and opens the tasks that it still holds. Gives whether that was possible now.
    pub(crate) async fn retire(&mut self, sys: &Sys, name: &str) -> Result<bool, StoreError> {
        let name = name.to_owned();
        let retired = self.change(sys, "retire", move |os, connection| {
            let open =
                "UPDATE tasks SET state = 'open', holder = NULL, token = NULL, expires_ns = NULL WHERE holder = ?1";
            connection.execute(open, [&name])?;
            let stop = "UPDATE agents SET status = 'stopped', seen_ns = ?2 WHERE name = ?1";
            connection.execute(stop, params![name, os.wall_ns() as i64])
        });
        Ok(retired.await?.is_ok())
    }

    /// What there is, at one moment. `None`: the store can't be reached now.
    ///
    /// # Errors
    /// What no retry heals.
    pub async fn status(&mut self, sys: &Sys) -> Result<Option<SwarmStatus>, StoreError> {
        let read = |connection: &Connection| {
            run_cached(connection, "BEGIN DEFERRED")?;
            let status = SwarmStatus {
                agents: agents(connection)?,
                tasks: tasks(connection)?,
                board_keys: count(connection, "SELECT count(*) FROM session_state WHERE version > 0")?,
                notes: count(connection, "SELECT count(*) FROM notes")?,
            };
            run_cached(connection, "COMMIT")?;
            Ok(status)
        };
        let status = self.run(
            sys,
            None,
            Rc::new(move |_, connection| read(connection).map_err(|error| Trouble::of("status", error, None))),
        );
        Ok(status.await?.ok())
    }
}

fn identity(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<ProcessIdentity> {
    let [started_ns, boot_id] = [row.get::<_, i64>(first + 1)? as u64, row.get::<_, i64>(first + 2)? as u64];
    Ok(ProcessIdentity { pid: row.get(first)?, started_ns, boot_id })
}

fn last_life(connection: &Connection, name: &str) -> rusqlite::Result<Option<ProcessIdentity>> {
    let mut select = connection.prepare_cached("SELECT pid, started_ns, boot_id FROM agents WHERE name = ?1")?;
    select.query_row([name], |row| identity(row, 0)).optional()
}

fn is_active(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    connection.query_row("SELECT status = 'active' FROM agents WHERE name = ?1", [name], |row| row.get(0))
}

fn held_by(connection: &Connection, name: &str) -> rusqlite::Result<BTreeMap<String, HeldTask>> {
    let mut select = connection.prepare_cached("SELECT name, generation, token FROM tasks WHERE holder = ?1")?;
    let held = select.query_map([name], |row| {
        let held = HeldTask { generation: row.get::<_, i64>(1)? as u64, token: row.get::<_, i64>(2)? as u64 };
        Ok((row.get(0)?, held))
    })?;
    held.collect()
}

pub(super) fn agents(connection: &Connection) -> rusqlite::Result<Vec<AgentStatus>> {
    let mut select =
        connection.prepare("SELECT name, status, pid, started_ns, boot_id, incarnation FROM agents ORDER BY name")?;
    let agents = select.query_map([], |row| {
        Ok(AgentStatus {
            name: row.get(0)?,
            status: row.get(1)?,
            process: identity(row, 2)?,
            incarnation: row.get::<_, i64>(5)? as u64,
        })
    })?;
    agents.collect()
}

fn tasks(connection: &Connection) -> rusqlite::Result<BTreeMap<String, u64>> {
    let mut select = connection.prepare("SELECT state, count(*) FROM tasks GROUP BY state")?;
    let tasks = select.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))?;
    tasks.collect()
}

fn count(connection: &Connection, select: &str) -> rusqlite::Result<u64> {
    connection.query_row(select, [], |row| row.get::<_, i64>(0)).map(|count| count as u64)
}

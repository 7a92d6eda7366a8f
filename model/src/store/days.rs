//! Days in the store: the notes that agents stage, handing tasks back, being asleep, and a survey of the swarm that says only what is durable.

use super::agents::{AgentStatus, agents};
use super::connection::Store;
use super::error::{Remedy, StoreError, Trouble};
use super::tasks::HeldTask;
use super::transaction::{Attempt, Outcome, Verdict};
use crate::claims::{Effect, OperationKey};
use crate::file::StagedNote;
use rusqlite::{Connection, OptionalExtension, params};
use seedstorm_sim::Sys;
use std::rc::Rc;

/// An agent in a survey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What the store has of it.
    pub agent: AgentStatus,
    /// The operation that closed its day, if it is asleep.
    pub asleep: Option<u64>,
}

/// Writes each row, also one that is there: what is there may have come from a WAL that a dead process never synced. A commit with something in
/// it syncs it, and only then may a note's file go.
fn keep(connection: &Connection, notes: &[StagedNote], now_ns: u64) -> rusqlite::Result<()> {
    let mut upsert = connection.prepare_cached(
        "INSERT INTO memories (agent, number, note, text, committed_ns) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (agent, number, note) DO UPDATE SET committed_ns = excluded.committed_ns",
    )?;
    for StagedNote { key, note, text, .. } in notes {
        upsert.execute(params![key.agent, key.number as i64, note, text, now_ns as i64])?;
    }
    Ok(())
}

/// Notes that an agent has been seen; it makes every commit one with something in it.
fn see(connection: &Connection, agent: &str, now_ns: u64) -> rusqlite::Result<()> {
    let mut see = connection.prepare_cached("UPDATE agents SET seen_ns = ?2 WHERE name = ?1")?;
    see.execute(params![agent, now_ns as i64]).map(drop)
}

impl Store {
    /// Puts all notes of an introspection into the store, as that operation.
    pub(crate) async fn commit_notes(
        &mut self,
        sys: &Sys,
        key: &OperationKey,
        notes: Rc<[StagedNote]>,
    ) -> Result<Outcome, StoreError> {
        let body = move |attempt: &Attempt<'_>| {
            if let Some(effect) = attempt.begin()? {
                return Ok(Verdict::Found(effect));
            }
            keep(attempt.connection, &notes, attempt.now_ns).map_err(attempt.trouble("keep notes"))?;
            Ok(Verdict::Commit(Effect::Introspected { notes: notes.len() as u32 }))
        };
        self.write(sys, key, Rc::new(body)).await
    }

    /// Puts notes into the store, whatever operations they belong to. Gives whether they are there, durably.
    pub(crate) async fn keep_notes(&mut self, sys: &Sys, notes: Rc<[StagedNote]>) -> Result<bool, StoreError> {
        let kept = self.change(sys, "keep notes", move |os, connection| keep(connection, &notes, os.wall_ns()));
        Ok(kept.await?.is_ok())
    }

    /// Opens tasks that an agent held, each by the token of its claim: one that was claimed again since stays claimed. Gives whether that is done,
    /// durably.
    pub(crate) async fn hand_back(
        &mut self,
        sys: &Sys,
        agent: &str,
        tasks: Vec<(String, HeldTask)>,
    ) -> Result<bool, StoreError> {
        let agent = agent.to_owned();
        let handed_back = self.change(sys, "hand tasks back", move |os, connection| {
            see(connection, &agent, os.wall_ns())?;
            let mut open = connection.prepare_cached(
                "UPDATE tasks SET state = 'open', holder = NULL, token = NULL, expires_ns = NULL WHERE name = ?1 AND token = ?2",
            )?;
            for (task, held) in &tasks {
                open.execute(params![task, held.token as i64])?;
            }
            Ok(())
        });
        Ok(handed_back.await?.is_ok())
    }

    /// Marks an agent as asleep, as the operation that closes its day. The last step of a sleep: what came before is durable by now.
    pub(crate) async fn fall_asleep(&mut self, sys: &Sys, key: &OperationKey) -> Result<Outcome, StoreError> {
        let body = move |attempt: &Attempt<'_>| {
            let found = attempt.begin()?;
            // Also when it was asleep by this operation before: whoever asks again has woken it.
            let (connection, OperationKey { agent, number }) = (attempt.connection, attempt.key);
            let mark = || {
                let stop = "UPDATE agents SET status = 'stopped', seen_ns = ?2 WHERE name = ?1";
                connection.prepare_cached(stop)?.execute(params![agent, attempt.now_ns as i64])?;
                let sleep = "INSERT OR REPLACE INTO sleeps (agent, number, slept_ns) VALUES (?1, ?2, ?3)";
                connection.prepare_cached(sleep)?.execute(params![agent, *number as i64, attempt.now_ns as i64])
            };
            mark().map_err(attempt.trouble("fall asleep"))?;
            Ok(found.map_or(Verdict::Commit(Effect::Slept), Verdict::Found))
        };
        self.write(sys, key, Rc::new(body)).await
    }

    /// The agents as they are at one moment. What it shows is durable: its transaction writes, so that its commit syncs whatever came before it in
    /// the WAL. The inner error is why it couldn't be had now.
    pub(crate) async fn survey(
        &mut self,
        sys: &Sys,
        surveyor: &str,
    ) -> Result<Result<Vec<Found>, &'static str>, StoreError> {
        let surveyor = surveyor.to_owned();
        let survey = self.change(sys, "survey", move |os, connection| {
            see(connection, &surveyor, os.wall_ns())?;
            let mut asleep = connection.prepare_cached("SELECT number FROM sleeps WHERE agent = ?1")?;
            let mut with_sleep = |agent: AgentStatus| {
                let number = asleep.query_row([&agent.name], |row| row.get::<_, i64>(0)).optional()?;
                Ok(Found { agent, asleep: number.map(|number| number as u64) })
            };
            agents(connection)?.into_iter().map(&mut with_sleep).collect::<rusqlite::Result<Vec<Found>>>()
        });
        let why = |trouble: Trouble| if trouble.remedy == Remedy::Again { "busy" } else { "io-error" };
        Ok(survey.await?.map_err(why))
    }

    /// Moves everything that a crash left in the WAL into the database. Gives whether that was possible now; it may as well be done another time.
    pub(crate) async fn settle_wal(&mut self, sys: &Sys) -> Result<bool, StoreError> {
        let settled = self.run(
            sys,
            None,
            Rc::new(|_, connection| {
                let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
                busy.map(|busy| !busy).map_err(|error| Trouble::of("settle the WAL", error, None))
            }),
        );
        Ok(settled.await?.unwrap_or(false))
    }
}

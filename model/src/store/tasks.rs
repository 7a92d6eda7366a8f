//! Tasks: claimed by one agent at a time, for a while, and worked on under the claim's token.

use super::connection::Store;
use super::error::{StoreError, Trouble};
use super::needs::is_ready;
use super::transaction::{Attempt, Outcome, Verdict};
use crate::claims::{Effect, OperationKey};
use crate::identity::ProcessIdentity;
use crate::mutant::{Mutant, is};
use rusqlite::{Connection, OptionalExtension, params};
use seedstorm_sim::{Draw, Sys};
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// A claim that an agent holds, as far as it knows. The store has the last word, at each use of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldTask {
    /// The claim's generation.
    pub generation: u64,
    /// What proves it.
    pub token: u64,
}

/// A task as a look at it found it.
struct Seen {
    is_done: bool,
    generation: u64,
    claim: Option<SeenClaim>,
}

struct SeenClaim {
    token: i64,
    expires_ns: u64,
    holder: ProcessIdentity,
}

impl Seen {
    fn look(connection: &Connection, task: &str) -> rusqlite::Result<Option<Seen>> {
        let mut look = connection.prepare_cached(
            "SELECT tasks.state = 'done', tasks.generation, tasks.token, tasks.expires_ns, agents.pid, agents.started_ns, agents.boot_id
             FROM tasks LEFT JOIN agents ON agents.name = tasks.holder WHERE tasks.name = ?1",
        )?;
        let seen = look.query_row([task], |row| {
            let claim = match row.get::<_, Option<i64>>(2)? {
                None => None,
                Some(token) => Some(SeenClaim {
                    token,
                    expires_ns: row.get::<_, i64>(3)? as u64,
                    holder: ProcessIdentity {
                        pid: row.get(4)?,
                        started_ns: row.get::<_, i64>(5)? as u64,
                        boot_id: row.get::<_, i64>(6)? as u64,
                    },
                }),
            };
            Ok(Seen { is_done: row.get(0)?, generation: row.get::<_, i64>(1)? as u64, claim })
        });
        seen.optional()
    }
}

impl Store {
    /// Claims a task, if nobody holds it, or whoever does is dead or late, and what it needs is done.
    ///
    /// A look decides whether that is so; the claim itself is one update that changes nothing unless the task is still as it was seen.
    ///
    /// # Errors
    /// What no retry heals.
    pub async fn claim_task(&mut self, sys: &Sys, key: &OperationKey, task: &str) -> Result<Outcome, StoreError> {
        let (task, token) = (task.to_owned(), sys.entropy().bits() >> 1 | 1);
        let body = move |attempt: &Attempt<'_>| {
            let trouble = attempt.trouble("claim a task");
            let seen = Seen::look(attempt.connection, &task).map_err(&trouble)?;
            let why_not = match &seen {
                None => Some("no-task"),
                Some(Seen { is_done: true, .. }) => Some("done"),
                Some(Seen { claim: Some(claim), .. })
                    if claim.expires_ns > attempt.now_ns && lives(attempt, &claim.holder) =>
                {
                    Some("held")
                }
                Some(_) => None,
            };
            // Perhaps by an earlier try of this very claim: the transaction will find that again, and make sure.
            if let Some(why_not) = why_not
                && attempt.find_applied()?.is_none()
            {
                return Ok(Verdict::Refuse(why_not));
            }
            if let Some(effect) = attempt.begin()? {
                return Ok(Verdict::Found(effect));
            }
            let Some(seen) = seen.filter(|_| why_not.is_none()) else { return Ok(Verdict::Refuse("lost-race")) };
            // What it needs may have changed since the look, and nothing of the task itself says so.
            if attempt.config.tasks_need_each_other && !is_ready(attempt.connection, &task).map_err(&trouble)? {
                return Ok(Verdict::Refuse("not-ready"));
            }
            let generation = seen.generation + 1;
            if update(attempt, &task, &seen, generation, token).map_err(&trouble)? == 0 {
                return Ok(Verdict::Refuse("lost-race"));
            }
            let took_over = seen.claim.is_some();
            Ok(Verdict::Commit(Effect::TaskClaimed { task: task.clone(), generation, token, took_over }))
        };
        self.write(sys, key, Rc::new(body)).await
    }

    /// Ticks an item of a task's checklist, under the claim that `held` proves.
    ///
    /// # Errors
    /// What no retry heals.
    pub async fn check_item(
        &mut self,
        sys: &Sys,
        key: &OperationKey,
        task: &str,
        item: u64,
        held: Option<HeldTask>,
    ) -> Result<Outcome, StoreError> {
        let task = task.to_owned();
        let body = move |attempt: &Attempt<'_>| {
            let Some(HeldTask { generation, token }) = held else { return without_claim(attempt) };
            if let Some(effect) = attempt.begin()? {
                return Ok(Verdict::Found(effect));
            }
            let tick = || {
                let mut tick = attempt.connection.prepare_cached(
                    "UPDATE checklist SET generation = ?3 WHERE task = ?1 AND item = ?2 AND generation IS NULL
                       AND EXISTS (SELECT 1 FROM tasks WHERE name = ?1 AND token = ?4)",
                )?;
                let ticked = tick.execute(params![task, item as i64, generation as i64, token as i64])?;
                Ok((ticked, ticked == 0 && is_held(attempt.connection, &task, token)?))
            };
            match tick().map_err(attempt.trouble("tick an item"))? {
                (0, false) => Ok(Verdict::Refuse("not-holder")),
                (0, true) => Ok(Verdict::Refuse("already-ticked")),
                _ => Ok(Verdict::Commit(Effect::ItemChecked { task: task.clone(), item, generation })),
            }
        };
        self.write(sys, key, Rc::new(body)).await
    }

    /// Leaves a task: it is done if its whole checklist is ticked, and open again if not.
    ///
    /// # Errors
    /// What no retry heals.
    pub async fn leave_task(
        &mut self,
        sys: &Sys,
        key: &OperationKey,
        task: &str,
        held: Option<HeldTask>,
    ) -> Result<Outcome, StoreError> {
        let task = task.to_owned();
        let body = move |attempt: &Attempt<'_>| {
            let Some(HeldTask { generation, token }) = held else { return without_claim(attempt) };
            if let Some(effect) = attempt.begin()? {
                return Ok(Verdict::Found(effect));
            }
            let leave = || {
                let connection = attempt.connection;
                let mut unticked = connection
                    .prepare_cached("SELECT EXISTS (SELECT 1 FROM checklist WHERE task = ?1 AND generation IS NULL)")?;
                let is_done = !unticked.query_row([&task], |row| row.get::<_, bool>(0))?;
                let mut leave = connection.prepare_cached(
                    "UPDATE tasks SET holder = NULL, token = NULL, expires_ns = NULL, state = ?3 WHERE name = ?1 AND token = ?2",
                )?;
                let proof = if is(attempt.config.mutant, Mutant::TaskLeftByGeneration) { generation } else { token };
                let left = leave.execute(params![task, proof as i64, if is_done { "done" } else { "open" }])?;
                Ok((left > 0).then_some(is_done))
            };
            match leave().map_err(attempt.trouble("leave a task"))? {
                None => Ok(Verdict::Refuse("not-holder")),
                Some(is_done) => Ok(Verdict::Commit(Effect::TaskLeft { task: task.clone(), generation, is_done })),
            }
        };
        self.write(sys, key, Rc::new(body)).await
    }
}

/// An operation on a task that the agent has no claim on, as far as it knows: only an earlier try can have taken effect, and a look tells. Nobody is kept from
/// writing for that.
fn without_claim(attempt: &Attempt<'_>) -> Result<Verdict, Trouble> {
    if attempt.find_applied()?.is_some()
        && let Some(effect) = attempt.begin()?
    {
        return Ok(Verdict::Found(effect));
    }
    Ok(Verdict::Refuse("not-holder"))
}

/// Whether a claim's holder is known to live. Only its own machine can tell; a claim of the dead needn't run out first.
fn lives(attempt: &Attempt<'_>, holder: &ProcessIdentity) -> bool {
    attempt.os.process_info(holder.pid).map_or(true, |found| holder.is_that_of(found, attempt.os.boot_id(), None))
}

/// The claim: one update, and its condition is all that was seen.
fn update(attempt: &Attempt<'_>, task: &str, seen: &Seen, generation: u64, token: u64) -> rusqlite::Result<usize> {
    let unchanged = if is(attempt.config.mutant, Mutant::ClaimCheckThenAct) {
        ""
    } else if is(attempt.config.mutant, Mutant::ClaimByGenerationOnly) {
        "AND generation BETWEEN ?5 - 1 AND ?5 AND state <> 'done'"
    } else {
        "AND generation = ?5 - 1 AND state <> 'done' AND token IS ?6"
    };
    let update = format!(
        "UPDATE tasks SET state = 'claimed', holder = ?2, token = ?3, expires_ns = ?4, generation = ?5 WHERE name = ?1 {unchanged}"
    );
    let expires_ns = attempt.now_ns.saturating_add(attempt.config.claim_ns) as i64;
    let seen_token = seen.claim.as_ref().map(|claim| claim.token);
    let mut update = attempt.connection.prepare_cached(&update)?;
    let fixed = params![task, attempt.key.agent, token as i64, expires_ns, generation as i64, seen_token];
    let count = update.parameter_count();
    update.execute(&fixed[..count])
}

fn is_held(connection: &Connection, task: &str, token: u64) -> rusqlite::Result<bool> {
    let mut held = connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM tasks WHERE name = ?1 AND token = ?2)")?;
    held.query_row(params![task, token as i64], |row| row.get(0))
}

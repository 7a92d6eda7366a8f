//! What tasks need of each other. A cycle would never become ready, so it is refused when it is written, with its path.

use super::connection::Store;
use super::error::StoreError;
use super::transaction::{Attempt, Outcome, Verdict};
use crate::claims::{Effect, OperationKey};
use crate::mutant::{Mutant, is};
use petgraph::algo::astar;
use petgraph::graphmap::DiGraphMap;
use rusqlite::{Connection, params};
use seedstorm_sim::Sys;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;

/// Tasks of which each needs the next, and the last is the first again: none of them could ever be claimed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cycle(pub Vec<String>);

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a cycle: {}", self.0.join(" needs "))
    }
}

/// What was decided on new needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Needed {
    /// As for any operation.
    Answered(Outcome),
    /// They would close a cycle. Nothing was changed.
    Cyclic(Cycle),
}

impl Store {
    /// Says what a task needs from now on, instead of what it needed before.
    ///
    /// # Errors
    /// What no retry heals.
    pub async fn set_needs(
        &mut self,
        sys: &Sys,
        key: &OperationKey,
        task: &str,
        needed: &[String],
    ) -> Result<Needed, StoreError> {
        let (task, needed, found) = (task.to_owned(), needed.to_vec(), Rc::new(RefCell::new(None)));
        let cycle = found.clone();
        let body = move |attempt: &Attempt<'_>| {
            let trouble = attempt.trouble("set needs");
            cycle.replace(None);
            // The look is in the transaction that writes: two writers could else close a cycle together of which neither sees the whole.
            if let Some(effect) = attempt.begin()? {
                return Ok(Verdict::Found(effect));
            }
            for name in needed.iter().chain([&task]) {
                if !is_task(attempt.connection, name).map_err(&trouble)? {
                    return Ok(Verdict::Refuse("no-task"));
                }
            }
            if !is(attempt.config.mutant, Mutant::NeedsCycleAccepted)
                && let Some(found) = closed_by(attempt.connection, &task, &needed).map_err(&trouble)?
            {
                cycle.replace(Some(found));
                return Ok(Verdict::Refuse("cycle"));
            }
            replace(attempt.connection, &task, &needed).map_err(&trouble)?;
            Ok(Verdict::Commit(Effect::NeedsSet { task: task.clone(), needed: needed.clone() }))
        };
        let outcome = self.write(sys, key, Rc::new(body)).await?;
        Ok(found.take().map_or(Needed::Answered(outcome), Needed::Cyclic))
    }
}

fn is_task(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    let mut select = connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM tasks WHERE name = ?1)")?;
    select.query_row([name], |row| row.get(0))
}

fn replace(connection: &Connection, task: &str, needed: &[String]) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM needs WHERE task = ?1")?.execute([task])?;
    let mut insert = connection.prepare_cached("INSERT OR IGNORE INTO needs (task, needed) VALUES (?1, ?2)")?;
    for needed in needed {
        insert.execute(params![task, needed])?;
    }
    Ok(())
}

/// The cycle that a task's new needs would close, a shortest one. What the task needed before is not looked at: it goes.
fn closed_by(connection: &Connection, task: &str, needed: &[String]) -> rusqlite::Result<Option<Cycle>> {
    let mut needs = connection.prepare_cached("SELECT needed FROM needs WHERE task = ?1")?;
    let mut edges: Vec<(String, String)> = Vec::new();
    let mut found: BTreeSet<String> = needed.iter().filter(|name| *name != task).cloned().collect();
    let mut unread: Vec<String> = found.iter().cloned().collect();
    while let Some(at) = unread.pop() {
        for below in needs.query_map([&at], |row| row.get::<_, String>(0))? {
            let below = below?;
            if below != task && found.insert(below.clone()) {
                unread.push(below.clone());
            }
            edges.push((at.clone(), below));
        }
    }
    let mut graph: DiGraphMap<&str, ()> = DiGraphMap::new();
    for name in needed.iter().map(String::as_str).chain([task]) {
        graph.add_node(name);
    }
    for (task, needed) in &edges {
        graph.add_edge(task, needed, ());
    }
    let paths = needed.iter().filter_map(|needed| astar(&graph, needed, |at| at == task, |_| 1u32, |_| 0));
    let shortest = paths.min_by_key(|(len, _)| *len);
    Ok(shortest.map(|(_, path)| Cycle([task].into_iter().chain(path).map(str::to_owned).collect())))
}

/// Whether all that a task needs is done.
pub(super) fn is_ready(connection: &Connection, task: &str) -> rusqlite::Result<bool> {
    let mut select = connection.prepare_cached(
        "SELECT NOT EXISTS (SELECT 1 FROM needs JOIN tasks ON tasks.name = needs.needed WHERE needs.task = ?1 AND tasks.state <> 'done')",
    )?;
    select.query_row([task], |row| row.get(0))
}

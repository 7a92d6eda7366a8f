//! Pruning: which lives are over and known to everybody, so that clocks need no entries for them. What a pruned entry means is in `clock`.

use super::clock::Clock;
use crate::mutant::{Mutant, is};
use rusqlite::{Connection, params};
use seedstorm_sim::sys::claim::signal::Life;
use std::collections::BTreeMap;

/// Notes that a life is over.
pub(super) fn note_end(connection: &Connection, life: Life, counter: u64) -> rusqlite::Result<()> {
    let insert = "INSERT OR IGNORE INTO lives_over (member, incarnation, counter) VALUES (?1, ?2, ?3)";
    connection.execute(insert, params![life.agent, life.incarnation, counter as i64]).map(drop)
}

/// Notes which lives that are over this member has all events of; then drops the entries of those that every member has. Gives whether the clock has changed.
pub(super) fn prune(
    connection: &Connection,
    member: u32,
    clock: &mut Clock,
    mutant: Option<Mutant>,
) -> rusqlite::Result<bool> {
    let mut unknown = connection.prepare_cached(
        "SELECT o.member, o.incarnation, o.counter FROM lives_over o WHERE NOT EXISTS
           (SELECT 1 FROM lives_known k WHERE k.member = o.member AND k.incarnation = o.incarnation AND k.known_by = ?1)",
    )?;
    let over = |row: &rusqlite::Row<'_>| {
        Ok((Life { agent: row.get(0)?, incarnation: row.get(1)? }, row.get::<_, i64>(2)? as u64))
    };
    let unknown = unknown.query_map([member], over)?.collect::<Result<Vec<_>, _>>()?;
    for (life, _) in unknown.into_iter().filter(|(life, counter)| clock.knows(*life, *counter)) {
        let mut note =
            connection.prepare_cached("INSERT INTO lives_known (member, incarnation, known_by) VALUES (?1, ?2, ?3)")?;
        note.execute(params![life.agent, life.incarnation, member])?;
    }
    // Causally stable: everybody has all that happened in it, and all that it sent has been delivered before that.
    let mut stable = connection.prepare_cached(
        "SELECT o.member, o.incarnation, count(*) = (SELECT count(*) FROM members) FROM lives_over o
           JOIN lives_known k ON k.member = o.member AND k.incarnation = o.incarnation
         GROUP BY o.member, o.incarnation ORDER BY o.member, o.incarnation",
    )?;
    let lives = stable.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    // By member: its lives below this are stable without a gap.
    let mut below: BTreeMap<u32, (u32, bool)> = BTreeMap::new();
    for life in lives {
        let (agent, incarnation, is_stable): (u32, u32, bool) = life?;
        let (below, goes_on) = below.entry(agent).or_insert((0, true));
        *goes_on &= is_stable;
        if *goes_on {
            *below = incarnation + 1;
        }
    }
    let mut has_changed = false;
    for (agent, (below, _)) in below {
        if below == 0 || clock.is_pruned(Life { agent, incarnation: below - 1 }) {
            continue;
        }
        if is(mutant, Mutant::PruningBreaksDescent) {
            has_changed |= clock.counters.iter().any(|(life, _)| life.agent == agent && life.incarnation < below);
            clock.forget(agent, below);
        } else {
            has_changed = true;
            clock.prune(agent, below);
        }
    }
    Ok(has_changed)
}

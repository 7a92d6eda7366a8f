//! Sealing, inside a transaction of the caller's: the tree's rows, what is sealed, and the root after each transition. One more memory touches as many rows
//! as its path has nodes. Those who seal at once take turns by the transaction.

use super::Digest;
use super::tree::{self, Child, Node, Nodes, Place};
use crate::mutant::{Mutant, is};
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A change of what the store holds, and the root over all memories that are sealed after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// Its number: one more than the last; 0 is before the first.
    pub number: u64,
    /// The root.
    pub root: Digest,
    /// How many memories are sealed.
    pub memories: u64,
}

/// A transition, and the top of the tree after it.
pub(super) struct Newest {
    pub(super) transition: Transition,
    pub(super) top: Option<Child>,
}

impl Newest {
    /// Before the first transition.
    pub(super) fn before_all() -> Newest {
        Newest { transition: Transition { number: 0, root: tree::root(None), memories: 0 }, top: None }
    }

    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Newest> {
        let (number, root, memories) = (row.get::<_, i64>(0)? as u64, row.get(1)?, row.get::<_, i64>(3)? as u64);
        let top = row.get::<_, Option<Place>>(2)?.map(|place| Child { place, hash: root });
        Ok(Newest { transition: Transition { number, root, memories }, top })
    }
}

fn newest(connection: &Connection) -> rusqlite::Result<Newest> {
    let select = "SELECT transition, root, top, memories FROM merkle_roots ORDER BY transition DESC LIMIT 1";
    let found = connection.prepare_cached(select)?.query_row([], Newest::read);
    Ok(found.optional()?.unwrap_or_else(Newest::before_all))
}

/// All transitions, in their order.
pub(super) fn history(connection: &Connection) -> rusqlite::Result<Vec<Newest>> {
    let select = "SELECT transition, root, top, memories FROM merkle_roots ORDER BY transition";
    connection.prepare_cached(select)?.query_map([], Newest::read)?.collect()
}

/// The newest transition.
///
/// # Errors
/// What SQLite says.
pub fn latest(connection: &Connection) -> rusqlite::Result<Transition> {
    newest(connection).map(|newest| newest.transition)
}

/// Whether a memory is sealed.
///
/// # Errors
/// What SQLite says.
pub fn is_sealed(connection: &Connection, memory: &Digest) -> rusqlite::Result<bool> {
    let mut select = connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM sealed_memories WHERE digest = ?1)")?;
    select.query_row([memory], |row| row.get(0))
}

/// Seals memories, and notes the root that there is then: the next transition, also if they are all sealed already or none is given. Their files must be
/// durable: see [`super::Writing::write`]. Call it inside a transaction that has begun to write: what it does is acknowledged when that is committed, and
/// undone with it.
///
/// # Errors
/// What SQLite says. A node that is missing is [`rusqlite::Error::QueryReturnedNoRows`]: the tree is damaged.
pub fn seal(
    connection: &Connection,
    memories: &[Digest],
    now_ns: u64,
    mutant: Option<Mutant>,
) -> rusqlite::Result<Transition> {
    let Newest { transition: last, mut top } = newest(connection)?;
    let number = last.number + 1;
    let mut new: BTreeSet<Digest> = BTreeSet::new();
    for memory in memories {
        if !new.contains(memory) && !is_sealed(connection, memory)? {
            new.insert(*memory);
        }
    }
    let mut sealed = last.memories;
    if !is(mutant, Mutant::SealNotUpdated) {
        for memory in &new {
            top = Some(tree::insert(&mut Rows { connection }, top, *memory, mutant)?);
        }
        sealed += new.len() as u64;
    }
    let transition = Transition { number, root: tree::root(top), memories: sealed };
    let mut note = connection.prepare_cached(
        "INSERT INTO merkle_roots (transition, root, top, memories, sealed_ns) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let place = top.map(|top| top.place);
    note.execute(params![number as i64, transition.root, place, sealed as i64, now_ns as i64])?;
    let mut add = connection.prepare_cached("INSERT INTO sealed_memories (digest, transition) VALUES (?1, ?2)")?;
    for memory in &new {
        add.execute(params![memory, number as i64])?;
    }
    Ok(transition)
}

/// The tree's rows.
struct Rows<'a> {
    connection: &'a Connection,
}

impl Nodes for Rows<'_> {
    type Error = rusqlite::Error;

    fn get(&mut self, place: &Place) -> rusqlite::Result<Node> {
        let select = "SELECT place, zero, zero_hash, one, one_hash FROM merkle_nodes WHERE place = ?1";
        self.connection.prepare_cached(select)?.query_row([place], node)
    }

    fn put(&mut self, node: &Node) -> rusqlite::Result<()> {
        let [zero, one] = &node.children;
        let mut upsert = self.connection.prepare_cached(
            "INSERT INTO merkle_nodes (place, zero, zero_hash, one, one_hash) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (place) DO UPDATE SET zero = excluded.zero, zero_hash = excluded.zero_hash, one = excluded.one,
               one_hash = excluded.one_hash",
        )?;
        upsert.execute(params![node.place, zero.place, zero.hash, one.place, one.hash]).map(drop)
    }
}

/// Reads a row of the tree.
pub(super) fn node(row: &rusqlite::Row<'_>) -> rusqlite::Result<Node> {
    let child = |first| Ok::<_, rusqlite::Error>(Child { place: row.get(first)?, hash: row.get(first + 1)? });
    Ok(Node { place: row.get(0)?, children: [child(1)?, child(3)?] })
}

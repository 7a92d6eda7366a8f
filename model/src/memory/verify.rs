//! Verifying: the tree is built anew from what is sealed and compared with the stored one, root by root and node by node, and each file is compared with its
//! name. A flipped bit anywhere makes a difference, and is named.

use super::seal::{Newest, Transition, history, node};
use super::tree::{self, Child, Node, Nodes, Place};
use super::{Digest, Folder};
use crate::file::FileError;
use rusqlite::Connection;
use seedstorm_sim::Sys;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

/// Something that isn't as it was sealed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Damaged {
    /// The file: a memory's, or the database.
    pub path: String,
    /// What is wrong with it.
    pub what: String,
}

/// What the store says of its memories, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    /// The newest transition; `None`: it can't be read.
    pub(crate) transition: Option<Transition>,
    /// What is sealed.
    memories: BTreeSet<Digest>,
    /// Memories that the table of what is sealed and the tree don't both know, and what is wrong.
    torn: Vec<(Digest, &'static str)>,
    /// What else is wrong in the database.
    faults: Vec<String>,
}

impl Account {
    /// The account of a store that can't be read.
    pub(crate) fn unreadable(why: &rusqlite::Error) -> Account {
        Account { transition: None, memories: BTreeSet::new(), torn: Vec::new(), faults: vec![why.to_string()] }
    }

    /// Whether what the store says of its memories is in itself as it was sealed.
    pub(crate) fn is_sound(&self) -> bool {
        self.torn.is_empty() && self.faults.is_empty()
    }

    /// Those that aren't sealed.
    pub(crate) fn without_sealed(&self, memories: &[Digest]) -> Vec<Digest> {
        memories.iter().filter(|memory| !self.memories.contains(*memory)).copied().collect()
    }
}

/// A tree that is built anew.
#[derive(Default)]
struct Anew(BTreeMap<Place, Node>);

impl Nodes for Anew {
    type Error = Infallible;

    fn get(&mut self, place: &Place) -> Result<Node, Infallible> {
        Ok(self.0[place])
    }

    fn put(&mut self, node: &Node) -> Result<(), Infallible> {
        self.0.insert(node.place, *node);
        Ok(())
    }
}

/// Reads the account, inside a transaction of the caller's: what it reads must be of one moment.
///
/// # Errors
/// What SQLite says. A row that can't be what was written is damage: [`rusqlite::Error::FromSqlConversionFailure`].
pub(crate) fn read_account(connection: &Connection) -> rusqlite::Result<Account> {
    let mut select =
        connection.prepare_cached("SELECT digest, transition FROM sealed_memories ORDER BY transition, digest")?;
    let sealed = select.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))?;
    let sealed: Vec<(Digest, u64)> = sealed.collect::<rusqlite::Result<_>>()?;
    let mut select = connection.prepare_cached("SELECT place, zero, zero_hash, one, one_hash FROM merkle_nodes")?;
    let stored: Vec<Node> = select.query_map([], node)?.collect::<rusqlite::Result<_>>()?;
    let roots = history(connection)?;
    let mut faults = Vec::new();
    let anew = rebuild(&sealed, &roots, &mut faults);
    compare(&stored, &anew, &mut faults);
    let memories: BTreeSet<Digest> = sealed.into_iter().map(|(memory, _)| memory).collect();
    let torn = torn(&memories, &stored);
    let before_all = Newest::before_all().transition;
    let transition = roots.last().map_or(before_all, |newest| newest.transition);
    Ok(Account { transition: Some(transition), memories, torn, faults })
}

/// Builds the tree anew, transition by transition, and notes the roots that differ.
fn rebuild(sealed: &[(Digest, u64)], roots: &[Newest], faults: &mut Vec<String>) -> Anew {
    let (mut anew, mut top, mut count): (Anew, Option<Child>, u64) = Default::default();
    let mut rest = sealed.iter().peekable();
    for (Newest { transition: stored, top: stored_top }, expected) in roots.iter().zip(1..) {
        if stored.number != expected {
            faults.push(format!("transition {} stands where {expected} should", stored.number));
        }
        while let Some((memory, _)) = rest.next_if(|(_, transition)| *transition <= stored.number) {
            let Ok(grown) = tree::insert(&mut anew, top, *memory, None);
            (top, count) = (Some(grown), count + 1);
        }
        let place_of = |top: &Option<Child>| top.map(|top| top.place);
        if place_of(stored_top) != place_of(&top) {
            faults.push(format!("transition {} doesn't say where the top of its tree is", stored.number));
        }
        if (stored.root, stored.memories) != (tree::root(top), count) {
            let Transition { number, root, memories } = stored;
            faults.push(format!(
                "the root of transition {number} is {root} over {memories}, and should be {} over {count}",
                tree::root(top)
            ));
        }
    }
    for (memory, transition) in rest {
        faults.push(format!("{memory} was sealed in transition {transition}, which isn't there"));
        let Ok(grown) = tree::insert(&mut anew, top, *memory, None);
        top = Some(grown);
    }
    anew
}

/// Notes the nodes that differ.
fn compare(stored: &[Node], anew: &Anew, faults: &mut Vec<String>) {
    for node in stored {
        if anew.0.get(&node.place) != Some(node) {
            faults.push(format!("the node at {} isn't what its memories make", node.place));
        }
    }
    let stored: BTreeSet<Place> = stored.iter().map(|node| node.place).collect();
    for place in anew.0.keys().filter(|place| !stored.contains(place)) {
        faults.push(format!("the node at {place} is missing"));
    }
}

/// Memories that are in one of the two and not in the other.
fn torn(memories: &BTreeSet<Digest>, stored: &[Node]) -> Vec<(Digest, &'static str)> {
    let leaves = stored.iter().flat_map(|node| node.children).filter_map(|child| child.place.as_leaf());
    let leaves: BTreeSet<Digest> = leaves.collect();
    // A single memory is the top itself, and no node holds it.
    let is_above = |memory: &&Digest| memories.len() > 1 && !leaves.contains(*memory);
    let unknown =
        leaves.difference(memories).map(|memory| (*memory, "it is in the tree, and not among what is sealed"));
    let not_held = memories.iter().filter(is_above).map(|memory| (*memory, "it is sealed, and not in the tree"));
    unknown.chain(not_held).collect()
}

/// Compares each sealed memory's file with its name, and gives all that is wrong, by path.
///
/// # Errors
/// What the system says: a file that can't be read now may be whole.
pub(crate) async fn inspect(
    sys: &Sys,
    account: &Account,
    folder: &Folder,
    database: &str,
) -> Result<Vec<Damaged>, FileError> {
    let mut damaged = Vec::new();
    for (memory, what) in &account.torn {
        damaged.push(Damaged { path: folder.path_of(memory), what: (*what).to_owned() });
    }
    for what in &account.faults {
        damaged.push(Damaged { path: database.to_owned(), what: what.clone() });
    }
    for memory in &account.memories {
        if let Some(what) = folder.damage(sys, memory).await? {
            damaged.push(Damaged { path: folder.path_of(memory), what: what.to_owned() });
        }
    }
    damaged.sort();
    Ok(damaged)
}

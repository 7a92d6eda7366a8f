//! Names of files, as `influence` knows them: who changed one last, and which inode it leads to. Names that have gone are remembered for a while, since a
//! lock may be a name; after that they are remembered all in one.

use super::clock::{Latest, Line, Past};
use std::collections::{BTreeMap, VecDeque};

/// So many names that have gone are kept apart.
pub(super) const GONE_MAX: usize = 1024;

/// Where a name leads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leads {
    To(u64),
    /// To an inode that no event has told.
    Somewhere,
    /// It has gone, and is the entry of this number in the queue.
    Nowhere(u64),
}

struct Name {
    changes: Latest,
    leads: Leads,
}

#[derive(Default)]
pub(super) struct Names {
    names: BTreeMap<Vec<u8>, Name>,
    /// Changes of the names in a directory, by its path.
    directories: BTreeMap<Vec<u8>, Latest>,
    gone: VecDeque<(u64, Vec<u8>)>,
    gone_count: u64,
    /// Changes of names that are not kept apart any more.
    forgotten: Latest,
}

/// A path's directory.
fn directory_of(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(0) | None => b"/",
        Some(at) => &path[..at],
    }
}

impl Names {
    /// Somebody looks at a name, or tries to: what changed it last has influenced that.
    pub(super) fn look(&self, path: &[u8], line: &mut Line) {
        match self.names.get(path) {
            Some(name) => name.changes.join_into(line),
            None => self.forgotten.join_into(line),
        }
    }

    /// Somebody lists a directory.
    pub(super) fn list(&self, path: &[u8], line: &mut Line) {
        if let Some(changes) = self.directories.get(path) {
            changes.join_into(line);
        }
        self.look(path, line);
    }

    /// The inode that a name is known to lead to.
    pub(super) fn inode(&self, path: &[u8]) -> Option<u64> {
        match self.names.get(path)?.leads {
            Leads::To(inode) => Some(inode),
            Leads::Somewhere | Leads::Nowhere(_) => None,
        }
    }

    /// Whether the name is known to be there.
    pub(super) fn is_there(&self, path: &[u8]) -> bool {
        self.names.get(path).is_some_and(|name| !matches!(name.leads, Leads::Nowhere(_)))
    }

    /// Learns where a name leads, without a change of it.
    pub(super) fn learn(&mut self, path: &[u8], inode: u64) {
        let forgotten = &self.forgotten;
        let unknown = || Name { changes: forgotten.clone(), leads: Leads::Somewhere };
        self.names.entry(path.to_vec()).or_insert_with(unknown).leads = Leads::To(inode);
    }

    /// A name is there from now on, or leads elsewhere.
    pub(super) fn put(&mut self, path: &[u8], inode: Option<u64>, by: &Past) {
        self.change(path, by).leads = inode.map_or(Leads::Somewhere, Leads::To);
    }

    /// A name is no more.
    pub(super) fn remove(&mut self, path: &[u8], by: &Past) {
        self.gone_count += 1;
        let count = self.gone_count;
        self.change(path, by).leads = Leads::Nowhere(count);
        self.gone.push_back((count, path.to_vec()));
        if self.gone.len() > GONE_MAX
            && let Some((count, path)) = self.gone.pop_front()
            && self.names.get(&path).is_some_and(|name| name.leads == Leads::Nowhere(count))
            && let Some(name) = self.names.remove(&path)
        {
            self.forgotten.add_all(&name.changes);
        }
    }

    /// A directory is no more, and with it what was remembered of it.
    pub(super) fn remove_directory(&mut self, path: &[u8], by: &Past) {
        self.directories.remove(path);
        self.remove(path, by);
    }

    fn change(&mut self, path: &[u8], by: &Past) -> &mut Name {
        let directory = directory_of(path);
        match self.directories.get_mut(directory) {
            Some(changes) => changes.add(by),
            None => self.directories.entry(directory.to_vec()).or_default().add(by),
        }
        let forgotten = &self.forgotten;
        let unknown = || Name { changes: forgotten.clone(), leads: Leads::Somewhere };
        let name = self.names.entry(path.to_vec()).or_insert_with(unknown);
        name.changes.add(by);
        name
    }

    /// How much is remembered.
    pub(super) fn len(&self) -> usize {
        self.names.len() + self.directories.len() + usize::from(!self.forgotten.is_empty())
    }
}

//! Which images a crash may leave, by enumeration from the list of events: names and, for each, the contents of each file.

use std::collections::{BTreeMap, BTreeSet};

use seedstorm_sim::sys::disk::Persistence;

use super::operations::write;
use super::{Event, Id, Names, Reference, Snapshot, paths};

const SECTOR: u64 = 512;
const PAGE: u64 = 4096;

/// One way in which names may be left, with all contents that each file may have then.
#[derive(Debug)]
pub(crate) struct Allowed {
    pub(crate) tree: BTreeMap<String, Id>,
    pub(crate) contents: BTreeMap<Id, BTreeSet<Vec<u8>>>,
}

impl Allowed {
    pub(crate) fn contains(&self, image: &Snapshot) -> bool {
        self.tree.len() == image.len()
            && self.tree.iter().all(|(path, id)| match (image.get(path), self.contents.get(id)) {
                (Some(Some(bytes)), Some(contents)) => contents.contains(bytes),
                (Some(None), None) => true,
                _ => false,
            })
    }

    /// Every image, one by one. For small cases only.
    pub(crate) fn images(&self) -> BTreeSet<Snapshot> {
        let ids: BTreeSet<Id> = self.tree.values().copied().collect();
        let mut chosen: Vec<BTreeMap<Id, Vec<u8>>> = vec![BTreeMap::new()];
        for id in ids {
            let Some(contents) = self.contents.get(&id) else { continue };
            let extended = chosen.iter().flat_map(|choice| {
                contents.iter().map(move |bytes| {
                    let mut choice = choice.clone();
                    choice.insert(id, bytes.clone());
                    choice
                })
            });
            chosen = extended.collect();
        }
        let image = |choice: &BTreeMap<Id, Vec<u8>>| {
            self.tree.iter().map(|(path, id)| (path.clone(), choice.get(id).cloned())).collect::<Snapshot>()
        };
        chosen.iter().map(image).collect()
    }
}

/// What is decided about an event by the fsyncs after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Status {
    Pending,
    Forced,
    Forbidden,
}

impl Event {
    fn is_data_of(&self, of: Id) -> bool {
        matches!(self, Event::Write { id, .. } | Event::SetLen { id, .. } if *id == of)
    }

    fn is_name_of(&self, of: Id) -> bool {
        matches!(self, Event::Link { id, .. } | Event::Unlink { id, .. } | Event::Rename { id, .. } if *id == of)
    }

    fn is_name(&self) -> bool {
        matches!(self, Event::Link { .. } | Event::Unlink { .. } | Event::Rename { .. })
    }

    fn is_set_len(&self) -> bool {
        matches!(self, Event::SetLen { .. })
    }

    fn is_item(&self) -> bool {
        self.is_name() || self.is_set_len() || matches!(self, Event::Write { .. })
    }

    fn touched(&self) -> Vec<(Id, String)> {
        match self {
            Event::Link { directory, name, .. } | Event::Unlink { directory, name, .. } => {
                vec![(*directory, name.clone())]
            }
            Event::Rename { from, to, .. } => vec![from.clone(), to.clone()],
            _ => Vec::new(),
        }
    }

    fn touches_directory(&self, directory: Id) -> bool {
        self.touched().iter().any(|(touched, _)| *touched == directory)
    }
}

impl Reference {
    /// All that a crash now may leave.
    pub(crate) fn allowed(&self) -> Vec<Allowed> {
        let status = self.statuses();
        match self.persistence {
            Persistence::Strict => self.allowed_strict(&status),
            Persistence::Ext4 => self.allowed_ext4(&status),
            Persistence::Posix => self.allowed_posix(&status),
        }
    }

    /// The length of a file without what a failed fsync dropped.
    pub(crate) fn logged_len(&self, id: Id) -> u64 {
        self.without_failed(id).len() as u64
    }

    /// A file without what a failed fsync dropped.
    pub(crate) fn without_failed(&self, id: Id) -> Vec<u8> {
        let status = self.statuses();
        let mut content = self.base_files.get(&id).cloned().unwrap_or_default();
        for (event, status) in self.log.iter().zip(status) {
            match event {
                Event::Write { id: of, offset, bytes, .. } if *of == id && status != Status::Forbidden => {
                    write(&mut content, *offset, bytes);
                }
                Event::SetLen { id: of, len } if *of == id && status != Status::Forbidden => {
                    content.resize(*len as usize, 0);
                }
                _ => {}
            }
        }
        content
    }

    fn statuses(&self) -> Vec<Status> {
        let mut status = vec![Status::Pending; self.log.len()];
        for (now, event) in self.log.iter().enumerate() {
            let last = |status: &[Status], concerns: &dyn Fn(&Event) -> bool| {
                (0..now).rev().find(|&at| status[at] != Status::Forbidden && concerns(&self.log[at]))
            };
            let force = |status: &mut Vec<Status>, through: Option<usize>, what: &dyn Fn(&Event) -> bool| {
                let count = through.map_or(0, |through| through + 1);
                for (event, status) in self.log.iter().zip(status).take(count) {
                    if *status == Status::Pending && what(event) {
                        *status = Status::Forced;
                    }
                }
            };
            match (event, self.persistence) {
                (Event::SyncFile(id), Persistence::Strict) => {
                    let through = last(&status, &|event| event.is_data_of(*id) || event.is_name_of(*id));
                    force(&mut status, through, &Event::is_item);
                }
                (Event::SyncDirectory(id), Persistence::Strict) => {
                    let through = last(&status, &|event| event.touches_directory(*id) || event.is_name_of(*id));
                    force(&mut status, through, &Event::is_item);
                }
                (Event::SyncFile(id), Persistence::Ext4) => {
                    let is_in_journal =
                        |event: &Event| event.is_name_of(*id) || (event.is_set_len() && event.is_data_of(*id));
                    let through = last(&status, &is_in_journal);
                    force(&mut status, through, &|event| event.is_name() || event.is_set_len());
                    force(&mut status, Some(now), &|event| event.is_data_of(*id));
                }
                (Event::Flush(id), Persistence::Ext4) => {
                    let through = last(&status, &|event| event.is_set_len() && event.is_data_of(*id));
                    force(&mut status, through, &|event| event.is_name() || event.is_set_len());
                    force(&mut status, Some(now), &|event| event.is_data_of(*id));
                }
                (Event::SyncDirectory(id), Persistence::Ext4) => {
                    let through = last(&status, &|event| event.touches_directory(*id) || event.is_name_of(*id));
                    force(&mut status, through, &|event| event.is_name() || event.is_set_len());
                }
                (Event::SyncFile(id), Persistence::Posix) => {
                    force(&mut status, Some(now), &|event| event.is_data_of(*id));
                }
                (Event::SyncDirectory(id), Persistence::Posix) => {
                    let mut open: Vec<usize> = (0..now).filter(|&at| self.log[at].touches_directory(*id)).collect();
                    while let Some(at) = open.pop() {
                        if status[at] == Status::Pending {
                            status[at] = Status::Forced;
                            open.extend(self.requires(at));
                        }
                    }
                }
                (Event::Fail(id), _) => {
                    for (event, status) in self.log.iter().zip(&mut status).take(now) {
                        if *status == Status::Pending && event.is_data_of(*id) {
                            *status = Status::Forbidden;
                        }
                    }
                }
                _ => {}
            }
        }
        status
    }

    /// Under `posix`, the earlier operations on names without which this one cannot be.
    fn requires(&self, at: usize) -> Vec<usize> {
        let event = &self.log[at];
        let emptied = match event {
            Event::Unlink { id, .. } => self.directories.contains(id).then_some(*id),
            Event::Rename { over, .. } => over.filter(|over| self.directories.contains(over)),
            _ => None,
        };
        let is_required = |earlier: &usize| {
            let other = &self.log[*earlier];
            let shares_a_name = other.touched().iter().any(|name| event.touched().contains(name));
            let empties = emptied.is_some_and(|directory| other.touches_directory(directory));
            let places = matches!(event, Event::Rename { above, .. } if above.iter().any(|id| other.is_name_of(*id)));
            shares_a_name || empties || places
        };
        (0..at).filter(is_required).collect()
    }

    fn tree(&self, is_kept: &dyn Fn(usize) -> bool) -> BTreeMap<String, Id> {
        let mut names: Names = self.base_names.clone();
        for (at, event) in self.log.iter().enumerate() {
            if !is_kept(at) {
                continue;
            }
            match event {
                Event::Link { directory, name, id } => {
                    names.insert((*directory, name.clone()), *id);
                }
                Event::Unlink { directory, name, .. } => {
                    names.remove(&(*directory, name.clone()));
                }
                Event::Rename { from, to, id, .. } => {
                    names.remove(from);
                    names.insert(to.clone(), *id);
                }
                _ => {}
            }
        }
        paths(&names, &self.directories)
    }

    fn allowed_strict(&self, status: &[Status]) -> Vec<Allowed> {
        let forced = status.iter().rposition(|status| *status == Status::Forced).map_or(0, |at| at + 1);
        let prefix = |cut: usize| {
            let is_kept = |at: usize| at < cut && status[at] != Status::Forbidden;
            let contents = self.files.keys().map(|&id| {
                let mut content = self.base_files.get(&id).cloned().unwrap_or_default();
                for (at, event) in self.log.iter().enumerate() {
                    match event {
                        Event::Write { id: of, offset, bytes, .. } if *of == id && is_kept(at) => {
                            write(&mut content, *offset, bytes);
                        }
                        Event::SetLen { id: of, len } if *of == id && is_kept(at) => content.resize(*len as usize, 0),
                        _ => {}
                    }
                }
                (id, BTreeSet::from([content]))
            });
            Allowed { contents: contents.collect(), tree: self.tree(&is_kept) }
        };
        (forced..=self.log.len()).map(prefix).collect()
    }

    fn allowed_posix(&self, status: &[Status]) -> Vec<Allowed> {
        let mut kept_sets: Vec<BTreeSet<usize>> = vec![BTreeSet::new()];
        for at in (0..self.log.len()).filter(|&at| self.log[at].is_name()) {
            let requires = self.requires(at);
            let mut next = Vec::new();
            for kept in kept_sets {
                if requires.iter().all(|required| kept.contains(required)) {
                    let mut with = kept.clone();
                    with.insert(at);
                    next.push(with);
                }
                if status[at] != Status::Forced {
                    next.push(kept);
                }
            }
            kept_sets = next;
        }
        let trees: BTreeSet<_> = kept_sets.iter().map(|kept| self.tree(&|at| kept.contains(&at))).collect();
        let contents: BTreeMap<Id, BTreeSet<Vec<u8>>> =
            self.files.keys().map(|&id| (id, self.contents_posix(id, status))).collect();
        trees.into_iter().map(|tree| Allowed { tree, contents: contents.clone() }).collect()
    }

    /// Each write's length and each of its sectors by itself.
    fn contents_posix(&self, id: Id, status: &[Status]) -> BTreeSet<Vec<u8>> {
        let mut states = BTreeSet::from([self.base_files.get(&id).cloned().unwrap_or_default()]);
        for (at, event) in self.log.iter().enumerate() {
            if !event.is_data_of(id) || status[at] == Status::Forbidden {
                continue;
            }
            let mut next = BTreeSet::new();
            for state in &states {
                match event {
                    Event::SetLen { len, .. } => {
                        let mut kept = state.clone();
                        kept.resize(*len as usize, 0);
                        next.insert(kept);
                        if status[at] == Status::Pending {
                            next.insert(state.clone());
                        }
                    }
                    Event::Write { offset, bytes, extends, .. } => {
                        let sectors: Vec<u64> =
                            (offset / SECTOR..=(offset + bytes.len() as u64 - 1) / SECTOR).collect();
                        let subsets = if status[at] == Status::Forced {
                            vec![u32::MAX]
                        } else {
                            (0..1 << sectors.len()).collect()
                        };
                        for subset in subsets {
                            let is_kept = |byte: u64| subset & (1 << (byte / SECTOR - sectors[0])) != 0;
                            next.insert(write_some(state.clone(), *offset, bytes, *extends, &is_kept));
                            if status[at] == Status::Pending {
                                next.insert(write_some(state.clone(), *offset, bytes, false, &is_kept));
                            }
                        }
                    }
                    _ => {}
                }
            }
            states = next;
        }
        states
    }

    fn allowed_ext4(&self, status: &[Status]) -> Vec<Allowed> {
        let is_journal =
            |at: &usize| (self.log[*at].is_name() || self.log[*at].is_set_len()) && status[*at] != Status::Forbidden;
        let journal: Vec<usize> = (0..self.log.len()).filter(is_journal).collect();
        let forced = journal.iter().rposition(|&at| status[at] == Status::Forced).map_or(0, |index| index + 1);
        let prefix = |count: usize| {
            let kept = &journal[..count];
            let contents = self.files.keys().map(|&id| (id, self.contents_ext4(id, status, kept))).collect();
            Allowed { tree: self.tree(&|at| kept.contains(&at)), contents }
        };
        (forced..=journal.len()).map(prefix).collect()
    }

    /// Of each page the state after some prefix of the writes to it; lengths given by writes, a prefix of them.
    fn contents_ext4(&self, id: Id, status: &[Status], journal_kept: &[usize]) -> BTreeSet<Vec<u8>> {
        let all = |at: &usize| self.log[*at].is_data_of(id) && status[*at] != Status::Forbidden;
        let mut items: Vec<usize> = (0..self.log.len()).filter(all).collect();
        let is_lost = |at: &usize| self.log[*at].is_set_len() && !journal_kept.contains(at);
        items.truncate(items.iter().position(is_lost).unwrap_or(items.len()));

        let pages: BTreeSet<u64> = items.iter().flat_map(|&at| pages_of(&self.log[at])).collect();
        let mut limits: Vec<BTreeMap<u64, usize>> = vec![BTreeMap::new()];
        for page in pages {
            let steps: Vec<usize> = items
                .iter()
                .copied()
                .filter(|&at| pages_of(&self.log[at]).contains(&page))
                .chain([usize::MAX])
                .collect();
            let extended = limits.iter().flat_map(|limit| {
                steps.iter().map(move |&step| {
                    let mut limit = limit.clone();
                    limit.insert(page, step);
                    limit
                })
            });
            limits = extended.collect();
        }
        let mut contents = BTreeSet::new();
        for size_limit in items.iter().copied().chain([usize::MAX]) {
            for limit in &limits {
                let mut content = self.base_files.get(&id).cloned().unwrap_or_default();
                for &at in &items {
                    let is_forced = status[at] == Status::Forced;
                    match &self.log[at] {
                        Event::SetLen { len, .. } => content.resize(*len as usize, 0),
                        Event::Write { offset, bytes, extends, .. } => {
                            let is_kept =
                                |byte: u64| is_forced || limit.get(&(byte / PAGE)).is_some_and(|&limit| at < limit);
                            let extends = *extends && (is_forced || at < size_limit);
                            content = write_some(content, *offset, bytes, extends, &is_kept);
                        }
                        _ => {}
                    }
                }
                contents.insert(content);
            }
        }
        contents
    }
}

fn pages_of(event: &Event) -> Vec<u64> {
    match event {
        Event::Write { offset, bytes, .. } => (offset / PAGE..=(offset + bytes.len() as u64 - 1) / PAGE).collect(),
        _ => Vec::new(),
    }
}

/// Writes the bytes that are kept and that lie within the length.
fn write_some(
    mut content: Vec<u8>,
    offset: u64,
    bytes: &[u8],
    extends: bool,
    is_kept: &dyn Fn(u64) -> bool,
) -> Vec<u8> {
    let end = offset as usize + bytes.len();
    if extends && content.len() < end {
        content.resize(end, 0);
    }
    for (index, byte) in bytes.iter().enumerate() {
        let at = offset + index as u64;
        if is_kept(at) && at < content.len() as u64 {
            content[at as usize] = *byte;
        }
    }
    content
}

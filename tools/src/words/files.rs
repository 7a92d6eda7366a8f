//! Which file has which name, as far as the events of a run have told. Only for words: what counts as a file's life is `sim`'s business.

use seedstorm_sim::trace::{Body, CallKind, Event, ProcessId};
use std::collections::BTreeMap;

/// Names by inode, and the other way round. A file that has lost its name keeps it here: it may still be open.
#[derive(Default)]
pub(super) struct FileNames {
    names: BTreeMap<u64, String>,
    inodes: BTreeMap<String, u64>,
    /// The database that a process locked last: the wal-index that it maps next belongs to it, and no call names that.
    databases: BTreeMap<ProcessId, u64>,
}

impl FileNames {
    pub(super) fn name(&self, inode: u64) -> Option<&str> {
        self.names.get(&inode).map(String::as_str)
    }

    pub(super) fn observe(&mut self, event: &Event<'_>) {
        let Body::Call { kind, object, result: Ok(_), data, .. } = event.body else { return };
        match kind {
            CallKind::Open if !data.is_empty() => self.put(String::from_utf8_lossy(data).into_owned(), object),
            CallKind::Rename | CallKind::Link => {
                let both = String::from_utf8_lossy(data);
                let Some((from, to)) = both.split_once('\0') else { return };
                let Some(inode) = self.inodes.get(from).copied() else { return };
                if kind == CallKind::Rename {
                    self.inodes.remove(from);
                }
                self.put(to.to_owned(), inode);
            }
            CallKind::Unlink => drop(self.inodes.remove(&*String::from_utf8_lossy(data))),
            CallKind::DatabaseLock => drop(event.process.map(|process| self.databases.insert(process, object))),
            CallKind::MapShared if !self.names.contains_key(&object) => {
                let database = event.process.and_then(|process| self.databases.get(&process));
                if let Some(name) = database.and_then(|inode| self.names.get(inode)) {
                    let name = format!("{name}-shm");
                    self.names.insert(object, name);
                }
            }
            _ => {}
        }
    }

    fn put(&mut self, name: String, inode: u64) {
        self.names.insert(inode, name.clone());
        self.inodes.insert(name, inode);
    }
}

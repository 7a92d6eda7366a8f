//! A naive reference for the disk: it keeps the list of all operations and says by enumeration what a crash may leave.
//! Written from the profiles' descriptions, not from the disk's code; slow on purpose.

pub(crate) mod allowed;
pub(crate) mod locks;
pub(crate) mod operations;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use seedstorm_sim::sys::disk::{Disk, FileKind, Persistence};

/// What a walk finds: bytes of files, `None` for directories.
pub(crate) type Snapshot = BTreeMap<String, Option<Vec<u8>>>;

/// The reference's own inode number.
pub(crate) type Id = u32;

pub(crate) const ROOT: Id = 0;

/// Which inode each name in each directory stands for.
pub(crate) type Names = BTreeMap<(Id, String), Id>;

/// One thing that was done, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Link {
        directory: Id,
        name: String,
        id: Id,
    },
    Unlink {
        directory: Id,
        name: String,
        id: Id,
    },
    /// `above`: the directory moved into and all it is in, at that time.
    Rename {
        from: (Id, String),
        to: (Id, String),
        id: Id,
        over: Option<Id>,
        above: Vec<Id>,
    },
    Write {
        id: Id,
        offset: u64,
        bytes: Vec<u8>,
        extends: bool,
    },
    SetLen {
        id: Id,
        len: u64,
    },
    SyncFile(Id),
    SyncDirectory(Id),
    /// ext4: a rename over an existing file flushes its source.
    Flush(Id),
    /// An fsync that failed.
    Fail(Id),
}

/// The naive file system.
#[derive(Clone)]
pub(crate) struct Reference {
    pub(crate) persistence: Persistence,
    pub(crate) base_names: Names,
    pub(crate) base_files: BTreeMap<Id, Vec<u8>>,
    pub(crate) names: Names,
    pub(crate) files: BTreeMap<Id, Vec<u8>>,
    pub(crate) directories: BTreeSet<Id>,
    pub(crate) log: Vec<Event>,
    pub(crate) next_id: Id,
}

impl Reference {
    pub(crate) fn new(persistence: Persistence) -> Reference {
        Reference {
            persistence,
            base_names: Names::new(),
            base_files: BTreeMap::new(),
            names: Names::new(),
            files: BTreeMap::new(),
            directories: BTreeSet::from([ROOT]),
            log: Vec::new(),
            next_id: 1,
        }
    }

    /// Starts over from what a crash left.
    pub(crate) fn restart(disk: &Disk) -> Reference {
        let mut reference = Reference::new(disk.persistence());
        let mut known: BTreeMap<u64, Id> = BTreeMap::new();
        let mut queue = VecDeque::from([(String::new(), ROOT)]);
        while let Some((path, directory)) = queue.pop_front() {
            let listed = if path.is_empty() { "/" } else { &path };
            for name in disk.read_dir(listed).expect("a directory lists") {
                let child = format!("{path}/{name}");
                let stat = disk.stat(&child).expect("a listed name has an inode");
                let next_id = &mut reference.next_id;
                let id = *known.entry(stat.inode.0).or_insert_with(|| {
                    *next_id += 1;
                    *next_id - 1
                });
                reference.names.insert((directory, name), id);
                match stat.kind {
                    FileKind::File => {
                        reference.files.insert(id, disk.visible_read(&child).expect("a file reads"));
                    }
                    FileKind::Directory => {
                        reference.directories.insert(id);
                        queue.push_back((child, id));
                    }
                }
            }
        }
        reference.base_names = reference.names.clone();
        reference.base_files = reference.files.clone();
        reference
    }

    /// The inode at a path.
    pub(crate) fn resolve(&self, path: &str) -> Option<Id> {
        let mut at = ROOT;
        for component in path.split('/').filter(|component| !component.is_empty()) {
            at = *self.names.get(&(at, component.to_owned()))?;
        }
        Some(at)
    }

    /// The directory of a path and its last component, if the directory exists.
    pub(crate) fn parent(&self, path: &str) -> Option<(Id, String)> {
        let (directory, name) = path.rsplit_once('/')?;
        let id = self.resolve(directory)?;
        self.directories.contains(&id).then(|| (id, name.to_owned()))
    }

    /// The directory and those it is in.
    pub(crate) fn above(&self, directory: Id) -> Vec<Id> {
        let mut above = vec![directory];
        let mut at = directory;
        while at != ROOT {
            let ((parent, _), _) = self.names.iter().find(|(_, id)| **id == at).expect("a directory in use has a name");
            at = *parent;
            above.push(at);
        }
        above
    }

    pub(crate) fn is_empty(&self, directory: Id) -> bool {
        !self.names.keys().any(|(parent, _)| *parent == directory)
    }

    /// What processes see.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let tree = paths(&self.names, &self.directories);
        tree.into_iter().map(|(path, id)| (path, self.files.get(&id).cloned())).collect()
    }
}

/// All paths that a walk from the root finds, with their inodes.
pub(crate) fn paths(names: &Names, directories: &BTreeSet<Id>) -> BTreeMap<String, Id> {
    let mut found = BTreeMap::new();
    let mut stack = vec![(String::new(), ROOT)];
    while let Some((path, directory)) = stack.pop() {
        for ((parent, name), id) in names {
            if *parent == directory {
                let child = format!("{path}/{name}");
                if directories.contains(id) {
                    stack.push((child.clone(), *id));
                }
                found.insert(child, *id);
            }
        }
        assert!(found.len() < 1000, "a cycle of directories");
    }
    found
}

/// What processes see on the disk.
pub(crate) fn snapshot(disk: &Disk) -> Snapshot {
    let mut found = Snapshot::new();
    let mut stack = vec![String::new()];
    while let Some(path) = stack.pop() {
        let listed = if path.is_empty() { "/" } else { &path };
        for name in disk.read_dir(listed).expect("a directory lists") {
            let child = format!("{path}/{name}");
            let is_directory = disk.stat(&child).expect("a listed name has an inode").kind == FileKind::Directory;
            if is_directory {
                stack.push(child.clone());
            }
            found.insert(child.clone(), disk.visible_read(&child));
        }
    }
    found
}

//! What lasts: operations, waits for locks and holds of them, transactions, pauses and lives, told from events. How they are drawn is the page's business.

use crate::words::Narrator;
use seedstorm_model::claims::{
    Checkpointed, Committed, DocumentSaved, MemoriesVerified, OperationBegun, OperationKey, OutcomeUnknown, Refused,
    SnapshotRead, StatusSeen,
};
use seedstorm_sim::sqlite::SharedLockCall;
use seedstorm_sim::sys::claim::{LockAcquired, LockReleased, LockTimedOut, LockWaiting};
use seedstorm_sim::sys::disk::LockMode;
use seedstorm_sim::trace::{Body, CallKind, Event, ProcessId, TaskId};
use std::collections::BTreeMap;

/// Where a run is: the number of the event, from 0, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) index: u64,
    pub(crate) time_ns: u64,
}

/// What lasts. The numbers are those of the page's script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BarKind {
    /// A process is up.
    Life = 0,
    /// A process is stopped.
    Pause = 1,
    /// A process is at an operation of the plan.
    Operation = 2,
    /// A process waits for a lock.
    Wait = 3,
    /// A process holds a lock.
    Hold = 4,
    /// A process holds the write lock of a SQLite database.
    Transaction = 5,
    /// A process checkpoints a SQLite database.
    Checkpoint = 6,
}

impl BarKind {
    /// Its name, for machines.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            BarKind::Life => "life",
            BarKind::Pause => "pause",
            BarKind::Operation => "operation",
            BarKind::Wait => "lock-wait",
            BarKind::Hold => "lock-hold",
            BarKind::Transaction => "transaction",
            BarKind::Checkpoint => "checkpoint",
        }
    }
}

/// Something that a process was in from one event to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bar {
    pub(crate) process: ProcessId,
    pub(crate) kind: BarKind,
    pub(crate) label: String,
    pub(crate) from: Place,
    pub(crate) to: Place,
}

/// What an open bar is known by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    Process,
    Lock(String),
    Inode(u64),
    Task(TaskId),
}

type Key = (ProcessId, BarKind, Of);

/// Bars of a run, event by event.
#[derive(Default)]
pub(crate) struct Bars {
    open: BTreeMap<Key, (String, Place)>,
    done: Vec<Bar>,
}

/// The level of a lock on a SQLite database from which there is one holder (sqlite.org/lockingv3.html).
const RESERVED: u64 = 2;

impl Bars {
    /// Takes in the next event. `narrator` has told it already.
    pub(crate) fn observe(&mut self, event: &Event<'_>, at: Place, narrator: &Narrator) {
        let Some(process) = event.process else { return };
        match &event.body {
            Body::Started { .. } => {
                let label = format!("boot {}", event.boot);
                self.begin((process, BarKind::Life, Of::Process), label, at);
            }
            Body::Ended(_) => self.end_all(process, at),
            Body::Paused => self.begin((process, BarKind::Pause, Of::Process), "paused".to_owned(), at),
            Body::Resumed => self.end(&(process, BarKind::Pause, Of::Process), at),
            Body::Claim { .. } => self.claimed(process, event, at),
            Body::Blocked { kind: CallKind::Lock | CallKind::RangeLock, object } => {
                let task = event.task.unwrap_or(TaskId(0));
                let label = format!("flock {}", name(narrator, *object));
                self.begin((process, BarKind::Wait, Of::Task(task)), label, at);
            }
            Body::Call { kind, object, arguments, result: Ok(_), .. } => {
                self.called(process, event.task, (*kind, *object, *arguments), at, narrator);
            }
            _ => {}
        }
    }

    /// All of them, in the order of their beginnings. What lasts still, lasts to the end.
    pub(crate) fn finish(mut self, end: Place) -> Vec<Bar> {
        for (key, (label, from)) in std::mem::take(&mut self.open) {
            self.done.push(Bar { process: key.0, kind: key.1, label, from, to: end });
        }
        self.done.sort_by_key(|bar| (bar.from, bar.kind, bar.process));
        self.done
    }

    fn begin(&mut self, key: Key, label: String, at: Place) {
        self.end(&key, at);
        self.open.insert(key, (label, at));
    }

    fn end(&mut self, key: &Key, at: Place) {
        if let Some((label, from)) = self.open.remove(key) {
            self.done.push(Bar { process: key.0, kind: key.1, label, from, to: at });
        }
    }

    fn end_all(&mut self, process: ProcessId, at: Place) {
        let keys: Vec<Key> = self.open.keys().filter(|key| key.0 == process).cloned().collect();
        keys.iter().for_each(|key| self.end(key, at));
    }

    fn claimed(&mut self, process: ProcessId, event: &Event<'_>, at: Place) {
        let lock = |kind, lock: &str| (process, kind, Of::Lock(lock.to_owned()));
        if let Some(LockWaiting { lock: name, .. }) = event.claim() {
            self.begin(lock(BarKind::Wait, &name), name.clone(), at);
        } else if let Some(LockAcquired { lock: name, .. }) = event.claim() {
            self.end(&lock(BarKind::Wait, &name), at);
            self.begin(lock(BarKind::Hold, &name), name.clone(), at);
        } else if let Some(LockReleased { lock: name }) = event.claim() {
            self.end(&lock(BarKind::Hold, &name), at);
        } else if let Some(LockTimedOut { lock: name, .. }) = event.claim() {
            self.end(&lock(BarKind::Wait, &name), at);
        } else if let Some(OperationBegun { key, kind }) = event.claim() {
            self.begin((process, BarKind::Operation, Of::Process), format!("{kind} {}", key.number), at);
        } else if let Some(DocumentSaved { .. }) = event.claim() {
            // It doesn't say which operation it ends.
            let current = (process, BarKind::Operation, Of::Process);
            if self.open.get(&current).is_some_and(|(label, _)| label.starts_with("document ")) {
                self.end(&current, at);
            }
        } else if let Some(key) = ended(event) {
            let current = (process, BarKind::Operation, Of::Process);
            // A claim about an earlier operation doesn't end this one.
            let number = key.number.to_string();
            let is_current =
                self.open.get(&current).is_some_and(|(label, _)| label.rsplit(' ').next() == Some(&number));
            if is_current {
                self.end(&current, at);
            }
        }
    }

    fn called(
        &mut self,
        process: ProcessId,
        task: Option<TaskId>,
        (kind, object, arguments): (CallKind, u64, [u64; 2]),
        at: Place,
        narrator: &Narrator,
    ) {
        match kind {
            CallKind::Lock => {
                self.end(&(process, BarKind::Wait, Of::Task(task.unwrap_or(TaskId(0)))), at);
                let file = name(narrator, object);
                // A lock that the program names itself is told by its claims.
                if arguments[0] == LockMode::Exclusive as u64 && !self.is_awaited(process, &file) {
                    self.begin((process, BarKind::Hold, Of::Inode(object)), format!("flock {file}"), at);
                }
            }
            CallKind::RangeLock => self.end(&(process, BarKind::Wait, Of::Task(task.unwrap_or(TaskId(0)))), at),
            CallKind::Unlock | CallKind::Close => self.end(&(process, BarKind::Hold, Of::Inode(object)), at),
            CallKind::SharedLock => {
                let call = SharedLockCall::of(arguments);
                let slots = call.first..call.first + call.count;
                let file = name(narrator, object);
                let file = file.trim_end_matches("-shm");
                for (slot, kind) in
                    [(SharedLockCall::WRITE, BarKind::Transaction), (SharedLockCall::CHECKPOINT, BarKind::Checkpoint)]
                {
                    match slots.contains(&slot) {
                        true if call.releases => self.end(&(process, kind, Of::Inode(object)), at),
                        true if call.excludes => self.begin((process, kind, Of::Inode(object)), file.to_owned(), at),
                        _ => {}
                    }
                }
            }
            CallKind::DatabaseLock if arguments[0] >= RESERVED => {
                let key = (process, BarKind::Transaction, Of::Inode(object));
                if !self.open.contains_key(&key) {
                    self.begin(key, name(narrator, object), at);
                }
            }
            CallKind::DatabaseUnlock => self.end(&(process, BarKind::Transaction, Of::Inode(object)), at),
            _ => {}
        }
    }

    /// Whether a file is the side-car of a lock that the process says it waits for.
    fn is_awaited(&self, process: ProcessId, file: &str) -> bool {
        let lock = Of::Lock(file.trim_end_matches(".lock").to_owned());
        self.open.contains_key(&(process, BarKind::Wait, lock))
    }
}

/// The last part of a file's name.
fn name(narrator: &Narrator, inode: u64) -> String {
    let path = narrator.file(inode).map_or_else(|| format!("#{inode}"), str::to_owned);
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Which operation a claim ends.
fn ended(event: &Event<'_>) -> Option<OperationKey> {
    let of_transaction = || event.claim::<Committed>().map(|claim| claim.key);
    let of_read = || event.claim::<SnapshotRead>().map(|claim| claim.key);
    let without_effect = || event.claim::<Refused>().map(|claim| claim.key);
    let unknown = || event.claim::<OutcomeUnknown>().map(|claim| claim.key);
    let checkpointed = || event.claim::<Checkpointed>().map(|claim| claim.key);
    let verified = || event.claim::<MemoriesVerified>().map(|claim| claim.key);
    let seen = || event.claim::<StatusSeen>().map(|claim| claim.key);
    of_transaction()
        .or_else(of_read)
        .or_else(without_effect)
        .or_else(unknown)
        .or_else(checkpointed)
        .or_else(verified)
        .or_else(seen)
}

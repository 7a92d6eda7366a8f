//! Who holds and who awaits which named lock, as claims and lives tell it. What must hold of it is in the `lock_*` files.

use crate::kernel::View;
use crate::sys::claim::{Exclusion, LockAcquired, LockReleased, LockTimedOut, LockWaiting};
use crate::trace::{Body, Event, Interest, ProcessId, TaskId};
use std::collections::BTreeMap;

/// A holder of a lock, by its own claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) process: ProcessId,
    /// Which of the process's tasks has acquired it.
    pub(super) task: Option<TaskId>,
    pub(super) exclusion: Exclusion,
}

/// A process that waits for a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    /// Which of the process's tasks waits.
    pub(super) task: Option<TaskId>,
    pub(super) lock: String,
    pub(super) since_ns: u64,
    pub(super) within_ns: u64,
}

/// How an event changes the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Waiting(ProcessId),
    /// Acquired; the holders besides it, and how long it waited.
    Acquired {
        by: ProcessId,
        lock: String,
        beside: Vec<Hold>,
        waited_ns: Option<u64>,
    },
    Released,
    TimedOut {
        by: ProcessId,
        wait: Option<Wait>,
    },
    Ended(ProcessId),
    /// Nothing.
    None,
}

/// The table.
#[derive(Default)]
pub(super) struct LockTable {
    pub(super) holds: BTreeMap<String, Vec<Hold>>,
    pub(super) waits: BTreeMap<ProcessId, Wait>,
}

impl LockTable {
    /// What the table must see.
    pub(super) const INTEREST: Interest = Interest::CLAIMS.and(Interest::LIVES);

    pub(super) fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Change {
        let Some(process) = event.process else { return Change::None };
        if let Body::Ended(_) = event.body {
            self.waits.remove(&process);
            self.forget(process, |_| true);
            return Change::Ended(process);
        }
        if let Some(waiting) = view.claim::<LockWaiting>(event) {
            let (lock, within_ns) = (waiting.lock.clone(), waiting.within_ns);
            self.waits.insert(process, Wait { task: event.task, lock, since_ns: event.time_ns, within_ns });
            return Change::Waiting(process);
        }
        if let Some(acquired) = view.claim::<LockAcquired>(event) {
            let (lock, exclusion) = (acquired.lock.clone(), acquired.exclusion);
            let waited_ns = self.waits.remove(&process).map(|wait| event.time_ns - wait.since_ns);
            let holds = self.holds.entry(lock.clone()).or_default();
            let beside = holds.clone();
            holds.push(Hold { process, task: event.task, exclusion });
            return Change::Acquired { by: process, lock, beside, waited_ns };
        }
        if let Some(released) = view.claim::<LockReleased>(event) {
            self.forget(process, |held| held == released.lock);
            return Change::Released;
        }
        if view.claim::<LockTimedOut>(event).is_some() {
            return Change::TimedOut { by: process, wait: self.waits.remove(&process) };
        }
        Change::None
    }

    fn forget(&mut self, process: ProcessId, of: impl Fn(&str) -> bool) {
        self.holds.retain(|lock, holds| {
            holds.retain(|hold| hold.process != process || !of(lock));
            !holds.is_empty()
        });
    }
}

/// Names of processes, for messages.
pub(super) fn names(view: &View<'_>, holds: &[Hold]) -> String {
    let names: Vec<&str> = holds.iter().map(|hold| view.process(hold.process).name).collect();
    names.join(", ")
}

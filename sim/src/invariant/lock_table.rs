//! Who holds and who awaits which named lock, as claims and lives tell it. What must hold of it is in the `lock_*` files.

use crate::kernel::View;
use crate::sys::claim::{Exclusion, LockAcquired, LockReleased, LockTimedOut, LockWaiting};
use crate::trace::{Body, Event, Interest, ProcessId};
use std::collections::BTreeMap;

/// A task of a process, by its number there: unlike its slot, no other has it while the process lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Who {
    pub(super) process: ProcessId,
    pub(super) ordinal: u32,
}

impl Who {
    /// Who has done what the event tells; nobody: it was done to a process, or to the machine.
    pub(super) fn of(event: &Event<'_>, view: &View<'_>) -> Option<Who> {
        let ordinal = view.ordinal(event.task?)?;
        Some(Who { process: event.process?, ordinal })
    }
}

/// A holder of a lock, by its own claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hold {
    /// Which task has acquired it.
    pub(super) by: Who,
    pub(super) exclusion: Exclusion,
}

impl Hold {
    /// Whether a task waits for it in vain as long as its holder doesn't go on. Another task of the same process may give it back; the one that waits can't.
    pub(super) fn is_in_the_way_of(&self, waiter: Who) -> bool {
        self.by.process != waiter.process || self.by == waiter
    }
}

/// A task's wait for a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) lock: String,
    pub(super) since_ns: u64,
    pub(super) within_ns: u64,
}

/// How an event changes the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Waiting(Who),
    /// Acquired; the holders besides it, and how long it waited.
    Acquired {
        by: Who,
        lock: String,
        beside: Vec<Hold>,
        waited_ns: Option<u64>,
    },
    Released,
    TimedOut {
        by: Who,
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
    /// Each task waits for one lock at a time.
    pub(super) waits: BTreeMap<Who, Wait>,
}

impl LockTable {
    /// What the table must see.
    pub(super) const INTEREST: Interest = Interest::CLAIMS.and(Interest::LIVES);

    pub(super) fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Change {
        let Some(process) = event.process else { return Change::None };
        if let Body::Ended(_) = event.body {
            self.waits.retain(|waiter, _| waiter.process != process);
            self.forget(process, |_| true);
            return Change::Ended(process);
        }
        let Some(by) = Who::of(event, view) else { return Change::None };
        if let Some(waiting) = view.claim::<LockWaiting>(event) {
            let (lock, within_ns) = (waiting.lock.clone(), waiting.within_ns);
            self.waits.insert(by, Wait { lock, since_ns: event.time_ns, within_ns });
            return Change::Waiting(by);
        }
        if let Some(acquired) = view.claim::<LockAcquired>(event) {
            let (lock, exclusion) = (acquired.lock.clone(), acquired.exclusion);
            let waited_ns = self.waits.remove(&by).map(|wait| event.time_ns - wait.since_ns);
            let holds = self.holds.entry(lock.clone()).or_default();
            let beside = holds.clone();
            holds.push(Hold { by, exclusion });
            return Change::Acquired { by, lock, beside, waited_ns };
        }
        if let Some(released) = view.claim::<LockReleased>(event) {
            self.forget(process, |held| held == released.lock);
            return Change::Released;
        }
        if view.claim::<LockTimedOut>(event).is_some() {
            return Change::TimedOut { by, wait: self.waits.remove(&by) };
        }
        Change::None
    }

    fn forget(&mut self, process: ProcessId, of: impl Fn(&str) -> bool) {
        self.holds.retain(|lock, holds| {
            holds.retain(|hold| hold.by.process != process || !of(lock));
            !holds.is_empty()
        });
    }
}

/// Names of processes, for messages.
pub(super) fn names(view: &View<'_>, holds: &[Hold]) -> String {
    let names: Vec<&str> = holds.iter().map(|hold| view.process(hold.by.process).name).collect();
    names.join(", ")
}

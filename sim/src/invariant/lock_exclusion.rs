//! `lock-exclusion`: each lock has one live holder. Not for leases: a paused holder may be overtaken there, see `lease_fencing`.

use super::lock_table::{Change, LockTable, names};
use super::{Invariant, Violation};
use crate::kernel::View;
use crate::sys::claim::Exclusion;
use crate::trace::{Body, Ended, Event, Interest, ProcessId};

/// Each lock has one live holder. Also measures how long acquisitions take, and notes contention and handled timeouts.
#[derive(Default)]
pub struct LockExclusion {
    table: LockTable,
}

impl Invariant for LockExclusion {
    fn id(&self) -> &'static str {
        "lock-exclusion"
    }

    fn interest(&self) -> Interest {
        LockTable::INTEREST
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        if let (Body::Ended(Ended::Exited { code: 0, .. }), Some(process)) = (&event.body, event.process) {
            self.judge_exit(process, view)?;
        }
        match self.table.observe(event, view) {
            Change::Waiting(waiter) => {
                let lock = &self.table.waits[&waiter].lock;
                if self.table.holds.contains_key(lock) {
                    view.cover("lock_contended");
                }
                Ok(())
            }
            Change::TimedOut { .. } => {
                view.cover("lock_timeout_handled");
                Ok(())
            }
            Change::Acquired { by, lock, beside, waited_ns } => {
                if let Some(waited_ns) = waited_ns {
                    view.latency("lock_acquire_ns", waited_ns);
                }
                let exclusive: Vec<_> = beside.into_iter().filter(|hold| hold.exclusion == Exclusion::Holder).collect();
                if exclusive.is_empty() {
                    return Ok(());
                }
                let by = view.process(by.process);
                let (name, role) = (by.name, by.role);
                let message = format!("{name} acquired lock `{lock}` while it is held by {}", names(view, &exclusive));
                Err(Violation::new(self.id(), message).object("lock").role(role).loss("two-holders"))
            }
            _ => Ok(()),
        }
    }
}

impl LockExclusion {
    /// A program that ends well has given its locks back. (The death of its process would free a flock, but not a record on disk.)
    fn judge_exit(&self, process: ProcessId, view: &View<'_>) -> Result<(), Violation> {
        let held = self.table.holds.iter().find(|(_, holds)| holds.iter().any(|hold| hold.by.process == process));
        let Some((lock, _)) = held else { return Ok(()) };
        let process = view.process(process);
        let message = format!("{} ended well and had not released lock `{lock}`", process.name);
        Err(Violation::new(self.id(), message).object("lock").role(process.role).loss("held-at-exit"))
    }
}

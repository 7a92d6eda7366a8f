//! `lock-reclaimed`: nobody times out on a lock that only the dead hold.

use super::lock_table::{Change, LockTable};
use super::{Invariant, Violation};
use crate::kernel::View;
use crate::plan::FaultKind;
use crate::sys::claim::{Exclusion, LockAcquired};
use crate::trace::{Body, Event, Interest};
use std::collections::BTreeMap;

/// A lock whose holder is dead can be acquired: a wait during which no live process held it doesn't time out.
///
/// Judged in time order only: otherwise a live process may stay for long between the effect and the claim of it. For the same reason not
/// while a process is paused or a call delayed. Leases are left out: they outlive their holders by design.
#[derive(Default)]
pub struct LockReclaimed {
    table: LockTable,
    /// When a lock was last held by a live process, or its holding last changed, in nanoseconds.
    last_held_ns: BTreeMap<String, u64>,
    /// Locks whose last holder held exclusively.
    exclusive: BTreeMap<String, bool>,
    /// Until when claims may lag behind effects, in nanoseconds.
    unsettled_until_ns: u64,
}

impl Invariant for LockReclaimed {
    fn id(&self) -> &'static str {
        "lock-reclaimed"
    }

    fn interest(&self) -> Interest {
        LockTable::INTEREST.and(Interest::FAULTS)
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        match event.body {
            Body::Paused
            | Body::Resumed
            | Body::MachineStarted
            | Body::CalmBegan
            | Body::Fault { kind: FaultKind::Delay, .. } => {
                self.unsettled_until_ns = event.time_ns;
            }
            _ => {}
        }
        if let Some(LockAcquired { lock, exclusion, .. }) = event.claim() {
            self.exclusive.insert(lock, exclusion == Exclusion::Holder);
        }
        let held: Vec<String> = self.table.holds.keys().cloned().collect();
        let change = self.table.observe(event);
        for lock in held.into_iter().chain(self.table.holds.keys().cloned()) {
            self.last_held_ns.insert(lock, event.time_ns);
        }
        let Change::TimedOut { by, wait: Some(wait) } = change else { return Ok(()) };
        let somebody_is_paused = view.processes().any(|process| process.is_paused);
        let was_held = self.last_held_ns.get(&wait.lock).is_none_or(|at_ns| *at_ns >= wait.since_ns);
        let is_exclusive = self.exclusive.get(&wait.lock).copied().unwrap_or(false);
        if !view.is_timed()
            || somebody_is_paused
            || self.unsettled_until_ns >= wait.since_ns
            || was_held
            || !is_exclusive
        {
            return Ok(());
        }
        let process = view.process(by);
        let message = format!(
            "{} timed out on lock `{}` after {} ns, and no live process has held it in that time",
            process.name,
            wait.lock,
            event.time_ns - wait.since_ns
        );
        Err(Violation::new(self.id(), message).object("lock").role(process.role).loss("never-reclaimed"))
    }
}

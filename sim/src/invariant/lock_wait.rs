//! `lock-wait-bounded`: a wait for a lock ends by its deadline. Judged by the sleeps that it plans, so that it holds under every strategy.

use super::lock_table::{LockTable, Who};
use super::{Invariant, Violation};
use crate::kernel::View;
use crate::trace::{Body, CallKind, Event, Interest};

/// Nanoseconds by which a planned sleep may pass the deadline: rounding, no more.
const TOLERANCE_NS: u64 = 1_000_000;

/// While it waits for a lock, a task plans no sleep past the wait's deadline. What other tasks of its process do meanwhile is their business.
#[derive(Default)]
pub struct LockWaitBounded {
    table: LockTable,
}

impl Invariant for LockWaitBounded {
    fn id(&self) -> &'static str {
        "lock-wait-bounded"
    }

    fn interest(&self) -> Interest {
        LockTable::INTEREST.and(Interest::call(CallKind::Sleep))
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let Body::Call { kind: CallKind::Sleep, arguments: [for_ns, _], took_ns, .. } = event.body else {
            self.table.observe(event, view);
            return Ok(());
        };
        let Some(waiter) = Who::of(event, view) else { return Ok(()) };
        let Some(wait) = self.table.waits.get(&waiter) else { return Ok(()) };
        view.cover("backoff_slept");
        let planned_ns = (event.time_ns - took_ns).saturating_add(for_ns);
        let deadline_ns = wait.since_ns.saturating_add(wait.within_ns);
        if planned_ns <= deadline_ns.saturating_add(TOLERANCE_NS) {
            return Ok(());
        }
        let process = view.process(waiter.process);
        let message = format!(
            "{} waits for lock `{}` until {deadline_ns} ns at most, and planned to sleep until {planned_ns} ns",
            process.name, wait.lock
        );
        Err(Violation::new(self.id(), message).object("lock").role(process.role).loss("past-deadline"))
    }
}

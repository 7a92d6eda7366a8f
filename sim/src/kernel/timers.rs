//! What will happen at a time: sleeps, deadlines, faults. The step loop asks for the first at each step.

use super::task::Timer;
use std::collections::BTreeSet;

/// Timers by time, then by what they are for.
#[derive(Default)]
pub(super) struct Timers {
    by_time: BTreeSet<(u64, Timer)>,
    /// When the first is due. Kept apart: walking down to it costs more than the rest of a look.
    first_ns: Option<u64>,
}

impl Timers {
    /// When the first is due.
    #[inline]
    pub(super) fn first_ns(&self) -> Option<u64> {
        self.first_ns
    }

    pub(super) fn insert(&mut self, due_ns: u64, timer: Timer) {
        self.by_time.insert((due_ns, timer));
        self.first_ns = Some(self.first_ns.map_or(due_ns, |first_ns| first_ns.min(due_ns)));
    }

    pub(super) fn remove(&mut self, due_ns: u64, timer: Timer) {
        self.by_time.remove(&(due_ns, timer));
        self.look();
    }

    pub(super) fn pop_first(&mut self) -> Option<Timer> {
        let first = self.by_time.pop_first();
        self.look();
        first.map(|(_, timer)| timer)
    }

    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(Timer) -> bool) {
        self.by_time.retain(|(_, timer)| is_kept(*timer));
        self.look();
    }

    fn look(&mut self) {
        self.first_ns = self.by_time.first().map(|(due_ns, _)| *due_ns);
    }
}

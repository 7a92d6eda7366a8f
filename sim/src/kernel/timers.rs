//! What will happen at a time: sleeps, deadlines, faults. The step loop asks for the first at each step.

use super::task::Timer;
use std::collections::BTreeSet;

/// Timers by time, then by what they are for.
#[derive(Default)]
pub(super) struct Timers {
    /// The first. Kept apart: walking down to it costs more than the rest of a look, and many runs never have more than one.
    first: Option<(u64, Timer)>,
    others: BTreeSet<(u64, Timer)>,
}

impl Timers {
    /// When the first is due.
    #[inline]
    pub(super) fn first_ns(&self) -> Option<u64> {
        self.first.map(|(due_ns, _)| due_ns)
    }

    pub(super) fn insert(&mut self, due_ns: u64, timer: Timer) {
        let new = (due_ns, timer);
        match self.first {
            None => self.first = Some(new),
            Some(first) if new < first => {
                self.first = Some(new);
                self.others.insert(first);
            }
            // A set: what is there is not put there again.
            Some(first) if new == first => {}
            Some(_) => {
                self.others.insert(new);
            }
        }
    }

    pub(super) fn remove(&mut self, due_ns: u64, timer: Timer) {
        if self.first == Some((due_ns, timer)) {
            self.first = self.others.pop_first();
        } else {
            self.others.remove(&(due_ns, timer));
        }
    }

    pub(super) fn pop_first(&mut self) -> Option<Timer> {
        let (_, timer) = self.first?;
        self.first = self.others.pop_first();
        Some(timer)
    }

    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(Timer) -> bool) {
        if !self.others.is_empty() {
            self.others.retain(|(_, timer)| is_kept(*timer));
        }
        if self.first.is_some_and(|(_, timer)| !is_kept(timer)) {
            self.first = self.others.pop_first();
        }
    }

    pub(super) fn clear(&mut self) {
        self.retain(|_| false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Draw, Seed};
    use crate::trace::TaskId;

    #[test]
    fn they_are_a_set_in_order() {
        let mut stream = Seed(1).stream("timers-test");
        let (mut timers, mut set) = (Timers::default(), BTreeSet::new());
        for _ in 0..5_000 {
            let (due_ns, timer) = (stream.below(5), Timer::Task(TaskId(stream.below(3) as u32)));
            match stream.below(8) {
                0..4 => {
                    timers.insert(due_ns, timer);
                    set.insert((due_ns, timer));
                }
                4 | 5 => {
                    timers.remove(due_ns, timer);
                    set.remove(&(due_ns, timer));
                }
                6 => assert_eq!(timers.pop_first(), set.pop_first().map(|(_, timer)| timer)),
                _ if stream.chance(1, 4) => {
                    timers.retain(|kept| kept != timer);
                    set.retain(|(_, kept)| *kept != timer);
                }
                _ => {}
            }
            assert_eq!(timers.first_ns(), set.first().map(|(due_ns, _)| *due_ns));
        }
        timers.clear();
        assert_eq!((timers.first_ns(), timers.pop_first()), (None, None));
    }
}

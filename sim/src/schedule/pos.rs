//! `pos`: partial order sampling (Yuan, Yang and Gu, CAV 2018). Each announced call has a drawn priority, the highest goes first, and those that
//! race with it draw anew. Unlike under `pct`, calls that don't race don't influence each other's order.

use super::footprint::Racing;
use super::{Ready, Strategy};
use crate::seed::{Draw, Seed, Stream};
use crate::trace::CallKind;

/// Calls by priorities.
pub struct Pos {
    stream: Stream,
    /// By task, a wake-up beside its call: the priority of what it has announced.
    priorities: Vec<Drawn>,
}

/// A call's priority. Another call of the task, or of one that has its slot after it, is due at another time: a call that was dropped, or whose process was
/// killed, was seldom one of high priority, and bequeaths none.
#[derive(Clone, Copy, Default)]
struct Drawn {
    /// 0: not drawn yet.
    priority: u64,
    due_ns: u64,
}

impl Pos {
    /// The schedule of a seed.
    pub fn new(seed: Seed) -> Pos {
        Pos { stream: seed.stream("schedule"), priorities: Vec::new() }
    }

    #[inline(never)]
    fn draw(&mut self, place: usize, due_ns: u64) -> u64 {
        if self.priorities.len() <= place {
            self.priorities.resize(place + 2, Drawn::default());
        }
        let priority = self.stream.bits() | 1;
        self.priorities[place] = Drawn { priority, due_ns };
        priority
    }
}

fn place(call: &Ready) -> usize {
    call.task.0 as usize * 2 + usize::from(call.kind == CallKind::Wake)
}

impl Strategy for Pos {
    fn next(&mut self, ready: &[Ready], _now_ns: u64) -> usize {
        let mut best = (0, 0);
        for (index, call) in ready.iter().enumerate() {
            let place = place(call);
            let priority = match self.priorities.get(place) {
                Some(drawn) if (drawn.priority != 0) & (drawn.due_ns == call.due_ns) => drawn.priority,
                _ => self.draw(place, call.due_ns),
            };
            if priority > best.0 {
                best = (priority, index);
            }
        }
        let chosen = &ready[best.1];
        let racing = Racing::with(chosen);
        if racing.is_possible() {
            for call in ready.iter().filter(|call| racing.has(call)) {
                self.priorities[place(call)].priority = 0;
            }
        }
        self.priorities[place(chosen)].priority = 0;
        best.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{ProcessId, TaskId};

    /// How often the second of two calls that race with nobody goes first, after another call of its slot was passed over and has gone.
    fn goes_first(of: u64, due_ns: u64) -> usize {
        let call = |task: u32, due_ns: u64| {
            let process = ProcessId(task);
            Ready { due_ns, object: 0, task: TaskId(task), process, ordinal: 0, kind: CallKind::Yield, is_again: false }
        };
        let firsts = (0..of).filter(|seed| {
            let mut pos = Pos::new(Seed(*seed));
            // Passed over three times: its priority is a low one.
            let is_passed_over = (0..3).all(|_| pos.next(&[call(0, 1), call(1, 1)], 0) == 0);
            is_passed_over && pos.next(&[call(0, 1), call(1, due_ns)], 0) == 1
        });
        firsts.count()
    }

    #[test]
    fn a_call_that_went_unpicked_bequeaths_no_priority() {
        // Passed over are a quarter. Of these a new call goes first in half, and the old one in a fifth.
        let (old, new) = (goes_first(4_000, 1), goes_first(4_000, 2));
        assert!((150..250).contains(&old), "{old}");
        assert!((420..580).contains(&new), "{new}");
    }
}

//! `pos`: partial order sampling (Yuan, Yang and Gu, CAV 2018). Each announced call has a drawn priority, the highest goes first, and those that
//! race with it draw anew. Unlike under `pct`, calls that don't race don't influence each other's order.

use super::footprint::Racing;
use super::{Ready, Strategy};
use crate::seed::{Draw, Seed, Stream};
use crate::trace::CallKind;

/// Calls by priorities.
pub struct Pos {
    stream: Stream,
    /// By task, a wake-up beside its call: the priority of what it has announced; 0: not drawn yet.
    priorities: Vec<u64>,
}

impl Pos {
    /// The schedule of a seed.
    pub fn new(seed: Seed) -> Pos {
        Pos { stream: seed.stream("schedule"), priorities: Vec::new() }
    }

    #[inline(never)]
    fn draw(&mut self, place: usize) -> u64 {
        if self.priorities.len() <= place {
            self.priorities.resize(place + 2, 0);
        }
        let priority = self.stream.bits() | 1;
        self.priorities[place] = priority;
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
                Some(priority) if *priority != 0 => *priority,
                _ => self.draw(place),
            };
            if priority > best.0 {
                best = (priority, index);
            }
        }
        let chosen = &ready[best.1];
        let racing = Racing::with(chosen);
        if racing.is_possible() {
            for call in ready.iter().filter(|call| racing.has(call)) {
                self.priorities[place(call)] = 0;
            }
        }
        self.priorities[place(chosen)] = 0;
        best.1
    }
}

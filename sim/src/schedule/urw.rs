//! `urw`: a random walk in which a task's chance is its share of the steps that are left (Zhao, Wolff, Mathur and Roychoudhury, ASPLOS 2025). With exact
//! counts, and tasks that don't wait for each other, each interleaving is as likely as every other.

use super::step_counts::{StepCounts, TaskKey};
use super::{Ready, Strategy};
use crate::seed::{Draw, Seed, Stream};
use std::collections::BTreeMap;

/// A walk by the steps left.
pub struct Urw {
    stream: Stream,
    left: Left,
}

/// How many steps each task has left.
pub(super) struct Left(BTreeMap<TaskKey, u64>);

impl Left {
    pub(super) fn new(counts: BTreeMap<TaskKey, u64>) -> Left {
        Left(counts)
    }

    /// A task that has taken more steps than were counted has one left, as far as one knows.
    fn of(&self, call: &Ready) -> u64 {
        self.0.get(&(call.process, call.ordinal)).copied().unwrap_or(0).max(1)
    }

    /// One of the calls, each with a chance of what its task has left. `calls` isn't empty.
    pub(super) fn pick<'a>(&self, calls: impl Iterator<Item = &'a Ready> + Clone, stream: &mut Stream) -> usize {
        let all: u64 = calls.clone().map(|call| self.of(call)).sum();
        let mut drawn = stream.below(all);
        for (index, call) in calls.enumerate() {
            let weight = self.of(call);
            if drawn < weight {
                return index;
            }
            drawn -= weight;
        }
        0
    }

    /// A task, with a chance of what it has left; `None`: nobody has anything left.
    pub(super) fn draw(&self, stream: &mut Stream) -> Option<TaskKey> {
        let mut drawn = stream.below(self.0.values().sum());
        for (task, left) in &self.0 {
            if drawn < *left {
                return Some(*task);
            }
            drawn -= left;
        }
        None
    }

    /// The task has taken a step.
    pub(super) fn taken(&mut self, call: &Ready) {
        if let Some(left) = self.0.get_mut(&(call.process, call.ordinal)) {
            *left = left.saturating_sub(1);
        }
    }
}

impl Urw {
    /// The schedule of a seed, by what a first run has counted.
    pub(crate) fn new(seed: Seed, counts: &StepCounts) -> Urw {
        Urw { stream: seed.stream("schedule"), left: Left::new(counts.by_task.clone()) }
    }
}

impl Strategy for Urw {
    fn next(&mut self, ready: &[Ready], _now_ns: u64) -> usize {
        let choice = self.left.pick(ready.iter(), &mut self.stream);
        self.left.taken(&ready[choice]);
        choice
    }
}

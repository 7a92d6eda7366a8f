//! `urw`: a random walk in which a task's chance is its share of the steps that are left (Zhao, Wolff, Mathur and Roychoudhury, ASPLOS 2025). With exact
//! counts, and tasks that don't wait for each other, each interleaving is as likely as every other.

use super::by_task::ByTask;
use super::step_counts::TaskKey;
use super::{Ready, Strategy};
use crate::seed::{Draw, Seed, Stream};

/// A walk by the steps left.
pub struct Urw {
    stream: Stream,
    left: Left,
}

/// How many steps each task has left.
pub(super) struct Left {
    /// By rising task.
    tasks: Vec<(TaskKey, u64)>,
    /// The sum of it.
    all: u64,
    /// Where a task is in `tasks`; past its end: it has not been counted.
    places: ByTask<usize>,
    /// The shares of the ready calls; kept for its memory.
    shares: Vec<u64>,
}

impl Left {
    pub(super) fn new(tasks: &[(TaskKey, u64)]) -> Left {
        let all = tasks.iter().map(|(_, left)| left).sum();
        Left { tasks: tasks.to_vec(), all, places: ByTask::default(), shares: Vec::new() }
    }

    fn place(&mut self, call: &Ready) -> usize {
        let tasks = &self.tasks;
        *self.places.of(call, || {
            tasks.binary_search_by_key(&(call.process, call.ordinal), |(task, _)| *task).unwrap_or(usize::MAX)
        })
    }

    /// One of the calls, each with a chance of what its task has left; a task that has taken more steps than were counted has one left, as far as one
    /// knows. `calls` isn't empty.
    pub(super) fn pick(&mut self, calls: &[Ready], stream: &mut Stream) -> usize {
        let mut shares = std::mem::take(&mut self.shares);
        shares.clear();
        let mut all = 0;
        for call in calls {
            let place = self.place(call);
            let left = self.tasks.get(place).map_or(0, |(_, left)| *left);
            // A call that had to wait has been taken, and is to be taken.
            let share = (left + u64::from(call.is_again)).max(1);
            all += share;
            shares.push(share);
        }
        let mut drawn = stream.below(all);
        let chosen = shares.iter().position(|share| {
            let is_it = drawn < *share;
            drawn = drawn.wrapping_sub(*share);
            is_it
        });
        self.shares = shares;
        chosen.unwrap_or(0)
    }

    /// A task, with a chance of what it has left, those of `again` one more; `None`: nobody has anything left.
    pub(super) fn draw(&self, again: impl Iterator<Item = TaskKey> + Clone, stream: &mut Stream) -> Option<TaskKey> {
        let waited = again.clone().count() as u64;
        let mut drawn = stream.below(self.all + waited);
        for (task, left) in &self.tasks {
            if drawn < *left {
                return Some(*task);
            }
            drawn -= left;
        }
        again.clone().nth(drawn as usize)
    }

    /// The task has taken a step.
    pub(super) fn taken(&mut self, call: &Ready) {
        if call.is_again {
            return;
        }
        let place = self.place(call);
        if let Some((_, left)) = self.tasks.get_mut(place)
            && *left > 0
        {
            *left -= 1;
            self.all -= 1;
        }
    }
}

impl Urw {
    /// The schedule of a seed, by what a first run has counted.
    pub(super) fn new(seed: Seed, by_task: &[(TaskKey, u64)]) -> Urw {
        Urw { stream: seed.stream("schedule"), left: Left::new(by_task) }
    }
}

impl Strategy for Urw {
    fn next(&mut self, ready: &[Ready], _now_ns: u64) -> usize {
        let choice = self.left.pick(ready, &mut self.stream);
        self.left.taken(&ready[choice]);
        choice
    }
}

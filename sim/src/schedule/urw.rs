//! `urw`: a random walk in which a task's chance is its share of the steps that are left (Zhao, Wolff, Mathur and Roychoudhury, ASPLOS 2025). With exact
//! counts, and tasks that don't wait for each other, each interleaving is as likely as every other.

use super::by_task::ByTask;
use super::step_counts::{Steps, TaskKey};
use super::{Ready, Strategy};
use crate::seed::{Draw, Seed, Stream};

/// A walk by the steps left.
pub struct Urw {
    stream: Stream,
    left: Left,
}

/// How many steps each task has left. Those of a task that has not started yet are its parent's, so that whoever has much to start is likely to do so.
pub(super) struct Left {
    /// By rising task.
    tasks: Vec<Remaining>,
    /// The sum of what all have left.
    all: u64,
    /// Where a task is in `tasks`; past its end: it has not been counted.
    places: ByTask<usize>,
    /// The shares of many ready calls; kept for its memory.
    shares: Vec<u64>,
}

/// So many shares need no memory of their own.
const FEW: usize = 16;

/// What a task has left.
struct Remaining {
    task: TaskKey,
    steps: u64,
    /// It has not been seen yet: its steps are counted at this place, too.
    unborn_of: Option<u32>,
    whole: u64,
}

impl Left {
    pub(super) fn new(tasks: impl Iterator<Item = Steps>) -> Left {
        let remaining = |Steps { task, whole, parent, .. }| Remaining { task, steps: whole, unborn_of: parent, whole };
        let tasks: Vec<Remaining> = tasks.map(remaining).collect();
        let all = tasks.iter().map(|task| task.steps).sum();
        Left { tasks, all, places: ByTask::default(), shares: Vec::new() }
    }

    #[inline]
    fn place(&mut self, call: &Ready) -> usize {
        // Where there is one process, and all of its tasks from the first on, no search is needed.
        let first = self.tasks.first().map_or(0, |first| first.task.1);
        let place = call.ordinal.wrapping_sub(first) as usize;
        match self.tasks.get(place) {
            Some(there) if there.task == (call.process, call.ordinal) && there.unborn_of.is_none() => place,
            _ => self.searched(call),
        }
    }

    #[inline(never)]
    fn searched(&mut self, call: &Ready) -> usize {
        let tasks = &mut self.tasks;
        *self.places.of(call, || {
            let key = (call.process, call.ordinal);
            let Ok(place) = tasks.binary_search_by_key(&key, |remaining| remaining.task) else { return usize::MAX };
            if let Some(parent) = tasks[place].unborn_of.take() {
                let whole = tasks[place].whole;
                let parent = &mut tasks[parent as usize];
                parent.steps = parent.steps.saturating_sub(whole);
            }
            place
        })
    }

    /// One of the calls, each with a chance of what its task has left; a task that has taken more steps than were counted has one left, as far as one
    /// knows. `calls` isn't empty.
    pub(super) fn pick(&mut self, calls: &[Ready], stream: &mut Stream) -> usize {
        let mut few = [0; FEW];
        let mut many = std::mem::take(&mut self.shares);
        let shares = match few.get_mut(..calls.len()) {
            Some(few) => few,
            None => {
                many.resize(calls.len(), 0);
                many.as_mut_slice()
            }
        };
        let mut all = 0;
        for (call, share) in calls.iter().zip(shares.iter_mut()) {
            let place = self.place(call);
            *share = self.tasks.get(place).map_or(1, |remaining| remaining.steps.max(1));
            all += *share;
        }
        let mut drawn = stream.below(all);
        let chosen = shares.iter().position(|share| {
            let is_it = drawn < *share;
            drawn = drawn.wrapping_sub(*share);
            is_it
        });
        self.shares = many;
        chosen.unwrap_or(0)
    }

    /// A task, with a chance of what it has left. `None`: nobody has anything left.
    #[inline]
    pub(super) fn draw(&self, stream: &mut Stream) -> Option<TaskKey> {
        if self.all == 0 {
            return None;
        }
        let drawn = stream.below(self.all);
        // Where it falls can't be guessed, so all are passed, without a branch.
        let (mut passed, mut place) = (0, 0);
        for Remaining { steps, .. } in &self.tasks {
            passed += steps;
            place += usize::from(passed <= drawn);
        }
        self.tasks.get(place).map(|Remaining { task, .. }| *task)
    }

    /// The task has not taken its step after all: it waits, and takes it later.
    pub(super) fn not_taken(&mut self, call: &Ready) {
        let place = self.place(call);
        if let Some(Remaining { steps, .. }) = self.tasks.get_mut(place) {
            *steps += 1;
            self.all += 1;
        }
    }

    /// The task has taken a step.
    #[inline]
    pub(super) fn taken(&mut self, call: &Ready) {
        let place = self.place(call);
        if let Some(Remaining { steps, .. }) = self.tasks.get_mut(place)
            && *steps > 0
        {
            *steps -= 1;
            self.all -= 1;
        }
    }
}

impl Urw {
    /// The schedule of a seed, by what a first run has counted.
    pub(super) fn new(seed: Seed, by_task: &[Steps]) -> Urw {
        Urw { stream: seed.stream("schedule"), left: Left::new(by_task.iter().copied()) }
    }
}

impl Strategy for Urw {
    fn next(&mut self, ready: &[Ready], _now_ns: u64) -> usize {
        let choice = self.left.pick(ready, &mut self.stream);
        self.left.taken(&ready[choice]);
        choice
    }

    fn waits(&mut self, call: &Ready) {
        self.left.not_taken(call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{CallKind, ProcessId, TaskId};

    #[test]
    fn the_steps_of_a_task_that_has_not_started_are_its_parent_s() {
        let process = ProcessId(0);
        let parent = Steps { whole: 10, ..Steps::of((process, 0), 1) };
        let child = Steps { parent: Some(0), ..Steps::of((process, 1), 9) };
        let mut left = Left::new([parent, child].into_iter());
        let call = |ordinal: u32, kind| {
            let task = TaskId(ordinal);
            Ready { due_ns: 0, object: 0, task, process, ordinal, kind, is_again: false }
        };
        left.taken(&call(0, CallKind::Spawn));
        assert_eq!((left.tasks[0].steps, left.tasks[1].steps), (9, 9));
        // It is there: what it has to do is its own.
        left.pick(&[call(0, CallKind::Join), call(1, CallKind::Start)], &mut Seed(1).stream("schedule"));
        assert_eq!((left.tasks[0].steps, left.tasks[1].steps), (0, 9));
    }
}

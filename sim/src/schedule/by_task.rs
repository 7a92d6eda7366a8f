//! Something that a strategy keeps for each task. The kernel uses a task's slot again after its end: what belonged to the old one goes.

use super::Ready;
use crate::trace::{ProcessId, TaskId};

/// Room for so many tasks is made at once: most runs have about as many.
pub(crate) const TASKS: usize = 16;

/// A value for each task.
pub(super) struct ByTask<T> {
    slots: Vec<Option<(ProcessId, u32, T)>>,
}

impl<T> Default for ByTask<T> {
    fn default() -> Self {
        ByTask { slots: Vec::new() }
    }
}

impl<T> ByTask<T> {
    /// The value of the task that announced `call`; made when there is none.
    #[inline]
    pub(super) fn of(&mut self, call: &Ready, make: impl FnOnce() -> T) -> &mut T {
        let place = call.task.0 as usize;
        let is_its = |(process, ordinal, _): &(ProcessId, u32, T)| (*process, *ordinal) == (call.process, call.ordinal);
        if !self.slots.get(place).and_then(Option::as_ref).is_some_and(is_its) {
            self.put(call, make());
        }
        match &mut self.slots[place] {
            Some((_, _, value)) => value,
            None => unreachable!("it has just been put there"),
        }
    }

    #[inline(never)]
    fn put(&mut self, call: &Ready, value: T) {
        let place = call.task.0 as usize;
        if self.slots.len() <= place {
            self.slots.reserve(TASKS.saturating_sub(self.slots.len()));
            self.slots.resize_with(place + 1, || None);
        }
        self.slots[place] = Some((call.process, call.ordinal, value));
    }

    /// The value of a task, if it has one.
    pub(super) fn get(&self, task: TaskId) -> Option<&T> {
        self.slots.get(task.0 as usize).and_then(Option::as_ref).map(|(_, _, value)| value)
    }

    /// Takes a task's value away.
    pub(super) fn forget(&mut self, task: TaskId) {
        if let Some(slot) = self.slots.get_mut(task.0 as usize) {
            *slot = None;
        }
    }

    /// Takes away what a process's tasks have.
    pub(super) fn forget_process(&mut self, ended: ProcessId) {
        for slot in &mut self.slots {
            if slot.as_ref().is_some_and(|(process, _, _)| *process == ended) {
                *slot = None;
            }
        }
    }
}

//! What a first run tells a strategy: how many steps each task takes, and on what.

use super::footprint::touched;
use super::{Random, Ready, Strategy};
use crate::trace::ProcessId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A task over all the lives of its process: the process, and the task's number in it.
pub(crate) type TaskKey = (ProcessId, u32);

/// The counts of a run's chaos.
#[derive(Debug, Default)]
pub(crate) struct StepCounts {
    /// Picks.
    pub(crate) steps: u64,
    /// By task.
    pub(crate) by_task: BTreeMap<TaskKey, u64>,
    /// By what was touched, and by task.
    pub(crate) by_object: BTreeMap<u64, BTreeMap<TaskKey, u64>>,
}

impl StepCounts {
    fn count(&mut self, call: &Ready) {
        let task = (call.process, call.ordinal);
        self.steps += 1;
        *self.by_task.entry(task).or_default() += 1;
        if let Some(object) = touched(call.kind, call.object) {
            *self.by_object.entry(object).or_default().entry(task).or_default() += 1;
        }
    }

    /// What several processes have touched, with how often each task did.
    pub(crate) fn shared(&self) -> Vec<(u64, &BTreeMap<TaskKey, u64>)> {
        let is_shared = |tasks: &BTreeMap<TaskKey, u64>| {
            let first = tasks.keys().next().map(|(process, _)| *process);
            tasks.keys().any(|(process, ordinal)| Some(*process) != first || *ordinal != 0 && tasks.len() > 1)
        };
        self.by_object.iter().filter(|(_, tasks)| is_shared(tasks)).map(|(object, tasks)| (*object, tasks)).collect()
    }
}

/// What a run's strategy has of a first run.
pub(crate) enum FirstRun {
    /// Nothing: it needs none.
    None,
    /// What it counted.
    Told(StepCounts),
    /// This is the first run: it counts.
    Is(Arc<Mutex<StepCounts>>),
}

/// At random, counting.
pub(super) struct Counting {
    pub(super) random: Random,
    pub(super) counts: Arc<Mutex<StepCounts>>,
}

impl Strategy for Counting {
    fn next(&mut self, ready: &[Ready], now_ns: u64) -> usize {
        let choice = self.random.next(ready, now_ns);
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).count(&ready[choice]);
        choice
    }
}

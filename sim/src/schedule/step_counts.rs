//! What a first run tells a strategy: how many steps each task takes, and on what.

use super::footprint::touched;
use super::{Random, Ready, Strategy};
use crate::trace::ProcessId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A task over all the lives of its process: the process, and the task's number in it.
pub(super) type TaskKey = (ProcessId, u32);

/// Something that several tasks have touched.
#[derive(Debug, PartialEq)]
pub(super) struct Touched {
    pub(super) object: u64,
    /// How often, by all tasks together.
    pub(super) times: u64,
    /// How often each did, by rising task.
    pub(super) tasks: Vec<(TaskKey, u64)>,
}

impl Touched {
    fn new(object: u64, tasks: Vec<(TaskKey, u64)>) -> Touched {
        Touched { object, times: tasks.iter().map(|(_, times)| times).sum(), tasks }
    }
}

/// How many steps a run took in its chaos, by task, and on what its tasks share. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct StepCounts(Arc<Counts>);

#[derive(Debug, Default, PartialEq)]
struct Counts {
    steps: u64,
    /// By rising task.
    by_task: Vec<(TaskKey, u64)>,
    shared: Vec<Touched>,
}

impl StepCounts {
    /// Steps of the run.
    pub fn steps(&self) -> u64 {
        self.0.steps
    }

    /// Steps of each task.
    pub(super) fn by_task(&self) -> &[(TaskKey, u64)] {
        &self.0.by_task
    }

    /// What several tasks have touched, with how often each did.
    pub(super) fn shared(&self) -> &[Touched] {
        &self.0.shared
    }
}

/// Counts in the making.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    steps: u64,
    by_task: BTreeMap<TaskKey, u64>,
    by_object: BTreeMap<u64, BTreeMap<TaskKey, u64>>,
}

impl Tally {
    fn count(&mut self, call: &Ready) {
        if call.is_again {
            // A call that had to wait is one step, whatever the schedule.
            return;
        }
        let task = (call.process, call.ordinal);
        self.steps += 1;
        *self.by_task.entry(task).or_default() += 1;
        if let Some(object) = touched(call.kind, call.object) {
            *self.by_object.entry(object).or_default().entry(task).or_default() += 1;
        }
    }

    /// What was counted.
    pub(crate) fn told(self) -> StepCounts {
        let shared = self.by_object.into_iter().filter(|(_, tasks)| tasks.len() > 1);
        StepCounts(Arc::new(Counts {
            steps: self.steps,
            by_task: self.by_task.into_iter().collect(),
            shared: shared.map(|(object, tasks)| Touched::new(object, tasks.into_iter().collect())).collect(),
        }))
    }
}

/// As a plan's file has them. An object is written in hexadecimal digits: TOML's numbers end at 2⁶³.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    steps: u64,
    tasks: Vec<TaskSteps>,
    shared: Vec<Touches>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskSteps {
    process: u32,
    task: u32,
    steps: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Touches {
    object: String,
    tasks: Vec<TaskSteps>,
}

fn written(tasks: &[(TaskKey, u64)]) -> Vec<TaskSteps> {
    tasks.iter().map(|((process, task), steps)| TaskSteps { process: process.0, task: *task, steps: *steps }).collect()
}

fn read(tasks: Vec<TaskSteps>) -> Vec<(TaskKey, u64)> {
    let keyed = tasks.into_iter().map(|TaskSteps { process, task, steps }| ((ProcessId(process), task), steps));
    // A file may have them in any order.
    keyed.collect::<BTreeMap<_, _>>().into_iter().collect()
}

impl From<StepCounts> for Written {
    fn from(counts: StepCounts) -> Written {
        let touches = |of: &Touched| Touches { object: format!("{:x}", of.object), tasks: written(&of.tasks) };
        let Counts { steps, by_task, shared } = &*counts.0;
        Written { steps: *steps, tasks: written(by_task), shared: shared.iter().map(touches).collect() }
    }
}

impl From<Written> for StepCounts {
    fn from(Written { steps, tasks, shared }: Written) -> StepCounts {
        // An object that is no number is one that no run has: its touches are passed over.
        let objects = shared
            .into_iter()
            .filter_map(|of| Some(Touched::new(u64::from_str_radix(&of.object, 16).ok()?, read(of.tasks))));
        StepCounts(Arc::new(Counts { steps, by_task: read(tasks), shared: objects.collect() }))
    }
}

/// What a run's strategy has of a first run.
pub(crate) enum FirstRun {
    /// Nothing: it needs none.
    None,
    /// What it counted.
    Told(StepCounts),
    /// This is the first run: it counts.
    Is(Arc<Mutex<Tally>>),
}

/// At random, counting.
pub(super) struct Counting {
    pub(super) random: Random,
    pub(super) tally: Arc<Mutex<Tally>>,
}

impl Strategy for Counting {
    fn next(&mut self, ready: &[Ready], now_ns: u64) -> usize {
        let choice = self.random.next(ready, now_ns);
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).count(&ready[choice]);
        choice
    }
}

//! What a first run tells a strategy: how many steps each task takes, and on what.

use super::footprint::touched;
use super::shared::{Shared, Touched};
use super::{Random, Ready, Strategy};
use crate::trace::ProcessId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A task over all the lives of its process: the process, and the task's number in it.
pub(super) type TaskKey = (ProcessId, u32);

/// How many steps a run took in its chaos, by task, and on what its tasks share. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct StepCounts(Arc<Counts>);

#[derive(Debug, Default, PartialEq)]
struct Counts {
    steps: u64,
    /// By rising task.
    by_task: Vec<Steps>,
    shared: Shared,
}

/// What a task has to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Steps {
    pub(super) task: TaskKey,
    /// Its own steps.
    pub(super) own: u64,
    /// Its own and those of all tasks that it starts, and that these start.
    pub(super) whole: u64,
    /// Where the task that starts it is among the others, if one does.
    pub(super) parent: Option<u32>,
}

impl Steps {
    /// Of a task that starts no others.
    pub(super) fn of(task: TaskKey, own: u64) -> Steps {
        Steps { task, own, whole: own, parent: None }
    }
}

/// By rising task, with what each task's children have to do.
fn by_task(own: BTreeMap<TaskKey, u64>, parents: &BTreeMap<TaskKey, TaskKey>) -> Vec<Steps> {
    let mut all: Vec<Steps> = own.into_iter().map(|(task, own)| Steps::of(task, own)).collect();
    // A task starts before those that it starts: their numbers are higher. So each child is whole when it is added.
    for child in (0..all.len()).rev() {
        let parent = parents.get(&all[child].task).filter(|parent| **parent < all[child].task);
        let place = parent.and_then(|parent| all.binary_search_by_key(parent, |steps| steps.task).ok());
        if let Some(place) = place {
            all[place].whole += all[child].whole;
            all[child].parent = Some(place as u32);
        }
    }
    all
}

impl StepCounts {
    /// Steps of the run.
    pub fn steps(&self) -> u64 {
        self.0.steps
    }

    /// Those of nothing but what is shared.
    #[cfg(test)]
    pub(super) fn of(shared: Vec<Touched>) -> StepCounts {
        StepCounts(Arc::new(Counts { shared: Shared::new(shared), ..Counts::default() }))
    }

    /// Steps of each task.
    pub(super) fn by_task(&self) -> &[Steps] {
        &self.0.by_task
    }

    /// What several tasks have touched, with how often each did.
    pub(super) fn shared(&self) -> &Shared {
        &self.0.shared
    }
}

/// Counts in the making.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    steps: u64,
    by_task: BTreeMap<TaskKey, u64>,
    /// By task: who started it.
    parents: BTreeMap<TaskKey, TaskKey>,
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
            by_task: by_task(self.by_task, &self.parents),
            shared: Shared::new(
                shared.map(|(object, tasks)| Touched::new(object, tasks.into_iter().collect())).collect(),
            ),
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
    /// Which task of the process starts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Touches {
    object: String,
    tasks: Vec<TaskSteps>,
}

fn written(tasks: &[(TaskKey, u64)]) -> Vec<TaskSteps> {
    let written = |((process, task), steps): &(TaskKey, u64)| TaskSteps {
        process: process.0,
        task: *task,
        steps: *steps,
        parent: None,
    };
    tasks.iter().map(written).collect()
}

fn read(tasks: Vec<TaskSteps>) -> BTreeMap<TaskKey, u64> {
    let keyed = tasks.into_iter().map(|TaskSteps { process, task, steps, .. }| ((ProcessId(process), task), steps));
    // A file may have them in any order.
    keyed.collect()
}

impl From<StepCounts> for Written {
    fn from(counts: StepCounts) -> Written {
        let touches = |of: &Touched| Touches { object: format!("{:x}", of.object), tasks: written(&of.tasks) };
        let Counts { steps, by_task, shared } = &*counts.0;
        let tasks = by_task.iter().map(|Steps { task: (process, task), own, parent, .. }| TaskSteps {
            process: process.0,
            task: *task,
            steps: *own,
            parent: parent.map(|place| by_task[place as usize].task.1),
        });
        Written { steps: *steps, tasks: tasks.collect(), shared: shared.things().iter().map(touches).collect() }
    }
}

impl TryFrom<Written> for StepCounts {
    type Error = String;

    fn try_from(Written { steps, tasks, shared }: Written) -> Result<StepCounts, String> {
        let all = tasks.iter().chain(shared.iter().flat_map(|of| &of.tasks)).map(|of| of.steps);
        // Sums of any of them are made, and weighed against each other.
        if all.fold(steps, u64::saturating_add) > STEPS_MAX {
            return Err(format!("the steps are too many; allowed: {STEPS_MAX} in all"));
        }
        let mut objects = BTreeMap::new();
        for Touches { object, tasks } in shared {
            let Ok(number) = u64::from_str_radix(&object, 16) else {
                return Err(format!("`{object}` is no object; allowed: a number in hexadecimal digits"));
            };
            if objects.insert(number, Touched::new(number, read(tasks).into_iter().collect())).is_some() {
                return Err(format!("the object `{object}` comes twice"));
            }
        }
        let parent = |of: &TaskSteps| Some(((ProcessId(of.process), of.task), (ProcessId(of.process), of.parent?)));
        let parents = tasks.iter().filter_map(parent).collect();
        let shared = Shared::new(objects.into_values().collect());
        Ok(StepCounts(Arc::new(Counts { steps, by_task: by_task(read(tasks), &parents), shared })))
    }
}

/// More steps than any run takes.
const STEPS_MAX: u64 = 1 << 48;

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

    fn spawned(&mut self, process: ProcessId, parent: u32, child: u32) {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.parents.insert((process, child), (process, parent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_whole_with_all_that_it_starts_and_counts_survive_their_text() {
        let key = |task| (ProcessId(0), task);
        let tally = Tally {
            steps: 17,
            by_task: [(key(0), 5), (key(1), 3), (key(2), 7), (key(3), 2)].into(),
            parents: [(key(1), key(0)), (key(2), key(1)), (key(3), key(0))].into(),
            by_object: [(9, [(key(1), 2), (key(2), 4)].into())].into(),
        };
        let counts = tally.told();
        let told: Vec<_> = counts.by_task().iter().map(|steps| (steps.own, steps.whole, steps.parent)).collect();
        assert_eq!(told, [(5, 17, None), (3, 10, Some(0)), (7, 7, Some(1)), (2, 2, Some(0))]);
        assert_eq!(counts.shared().things()[0].times, 6);
        let text = toml::to_string(&counts).expect("counts can be written");
        assert_eq!(toml::from_str::<StepCounts>(&text).expect("counts"), counts, "{text}");
        for (right, wrong, why) in [
            ("steps = 17", "steps = 9223372036854775807", "too many"),
            ("steps = 4", "steps = 9223372036854775807", "too many"),
            ("object = \"9\"", "object = \"x\"", "`x` is no object"),
        ] {
            let text = text.replace(right, wrong);
            let error = toml::from_str::<StepCounts>(&text).expect_err(why).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}

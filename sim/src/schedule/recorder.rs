//! Writes down who goes when, whichever strategy decides it. What is written is in `turns`.

use super::turns::{Delay, TaskCalls, TaskName, Turn, Turns};
use super::{Ready, Strategy};
use crate::trace::{CallKind, ProcessId};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where a recording is found: after the run, or, of one that stands still, by another thread.
pub(crate) type Recording = Arc<Mutex<Turns>>;

/// A strategy, and what it decided.
pub(crate) struct Recorder {
    inner: Box<dyn Strategy>,
    recording: Recording,
    lives: Lives,
    by_life: BTreeMap<(ProcessId, u32, u32), u32>,
    last: Option<(ProcessId, u32)>,
}

/// Which life each process is in, and what it is called.
pub(super) struct Lives {
    pub(super) names: Rc<[String]>,
    boots: Vec<u32>,
}

impl Lives {
    pub(super) fn new(names: Rc<[String]>) -> Lives {
        let boots = vec![0; names.len()];
        Lives { names, boots }
    }

    /// A process has started.
    pub(super) fn begin(&mut self, process: ProcessId) {
        self.boots[process.0 as usize] += 1;
    }

    /// The life that a process is in, or was in last; the first is 1.
    pub(super) fn of(&self, process: ProcessId) -> u32 {
        self.boots[process.0 as usize]
    }
}

impl Recorder {
    pub(crate) fn new(inner: Box<dyn Strategy>, names: Rc<[String]>, recording: Recording) -> Recorder {
        Recorder { inner, recording, lives: Lives::new(names), by_life: BTreeMap::new(), last: None }
    }

    /// The recording, and a task's place in it.
    fn task(&mut self, process: ProcessId, ordinal: u32) -> (MutexGuard<'_, Turns>, u32) {
        let mut recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        let boot = self.lives.of(process);
        let names = &self.lives.names;
        let task = *self.by_life.entry((process, boot, ordinal)).or_insert_with(|| {
            let tasks = Arc::make_mut(&mut recording.tasks);
            let name = TaskName { process: names[process.0 as usize].clone(), boot, ordinal };
            tasks.push(TaskCalls { name, calls: Vec::new(), operations: Vec::new() });
            tasks.len() as u32 - 1
        });
        (recording, task)
    }
}

impl Strategy for Recorder {
    fn next(&mut self, ready: &[Ready], now_ns: u64) -> usize {
        let choice = self.inner.next(ready, now_ns);
        let call = &ready[choice];
        let goes = (call.process, call.ordinal);
        let could_go_on =
            |last| ready.iter().any(|call| (call.process, call.ordinal) == last && call.kind != CallKind::Wake);
        let last = self.last.replace(goes);
        let is_preemption = last.is_some_and(|last| last != goes && could_go_on(last));
        let (mut recording, task) = self.task(call.process, call.ordinal);
        let calls = &mut Arc::make_mut(&mut recording.tasks)[task as usize].calls;
        calls.push(call.kind);
        let until = calls.len() as u32;
        match recording.turns.last_mut() {
            Some(turn) if last == Some(goes) && turn.task == task => turn.until = until,
            _ => recording.turns.push(Turn { task, until }),
        }
        recording.preemptions += u64::from(is_preemption);
        recording.steps += 1;
        choice
    }

    fn delay(&mut self, call: &Ready, drawn_ns: u64) -> u64 {
        let delay_ns = self.inner.delay(call, drawn_ns);
        if delay_ns != drawn_ns {
            let (mut recording, task) = self.task(call.process, call.ordinal);
            let made = recording.tasks[task as usize].calls.len() as u32;
            Arc::make_mut(&mut recording.delays).push(Delay { task, call: made, kind: call.kind, delay_ns });
        }
        delay_ns
    }

    fn delays(&self) -> bool {
        self.inner.delays()
    }

    fn started(&mut self, process: ProcessId) {
        self.lives.begin(process);
        self.inner.started(process);
    }

    fn spawned(&mut self, process: ProcessId, parent: u32, child: u32) {
        self.inner.spawned(process, parent, child);
    }

    fn began(&mut self, process: ProcessId, ordinal: u32, operation: u64) {
        let (mut recording, task) = self.task(process, ordinal);
        let TaskCalls { calls, operations, .. } = &mut Arc::make_mut(&mut recording.tasks)[task as usize];
        operations.push((calls.len() as u32, operation));
        drop(recording);
        self.inner.began(process, ordinal, operation);
    }

    fn waits(&mut self, call: &Ready) {
        self.inner.waits(call);
    }

    fn ended(&mut self, process: ProcessId) {
        self.last = self.last.filter(|(last, _)| *last != process);
        self.inner.ended(process);
    }

    fn choices(&self) -> Option<u64> {
        self.inner.choices()
    }
}

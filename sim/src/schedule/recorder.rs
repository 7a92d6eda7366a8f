//! Writes down who goes when, whichever strategy decides it. What is written is in `turns`.

use super::turns::{Delay, TaskCalls, TaskName, Turn, Turns};
use super::{Ready, Strategy};
use crate::trace::{CallKind, ProcessId};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

/// Where a recording is found after the run.
pub(crate) type Recording = Arc<Mutex<Turns>>;

/// A strategy, and what it decided.
pub(crate) struct Recorder {
    inner: Box<dyn Strategy>,
    recording: Recording,
    lives: Lives,
    tasks: Vec<TaskCalls>,
    delays: Vec<Delay>,
    turns: Vec<Turn>,
    by_life: BTreeMap<(ProcessId, u32, u32), u32>,
    last: Option<(ProcessId, u32)>,
    preemptions: u64,
    steps: u64,
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
        Recorder {
            inner,
            recording,
            lives: Lives::new(names),
            tasks: Vec::new(),
            delays: Vec::new(),
            turns: Vec::new(),
            by_life: BTreeMap::new(),
            last: None,
            preemptions: 0,
            steps: 0,
        }
    }

    fn task(&mut self, process: ProcessId, ordinal: u32) -> u32 {
        let boot = self.lives.of(process);
        let (names, tasks) = (&self.lives.names, &mut self.tasks);
        *self.by_life.entry((process, boot, ordinal)).or_insert_with(|| {
            let name = TaskName { process: names[process.0 as usize].clone(), boot, ordinal };
            tasks.push(TaskCalls { name, calls: Vec::new(), operations: Vec::new() });
            tasks.len() as u32 - 1
        })
    }
}

impl Strategy for Recorder {
    fn next(&mut self, ready: &[Ready], now_ns: u64) -> usize {
        let choice = self.inner.next(ready, now_ns);
        let call = &ready[choice];
        let goes = (call.process, call.ordinal);
        if let Some(last) = self.last
            && last != goes
            && ready.iter().any(|call| (call.process, call.ordinal) == last && call.kind != CallKind::Wake)
        {
            self.preemptions += 1;
        }
        let task = self.task(call.process, call.ordinal);
        let calls = &mut self.tasks[task as usize].calls;
        calls.push(call.kind);
        let until = calls.len() as u32;
        match self.turns.last_mut() {
            Some(turn) if self.last == Some(goes) && turn.task == task => turn.until = until,
            _ => self.turns.push(Turn { task, until }),
        }
        self.steps += 1;
        self.last = Some(goes);
        choice
    }

    fn delay(&mut self, call: &Ready, drawn_ns: u64) -> u64 {
        let delay_ns = self.inner.delay(call, drawn_ns);
        if delay_ns != drawn_ns {
            let task = self.task(call.process, call.ordinal);
            let made = self.tasks[task as usize].calls.len() as u32;
            self.delays.push(Delay { task, call: made, kind: call.kind, delay_ns });
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
        let task = self.task(process, ordinal);
        let TaskCalls { calls, operations, .. } = &mut self.tasks[task as usize];
        operations.push((calls.len() as u32, operation));
        self.inner.began(process, ordinal, operation);
    }

    fn ended(&mut self, process: ProcessId) {
        self.last = self.last.filter(|(last, _)| *last != process);
        self.inner.ended(process);
    }

    fn choices(&self) -> Option<u64> {
        self.inner.choices()
    }
}

impl Drop for Recorder {
    /// The chaos is over, or the run.
    fn drop(&mut self) {
        let mut recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        *recording = Turns {
            tasks: Arc::new(std::mem::take(&mut self.tasks)),
            turns: std::mem::take(&mut self.turns),
            delays: Arc::new(std::mem::take(&mut self.delays)),
            preemptions: self.preemptions,
            steps: self.steps,
        };
    }
}

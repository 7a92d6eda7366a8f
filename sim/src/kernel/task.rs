//! Tasks and what they wait for: announced calls, timers, wait queues. Nothing here polls a future.

use super::core::Core;
use crate::schedule::Ready;
use crate::sys::disk::InodeId;
use crate::trace::{ProcessId, TaskId};

/// What a blocked call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WaitKey {
    /// A lock on a file.
    File(InodeId),
    /// Something between tasks of a process: a mutex, a channel.
    Shared(u64),
    /// The end of a task.
    Task(TaskId, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    Calm,
    MachineUp,
    /// The page cache drops what a failed fsync left in it.
    Evict(InodeId),
    Fault(usize),
    Kill(ProcessId, u32),
    Resume(ProcessId, u32),
    Restart(ProcessId),
    Task(TaskId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskState {
    /// The slot is free.
    Free,
    /// Being polled, or awaiting something that is no system call.
    Running,
    /// In the ready list, at this index.
    Ready(usize),
    /// Ready at a time.
    Asleep { due_ns: u64 },
    /// Blocked, perhaps with a deadline.
    Waiting { key: WaitKey, deadline_ns: Option<u64> },
    /// Ready but for its process, which is paused.
    Held,
}

pub(super) struct Task {
    pub(super) state: TaskState,
    /// Distinguishes the tasks that have used this slot.
    pub(super) generation: u32,
    /// The announced call.
    pub(super) call: Ready,
    pub(super) announced_ns: u64,
    pub(super) timed_out: bool,
    pub(super) interrupted: bool,
}

impl Core {
    /// Puts a task's announced call among the ready ones, or holds it back while its process is paused.
    pub(super) fn make_ready(&mut self, task: TaskId) {
        let process = self.tasks[task.0 as usize].call.process;
        let paused = self.processes[process.0 as usize].life == super::process::Life::Paused;
        let slot = &mut self.tasks[task.0 as usize];
        if paused {
            slot.state = TaskState::Held;
        } else {
            slot.state = TaskState::Ready(self.ready.len());
            self.ready.push(slot.call);
        }
    }

    /// Takes a call out of the ready list, in constant time.
    #[inline]
    pub(super) fn take_ready(&mut self, index: usize) -> Ready {
        let call = self.ready.swap_remove(index);
        self.tasks[call.task.0 as usize].state = TaskState::Running;
        if let Some(moved) = self.ready.get(index) {
            self.tasks[moved.task.0 as usize].state = TaskState::Ready(index);
        }
        call
    }

    /// Makes a task's announced call ready at a time, not before.
    pub(super) fn sleep_until(&mut self, task: TaskId, due_ns: u64) {
        let slot = &mut self.tasks[task.0 as usize];
        slot.call.due_ns = due_ns;
        slot.state = TaskState::Asleep { due_ns };
        self.timers.insert((due_ns, Timer::Task(task)));
    }

    /// Blocks a task until `key` is woken or the deadline comes.
    pub(super) fn wait(&mut self, task: TaskId, key: WaitKey, deadline_ns: Option<u64>) {
        self.tasks[task.0 as usize].state = TaskState::Waiting { key, deadline_ns };
        self.waiting.entry(key).or_default().push(task);
        if let Some(due_ns) = deadline_ns {
            self.timers.insert((due_ns, Timer::Task(task)));
        }
    }

    /// Wakes all that wait for `key`: each tries again when it is picked.
    pub(crate) fn wake(&mut self, key: WaitKey) {
        for task in self.waiting.remove(&key).unwrap_or_default() {
            if let TaskState::Waiting { deadline_ns: Some(due_ns), .. } = self.tasks[task.0 as usize].state {
                self.timers.remove(&(due_ns, Timer::Task(task)));
            }
            self.rejoin(task);
        }
    }

    /// A task that waited is ready from now on.
    fn rejoin(&mut self, task: TaskId) {
        let slot = &mut self.tasks[task.0 as usize];
        slot.call.due_ns = self.now_ns + 1;
        self.make_ready(task);
    }

    /// A task's timer has come: its sleep is over, or its deadline has passed.
    pub(super) fn timer_due(&mut self, task: TaskId) {
        match self.tasks[task.0 as usize].state {
            TaskState::Asleep { .. } => self.make_ready(task),
            TaskState::Waiting { key, .. } => {
                self.stop_waiting(task, key);
                self.tasks[task.0 as usize].timed_out = true;
                self.rejoin(task);
            }
            state => unreachable!("a timer of a task that is {state:?}"),
        }
    }

    fn stop_waiting(&mut self, task: TaskId, key: WaitKey) {
        if let Some(queue) = self.waiting.get_mut(&key) {
            queue.retain(|other| *other != task);
            if queue.is_empty() {
                self.waiting.remove(&key);
            }
        }
    }

    /// Takes back whatever a task has announced: it never happened.
    pub(super) fn withdraw(&mut self, task: TaskId) {
        match self.tasks[task.0 as usize].state {
            TaskState::Ready(index) => {
                self.take_ready(index);
            }
            TaskState::Asleep { due_ns } => {
                self.timers.remove(&(due_ns, Timer::Task(task)));
            }
            TaskState::Waiting { key, deadline_ns } => {
                self.stop_waiting(task, key);
                if let Some(due_ns) = deadline_ns {
                    self.timers.remove(&(due_ns, Timer::Task(task)));
                }
            }
            TaskState::Free | TaskState::Running | TaskState::Held => {}
        }
        let slot = &mut self.tasks[task.0 as usize];
        if slot.state != TaskState::Free {
            slot.state = TaskState::Running;
        }
        slot.timed_out = false;
        slot.interrupted = false;
    }

    /// Interrupts a process's sleeping tasks, as a signal with a handler does (nanosleep(2): EINTR).
    pub(super) fn interrupt(&mut self, process: ProcessId) {
        for task in self.processes[process.0 as usize].tasks.clone() {
            if let TaskState::Asleep { due_ns } = self.tasks[task.0 as usize].state
                && self.tasks[task.0 as usize].call.kind == crate::trace::CallKind::Sleep
            {
                self.timers.remove(&(due_ns, Timer::Task(task)));
                self.tasks[task.0 as usize].interrupted = true;
                self.rejoin(task);
            }
        }
    }
}

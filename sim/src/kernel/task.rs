//! Tasks and what they wait for: announced calls, timers, wait queues. Nothing here polls a future.

use super::core::Core;
use super::process::Life;
use crate::schedule::Ready;
use crate::sys::disk::InodeId;
use crate::sys::net::MailboxKey;
use crate::trace::{CallKind, ProcessId, TaskId};
use std::task::Waker;

/// What a blocked call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WaitKey {
    /// A lock on a file.
    File(InodeId),
    /// Something between tasks of a process: a mutex, a channel.
    Shared(u64),
    /// The end of a task.
    Task(TaskId, u32),
    /// A message.
    Mailbox(MailboxKey),
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
    /// A message comes to its mailbox: the number of its flight.
    Deliver(u64),
    /// A partition is over: the id of its fault.
    Heal(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskState {
    /// The slot is free.
    Free,
    /// Being polled, or awaiting something that is no system call.
    Running,
    /// Its call has been picked, and the program has not come to it yet.
    Picked,
    /// In the ready list, at this index.
    Ready(usize),
    /// Ready at a time.
    Asleep { due_ns: u64 },
    /// Blocked, perhaps with a deadline.
    Waiting { key: WaitKey, deadline_ns: Option<u64> },
    /// Ready but for its process, which is paused.
    Held,
}

/// A step that a task gets because something other than a system call has woken it. It may have a call outstanding beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WakeState {
    None,
    /// In the ready list, at this index.
    Ready(usize),
    /// Its process is paused.
    Held,
}

pub(super) struct Task {
    pub(super) state: TaskState,
    pub(super) wake: WakeState,
    pub(super) wake_announced_ns: u64,
    /// Distinguishes the tasks that have used this slot.
    pub(super) generation: u32,
    /// The announced call.
    pub(super) call: Ready,
    pub(super) announced_ns: u64,
    /// Faults have counted the call: one that waited or was delayed is the same call when it tries again.
    pub(super) is_counted: bool,
    /// Who is to be woken before the call takes effect, where that is another than the task itself: a combinator that polls only
    /// those of its futures that were woken.
    pub(super) waker: Option<Waker>,
    pub(super) timed_out: bool,
    pub(super) interrupted: bool,
    /// What it was woken from and has not tried since, with the deadline of its wait.
    pub(super) woken: Option<(WaitKey, Option<u64>)>,
}

impl Task {
    /// A slot that no task has used yet.
    pub(super) fn unused(call: Ready) -> Task {
        Task {
            state: TaskState::Free,
            wake: WakeState::None,
            wake_announced_ns: 0,
            generation: 0,
            call,
            announced_ns: 0,
            is_counted: false,
            waker: None,
            timed_out: false,
            interrupted: false,
            woken: None,
        }
    }
}

impl Core {
    /// Puts a task's announced call among the ready ones, or holds it back while its process is paused.
    pub(super) fn make_ready(&mut self, task: TaskId) {
        let process = self.tasks[task.0 as usize].call.process;
        let paused = self.processes[process.0 as usize].life == Life::Paused;
        let slot = &mut self.tasks[task.0 as usize];
        if paused {
            slot.state = TaskState::Held;
        } else {
            slot.state = TaskState::Ready(self.ready.len());
            self.ready.push(slot.call);
        }
    }

    /// Fills the place of the picked call in the ready list, if nothing has taken it.
    #[inline]
    pub(super) fn settle(&mut self) {
        if let Some(index) = self.vacant.take() {
            self.remove_ready(index);
        }
    }

    /// Notes that a task's call is no longer in the ready list.
    #[inline]
    pub(super) fn leave_ready(&mut self, task: TaskId, kind: CallKind) {
        let slot = &mut self.tasks[task.0 as usize];
        if kind == CallKind::Wake {
            slot.wake = WakeState::None;
        } else {
            slot.state = TaskState::Picked;
            slot.woken = None;
        }
    }

    /// Takes an entry out of the ready list, in constant time.
    fn remove_ready(&mut self, index: usize) {
        self.ready.swap_remove(index);
        if let Some(moved) = self.ready.get(index) {
            let slot = &mut self.tasks[moved.task.0 as usize];
            if moved.kind == CallKind::Wake {
                slot.wake = WakeState::Ready(index);
            } else {
                slot.state = TaskState::Ready(index);
            }
        }
    }

    /// Takes a task's call out of the ready list. True if it was there.
    fn take_ready(&mut self, task: TaskId) -> bool {
        self.settle();
        let TaskState::Ready(index) = self.tasks[task.0 as usize].state else { return false };
        self.tasks[task.0 as usize].state = TaskState::Picked;
        self.remove_ready(index);
        true
    }

    /// A step for a task that something other than a system call has woken.
    pub(super) fn announce_wake(&mut self, task: TaskId) {
        let Some(slot) = self.tasks.get(task.0 as usize) else { return };
        let Ready { process, ordinal, .. } = slot.call;
        if slot.state == TaskState::Free || slot.wake != WakeState::None {
            return;
        }
        let call =
            Ready { due_ns: self.now_ns, object: 0, task, process, ordinal, kind: CallKind::Wake, is_again: false };
        let due_ns = self.now_ns + self.latency(task, process, ordinal, CallKind::Wake, 0);
        self.tasks[task.0 as usize].wake_announced_ns = self.now_ns;
        self.make_wake_ready(Ready { due_ns, ..call });
    }

    fn make_wake_ready(&mut self, call: Ready) {
        let paused = self.processes[call.process.0 as usize].life == Life::Paused;
        let slot = &mut self.tasks[call.task.0 as usize];
        if paused {
            slot.wake = WakeState::Held;
        } else {
            slot.wake = WakeState::Ready(self.ready.len());
            self.ready.push(call);
        }
    }

    /// Takes a task's step for a wake-up out of the ready list. True if it has one there.
    pub(super) fn take_wake(&mut self, task: TaskId) -> bool {
        self.settle();
        let WakeState::Ready(index) = self.tasks[task.0 as usize].wake else { return false };
        self.tasks[task.0 as usize].wake = WakeState::None;
        self.remove_ready(index);
        true
    }

    /// Holds back what a task has ready: its process is paused.
    pub(super) fn hold(&mut self, task: TaskId) {
        if self.take_ready(task) {
            self.tasks[task.0 as usize].state = TaskState::Held;
        }
        if self.take_wake(task) {
            self.tasks[task.0 as usize].wake = WakeState::Held;
        }
    }

    /// Makes ready what was held back.
    pub(super) fn release(&mut self, task: TaskId) {
        let slot = &mut self.tasks[task.0 as usize];
        let Ready { process, ordinal, .. } = slot.call;
        if slot.state == TaskState::Held {
            self.make_ready(task);
        }
        if self.tasks[task.0 as usize].wake == WakeState::Held {
            self.make_wake_ready(Ready {
                due_ns: self.now_ns,
                object: 0,
                task,
                process,
                ordinal,
                kind: CallKind::Wake,
                is_again: false,
            });
        }
    }

    /// The program was polled and did not come to its picked call: a select of its own took another branch first. It is picked again.
    pub(super) fn put_back(&mut self, task: TaskId) {
        if self.tasks[task.0 as usize].state == TaskState::Picked {
            self.rejoin(task, self.now_ns + 1);
        }
    }

    /// Makes a task's announced call ready at a time, not before.
    pub(super) fn sleep_until(&mut self, task: TaskId, due_ns: u64) {
        let slot = &mut self.tasks[task.0 as usize];
        slot.call.due_ns = due_ns;
        slot.state = TaskState::Asleep { due_ns };
        self.timers.insert(due_ns, Timer::Task(task));
    }

    /// Blocks a task until `key` is woken or the deadline comes.
    pub(super) fn wait(&mut self, task: TaskId, key: WaitKey, deadline_ns: Option<u64>) {
        self.tasks[task.0 as usize].state = TaskState::Waiting { key, deadline_ns };
        self.waiting.push((key, task));
        if let Some(due_ns) = deadline_ns {
            self.timers.insert(due_ns, Timer::Task(task));
        }
    }

    /// Wakes all that wait for `key`: each tries again when it is picked. In time order the one that has waited longest tries first. True if there was one.
    pub(crate) fn wake(&mut self, key: WaitKey) -> bool {
        // Mostly there is nobody.
        let Some(first) = self.waiting.iter().position(|(other, _)| *other == key) else { return false };
        let (mut kept, mut due_ns) = (first, self.now_ns);
        for index in first..self.waiting.len() {
            let (other, task) = self.waiting[index];
            if other != key {
                self.waiting[kept] = (other, task);
                kept += 1;
                continue;
            }
            let slot = &mut self.tasks[task.0 as usize];
            if let TaskState::Waiting { deadline_ns, .. } = slot.state {
                slot.woken = Some((key, deadline_ns));
                if let Some(due_ns) = deadline_ns {
                    self.timers.remove(due_ns, Timer::Task(task));
                }
            }
            due_ns += 1;
            self.rejoin(task, due_ns);
        }
        self.waiting.truncate(kept);
        due_ns > self.now_ns
    }

    /// Another has taken what tasks were woken for: those that have not tried yet wait on, as long as each would have waited. A step that can only fail
    /// tells nothing and is none.
    pub(crate) fn wait_on(&mut self, key: WaitKey) {
        self.settle();
        let is_late = |call: &&Ready| {
            let slot = &self.tasks[call.task.0 as usize];
            call.kind != CallKind::Wake && slot.woken.is_some_and(|(from, _)| from == key)
        };
        let mut late = std::mem::take(&mut self.late);
        late.extend(self.ready.iter().filter(is_late).map(|call| (call.due_ns, call.task)));
        // They were woken in the order of their waits, each a nanosecond after the one before.
        late.sort_unstable_by_key(|(due_ns, task)| (*due_ns, task.0));
        for (_, task) in late.drain(..) {
            let deadline_ns = self.tasks[task.0 as usize].woken.take().and_then(|(_, deadline_ns)| deadline_ns);
            self.take_ready(task);
            self.wait(task, key, deadline_ns);
        }
        self.late = late;
    }

    /// A task that waited is ready again.
    fn rejoin(&mut self, task: TaskId, due_ns: u64) {
        let call = &mut self.tasks[task.0 as usize].call;
        call.due_ns = due_ns;
        call.is_again = true;
        self.make_ready(task);
    }

    /// A task's timer has come: its sleep is over, or its deadline has passed.
    pub(super) fn timer_due(&mut self, task: TaskId) {
        match self.tasks[task.0 as usize].state {
            TaskState::Asleep { .. } => self.make_ready(task),
            TaskState::Waiting { .. } => {
                self.stop_waiting(task);
                self.tasks[task.0 as usize].timed_out = true;
                // A deadline may be the last moment that there is.
                self.rejoin(task, self.now_ns.saturating_add(1));
            }
            state => unreachable!("a timer of a task that is {state:?}"),
        }
    }

    fn stop_waiting(&mut self, task: TaskId) {
        if let Some(index) = self.waiting.iter().position(|(_, other)| *other == task) {
            self.waiting.remove(index);
        }
    }

    /// Takes back whatever a task has announced: it never happened.
    pub(super) fn withdraw(&mut self, task: TaskId) {
        match self.tasks[task.0 as usize].state {
            TaskState::Ready(_) => {
                self.take_ready(task);
            }
            TaskState::Asleep { due_ns } => {
                self.timers.remove(due_ns, Timer::Task(task));
            }
            TaskState::Waiting { deadline_ns, .. } => {
                self.stop_waiting(task);
                if let Some(due_ns) = deadline_ns {
                    self.timers.remove(due_ns, Timer::Task(task));
                }
            }
            TaskState::Free | TaskState::Running | TaskState::Picked | TaskState::Held => {}
        }
        let slot = &mut self.tasks[task.0 as usize];
        if slot.state != TaskState::Free {
            slot.state = TaskState::Running;
        }
        slot.timed_out = false;
        slot.interrupted = false;
        slot.woken = None;
    }

    /// Interrupts a process's tasks that sleep or wait for a message, as a signal with a handler does (nanosleep(2), recv(2): EINTR).
    pub(super) fn interrupt(&mut self, process: ProcessId) {
        for task in self.processes[process.0 as usize].tasks.clone() {
            if let TaskState::Asleep { due_ns } = self.tasks[task.0 as usize].state
                && self.tasks[task.0 as usize].call.kind == CallKind::Sleep
            {
                self.timers.remove(due_ns, Timer::Task(task));
                self.tasks[task.0 as usize].interrupted = true;
                self.rejoin(task, self.now_ns + 1);
            }
            if let TaskState::Waiting { key: WaitKey::Mailbox(_), deadline_ns } = self.tasks[task.0 as usize].state {
                if let Some(due_ns) = deadline_ns {
                    self.timers.remove(due_ns, Timer::Task(task));
                }
                self.stop_waiting(task);
                self.tasks[task.0 as usize].interrupted = true;
                self.rejoin(task, self.now_ns + 1);
            }
        }
    }
}

//! Polls programs: the step loop's outer half. It holds the futures; what they announce is in `core`.

use super::core::{Action, Kernel};
use super::crash_points::Explorer;
use super::process::Running;
use crate::trace::{CallKind, TaskId};
use madsim::time::TimeHandle;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// Tasks woken by something that is no system call: a channel of another crate between tasks of one process.
#[derive(Default)]
pub(super) struct Woken {
    any: AtomicBool,
    tasks: Mutex<Vec<TaskId>>,
}

struct TaskWaker {
    task: TaskId,
    woken: Arc<Woken>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(self.task);
        self.woken.any.store(true, Ordering::Relaxed);
    }
}

pub(super) struct Executor {
    pub(super) kernel: Kernel,
    /// By task slot.
    pub(super) programs: Vec<Option<Running>>,
    wakers: Vec<Waker>,
    woken: Arc<Woken>,
    clock: TimeHandle,
    /// Simulated time as madsim's clock shows it.
    clock_ns: u64,
}

impl Executor {
    pub(super) fn new(kernel: Kernel) -> Executor {
        let clock = TimeHandle::current();
        let woken = Arc::default();
        Executor { kernel, programs: Vec::new(), wakers: Vec::new(), woken, clock, clock_ns: 0 }
    }

    /// Runs until the end: all work done, or a violation.
    pub(super) fn run(&mut self, explorer: &mut Explorer<'_>) {
        loop {
            let (action, now_ns, first, has_combinators) = self.kernel.with(|core| {
                let action = core.next_action();
                let first = match action {
                    Action::Poll(task, kind) => core.begin_if_first(task, kind),
                    _ => false,
                };
                (action, core.now_ns, first, core.has_combinators)
            });
            match action {
                Action::Poll(task, kind) => {
                    let is_crash_point = explorer.is_point(kind);
                    if is_crash_point && explorer.before(&self.kernel, task, kind) {
                        continue;
                    }
                    if has_combinators && !first {
                        self.wake_combinator(task);
                    }
                    self.poll(task, now_ns, first);
                    if is_crash_point {
                        explorer.after(&self.kernel, task);
                    }
                }
                Action::Control(control) => self.control(control),
                Action::End => return,
            }
            if self.woken.any.load(Ordering::Relaxed) {
                self.wake_foreign();
            }
        }
    }

    #[inline]
    fn poll(&mut self, task: TaskId, now_ns: u64, first: bool) {
        if now_ns != self.clock_ns {
            // Programs that read `Instant::now()` see simulated time.
            self.clock.advance(Duration::from_nanos(now_ns - self.clock_ns));
            self.clock_ns = now_ns;
        }
        if !first {
            self.kernel.grant(task);
        }
        let slot = task.0 as usize;
        let Some(program) = self.programs[slot].as_mut() else { return };
        let waker = &self.wakers[slot];
        self.kernel.poll_begins(task, waker);
        let poll = program.as_mut().poll(&mut Context::from_waker(waker));
        if poll.is_ready() {
            // What the future still holds belongs to a task that runs.
            self.programs[slot] = None;
        }
        self.kernel.poll_ends();
        let is_unused = self.kernel.take_unused_grant();
        match poll {
            Poll::Ready(exit) => self.ended(task, exit),
            Poll::Pending if is_unused => self.kernel.with(|core| core.put_back(task)),
            Poll::Pending => {}
        }
    }

    /// Tells a combinator that polls only those of its futures that were woken which one to poll. The task itself is polled next anyway.
    #[cold]
    fn wake_combinator(&mut self, task: TaskId) {
        let Some(waker) = self.kernel.with(|core| core.tasks[task.0 as usize].waker.clone()) else { return };
        waker.wake();
        self.woken.tasks.lock().unwrap_or_else(PoisonError::into_inner).retain(|woken| *woken != task);
    }

    /// Gives a task a step of its own after it was woken from outside the system calls.
    #[cold]
    fn wake_foreign(&mut self) {
        self.woken.any.store(false, Ordering::Relaxed);
        let tasks = std::mem::take(&mut *self.woken.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        self.kernel.with(|core| {
            for task in tasks {
                core.announce_wake(task);
            }
        });
    }

    /// Puts a program into a task's slot.
    pub(super) fn install(&mut self, task: TaskId, program: Running) {
        let slot = task.0 as usize;
        while self.programs.len() <= slot {
            let task = TaskId(self.programs.len() as u32);
            self.programs.push(None);
            self.wakers.push(Waker::from(Arc::new(TaskWaker { task, woken: self.woken.clone() })));
        }
        self.programs[slot] = Some(program);
    }
}

impl super::core::Core {
    /// The first step of a boot or of a task, and a step after a foreign wake-up: no future waits for the grant, so its event is made here.
    #[inline]
    fn begin_if_first(&mut self, task: TaskId, kind: CallKind) -> bool {
        if !matches!(kind, CallKind::Boot | CallKind::Start | CallKind::Wake) {
            return false;
        }
        self.begin(task, kind);
        true
    }
}

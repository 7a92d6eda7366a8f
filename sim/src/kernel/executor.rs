//! Polls programs: the step loop's outer half. It holds the futures; what they announce is in `core`.

use super::beat::Beat;
use super::core::{Before, Step};
use super::crash_points::Explorer;
use super::handle::Kernel;
use super::process::{Program, Running};
use crate::blocking::Resume;
use crate::schedule::Ready;
use crate::sys::Sys;
use crate::trace::{CallKind, TaskId, layer};
use madsim::time::TimeHandle;
use std::cell::Cell;
use std::rc::Rc;
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

/// What the executor holds of a task.
pub(super) struct Slot {
    pub(super) program: Option<Stage>,
    /// Where the program waits in blocking code: what is resumed for each of its calls. Futures may be nested deeply, and polling down to it costs
    /// as much as a call.
    pub(super) resumable: Option<Rc<dyn Resume>>,
    waker: Waker,
    /// What `waker` points to.
    target: Arc<TaskWaker>,
}

/// What an executor leaves to the next one on its thread: slots without programs, and where their wakers write to.
type Spare = (Vec<Slot>, Arc<Woken>);

thread_local! {
    static SPARE: Cell<Option<Spare>> = const { Cell::new(None) };
}

pub(super) enum Stage {
    /// Booted, and not polled yet.
    New(Program, Sys),
    Running(Running),
}

pub(super) struct Executor {
    pub(super) kernel: Kernel,
    /// By task.
    pub(super) slots: Vec<Slot>,
    woken: Arc<Woken>,
    /// madsim's clock, which std's shows; `None` where it stands still.
    clock: Option<TimeHandle>,
    /// Simulated time as that clock shows it.
    clock_ns: u64,
    followers: Followers,
    /// Whether there are any: a step asks once.
    is_followed: bool,
}

/// Who wants to know which task is polled.
struct Followers {
    /// Somebody listens to `tracing`.
    is_listened: bool,
    beat: Option<Arc<Beat>>,
}

impl Executor {
    pub(super) fn new(kernel: Kernel, moves_std_clock: bool) -> Executor {
        let clock = moves_std_clock.then(TimeHandle::current);
        let (slots, woken) = SPARE.take().unwrap_or_default();
        let followers = Followers { is_listened: layer::is_listened(), beat: kernel.with(|core| core.beat.clone()) };
        let is_followed = followers.is_listened || followers.beat.is_some();
        Executor { kernel, slots, woken, clock, clock_ns: 0, followers, is_followed }
    }

    /// Runs until the end: all work done, or a violation.
    pub(super) fn run(&mut self, explorer: &mut Explorer<'_>) {
        loop {
            match self.kernel.with(|core| core.next_step()) {
                Some(step) if explorer.is_point(step.kind) => self.step_at_point(step, explorer),
                Some(step) => self.step(step),
                None => match self.kernel.with(|core| core.before_step()) {
                    Before::Nothing => continue,
                    Before::Control(control) => self.control(control),
                    Before::End => return,
                },
            }
            if self.woken.any.load(Ordering::Relaxed) {
                self.wake_foreign();
            }
        }
    }

    /// A step just before or after which the machine may be taken to have crashed.
    #[cold]
    fn step_at_point(&mut self, step: Step, explorer: &mut Explorer<'_>) {
        if !explorer.before(&self.kernel, step.task, step.kind) {
            self.step_cold(step);
            explorer.after(&self.kernel, step.task);
        }
    }

    #[inline(never)]
    fn step_cold(&mut self, step: Step) {
        self.step(step);
    }

    #[inline(always)]
    fn step(&mut self, step: Step) {
        let Step { task, kind, has_combinators, now_ns } = step;
        // No future waits for the grant of a first step, or of one after a foreign wake-up: its event is made here.
        let first = matches!(kind, CallKind::Boot | CallKind::Start | CallKind::Wake);
        if first {
            self.kernel.with(|core| core.begin(task, kind));
        } else {
            self.kernel.grant(task);
            if has_combinators {
                self.wake_combinator(task);
            }
        }
        if now_ns != self.clock_ns
            && let Some(clock) = &self.clock
        {
            // Programs that read `Instant::now()` see simulated time.
            clock.advance(Duration::from_nanos(now_ns - self.clock_ns));
            self.clock_ns = now_ns;
        }
        let Slot { program: stage, resumable, waker, .. } = &mut self.slots[task.0 as usize];
        if stage.is_none() {
            return;
        }
        let _polled = self.is_followed.then(|| self.followers.told(&self.kernel, task, now_ns));
        self.kernel.poll_begins(task, waker);
        if let Some(code) = resumable.take_if(|_| !has_combinators)
            && !code.resume(waker)
        {
            *resumable = Some(code);
            self.kernel.poll_ends();
            return;
        }
        let program = match stage {
            Some(Stage::Running(program)) => program,
            _ => Stage::begin(stage),
        };
        let poll = program.as_mut().poll(&mut Context::from_waker(waker));
        let has_left = self.kernel.has_left();
        if poll.is_ready() {
            // What the future still holds belongs to a task that runs.
            *stage = None;
            drop(self.kernel.take_resumable());
        } else if has_left | resumable.is_some() {
            *resumable = self.kernel.take_resumable();
        }
        self.kernel.poll_ends();
        if has_left && let Some((started, program)) = self.kernel.take_started() {
            self.slot(started.task).program = Some(Stage::Running(program));
        }
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
        for task in &tasks {
            // What woke it is beside the blocking code: only a poll finds it.
            self.slot(*task).resumable = None;
        }
        self.kernel.with(|core| {
            for task in tasks {
                core.announce_wake(task);
            }
        });
    }

    /// What a task of a dead process held is about to be dropped.
    pub(super) fn drops(&self, task: TaskId) {
        if let Some(beat) = &self.followers.beat {
            self.kernel.with(|core| {
                let Ready { process, ordinal, .. } = core.tasks[task.0 as usize].call;
                beat.drops(process, ordinal);
            });
        }
    }

    /// A task's slot.
    pub(super) fn slot(&mut self, task: TaskId) -> &mut Slot {
        let index = task.0 as usize;
        while self.slots.len() <= index {
            let task = TaskId(self.slots.len() as u32);
            let target = Arc::new(TaskWaker { task, woken: self.woken.clone() });
            self.slots.push(Slot { program: None, resumable: None, waker: Waker::from(target.clone()), target });
        }
        &mut self.slots[index]
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        let mut slots = std::mem::take(&mut self.slots);
        slots.iter_mut().for_each(|slot| (slot.program, slot.resumable) = (None, None));
        drop(self.kernel.take_resumable());
        // Whoever has kept a waker could wake a task of the next run.
        let is_woken_by_nobody = slots.iter().all(|slot| Arc::strong_count(&slot.target) == 2);
        if is_woken_by_nobody && slots.len() <= SPARE_MAX {
            self.woken.any.store(false, Ordering::Relaxed);
            self.woken.tasks.lock().unwrap_or_else(PoisonError::into_inner).clear();
            SPARE.set(Some((slots, self.woken.clone())));
        }
    }
}

impl Followers {
    /// Tells them who is polled. Nothing is handed over here that a step would have to keep for it.
    #[cold]
    fn told(&self, kernel: &Kernel, task: TaskId, now_ns: u64) -> layer::Polled {
        if let Some(beat) = &self.beat {
            let is_granted = kernel.is_granted_to(task);
            kernel.with(|core| beat.steps(core.step, now_ns, &core.tasks[task.0 as usize].call, is_granted));
        }
        if self.is_listened { polled(kernel, task, now_ns) } else { layer::Polled::of_nobody() }
    }
}

/// Has events of a program's own told with its process and simulated time, for as long as this lives.
#[cold]
fn polled(kernel: &Kernel, task: TaskId, now_ns: u64) -> layer::Polled {
    kernel.with(|core| {
        let process = core.tasks[task.0 as usize].call.process;
        layer::Polled::new(now_ns, &core.processes[process.0 as usize].name)
    })
}

/// The most slots that are left to the next run.
const SPARE_MAX: usize = 256;

impl Stage {
    /// Makes the program of a booted task. It runs its first lines here, as the task.
    #[cold]
    fn begin(stage: &mut Option<Stage>) -> &mut Running {
        if let Some(Stage::New(program, sys)) = stage.take() {
            *stage = Some(Stage::Running(program(sys)));
        }
        match stage {
            Some(Stage::Running(program)) => program,
            _ => unreachable!("only a task with a program is begun"),
        }
    }
}

//! Processes and tasks: who is alive, since when, spawn, join, and the request to end.

use super::call::{Call, Caller, Effect, Header};
use super::{Identity, Result, Sys};
use crate::kernel::{Core, Exit, Injected, WaitKey};
use crate::trace::CallKind;
use pin_project_lite::pin_project;
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// What one can learn of a live process from its PID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessInfo {
    /// When it started, in nanoseconds since the machine's boot (/proc/PID/stat, field 22). With PID and boot id it identifies a process:
    /// a PID alone may have been used again.
    pub started_ns: u64,
}

pub(crate) struct QueryProcess {
    pub(crate) pid: u32,
}

impl Call for QueryProcess {
    type Value = Option<ProcessInfo>;

    fn header(&self) -> Header {
        Header::new(CallKind::ProcessQuery, u64::from(self.pid), [u64::from(self.pid), 0])
    }

    fn effect(&mut self, core: &mut Core, _caller: Caller, _injected: Option<Injected>) -> Effect<Self::Value> {
        Effect::Done(Ok(core.process_info(self.pid)))
    }

    fn number(&self, value: &Self::Value) -> u64 {
        value.map_or(0, |info| info.started_ns.wrapping_add(1))
    }
}

struct SpawnTask;

impl Call for SpawnTask {
    type Value = Identity;

    fn header(&self) -> Header {
        Header::new(CallKind::Spawn, 0, [0; 2])
    }

    fn effect(&mut self, core: &mut Core, caller: Caller, _injected: Option<Injected>) -> Effect<Identity> {
        Effect::Done(Ok(core.spawn(caller)))
    }

    fn number(&self, value: &Identity) -> u64 {
        u64::from(value.ordinal)
    }
}

struct JoinTask {
    of: Identity,
}

impl Call for JoinTask {
    type Value = ();

    fn header(&self) -> Header {
        Header::new(CallKind::Join, u64::from(self.of.ordinal), [u64::from(self.of.ordinal), 0])
    }

    fn effect(&mut self, core: &mut Core, _caller: Caller, _injected: Option<Injected>) -> Effect<()> {
        if core.task_has_ended(&self.of) {
            Effect::Done(Ok(()))
        } else {
            Effect::Wait(WaitKey::Task(self.of.task, self.of.generation), None)
        }
    }

    fn number(&self, (): &()) -> u64 {
        0
    }
}

/// A task that was spawned.
pub struct TaskHandle<T> {
    identity: Identity,
    result: Rc<RefCell<Option<T>>>,
}

pin_project! {
    /// The program of a task that was spawned. A future by hand: an `async` block would hold the task's own twice, and move it.
    struct Spawned<F: Future> {
        #[pin]
        task: F,
        result: Rc<RefCell<Option<F::Output>>>,
    }
}

impl<F: Future> Future for Spawned<F> {
    type Output = Exit;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Exit> {
        let this = self.project();
        this.task.poll(context).map(|result| {
            *this.result.borrow_mut() = Some(result);
            Exit::success()
        })
    }
}

impl Sys {
    /// Starts another task of this process. It ends with the process's main task at the latest.
    pub fn spawn<F, T>(&self, program: impl FnOnce(Sys) -> F) -> impl Future<Output = TaskHandle<T>>
    where
        F: Future<Output = T> + 'static,
        T: 'static,
    {
        self.call(SpawnTask).then(move |spawned| {
            // The process died: the caller no longer runs either.
            let Ok(identity) = spawned else { return Poll::Pending };
            let result = Rc::new(RefCell::new(None));
            let task = program(Sys { kernel: self.kernel.clone(), identity });
            self.kernel.starts(identity, Box::pin(Spawned { task, result: result.clone() }));
            Poll::Ready(TaskHandle { identity, result })
        })
    }

    /// Waits for a task's end; its result.
    pub fn join<T>(&self, handle: TaskHandle<T>) -> impl Future<Output = T> {
        self.call(JoinTask { of: handle.identity }).then(move |_: Result<()>| {
            // Without a result the process died: the caller no longer runs either.
            handle.result.borrow_mut().take().map_or(Poll::Pending, Poll::Ready)
        })
    }

    /// This process's PID.
    pub fn pid(&self) -> u32 {
        self.kernel.with(|core| core.pid_of(self.identity.process))
    }

    /// When this process started, as [`ProcessInfo::started_ns`].
    pub fn started_ns(&self) -> u64 {
        self.kernel.with(|core| core.process_started_ns(self.identity.process))
    }

    /// The machine's boot id (/proc/sys/kernel/random/boot_id): another after each machine crash.
    pub fn boot_id(&self) -> u64 {
        self.kernel.with(|core| core.boot_id())
    }

    /// This process's name in the plan.
    pub fn name(&self) -> String {
        self.kernel.with(|core| core.name_of(self.identity.process).to_owned())
    }

    /// Whether a process of that PID is alive, and since when (kill(pid, 0), /proc/PID/stat).
    ///
    /// # Errors
    /// None of its own.
    pub async fn process_info(&self, pid: u32) -> Result<Option<ProcessInfo>> {
        self.call(QueryProcess { pid }).await
    }

    /// Whether the process has been asked to end (SIGTERM). After a grace it is killed.
    pub fn is_terminating(&self) -> bool {
        self.kernel.with(|core| core.is_terminating(self.identity.process))
    }
}

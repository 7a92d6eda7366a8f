//! The handle on the kernel that `Sys` and the executor share: how a call gets from a program to the core and back.

use super::core::Core;
use super::process::Running;
use super::world::World;
use crate::blocking::Resume;
use crate::errno::Errno;
use crate::sys::Identity;
use crate::sys::call::{Announcement, Call, Effect};
use crate::trace::{CallKind, TaskId};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Poll, Waker};

/// A handle on the kernel: what `Sys` and the executor share.
#[derive(Clone)]
pub(crate) struct Kernel(Rc<Shared>);

struct Shared {
    core: RefCell<Core>,
    granted: Cell<TaskId>,
    /// The task whose program is being polled.
    polled: Cell<TaskId>,
    /// What that task's own waker points to: tells it from a combinator's.
    own_waker: Cell<*const ()>,
    /// Blocking code that the polled task has left suspended, until the executor takes it.
    resumable: Cell<Option<Rc<dyn Resume>>>,
    /// The program of a task that the polled task has started, until the executor takes it. A poll starts one at most: each takes a step.
    started: Cell<Option<(Identity, Running)>>,
    /// Whether one of the two may be there. Apart: a look takes one load, and is taken at each step.
    has_left: Cell<bool>,
}

/// No task's number.
pub(super) const NO_TASK: TaskId = TaskId(u32::MAX);

thread_local! {
    /// The kernel of a run that is over, which nobody has any more: the next run on the thread takes its place.
    static SPARE: Cell<Option<Kernel>> = const { Cell::new(None) };
}

impl Kernel {
    pub(super) fn new(core: Core) -> Kernel {
        let (granted, polled, own_waker) = (Cell::new(NO_TASK), Cell::new(NO_TASK), Cell::new(std::ptr::null()));
        let (resumable, started, has_left) = (Cell::new(None), Cell::new(None), Cell::new(false));
        let core = RefCell::new(core);
        Kernel(Rc::new(Shared { core, granted, polled, own_waker, resumable, started, has_left }))
    }

    /// The kernel of the last run on the thread, if that was left.
    pub(super) fn spare() -> Option<Kernel> {
        SPARE.take()
    }

    /// The run is over, and the thread is used again. Whoever kept a handle beyond its run keeps the kernel.
    pub(super) fn leave(self) {
        let Shared { granted, polled, own_waker, .. } = &*self.0;
        granted.set(NO_TASK);
        polled.set(NO_TASK);
        own_waker.set(std::ptr::null());
        if Rc::strong_count(&self.0) == 1 {
            SPARE.set(Some(self));
        }
    }

    /// An empty world with room in it.
    pub(super) fn spare_world(&self) -> World {
        self.with(|core| std::mem::take(&mut core.spare_world))
    }

    /// Looks at or changes the machine. Never held across a poll.
    #[inline(always)]
    pub(crate) fn with<T>(&self, use_core: impl FnOnce(&mut Core) -> T) -> T {
        use_core(&mut self.0.core.borrow_mut())
    }

    pub(super) fn grant(&self, task: TaskId) {
        self.0.granted.set(task);
    }

    #[inline]
    pub(super) fn poll_begins(&self, task: TaskId, waker: &Waker) {
        self.0.polled.set(task);
        self.0.own_waker.set(waker.data());
    }

    /// The poll is over, by its return or by a panic. Gives the task that was polled.
    #[inline]
    pub(super) fn poll_ends(&self) -> Option<TaskId> {
        let task = self.0.polled.replace(NO_TASK);
        (task != NO_TASK).then_some(task)
    }

    /// The task whose program runs now. None between steps, and while the futures of a dead process are dropped.
    pub(crate) fn polled(&self) -> Option<Identity> {
        let task = self.0.polled.get();
        if task == NO_TASK { None } else { Some(self.with(|core| core.identity_of(task))) }
    }

    /// Takes a grant back that the poll didn't use. True if there was one.
    #[inline]
    pub(super) fn take_unused_grant(&self) -> bool {
        self.0.granted.replace(NO_TASK) != NO_TASK
    }

    /// The polled task may be resumed through this code from now on, and need not be polled for its calls.
    pub(crate) fn resumes(&self, code: Rc<dyn Resume>) {
        self.0.resumable.set(Some(code));
        self.0.has_left.set(true);
    }

    /// Whether the last poll may have left something: to be resumed, or to be started.
    #[inline]
    pub(super) fn has_left(&self) -> bool {
        self.0.has_left.replace(false)
    }

    /// What the last poll left to be resumed.
    #[inline]
    pub(super) fn take_resumable(&self) -> Option<Rc<dyn Resume>> {
        self.0.resumable.take()
    }

    /// The polled task has started another one.
    #[inline]
    pub(crate) fn starts(&self, identity: Identity, program: Running) {
        self.0.started.set(Some((identity, program)));
        self.0.has_left.set(true);
    }

    /// The task that the last poll has started, and its program.
    pub(super) fn take_started(&self) -> Option<(Identity, Running)> {
        self.0.started.take()
    }

    /// Whether the call that this task announced has been picked.
    #[inline]
    pub(crate) fn is_granted(&self, sys: &Identity) -> bool {
        self.is_granted_to(sys.task)
    }

    /// Whether the call that a task announced has been picked, and has not taken effect yet.
    #[inline]
    pub(super) fn is_granted_to(&self, task: TaskId) -> bool {
        self.0.granted.get() == task
    }

    /// Announces a call of `by`; that becomes who makes it, where it is another: the task that runs now, where a `Sys` came from another task of the process.
    /// From a dead process nothing happens, and the call never completes.
    ///
    /// `waker` is through which the program expects to hear of the call.
    #[inline]
    pub(crate) fn announce(&self, by: &mut Identity, call: Announcement, waker: &Waker) {
        let Announcement { kind, touches, first } = call;
        self.announce_call(by, kind, touches, first, waker);
    }

    // Six parameters, which registers take.
    #[inline(never)]
    fn announce_call(&self, by: &mut Identity, kind: CallKind, touches: u64, first: u64, waker: &Waker) {
        let polled = self.0.polled.get();
        self.with(|core| {
            if polled == by.task && core.is_current(by) {
                core.announce(by, kind, touches, first);
            } else {
                core.announce_as(polled, by, kind, touches, first);
            }
        });
        if waker.data() != self.0.own_waker.get() {
            self.wakes_through(by, waker);
        }
    }

    /// A combinator that polls only those of its futures that were woken is to be woken through its own waker.
    #[cold]
    fn wakes_through(&self, sys: &Identity, waker: &Waker) {
        self.with(|core| {
            if core.is_current(sys) {
                core.has_combinators = true;
                core.tasks[sys.task.0 as usize].waker = Some(waker.clone());
            }
        });
    }

    /// A call that was announced before is polled again, and waits on. The program may expect to hear of it through another waker than before.
    #[inline]
    pub(crate) fn polled_again(&self, sys: &Identity, waker: &Waker) {
        if waker.data() != self.0.own_waker.get() {
            self.wakes_through(sys, waker);
        }
    }

    pub(crate) fn withdraw(&self, sys: &Identity) {
        let is_current = self.with(|core| {
            let is_current = core.is_current(sys);
            if is_current {
                core.withdraw(sys.task);
            }
            is_current
        });
        if is_current && self.is_granted(sys) {
            // Else the task's next call would take effect before it is picked.
            self.0.granted.set(NO_TASK);
        }
    }

    /// Lets the picked call of `sys`'s task take effect.
    #[inline]
    pub(crate) fn take_effect<C: Call>(&self, sys: &Identity, call: &mut C) -> Poll<Result<C::Value, Errno>> {
        self.0.granted.set(NO_TASK);
        self.with(|core| core.take_effect(sys, call))
    }

    /// Lets a call take effect within the running step, without a choice of its own: for destructors. Nothing from a dead process.
    pub(crate) fn take_effect_at_once<C: Call>(&self, sys: &Identity, call: &mut C) -> Result<C::Value, Errno> {
        self.with(|core| {
            let sys = &core.acting(self.0.polled.get(), sys);
            if !core.is_current(sys) {
                return Err(Errno::Dead);
            }
            let caller = core.caller(sys);
            match call.effect(core, caller, None) {
                Effect::Done(result) => {
                    core.called(sys, call, &result, core.now_ns);
                    result
                }
                Effect::Wait(..) => Err(Errno::WouldBlock),
            }
        })
    }
}

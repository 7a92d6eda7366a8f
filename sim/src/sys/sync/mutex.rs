//! A mutex between the tasks of a process. Locks between processes are in `sys::lock`.

use super::Place;
use crate::errno::Errno;
use crate::kernel::{Core, Injected, WaitKey};
use crate::sys::call::{Call, Caller, Effect, Header};
use crate::sys::{Result, Sys};
use crate::trace::{CallKind, TaskId};
use std::cell::{Cell, RefCell, RefMut};
use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;
use std::task::Poll;

/// The first argument of a `mutex` call in the trace: what it did.
const LOCK: u64 = 0;
const TRY_LOCK: u64 = 1;
const UNLOCK: u64 = 2;

/// A mutual exclusion lock (pthread_mutex_lock(3), of the error-checking type). It isn't fair: a task that comes along may overtake one
/// that was woken.
pub struct Mutex<T> {
    inner: Rc<Inner<T>>,
}

struct Inner<T> {
    state: State,
    value: RefCell<T>,
}

/// What there is to a mutex beside its value.
pub(super) struct State {
    pub(super) place: Place,
    holder: Cell<Option<TaskId>>,
    /// Whether tasks have been woken to try for it.
    is_tried_for: Cell<bool>,
}

impl State {
    pub(super) fn release(&self, core: &mut Core) {
        self.holder.set(None);
        self.is_tried_for.set(core.wake(WaitKey::Shared(self.place.key)));
    }

    /// Unlocks within the running step. Nothing happens if the process is dead.
    pub(super) fn unlock_at_once(&self) {
        let sys = &self.place.sys;
        // The only error is the process's death.
        let _: Result<()> = sys.kernel.take_effect_at_once(&sys.identity, &mut Unlock { state: self });
    }
}

impl<T> Clone for Mutex<T> {
    fn clone(&self) -> Self {
        Mutex { inner: self.inner.clone() }
    }
}

impl<T> Mutex<T> {
    /// An unlocked mutex around `value`.
    pub fn new(sys: &Sys, value: T) -> Mutex<T> {
        let state = State { place: Place::new(sys), holder: Cell::new(None), is_tried_for: Cell::new(false) };
        Mutex { inner: Rc::new(Inner { state, value: RefCell::new(value) }) }
    }

    /// Locks; waits while another task holds it.
    ///
    /// # Errors
    /// EDEADLK when this task holds it already.
    pub fn lock(&self) -> impl Future<Output = Result<MutexGuard<'_, T>>> {
        self.acquire(true, None)
    }

    /// As [`Mutex::lock`], for so many simulated nanoseconds at most.
    ///
    /// # Errors
    /// ETIMEDOUT; EDEADLK when this task holds it already.
    pub fn lock_within(&self, for_ns: u64) -> impl Future<Output = Result<MutexGuard<'_, T>>> {
        self.acquire(true, Some(for_ns))
    }

    /// As [`Mutex::lock`], without waiting.
    ///
    /// # Errors
    /// EAGAIN when it is held, by whomever (pthread_mutex_trylock(3) says EBUSY).
    pub fn try_lock(&self) -> impl Future<Output = Result<MutexGuard<'_, T>>> {
        self.acquire(false, None)
    }

    fn acquire(&self, waits: bool, within_ns: Option<u64>) -> impl Future<Output = Result<MutexGuard<'_, T>>> {
        let state = &self.inner.state;
        let guard = |()| MutexGuard { mutex: self, value: Some(self.inner.value.borrow_mut()) };
        let lock = Lock { state, waits, within_ns, deadline_ns: None };
        state.place.sys.call(lock).then(move |locked| Poll::Ready(locked.map(guard)))
    }
}

/// Access to what a mutex guards. Dropping it unlocks, as part of the running step; nothing happens if the process is dead.
pub struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    /// None once the lock has been handed on to a wait.
    value: Option<RefMut<'a, T>>,
}

impl<'a, T> MutexGuard<'a, T> {
    /// The mutex, still locked: whoever asks for it unlocks it.
    pub(super) fn hand_over(mut self) -> &'a Mutex<T> {
        self.value = None;
        self.mutex
    }
}

impl<T> Mutex<T> {
    pub(super) fn state(&self) -> &State {
        &self.inner.state
    }
}

const HANDED_ON: &str = "a guard that was handed on is gone";

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect(HANDED_ON)
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect(HANDED_ON)
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        if self.value.take().is_some() {
            self.mutex.inner.state.unlock_at_once();
        }
    }
}

struct Lock<'a> {
    state: &'a State,
    waits: bool,
    within_ns: Option<u64>,
    /// Known when it first has to wait.
    deadline_ns: Option<u64>,
}

impl Call for Lock<'_> {
    type Value = ();

    fn header(&self) -> Header {
        let operation = if self.waits { LOCK } else { TRY_LOCK };
        Header::new(CallKind::Mutex, self.state.place.key, [operation, self.within_ns.unwrap_or(0)])
    }

    fn effect(&mut self, core: &mut Core, caller: Caller, _injected: Option<Injected>) -> Effect<()> {
        match self.state.holder.get() {
            None => {
                self.state.holder.set(Some(caller.task));
                if self.state.is_tried_for.take() {
                    core.wait_on(WaitKey::Shared(self.state.place.key));
                }
                Effect::Done(Ok(()))
            }
            Some(_) if !self.waits => Effect::Done(Err(Errno::WouldBlock)),
            Some(holder) if holder == caller.task => Effect::Done(Err(Errno::Deadlock)),
            Some(_) if caller.timed_out => Effect::Done(Err(Errno::TimedOut)),
            Some(_) => {
                let until_ns = self.within_ns.map(|within_ns| core.now_ns.saturating_add(within_ns));
                self.deadline_ns = self.deadline_ns.or(until_ns);
                Effect::Wait(WaitKey::Shared(self.state.place.key), self.deadline_ns)
            }
        }
    }

    fn number(&self, (): &()) -> u64 {
        0
    }
}

struct Unlock<'a> {
    state: &'a State,
}

impl Call for Unlock<'_> {
    type Value = ();

    fn header(&self) -> Header {
        Header::new(CallKind::Mutex, self.state.place.key, [UNLOCK, 0])
    }

    fn effect(&mut self, core: &mut Core, _caller: Caller, _injected: Option<Injected>) -> Effect<()> {
        self.state.release(core);
        Effect::Done(Ok(()))
    }

    fn number(&self, (): &()) -> u64 {
        0
    }
}

//! A condition variable between the tasks of a process. The mutex that goes with it is in `mutex`.

use super::Place;
use super::mutex::{Mutex, MutexGuard};
use crate::kernel::{Core, Injected, WaitKey};
use crate::seed::{Draw, Stream};
use crate::sys::call::{Call, Caller, Effect, Header};
use crate::sys::{Result, Sys};
use crate::trace::CallKind;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The first argument of a `condition` call in the trace: what it did.
const WAIT: u64 = 0;
const NOTIFY_ONE: u64 = 1;
const NOTIFY_ALL: u64 = 2;
const LEAVE: u64 = 3;

/// Of so many waiting tasks that a notification of another passes by, one wakes up for no reason.
const SPURIOUS_ONE_IN: u64 = 8;

/// A condition variable (pthread_cond_wait(3)).
///
/// A wait may end without a notification, as POSIX.1-2017 allows ("spurious wakeups"): ask for the condition in a loop. Here that happens
/// to a task that waits while another is notified, one time in eight, so that code that doesn't ask again is found out. Which of several
/// waiting tasks a notification wakes is the schedule's choice, not the order of their waits; one that came later is never woken by it.
#[derive(Clone)]
pub struct Condition {
    inner: Rc<Inner>,
}

struct Inner {
    place: Place,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// The tickets of those who wait, in order.
    waiting: Vec<u64>,
    next_ticket: u64,
    /// Notifications that nobody has taken yet: each is for a ticket below it. In order.
    notified: Vec<u64>,
    spurious: Option<Stream>,
}

/// How a wait with a deadline ended. The condition may be true or false either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// Notified, or woken for no reason.
    Woken,
    /// The time was over.
    TimedOut,
}

impl State {
    fn notify_one(&mut self) {
        if self.notified.len() < self.waiting.len() {
            self.notified.push(self.next_ticket);
        }
    }

    fn notify_all(&mut self) {
        while self.notified.len() < self.waiting.len() {
            self.notified.push(self.next_ticket);
        }
    }

    /// Takes the oldest notification that is for this ticket. True if there is one.
    fn take_notification(&mut self, ticket: u64) -> bool {
        let place = self.notified.iter().position(|below| ticket < *below);
        place.map(|place| self.notified.remove(place)).is_some()
    }

    /// Ends a wait. A notification that only this ticket could have taken goes with it.
    fn leave(&mut self, ticket: u64) {
        self.waiting.retain(|other| *other != ticket);
        let mut kept = Vec::new();
        for below in std::mem::take(&mut self.notified) {
            if kept.len() < self.waiting.iter().filter(|ticket| **ticket < below).count() {
                kept.push(below);
            }
        }
        self.notified = kept;
    }
}

impl Condition {
    /// A condition variable on which nobody waits.
    pub fn new(sys: &Sys) -> Condition {
        Condition { inner: Rc::new(Inner { place: Place::new(sys), state: RefCell::default() }) }
    }

    /// Unlocks the mutex and waits, in one step; when woken, locks it again.
    ///
    /// # Errors
    /// None of its own.
    pub async fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> Result<MutexGuard<'a, T>> {
        self.wait_until(guard, None).await.map(|(guard, _)| guard)
    }

    /// As [`Condition::wait`], for so many simulated nanoseconds at most. The mutex is locked again either way, however long that takes.
    ///
    /// # Errors
    /// None of its own.
    pub async fn wait_within<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        for_ns: u64,
    ) -> Result<(MutexGuard<'a, T>, Waited)> {
        self.wait_until(guard, Some(for_ns)).await
    }

    async fn wait_until<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        within_ns: Option<u64>,
    ) -> Result<(MutexGuard<'a, T>, Waited)> {
        let mutex = guard.hand_over();
        let waiter = Waiter { condition: &self.inner, mutex, stage: Cell::new(Stage::Locked) };
        let waited = self.inner.place.sys.call(Wait { waiter: &waiter, within_ns, deadline_ns: None }).await?;
        drop(waiter);
        Ok((mutex.lock().await?, waited))
    }

    /// Wakes one of those who wait, if anyone does.
    pub async fn notify_one(&self) {
        self.notify(NOTIFY_ONE).await;
    }

    /// Wakes all who wait.
    pub async fn notify_all(&self) {
        self.notify(NOTIFY_ALL).await;
    }

    async fn notify(&self, operation: u64) {
        let condition = &*self.inner;
        let _: Result<()> = condition.place.sys.call(Notify { condition, operation }).await;
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The wait has not begun: the mutex is still locked.
    Locked,
    /// It waits, with this ticket.
    Waiting(u64),
    Over,
}

/// One wait. Dropped early, it takes the wait back.
struct Waiter<'a, T> {
    condition: &'a Inner,
    mutex: &'a Mutex<T>,
    stage: Cell<Stage>,
}

impl<T> Drop for Waiter<'_, T> {
    fn drop(&mut self) {
        match self.stage.get() {
            Stage::Locked => self.mutex.state().unlock_at_once(),
            Stage::Waiting(ticket) => {
                let sys = &self.condition.place.sys;
                // The only error is the process's death.
                let mut leave = Leave { condition: self.condition, ticket };
                let _: Result<()> = sys.kernel.take_effect_at_once(&sys.identity, &mut leave);
            }
            Stage::Over => {}
        }
    }
}

struct Wait<'a, T> {
    waiter: &'a Waiter<'a, T>,
    within_ns: Option<u64>,
    deadline_ns: Option<u64>,
}

impl<T> Call for Wait<'_, T> {
    type Value = Waited;

    fn header(&self) -> Header {
        let key = self.waiter.condition.place.key;
        Header::new(CallKind::Condition, key, [WAIT, self.waiter.mutex.state().place.key])
    }

    fn effect(&mut self, core: &mut Core, caller: Caller, _injected: Option<Injected>) -> Effect<Waited> {
        let Waiter { condition, mutex, stage } = self.waiter;
        let key = condition.place.key;
        let mut state = condition.state.borrow_mut();
        let Stage::Waiting(ticket) = stage.get() else {
            stage.set(Stage::Waiting(state.next_ticket));
            let ticket = state.next_ticket;
            state.waiting.push(ticket);
            state.next_ticket += 1;
            mutex.state().release(core);
            self.deadline_ns = self.within_ns.map(|within_ns| core.now_ns.saturating_add(within_ns));
            return Effect::Wait(WaitKey::Shared(key), self.deadline_ns);
        };
        let is_notified = state.take_notification(ticket);
        let waited = match () {
            () if is_notified => Waited::Woken,
            () if caller.timed_out => Waited::TimedOut,
            () => {
                let spurious =
                    state.spurious.get_or_insert_with(|| core.shared_stream("spurious", key, caller.process));
                if !spurious.chance(1, SPURIOUS_ONE_IN) {
                    return Effect::Wait(WaitKey::Shared(key), self.deadline_ns);
                }
                Waited::Woken
            }
        };
        state.leave(ticket);
        stage.set(Stage::Over);
        Effect::Done(Ok(waited))
    }

    fn number(&self, waited: &Waited) -> u64 {
        *waited as u64
    }
}

struct Notify<'a> {
    condition: &'a Inner,
    operation: u64,
}

impl Call for Notify<'_> {
    type Value = ();

    fn header(&self) -> Header {
        Header::new(CallKind::Condition, self.condition.place.key, [self.operation, 0])
    }

    fn effect(&mut self, core: &mut Core, _caller: Caller, _injected: Option<Injected>) -> Effect<()> {
        let mut state = self.condition.state.borrow_mut();
        match self.operation {
            NOTIFY_ALL => state.notify_all(),
            _ => state.notify_one(),
        }
        core.wake(WaitKey::Shared(self.condition.place.key));
        Effect::Done(Ok(()))
    }

    fn number(&self, (): &()) -> u64 {
        0
    }
}

/// A wait is taken back.
struct Leave<'a> {
    condition: &'a Inner,
    ticket: u64,
}

impl Call for Leave<'_> {
    type Value = ();

    fn header(&self) -> Header {
        Header::new(CallKind::Condition, self.condition.place.key, [LEAVE, 0])
    }

    fn effect(&mut self, _core: &mut Core, _caller: Caller, _injected: Option<Injected>) -> Effect<()> {
        self.condition.state.borrow_mut().leave(self.ticket);
        Effect::Done(Ok(()))
    }

    fn number(&self, (): &()) -> u64 {
        0
    }
}

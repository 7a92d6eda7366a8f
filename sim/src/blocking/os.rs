//! What blocking code calls. Here is how a call leaves the coroutine; the calls themselves are in `sys::os`.

use super::request::{RequestPointer, Slot};
use super::spans;
use crate::errno::Errno;
use crate::sys::call::Call;
use crate::sys::{Result, Sys};
use corosensei::Yielder;
use std::cell::Cell;
use std::ptr;

/// How many calls code may make after its process has died. Error paths need a few; a loop that retries for ever needs more.
pub(super) const CALLS_AFTER_DEATH_MAX: u32 = 100_000;

/// What a coroutine says when it suspends: which call it makes, or `None` when it has used up its calls after death.
pub(super) type Signal = Option<RequestPointer>;

/// A blocking program's operating system: the calls of [`Sys`], each of which returns when it has taken effect.
///
/// Every call is a step, as an `async` one is. When the process has been killed, or the [`super::Blocking`] was dropped, every call
/// fails at once with [`Errno::Dead`] and has no effect: the code is expected to leave by its error paths.
pub struct Os {
    pub(crate) sys: Sys,
    /// Tells this program apart from every other of this OS process: see [`crate::sqlite::program_key`].
    pub(crate) key: u64,
    yielder: Cell<*const Yielder<(), Signal>>,
    pub(super) is_cut_off: Cell<bool>,
    pub(super) calls_after_death: Cell<u32>,
    /// The span that whoever resumed the coroutine is in.
    outer_span: Cell<Option<u64>>,
}

impl Os {
    pub(super) fn new(sys: Sys) -> Os {
        let key = crate::sqlite::program_key(sys.identity.owner);
        Os {
            sys,
            key,
            yielder: Cell::new(ptr::null()),
            is_cut_off: Cell::new(false),
            calls_after_death: Cell::new(0),
            outer_span: Cell::new(None),
        }
    }

    /// The coroutine's first act.
    pub(super) fn begins(&self, yielder: &Yielder<(), Signal>) {
        self.yielder.set(yielder);
        self.outer_span.set(spans::innermost());
    }

    /// The coroutine has returned: nobody can be suspended any more.
    pub(super) fn ends(&self) {
        self.yielder.set(ptr::null());
    }

    /// Whether calls have no effect any more.
    #[inline]
    pub(crate) fn is_cut_off(&self) -> bool {
        self.is_cut_off.get()
    }

    /// Makes a call: suspends the coroutine until it has taken effect.
    #[inline]
    pub(crate) fn call<C: Call>(&self, call: C) -> Result<C::Value> {
        if self.is_cut_off.get() {
            return Err(self.called_after_death());
        }
        let mut slot = Slot { call, result: None };
        self.suspend(Some(RequestPointer::to(&mut slot)));
        match slot.result.take() {
            Some(result) => result,
            // Resumed without an effect: cut off while it waited.
            None => Err(self.called_after_death()),
        }
    }

    /// Counts a call of code that should leave. Past the limit the code never runs again.
    #[cold]
    pub(crate) fn called_after_death(&self) -> Errno {
        let calls = self.calls_after_death.get() + 1;
        self.calls_after_death.set(calls);
        if calls > CALLS_AFTER_DEATH_MAX {
            loop {
                self.suspend(None);
            }
        }
        Errno::Dead
    }

    #[inline]
    fn suspend(&self, signal: Signal) {
        assert!(!self.yielder.get().is_null(), "a value that blocking code returned goes on calling as it is dropped");
        let left = spans::leave(self.outer_span.get());
        // SAFETY: the coroutine's first act was to store its yielder, which lives at the bottom of its stack. An `Os` is lent to that
        // coroutine's code alone, so whoever calls this runs on it.
        unsafe { (*self.yielder.get()).suspend(signal) };
        self.outer_span.set(spans::innermost());
        spans::enter_again(&left);
    }
}

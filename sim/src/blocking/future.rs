//! The future that resumes a coroutine, one system call at a time, and the way out of a coroutine that nobody awaits any more.

use super::current::Current;
use super::os::{Os, Signal};
use super::request::RequestPointer;
use super::spans::Around;
use super::{spans, stacks};
use crate::sys::{Identity, Sys};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use std::cell::{Cell, RefCell, UnsafeCell};
use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

/// Set once code has been left behind on its stack.
static MUST_RETIRE: AtomicBool = AtomicBool::new(false);

/// Whether this OS process should take no further seed: the code of a dead program did not leave, so its stack, and whatever that code
/// holds inside C libraries, is there for good. The run says so as a violation of `leaves-when-dead`.
pub fn must_retire() -> bool {
    MUST_RETIRE.load(Ordering::Relaxed)
}

type Work<T> = Box<dyn FnOnce(&Os) -> T>;

/// A coroutine that nothing drops by itself.
type Undropped<T> = ManuallyDrop<Coroutine<(), Signal, T, DefaultStack>>;

/// Blocking code as a future.
///
/// Dropping it cuts the code off: its announced call never happened, and every further one fails with [`crate::Errno::Dead`] and has no
/// effect, until the code has returned. That is so after the death of the process, and also when a living program drops it, as a
/// `select` does: then files that the code closes are closed, and SQLite's locks that it releases are released, within the running step. A panic
/// of code that is cut off is swallowed, and counted as `panics_after_death`.
///
/// Code that goes on calling for ever is left behind on its stack: see [`must_retire`].
pub struct Blocking<T: 'static>(Rc<Code<T>>);

/// What the future shares with the executor, which resumes it without polling its way down to it.
struct Code<T> {
    /// Until it is started.
    work: Cell<Option<Work<T>>>,
    /// Dropped only when it has returned: its stack may hold C frames, which must never be unwound by force. What looks at it
    /// while it runs, by another way, is `let_leave` alone, and it sees that: see `is_running`.
    coroutine: UnsafeCell<Option<Undropped<T>>>,
    /// Whether the code is what runs now. It may drop its own future, if it has a way to it.
    is_running: Cell<bool>,
    /// The future was dropped while the code ran.
    is_abandoned: Cell<bool>,
    /// The call that the suspended coroutine waits for.
    request: Cell<Option<RequestPointer>>,
    /// The task that made it: the one that ran when the code made the call.
    by: Cell<Identity>,
    /// What the code has returned, until the future gives it.
    value: Cell<Option<T>>,
    /// The spans that the future was polled in last: those of the futures around it. Whether somebody listens must not decide who is polled.
    around: RefCell<spans::Kept>,
    os: Rc<Os>,
}

/// A suspended coroutine that the executor can resume.
pub(crate) trait Resume {
    /// Lets the granted call take effect if it is this code's, and resumes the code. True if the program must be polled: the code has returned, or
    /// nobody awaits it any more. A step that grants it nothing leaves it as it is: that is a wake-up which a poll since has served.
    fn resume(&self, waker: &Waker) -> bool;
}

impl Sys {
    /// Runs blocking code, such as code that uses rusqlite, as a part of this task. Each of its system calls is a step; between them it
    /// runs without interruption. The code starts when the future is first polled, and has 512 KB of stack.
    ///
    /// While the code runs, the futures around it are polled only when it has returned, or when something else wakes the task.
    pub fn blocking<T: 'static>(&self, work: impl FnOnce(&Os) -> T + 'static) -> Blocking<T> {
        let work: Work<T> = Box::new(work);
        Blocking(Rc::new(Code {
            work: Cell::new(Some(work)),
            coroutine: UnsafeCell::new(None),
            is_running: Cell::new(false),
            is_abandoned: Cell::new(false),
            request: Cell::new(None),
            by: Cell::new(self.identity),
            value: Cell::new(None),
            around: RefCell::default(),
            os: Rc::new(Os::new(self.clone())),
        }))
    }
}

impl<T> Unpin for Blocking<T> {}

impl<T: 'static> Future for Blocking<T> {
    type Output = T;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let code = &self.0;
        if code.request.get().is_some() {
            code.advance(context.waker());
        } else if let Some(work) = code.work.take() {
            code.start(work, context.waker());
        }
        if code.request.get().is_some() {
            code.around.replace(spans::entered());
            code.os.sys.kernel.resumes(code.clone());
        }
        match code.value.take() {
            Some(value) => Poll::Ready(value),
            None => Poll::Pending,
        }
    }
}

impl<T: 'static> Resume for Code<T> {
    #[inline]
    fn resume(&self, waker: &Waker) -> bool {
        let around = self.around.borrow();
        let _entered = Around::enter(&around);
        self.advance(waker) && self.request.get().is_none()
    }
}

impl<T: 'static> Code<T> {
    #[cold]
    fn start(&self, work: Work<T>, waker: &Waker) {
        let Sys { kernel, identity } = &self.os.sys;
        let identity = &kernel.polled().unwrap_or(*identity);
        // Said here, where it can be told: inside the code a panic might meet a C frame, which aborts.
        assert!(
            kernel.with(|core| core.is_idle(identity)),
            "a task may have one outstanding call: blocking code was started beside one; spawn a task for it"
        );
        let os = self.os.clone();
        let coroutine = Coroutine::with_stack(stacks::take(), move |yielder, ()| {
            os.begins(yielder);
            work(&os)
        });
        // SAFETY: the code has not begun, so nothing looks at its place.
        unsafe { *self.coroutine.get() = Some(ManuallyDrop::new(coroutine)) };
        self.go_on(waker);
    }

    /// Lets the call take effect, if it has been picked and can, and then lets the code run on. False if the call waits on.
    #[inline]
    fn advance(&self, waker: &Waker) -> bool {
        let Some(request) = self.request.get() else { return true };
        let (kernel, by) = (&self.os.sys.kernel, self.by.get());
        if !kernel.is_granted(&by) {
            kernel.polled_again(&by, waker);
            return true;
        }
        // SAFETY: the coroutine that made this request has been suspended since.
        let is_done = unsafe { request.get() }.take_effect(kernel, &by);
        if is_done {
            self.go_on(waker);
        }
        is_done
    }

    /// Lets the code run until its next call, or to its end.
    #[inline]
    fn go_on(&self, waker: &Waker) {
        self.request.set(None);
        let result = {
            let _running = Running::begin(&self.is_running);
            let _current = Current::enter(&self.os);
            crate::sqlite::forget_seed();
            // SAFETY: nobody else looks at the coroutine while `is_running` is set.
            let Some(coroutine) = (unsafe { &mut *self.coroutine.get() }) else {
                unreachable!("blocking code is started before it is resumed")
            };
            coroutine.resume(())
        };
        match result {
            CoroutineResult::Yield(request) => {
                let request = request.expect("only code that is cut off can use up its calls");
                let Sys { kernel, identity } = &self.os.sys;
                self.request.set(Some(request));
                // SAFETY: the coroutine has just suspended with this request.
                let call = unsafe { request.get() }.header().announced();
                let mut by = *identity;
                kernel.announce(&mut by, call, waker);
                self.by.set(by);
            }
            CoroutineResult::Return(value) => {
                self.os.ends();
                self.recycle();
                self.value.set(Some(value));
            }
        }
        if self.is_abandoned.get() {
            self.let_leave();
        }
    }

    /// The code has returned or panicked: its stack serves again.
    fn recycle(&self) {
        // SAFETY: the code has ended, so nobody else looks at its place.
        if let Some(coroutine) = unsafe { &mut *self.coroutine.get() }.take() {
            stacks::put_back(ManuallyDrop::into_inner(coroutine).into_stack());
        }
    }

    /// Nobody awaits the code any more: cuts it off, and resumes it until it has returned.
    #[cold]
    fn let_leave(&self) {
        if self.is_running.get() {
            // It has dropped its own future. It leaves when it suspends.
            self.is_abandoned.set(true);
            return;
        }
        self.request.set(None);
        if let Some(value) = self.value.take() {
            // It was never given away: what it does as it is dropped is the code's.
            self.os.is_cut_off.set(true);
            let _current = Current::enter(&self.os);
            drop(value);
        }
        // SAFETY: the code is suspended or has ended, and `is_running` keeps others away while it leaves.
        let place = unsafe { &mut *self.coroutine.get() };
        let Some(coroutine) = place else { return };
        if !coroutine.done() {
            let Sys { kernel, identity } = &self.os.sys;
            kernel.withdraw(&self.by.get());
            self.os.is_cut_off.set(true);
            let left = catch_unwind(AssertUnwindSafe(|| {
                let _running = Running::begin(&self.is_running);
                let _current = Current::enter(&self.os);
                match coroutine.resume(()) {
                    // What the code returns may have destructors that make calls: they belong to it.
                    CoroutineResult::Return(value) => drop(value),
                    CoroutineResult::Yield(_) => {}
                }
            }));
            if !coroutine.done() {
                // Leaving it where it is keeps everything that it refers to.
                MUST_RETIRE.store(true, Ordering::Relaxed);
                kernel.with(|core| core.does_not_leave(identity.process, self.os.calls_after_death.get()));
                *place = None;
                return;
            }
            if left.is_err() {
                kernel.with(|core| core.count("panics_after_death", 1));
            }
        }
        self.recycle();
    }
}

/// Marks code as running, until it suspends, returns or panics.
struct Running<'a>(&'a Cell<bool>);

impl<'a> Running<'a> {
    #[inline]
    fn begin(is_running: &'a Cell<bool>) -> Running<'a> {
        is_running.set(true);
        Running(is_running)
    }
}

impl Drop for Running<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl<T> Drop for Blocking<T> {
    fn drop(&mut self) {
        self.0.let_leave();
    }
}

//! The future that resumes a coroutine, one system call at a time, and the way out of a coroutine that nobody awaits any more.

use super::current::Current;
use super::os::{Os, Signal};
use super::request::RequestPointer;
use super::stacks;
use crate::sys::{Identity, Sys};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

/// Set once code has been left behind on its stack.
static MUST_RETIRE: AtomicBool = AtomicBool::new(false);

/// Whether this OS process should take no further seed: the code of a dead program did not leave, so its stack, and whatever that code
/// holds inside C libraries, is there for good. The run says so as a violation of `leaves-when-dead`.
pub fn must_retire() -> bool {
    MUST_RETIRE.load(Ordering::Relaxed)
}

type Work<T> = Box<dyn FnOnce(&Os) -> T>;

/// Blocking code as a future.
///
/// Dropping it cuts the code off: its announced call never happened, and every further one fails with [`crate::Errno::Dead`] and has no
/// effect, until the code has returned. That is so after the death of the process, and also when a living program drops it, as a
/// `select` does: then files that the code closes are closed, and SQLite's locks that it releases are released, within the running step. A panic
/// of code that is cut off is swallowed, and counted as `panics_after_death`.
///
/// Code that goes on calling for ever is left behind on its stack: see [`must_retire`].
pub struct Blocking<T> {
    /// Until it is started.
    work: Option<Work<T>>,
    /// Dropped only when it has returned: its stack may hold C frames, which must never be unwound by force.
    coroutine: Option<ManuallyDrop<Coroutine<(), Signal, T, DefaultStack>>>,
    /// The call that the suspended coroutine waits for.
    request: Option<RequestPointer>,
    /// The task that made it: the one that polled last.
    by: Identity,
    os: Rc<Os>,
}

impl Sys {
    /// Runs blocking code, such as code that uses rusqlite, as a part of this task. Each of its system calls is a step; between them it
    /// runs without interruption. The code starts when the future is first polled, and has 512 KB of stack.
    pub fn blocking<T: 'static>(&self, work: impl FnOnce(&Os) -> T + 'static) -> Blocking<T> {
        let os = Rc::new(Os::new(self.clone()));
        Blocking { work: Some(Box::new(work)), coroutine: None, request: None, by: self.identity, os }
    }
}

impl<T> Unpin for Blocking<T> {}

impl<T: 'static> Future for Blocking<T> {
    type Output = T;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = &mut *self;
        let Some(request) = this.request else { return this.start(context) };
        let kernel = &this.os.sys.kernel;
        // SAFETY: the coroutine that made this request has been suspended since.
        if kernel.is_granted(&this.by) && unsafe { request.get() }.take_effect(kernel, &this.by) {
            this.resume(context)
        } else {
            Poll::Pending
        }
    }
}

impl<T: 'static> Blocking<T> {
    #[cold]
    fn start(&mut self, context: &mut Context<'_>) -> Poll<T> {
        let work = self.work.take().expect("finished blocking code is not polled again");
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
        self.coroutine = Some(ManuallyDrop::new(coroutine));
        self.resume(context)
    }

    #[inline]
    fn resume(&mut self, context: &mut Context<'_>) -> Poll<T> {
        self.request = None;
        let Some(coroutine) = &mut self.coroutine else {
            unreachable!("blocking code is started before it is resumed")
        };
        let current = Current::enter(&self.os);
        crate::sqlite::forget_seed();
        let result = coroutine.resume(());
        drop(current);
        match result {
            CoroutineResult::Yield(request) => {
                let request = request.expect("only code that is cut off can use up its calls");
                let Sys { kernel, identity } = &self.os.sys;
                self.request = Some(request);
                // SAFETY: the coroutine has just suspended with this request.
                self.by = kernel.announce(identity, &unsafe { request.get() }.header()).unwrap_or(*identity);
                kernel.wakes_through(&self.by, context.waker());
                Poll::Pending
            }
            CoroutineResult::Return(value) => {
                self.recycle();
                Poll::Ready(value)
            }
        }
    }
}

impl<T> Drop for Blocking<T> {
    fn drop(&mut self) {
        if self.coroutine.is_some() {
            self.let_leave();
        }
    }
}

impl<T> Blocking<T> {
    /// The code has returned or panicked: its stack serves again.
    fn recycle(&mut self) {
        if let Some(coroutine) = self.coroutine.take() {
            stacks::put_back(ManuallyDrop::into_inner(coroutine).into_stack());
        }
    }

    /// Cuts the code off, and resumes it until it has returned.
    #[cold]
    fn let_leave(&mut self) {
        let Some(coroutine) = &mut self.coroutine else { return };
        if !coroutine.done() {
            let Sys { kernel, identity } = &self.os.sys;
            kernel.withdraw(&self.by);
            self.os.is_cut_off.set(true);
            let current = Current::enter(&self.os);
            let left = catch_unwind(AssertUnwindSafe(|| match coroutine.resume(()) {
                // What the code returns may have destructors that make calls: they belong to it.
                CoroutineResult::Return(value) => drop(value),
                CoroutineResult::Yield(_) => {}
            }));
            drop(current);
            if !coroutine.done() {
                // Leaving it where it is keeps everything that it refers to.
                MUST_RETIRE.store(true, Ordering::Relaxed);
                kernel.with(|core| core.does_not_leave(identity.process, self.os.calls_after_death.get()));
                self.coroutine = None;
                return;
            }
            if left.is_err() {
                kernel.with(|core| core.count("panics_after_death", 1));
            }
        }
        self.recycle();
    }
}

//! Which blocking code runs now: SQLite's VFS, called from C, finds its caller here.

use super::os::Os;
use std::cell::Cell;
use std::ptr;

thread_local! {
    static CURRENT: Cell<*const Os> = const { Cell::new(ptr::null()) };
}

/// Makes an `Os` the current one as long as it lives. The one before comes back after it, also after a panic.
pub(crate) struct Current {
    before: *const Os,
}

impl Current {
    #[inline]
    pub(super) fn enter(os: &Os) -> Current {
        Current { before: CURRENT.replace(os) }
    }

    /// Hands the running code's `Os` to `use_os`; `None` outside all blocking code.
    #[inline]
    pub(crate) fn with<T>(use_os: impl FnOnce(Option<&Os>) -> T) -> T {
        let current = CURRENT.get();
        // SAFETY: a `Current` borrows its `Os` for as long as it is set: `Blocking` owns the `Os` in a box, and leaves `Current` before
        // it gives that up. The coroutine that runs meanwhile can't drop the `Blocking` that resumes it.
        use_os(unsafe { current.as_ref() })
    }
}

impl Drop for Current {
    #[inline]
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

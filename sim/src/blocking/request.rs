//! A system call on its way from a coroutine to the poller that lets it take effect.

use crate::errno::Errno;
use crate::kernel::Kernel;
use crate::sys::Identity;
use crate::sys::call::{Call, Header};
use std::ptr::NonNull;
use std::task::Poll;

/// A call of any kind, with room for its result.
///
/// It takes effect in the poller, not on the coroutine's own stack: invariants then have a stack of full size, and a panic of one of
/// them never meets a C frame.
pub(super) trait Request {
    fn header(&self) -> Header;

    /// False if the call has to wait, or its process is about to be killed.
    fn take_effect(&mut self, kernel: &Kernel, identity: &Identity) -> bool;
}

/// A call and its result.
pub(super) struct Slot<C: Call> {
    pub(super) call: C,
    pub(super) result: Option<Result<C::Value, Errno>>,
}

impl<C: Call> Request for Slot<C> {
    #[inline]
    fn header(&self) -> Header {
        self.call.header()
    }

    #[inline]
    fn take_effect(&mut self, kernel: &Kernel, identity: &Identity) -> bool {
        match kernel.take_effect(identity, &mut self.call) {
            Poll::Ready(result) => {
                self.result = Some(result);
                true
            }
            Poll::Pending => false,
        }
    }
}

/// The address of a request on a suspended coroutine's stack. Valid until the coroutine is resumed.
#[derive(Clone, Copy)]
pub(super) struct RequestPointer(NonNull<dyn Request>);

impl RequestPointer {
    /// Forgets how long the request lives.
    #[inline]
    pub(super) fn to<'a>(request: &'a mut (dyn Request + 'a)) -> RequestPointer {
        let pointer: NonNull<dyn Request + 'a> = NonNull::from(request);
        // SAFETY: only the lifetime changes, and the pointer is used only as `get` demands.
        RequestPointer(unsafe {
            std::mem::transmute::<NonNull<dyn Request + 'a>, NonNull<dyn Request + 'static>>(pointer)
        })
    }

    /// The request.
    ///
    /// # Safety
    /// The coroutine that made the pointer has been suspended since, and nothing else looks at the request meanwhile.
    #[inline]
    pub(super) unsafe fn get<'a>(self) -> &'a mut dyn Request {
        // SAFETY: the request is on the stack of a coroutine that stays suspended, as the caller promises.
        unsafe { &mut *self.0.as_ptr() }
    }
}

//! How a program makes a system call: it announces it, and when it is picked the call takes effect inside the poll. The calls
//! themselves are in the other files of this room.

use super::{Identity, Sys};
use crate::errno::Errno;
use crate::kernel::{Core, Injected, WaitKey};
use crate::sys::disk::Owner;
use crate::trace::{CallKind, ProcessId, TaskId};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use twox_hash::XxHash3_64;

/// What the scheduler and the trace know of a call before it takes effect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) kind: CallKind,
    /// What it touches: an inode, a lock, a key; 0 for nothing or not known yet.
    pub(crate) object: u64,
    pub(crate) arguments: [u64; 2],
    /// What calls that race with it touch, too: the object, or the key of a name. 0 for nothing, or for names of which any may be touched.
    pub(crate) touches: u64,
}

/// What the scheduler knows of a call: taken by value it goes in registers.
#[derive(Clone, Copy)]
pub(crate) struct Announcement {
    pub(crate) kind: CallKind,
    pub(crate) touches: u64,
    /// The first argument. A sleep isn't ready before so many nanoseconds from now.
    pub(crate) first: u64,
}

impl Header {
    pub(crate) const fn new(kind: CallKind, object: u64, arguments: [u64; 2]) -> Header {
        Header { kind, object, arguments, touches: object }
    }

    #[inline]
    pub(crate) fn announced(&self) -> Announcement {
        Announcement { kind: self.kind, touches: self.touches, first: self.arguments[0] }
    }

    /// That of a call on one path, whose object isn't known yet.
    pub(crate) fn on_path(kind: CallKind, path: &str, arguments: [u64; 2]) -> Header {
        let touches = XxHash3_64::oneshot(path.as_bytes()) | 1;
        Header { kind, object: 0, arguments, touches }
    }
}

/// Who calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) task: TaskId,
    pub(crate) process: ProcessId,
    pub(crate) owner: Owner,
    /// The call waited, and its deadline has passed.
    pub(crate) timed_out: bool,
    /// A signal ended the call.
    pub(crate) interrupted: bool,
}

/// What became of a call that was picked.
pub(crate) enum Effect<T> {
    /// It took effect, or failed.
    Done(Result<T, Errno>),
    /// It must wait; it tries again when the key is woken, or when the time (if any) has come.
    Wait(WaitKey, Option<u64>),
}

impl<T> From<Result<T, Errno>> for Effect<T> {
    fn from(result: Result<T, Errno>) -> Self {
        Effect::Done(result)
    }
}

/// One system call with its arguments. `effect` runs at most once with `Done`; it is atomic.
pub(crate) trait Call {
    type Value;

    fn header(&self) -> Header;

    /// Takes effect. `injected` is a storage fault that applies to this kind of call; other faults never get here.
    fn effect(&mut self, core: &mut Core, caller: Caller, injected: Option<Injected>) -> Effect<Self::Value>;

    /// The value as a number, for the trace.
    fn number(&self, value: &Self::Value) -> u64;

    /// Bytes read or written, or the paths named, for the trace.
    fn data(&self, value: Option<&Self::Value>) -> &[u8] {
        let _ = value;
        &[]
    }

    /// A claim's kind and encoded body: the event is then a claim, no call.
    fn claim(&self) -> Option<(&'static str, &[u8])> {
        None
    }

    /// What the call turned out to touch, where that is known only afterwards (open).
    fn object(&self, value: &Self::Value) -> Option<u64> {
        let _ = value;
        None
    }
}

/// A call that its maker keeps, to make it again if it was cut off.
impl<C: Call> Call for &mut C {
    type Value = C::Value;

    #[inline]
    fn header(&self) -> Header {
        (**self).header()
    }

    #[inline]
    fn effect(&mut self, core: &mut Core, caller: Caller, injected: Option<Injected>) -> Effect<C::Value> {
        (**self).effect(core, caller, injected)
    }

    #[inline]
    fn number(&self, value: &C::Value) -> u64 {
        (**self).number(value)
    }

    #[inline]
    fn data(&self, value: Option<&C::Value>) -> &[u8] {
        (**self).data(value)
    }

    #[inline]
    fn claim(&self) -> Option<(&'static str, &[u8])> {
        (**self).claim()
    }

    #[inline]
    fn object(&self, value: &C::Value) -> Option<u64> {
        (**self).object(value)
    }
}

/// The future of one call.
pub(crate) struct Announced<'a, C: Call> {
    sys: &'a Sys,
    call: C,
    state: State,
    /// The task that makes the call; known once it is announced.
    by: Identity,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Announced,
    Finished,
}

impl<C: Call> Unpin for Announced<'_, C> {}

impl<C: Call> Future for Announced<'_, C> {
    type Output = Result<C::Value, Errno>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        match this.state {
            State::New => {
                this.announce(context);
                Poll::Pending
            }
            State::Announced if this.sys.kernel.is_granted(&this.by) => this.take_effect(),
            // Polled for another reason: by a join or a select of the program's own.
            State::Announced => {
                this.sys.kernel.polled_again(&this.by, context.waker());
                Poll::Pending
            }
            State::Finished => unreachable!("a finished call was polled again"),
        }
    }
}

/// A call, and what is made of what came of it: nothing, where its process has died. A future by hand: an `async fn` around a call would hold the call
/// twice, and move it.
pub(crate) struct Then<'a, C: Call, F> {
    announced: Announced<'a, C>,
    /// `None`: it has been made.
    make: Option<F>,
}

impl<C: Call, F> Unpin for Then<'_, C, F> {}

impl<C: Call, F: FnOnce(Result<C::Value, Errno>) -> Poll<T>, T> Future for Then<'_, C, F> {
    type Output = T;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = &mut *self;
        if this.make.is_none() {
            return Poll::Pending;
        }
        match Pin::new(&mut this.announced).poll(context) {
            Poll::Ready(result) => this.make.take().map_or(Poll::Pending, |make| make(result)),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<'a, C: Call> Announced<'a, C> {
    /// Makes something of what comes of the call; [`Poll::Pending`]: never, since the process is dead.
    pub(crate) fn then<F: FnOnce(Result<C::Value, Errno>) -> Poll<T>, T>(self, make: F) -> Then<'a, C, F> {
        Then { announced: self, make: Some(make) }
    }
}

impl<C: Call> Announced<'_, C> {
    #[inline]
    fn announce(&mut self, context: &mut Context<'_>) {
        self.sys.kernel.announce(&mut self.by, self.call.header().announced(), context.waker());
        self.state = State::Announced;
    }

    // Apart, so that a poll by itself is small enough to become a part of its caller.
    #[inline(never)]
    fn take_effect(&mut self) -> Poll<Result<C::Value, Errno>> {
        let poll = self.sys.kernel.take_effect(&self.by, &mut self.call);
        if poll.is_ready() {
            self.state = State::Finished;
        }
        poll
    }
}

impl<C: Call> Drop for Announced<'_, C> {
    fn drop(&mut self) {
        if self.state == State::Announced {
            self.sys.kernel.withdraw(&self.by);
        }
    }
}

impl Sys {
    /// Announces a call and completes when it has taken effect. A dropped future withdraws it: it never happened.
    pub(crate) fn call<C: Call>(&self, call: C) -> Announced<'_, C> {
        Announced { sys: self, call, state: State::New, by: self.identity }
    }
}

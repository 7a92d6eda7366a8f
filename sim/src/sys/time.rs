//! Clocks, sleep, yield and entropy. Reading a clock or drawing entropy is no step: nothing outside the process can tell when it happened.

use super::call::{Announced, Call, Caller, Effect, Header};
use super::{Result, Sys};
use crate::errno::Errno;
use crate::kernel::{Core, Injected};
use crate::seed::Draw;
use crate::trace::CallKind;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// 2026-09-21T14:13:20Z: the machine's wall clock at the start of a run, in nanoseconds since the Unix epoch.
pub(crate) const WALL_START_NS: u64 = 1_790_000_000_000_000_000;

pub(crate) struct Yield;

impl Call for Yield {
    type Value = ();

    #[inline]
    fn header(&self) -> Header {
        Header::new(CallKind::Yield, 0, [0; 2])
    }

    #[inline]
    fn effect(&mut self, _core: &mut Core, _caller: Caller, _injected: Option<Injected>) -> Effect<()> {
        Effect::Done(Ok(()))
    }

    #[inline]
    fn number(&self, (): &()) -> u64 {
        0
    }
}

/// A yield can't fail, but for a dead process, whom nobody asks.
struct Yielding<'a>(Announced<'a, Yield>);

impl Future for Yielding<'_> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(context).map(drop)
    }
}

pub(crate) struct Sleep {
    pub(crate) for_ns: u64,
}

impl Call for Sleep {
    type Value = ();

    #[inline]
    fn header(&self) -> Header {
        Header::new(CallKind::Sleep, 0, [self.for_ns, 0])
    }

    #[inline]
    fn effect(&mut self, _core: &mut Core, caller: Caller, _injected: Option<Injected>) -> Effect<()> {
        Effect::Done(if caller.interrupted { Err(Errno::Interrupted) } else { Ok(()) })
    }

    #[inline]
    fn number(&self, (): &()) -> u64 {
        0
    }
}

impl Sys {
    /// Lets others go first (sched_yield(2)).
    pub fn yield_now(&self) -> impl Future<Output = ()> + '_ {
        Yielding(self.call(Yield))
    }

    /// Sleeps for at least so many simulated nanoseconds (nanosleep(2)).
    ///
    /// # Errors
    /// [`Errno::Interrupted`] when the process is asked to end.
    pub fn sleep(&self, for_ns: u64) -> impl Future<Output = Result<()>> + '_ {
        self.call(Sleep { for_ns })
    }

    /// Nanoseconds since the machine's boot (CLOCK_MONOTONIC). Starts again at 0 after a machine crash.
    pub fn monotonic_ns(&self) -> u64 {
        self.kernel.with(|core| core.monotonic_ns())
    }

    /// Nanoseconds since the Unix epoch (CLOCK_REALTIME): skewed for this process, and it may jump.
    pub fn wall_ns(&self) -> u64 {
        self.kernel.with(|core| core.wall_ns(self.identity.process))
    }

    /// Simulated time since the start of the run, in nanoseconds. For a scenario's own programs, that follow a plan; a program under test has no such
    /// clock: it survives crashes and skew.
    pub fn simulated_ns(&self) -> u64 {
        self.kernel.with(|core| core.now_ns)
    }

    /// This process's entropy. Its draws depend on the seed, the process and its operation, on nothing that another process does.
    pub fn entropy(&self) -> Entropy<'_> {
        Entropy { sys: self }
    }

    /// Says which operation of the plan the process is in: its latencies and entropy are keyed by it from here on.
    pub fn begin_operation(&self, id: u64) {
        self.kernel.with(|core| core.begin_operation(&self.identity, id));
    }
}

/// A process's entropy.
pub struct Entropy<'a> {
    sys: &'a Sys,
}

impl Draw for Entropy<'_> {
    fn bits(&mut self) -> u64 {
        self.sys.kernel.with(|core| core.entropy_bits(&self.sys.identity))
    }
}

//! A channel between the tasks of a process: many senders, many receivers, each message to one of them.

use super::Place;
use crate::errno::Errno;
use crate::kernel::{Core, Injected, WaitKey};
use crate::sys::call::{Call, Caller, Effect, Header};
use crate::sys::{Result, Sys};
use crate::trace::CallKind;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;
use thiserror::Error;

/// The first argument of a `channel` call in the trace: what it did.
const SEND: u64 = 0;
const TRY_SEND: u64 = 1;
const RECEIVE: u64 = 2;
const TRY_RECEIVE: u64 = 3;
const CLOSE: u64 = 4;

struct Inner<T> {
    place: Place,
    state: RefCell<State<T>>,
}

struct State<T> {
    messages: VecDeque<T>,
    /// The most messages that wait in it; `None` is without limit.
    capacity: Option<usize>,
    senders: usize,
    receivers: usize,
}

impl<T> Inner<T> {
    fn receivers_key(&self) -> WaitKey {
        WaitKey::Shared(self.place.key)
    }

    /// Keys are odd, so this is nobody else's.
    fn senders_key(&self) -> WaitKey {
        WaitKey::Shared(self.place.key ^ 1)
    }

    fn close_at_once(&self) {
        let sys = &self.place.sys;
        // The only error is the process's death.
        let _: Result<()> = sys.kernel.take_effect_at_once(&sys.identity, &mut Close { channel: self });
    }
}

/// Makes a channel. A bounded one makes senders wait while `capacity` messages are in it; `None` is without limit. First in, first out.
///
/// # Panics
/// With a capacity of 0: a rendezvous is not offered.
pub fn channel<T>(sys: &Sys, capacity: Option<usize>) -> (Sender<T>, Receiver<T>) {
    assert!(capacity != Some(0), "a channel has room for one message at least");
    let state = RefCell::new(State { messages: VecDeque::new(), capacity, senders: 1, receivers: 1 });
    let channel = Rc::new(Inner { place: Place::new(sys), state });
    (Sender { channel: channel.clone() }, Receiver { channel })
}

/// The sending side. With the last of its clones the channel is closed: receivers get what is left in it, then `None`.
pub struct Sender<T> {
    channel: Rc<Inner<T>>,
}

/// The receiving side. With the last of its clones the channel is closed: sending fails.
pub struct Receiver<T> {
    channel: Rc<Inner<T>>,
}

/// Nobody can receive the message any more, or there is no room for it now; it comes back.
#[derive(Error)]
#[error("{why}")]
pub struct Closed<T> {
    /// The message.
    pub message: T,
    /// EPIPE: all receivers are gone. EAGAIN: no room, from [`Sender::try_send`].
    pub why: Errno,
}

impl<T> fmt::Debug for Closed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Closed").field("why", &self.why).finish_non_exhaustive()
    }
}

impl<T> Sender<T> {
    /// Sends a message; waits while the channel is full.
    ///
    /// # Errors
    /// EPIPE, with the message, when all receivers are gone.
    pub async fn send(&self, message: T) -> std::result::Result<(), Closed<T>> {
        self.put(message, true).await
    }

    /// As [`Sender::send`], without waiting.
    ///
    /// # Errors
    /// EAGAIN when the channel is full; EPIPE when all receivers are gone.
    pub async fn try_send(&self, message: T) -> std::result::Result<(), Closed<T>> {
        self.put(message, false).await
    }

    async fn put(&self, message: T, waits: bool) -> std::result::Result<(), Closed<T>> {
        let message = RefCell::new(Some(message));
        let sent = self.channel.place.sys.call(Send { channel: &self.channel, message: &message, waits }).await;
        match (sent, message.into_inner()) {
            (Err(why), Some(message)) => Err(Closed { message, why }),
            _ => Ok(()),
        }
    }
}

impl<T> Receiver<T> {
    /// Takes the oldest message; waits while there is none. `None` once all senders are gone and the channel is empty.
    pub async fn receive(&self) -> Option<T> {
        self.take(true, None).await.unwrap_or(None)
    }

    /// As [`Receiver::receive`], for so many simulated nanoseconds at most.
    ///
    /// # Errors
    /// ETIMEDOUT.
    pub async fn receive_within(&self, for_ns: u64) -> Result<Option<T>> {
        self.take(true, Some(for_ns)).await
    }

    /// As [`Receiver::receive`], without waiting.
    ///
    /// # Errors
    /// EAGAIN when there is no message now.
    pub async fn try_receive(&self) -> Result<Option<T>> {
        self.take(false, None).await
    }

    async fn take(&self, waits: bool, within_ns: Option<u64>) -> Result<Option<T>> {
        self.channel.place.sys.call(Receive { channel: &self.channel, waits, within_ns, deadline_ns: None }).await
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.channel.state.borrow_mut().senders += 1;
        Sender { channel: self.channel.clone() }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.channel.state.borrow_mut().receivers += 1;
        Receiver { channel: self.channel.clone() }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let left = {
            let mut state = self.channel.state.borrow_mut();
            state.senders -= 1;
            state.senders
        };
        if left == 0 {
            self.channel.close_at_once();
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let left = {
            let mut state = self.channel.state.borrow_mut();
            state.receivers -= 1;
            state.receivers
        };
        if left == 0 {
            self.channel.close_at_once();
        }
    }
}

struct Send<'a, T> {
    channel: &'a Inner<T>,
    message: &'a RefCell<Option<T>>,
    waits: bool,
}

impl<T> Call for Send<'_, T> {
    /// How many messages are in the channel then.
    type Value = usize;

    fn header(&self) -> Header {
        let operation = if self.waits { SEND } else { TRY_SEND };
        Header::new(CallKind::Channel, self.channel.place.key, [operation, 0])
    }

    fn effect(&mut self, core: &mut Core, _caller: Caller, _injected: Option<Injected>) -> Effect<usize> {
        let mut state = self.channel.state.borrow_mut();
        let is_full = state.capacity.is_some_and(|capacity| state.messages.len() >= capacity);
        match is_full {
            _ if state.receivers == 0 => Effect::Done(Err(Errno::BrokenPipe)),
            true if self.waits => Effect::Wait(self.channel.senders_key(), None),
            true => Effect::Done(Err(Errno::WouldBlock)),
            false => {
                state.messages.extend(self.message.borrow_mut().take());
                core.wake(self.channel.receivers_key());
                Effect::Done(Ok(state.messages.len()))
            }
        }
    }

    fn number(&self, waiting: &usize) -> u64 {
        *waiting as u64
    }
}

struct Receive<'a, T> {
    channel: &'a Inner<T>,
    waits: bool,
    within_ns: Option<u64>,
    deadline_ns: Option<u64>,
}

impl<T> Call for Receive<'_, T> {
    type Value = Option<T>;

    fn header(&self) -> Header {
        let operation = if self.waits { RECEIVE } else { TRY_RECEIVE };
        Header::new(CallKind::Channel, self.channel.place.key, [operation, self.within_ns.unwrap_or(0)])
    }

    fn effect(&mut self, core: &mut Core, caller: Caller, _injected: Option<Injected>) -> Effect<Option<T>> {
        let mut state = self.channel.state.borrow_mut();
        if let Some(message) = state.messages.pop_front() {
            if state.capacity.is_some() {
                core.wake(self.channel.senders_key());
            }
            return Effect::Done(Ok(Some(message)));
        }
        match state.senders {
            0 => Effect::Done(Ok(None)),
            _ if !self.waits => Effect::Done(Err(Errno::WouldBlock)),
            _ if caller.timed_out => Effect::Done(Err(Errno::TimedOut)),
            _ => {
                let until_ns = self.within_ns.map(|within_ns| core.now_ns.saturating_add(within_ns));
                self.deadline_ns = self.deadline_ns.or(until_ns);
                Effect::Wait(self.channel.receivers_key(), self.deadline_ns)
            }
        }
    }

    fn number(&self, message: &Option<T>) -> u64 {
        u64::from(message.is_some())
    }
}

/// One side has lost its last handle: the other side must hear of it.
struct Close<'a, T> {
    channel: &'a Inner<T>,
}

impl<T> Call for Close<'_, T> {
    type Value = ();

    fn header(&self) -> Header {
        Header::new(CallKind::Channel, self.channel.place.key, [CLOSE, 0])
    }

    fn effect(&mut self, core: &mut Core, _caller: Caller, _injected: Option<Injected>) -> Effect<()> {
        core.wake(self.channel.receivers_key());
        core.wake(self.channel.senders_key());
        Effect::Done(Ok(()))
    }

    fn number(&self, (): &()) -> u64 {
        0
    }
}

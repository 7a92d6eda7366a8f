//! The calls of mailboxes: bind, unbind, send, receive. What programs see of them is in the room's first file.

use super::{MESSAGE_BYTES_MAX, MailboxKey, MessageId, Sent};
use crate::errno::Errno;
use crate::kernel::{Core, Injected, WaitKey};
use crate::sys::call::{Call, Caller, Effect, Header};
use crate::trace::CallKind;
use std::rc::Rc;

pub(super) struct Bind {
    pub(super) key: MailboxKey,
    pub(super) messages_max: usize,
}

impl Call for Bind {
    type Value = ();

    fn header(&self) -> Header {
        Header::new(CallKind::Bind, self.key.0, [u64::from(self.key.port()), self.messages_max as u64])
    }

    fn effect(&mut self, core: &mut Core, caller: Caller, _injected: Option<Injected>) -> Effect<()> {
        if self.key.port() == 0 || self.messages_max == 0 {
            return Effect::Done(Err(Errno::Invalid));
        }
        core.network.bind(self.key, caller.owner, self.messages_max).into()
    }

    fn number(&self, (): &()) -> u64 {
        0
    }
}

pub(super) struct Unbind {
    pub(super) key: MailboxKey,
}

impl Call for Unbind {
    type Value = ();

    fn header(&self) -> Header {
        Header::new(CallKind::Unbind, self.key.0, [u64::from(self.key.port()), 0])
    }

    fn effect(&mut self, core: &mut Core, caller: Caller, _injected: Option<Injected>) -> Effect<()> {
        let unbound = core.network.unbind(self.key, caller.owner);
        core.drop_unread();
        unbound.into()
    }

    fn number(&self, (): &()) -> u64 {
        0
    }
}

pub(super) struct Send<'a> {
    pub(super) from: MailboxKey,
    /// `None` is an address of no process.
    pub(super) to: Option<MailboxKey>,
    pub(super) bytes: &'a [u8],
}

impl Call for Send<'_> {
    type Value = MessageId;

    /// Before it takes effect it touches the receiving mailbox.
    fn header(&self) -> Header {
        let to = self.to.map_or(0, |to| to.0);
        Header::new(CallKind::Send, to, [self.from.0, to])
    }

    fn effect(&mut self, core: &mut Core, caller: Caller, _injected: Option<Injected>) -> Effect<MessageId> {
        Effect::Done(if self.bytes.len() > MESSAGE_BYTES_MAX {
            Err(Errno::MessageTooLong)
        } else if !core.network.is_bound(self.from, caller.owner) {
            Err(Errno::BadDescriptor)
        } else {
            Ok(core.send(caller.process, self.from, self.to, self.bytes))
        })
    }

    fn number(&self, _message: &MessageId) -> u64 {
        self.bytes.len() as u64
    }

    fn data(&self, _message: Option<&MessageId>) -> &[u8] {
        self.bytes
    }

    fn object(&self, message: &MessageId) -> Option<u64> {
        Some(message.0)
    }
}

pub(super) struct Receive {
    pub(super) key: MailboxKey,
    pub(super) waits: bool,
    pub(super) within_ns: Option<u64>,
    pub(super) deadline_ns: Option<u64>,
    pub(super) received: Option<Rc<Sent>>,
}

impl Call for Receive {
    type Value = ();

    /// Before it takes effect, and if nothing came, it touches its own mailbox.
    fn header(&self) -> Header {
        let (object, from) = self.received.as_ref().map_or((self.key.0, 0), |sent| (sent.id.0, sent.from.0));
        Header::new(CallKind::Receive, object, [from, self.key.0])
    }

    fn effect(&mut self, core: &mut Core, caller: Caller, _injected: Option<Injected>) -> Effect<()> {
        if !core.network.is_bound(self.key, caller.owner) {
            return Effect::Done(Err(Errno::BadDescriptor));
        }
        self.received = core.receive(self.key, caller.owner);
        if self.received.is_some() || !self.waits || caller.timed_out {
            return Effect::Done(Ok(()));
        }
        if caller.interrupted {
            return Effect::Done(Err(Errno::Interrupted));
        }
        let until_ns = self.within_ns.map(|within_ns| core.now_ns.saturating_add(within_ns));
        self.deadline_ns = self.deadline_ns.or(until_ns);
        Effect::Wait(WaitKey::Mailbox(self.key), self.deadline_ns)
    }

    fn number(&self, (): &()) -> u64 {
        self.received.as_ref().map_or(0, |sent| sent.bytes.len() as u64)
    }

    fn data(&self, _value: Option<&()>) -> &[u8] {
        self.received.as_ref().map_or(&[], |sent| &sent.bytes)
    }
}

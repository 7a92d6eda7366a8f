//! Messages between processes: mailboxes and what goes into them. How the network treats a message is in `network`, what faults do to it in `fault`.
//!
//! Messages are datagrams, as UDP's: one may be lost, arrive late, twice or out of order, and nobody is told. The network delays each by a draw
//! from the latency profile; everything else comes from faults of the plan, from full mailboxes, and from processes and machines that die.

mod calls;
mod fault;
mod network;

pub(crate) use fault::{Hit, MessageFaults, Sides};
pub(crate) use network::{Flight, Network, Refused, Seen, Sent};

use super::{Result, Sys};
use crate::errno::Errno;
use crate::trace::ProcessId;
use calls::{Bind, Receive, Send, Unbind};
use std::fmt;
use std::rc::Rc;

/// How many messages wait in a mailbox at most, unless [`Sys::bind_sized`] says otherwise. One that comes then is dropped.
pub const BUFFER_MESSAGES: usize = 128;

/// The longest message (RFC 768 over IPv4: 65,535 bytes without both headers).
pub const MESSAGE_BYTES_MAX: usize = 65_507;

/// Where messages go: a port of a process. It outlives the process's deaths, as a host's address does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// The process's name.
    pub process: Rc<str>,
    /// The port.
    pub port: u16,
}

impl Address {
    /// A port of the process of that name.
    pub fn new(process: impl Into<Rc<str>>, port: u16) -> Address {
        Address { process: process.into(), port }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.process, self.port)
    }
}

/// A message that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The mailbox that it was sent from.
    pub from: Address,
    /// What was sent.
    pub bytes: Vec<u8>,
}

/// Which message: the object of its `send` and of each of its `receive`s in the trace. Depends on its sender's doings alone, over all its boots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessageId(pub u64);

impl MessageId {
    const NUMBER_BITS: u32 = 40;

    pub(crate) fn new(sender: ProcessId, number: u64) -> MessageId {
        MessageId((u64::from(sender.0) + 1) << Self::NUMBER_BITS | number)
    }

    /// Who sent it.
    pub fn sender(self) -> ProcessId {
        ProcessId(((self.0 >> Self::NUMBER_BITS) as u32).wrapping_sub(1))
    }

    /// How many messages its sender has sent, with this one.
    pub fn number(self) -> u64 {
        self.0 & ((1 << Self::NUMBER_BITS) - 1)
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.sender().0, self.number())
    }
}

/// A mailbox's number, as `send` and `receive` have it in their arguments: the sending one, then the receiving one. 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MailboxKey(pub u64);

impl MailboxKey {
    pub(crate) fn new(process: ProcessId, port: u16) -> MailboxKey {
        MailboxKey((u64::from(process.0) + 1) << 16 | u64::from(port))
    }

    /// Whose it is; `None` for no mailbox.
    pub fn process(self) -> Option<ProcessId> {
        ((self.0 >> 16) as u32).checked_sub(1).map(ProcessId)
    }

    /// Its port.
    pub fn port(self) -> u16 {
        self.0 as u16
    }
}

/// A mailbox: the process's own end of the network at a port. All tasks of the process may use it. Dropping it closes it, as part of the
/// running step; it dies with its process.
pub struct Mailbox {
    sys: Sys,
    key: MailboxKey,
}

impl Sys {
    /// Opens a mailbox at a port of this process (socket(2), bind(2)).
    ///
    /// # Errors
    /// EADDRINUSE when the process has one there; EINVAL for port 0.
    pub async fn bind(&self, port: u16) -> Result<Mailbox> {
        self.bind_sized(port, BUFFER_MESSAGES).await
    }

    /// As [`Sys::bind`], with room for so many messages (setsockopt(2), SO_RCVBUF). One that finds it full is dropped.
    ///
    /// # Errors
    /// As [`Sys::bind`]; EINVAL for no room at all.
    pub async fn bind_sized(&self, port: u16, messages_max: usize) -> Result<Mailbox> {
        let key = MailboxKey::new(self.identity.process, port);
        self.call(Bind { key, messages_max }).await?;
        Ok(Mailbox { sys: self.clone(), key })
    }
}

impl Mailbox {
    /// The port.
    pub fn port(&self) -> u16 {
        self.key.port()
    }

    /// Sends a message and waits for nothing: nobody tells whether it arrives. One for an address where nobody is, is lost (sendto(2)).
    ///
    /// # Errors
    /// EMSGSIZE above [`MESSAGE_BYTES_MAX`]; EBADF when the mailbox is another process's.
    pub async fn send(&self, to: &Address, bytes: &[u8]) -> Result<()> {
        let to = self.sys.kernel.with(|core| core.network.find(to));
        self.sys.call(Send { from: self.key, to, bytes }).await.map(|_| ())
    }

    /// Takes the message that arrived first; waits while there is none (recvfrom(2)).
    ///
    /// # Errors
    /// EINTR when the process is asked to end.
    pub async fn receive(&self) -> Result<Message> {
        loop {
            if let Some(message) = self.take(true, None).await? {
                return Ok(message);
            }
        }
    }

    /// As [`Mailbox::receive`], for so many simulated nanoseconds at most; `None` after that.
    ///
    /// # Errors
    /// As [`Mailbox::receive`].
    pub async fn receive_within(&self, for_ns: u64) -> Result<Option<Message>> {
        self.take(true, Some(for_ns)).await
    }

    /// As [`Mailbox::receive`], without waiting: `None` when there is nothing now.
    ///
    /// # Errors
    /// EBADF when the mailbox is another process's.
    pub async fn try_receive(&self) -> Result<Option<Message>> {
        self.take(false, None).await
    }

    async fn take(&self, waits: bool, within_ns: Option<u64>) -> Result<Option<Message>> {
        let mut call = Receive { key: self.key, waits, within_ns, deadline_ns: None, received: None };
        self.sys.call(&mut call).await?;
        let Some(sent) = call.received else { return Ok(None) };
        let from = self.sys.kernel.with(|core| core.network.address(sent.from)).ok_or(Errno::BadDescriptor)?;
        let bytes = Rc::try_unwrap(sent).map_or_else(|sent| sent.bytes.clone(), |sent| sent.bytes);
        Ok(Some(Message { from, bytes }))
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        // The only error is the process's death, with which the mailbox is gone already.
        let _: Result<()> = self.sys.kernel.take_effect_at_once(&self.sys.identity, &mut Unbind { key: self.key });
    }
}

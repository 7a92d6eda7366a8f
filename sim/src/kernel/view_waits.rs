//! What a view tells of those who can't go on, and of messages that wait: for people who look at a moment of a run. What invariants ask is in `view`.

use super::task::TaskState;
use super::view::View;
use crate::sys::net::Address;
use crate::trace::{CallKind, ProcessId};

/// A task that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Whose.
    pub process: ProcessId,
    /// The task's number within its process and boot; the main task is 0.
    pub ordinal: u32,
    /// In which call.
    pub kind: CallKind,
    /// For what: an inode, a mailbox, a key.
    pub object: u64,
    /// Until when at most, in nanoseconds since the start of the run.
    pub deadline_ns: Option<u64>,
}

/// A mailbox and how full it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mailbox {
    /// Whose, and at which port.
    pub address: Address,
    /// Messages in it.
    pub messages: usize,
    /// How many it takes.
    pub messages_max: usize,
}

impl View<'_> {
    /// The tasks that wait: for a lock, a message, another task.
    pub fn waiting(&self) -> impl Iterator<Item = Waiting> {
        self.core.tasks.iter().filter_map(|task| match task.state {
            TaskState::Waiting { deadline_ns, .. } => Some(Waiting {
                process: task.call.process,
                ordinal: task.call.ordinal,
                kind: task.call.kind,
                object: task.call.object,
                deadline_ns,
            }),
            _ => None,
        })
    }

    /// The mailboxes that are bound, in the order of their addresses.
    pub fn mailboxes(&self) -> Vec<Mailbox> {
        self.core.network.mailboxes()
    }
}

//! What the bus tells the outside beside the events of signals, which are `seedstorm_sim`'s own claims: what it held back, what it refused.

use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::sys::claim::signal::{Life, SignalId};
use serde::{Deserialize, Serialize};

/// A copy has come whose signal must wait: one that came before it has not been delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalHeldBack {
    /// The recipient.
    pub by: Life,
    /// What waits.
    pub signal: SignalId,
}

/// A signal was refused, whole, because a recipient's queue is full. It is tried again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueFull {
    /// The sender.
    pub by: Life,
    /// Whose queue.
    pub recipient: u32,
    /// How many signals it holds.
    pub queued: u64,
}

/// A copy was refused because its clock isn't one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockCopyRefused {
    /// The recipient.
    pub by: Life,
    /// The process that it came from, by name.
    pub from: String,
    /// Why.
    pub why: String,
}

impl Claim for SignalHeldBack {
    const KIND: &'static str = "signal-held-back";
}

impl Claim for QueueFull {
    const KIND: &'static str = "queue-full";
}

impl Claim for ClockCopyRefused {
    const KIND: &'static str = "clock-copy-refused";
}

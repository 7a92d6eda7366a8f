//! Claims about signals: which life of an agent begins, what it sends, what it delivers, and what its vector clock says then. What is true of them is kept
//! by `causality::signals`.
//!
//! Whoever changes durable state claims twice: its intent while the transaction is open, and its success when COMMIT has returned. A kill in between leaves
//! open whether it happened; the agent's next life shows it.

use super::Claim;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One life of an agent among those that exchange signals: an entry of a vector clock belongs to a life, not to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Life {
    /// The agent's number.
    pub agent: u32,
    /// Which of its lives; the first is 1, and numbers may be left out.
    pub incarnation: u32,
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.agent, self.incarnation)
    }
}

/// A signal's identity, the same for every copy of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SignalId {
    /// The life that sent it.
    pub sender: Life,
    /// Its number among what that life has sent; the first is 1.
    pub sequence: u64,
}

impl fmt::Display for SignalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.sender, self.sequence)
    }
}

/// A vector clock, as a program states it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// By life: the number of its last event that is in the past. Sorted.
    pub counters: Vec<(Life, u64)>,
    /// By agent: every life with a lower number is in the past as a whole, and has no counter. Sorted.
    pub pruned_below: Vec<(u32, u32)>,
}

impl ClockReading {
    /// The counter of a life; `None`: it has none.
    pub fn counter(&self, life: Life) -> Option<u64> {
        self.counters.binary_search_by_key(&life, |(of, _)| *of).ok().map(|at| self.counters[at].1)
    }

    /// Whether a life counts as past as a whole.
    pub fn is_pruned(&self, life: Life) -> bool {
        let found = self.pruned_below.binary_search_by_key(&life.agent, |(agent, _)| *agent);
        found.is_ok_and(|at| life.incarnation < self.pruned_below[at].1)
    }

    /// What is known of a life: its last event, 0 if nothing; `None`: all of it is past.
    pub fn known_of(&self, life: Life) -> Option<u64> {
        if self.is_pruned(life) { None } else { Some(self.counter(life).unwrap_or(0)) }
    }

    /// Whether an event of a life is in the past, or the present.
    pub fn knows(&self, life: Life, counter: u64) -> bool {
        self.is_pruned(life) || self.counter(life).is_some_and(|known| known >= counter)
    }
}

/// The transaction in which a life begins is about to commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncarnationBeginning {
    /// The life.
    pub life: Life,
    /// Its first clock: what its earlier lives knew, and its first tick.
    pub clock: ClockReading,
    /// The agent's last life that began, and the last event of it that took effect; `None` in its first life. The clock alone may not tell: that life may be
    /// pruned at once.
    pub ended: Option<(Life, u64)>,
}

/// A life has begun, durably.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncarnationBegun {
    /// The life.
    pub life: Life,
}

/// Whom a signal is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Recipients {
    /// Every agent that is registered, but its sender.
    All,
    /// One agent.
    One(u32),
}

/// The transaction that sends a signal is about to commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalSending {
    /// The signal.
    pub signal: SignalId,
    /// Whom it is for.
    pub to: Recipients,
    /// The operation that asked for it; 0 is none.
    pub operation: u64,
    /// The sender's clock at the sending.
    pub clock: ClockReading,
    /// A digest of what it says.
    pub content: u64,
}

/// A signal has been sent, durably.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalSent {
    /// The signal.
    pub signal: SignalId,
}

/// One delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The signal.
    pub signal: SignalId,
    /// Whether it was read from the durable queue, and not off a copy that came over the network.
    pub was_polled: bool,
    /// The recipient's clock after it.
    pub clock: ClockReading,
    /// The clock that came with the signal, as the recipient read it.
    pub signal_clock: ClockReading,
    /// A digest of what the signal says, as the recipient read it.
    pub content: u64,
}

/// Signals have been handed over, in this order, and the transaction that acknowledges them is about to commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalsDelivering {
    /// The recipient.
    pub life: Life,
    /// What was handed over.
    pub deliveries: Vec<Delivery>,
}

/// The recipient has acknowledged what it was handed last, durably.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalsDelivered {
    /// The recipient.
    pub life: Life,
}

macro_rules! claims {
    ($($kind:literal => $name:ident,)*) => { $(impl Claim for $name { const KIND: &'static str = $kind; })* };
}

claims! {
    "incarnation-beginning" => IncarnationBeginning,
    "incarnation-begun" => IncarnationBegun,
    "signal-sending" => SignalSending,
    "signal-sent" => SignalSent,
    "signals-delivering" => SignalsDelivering,
    "signals-delivered" => SignalsDelivered,
}

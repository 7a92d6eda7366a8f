//! Who still has to get what, by the harness's own account: each signal once, in causal order. What is kept grows with signals under way and with lives.

use super::ledger::NOT_ONCE;
use seedstorm_sim::causality::signals::{SignalEvent, SignalOrder};
use seedstorm_sim::sys::claim::signal::{ClockReading, Delivery, Life, Recipients, SignalId, SignalSending};
use std::collections::{BTreeMap, VecDeque};

/// A signal that somebody has yet to get.
pub(super) struct Sent {
    pub(super) clock: ClockReading,
    content: u64,
    /// How many must get it yet.
    missing: usize,
    /// Who may get it: whose first life was beginning when it was sent.
    possible: Vec<u32>,
}

/// Who was registered when a signal was about to be sent.
struct Audience {
    /// So many of the members.
    members: usize,
    possible: Vec<u32>,
}

/// The account.
#[derive(Default)]
pub(super) struct Queues {
    /// Agents that have begun a life, in the order in which that was settled.
    members: Vec<u32>,
    announced: BTreeMap<SignalId, Audience>,
    under_way: BTreeMap<SignalId, Sent>,
    /// By recipient and life of the sender: what it must get yet, by its event, in the sender's order.
    waiting: BTreeMap<u32, BTreeMap<Life, VecDeque<(u64, SignalId)>>>,
    /// By life: the last signal that was sent.
    last_sent: BTreeMap<Life, u64>,
    /// By agent: the last operation that sent something.
    operations: BTreeMap<u32, u64>,
    /// By the last delivery that came too early: who got it, and what should have come before it.
    pub(super) passed_over: Option<(u32, SignalId)>,
    /// By recipient and life of the sender: how many signals have taken effect, and what they said, in order.
    pub(super) effects: BTreeMap<(u32, Life), (u64, u64)>,
}

/// What is wrong, and the kind of loss.
type Wrong = (String, &'static str);

impl Queues {
    /// The transaction that sends a signal is open, and holds the write lock: whoever was registered by now is among its recipients.
    pub(super) fn announce(&mut self, sending: &SignalSending, order: &SignalOrder) {
        let possible = order.beginners().collect();
        self.announced.insert(sending.signal, Audience { members: self.members.len(), possible });
    }

    pub(super) fn sent(&self, signal: SignalId) -> Option<&Sent> {
        self.under_way.get(&signal)
    }

    /// Whether a signal has been sent, at whatever time.
    pub(super) fn was_sent(&self, signal: SignalId) -> bool {
        self.last_sent.get(&signal.sender).is_some_and(|last| *last >= signal.sequence)
    }

    /// What a recipient has to get yet that came before a signal which it has.
    pub(super) fn passed_over_by(&self, recipient: u32, signal: SignalId, order: &SignalOrder) -> Option<SignalId> {
        let firsts = self.waiting.get(&recipient)?.iter().filter_map(|(life, queue)| Some((life, queue.front()?)));
        let mut before =
            firsts.filter(|(life, (counter, id))| *id != signal && order.is_before_sending(**life, *counter, signal));
        before.next().map(|(_, (_, id))| *id)
    }

    /// Whether a recipient has to get a signal yet.
    pub(super) fn is_waiting(&self, recipient: u32, signal: SignalId) -> bool {
        let queue = self.waiting.get(&recipient).and_then(|queues| queues.get(&signal.sender));
        queue.is_some_and(|queue| queue.iter().any(|(_, id)| *id == signal))
    }

    /// What must be in the durable queues: (recipient, signal).
    pub(super) fn all_waiting(&self) -> impl Iterator<Item = (u32, SignalId)> {
        self.waiting
            .iter()
            .flat_map(|(recipient, queues)| queues.values().flatten().map(|(_, signal)| (*recipient, *signal)))
    }

    /// A signal that somebody never got.
    pub(super) fn lost(&self) -> Option<String> {
        let (recipient, signal) = self.all_waiting().next()?;
        let count = self.all_waiting().count();
        Some(format!("{signal} never came to agent {recipient}; {count} deliveries are missing in all"))
    }

    pub(super) fn settle(&mut self, event: &SignalEvent, order: &mut SignalOrder) -> Result<(), Wrong> {
        match event {
            SignalEvent::Began(begin) => {
                let agent = begin.life.agent;
                if !self.members.contains(&agent) {
                    self.members.push(agent);
                }
                // What an earlier life only announced will never be sent.
                self.announced.retain(|signal, _| signal.sender.agent != agent || signal.sender >= begin.life);
                Ok(())
            }
            SignalEvent::Sent(sending) => self.send(sending, order),
            SignalEvent::Delivered { by, delivery } => self.deliver(*by, delivery, order),
        }
    }

    fn send(&mut self, sending: &SignalSending, order: &mut SignalOrder) -> Result<(), Wrong> {
        let signal = sending.signal;
        let Audience { members, possible } =
            self.announced.remove(&signal).unwrap_or(Audience { members: 0, possible: Vec::new() });
        let others = |of: &&u32| **of != signal.sender.agent;
        let (recipients, possible): (Vec<u32>, Vec<u32>) = match sending.to {
            Recipients::All => (self.members[..members].iter().filter(others).copied().collect(), possible),
            Recipients::One(agent) => (vec![agent], Vec::new()),
        };
        let counter = sending.clock.counter(signal.sender).unwrap_or(0);
        for recipient in &recipients {
            let queues = self.waiting.entry(*recipient).or_default();
            queues.entry(signal.sender).or_default().push_back((counter, signal));
        }
        let last = self.last_sent.insert(signal.sender, signal.sequence).unwrap_or(0);
        if recipients.is_empty() && possible.is_empty() {
            order.forget(signal);
        } else {
            let (clock, content, missing) = (sending.clock.clone(), sending.content, recipients.len());
            self.under_way.insert(signal, Sent { clock, content, missing, possible });
        }
        if signal.sequence <= last {
            return Err((format!("{signal} was sent after signal {last} of the same life"), NOT_ONCE));
        }
        if sending.operation == 0 {
            return Ok(());
        }
        match self.operations.insert(signal.sender.agent, sending.operation) {
            Some(before) if before >= sending.operation => {
                let message = format!("operation {} sent {signal}, after operation {before}", sending.operation);
                Err((message, NOT_ONCE))
            }
            _ => Ok(()),
        }
    }

    fn deliver(&mut self, by: Life, delivery: &Delivery, order: &mut SignalOrder) -> Result<(), Wrong> {
        let signal = delivery.signal;
        let passed_over = self.passed_over_by(by.agent, signal, order);
        let (count, digest) = self.effects.entry((by.agent, signal.sender)).or_default();
        let said = delivery.content % 1_000_000_007;
        *digest = if *count == 0 { said } else { (*digest * 31 + said) % 1_000_000_007 };
        *count += 1;
        let queue = self.waiting.get_mut(&by.agent).and_then(|queues| queues.get_mut(&signal.sender));
        let at = queue.as_ref().and_then(|queue| queue.iter().position(|(_, id)| *id == signal));
        let sent = self.under_way.get_mut(&signal);
        match (queue, at, sent) {
            (Some(queue), Some(at), Some(sent)) => {
                queue.remove(at);
                if queue.is_empty()
                    && let Some(queues) = self.waiting.get_mut(&by.agent)
                {
                    queues.remove(&signal.sender);
                }
                sent.missing -= 1;
            }
            (_, _, Some(sent)) if sent.possible.contains(&by.agent) => {
                sent.possible.retain(|agent| *agent != by.agent);
            }
            _ => {
                return Err((format!("{by} delivered {signal}, which it had had or was not meant to get"), NOT_ONCE));
            }
        }
        let content = self.under_way.get(&signal).map(|sent| sent.content);
        if self.under_way.get(&signal).is_some_and(|sent| sent.missing == 0 && sent.possible.is_empty()) {
            self.under_way.remove(&signal);
            order.forget(signal);
        }
        if content != Some(delivery.content) {
            return Err((format!("{by} delivered {signal} with a content that was not sent"), "altered"));
        }
        match passed_over {
            Some(other) => {
                self.passed_over = Some((by.agent, other));
                let message =
                    format!("{by} delivered {signal} before {other}, which was sent before it and is for it too");
                Err((message, "out-of-order"))
            }
            None => Ok(()),
        }
    }
}

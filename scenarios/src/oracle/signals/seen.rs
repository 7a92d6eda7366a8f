//! What must happen sometimes among agents that exchange signals: each by what the harness knows, not by what was planned. It judges nothing.

use super::ledger::Ledger;
use seedstorm_model::bus::{ClockCopyRefused, QueueFull, Signal, SignalHeldBack};
use seedstorm_sim::View;
use seedstorm_sim::causality::signals::SignalEvent;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::plan::FaultKind;
use seedstorm_sim::sys::claim::signal::{IncarnationBegun, Life, SignalId, SignalsDelivering};
use seedstorm_sim::sys::net::MailboxKey;
use seedstorm_sim::trace::{Body, CallKind, Event, Interest, ProcessId};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Notes what a flood must reach sometimes.
pub struct SignalsSeen {
    ledger: Rc<RefCell<Ledger>>,
    /// The message of this step that will not arrive: its `send` follows.
    lost_message: Option<u64>,
    /// Copies that were lost on the way: (recipient, signal).
    lost: BTreeSet<(ProcessId, SignalId)>,
    /// Processes of which a message was garbled.
    garbled: BTreeSet<ProcessId>,
    /// What was handed over and not acknowledged yet: by (recipient, signal), the life to which it was.
    handed: BTreeMap<(u32, SignalId), Life>,
    /// By agent: lives that are pruned in its clock.
    pruned: BTreeMap<u32, u64>,
    incarnations: BTreeMap<u32, u32>,
    /// By process: its number among the members.
    members: BTreeMap<ProcessId, u32>,
}

impl SignalsSeen {
    /// Shares the ledger.
    pub fn new(ledger: Rc<RefCell<Ledger>>) -> SignalsSeen {
        SignalsSeen {
            ledger,
            lost_message: None,
            lost: BTreeSet::new(),
            garbled: BTreeSet::new(),
            handed: BTreeMap::new(),
            pruned: BTreeMap::new(),
            incarnations: BTreeMap::new(),
            members: BTreeMap::new(),
        }
    }

    fn claimed(&mut self, event: &Event<'_>, view: &View<'_>) {
        let ledger = self.ledger.clone();
        let ledger = ledger.borrow();
        if let Some(SignalsDelivering { life, deliveries }) = event.claim() {
            for delivery in deliveries {
                if self.handed.insert((life.agent, delivery.signal), life).is_some_and(|before| before < life) {
                    view.cover("redelivered_after_kill");
                }
            }
        } else if let Some(SignalHeldBack { by, signal }) = event.claim() {
            if ledger.queues.passed_over_by(by.agent, signal, &ledger.order).is_some() {
                view.cover("causal_gap_buffered");
            }
        } else if let Some(QueueFull { queued, .. }) = event.claim() {
            if queued >= view.plan().setting_u64("queue_max", u64::MAX) {
                view.cover("queue_full");
            }
        } else if let Some(ClockCopyRefused { from, .. }) = event.claim()
            && self.garbled.iter().any(|process| view.process(*process).name == from)
        {
            view.cover("corrupt_clock_refused");
        }
        if let (Some(process), Some(IncarnationBegun { life })) = (event.process, event.claim()) {
            self.members.insert(process, life.agent);
        }
        for settled in &ledger.settled {
            self.settled(settled, event, view);
        }
    }

    fn settled(&mut self, settled: &SignalEvent, event: &Event<'_>, view: &View<'_>) {
        let (life, clock) = match settled {
            SignalEvent::Began(begin) => {
                if self.incarnations.insert(begin.life.agent, begin.life.incarnation).is_some() {
                    view.cover("incarnation_changed");
                }
                (begin.life, &begin.clock)
            }
            SignalEvent::Sent(sent) => {
                view.count("signals", 1);
                (sent.signal.sender, &sent.clock)
            }
            SignalEvent::Delivered { by, delivery } => {
                view.count("deliveries", 1);
                self.handed.remove(&(by.agent, delivery.signal));
                if let Some(process) = event.process
                    && self.lost.remove(&(process, delivery.signal))
                    && delivery.was_polled
                {
                    view.cover("lost_wakeup_polled");
                }
                (*by, &delivery.clock)
            }
        };
        let pruned: u64 = clock.pruned_below.iter().map(|(_, below)| u64::from(*below)).sum();
        if self.pruned.insert(life.agent, pruned).unwrap_or(0) < pruned {
            view.cover("clock_pruned");
        }
    }
}

impl Invariant for SignalsSeen {
    fn id(&self) -> &'static str {
        "signals-seen"
    }

    fn only_counts(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS.and(Interest::FAULTS).and(Interest::DROPPED).and(Interest::call(CallKind::Send))
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        match event.body {
            Body::Claim { .. } => self.claimed(event, view),
            Body::MessageFault { kind: FaultKind::MessageLoss, message, .. } | Body::MessageDropped { message, .. } => {
                self.lost_message = Some(message);
            }
            Body::MessageFault { kind: FaultKind::MessageGarble, .. } => self.garbled.extend(event.process),
            Body::Call { kind: CallKind::Send, object, arguments: [_, to], data, .. }
                if self.lost_message.take() == Some(object) =>
            {
                // A poll may have been faster than the copy.
                if let Some(recipient) = MailboxKey(to).process()
                    && let Some(member) = self.members.get(&recipient)
                    && let Ok(signal) = Signal::of_copy(data, None)
                    && self.ledger.borrow().queues.is_waiting(*member, signal.id)
                {
                    self.lost.insert((recipient, signal.id));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

//! The account of signals that the oracles share: claims are read once, the true order is asked, and what each invariant has to say is noted. A [`Watch`] is one
//! of these invariants.

use super::claimed_order::ClaimedOrder;
use super::queues::Queues;
use super::stored::Stored;
use super::{ACYCLIC, AGREE, CORRUPT, MONOTONE, ONCE, SENT_FIRST};
use seedstorm_sim::View;
use seedstorm_sim::causality::signals::{
    Acknowledged, Contradiction, Disagreement, Intent, Lacking, SignalEvent, SignalOrder,
};
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::sys::claim::signal::{
    ClockReading, IncarnationBeginning, IncarnationBegun, Life, SignalSending, SignalSent, SignalsDelivered,
    SignalsDelivering,
};
use seedstorm_sim::trace::{Body, Event, Interest};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The account.
#[derive(Default)]
pub struct Ledger {
    pub(super) order: SignalOrder,
    pub(super) queues: Queues,
    claimed: ClaimedOrder,
    /// The clock of the last settled event of each life that is not over.
    pub(super) clocks: BTreeMap<Life, ClockReading>,
    /// What the event that was seen last has settled.
    pub(super) settled: Vec<SignalEvent>,
    /// What invariants have to say of the event that was seen last.
    verdicts: Vec<(&'static str, Violation)>,
    /// The step of that event. A claim is a step of its own.
    step: u64,
}

impl Ledger {
    /// Takes an event into account, unless it has been.
    pub(super) fn see(&mut self, event: &Event<'_>) {
        let Body::Claim { kind, .. } = event.body else { return };
        if self.step == event.step {
            return;
        }
        self.step = event.step;
        self.verdicts.clear();
        self.settled.clear();
        self.queues.passed_over = None;
        let acknowledged = match kind {
            IncarnationBeginning::KIND => return self.intend(event.claim().map(Intent::Begin)),
            SignalsDelivering::KIND => return self.intend(event.claim().map(Intent::Deliver)),
            SignalSending::KIND => {
                let Some(sending) = event.claim::<SignalSending>() else { return };
                self.queues.announce(&sending, &self.order);
                return self.intend(Some(Intent::Send(sending)));
            }
            IncarnationBegun::KIND => event.claim().map(|IncarnationBegun { life }| Acknowledged::Begun(life)),
            SignalSent::KIND => event.claim().map(|SignalSent { signal }| Acknowledged::Sent(signal)),
            SignalsDelivered::KIND => event.claim().map(|SignalsDelivered { life }| Acknowledged::Delivered(life)),
            _ => return,
        };
        let Some(acknowledged) = acknowledged else { return };
        let contradiction = self.order.acknowledge(acknowledged).err();
        self.settled = self.order.take_settled();
        for index in 0..self.settled.len() {
            self.settle(index);
        }
        if let Some(contradiction) = contradiction {
            self.contradicted(&contradiction);
        }
        self.claimed.prune(&self.order);
    }

    fn intend(&mut self, intent: Option<Intent>) {
        intent.into_iter().for_each(|intent| self.order.intend(intent));
    }

    fn note(&mut self, id: &'static str, message: String, object: &'static str, loss: &'static str) {
        self.verdicts.push((id, Violation::new(id, message).object(object).role("agent").loss(loss)));
    }

    /// What the last event has violated of an invariant. A signal that was passed over and waits nowhere has not been overtaken: it is lost, and the next one
    /// of its sender only shows it.
    fn verdict_on(&self, id: &str, view: &View<'_>) -> Option<Violation> {
        let violation = self.verdict(id)?;
        let Some((recipient, signal)) = self.queues.passed_over.filter(|_| id == ONCE) else { return Some(violation) };
        match Stored::of(view.disk()) {
            Ok(Some(stored)) if !stored.queued.contains(&(recipient, signal)) => Some(violation.loss(NOT_ONCE)),
            _ => Some(violation),
        }
    }

    fn contradicted(&mut self, Contradiction { kind, message, signal }: &Contradiction) {
        match kind {
            Disagreement::Unsent if signal.is_some_and(|signal| self.queues.was_sent(signal)) => {
                self.note(ONCE, message.clone(), "signal", NOT_ONCE);
            }
            Disagreement::Unsent => self.note(SENT_FIRST, message.clone(), "signal", "unsent"),
            Disagreement::Tie => self.note(AGREE, message.clone(), "clock", "tie"),
            Disagreement::Lacks(lacking) => self.note(AGREE, message.clone(), entry(*lacking), "lost"),
            Disagreement::Clock | Disagreement::Unannounced => self.note(AGREE, message.clone(), "clock", "order"),
        }
    }

    fn settle(&mut self, index: usize) {
        let event = self.settled[index].clone();
        let (life, clock) = match &event {
            SignalEvent::Began(begin) => (begin.life, &begin.clock),
            SignalEvent::Sent(sent) => (sent.signal.sender, &sent.clock),
            SignalEvent::Delivered { by, delivery } => (*by, &delivery.clock),
        };
        if let Some(last) = self.clocks.get(&life)
            && let Some(fallen) = fallen(last, clock)
        {
            let message = format!("the clock of life {life} has fallen: {fallen}");
            self.note(MONOTONE, message, "clock", "fallen");
        }
        if let SignalEvent::Delivered { by, delivery } = &event
            && let Some(sent) = self.queues.sent(delivery.signal)
            && sent.clock != delivery.signal_clock
        {
            let difference = fallen(&sent.clock, &delivery.signal_clock)
                .or_else(|| fallen(&delivery.signal_clock, &sent.clock))
                .unwrap_or_default();
            let message =
                format!("{by} accepted a clock with {} that was not sent with it: {difference}", delivery.signal);
            self.note(CORRUPT, message, "clock", "accepted");
        }
        let of_signal = match &event {
            SignalEvent::Delivered { delivery, .. } => self.queues.sent(delivery.signal).map(|sent| &sent.clock),
            _ => None,
        };
        let last = self.clocks.get(&life).or_else(|| {
            let lives = self.clocks.range(..life).next_back();
            lives.filter(|(of, _)| of.agent == life.agent).map(|(_, clock)| clock)
        });
        if let Err(cycle) = self.claimed.add(life, clock, last, &event, of_signal) {
            self.note(ACYCLIC, cycle, "clock", "cycle");
        }
        if let SignalEvent::Began(begin) = &event {
            self.clocks.retain(|of, _| of.agent != begin.life.agent);
        }
        self.clocks.insert(life, clock.clone());
        if let Err((message, loss)) = self.queues.settle(&event, &mut self.order) {
            self.note(ONCE, message, "signal", loss);
        }
    }

    pub(super) fn verdict(&self, id: &str) -> Option<Violation> {
        self.verdicts.iter().find(|(of, _)| *of == id).map(|(_, violation)| violation.clone())
    }
}

/// The loss of a signal that has effect for somebody never, twice, or though it was not for them. Which of these shows first depends on who dies when.
pub(super) const NOT_ONCE: &str = "not-once";

/// The kind of entry that a clock lacks.
pub(super) fn entry(lacking: Lacking) -> &'static str {
    match lacking {
        Lacking::Own => "own-entry",
        Lacking::Others => "others-entry",
        Lacking::Over => "entry-of-a-life-that-is-over",
    }
}

/// What the first clock knows and the second doesn't, if there is anything.
fn fallen(before: &ClockReading, after: &ClockReading) -> Option<String> {
    let lost = before.counters.iter().find(|(life, counter)| !after.knows(*life, *counter));
    let lost = lost.map(|(life, counter)| {
        format!("it knew event {counter} of {life}, and knows {} now", after.counter(*life).unwrap_or(0))
    });
    lost.or_else(|| {
        let is_kept =
            |(agent, below): &&(u32, u32)| after.pruned_below.iter().any(|(of, now)| of == agent && now >= below);
        let pruned = before.pruned_below.iter().find(|pruned| !is_kept(pruned));
        pruned.map(|(agent, below)| format!("lives of agent {agent} below {below} were past, and are not now"))
    })
}

/// One of the invariants that the ledger has verdicts for.
pub struct Watch {
    id: &'static str,
    ledger: Rc<RefCell<Ledger>>,
}

impl Watch {
    /// The invariant of this id.
    pub fn new(id: &'static str, ledger: Rc<RefCell<Ledger>>) -> Watch {
        Watch { id, ledger }
    }
}

impl Invariant for Watch {
    fn id(&self) -> &'static str {
        self.id
    }

    fn rests_on_durability(&self) -> bool {
        self.id != CORRUPT
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let mut ledger = self.ledger.borrow_mut();
        ledger.see(event);
        if ledger.verdicts.is_empty() || ledger.step != event.step {
            return Ok(());
        }
        ledger.verdict_on(self.id, view).map_or(Ok(()), Err)
    }

    fn finish(&mut self, _view: &View<'_>) -> Result<(), Violation> {
        if self.id != ONCE {
            return Ok(());
        }
        match self.ledger.borrow().queues.lost() {
            None => Ok(()),
            Some(message) => Err(Violation::new(ONCE, message).object("signal").role("agent").loss(NOT_ONCE)),
        }
    }
}

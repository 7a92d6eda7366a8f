//! The true order of signals: program order and recovery within an agent, and send → acknowledged delivery. Against it the vector clocks of a model are held.
//! What else follows from a signal (who must get it, how often) is not judged here.
//!
//! Each agent has a true vector: by life, the number of that life's last event in the agent's past, in the model's own numbering. At every event the model's
//! clock must equal it, entry by entry, where a pruned entry counts as past. Then VC(a) < VC(b) if and only if a came before b, for every pair of events of a run,
//! and no two tie (Fidge 1988, Mattern 1989): no pair needs to be looked at, and what is kept grows with lives and with signals under way, not with events.
//!
//! An intent says what a transaction will have done; whether it has is known when it is acknowledged, or from what a later event of the same agent knows. A dead
//! life's last intent is settled by its agent's next life, once that has begun, and is held to from then on.

use crate::sys::claim::signal::{
    ClockReading, Delivery, IncarnationBeginning, Life, SignalId, SignalSending, SignalsDelivering,
};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What an agent's open transaction will have done.
#[derive(Clone, Debug)]
pub enum Intent {
    /// It begins a life.
    Begin(IncarnationBeginning),
    /// It sends a signal.
    Send(SignalSending),
    /// It acknowledges deliveries.
    Deliver(SignalsDelivering),
}

/// What has been acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// The beginning of a life.
    Begun(Life),
    /// The sending of a signal.
    Sent(SignalId),
    /// The deliveries that a life intended last.
    Delivered(Life),
}

/// An event that is settled: it has happened, and no crash undoes it.
#[derive(Clone, Debug)]
pub enum SignalEvent {
    /// A life began.
    Began(IncarnationBeginning),
    /// A signal was sent.
    Sent(SignalSending),
    /// A signal was delivered, and acknowledged.
    Delivered {
        /// To whom.
        by: Life,
        /// What, and how its recipient read it.
        delivery: Delivery,
    },
}

/// How a claim disagrees with the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disagreement {
    /// The clock doesn't know what is in the past.
    Lacks(Lacking),
    /// The clock knows what isn't in the past.
    Clock,
    /// The event has the number of an earlier one of its life, or a lower one.
    Tie,
    /// The signal has not been sent.
    Unsent,
    /// Nothing of the kind was under way.
    Unannounced,
}

/// What a clock lacks of the past. If it lacks several things, the first of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lacking {
    /// Later events of its own agent: it has an entry of that life, and the truth is greater.
    Own,
    /// Events of a life that goes on, or later ones of one that it has an entry of.
    Others,
    /// All of a life that is over.
    Over,
}

/// A disagreement, in words.
#[derive(Clone, Debug)]
pub struct Contradiction {
    /// How.
    pub kind: Disagreement,
    /// What and where.
    pub message: String,
    /// The signal that was not sent, if it is about one.
    pub signal: Option<SignalId>,
}

/// By life, the last event that is in the past. Sorted.
type Past = Vec<(Life, u64)>;

#[derive(Default)]
struct Agent {
    /// Its life, and that life's last event.
    life: Option<(Life, u64)>,
    past: Past,
    /// That life's last signal.
    last_sent: u64,
    /// By incarnation: the last event of each life that is over. Sorted.
    over: Vec<(u32, u64)>,
    /// Intents whose outcome isn't known, the oldest first.
    open: Vec<Intent>,
}

/// The true order of signals.
#[derive(Default)]
pub struct SignalOrder {
    agents: BTreeMap<u32, Agent>,
    /// What was in the past when a signal was sent that somebody may still get.
    under_way: BTreeMap<SignalId, Rc<Past>>,
    settled: Vec<SignalEvent>,
}

impl Intent {
    /// Whose it is.
    fn life(&self) -> Life {
        match self {
            Intent::Begin(begin) => begin.life,
            Intent::Send(send) => send.signal.sender,
            Intent::Deliver(deliver) => deliver.life,
        }
    }

    fn first_clock(&self) -> Option<&ClockReading> {
        match self {
            Intent::Begin(begin) => Some(&begin.clock),
            Intent::Send(send) => Some(&send.clock),
            Intent::Deliver(deliver) => deliver.deliveries.first().map(|delivery| &delivery.clock),
        }
    }

    fn last_counter(&self) -> u64 {
        let clock = match self {
            Intent::Deliver(deliver) => deliver.deliveries.last().map(|delivery| &delivery.clock),
            _ => self.first_clock(),
        };
        clock.and_then(|clock| clock.counter(self.life())).unwrap_or(0)
    }

    fn first_counter(&self) -> u64 {
        self.first_clock().and_then(|clock| clock.counter(self.life())).unwrap_or(0)
    }

    fn is_answered_by(&self, acknowledged: Acknowledged) -> bool {
        match (self, acknowledged) {
            (Intent::Begin(begin), Acknowledged::Begun(life)) => begin.life == life,
            (Intent::Send(send), Acknowledged::Sent(signal)) => send.signal == signal,
            (Intent::Deliver(deliver), Acknowledged::Delivered(life)) => deliver.life == life,
            _ => false,
        }
    }
}

impl SignalOrder {
    /// An agent's transaction is about to commit. An earlier one that this one doesn't know of has not happened.
    pub fn intend(&mut self, intent: Intent) {
        let (life, first) = (intent.life(), intent.first_counter());
        let open = &mut self.agents.entry(life.agent).or_default().open;
        open.retain(|earlier| earlier.life() != life || earlier.last_counter() < first);
        open.push(intent);
    }

    /// What an agent intended has happened: it, and what it knows of the agent's own earlier intents, is settled.
    ///
    /// # Errors
    /// The first contradiction between the clocks and the truth.
    pub fn acknowledge(&mut self, acknowledged: Acknowledged) -> Result<(), Contradiction> {
        let agent = match acknowledged {
            Acknowledged::Begun(life) | Acknowledged::Delivered(life) => life.agent,
            Acknowledged::Sent(signal) => signal.sender.agent,
        };
        let open = self.agents.get(&agent).map_or(&[][..], |agent| &agent.open);
        match open.iter().rposition(|intent| intent.is_answered_by(acknowledged)) {
            Some(index) => self.settle(agent, index),
            // What others have had of it has settled it before its own agent came to saying so.
            None if self.is_settled(acknowledged) => Ok(()),
            None => Err(contradiction(
                Disagreement::Unannounced,
                format!("{acknowledged:?} was claimed, and nothing of the kind was under way"),
            )),
        }
    }

    fn is_settled(&self, acknowledged: Acknowledged) -> bool {
        let settled =
            |life: Life| self.agents.get(&life.agent).is_some_and(|agent| agent.life.is_some_and(|(of, _)| of == life));
        match acknowledged {
            Acknowledged::Begun(life) => settled(life),
            Acknowledged::Sent(SignalId { sender, sequence }) => {
                settled(sender) && self.agents.get(&sender.agent).is_some_and(|agent| agent.last_sent >= sequence)
            }
            Acknowledged::Delivered(_) => false,
        }
    }

    /// The events that have been settled since it was asked last, in an order that agrees with theirs. One that contradicts the truth is the last.
    pub fn take_settled(&mut self) -> Vec<SignalEvent> {
        std::mem::take(&mut self.settled)
    }

    /// Nobody will get this signal any more.
    pub fn forget(&mut self, signal: SignalId) {
        self.under_way.remove(&signal);
    }

    /// Whether an event of a life came before the sending of a signal that is under way, or is it.
    pub fn is_before_sending(&self, life: Life, counter: u64, signal: SignalId) -> bool {
        self.under_way.get(&signal).is_some_and(|past| last_of(past, life) >= counter)
    }

    /// The last event of a life that every agent has in its past.
    pub fn known_to_all(&self, life: Life) -> u64 {
        self.agents.values().map(|agent| last_of(&agent.past, life)).min().unwrap_or(0)
    }

    /// The lives of an agent that have begun, its present one last.
    pub fn lives(&self, agent: u32) -> impl Iterator<Item = Life> {
        let found = self.agents.get(&agent);
        let over = found.into_iter().flat_map(move |found| found.over.iter());
        let over = over.map(move |(incarnation, _)| Life { agent, incarnation: *incarnation });
        over.chain(found.and_then(|found| found.life).map(|(life, _)| life))
    }

    /// Agents whose first life may have begun: they intended it, and nothing has settled it yet.
    pub fn beginners(&self) -> impl Iterator<Item = u32> {
        self.agents.iter().filter(|(_, agent)| agent.life.is_none() && !agent.open.is_empty()).map(|(agent, _)| *agent)
    }

    /// How many agents there are.
    pub fn agents(&self) -> usize {
        self.agents.len()
    }

    /// What is kept, in entries: for tests that it doesn't grow with events.
    pub fn size(&self) -> usize {
        let agents = self.agents.values().map(|agent| agent.past.len() + agent.over.len() + agent.open.len());
        agents.sum::<usize>() + self.under_way.values().map(|past| past.len()).sum::<usize>()
    }

    /// Settles an agent's open intents up to one that has happened.
    fn settle(&mut self, agent: u32, index: usize) -> Result<(), Contradiction> {
        let Some(open) = self.agents.get_mut(&agent).map(|agent| &mut agent.open) else { return Ok(()) };
        let settled: Vec<Intent> = open.drain(..=index).collect();
        // From the last one back: each beginning tells how far the life came that it ended.
        let mut reached = None;
        let mut happened = Vec::with_capacity(settled.len());
        for intent in settled.into_iter().rev() {
            let has_happened =
                reached.is_none_or(|(life, last)| intent.life() == life && intent.last_counter() <= last);
            if !has_happened {
                continue;
            }
            reached = match &intent {
                // With nothing before it: what else was intended by then has not happened.
                Intent::Begin(begin) => Some(begin.ended.unwrap_or((begin.life, 0))),
                _ => Some((intent.life(), intent.first_counter().saturating_sub(1))),
            };
            happened.push(intent);
        }
        happened.into_iter().rev().try_for_each(|intent| self.happened(intent))
    }

    fn happened(&mut self, intent: Intent) -> Result<(), Contradiction> {
        match intent {
            Intent::Begin(begin) => {
                let agent = self.agents.entry(begin.life.agent).or_default();
                if let Some((life, last)) = agent.life {
                    if life >= begin.life {
                        let message = format!("life {} began after {life}", begin.life);
                        return Err(contradiction(Disagreement::Tie, message));
                    }
                    agent.over.push((life.incarnation, last));
                }
                (agent.life, agent.last_sent) = (Some((begin.life, 0)), 0);
                let told = self.tick(begin.life, &begin.clock, || format!("the beginning of life {}", begin.life));
                self.settled.push(SignalEvent::Began(begin));
                told?;
            }
            Intent::Send(send) => {
                let sender = send.signal.sender;
                let told = self.tick(sender, &send.clock, || format!("the sending of {}", send.signal));
                let agent = self.agents.entry(sender.agent).or_default();
                agent.last_sent = send.signal.sequence;
                let past = agent.past.clone();
                self.under_way.insert(send.signal, Rc::new(past));
                self.settled.push(SignalEvent::Sent(send));
                told?;
            }
            Intent::Deliver(deliver) => {
                for delivery in deliver.deliveries {
                    self.delivered(deliver.life, delivery)?;
                }
            }
        }
        Ok(())
    }

    fn delivered(&mut self, by: Life, delivery: Delivery) -> Result<(), Contradiction> {
        let signal = delivery.signal;
        if !self.under_way.contains_key(&signal) {
            // Its sender may have died before it could say so, or has not come to it yet.
            let is_sending = |intent: &Intent| intent.is_answered_by(Acknowledged::Sent(signal));
            let open = self.agents.get(&signal.sender.agent).map(|agent| agent.open.iter().position(is_sending));
            if let Some(Some(index)) = open {
                self.settle(signal.sender.agent, index)?;
            }
        }
        let Some(sent) = self.under_way.get(&signal).cloned() else {
            let message = format!("{by} delivered {signal}, which was not sent, or which everybody has had");
            return Err(Contradiction { signal: Some(signal), ..contradiction(Disagreement::Unsent, message) });
        };
        if let Some(agent) = self.agents.get_mut(&by.agent) {
            merge(&mut agent.past, &sent);
        }
        let told = self.tick(by, &delivery.clock, || format!("the delivery of {signal} to {by}"));
        self.settled.push(SignalEvent::Delivered { by, delivery });
        told
    }

    /// An event of a life: its clock must be the truth.
    fn tick(&mut self, life: Life, clock: &ClockReading, what: impl Fn() -> String) -> Result<(), Contradiction> {
        self.settle_beginnings(clock)?;
        let agent = self.agents.entry(life.agent).or_default();
        let last = match agent.life {
            Some((present, last)) if present == life => last,
            _ => {
                let message = format!("{}: that life is over, or never began", what());
                return Err(contradiction(Disagreement::Tie, message));
            }
        };
        let counter = clock.counter(life).unwrap_or(0);
        if counter <= last {
            let message = format!("{} has number {counter} of its life, whose last event had {last}", what());
            return Err(contradiction(Disagreement::Tie, message));
        }
        agent.life = Some((life, counter));
        let at = agent.past.binary_search_by_key(&life, |(of, _)| *of);
        match at {
            Ok(at) => agent.past[at].1 = counter,
            Err(at) => agent.past.insert(at, (life, counter)),
        }
        match self.difference(&self.agents[&life.agent].past, clock) {
            None => Ok(()),
            Some(difference) => {
                let lacking = self.lacking(life.agent, &self.agents[&life.agent].past, |of| clock.known_of(of));
                let kind = lacking.map_or(Disagreement::Clock, Disagreement::Lacks);
                Err(contradiction(kind, format!("{}: {difference}", what())))
            }
        }
    }

    /// A clock that counts a life as past knows that a later one has begun, even if that one hasn't come to saying so.
    fn settle_beginnings(&mut self, clock: &ClockReading) -> Result<(), Contradiction> {
        for &(agent, below) in &clock.pruned_below {
            let Some(found) = self.agents.get(&agent) else { continue };
            if found.open.is_empty() || found.life.is_some_and(|(life, _)| life.incarnation >= below) {
                continue;
            }
            let begins = |intent: &Intent| matches!(intent, Intent::Begin(begin) if begin.life.incarnation >= below);
            if let Some(index) = found.open.iter().position(begins) {
                self.settle(agent, index)?;
            }
        }
        Ok(())
    }

    /// What an agent's clock lacks of a past, sorted by life. `known_of` gives what it knows of a life: its last event, or `None` if all of it.
    pub fn lacking<'a>(
        &self,
        agent: u32,
        past: impl IntoIterator<Item = &'a (Life, u64)>,
        known_of: impl Fn(Life) -> Option<u64>,
    ) -> Option<Lacking> {
        let is_over = |life: Life| {
            let present = self.agents.get(&life.agent).and_then(|agent| agent.life);
            present.is_some_and(|(present, _)| present.incarnation > life.incarnation)
        };
        let of = |(life, last): &(Life, u64)| match known_of(*life) {
            Some(known) if known < *last => Some(match known {
                1.. if life.agent == agent => Lacking::Own,
                0 if is_over(*life) => Lacking::Over,
                _ => Lacking::Others,
            }),
            _ => None,
        };
        past.into_iter().filter_map(of).min()
    }

    /// The first difference between the truth and a clock.
    fn difference(&self, past: &Past, clock: &ClockReading) -> Option<String> {
        let mut counters = clock.counters.iter().peekable();
        for (life, true_last) in past {
            match counters.next_if(|(of, _)| of == life) {
                Some((_, last)) if last == true_last => {}
                Some((_, last)) => {
                    return Some(format!("the clock says {last} of {life}, and the truth is {true_last}"));
                }
                None if clock.is_pruned(*life) => {
                    let over = self.agents.get(&life.agent).map_or(&[][..], |agent| &agent.over);
                    if !over.contains(&(life.incarnation, *true_last)) {
                        return Some(format!(
                            "the clock counts {life} as past, of which it can know the events up to {true_last} only"
                        ));
                    }
                }
                None => {
                    return Some(match counters.peek() {
                        Some((other, last)) if other < life => {
                            format!("the clock says {last} of {other}, of which nothing can be known")
                        }
                        _ => format!("the clock says nothing of {life}, and the truth is {true_last}"),
                    });
                }
            }
        }
        if let Some((other, last)) = counters.next() {
            return Some(format!("the clock says {last} of {other}, of which nothing can be known"));
        }
        for &(agent, below) in &clock.pruned_below {
            let unknown = self.lives(agent).find(|life| life.incarnation < below && last_of(past, *life) == 0);
            if let Some(life) = unknown {
                return Some(format!("the clock counts {life} as past, of which nothing can be known"));
            }
        }
        None
    }
}

fn contradiction(kind: Disagreement, message: String) -> Contradiction {
    Contradiction { kind, message, signal: None }
}

fn last_of(past: &Past, life: Life) -> u64 {
    past.binary_search_by_key(&life, |(of, _)| *of).map_or(0, |at| past[at].1)
}

/// Adds what another knows.
fn merge(past: &mut Past, other: &Past) {
    let mut at = 0;
    for &(life, last) in other {
        while at < past.len() && past[at].0 < life {
            at += 1;
        }
        match past.get_mut(at) {
            Some((of, known)) if *of == life => *known = (*known).max(last),
            _ => past.insert(at, (life, last)),
        }
    }
}

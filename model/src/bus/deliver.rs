//! Delivering: signals are handed over in causal order; then one transaction acknowledges them.

use super::claims::SignalHeldBack;
use super::clock::Clock;
use super::journal;
use super::member::Member;
use super::order::{Choice, Order, Queued, choose};
use super::pruning;
use super::row::{Row, State, Stop};
use super::signal::{Signal, read_clock};
use crate::agent::AgentError;
use crate::mutant::{Mutant, is};
use crate::store::{Bounds, commit_halfway};
use rusqlite::{Connection, OptionalExtension, params};
use seedstorm_sim::sys::claim::signal::{Delivery, Life, SignalId, SignalsDelivered, SignalsDelivering};
use seedstorm_sim::{Os, Sys};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Where signals are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// Copies that are in hand: what has no copy waits, and with it what comes after it.
    Copies,
    /// The durable queue: a poll.
    Queue,
}

/// What a delivery came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// What was delivered and acknowledged, in order.
    pub signals: Vec<SignalId>,
    /// Signals that still wait.
    pub waiting: usize,
}

/// Every how many rows of its journal a member looks for what can be pruned.
const PRUNE_EVERY: i64 = 4;

/// What a try of the transaction came to.
enum Tried {
    Done(Box<Done>),
    Stopped(Stop),
}

struct Done {
    state: State,
    delivered: Vec<SignalId>,
    waiting: BTreeSet<SignalId>,
    held_back: Vec<SignalId>,
    owes_answers: bool,
}

impl Member {
    /// Delivers what may be delivered now, so many at most as the bus delivers at a time, and acknowledges it. `None` if the store can't be reached now, or leaves open whether that was
    /// done: what was done is not done again.
    ///
    /// # Errors
    /// What no retry heals.
    pub async fn deliver(&mut self, sys: &Sys, from: From) -> Result<Option<Delivered>, AgentError> {
        if from == From::Queue && self.is_queue_empty(sys).await? {
            self.copies.settle(|_| false, &[]);
            return Ok(Some(Delivered::default()));
        }
        let mutant = self.config.mutant;
        let attempt = Attempt {
            life: self.life,
            state: self.state.clone(),
            copies: self.copies.all(),
            batch_max: self.bus.batch_max,
            from,
            mutant,
        };
        let body = move |os: &Os, connection: &Connection| attempt.deliver(os, connection);
        let Ok(tried) = self.agent.store().change_within(sys, "deliver", Bounds::Transaction, body).await? else {
            return Ok(None);
        };
        let done = match tried {
            Tried::Done(done) => *done,
            Tried::Stopped(stop) => return Err(self.stopped(stop)),
        };
        self.state = done.state;
        self.owes_answers |= done.owes_answers;
        if !done.delivered.is_empty() {
            sys.claim(&SignalsDelivered { life: self.life }).await;
        }
        for signal in self.copies.settle(|id| done.waiting.contains(id), &done.held_back) {
            sys.claim(&SignalHeldBack { by: self.life, signal }).await;
        }
        Ok(Some(Delivered { signals: done.delivered, waiting: done.waiting.len() }))
    }
}

impl Member {
    /// Whether nothing waits for it: a look, without the write lock. It may be wrong for a while, and the next poll finds out.
    async fn is_queue_empty(&mut self, sys: &Sys) -> Result<bool, AgentError> {
        let member = self.life.agent;
        let look = move |_: &Os, connection: &Connection| {
            let mut select = connection.prepare_cached("SELECT queued = 0 FROM members WHERE member = ?1")?;
            select.query_row([member], |row| row.get::<_, bool>(0))
        };
        let looked = self.agent.store().change_within(sys, "look", Bounds::OneStatement, look).await?;
        Ok(looked.unwrap_or(false))
    }
}

/// A delivery, as it is tried.
struct Attempt {
    life: Life,
    state: State,
    copies: BTreeMap<SignalId, Rc<Signal>>,
    batch_max: usize,
    from: From,
    mutant: Option<Mutant>,
}

impl Attempt {
    fn deliver(&self, os: &Os, connection: &Connection) -> rusqlite::Result<Tried> {
        let member = self.life.agent;
        let mut row = Row::of(connection, member)?;
        let mut state = match self.state.at_begin(os, connection, self.life, &row, self.mutant)? {
            Ok(state) => state,
            Err(stop) => return Ok(Tried::Stopped(stop)),
        };
        let queue = queue(connection, member)?;
        let mut refused = None;
        let order = if is(self.mutant, Mutant::NothingHeldBack) { Order::AsTheyCome } else { Order::Causal };
        let Choice { deliver, held_back } = choose(&queue, self.batch_max, order, |queued| {
            let in_hand = self.copies.get(&queued.id).cloned();
            if in_hand.is_some() || self.from == From::Copies {
                return Ok(in_hand);
            }
            let read = read_signal(connection, queued, self.mutant)?;
            Ok::<_, rusqlite::Error>(read.map_err(|why| refused = Some(why)).ok())
        })?;
        if let Some(why) = refused {
            return Ok(Tried::Stopped(Stop::Refused(why)));
        }
        let mut waiting: BTreeSet<SignalId> = queue.iter().map(|queued| queued.id).collect();
        waiting.retain(|id| !deliver.iter().any(|(queued, _)| queued.id == *id));
        let mut seen = Seen::default();
        let mut new: Vec<&(Queued, Rc<Signal>)> = Vec::new();
        for queued in &deliver {
            if !seen.has(connection, member, queued.0.id)? {
                new.push(queued);
            }
        }
        let mut risen = Clock::default();
        let deliveries: Vec<Delivery> =
            new.iter().map(|(_, signal)| self.hand_over(signal, &mut state.kept.clock, &mut risen)).collect();
        if !deliveries.is_empty() {
            os.claim(&SignalsDelivering { life: self.life, deliveries });
        }
        if is(self.mutant, Mutant::AcknowledgedBeforeDelivered) {
            take_off(connection, member, &deliver)?;
            commit_halfway(connection)?;
        }
        if is(self.mutant, Mutant::SeenBeforeProcessed) {
            seen.write(connection, member)?;
            commit_halfway(connection)?;
        }
        let mut owes_answers = false;
        for (_, signal) in &new {
            take_effect(connection, member, signal)?;
            if signal.answer_by == member {
                owe_answer(connection, member, signal.id)?;
                owes_answers = true;
            }
        }
        if !is(self.mutant, Mutant::SeenBeforeProcessed) {
            seen.write(connection, member)?;
        }
        if !is(self.mutant, Mutant::AcknowledgedBeforeDelivered) {
            take_off(connection, member, &deliver)?;
        }
        if !new.is_empty() {
            self.keep_clock(connection, &mut state, &risen)?;
            row.counter = state.kept.clock.counter(self.life);
            state.counter = row.counter;
            row.write(connection, member)?;
        }
        let delivered = new.iter().map(|(queued, _)| queued.id).collect();
        Ok(Tried::Done(Box::new(Done { state, delivered, waiting, held_back, owes_answers })))
    }

    /// Merges, then ticks: the delivery comes after the sending, and after all that came before that.
    fn hand_over(&self, signal: &Signal, clock: &mut Clock, risen: &mut Clock) -> Delivery {
        if !is(self.mutant, Mutant::MergeSkipped) {
            match self.mutant {
                Some(Mutant::EntriesOverwritten) => clock.overwrite(&signal.clock, risen),
                _ => clock.merge(&signal.clock, risen),
            }
        }
        if is(self.mutant, Mutant::SenderCountedOn) {
            risen.raise(signal.id.sender, clock.tick(signal.id.sender));
        }
        if !is(self.mutant, Mutant::ReceiveWithoutTick) {
            let counter = clock.tick(self.life);
            risen.raise(self.life, counter);
        }
        Delivery {
            signal: signal.id,
            was_polled: !self.copies.contains_key(&signal.id),
            clock: clock.reading(),
            signal_clock: signal.clock.reading(),
            content: signal.content_digest(),
        }
    }

    fn keep_clock(&self, connection: &Connection, state: &mut State, risen: &Clock) -> rusqlite::Result<()> {
        let member = self.life.agent;
        let State { kept, .. } = state;
        if kept.number % PRUNE_EVERY == 0
            && kept.clock.has_lives_that_are_over()
            && pruning::prune(connection, member, &mut kept.clock, self.mutant)?
        {
            let whole = kept.clock.clone();
            return journal::replace(connection, member, kept, &whole);
        }
        let whole = kept.clock.clone();
        journal::append(connection, member, kept, risen, &whole)
    }
}

/// What waits for a member, in the order of the transactions that sent it. It is bounded: see `BusConfig::queue_max`.
fn queue(connection: &Connection, member: u32) -> rusqlite::Result<Vec<Queued>> {
    let mut select = connection.prepare_cached(
        "SELECT signal, sender, incarnation, sequence, counter FROM signal_queue WHERE recipient = ?1 ORDER BY signal",
    )?;
    let queue = select.query_map([member], |row| {
        let sender = Life { agent: row.get(1)?, incarnation: row.get(2)? };
        let id = SignalId { sender, sequence: row.get::<_, i64>(3)? as u64 };
        Ok(Queued { number: row.get(0)?, id, counter: row.get::<_, i64>(4)? as u64 })
    })?;
    queue.collect()
}

fn read_signal(
    connection: &Connection,
    queued: &Queued,
    mutant: Option<Mutant>,
) -> rusqlite::Result<Result<Rc<Signal>, super::ClockRefused>> {
    let mut select = connection.prepare_cached("SELECT answer_by, clock, content FROM signals WHERE number = ?1")?;
    select.query_row([queued.number], |row| {
        let clock = read_clock(row.get_ref(1)?.as_blob()?, mutant);
        let content: Rc<[u8]> = row.get_ref(2)?.as_blob()?.into();
        let answer_by = row.get(0)?;
        Ok(clock.map(|clock| Rc::new(Signal { id: queued.id, answer_by, clock, content })))
    })
}

/// By life of a sender: the last signal that was seen before, and the last one now.
#[derive(Default)]
struct Seen(BTreeMap<Life, (u64, u64)>);

impl Seen {
    /// Whether a signal has been acknowledged before. If not, it counts as seen from now on.
    fn has(&mut self, connection: &Connection, member: u32, id: SignalId) -> rusqlite::Result<bool> {
        let last = match self.0.entry(id.sender) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let mut select = connection.prepare_cached(
                    "SELECT sequence FROM signals_seen WHERE recipient = ?1 AND sender = ?2 AND incarnation = ?3",
                )?;
                let values = params![member, id.sender.agent, id.sender.incarnation];
                let last = select.query_row(values, |row| row.get::<_, i64>(0)).optional()?.unwrap_or(0) as u64;
                entry.insert((last, last))
            }
        };
        let is_seen = id.sequence <= last.1;
        last.1 = last.1.max(id.sequence);
        Ok(is_seen)
    }

    fn write(&self, connection: &Connection, member: u32) -> rusqlite::Result<()> {
        let mut upsert = connection.prepare_cached(
            "INSERT INTO signals_seen (recipient, sender, incarnation, sequence) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (recipient, sender, incarnation) DO UPDATE SET sequence = excluded.sequence",
        )?;
        for (life, (_, last)) in self.0.iter().filter(|(_, (before, last))| before < last) {
            upsert.execute(params![member, life.agent, life.incarnation, *last as i64])?;
        }
        Ok(())
    }
}

/// What a signal does to its recipient. Done twice it would show: it counts, and it depends on the order.
fn take_effect(connection: &Connection, member: u32, signal: &Signal) -> rusqlite::Result<()> {
    let mut upsert = connection.prepare_cached(
        "INSERT INTO signal_effects (recipient, sender, incarnation, signals, digest) VALUES (?1, ?2, ?3, 1, ?4)
         ON CONFLICT (recipient, sender, incarnation) DO UPDATE SET signals = signals + 1, digest = (digest * 31 + ?4) % 1000000007",
    )?;
    let Life { agent, incarnation } = signal.id.sender;
    let digest = (signal.content_digest() % 1_000_000_007) as i64;
    upsert.execute(params![member, agent, incarnation, digest]).map(drop)
}

fn owe_answer(connection: &Connection, member: u32, to: SignalId) -> rusqlite::Result<()> {
    let mut insert = connection
        .prepare_cached("INSERT INTO answers_owed (member, sender, incarnation, sequence) VALUES (?1, ?2, ?3, ?4)")?;
    insert.execute(params![member, to.sender.agent, to.sender.incarnation, to.sequence as i64]).map(drop)
}

/// Takes signals off the member's queue. What nobody waits for any more goes.
fn take_off(connection: &Connection, member: u32, signals: &[(Queued, Rc<Signal>)]) -> rusqlite::Result<()> {
    let mut taken = 0;
    for (queued, _) in signals {
        let mut delete = connection.prepare_cached("DELETE FROM signal_queue WHERE recipient = ?1 AND signal = ?2")?;
        taken += delete.execute(params![member, queued.number])?;
        let mut acknowledge = connection
            .prepare_cached("UPDATE signals SET waiting = waiting - 1 WHERE number = ?1 RETURNING waiting")?;
        let waiting: Option<i64> = acknowledge.query_row([queued.number], |row| row.get(0)).optional()?;
        if waiting == Some(0) {
            connection.prepare_cached("DELETE FROM signals WHERE number = ?1")?.execute([queued.number])?;
        }
    }
    if taken == 0 {
        return Ok(());
    }
    let count = "UPDATE members SET queued = queued - ?2 WHERE member = ?1";
    connection.prepare_cached(count)?.execute(params![member, taken as i64]).map(drop)
}

//! Sending: one transaction that holds the tick, the signal and a row in the queue of each recipient. Then copies go out, which may get lost.

use super::claims::QueueFull;
use super::clock::Clock;
use super::encoding::encode;
use super::member::Member;
use super::row::{Row, State, Stop};
use super::signal::Signal;
use super::{journal, rate};
use crate::agent::AgentError;
use crate::mutant::{Mutant, is};
use crate::store::{Bounds, commit_halfway};
use rusqlite::{Connection, OptionalExtension, params};
use seedstorm_sim::sys::claim::signal::{Life, Recipients, SignalId, SignalSending, SignalSent};
use seedstorm_sim::sys::net::Address;
use seedstorm_sim::{Os, Sys};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Whom a signal is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum To {
    /// Every member but its sender.
    All,
    /// The agent of that name.
    Agent(String),
}

/// A signal to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Whom it is for.
    pub to: To,
    /// What it says.
    pub content: Rc<[u8]>,
    /// The agent that is asked for an answer, by name.
    pub answer_by: Option<String>,
    /// The operation that asks for it: greater than any that this agent was asked for before. One that is done already is not done again, whatever life did it.
    pub operation: u64,
}

/// What sending came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// It has been sent, durably; by an earlier try, perhaps.
    Sent,
    /// A recipient's queue is full. Nobody has got the signal.
    Full {
        /// Whose.
        recipient: u32,
    },
    /// The sender has sent as many as it may. It may send the next one after so many nanoseconds.
    Limited {
        /// How long.
        wait_ns: u64,
    },
    /// No member has that name yet.
    NoSuchMember,
    /// The store can't be reached now, or leaves open whether it was sent: ask again.
    NotNow,
}

/// What is to be sent, once the store has been looked into.
struct Draft {
    to: Recipients,
    answer_by: u32,
    content: Rc<[u8]>,
    /// 0: of no operation.
    operation: u64,
    /// The signal that it answers.
    answers: Option<SignalId>,
}

/// A draft, or why there is nothing to send.
type Drafted = rusqlite::Result<Result<Draft, Tried>>;

/// What a try of the transaction came to.
enum Tried {
    Sent(State, Rc<Signal>, Recipients, Option<BTreeMap<u32, Address>>),
    /// An earlier try has done it.
    Found,
    Full(QueueFull),
    Limited(u64),
    NoSuchMember,
    NothingToSend,
    Stopped(Stop),
}

impl Member {
    /// Sends a signal.
    ///
    /// # Errors
    /// What no retry heals.
    pub async fn send(&mut self, sys: &Sys, outgoing: &Outgoing) -> Result<SendOutcome, AgentError> {
        let outgoing = outgoing.clone();
        let draft = move |connection: &Connection, _: u32| {
            let number_of = |name: &String| {
                let mut select = connection.prepare_cached("SELECT member FROM members WHERE agent = ?1")?;
                select.query_row([name], |row| row.get::<_, u32>(0)).optional()
            };
            let to = match &outgoing.to {
                To::All => Recipients::All,
                To::Agent(name) => match number_of(name)? {
                    Some(member) => Recipients::One(member),
                    None => return Ok(Err(Tried::NoSuchMember)),
                },
            };
            let answer_by = outgoing.answer_by.as_ref().map(number_of).transpose()?.flatten().unwrap_or(0);
            let (content, operation) = (outgoing.content.clone(), outgoing.operation);
            Ok(Ok(Draft { to, answer_by, content, operation, answers: None }))
        };
        self.carry_out(sys, draft).await
    }

    /// Sends the next answer that this member owes, if there is one.
    ///
    /// # Errors
    /// What no retry heals.
    pub async fn answer(&mut self, sys: &Sys) -> Result<SendOutcome, AgentError> {
        let draft = |connection: &Connection, member: u32| {
            let mut select = connection.prepare_cached(
                "SELECT sender, incarnation, sequence FROM answers_owed WHERE member = ?1 ORDER BY sender, incarnation, sequence LIMIT 1",
            )?;
            let owed = select.query_row([member], |row| {
                let sender = Life { agent: row.get(0)?, incarnation: row.get(1)? };
                Ok(SignalId { sender, sequence: row.get::<_, i64>(2)? as u64 })
            });
            let Some(answers) = owed.optional()? else { return Ok(Err(Tried::NothingToSend)) };
            let content: Rc<[u8]> = format!("answer to {answers}").into_bytes().into();
            let to = Recipients::One(answers.sender.agent);
            Ok(Ok(Draft { to, answer_by: 0, content, operation: 0, answers: Some(answers) }))
        };
        self.carry_out(sys, draft).await
    }

    async fn carry_out(
        &mut self,
        sys: &Sys,
        draft: impl Fn(&Connection, u32) -> Drafted + 'static,
    ) -> Result<SendOutcome, AgentError> {
        let attempt = Attempt {
            life: self.life,
            state: self.state.clone(),
            queue_max: self.bus.queue_max,
            rate_limit: self.bus.rate_limit,
            peers: self.peers.clone(),
            mutant: self.config.mutant,
            tried: Cell::new(None),
        };
        let attempt = Rc::new(attempt);
        let trying = attempt.clone();
        let body = move |os: &Os, connection: &Connection| match draft(connection, trying.life.agent)? {
            Ok(draft) => trying.send(os, connection, &draft),
            Err(tried) => Ok(tried),
        };
        let Ok(tried) = self.agent.store().change_within(sys, "send", Bounds::Transaction, body).await? else {
            return Ok(SendOutcome::NotNow);
        };
        match tried {
            Tried::Sent(state, signal, to, peers) => {
                self.state = state;
                if let Some(peers) = peers {
                    self.peers = Rc::new(peers);
                }
                if !is(self.config.mutant, Mutant::SendAcknowledgedEarly) {
                    sys.claim(&SignalSent { signal: signal.id }).await;
                }
                self.send_copies(&signal, to).await;
                Ok(SendOutcome::Sent)
            }
            Tried::Found => {
                // By an earlier try of this life: its COMMIT seemed to fail. No copies go out; polls find it.
                if let Some(signal) = attempt.tried.get() {
                    sys.claim(&SignalSent { signal }).await;
                }
                Ok(SendOutcome::Sent)
            }
            Tried::Full(full) => {
                sys.claim(&full).await;
                Ok(SendOutcome::Full { recipient: full.recipient })
            }
            Tried::Limited(wait_ns) => Ok(SendOutcome::Limited { wait_ns }),
            Tried::NoSuchMember => Ok(SendOutcome::NoSuchMember),
            Tried::NothingToSend => {
                self.owes_answers = false;
                Ok(SendOutcome::Sent)
            }
            Tried::Stopped(stop) => Err(self.stopped(stop)),
        }
    }

    /// Copies for the recipients. Nothing rests on their arrival.
    async fn send_copies(&self, signal: &Signal, to: Recipients) {
        let Some(mailbox) = &self.mailbox else { return };
        let copy = signal.to_copy(&encode(&signal.clock));
        match to {
            Recipients::All => {
                for address in self.peers.values() {
                    let _ = mailbox.send(address, &copy).await;
                }
            }
            Recipients::One(member) => {
                if let Some(address) = self.peers.get(&member) {
                    let _ = mailbox.send(address, &copy).await;
                }
            }
        }
    }
}

/// A send, as it is tried.
struct Attempt {
    life: Life,
    state: State,
    queue_max: u64,
    rate_limit: Option<super::RateLimit>,
    peers: Rc<BTreeMap<u32, Address>>,
    mutant: Option<Mutant>,
    /// What the last try would have sent.
    tried: Cell<Option<SignalId>>,
}

impl Attempt {
    fn send(&self, os: &Os, connection: &Connection, draft: &Draft) -> rusqlite::Result<Tried> {
        let (life, member) = (self.life, self.life.agent);
        let mut row = Row::of(connection, member)?;
        let mut state = match self.state.at_begin(os, connection, life, &row, self.mutant)? {
            Ok(state) => state,
            Err(stop) => return Ok(Tried::Stopped(stop)),
        };
        if draft.operation != 0 && row.operation >= draft.operation {
            // What is found may have come from a WAL that was written and never synced: a commit with something in it syncs that.
            row.write(connection, member)?;
            return Ok(Tried::Found);
        }
        if let Some(full) = self.full(connection, draft.to)? {
            return Ok(Tried::Full(full));
        }
        let wait_ns = rate::wait_or_count(connection, member, self.rate_limit, os.wall_ns())?;
        if wait_ns > 0 {
            return Ok(Tried::Limited(wait_ns));
        }
        let counter = state.kept.clock.tick(life);
        let id = SignalId { sender: life, sequence: row.sequence + 1 };
        (row.counter, row.sequence, row.operation) = (counter, id.sequence, row.operation.max(draft.operation));
        state.counter = counter;
        let clock = state.kept.clock.clone();
        let signal = Rc::new(Signal { id, answer_by: draft.answer_by, clock, content: draft.content.clone() });
        os.claim(&SignalSending {
            signal: id,
            to: draft.to,
            operation: draft.operation,
            clock: signal.clock.reading(),
            content: signal.content_digest(),
        });
        self.tried.set(Some(id));
        let mut count = connection.prepare_cached("SELECT count(*) - 1 FROM members")?;
        let peers_count = count.query_row([], |row| row.get::<_, i64>(0))?;
        let waiting = if draft.to == Recipients::All { peers_count } else { 1 };
        let number = insert_signal(connection, &signal, waiting)?;
        if !is(self.mutant, Mutant::TickNotPersisted) {
            let mut risen = Clock::default();
            risen.raise(life, counter);
            journal::append(connection, member, &mut state.kept, &risen, &signal.clock)?;
        }
        row.write(connection, member)?;
        if let Some(SignalId { sender, sequence }) = draft.answers {
            let mut answered = connection.prepare_cached(
                "DELETE FROM answers_owed WHERE member = ?1 AND sender = ?2 AND incarnation = ?3 AND sequence = ?4",
            )?;
            answered.execute(params![member, sender.agent, sender.incarnation, sequence as i64])?;
        }
        if is(self.mutant, Mutant::TwoStepSend) {
            commit_halfway(connection)?;
        }
        self.enqueue(connection, &signal, number, counter, draft.to)?;
        if is(self.mutant, Mutant::SendAcknowledgedEarly) {
            os.claim(&SignalSent { signal: id });
        }
        let peers = if peers_count == self.peers.len() as i64 { None } else { Some(peers(connection, member)?) };
        Ok(Tried::Sent(state, signal, draft.to, peers))
    }

    /// A recipient without room.
    fn full(&self, connection: &Connection, to: Recipients) -> rusqlite::Result<Option<QueueFull>> {
        let mut select = connection.prepare_cached(
            "SELECT member, queued FROM members WHERE queued >= ?1 AND iif(?2 = 0, member <> ?3, member = ?2) LIMIT 1",
        )?;
        let one = if let Recipients::One(member) = to { member } else { 0 };
        let full = select.query_row(params![self.queue_max as i64, one, self.life.agent], |row| {
            Ok(QueueFull { by: self.life, recipient: row.get(0)?, queued: row.get::<_, i64>(1)? as u64 })
        });
        full.optional()
    }

    /// A row for each recipient.
    fn enqueue(
        &self,
        connection: &Connection,
        signal: &Signal,
        number: i64,
        counter: u64,
        to: Recipients,
    ) -> rusqlite::Result<()> {
        let whom = match to {
            Recipients::All if is(self.mutant, Mutant::BroadcastMissesOne) => {
                "member <> ?1 AND member <> (SELECT max(member) FROM members)"
            }
            Recipients::All => "member <> ?1",
            Recipients::One(_) => "member = ?1",
        };
        let one = if let Recipients::One(member) = to { member } else { self.life.agent };
        let insert = format!(
            "INSERT INTO signal_queue (recipient, signal, sender, incarnation, sequence, counter)
             SELECT member, ?2, ?3, ?4, ?5, ?6 FROM members WHERE {whom}"
        );
        let SignalId { sender, sequence } = signal.id;
        let (sequence, counter) = (sequence as i64, counter as i64);
        let values = params![one, number, sender.agent, sender.incarnation, sequence, counter];
        connection.prepare_cached(&insert)?.execute(values)?;
        let count = format!("UPDATE members SET queued = queued + 1 WHERE {whom}");
        connection.prepare_cached(&count)?.execute([one]).map(drop)
    }
}

fn insert_signal(connection: &Connection, signal: &Signal, waiting: i64) -> rusqlite::Result<i64> {
    if waiting == 0 {
        return Ok(0);
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO signals (sender, incarnation, sequence, answer_by, clock, content, waiting) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let SignalId { sender, sequence } = signal.id;
    insert.insert(params![
        sender.agent,
        sender.incarnation,
        sequence as i64,
        signal.answer_by,
        encode(&signal.clock),
        &signal.content[..],
        waiting
    ])
}

fn peers(connection: &Connection, member: u32) -> rusqlite::Result<BTreeMap<u32, Address>> {
    let mut select = connection.prepare_cached("SELECT member, agent FROM members WHERE member <> ?1")?;
    let peers = select
        .query_map([member], |row| Ok((row.get(0)?, Address::new(row.get::<_, String>(1)?, super::member::PORT))))?;
    peers.collect()
}

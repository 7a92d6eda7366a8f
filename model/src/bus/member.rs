//! A member: an agent that exchanges signals. Joining begins a life of its clock; it listens for copies, looks how far all are, and leaves. Sending and delivering
//! are in `send` and `deliver`.

use super::claims::ClockCopyRefused;
use super::clock::Clock;
use super::config::BusConfig;
use super::copies::Copies;
use super::row::{Row, State, Stop};
use super::signal::{CopyRefused, Signal};
use super::{journal, pruning};
use crate::agent::{self, Agent, AgentError, Tries};
use crate::config::Config;
use crate::mutant::{Mutant, is};
use crate::store::Bounds;
use rusqlite::{Connection, OptionalExtension, params};
use seedstorm_sim::sys::claim::signal::{IncarnationBeginning, IncarnationBegun, Life};
use seedstorm_sim::sys::net::{Address, Mailbox, Message};
use seedstorm_sim::{Os, Sys};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The port of every member's mailbox.
pub(super) const PORT: u16 = 7;

/// Messages that are taken out of the mailbox at a time, at most.
const LISTEN_MAX: usize = 256;

/// An agent that exchanges signals.
pub struct Member {
    pub(super) agent: Agent,
    pub(super) config: Rc<Config>,
    pub(super) bus: Rc<BusConfig>,
    pub(super) life: Life,
    pub(super) state: State,
    pub(super) copies: Copies,
    pub(super) mailbox: Option<Mailbox>,
    /// The other members, by number.
    pub(super) peers: Rc<BTreeMap<u32, Address>>,
    /// Whether there may be answers to send.
    pub(super) owes_answers: bool,
}

/// How far the members are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Members that have said that they send nothing more of themselves.
    pub finished: u64,
    /// Signals that wait for a recipient, over all queues.
    pub queued: u64,
    /// Answers that somebody has yet to send.
    pub owed: u64,
}

/// What the beginning of a life came to.
enum Begun {
    Life(Life, State, bool),
    Refused(String),
}

impl Member {
    /// Wakes the agent that has this process's name, and begins a life of it on the bus: its clock goes on from all that its earlier lives knew.
    ///
    /// # Errors
    /// As [`agent::wake`]; a stored clock that isn't one.
    pub async fn join(sys: &Sys, config: &Config) -> Result<Member, AgentError> {
        let mut agent = agent::wake(sys, config).await?;
        let (config, bus) = (Rc::new(config.clone()), Rc::new(config.bus.clone().unwrap_or_default()));
        // Without a mailbox there are no copies, and polling brings everything.
        let mailbox = sys.bind_sized(PORT, bus.mailbox_max).await.ok();
        let mut tries = Tries::new(sys, "the bus");
        let (life, state, owes_answers) = loop {
            let (name, mutant) = (agent.name().to_owned(), config.mutant);
            let begin = move |os: &Os, connection: &Connection| begin(os, connection, &name, mutant);
            match agent.store().change_within(sys, "begin a life", Bounds::Transaction, begin).await? {
                Ok(Begun::Life(life, state, owes)) => break (life, state, owes),
                Ok(Begun::Refused(why)) => {
                    return Err(AgentError::ClockRefused { name: agent.name().to_owned(), why });
                }
                Err(_) => tries.again(sys).await?,
            }
        };
        sys.claim(&IncarnationBegun { life }).await;
        let (copies, peers) = (Copies::default(), Rc::default());
        Ok(Member { agent, config, bus, life, state, copies, mailbox, peers, owes_answers })
    }

    /// This life.
    pub fn life(&self) -> Life {
        self.life
    }

    /// Its clock.
    pub fn clock(&self) -> &Clock {
        &self.state.kept.clock
    }

    /// Whether a copy has come that nobody has looked at yet.
    pub fn has_news(&self) -> bool {
        self.copies.has_news()
    }

    /// Whether there may be answers to send: see [`Member::answer`].
    pub fn owes_answers(&self) -> bool {
        self.owes_answers
    }

    /// Waits for copies of signals, for so many nanoseconds at most, and takes what there is. Delivers nothing yet.
    pub async fn listen(&mut self, sys: &Sys, for_ns: u64) {
        let Some(mailbox) = self.mailbox.take() else {
            let _ = sys.sleep(for_ns).await;
            return;
        };
        let mut received = if for_ns == 0 { mailbox.try_receive().await } else { mailbox.receive_within(for_ns).await };
        for _ in 0..LISTEN_MAX {
            // Nothing came, or the process is asked to end.
            let Ok(Some(message)) = received else { break };
            self.take(sys, message).await;
            received = mailbox.try_receive().await;
        }
        self.mailbox = Some(mailbox);
    }

    async fn take(&mut self, sys: &Sys, message: Message) {
        match Signal::of_copy(&message.bytes, self.config.mutant) {
            Ok(signal) => self.copies.put(signal, self.bus.copies_max),
            Err(CopyRefused::Clock(why)) => {
                let (from, why) = (message.from.process.to_string(), why.to_string());
                sys.claim(&ClockCopyRefused { by: self.life, from, why }).await;
            }
            Err(CopyRefused::Damaged) => tracing::debug!(from = %message.from, "a damaged copy"),
        }
    }

    /// Says that this member sends nothing more of itself. Gives whether that could be noted now.
    ///
    /// # Errors
    /// What no retry heals.
    pub async fn finish(&mut self, sys: &Sys) -> Result<bool, AgentError> {
        let member = self.life.agent;
        let finish = move |_: &Os, connection: &Connection| {
            connection.execute("UPDATE members SET is_finished = 1 WHERE member = ?1", [member])
        };
        let finished = self.agent.store().change_within(sys, "finish", Bounds::Transaction, finish).await?;
        Ok(finished.is_ok() || is(self.config.mutant, Mutant::FinishTakenForGranted))
    }

    /// How far the members are, at one moment; `None` if the store can't be reached now.
    ///
    /// # Errors
    /// What no retry heals.
    pub async fn survey(&mut self, sys: &Sys) -> Result<Option<Survey>, AgentError> {
        let survey = |_: &Os, connection: &Connection| {
            let select = "SELECT count(*) FILTER (WHERE is_finished), coalesce(sum(queued), 0),
                          (SELECT count(*) FROM answers_owed) FROM members";
            connection.prepare_cached(select)?.query_row([], |row| {
                let number = |at| row.get::<_, i64>(at).map(|number| number as u64);
                Ok(Survey { finished: number(0)?, queued: number(1)?, owed: number(2)? })
            })
        };
        Ok(self.agent.store().change_within(sys, "survey", Bounds::OneStatement, survey).await?.ok())
    }

    /// Leaves: what is queued for it waits until it is there again.
    ///
    /// # Errors
    /// What no retry heals.
    pub async fn leave(mut self, sys: &Sys) -> Result<(), AgentError> {
        self.agent.stop(sys).await
    }

    /// Why a transaction was not done, as an error.
    pub(super) fn stopped(&self, stop: Stop) -> AgentError {
        let name = self.agent.name().to_owned();
        match stop {
            Stop::Superseded => AgentError::Superseded { name },
            Stop::Refused(why) => AgentError::ClockRefused { name, why: why.to_string() },
        }
    }
}

/// Begins the life that the agent's registration has counted, unless an earlier try has.
fn begin(os: &Os, connection: &Connection, name: &str, mutant: Option<Mutant>) -> rusqlite::Result<Begun> {
    let incarnation: u32 =
        connection.query_row("SELECT incarnation FROM agents WHERE name = ?1", [name], |row| row.get(0))?;
    let member = connection.query_row("SELECT member FROM members WHERE agent = ?1", [name], |row| row.get(0));
    let member: Option<u32> = member.optional()?;
    let mut state = State::default();
    let mut ended = None;
    if let Some(member) = member {
        if journal::is_refused(connection, member)? {
            return Ok(Begun::Refused("it has been put aside".into()));
        }
        state.kept = match journal::load(os, connection, member, mutant)? {
            Ok(kept) => kept,
            Err(why) => return Ok(Begun::Refused(why.to_string())),
        };
        let row = Row::of(connection, member)?;
        if row.incarnation == incarnation {
            state.counter = row.counter;
            return owed(connection, member).map(|owes| Begun::Life(Life { agent: member, incarnation }, state, owes));
        }
        let last = Life { agent: member, incarnation: row.incarnation };
        pruning::note_end(connection, last, row.counter)?;
        ended = Some((last, row.counter));
    }
    let life = match member {
        Some(agent) => Life { agent, incarnation },
        None => {
            let insert = "INSERT INTO members (agent, incarnation, counter, sequence, operation, queued, is_finished)
                          VALUES (?1, ?2, 1, 0, 0, 0, 0)";
            connection.execute(insert, params![name, incarnation])?;
            Life { agent: connection.last_insert_rowid() as u32, incarnation }
        }
    };
    state.counter = state.kept.clock.tick(life);
    if member.is_some() {
        pruning::prune(connection, life.agent, &mut state.kept.clock, mutant)?;
    }
    os.claim(&IncarnationBeginning { life, clock: state.kept.clock.reading(), ended });
    let renew = "UPDATE members SET incarnation = ?2, counter = ?3, sequence = 0, is_finished = 0 WHERE member = ?1";
    connection.execute(renew, params![life.agent, incarnation, state.counter as i64])?;
    let whole = state.kept.clock.clone();
    journal::replace(connection, life.agent, &mut state.kept, &whole)?;
    owed(connection, life.agent).map(|owes| Begun::Life(life, state, owes))
}

fn owed(connection: &Connection, member: u32) -> rusqlite::Result<bool> {
    connection.query_row("SELECT EXISTS (SELECT 1 FROM answers_owed WHERE member = ?1)", [member], |row| row.get(0))
}

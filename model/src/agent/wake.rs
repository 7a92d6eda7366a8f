//! An agent's life: waking (make what is missing, tidy up after the dead, register), status, stopping. Its work is in `work`.

use super::AgentError;
use super::presence::Presence;
use crate::claims::Awake;
use crate::config::Config;
use crate::file::{FileError, create_directories, sweep_as};
use crate::lock::{Backoff, BackoffPolicy, LockError, LockName, Locks};
use crate::mutant::{Mutant, is};
use crate::store::Registered;
use crate::store::{HeldTask, Store, SwarmStatus};
use seedstorm_sim::Sys;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// An agent that is awake.
pub struct Agent {
    pub(super) name: String,
    pub(super) config: Rc<Config>,
    pub(super) store: Store,
    pub(super) locks: Locks,
    /// Claims on tasks that it holds, as far as it knows.
    pub(super) tasks: BTreeMap<String, HeldTask>,
    /// Documents that should be made shorter when it next comes by.
    pub(super) long_documents: BTreeSet<String>,
    /// Kept while it is awake, if agents keep days.
    presence: Option<Presence>,
}

/// How long a step of waking is tried, in nanoseconds, before the agent gives up and is started again by whoever runs it. Long: a crowd at a slow
/// disk keeps the database busy for minutes, and a new start would only join it.
const WAKE_NS_MAX: u64 = 300_000_000_000;

/// Makes the directories, the tables, and the keys and tasks that a swarm begins with. Whatever is there already stays as it is.
///
/// # Errors
/// What can't be made.
pub async fn prepare(
    sys: &Sys,
    config: &Config,
    keys: &[String],
    tasks: &[String],
    items: u64,
) -> Result<(), AgentError> {
    let mut agent = Agent::new(sys, config);
    agent.create_directories(sys).await?;
    agent.create_tables(sys).await?;
    let mut tries = Tries::new(sys, "the database");
    while !agent.store.provision(sys, keys, tasks, items).await? {
        tries.again(sys).await?;
    }
    agent.store.close(sys).await;
    Ok(())
}

/// Wakes the agent that has this process's name.
///
/// # Errors
/// What it can't do without, or another process of that name that is alive.
pub async fn wake(sys: &Sys, config: &Config) -> Result<Agent, AgentError> {
    let mut agent = Agent::new(sys, config);
    agent.create_directories(sys).await?;
    agent.tidy_up(sys).await;
    if agent.config.keeps_days {
        agent.presence = Some(Presence::enter(sys, &agent.config, &mut agent.store).await?);
    }
    agent.create_tables(sys).await?;
    let mut tries = Tries::new(sys, "the database");
    loop {
        match agent.store.register(sys, &agent.name).await? {
            Some(Registered::Ours(tasks)) => {
                agent.tasks = tasks;
                break;
            }
            Some(Registered::Taken(process)) => return Err(AgentError::AlreadyRunning { name: agent.name, process }),
            None => tries.again(sys).await?,
        }
    }
    if agent.config.keeps_memories {
        agent.sweep_memories(sys).await?;
    }
    if agent.config.keeps_days {
        agent.repair(sys).await?;
        sys.claim(&Awake { agent: agent.name.clone() }).await;
    }
    Ok(agent)
}

impl Agent {
    pub(super) fn new(sys: &Sys, config: &Config) -> Agent {
        let config = Rc::new(config.clone());
        Agent {
            name: sys.name(),
            store: Store::new(config.clone()),
            locks: Locks::new(&config),
            config,
            tasks: BTreeMap::new(),
            long_documents: BTreeSet::new(),
            presence: None,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    /// What there is; `None` if the store can't be reached now.
    ///
    /// # Errors
    /// What no retry heals.
    pub async fn status(&mut self, sys: &Sys) -> Result<Option<SwarmStatus>, AgentError> {
        Ok(self.store.status(sys).await?)
    }

    /// Stops: gives its tasks back, and says so. What can't be done now, time does: claims run out.
    ///
    /// # Errors
    /// What no retry heals.
    pub async fn stop(&mut self, sys: &Sys) -> Result<(), AgentError> {
        if !self.store.retire(sys, &self.name).await? {
            tracing::debug!(agent = self.name, "stopped without giving its tasks back");
        }
        self.leave(sys).await;
        Ok(())
    }

    /// Lets go of everything that goes with being awake.
    pub(super) async fn leave(&mut self, sys: &Sys) {
        self.tasks.clear();
        self.store.close(sys).await;
        // Not before the store: who finds nobody present takes the database for closed.
        self.presence = None;
    }

    /// The directories below its own.
    fn directories(&self) -> impl Iterator<Item = String> + use<> {
        let staged = self.config.keeps_days.then(|| self.config.staged());
        let memories = self.config.keeps_memories.then(|| self.config.memories());
        [self.config.locks(), self.config.documents()].into_iter().chain(staged).chain(memories)
    }

    async fn create_directories(&self, sys: &Sys) -> Result<(), AgentError> {
        let paths: Vec<String> = std::iter::once(self.config.directory.clone()).chain(self.directories()).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let mut tries = Tries::new(sys, "a directory");
        // A failed fsync says nothing about the next one: the name must be made durable by somebody else's later operation. What is in
        // the directory waits for its own.
        while let Err(error) = create_directories(sys, &paths).await {
            if !matches!(error, FileError::NotDurable { .. }) {
                return Err(error.into());
            }
            tries.again(sys).await?;
        }
        Ok(())
    }

    /// Removes what the dead left half written.
    async fn tidy_up(&self, sys: &Sys) {
        let leaves_notes = is(self.config.mutant, Mutant::TemporariesOfNotesLeft);
        for directory in self.directories().filter(|directory| !(leaves_notes && *directory == self.config.staged())) {
            if let Err(error) = sweep_as(sys, &directory, self.config.mutant).await {
                tracing::debug!(directory, %error, "not swept");
            }
        }
    }

    /// Makes the tables, if they are missing: one agent at a time.
    async fn create_tables(&mut self, sys: &Sys) -> Result<(), AgentError> {
        let mut tries = Tries::new(sys, "the database");
        loop {
            match self.store.has_schema(sys).await? {
                Some(true) => return Ok(()),
                Some(false) => {}
                None => {
                    tries.again(sys).await?;
                    continue;
                }
            }
            let held = match self.locks.acquire(sys, LockName::migration()).await {
                Ok(held) => held,
                // Whoever has it makes the tables: look again.
                Err(LockError::TimedOut { .. }) => {
                    tries.again(sys).await?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let created = self.store.create_schema(sys).await;
            self.locks.release(sys, held).await?;
            if created? {
                return Ok(());
            }
            tries.again(sys).await?;
        }
    }
}

/// Tries of something that an agent can't wake without.
pub(crate) struct Tries {
    what: &'static str,
    since_ns: u64,
    backoff: Backoff,
}

impl Tries {
    pub(crate) fn new(sys: &Sys, what: &'static str) -> Tries {
        Tries { what, since_ns: sys.monotonic_ns(), backoff: Backoff::new(BackoffPolicy::DecorrelatedJitter, None) }
    }

    /// Sleeps before the next try.
    pub(crate) async fn again(&mut self, sys: &Sys) -> Result<(), AgentError> {
        if sys.is_terminating() {
            return Err(AgentError::Terminating);
        }
        let waited_ns = sys.monotonic_ns() - self.since_ns;
        if waited_ns >= WAKE_NS_MAX {
            return Err(AgentError::OutOfReach { what: self.what, waited_ns });
        }
        // A sleep that a signal cuts short is a shorter one.
        let _ = sys.sleep(self.backoff.next_ns(&mut sys.entropy())).await;
        Ok(())
    }
}

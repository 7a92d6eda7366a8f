//! `status-true`: what agents say of each other is so. Nobody is called asleep whose sleep a crash could undo, nobody working who was dead already,
//! and nobody stopped or dead who is at work.

use super::audit::Audit;
use super::database::Auditor;
use super::lives::Lives;
use seedstorm_model::claims::{
    AgentSeen, AgentState, Awake, Committed, Effect, OperationBegun, OperationKey, StatusSeen,
};
use seedstorm_model::identity::ProcessIdentity;
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Survivor, Violation};
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::trace::{Body, Event, Interest, ProcessId};
use std::collections::{BTreeMap, BTreeSet};

/// Each status was true at some moment between its beginning and its claim.
pub struct StatusTrue {
    auditor: Auditor,
    /// When each process began its operation: the step.
    begun: BTreeMap<ProcessId, u64>,
    lives: Lives,
    /// Lives that are over: the step.
    deaths: BTreeMap<ProcessIdentity, u64>,
    /// Agents that are awake and have not begun to sleep or to end: since which step.
    awake: BTreeMap<String, u64>,
    /// Agents whose life has been asked to end: one that gets awake all the same stops at once.
    ending: BTreeSet<String>,
    /// The operation that each agent has begun last.
    latest: BTreeMap<String, u64>,
    /// Sleeps that somebody has asked for.
    sleeps: BTreeSet<OperationKey>,
    /// Sleeps that somebody was told of: by their own acknowledgement, or by a status.
    told: BTreeSet<OperationKey>,
    /// Agents that have acknowledged a sleep and have not been started or woken since.
    asleep: BTreeMap<String, u64>,
}

impl StatusTrue {
    /// Shares the auditor's readings.
    pub fn new(auditor: Auditor) -> StatusTrue {
        StatusTrue {
            auditor,
            begun: BTreeMap::new(),
            lives: Lives::default(),
            deaths: BTreeMap::new(),
            awake: BTreeMap::new(),
            ending: BTreeSet::new(),
            latest: BTreeMap::new(),
            sleeps: BTreeSet::new(),
            told: BTreeSet::new(),
            asleep: BTreeMap::new(),
        }
    }

    fn violation(&self, message: String, loss: &'static str) -> Violation {
        Violation::new(self.id(), message).object("status").role("agent").loss(loss)
    }

    fn note_life(&mut self, event: &Event<'_>, process: ProcessId, view: &View<'_>) {
        let name = view.process(process).name;
        match event.body {
            Body::Started { .. } => {
                self.asleep.remove(name);
                self.ending.remove(name);
            }
            Body::Ended(_) => {
                self.deaths.extend(self.lives.of(process).map(|life| (*life, event.step)));
                self.awake.remove(name);
            }
            Body::TerminationRequested => {
                self.awake.remove(name);
                self.ending.insert(name.to_owned());
            }
            _ => {}
        }
    }

    fn judge(&mut self, seen: AgentSeen, began: u64, view: &View<'_>) -> Result<(), Violation> {
        let AgentSeen { agent, state, process } = seen;
        let (pid, died) = (process.pid, self.deaths.get(&process).copied());
        match state {
            AgentState::Working if died.is_some_and(|died| died < began) => {
                Err(self.violation(format!("{agent} (pid {pid}) is called working, and was dead already"), "stale"))
            }
            AgentState::Dead if self.lives.living(&process, view).is_some() => {
                Err(self.violation(format!("{agent} (pid {pid}) is called dead, and is alive"), "called-dead"))
            }
            AgentState::Asleep(number) => {
                let key = OperationKey { agent: agent.clone(), number };
                if !self.sleeps.contains(&key) {
                    let message = format!("{agent} is called asleep by operation {number}, which nobody asked for");
                    return Err(self.violation(message, "invented"));
                }
                if self.awake.get(&agent).is_some_and(|since| *since < began) {
                    return Err(self.violation(format!("{agent} is called asleep, and is at work"), "asleep-at-work"));
                }
                self.told.insert(key);
                Ok(())
            }
            AgentState::Stopped
                if self.awake.get(&agent).is_some_and(|since| *since < began) && self.has_more_to_do(&agent, view) =>
            {
                Err(self.violation(format!("{agent} is called stopped, and is at work"), "stopped-at-work"))
            }
            _ => Ok(()),
        }
    }

    /// Whether the plan has operations of an agent that it hasn't begun: it doesn't stop by itself before the last one.
    fn has_more_to_do(&self, agent: &str, view: &View<'_>) -> bool {
        let last = view.plan().operations.iter().rev().find(|operation| operation.process == agent);
        last.is_some_and(|last| self.latest.get(agent) != Some(&last.id))
    }

    fn judge_sleeps(&self, audit: &Audit) -> Result<(), Violation> {
        match self.told.iter().find(|key| !audit.days.contains(&(key.agent.clone(), key.number))) {
            None => Ok(()),
            Some(OperationKey { agent, number }) => {
                let message = format!("{agent} was said to be asleep by operation {number}, and a crash undid it");
                Err(self.violation(message, "undone"))
            }
        }
    }

    fn compare(&self, view: &View<'_>) -> Result<(), Violation> {
        match &*self.auditor.read(view) {
            Ok(Some(audit)) => self.judge_sleeps(audit),
            _ => Ok(()),
        }
    }
}

impl Invariant for StatusTrue {
    fn id(&self) -> &'static str {
        "status-true"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS.and(Interest::LIVES)
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        self.lives.observe(event, view);
        if let Body::MachineCrashed = event.body {
            return self.compare(view);
        }
        let Some(process) = event.process else { return Ok(()) };
        self.note_life(event, process, view);
        if let Some(OperationBegun { key, kind }) = event.claim() {
            self.begun.insert(process, event.step);
            self.latest.insert(key.agent.clone(), key.number);
            if kind == "sleep" {
                self.awake.remove(&key.agent);
                self.sleeps.insert(key);
            }
        } else if let Some(Awake { agent }) = event.claim() {
            self.asleep.remove(&agent);
            if !self.ending.contains(&agent) {
                self.awake.insert(agent, event.step);
            }
        } else if let Some(Committed { key, effect: Effect::Slept, .. }) = event.claim() {
            self.asleep.insert(key.agent.clone(), key.number);
            self.told.insert(key);
        } else if let Some(StatusSeen { agents, .. }) = event.claim() {
            let began = self.begun.get(&process).copied().unwrap_or(0);
            return agents.into_iter().try_for_each(|seen| self.judge(seen, began, view));
        }
        Ok(())
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let reading = self.auditor.read(view);
        let Ok(Some(audit)) = &*reading else { return Ok(()) };
        self.judge_sleeps(audit)?;
        match self.asleep.iter().find(|(agent, number)| audit.asleep.get(*agent) != Some(number)) {
            None => Ok(()),
            Some((agent, number)) => {
                let message = format!("{agent} went to sleep by operation {number}, and the store doesn't say so");
                Err(self.violation(message, "not-asleep"))
            }
        }
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[StatusSeen::KIND, Committed::KIND])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        match &*survivor.reading(Audit::of) {
            Ok(Some(audit)) => self.judge_sleeps(audit),
            _ => Ok(()),
        }
    }
}

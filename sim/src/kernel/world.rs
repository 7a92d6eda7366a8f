//! What a scenario fills before a run: processes, invariants, preparation.

use super::process::{Exit, Program, RestartPolicy};
use super::run::RunError;
use crate::invariant::Invariant;
use crate::plan::Scenario;
use crate::sys::Sys;
use crate::trace::ProcessId;
use std::future::Future;
use std::rc::Rc;

/// The role of the preparation.
pub(super) const PREPARATION: &str = "prepare";

/// The first PID after the machine's boot.
pub(super) const FIRST_PID: u32 = 101;

pub(super) struct ProcessSpec {
    pub(super) role: &'static str,
    pub(super) index: u32,
    pub(super) restart: RestartPolicy,
    /// Whether the run ends without its end.
    pub(super) is_daemon: bool,
    pub(super) program: Program,
}

/// The machine before its first step.
#[derive(Default)]
pub struct World {
    pub(super) processes: Vec<ProcessSpec>,
    pub(super) has_preparation: bool,
    pub(super) invariants: Vec<Box<dyn Invariant>>,
}

impl World {
    /// Takes everything out.
    pub(super) fn clear(&mut self) {
        let World { processes, has_preparation, invariants } = self;
        processes.clear();
        *has_preparation = false;
        invariants.clear();
    }

    /// Adds a process. Its name is `ROLE-INDEX`; its program is made afresh at each boot: what several boots share is cloned inside of `program`, before its
    /// `async move`. A run ends when all processes have ended, each in the way that its restart policy takes for the last.
    pub fn process<F>(&mut self, role: &'static str, index: u32, program: impl Fn(Sys) -> F + 'static) -> ProcessId
    where
        F: Future<Output = Exit> + 'static,
    {
        self.process_with(role, index, RestartPolicy::default(), program)
    }

    /// Adds a process with a restart policy of its own.
    pub fn process_with<F>(
        &mut self,
        role: &'static str,
        index: u32,
        restart: RestartPolicy,
        program: impl Fn(Sys) -> F + 'static,
    ) -> ProcessId
    where
        F: Future<Output = Exit> + 'static,
    {
        let program: Program = Rc::new(move |sys| Box::pin(program(sys)));
        self.processes.push(ProcessSpec { role, index, restart, is_daemon: false, program });
        ProcessId(self.processes.len() as u32 - 1)
    }

    /// Adds a process that serves others and needn't end: the run is over when all others have ended, wherever this one is. A world of nothing else can't be run.
    pub fn daemon<F>(&mut self, role: &'static str, index: u32, program: impl Fn(Sys) -> F + 'static) -> ProcessId
    where
        F: Future<Output = Exit> + 'static,
    {
        let id = self.process(role, index, program);
        self.processes[id.0 as usize].is_daemon = true;
        id
    }

    /// Sets the program that runs alone, in time order and without faults, before everything else. Call it first.
    ///
    /// # Panics
    /// When a process has been added already.
    pub fn prepare<F>(&mut self, program: impl Fn(Sys) -> F + 'static) -> ProcessId
    where
        F: Future<Output = Exit> + 'static,
    {
        assert!(self.processes.is_empty(), "the preparation is the first process");
        self.has_preparation = true;
        self.process_with(PREPARATION, 0, RestartPolicy::Never, program)
    }

    /// Each of its invariants is one that the scenario lists.
    pub(super) fn check_listed(&self, scenario: &dyn Scenario) -> Result<(), RunError> {
        let listed = scenario.invariants();
        let judges = self.invariants.iter().filter(|invariant| !invariant.only_counts());
        let mut ids = judges.map(|invariant| invariant.id());
        let Some(id) = ids.find(|id| listed.iter().all(|(known, _)| known != id)) else { return Ok(()) };
        let name = scenario.name();
        let listed: Vec<&str> = listed.iter().map(|(known, _)| *known).collect();
        let listed = if listed.is_empty() { "none".to_owned() } else { listed.join(", ") };
        Err(RunError::Other(format!(
            "the scenario `{name}` adds the invariant `{id}`, which its `Scenario::invariants` doesn't list; listed: {listed}"
        )))
    }

    /// Adds an invariant.
    pub fn invariant(&mut self, invariant: impl Invariant + 'static) {
        self.invariants.push(Box::new(invariant));
    }
}

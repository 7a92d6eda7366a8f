//! `wake-succeeds`: whatever an agent's last life left, the next one wakes without help.

use crate::script::{NOT_WELL_AWAKE, TERMINATED};
use seedstorm_model::claims::Awake;
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Recovered, Violation};
use seedstorm_sim::trace::{Body, Ended, Event, Interest, ProcessId};
use std::collections::BTreeSet;

/// Each life of an agent that nobody cuts short gets awake.
#[derive(Default)]
pub struct WakeSucceeds {
    /// Who has started and isn't awake yet.
    waking: BTreeSet<ProcessId>,
}

impl WakeSucceeds {
    fn violation(&self, process: ProcessId, view: &View<'_>, why: &str) -> Violation {
        let process = view.process(process);
        let message = format!("{} (boot {}) didn't get awake: {why}", process.name, process.boot);
        Violation::new(self.id(), message).object("agent").role(process.role).loss("never-awake")
    }
}

impl Invariant for WakeSucceeds {
    fn id(&self) -> &'static str {
        "wake-succeeds"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS.and(Interest::LIVES)
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let Some(process) = event.process.filter(|process| view.process(*process).role == "agent") else {
            return Ok(());
        };
        if event.claim::<Awake>().is_some() {
            self.waking.remove(&process);
        }
        match &event.body {
            Body::Started { .. } => drop(self.waking.insert(process)),
            Body::Ended(ended) => {
                let was_waking = self.waking.remove(&process);
                if let Ended::Exited { code, why } = ended
                    && was_waking
                    && *code != TERMINATED
                {
                    return Err(self.violation(process, view, why));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }

    fn unrecovered(&self, failed: &Recovered) -> Result<(), Violation> {
        let Recovered { name, role, exit } = failed;
        if *role != "agent" || [TERMINATED, NOT_WELL_AWAKE].contains(&exit.code) {
            return Ok(());
        }
        let message = format!("{name} didn't get awake after a crash: {}", exit.why);
        Err(Violation::new(self.id(), message).object("agent").role(role).loss("never-awake"))
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        match self.waking.first() {
            None => Ok(()),
            Some(process) => Err(self.violation(*process, view, "the run is over")),
        }
    }
}

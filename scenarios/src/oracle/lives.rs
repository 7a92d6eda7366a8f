//! Which life of which process an identity means, as the harness knows it: for oracles that read identities off claims and file names.

use seedstorm_model::identity::ProcessIdentity;
use seedstorm_sim::View;
use seedstorm_sim::trace::{Body, Event, ProcessId};
use std::collections::BTreeMap;

/// The last life of each process.
#[derive(Default)]
pub(super) struct Lives {
    last: BTreeMap<ProcessId, ProcessIdentity>,
    machine_started_ns: u64,
}

impl Lives {
    /// Keeps the account; wants [`seedstorm_sim::trace::Interest::LIVES`].
    pub(super) fn observe(&mut self, event: &Event<'_>, view: &View<'_>) {
        match (&event.body, event.process) {
            (Body::MachineStarted, _) => self.machine_started_ns = event.time_ns,
            (Body::Started { pid }, Some(process)) => {
                let started_ns = event.time_ns - self.machine_started_ns;
                self.last.insert(process, ProcessIdentity { pid: *pid, started_ns, boot_id: view.boot_id() });
            }
            _ => {}
        }
    }

    /// The last life of a process.
    pub(super) fn of(&self, process: ProcessId) -> Option<&ProcessIdentity> {
        self.last.get(&process)
    }

    /// The process that is alive under this identity.
    pub(super) fn living(&self, identity: &ProcessIdentity, view: &View<'_>) -> Option<ProcessId> {
        let (process, _) = self.last.iter().find(|(_, last)| *last == identity)?;
        Some(*process).filter(|process| view.process(*process).is_live)
    }
}

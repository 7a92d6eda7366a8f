//! Which life of which process an identity means, as the harness knows it: for oracles that read identities off file names.

use seedstorm_model::identity::ProcessIdentity;
use seedstorm_sim::View;
use seedstorm_sim::trace::{Body, Event, ProcessId};
use std::collections::BTreeMap;

/// The last life of each process. PIDs come again after a machine crash, so a start time belongs to each.
#[derive(Default)]
pub(super) struct Lives {
    started_ns: BTreeMap<ProcessId, u64>,
    machine_started_ns: u64,
}

impl Lives {
    /// Keeps the account; wants [`seedstorm_sim::trace::Interest::LIVES`].
    pub(super) fn observe(&mut self, event: &Event<'_>) {
        match (&event.body, event.process) {
            (Body::MachineStarted, _) => self.machine_started_ns = event.time_ns,
            (Body::Started { .. }, Some(process)) => {
                self.started_ns.insert(process, event.time_ns - self.machine_started_ns);
            }
            _ => {}
        }
    }

    /// Whether an identity is that of a process's last life.
    pub(super) fn is_of(&self, identity: &ProcessIdentity, process: ProcessId, view: &View<'_>) -> bool {
        view.process(process).pid == identity.pid && self.started_ns.get(&process) == Some(&identity.started_ns)
    }

    /// The process that is alive under this identity.
    pub(super) fn living(&self, identity: &ProcessIdentity, view: &View<'_>) -> Option<ProcessId> {
        let mut live = view.processes().filter(|process| process.is_live).map(|process| process.id);
        live.find(|process| self.is_of(identity, *process, view))
    }
}

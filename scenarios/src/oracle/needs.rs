//! `needs-acyclic`: no task needs itself, directly or through others: it could never be claimed.

use super::audit::Audit;
use super::database::Auditor;
use petgraph::algo::toposort;
use petgraph::graphmap::DiGraphMap;
use seedstorm_model::claims::Committed;
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Survivor, Violation};
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::trace::{Body, Event, Interest};

/// What tasks need of each other has no cycle.
pub struct NeedsAcyclic {
    auditor: Auditor,
}

impl NeedsAcyclic {
    /// Shares the auditor's readings.
    pub fn new(auditor: Auditor) -> NeedsAcyclic {
        NeedsAcyclic { auditor }
    }

    fn judge(&self, reading: &Result<Option<Audit>, String>) -> Result<(), Violation> {
        // Whether it can be read at all is `database-sound`'s to say.
        let Ok(Some(audit)) = reading else { return Ok(()) };
        let edges = audit.needs.iter().map(|(task, needed)| (task.as_str(), needed.as_str()));
        let graph: DiGraphMap<&str, ()> = edges.collect();
        match toposort(&graph, None) {
            Ok(_) => Ok(()),
            Err(cycle) => {
                let message = format!("task `{}` needs itself, directly or through others", cycle.node_id());
                Err(Violation::new(self.id(), message).object("task").role("agent").loss("cycle"))
            }
        }
    }
}

impl Invariant for NeedsAcyclic {
    fn id(&self) -> &'static str {
        "needs-acyclic"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::LIVES
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        if let Body::MachineCrashed = event.body { self.judge(&self.auditor.read(view)) } else { Ok(()) }
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        self.judge(&self.auditor.read(view))
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[Committed::KIND])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        self.judge(&survivor.reading(Audit::of))
    }
}

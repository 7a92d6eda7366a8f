//! `calm-completes`: safety first, then liveness. Once the faults have stopped, each kind of operation completes at least once.

use seedstorm_model::claims::{
    Checkpointed, Committed, DocumentSaved, MemoriesVerified, OperationBegun, SnapshotRead, StatusSeen,
};
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::trace::{Body, Event, Interest, ProcessId};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// In the calm phase, at least one operation of each planned kind completes.
#[derive(Default)]
pub struct CalmCompletes {
    /// What each process is at.
    current: BTreeMap<ProcessId, Rc<OperationBegun>>,
    completed: BTreeSet<String>,
}

impl Invariant for CalmCompletes {
    fn id(&self) -> &'static str {
        "calm-completes"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let Some(process) = event.process else { return Ok(()) };
        if let Some(begun) = view.claim::<OperationBegun>(event) {
            self.current.insert(process, begun);
            return Ok(());
        }
        let kinds = [
            Committed::KIND,
            SnapshotRead::KIND,
            DocumentSaved::KIND,
            Checkpointed::KIND,
            MemoriesVerified::KIND,
            StatusSeen::KIND,
        ];
        if let Body::Claim { kind, .. } = event.body
            && kinds.contains(&kind)
            && view.is_calm()
            && let Some(OperationBegun { kind, .. }) = self.current.get(&process).map(|begun| &**begun)
            && !self.completed.contains(kind)
        {
            self.completed.insert(kind.clone());
        }
        Ok(())
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let plan = view.plan();
        let planned = plan.operations.iter().filter(|operation| operation.not_before_ns >= plan.chaos_ns);
        // Who was never there completes nothing.
        let planned = planned.filter(|operation| !plan.absent.contains(&operation.process));
        let missing = planned.map(|operation| &operation.kind).find(|kind| !self.completed.contains(*kind));
        match missing {
            None => Ok(()),
            Some(kind) => {
                let message = format!("no `{kind}` completed in the calm phase");
                Err(Violation::new(self.id(), message).object("operation").role("agent").loss("never-completes"))
            }
        }
    }
}

//! Where faults fall that are planned for a time. What is made of it is in `shrink`.

use super::Hit;
use crate::kernel::{Listener, View};
use crate::plan::{Plan, Trigger};
use crate::trace::{Body, CallKind, Event, ProcessId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Follows a run for the faults of a plan that are planned for a time.
pub(super) struct Hits(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    wanted: BTreeSet<u32>,
    calls: BTreeMap<(ProcessId, CallKind), u64>,
    last: BTreeMap<ProcessId, CallKind>,
    last_process: Option<ProcessId>,
    found: Vec<Hit>,
}

impl Hits {
    /// `None` if no fault is planned for a time.
    pub(super) fn of(plan: &Plan) -> Option<Hits> {
        let timed = plan.faults.iter().filter(|fault| matches!(fault.when, Trigger::AtNs(_)));
        let wanted: BTreeSet<u32> = timed.map(|fault| fault.id).collect();
        (!wanted.is_empty()).then(|| Hits(Arc::new(Mutex::new(Seen { wanted, ..Seen::default() }))))
    }

    pub(super) fn listener(&self) -> Listener {
        let seen = self.0.clone();
        Box::new(move |event, view| seen.lock().unwrap_or_else(PoisonError::into_inner).event(event, view))
    }

    pub(super) fn found(self) -> Vec<Hit> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).found)
    }
}

impl Seen {
    fn event(&mut self, event: &Event<'_>, view: &View<'_>) {
        let kind = match event.body {
            Body::Call { kind, .. } => kind,
            Body::Claim { .. } => CallKind::Claim,
            Body::Fault { id, .. } => return self.fault(id, event.process, view),
            _ => return,
        };
        if let Some(process) = event.process {
            *self.calls.entry((process, kind)).or_default() += 1;
            self.last.insert(process, kind);
            self.last_process = Some(process);
        }
    }

    fn fault(&mut self, id: u32, process: Option<ProcessId>, view: &View<'_>) {
        if !self.wanted.contains(&id) {
            return;
        }
        let Some(process) = process.or(self.last_process) else { return };
        let Some(kind) = self.last.get(&process).copied() else { return };
        let nth = self.calls.get(&(process, kind)).copied().unwrap_or(0);
        self.found.push(Hit { id, process: view.process(process).name.to_owned(), kind, nth });
    }
}

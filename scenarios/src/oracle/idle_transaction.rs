//! `no-idle-transaction`: whoever is between two transactions doesn't hold the database's write lock.

use seedstorm_model::claims::{BusyRetried, OperationBegun, OutcomeUnknown, Refused};
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::sqlite::SharedLockCall;
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::trace::{Body, CallKind, Event, Interest, ProcessId};
use std::collections::BTreeMap;

/// An agent that begins an operation, gives it up or tries it again has no transaction open: it would lock everybody out.
#[derive(Default)]
pub struct NoIdleTransaction {
    /// Who holds the write lock, by database.
    writers: BTreeMap<u64, ProcessId>,
}

/// What is claimed between transactions only.
const BETWEEN: [&str; 4] = [OperationBegun::KIND, Refused::KIND, BusyRetried::KIND, OutcomeUnknown::KIND];

impl Invariant for NoIdleTransaction {
    fn id(&self) -> &'static str {
        "no-idle-transaction"
    }

    fn interest(&self) -> Interest {
        Interest::call(CallKind::SharedLock).and(Interest::CLAIMS).and(Interest::LIVES)
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let Some(process) = event.process else { return Ok(()) };
        match event.body {
            Body::Call { kind: CallKind::SharedLock, object, arguments, result: Ok(_), .. } => {
                let call = SharedLockCall::of(arguments);
                if call.first == SharedLockCall::WRITE && call.excludes {
                    self.writers.insert(object, process);
                } else if call.first == SharedLockCall::WRITE && call.releases {
                    self.writers.remove(&object);
                }
            }
            Body::Ended(_) => self.writers.retain(|_, writer| *writer != process),
            Body::Claim { kind, .. }
                if BETWEEN.contains(&kind) && self.writers.values().any(|writer| *writer == process) =>
            {
                let name = view.process(process).name;
                let message = format!("{name} holds the database's write lock between two transactions");
                return Err(Violation::new(self.id(), message).object("transaction").role("agent").loss("left-open"));
            }
            _ => {}
        }
        Ok(())
    }
}

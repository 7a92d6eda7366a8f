//! `no-idle-transaction`: whoever is between two transactions has neither the database's write lock nor a snapshot of it.

use seedstorm_model::claims::{BusyRetried, OperationBegun, OutcomeUnknown, Refused};
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::sqlite::SharedLockCall;
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::trace::{Body, CallKind, Event, Interest, ProcessId};
use std::collections::{BTreeMap, BTreeSet};

/// An agent that begins an operation, gives it up or tries it again has no transaction open: it would lock writers out, or keep the WAL from ever being reset.
#[derive(Default)]
pub struct NoIdleTransaction {
    /// Who holds the write lock, by database.
    writers: BTreeMap<u64, ProcessId>,
    /// Who has a snapshot, by database.
    readers: BTreeSet<(u64, ProcessId)>,
}

impl NoIdleTransaction {
    fn violation(&self, message: String, object: &'static str) -> Violation {
        Violation::new(self.id(), message).object(object).role("agent").loss("left-open")
    }
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
                } else if call.first >= SharedLockCall::FIRST_READ && call.count == 1 {
                    if call.releases {
                        self.readers.remove(&(object, process));
                    } else if !call.excludes {
                        self.readers.insert((object, process));
                    }
                }
            }
            Body::Ended(_) => {
                self.writers.retain(|_, writer| *writer != process);
                self.readers.retain(|(_, reader)| *reader != process);
            }
            Body::Claim { kind, .. } if BETWEEN.contains(&kind) => {
                let name = view.process(process).name;
                if self.writers.values().any(|writer| *writer == process) {
                    let message = format!("{name} holds the database's write lock between two transactions");
                    return Err(self.violation(message, "transaction"));
                }
                if self.readers.iter().any(|(_, reader)| *reader == process) {
                    let message = format!("{name} has a snapshot between two transactions: no checkpoint gets past it");
                    return Err(self.violation(message, "snapshot"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

//! What must happen sometimes: read off claims and SQLite's own locks, so that a sweep can show that it went where bugs live. It judges nothing.

use seedstorm_model::claims::{BusyRetried, Committed, OperationBegun, OutcomeUnknown, Refused};
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::sqlite::SharedLockCall;
use seedstorm_sim::sys::claim::{Claim, Happened};
use seedstorm_sim::trace::{Body, CallKind, Event, Interest, ProcessId};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a WAL's header; no frame is as short.
const WAL_HEADER_BYTES: u64 = 32;

/// Notes what a storm must reach sometimes.
#[derive(Default)]
pub struct Coverage {
    /// By database: who holds each slot.
    slots: BTreeMap<u64, [Vec<ProcessId>; SharedLockCall::SLOTS]>,
    /// WALs whose header has been written.
    headed: BTreeSet<u64>,
    /// When each process began its operation, in nanoseconds.
    begun_ns: BTreeMap<ProcessId, u64>,
}

impl Invariant for Coverage {
    fn id(&self) -> &'static str {
        "coverage"
    }

    fn only_counts(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        let calls = Interest::call(CallKind::SharedLock).and(Interest::call(CallKind::WriteAt));
        Interest::CLAIMS.and(Interest::LIVES).and(calls)
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        match event.body {
            Body::Call { kind: CallKind::WriteAt, object, arguments: [0, WAL_HEADER_BYTES], result: Ok(_), .. }
                if !self.headed.insert(object) =>
            {
                view.cover("wal_reset");
            }
            Body::Call { kind: CallKind::SharedLock, object, arguments, result: Ok(_), .. } => {
                if let Some(process) = event.process {
                    self.locked(object, process, SharedLockCall::of(arguments), view);
                }
            }
            Body::Claim { kind, .. } => {
                if let (Some(process), OperationBegun::KIND) = (event.process, kind) {
                    self.begun_ns.insert(process, event.time_ns);
                    return Ok(());
                }
                if let (Some(process), Committed::KIND) = (event.process, kind)
                    && let Some(begun_ns) = self.begun_ns.remove(&process)
                {
                    view.latency("transaction_ns", event.time_ns - begun_ns);
                }
                note_claim(event, view);
            }
            Body::Ended(_) => {
                let process = event.process;
                let held = self.slots.values_mut().flatten();
                held.for_each(|holders| holders.retain(|holder| Some(*holder) != process));
            }
            _ => {}
        }
        Ok(())
    }
}

fn note_claim(event: &Event<'_>, view: &View<'_>) {
    if event.claim::<BusyRetried>().is_some() {
        view.cover("busy_retried");
    } else if event.claim::<OutcomeUnknown>().is_some() {
        view.cover("ambiguous_commit");
    } else if let Some(committed) = view.claim::<Committed>(event) {
        if committed.was_found {
            view.cover("outcome_found_later");
        }
        view.count("transactions", 1);
    } else if event.claim::<Refused>().is_some_and(|refused| refused.why.starts_with("a cycle")) {
        view.cover("needs_cycle_refused");
    } else if let Some(Happened { what }) = event.claim()
        && let Some(name) = KNOWN.iter().find(|known| **known == what)
    {
        view.cover(name);
    }
}

/// Names that the engine itself may report.
const KNOWN: [&str; 6] =
    ["lock_reclaimed", "lease_taken_over", "quarantined", "disk_full_handled", "reopened", "fair_turn_waited"];

impl Coverage {
    fn locked(&mut self, database: u64, process: ProcessId, call: SharedLockCall, view: &View<'_>) {
        const WRITE: usize = SharedLockCall::WRITE;
        const CHECKPOINT: usize = SharedLockCall::CHECKPOINT;
        let slots = self.slots.entry(database).or_default();
        for holders in slots.iter_mut().skip(call.first).take(call.count) {
            if call.releases {
                holders.retain(|holder| *holder != process);
            } else if !holders.contains(&process) {
                holders.push(process);
            }
        }
        let another = |slot: usize| slots[slot].iter().any(|holder| *holder != process);
        let locks = |slot: usize| !call.releases && call.first == slot;
        if locks(WRITE) && another(CHECKPOINT) || locks(CHECKPOINT) && another(WRITE) {
            view.cover("checkpoint_beside_writer");
        }
        let mut readers = SharedLockCall::FIRST_READ..SharedLockCall::SLOTS;
        if call.first == WRITE && call.releases && readers.any(another) {
            view.cover("reader_held_snapshot");
        }
    }
}

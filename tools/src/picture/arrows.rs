//! Messages of a run: which `receive` took what a `send` sent, and which messages never arrived.

use super::bars::Place;
use seedstorm_sim::plan::FaultKind;
use seedstorm_sim::trace::{Body, CallKind, Event, ProcessId, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// One end of a message's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) process: ProcessId,
    pub(crate) task: Option<TaskId>,
    pub(crate) at: Place,
    /// How long the call took, in simulated nanoseconds.
    pub(crate) took_ns: u64,
}

/// A message, or one copy of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrow {
    pub(crate) message: u64,
    pub(crate) from: End,
    /// Where it was received; `None`: it never was, and something said so.
    pub(crate) to: Option<End>,
}

/// Arrows of a run, event by event.
#[derive(Default)]
pub(crate) struct Arrows {
    sent: BTreeMap<u64, End>,
    lost: BTreeSet<u64>,
    received: Vec<Arrow>,
}

impl Arrows {
    /// Takes in the next event.
    pub(crate) fn observe(&mut self, event: &Event<'_>, at: Place) {
        match event.body {
            Body::Call { kind, object, result: Ok(_), took_ns, .. } => {
                let Some(process) = event.process else { return };
                let end = End { process, task: event.task, at, took_ns };
                match kind {
                    CallKind::Send => drop(self.sent.insert(object, end)),
                    CallKind::Receive => {
                        if let Some(from) = self.sent.get(&object) {
                            self.received.push(Arrow { message: object, from: *from, to: Some(end) });
                        }
                    }
                    _ => {}
                }
            }
            Body::MessageFault { kind: FaultKind::MessageLoss, message, .. } | Body::MessageDropped { message, .. } => {
                self.lost.insert(message);
            }
            _ => {}
        }
    }

    /// All of them, in the order in which they were sent.
    pub(crate) fn finish(mut self) -> Vec<Arrow> {
        let arrived: BTreeSet<u64> = self.received.iter().map(|arrow| arrow.message).collect();
        let lost = self.lost.iter().filter(|message| !arrived.contains(message));
        let lost = lost.filter_map(|message| self.sent.get(message).map(|from| (*message, *from)));
        self.received.extend(lost.map(|(message, from)| Arrow { message, from, to: None }));
        self.received.sort_by_key(|arrow| (arrow.from.at, arrow.to.map(|end| end.at)));
        self.received
    }
}

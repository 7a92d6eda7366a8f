//! `replay`: follows recorded decisions, and says where it had to leave them. Files of decisions are not its business.

use super::departures::Cursor;
use super::{Departures, Ready, Strategy, default_choice};
use crate::trace::{CallKind, ProcessId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A departure from the default rule: at this step, this call of this task took effect. Named, so that it survives changes of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The step's number; the first is 1.
    pub step: u64,
    /// Whose call.
    pub process: ProcessId,
    /// Which task of the process; the main task is 0.
    pub ordinal: u16,
    /// Which system call.
    pub kind: CallKind,
}

/// Everything that a strategy decided in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decisions {
    /// Departures from the default rule, by step.
    pub departures: Departures,
    /// Latencies that a strategy changed: (number of the call, its latency in nanoseconds).
    pub delays: Vec<(u64, u64)>,
}

/// Where a replay first left its recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// The step.
    pub step: u64,
    /// What the recording says.
    pub expected: Decision,
    /// What could be done there: (process, task, call) of each ready call.
    pub found: Vec<(ProcessId, u32, CallKind)>,
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decision { process, ordinal, kind, .. } = self.expected;
        write!(f, "step {}: recorded was ", self.step)?;
        if self.expected.step != self.step {
            write!(f, "step {} with ", self.expected.step)?;
        }
        write!(f, "`{kind}` of process {} task {ordinal}; ", process.0)?;
        if self.found.is_empty() {
            return f.write_str("the run had ended");
        }
        f.write_str("ready were")?;
        for (process, ordinal, kind) in &self.found {
            write!(f, " `{kind}` of {}/{ordinal}", process.0)?;
        }
        Ok(())
    }
}

/// Follows recorded decisions.
pub struct Replay {
    decisions: Decisions,
    step: u64,
    next_departure: Cursor,
    next_delay: usize,
    last: Option<(ProcessId, u32)>,
    drift: Option<Drift>,
}

impl Replay {
    /// A replay of `decisions`.
    pub fn new(decisions: Decisions) -> Replay {
        Replay { decisions, step: 0, next_departure: Cursor::default(), next_delay: 0, last: None, drift: None }
    }
}

/// Whether it is the call of a task that went last, not a wake-up beside it.
fn is_own_call(call: &Ready, last: (ProcessId, u32)) -> bool {
    (call.process, call.ordinal) == last && call.kind != CallKind::Wake
}

impl Strategy for Replay {
    fn next(&mut self, ready: &[Ready], _now_ns: u64) -> usize {
        self.step += 1;
        let last = self.last.and_then(|last| ready.iter().position(|call| is_own_call(call, last)));
        let mut choice = default_choice(ready, last);
        let next = self.next_departure.peek(&self.decisions.departures);
        if let Some(expected) = next.filter(|decision| decision.step == self.step) {
            self.next_departure.next(&self.decisions.departures);
            let same_task = |call: &Ready| call.process == expected.process && call.ordinal as u16 == expected.ordinal;
            let exact = ready.iter().position(|call| same_task(call) && call.kind == expected.kind);
            if exact.is_none() && self.drift.is_none() {
                let found = ready.iter().map(|call| (call.process, call.ordinal, call.kind)).collect();
                self.drift = Some(Drift { step: self.step, expected, found });
            }
            // The nearest legal choice: the same task, then the same process, then the default.
            choice = exact
                .or_else(|| ready.iter().position(same_task))
                .or_else(|| ready.iter().position(|call| call.process == expected.process))
                .unwrap_or(choice);
        }
        self.last = Some((ready[choice].process, ready[choice].ordinal));
        choice
    }

    fn delays(&self) -> bool {
        !self.decisions.delays.is_empty()
    }

    fn delay(&mut self, _call: &Ready, sequence: u64, drawn_ns: u64) -> u64 {
        match self.decisions.delays.get(self.next_delay) {
            Some(&(number, delay_ns)) if number == sequence => {
                self.next_delay += 1;
                delay_ns
            }
            _ => drawn_ns,
        }
    }

    fn ended(&mut self, process: ProcessId) {
        // The default rule stays on a task, not on its successor after a restart.
        self.last = self.last.filter(|(last, _)| *last != process);
    }

    fn run_ended(&mut self) {
        // A run that ends before its recording has left it, too.
        if self.drift.is_none()
            && let Some(expected) = self.next_departure.peek(&self.decisions.departures)
        {
            self.drift = Some(Drift { step: self.step + 1, expected, found: Vec::new() });
        }
    }

    fn drift(&self) -> Option<&Drift> {
        self.drift.as_ref()
    }
}

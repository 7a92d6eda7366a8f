//! The beat of a run: where it is, for somebody who looks from another thread whether it goes on. It is only written here, so nothing of it reaches the run.

use super::process::Process;
use super::world::PREPARATION;
use crate::schedule::{Ready, Recording, Turns};
use crate::trace::{CallKind, ProcessId};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where a run is. One after the other may have it ([`crate::Settings::beat`]).
#[derive(Debug, Default)]
pub struct Beat {
    beats: AtomicU64,
    step: AtomicU64,
    time_ns: AtomicU64,
    object: AtomicU64,
    process: AtomicU32,
    ordinal: AtomicU32,
    kind: AtomicU32,
    stage: AtomicU32,
    is_judging: AtomicBool,
    /// The run's machine, and above it the one of a recovery.
    machines: Mutex<Vec<Machine>>,
    /// Where the run writes down who went when, if it does.
    recording: Mutex<Option<Recording>>,
}

/// A machine, as far as its processes' names go.
#[derive(Debug, Default)]
struct Machine {
    /// Names and roles.
    processes: Vec<(String, &'static str)>,
    /// Step and time of the run when this recovery began.
    before: (u64, u64),
}

/// What is being done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// There is no run.
    #[default]
    None,
    /// A scenario draws a plan.
    Plan,
    /// A scenario makes its processes.
    SetUp,
    /// A program runs, in the poll of one of its tasks.
    Program,
    /// What a process held is dropped: it has ended.
    Destructors,
    /// No program runs: a crash point has been explored, or all steps have been taken.
    Between,
}

const STAGES: [Stage; 6] = [Stage::None, Stage::Plan, Stage::SetUp, Stage::Program, Stage::Destructors, Stage::Between];

/// Where a run was when somebody looked. Of a run that goes on its parts may be of two steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Another one after each step: where it is the same at two looks, nothing has happened between them.
    pub beats: u64,
    /// What is being done.
    pub stage: Stage,
    /// Whether invariants are looking at what has just happened.
    pub is_judging: bool,
    /// In the recovery from a crash that is explored: the run's own step there, and the simulated time in nanoseconds.
    pub recovered_at: Option<(u64, u64)>,
    /// Which process; the first one, where no program has run yet.
    pub process: Option<ProcessId>,
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: String,
    /// Which of its tasks; the main task is 0.
    pub ordinal: u32,
    /// The call that took effect in this step.
    pub kind: Option<CallKind>,
    /// What calls that race with it touch, too: an inode, a lock, the key of a name; 0 for nothing.
    pub object: u64,
    /// The step; a recovery has steps of its own.
    pub step: u64,
    /// The simulated time, in nanoseconds.
    pub time_ns: u64,
}

impl Beat {
    /// Where the run is.
    pub fn look(&self) -> Place {
        let machines = self.machines();
        let beats = self.beats.load(Relaxed);
        let stage = STAGES.get(self.stage.load(Relaxed) as usize).copied().unwrap_or_default();
        let id = self.process.load(Relaxed);
        let named = machines.last().and_then(|machine| machine.processes.get(id as usize)).cloned();
        let (process, (name, role)) = (named.as_ref().map(|_| ProcessId(id)), named.unwrap_or_default());
        Place {
            beats,
            stage,
            is_judging: self.is_judging.load(Relaxed),
            recovered_at: machines.get(1).map(|recovery| recovery.before),
            process,
            name,
            role: role.to_owned(),
            ordinal: self.ordinal.load(Relaxed),
            kind: CallKind::ALL.get(self.kind.load(Relaxed) as usize).copied(),
            object: self.object.load(Relaxed),
            step: self.step.load(Relaxed),
            time_ns: self.time_ns.load(Relaxed),
        }
    }

    /// The names of the run's processes, without the preparation; none before the scenario has made them.
    pub fn processes(&self) -> Vec<String> {
        let machines = self.machines();
        let processes = machines.first().map_or(&[][..], |machine| &machine.processes);
        processes.iter().filter(|(_, role)| *role != PREPARATION).map(|(name, _)| name.clone()).collect()
    }

    /// Who has gone when in the chaos of the run, the task included that goes on now; `None` if it is not written down ([`crate::Settings::records_turns`]). With them a run that stands
    /// still can be led to where it stands.
    pub fn turns(&self) -> Option<Turns> {
        let recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let turns = recording.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Some(turns)
    }

    /// Draws a plan, which is no run but may stand still as well.
    pub fn draws<T>(&self, draw: impl FnOnce() -> T) -> T {
        /// It is over, also where it panics.
        struct Drawing<'a>(&'a Beat);

        impl Drop for Drawing<'_> {
            fn drop(&mut self) {
                self.0.ends();
            }
        }

        let _drawing = Drawing(self);
        self.begins();
        self.is_at(Stage::Plan);
        draw()
    }

    /// A run begins, with its scenario's set-up.
    pub(super) fn begins(&self) {
        *self.machines() = vec![Machine::default()];
        self.is_written_down_in(None);
        self.is_judging.store(false, Relaxed);
        self.starts_over((0, 0));
    }

    /// A recovery begins inside the run. It ends with what is returned.
    pub(super) fn recovers(self: &Arc<Beat>) -> Recovering {
        let before = (self.step.load(Relaxed), self.time_ns.load(Relaxed));
        let call = [&self.process, &self.ordinal, &self.kind].map(|part| part.load(Relaxed));
        let object = self.object.load(Relaxed);
        self.machines().push(Machine { before, ..Machine::default() });
        self.starts_over((0, before.1));
        Recovering { beat: self.clone(), call, object }
    }

    fn starts_over(&self, (step, time_ns): (u64, u64)) {
        self.process.store(u32::MAX, Relaxed);
        self.kind.store(u32::MAX, Relaxed);
        self.object.store(0, Relaxed);
        self.step.store(step, Relaxed);
        self.time_ns.store(time_ns, Relaxed);
        self.is_at(Stage::SetUp);
    }

    /// Who goes when is written down there.
    pub(super) fn is_written_down_in(&self, recording: Option<Recording>) {
        *self.recording.lock().unwrap_or_else(PoisonError::into_inner) = recording;
    }

    /// The scenario has made these processes.
    pub(super) fn names(&self, processes: &[Process]) {
        if let Some(machine) = self.machines().last_mut() {
            machine.processes = processes.iter().map(|process| (process.name.clone(), process.role)).collect();
        }
    }

    /// A task is about to be polled: for the call that it has announced, if that is granted, for the first time, or for a wake-up beside its call.
    pub(super) fn steps(&self, step: u64, time_ns: u64, call: &Ready, is_granted: bool) {
        let Ready { process, ordinal, object, kind, .. } = *call;
        let is_its = is_granted || matches!(kind, CallKind::Boot | CallKind::Start);
        let (kind, object) = if is_its { (kind, object) } else { (CallKind::Wake, 0) };
        self.step.store(step, Relaxed);
        self.time_ns.store(time_ns, Relaxed);
        self.kind.store(kind as u32, Relaxed);
        self.object.store(object, Relaxed);
        self.process.store(process.0, Relaxed);
        self.ordinal.store(ordinal, Relaxed);
        self.is_at(Stage::Program);
    }

    /// What a task held is about to be dropped.
    pub(super) fn drops(&self, process: ProcessId, ordinal: u32) {
        self.process.store(process.0, Relaxed);
        self.ordinal.store(ordinal, Relaxed);
        self.is_at(Stage::Destructors);
    }

    /// Invariants begin or end to look at something.
    pub(super) fn judges(&self, is_judging: bool) {
        self.is_judging.store(is_judging, Relaxed);
        self.beats();
    }

    /// All steps have been taken.
    pub(super) fn is_over(&self) {
        self.is_at(Stage::Between);
    }

    /// There is no run any more.
    pub(super) fn ends(&self) {
        self.is_at(Stage::None);
    }

    fn is_at(&self, stage: Stage) {
        self.stage.store(stage as u32, Relaxed);
        self.beats();
    }

    /// There is one writer: threads of a run take turns.
    fn beats(&self) {
        self.beats.store(self.beats.load(Relaxed).wrapping_add(1), Relaxed);
    }

    fn machines(&self) -> MutexGuard<'_, Vec<Machine>> {
        self.machines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A recovery that goes on, and what the run was at before it: whoever judges what came of it looks at that again.
pub(super) struct Recovering {
    beat: Arc<Beat>,
    /// Process, task and kind.
    call: [u32; 3],
    object: u64,
}

impl Drop for Recovering {
    fn drop(&mut self) {
        let Recovering { beat, call, object } = self;
        for (part, before) in [&beat.process, &beat.ordinal, &beat.kind].into_iter().zip(*call) {
            part.store(before, Relaxed);
        }
        beat.object.store(*object, Relaxed);
        if let Some(Machine { before: (step, time_ns), .. }) = beat.machines().pop() {
            beat.step.store(step, Relaxed);
            beat.time_ns.store(time_ns, Relaxed);
        }
        beat.is_at(Stage::Between);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::TaskId;

    #[test]
    fn a_recovery_is_told_apart_and_leaves_the_run_where_it_was() {
        let beat = Arc::new(Beat::default());
        assert_eq!(beat.look().stage, Stage::None);
        beat.begins();
        let (task, process) = (TaskId(5), ProcessId(0));
        let call = Ready { due_ns: 0, object: 9, task, process, ordinal: 2, kind: CallKind::Read, is_again: false };
        beat.steps(7, 70, &call, true);
        let run = beat.look();
        assert_eq!((run.stage, run.step, run.ordinal), (Stage::Program, 7, 2));
        assert_eq!((run.kind, run.object), (Some(CallKind::Read), 9));
        beat.steps(7, 70, &call, false);
        assert_eq!(
            (beat.look().kind, beat.look().object),
            (Some(CallKind::Wake), 0),
            "its call is not what it goes on for"
        );
        beat.steps(7, 70, &call, true);
        let recovering = beat.recovers();
        let recovery = beat.look();
        assert_eq!((recovery.recovered_at, recovery.stage, recovery.step), (Some((7, 70)), Stage::SetUp, 0));
        assert!(recovery.beats > run.beats);
        let (process, kind) = (ProcessId(1), CallKind::Open);
        beat.steps(3, 90, &Ready { process, kind, ordinal: 0, object: 4, ..call }, true);
        drop(recovering);
        assert_eq!((beat.look().recovered_at, beat.look().step, beat.look().time_ns), (None, 7, 70));
        // What judges the survivor now is called by the run.
        assert_eq!((beat.process.load(Relaxed), beat.look().ordinal), (0, 2));
        assert_eq!((beat.look().kind, beat.look().object), (Some(CallKind::Read), 9));
    }
}

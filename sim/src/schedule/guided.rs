//! `guided`: follows the turns of another run as far as there is something to follow: after a change of code, of plan, or of the turns. Where it can't, it
//! says so and takes the nearest that can be.

use super::recorder::Lives;
use super::turns::Turns;
use super::turns_left::TurnsLeft;
use super::{Random, Ready, Strategy, default_choice};
use crate::seed::Seed;
use crate::trace::{CallKind, ProcessId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

/// Turns to follow, and what comes after them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Guide {
    /// The turns.
    pub turns: Turns,
    /// After how many steps of the chaos they are left; `None`: never.
    pub leave_after: Option<u64>,
    /// How it goes on then: at random from this seed; `None`: by the default rule, which stays on a task as long as it can.
    pub then: Option<Seed>,
}

/// How well turns could be followed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guided {
    /// The first step that was not as recorded.
    pub drift: Option<TurnDrift>,
    /// Calls that came as they were recorded, whenever that was.
    pub calls_followed: u64,
    /// Calls that tasks made and the recording does not have.
    pub calls_new: u64,
    /// Calls that the recording has and tasks did not make where they should.
    pub calls_missing: u64,
}

/// The first step that was not as recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnDrift {
    /// The step of the chaos; the first is 1.
    pub step: u64,
    /// Whose turn it was.
    pub task: String,
    /// The call that was recorded.
    pub expected: CallKind,
    /// The call that the task had announced; `None`: it could not go.
    pub found: Option<CallKind>,
}

impl fmt::Display for TurnDrift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TurnDrift { step, task, expected, found } = self;
        write!(f, "step {step} of the chaos: recorded was `{expected}` of {task}; ")?;
        match found {
            Some(found) => write!(f, "it now calls `{found}`"),
            None => f.write_str("it could not go"),
        }
    }
}

/// Where the report is found after the run.
pub(crate) type Report = Arc<Mutex<Guided>>;

/// After so many calls of a task that its recording does not have, its place in it is looked for further on.
const NEW_CALLS_BEFORE_SEARCH: usize = 4;

/// After so many it is given up: it goes a way of its own.
const NEW_CALLS_MAX: usize = 64;

/// How far ahead a task's place is looked for.
const SEARCHED_CALLS: usize = 256;

/// How many calls must be alike for a place to count as found.
const ALIKE_CALLS: usize = 3;

pub(crate) struct Following {
    guide: Guide,
    report: Report,
    found: Guided,
    lives: Lives,
    by_life: BTreeMap<(ProcessId, u32, u32), usize>,
    places: Vec<Place>,
    /// The process and ordinal of each recorded task, if the process exists.
    ids: Vec<Option<(ProcessId, u32, u32)>>,
    /// For each recorded task its operations by id, and where it began each.
    operations: Vec<Vec<(u64, u32)>>,
    /// The turns that are not over.
    left: TurnsLeft,
    next_delay: BTreeMap<(u32, u32, CallKind), u64>,
    last: Option<(ProcessId, u32)>,
    steps: u64,
    random: Option<Random>,
}

/// How far a task is in its recording.
#[derive(Clone, Default)]
struct Place {
    made: u32,
    /// Calls since then that the recording does not have.
    new: Vec<CallKind>,
    /// How often each operation was begun.
    begun: BTreeMap<u64, usize>,
    is_lost: bool,
}

impl Following {
    pub(crate) fn new(guide: Guide, names: Rc<[String]>, report: Report) -> Following {
        let id = |name: &str| names.iter().position(|other| other == name).map(|index| ProcessId(index as u32));
        let ids: Vec<_> = guide
            .turns
            .tasks
            .iter()
            .map(|task| id(&task.name.process).map(|process| (process, task.name.boot, task.name.ordinal)))
            .collect();
        let mut left = TurnsLeft::all(&guide.turns.turns, ids.len());
        for task in (0..ids.len()).filter(|task| ids[*task].is_none()) {
            left.end_all(task);
        }
        let by_life = ids.iter().enumerate().filter_map(|(index, life)| Some(((*life)?, index))).collect();
        let delays = guide.turns.delays.iter();
        let operations = guide.turns.tasks.iter().map(|task| {
            let mut operations: Vec<(u64, u32)> = task.operations.iter().map(|(made, id)| (*id, *made)).collect();
            operations.sort_by_key(|(id, _)| *id);
            operations
        });
        Following {
            next_delay: delays.map(|delay| ((delay.task, delay.call, delay.kind), delay.delay_ns)).collect(),
            places: vec![Place::default(); ids.len()],
            random: guide.then.map(Random::new),
            lives: Lives::new(names),
            found: Guided::default(),
            operations: operations.collect(),
            left,
            last: None,
            steps: 0,
            guide,
            report,
            by_life,
            ids,
        }
    }

    fn task_of(&self, call: &Ready) -> Option<usize> {
        self.by_life.get(&(call.process, self.lives.of(call.process), call.ordinal)).copied()
    }

    /// The call of a recorded task among the ready ones: the recorded kind, or whatever it has announced.
    fn ready_call(&self, task: usize, ready: &[Ready]) -> Option<usize> {
        let (process, boot, ordinal) = self.ids[task]?;
        if self.lives.of(process) != boot {
            return None;
        }
        let is_its = |call: &Ready| (call.process, call.ordinal) == (process, ordinal);
        let expected = self.expected(task);
        ready
            .iter()
            .position(|call| is_its(call) && Some(call.kind) == expected)
            .or_else(|| ready.iter().position(|call| is_its(call) && call.kind != CallKind::Wake))
    }

    fn expected(&self, task: usize) -> Option<CallKind> {
        self.guide.turns.tasks[task].calls.get(self.places[task].made as usize).copied()
    }

    /// Whose turn it is: of the turns that are left the first that is possible.
    fn whose_turn(&mut self, ready: &[Ready]) -> Option<usize> {
        let first = self.left.first_task(&self.guide.turns.turns)?;
        if !self.places[first].is_lost
            && let Some(choice) = self.ready_call(first, ready)
        {
            return Some(choice);
        }
        self.note_drift(first, None);
        // A turn is possible only if a call of its task is ready: however many turns can't be had, there are no more than those to look at.
        let turns = ready.iter().filter_map(|call| {
            let task = self.task_of(call)?;
            let is_possible = !self.places[task].is_lost
                && (call.kind != CallKind::Wake || self.expected(task) == Some(CallKind::Wake));
            if is_possible { Some((self.left.first_of(task)?, task)) } else { None }
        });
        let (_, task) = turns.min()?;
        self.ready_call(task, ready)
    }

    fn note_drift(&mut self, task: usize, found: Option<CallKind>) {
        if self.found.drift.is_none()
            && let Some(expected) = self.expected(task)
        {
            let task = self.guide.turns.tasks[task].name.to_string();
            self.found.drift = Some(TurnDrift { step: self.steps, task, expected, found });
        }
    }

    /// A recorded task makes a call: where is it in its recording now?
    fn advance(&mut self, task: usize, kind: CallKind) {
        self.place(task, kind);
        self.left.end_until(&self.guide.turns.turns, task, self.places[task].made);
    }

    fn place(&mut self, task: usize, kind: CallKind) {
        if self.places[task].is_lost {
            return;
        }
        let calls = &self.guide.turns.tasks[task].calls;
        let made = self.places[task].made as usize;
        if calls.get(made) == Some(&kind) {
            self.places[task].made += 1;
            self.places[task].new.clear();
            self.found.calls_followed += 1;
            return;
        }
        // A call that had to wait was picked again and again; now it need not.
        let retried = match made.checked_sub(1).and_then(|before| calls.get(before)) {
            Some(before) => calls[made..].iter().take_while(|call| *call == before).count(),
            None => 0,
        };
        if retried > 0 && calls.get(made + retried) == Some(&kind) {
            self.places[task].made += retried as u32 + 1;
            self.places[task].new.clear();
            self.found.calls_followed += retried as u64 + 1;
            return;
        }
        // Calls that took the place of as many recorded ones: what has another name now.
        let replaced = self.places[task].new.len();
        if replaced > 0 && calls.get(made + replaced) == Some(&kind) {
            let place = &mut self.places[task];
            place.made += replaced as u32 + 1;
            place.new.clear();
            self.found.calls_followed += 1;
            self.found.calls_missing += replaced as u64;
            return;
        }
        if made < calls.len() {
            self.note_drift(task, Some(kind));
        }
        let place = &mut self.places[task];
        place.new.push(kind);
        self.found.calls_new += 1;
        if place.new.len() >= NEW_CALLS_BEFORE_SEARCH {
            let tail = &place.new[place.new.len() - ALIKE_CALLS..];
            let calls = &self.guide.turns.tasks[task].calls;
            let until = calls.len().min(made + SEARCHED_CALLS);
            if let Some(at) = calls[made..until].windows(ALIKE_CALLS).position(|window| window == tail) {
                place.made = (made + at + ALIKE_CALLS) as u32;
                place.new.clear();
                self.found.calls_new -= ALIKE_CALLS as u64;
                self.found.calls_followed += ALIKE_CALLS as u64;
                self.found.calls_missing += at as u64;
            } else if place.new.len() >= NEW_CALLS_MAX {
                place.is_lost = true;
            }
        }
    }

    fn choose(&mut self, ready: &[Ready], now_ns: u64) -> usize {
        if self.guide.leave_after.is_none_or(|steps| self.steps <= steps)
            && let Some(choice) = self.whose_turn(ready)
        {
            return choice;
        }
        match &mut self.random {
            Some(random) => random.next(ready, now_ns),
            None => {
                let is_last = |call: &Ready| Some((call.process, call.ordinal)) == self.last;
                default_choice(ready, ready.iter().position(|call| is_last(call) && call.kind != CallKind::Wake))
            }
        }
    }
}

impl Strategy for Following {
    fn next(&mut self, ready: &[Ready], now_ns: u64) -> usize {
        self.steps += 1;
        let choice = self.choose(ready, now_ns);
        let call = &ready[choice];
        if let Some(task) = self.task_of(call) {
            self.advance(task, call.kind);
        }
        self.last = Some((call.process, call.ordinal));
        choice
    }

    fn delays(&self) -> bool {
        !self.next_delay.is_empty()
    }

    fn delay(&mut self, call: &Ready, drawn_ns: u64) -> u64 {
        if self.guide.leave_after.is_some_and(|steps| self.steps > steps) {
            return drawn_ns;
        }
        let Some(task) = self.task_of(call) else { return drawn_ns };
        self.next_delay.get(&(task as u32, self.places[task].made, call.kind)).copied().unwrap_or(drawn_ns)
    }

    fn started(&mut self, process: ProcessId) {
        let before = self.lives.of(process);
        self.lives.begin(process);
        for (_, task) in self.by_life.range((process, before, 0)..=(process, before, u32::MAX)) {
            self.left.end_all(*task);
        }
    }

    /// Wherever the task was: where an operation begins, its recording is found again.
    fn began(&mut self, process: ProcessId, ordinal: u32, operation: u64) {
        let Some(task) = self.by_life.get(&(process, self.lives.of(process), ordinal)).copied() else { return };
        let place = &mut self.places[task];
        let times = place.begun.entry(operation).or_insert(0);
        let recorded = &self.operations[task];
        let first = recorded.partition_point(|(id, _)| *id < operation);
        if let Some((_, made)) = recorded.get(first + *times).copied().filter(|(id, _)| *id == operation) {
            if made > place.made {
                self.found.calls_missing += u64::from(made - place.made);
            }
            place.made = made;
            place.new.clear();
            place.is_lost = false;
            self.left.end_until(&self.guide.turns.turns, task, made);
        }
        *times += 1;
    }

    fn ended(&mut self, process: ProcessId) {
        self.last = self.last.filter(|(last, _)| *last != process);
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = std::mem::take(&mut self.found);
    }
}

#[cfg(test)]
mod tests;

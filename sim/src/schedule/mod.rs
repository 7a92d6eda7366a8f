//! Who steps next: the strategies, one file each. The step loop that asks them is in `kernel`.

mod by_task;
mod chaos;
mod footprint;
mod guided;
mod pct;
mod pos;
mod random;
mod recorder;
mod round_robin;
mod shared;
mod skips;
mod step_counts;
mod surw;
mod swarm_delay;
mod timed;
mod turns;
mod turns_left;
mod urw;

pub(crate) use by_task::TASKS;
pub(crate) use chaos::ChaosStrategy;
pub use guided::{Guide, Guided, TurnDrift};
pub use pct::Pct;
pub use pos::Pos;
pub use random::Random;
pub(crate) use recorder::Recording;
pub use round_robin::RoundRobin;
pub use skips::Skips;
use step_counts::Counting;
pub(crate) use step_counts::FirstRun;
pub use step_counts::StepCounts;
pub use surw::Surw;
pub use swarm_delay::SwarmDelay;
pub use timed::Timed;
pub use turns::{Delay, TaskCalls, TaskName, Turn, Turns};
pub use urw::Urw;

use crate::plan::StrategyPlan;
use crate::seed::Seed;
use crate::trace::{CallKind, ProcessId, TaskId};

/// An announced call that may take effect now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// When its drawn latency ends, in simulated nanoseconds. The clock becomes the later of now and this.
    pub due_ns: u64,
    /// What it touches: an inode, a lock, a mailbox, the key of a path; 0 for nothing, or for paths of which any may be touched.
    pub object: u64,
    /// The task that announced it.
    pub task: TaskId,
    /// That task's process.
    pub process: ProcessId,
    /// The task's number within its process and boot; the main task is 0.
    pub ordinal: u32,
    /// What kind of call.
    pub kind: CallKind,
    /// It has been picked before, and had to wait.
    pub is_again: bool,
}

/// Picks the next step. `ready` is never empty; its order is stable but means nothing.
pub trait Strategy {
    /// The index of the call that takes effect next.
    fn next(&mut self, ready: &[Ready], now_ns: u64) -> usize;

    /// A chance to make a call slower.
    fn delay(&mut self, call: &Ready, drawn_ns: u64) -> u64 {
        let _ = call;
        drawn_ns
    }

    /// Whether it makes calls slower: only then is it asked for [`Strategy::delay`].
    fn delays(&self) -> bool {
        false
    }

    /// A process has started (again).
    fn started(&mut self, process: ProcessId) {
        let _ = process;
    }

    /// A task of a process has started another one.
    fn spawned(&mut self, process: ProcessId, parent: u32, child: u32) {
        let _ = (process, parent, child);
    }

    /// A task begins an operation of the plan.
    fn began(&mut self, process: ProcessId, ordinal: u32, operation: u64) {
        let _ = (process, ordinal, operation);
    }

    /// The call that was picked last can't take effect yet: it is announced again, as [`Ready::is_again`], when it may try once more.
    fn waits(&mut self, call: &Ready) {
        let _ = call;
    }

    /// A process has ended.
    fn ended(&mut self, process: ProcessId) {
        let _ = process;
    }

    /// How many choices it has had by now, if it counts them: `skips` does, since its schedules are enumerated.
    fn choices(&self) -> Option<u64> {
        None
    }
}

/// The strategy that a plan names, with what a first run of the plan has told.
pub(crate) fn strategy(plan: StrategyPlan, seed: Seed, first_run: &FirstRun) -> Box<dyn Strategy> {
    let counts = match first_run {
        FirstRun::None => None,
        FirstRun::Told(counts) => Some(counts),
        FirstRun::Is(tally) => return Box::new(Counting { random: Random::new(seed), tally: tally.clone() }),
    };
    match plan {
        StrategyPlan::Timed => Box::new(Timed),
        StrategyPlan::Random => Box::new(Random::new(seed)),
        StrategyPlan::RoundRobin => Box::<RoundRobin>::default(),
        StrategyPlan::Pct { depth, steps } => {
            let counted = counts.map_or(0, StepCounts::steps);
            Box::new(Pct::new(seed, depth, if steps == 0 { counted } else { steps }))
        }
        StrategyPlan::Pos => Box::new(Pos::new(seed)),
        StrategyPlan::Urw => Box::new(Urw::new(seed, counts.map_or(&[], StepCounts::by_task))),
        StrategyPlan::Surw => Box::new(Surw::new(seed, counts.cloned().unwrap_or_default())),
        StrategyPlan::SwarmDelay { one_in } => Box::new(SwarmDelay::new(seed, one_in)),
        StrategyPlan::Skips { at } => Box::new(Skips::new(at)),
    }
}

/// The stated default: stay on the same task; if it isn't ready, the earliest due, then the lowest process and task. Turns that have nothing to say go by it.
#[inline]
pub fn default_choice(ready: &[Ready], last: Option<usize>) -> usize {
    last.unwrap_or_else(|| earliest(ready))
}

/// The index of the call that is due first; of several, the lowest process, then the lowest task, then the lowest kind: a task that was
/// woken from outside may have two.
#[inline]
pub fn earliest(ready: &[Ready]) -> usize {
    let mut best = 0;
    for (index, call) in ready.iter().enumerate().skip(1) {
        let leader = &ready[best];
        let key = |call: &Ready| (call.due_ns, call.process, call.ordinal, call.kind);
        if key(call) < key(leader) {
            best = index;
        }
    }
    best
}

/// So many calls have a bit each.
const BITS: usize = u64::BITS as usize;

/// A bit for each of [`BITS`] calls at most, the first one's lowest.
// Without branches: what is asked is as good as random, and a processor that guesses wrong loses more time than the rest takes.
#[inline(always)]
fn bits(calls: &[Ready], is_it: impl Fn(&Ready) -> bool) -> u64 {
    calls.iter().rev().fold(0, |bits, call| bits << 1 | u64::from(is_it(call)))
}

/// The place of the n-th of the bits that are set.
#[inline]
const fn nth_bit(mut bits: u64, nth: u32) -> usize {
    let mut passed = 0;
    while passed < nth {
        bits &= bits - 1;
        passed += 1;
    }
    bits.trailing_zeros() as usize
}

//! `pct`: tasks by drawn priorities, which change at a few drawn steps (Burckhardt, Kothari, Musuvathi and Nagarakatte, ASPLOS 2010). A bug of depth d
//! in a run of n tasks and k steps is found with a chance of at least 1 / (n · kᵈ⁻¹).

use super::by_task::ByTask;
use super::{Ready, Strategy};
use crate::seed::{Draw, Path, Seed};
use crate::trace::ProcessId;

/// Tasks by priorities.
pub struct Pct {
    seed: Seed,
    priorities: ByTask<u64>,
    /// The picks after which a priority changes, rising, and what it becomes.
    changes: Vec<(u64, u64)>,
    changed: usize,
    picks: u64,
    /// By process: how often it has started. A new life has new priorities.
    lives: Vec<u32>,
}

/// Priorities that are drawn have this bit; those that change fall below all of them.
const DRAWN: u64 = 1 << 63;

impl Pct {
    /// Priorities that change `depth - 1` times within `steps` picks.
    pub fn new(seed: Seed, depth: u32, steps: u64) -> Pct {
        let mut stream = seed.stream("schedule");
        // Which change gives which priority is independent of their order in time.
        let mut changes: Vec<(u64, u64)> =
            (1..depth).map(|priority| (stream.between(1, steps.max(1)), u64::from(priority))).collect();
        changes.sort_unstable();
        Pct { seed, priorities: ByTask::default(), changes, changed: 0, picks: 0, lives: Vec::new() }
    }

    fn highest(&mut self, ready: &[Ready]) -> usize {
        let Pct { seed, priorities, lives, .. } = self;
        let mut best = (0, 0);
        for (index, call) in ready.iter().enumerate() {
            // Keyed by the task: the draws of others don't depend on when it came.
            let priority = *priorities.of(call, || {
                let life = lives.get(call.process.0 as usize).copied().unwrap_or(0);
                let path = Path(u64::from(call.process.0) << 32 | u64::from(call.ordinal));
                seed.stream_of("priority", path, u64::from(life)).bits() | DRAWN
            });
            if index == 0 || priority > best.0 {
                best = (priority, index);
            }
        }
        best.1
    }
}

impl Strategy for Pct {
    fn next(&mut self, ready: &[Ready], _now_ns: u64) -> usize {
        self.picks += 1;
        loop {
            let choice = self.highest(ready);
            match self.changes.get(self.changed) {
                Some(&(pick, priority)) if pick <= self.picks => {
                    self.changed += 1;
                    *self.priorities.of(&ready[choice], || 0) = priority;
                }
                _ => return choice,
            }
        }
    }

    fn started(&mut self, process: ProcessId) {
        let place = process.0 as usize;
        if self.lives.len() <= place {
            self.lives.resize(place + 1, 0);
        }
        self.lives[place] += 1;
    }

    fn ended(&mut self, process: ProcessId) {
        self.priorities.forget_process(process);
    }
}

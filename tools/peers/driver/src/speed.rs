//! Raw speed: tasks that yield, and tasks that sleep, in one long run and in many short ones.

use crate::contenders::{Contender, Contenders};
use crate::programs::Effort;
use peers_bench::{Request, Work};

/// Who does which work. Shuttle has no timers.
const WORKS: &[(Work, &str, &[Contender])] = &[
    (Work::Yield, "yields", &[Contender::Ours, Contender::Madsim, Contender::Turmoil, Contender::Shuttle]),
    (Work::Sleep, "timers", &[Contender::Ours, Contender::Madsim, Contender::Turmoil]),
];

/// Tasks of a run.
const TASKS: u64 = 16;
/// Yields or sleeps of a task in a short run.
const ROUNDS_SHORT: u64 = 10;

/// Measures and prints. Gives the ratios: of yields in one long run.
pub(crate) fn compare(contenders: &Contenders, effort: &Effort) -> Vec<(String, String)> {
    println!("{:<8} {:<10} {:>14} {:>22}", "work", "contender", "steps/s", "runs/s (short runs)");
    let mut ratios = Vec::new();
    for (work, name, sides) in WORKS {
        let mut best = vec![[0f64; 2]; sides.len()];
        for _ in 0..effort.rounds {
            for (contender, [steps, runs]) in sides.iter().zip(&mut best) {
                let thousands =
                    if *contender == Contender::Turmoil && *work == Work::Sleep { 1 } else { effort.thousands };
                let rounds = thousands * 1_000 / if *work == Work::Sleep { 4 } else { 1 };
                let long = Request::Speed { work: *work, tasks: TASKS, rounds, runs: 1 };
                *steps = steps.max(contenders.speed(*contender, &long)[0]);
                let short =
                    Request::Speed { work: *work, tasks: TASKS, rounds: ROUNDS_SHORT, runs: 10 * effort.thousands };
                *runs = runs.max(contenders.speed(*contender, &short)[1]);
            }
        }
        for (contender, [steps, runs]) in sides.iter().zip(&best) {
            println!("{name:<8} {:<10} {steps:>14.0} {runs:>22.0}", contender.name());
            if *work == Work::Yield && *contender != Contender::Ours {
                ratios.push((format!("steps_vs_{}", contender.name()), format!("{:.2}", best[0][0] / steps)));
            }
        }
    }
    ratios
}

//! Raw speed: tasks that yield, tasks that sleep, and processes that sleep for one tick, in one long run and in many short ones.
//!
//! A step is what may be followed by a step of another process. Between two yields of one of turmoil's hosts no other host goes: a yield is no step there, but a push
//! to that host's own queue. So its steps are compared by the work that does let another host go, a sleep of one tick, which is the same call on both sides; its
//! yields are told beside it. Madsim and shuttle pick anew at every yield.

use crate::contenders::{Contender, Contenders};
use crate::programs::Effort;
use peers_bench::{Request, Work};

/// Who does which work. Shuttle has no timers.
const WORKS: &[(Work, &str, &[Contender])] = &[
    (Work::Yield, "yields", &[Contender::Ours, Contender::Madsim, Contender::Turmoil, Contender::Shuttle]),
    (Work::Sleep, "timers", &[Contender::Ours, Contender::Madsim, Contender::Turmoil]),
    (Work::Tick, "ticks", &[Contender::Ours, Contender::Turmoil]),
];

/// Tasks of a run.
const TASKS: u64 = 16;
/// Yields or sleeps of a task in a short run.
const ROUNDS_SHORT: u64 = 10;

/// Measures and prints. Gives the ratios, of one long run: of yields, and of ticks where yields are no steps.
pub(crate) fn compare(contenders: &Contenders, effort: &Effort) -> Vec<(String, String)> {
    println!("{:<8} {:<10} {:>14} {:>22}", "work", "contender", "steps/s", "runs/s (short runs)");
    let mut ratios = Vec::new();
    for (work, name, sides) in WORKS {
        let mut best = vec![[0f64; 2]; sides.len()];
        for _ in 0..effort.rounds {
            for (contender, [steps, runs]) in sides.iter().zip(&mut best) {
                let is_timed = *work != Work::Yield;
                let thousands = if *contender == Contender::Turmoil && is_timed { 1 } else { effort.thousands };
                let rounds = thousands * 1_000 / if is_timed { 4 } else { 1 };
                let long = Request::Speed { work: *work, tasks: TASKS, rounds, runs: 1 };
                *steps = steps.max(contenders.speed(*contender, &long)[0]);
                let short =
                    Request::Speed { work: *work, tasks: TASKS, rounds: ROUNDS_SHORT, runs: 10 * effort.thousands };
                *runs = runs.max(contenders.speed(*contender, &short)[1]);
            }
        }
        for (contender, [steps, runs]) in sides.iter().zip(&best) {
            println!("{name:<8} {:<10} {steps:>14.0} {runs:>22.0}", contender.name());
            let kind = match (work, contender) {
                (_, Contender::Ours) | (Work::Sleep, _) => continue,
                (Work::Yield, Contender::Turmoil) => "yields",
                (Work::Yield | Work::Tick, _) => "steps",
            };
            ratios.push((format!("{kind}_vs_{}", contender.name()), format!("{:.2}", best[0][0] / steps)));
        }
    }
    println!(
        "turmoil's hosts go one after the other, each until it has nothing more to do in the tick: no other goes between two yields of one.\n\
         Its steps are ticks therefore, sleeps of one tick by a host for each task, and ours are the same; its yields are told as yields_vs_turmoil."
    );
    ratios
}

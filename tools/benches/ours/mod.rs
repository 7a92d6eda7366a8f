//! Our sides of the ratios bench, each run in a process of its own.

mod beliefs;
mod small;

use crate::workload;
use seedstorm_scenarios::concurrency_storm::ConcurrencyStorm;
use seedstorm_scenarios::signal_flood::SignalFlood;
use seedstorm_sim::plan::{Faults, Plan, StrategyPlan};
use seedstorm_sim::{Options, Scenario, Seed, Settings, run as run_plan};
use small::Small;
use std::time::Instant;

/// Runs one side; gives what it prints: `units seconds`, or one number.
pub(crate) fn run(arguments: &[String]) -> String {
    let number = |index: usize| arguments.get(index).and_then(|text| text.parse::<u64>().ok()).unwrap_or(1);
    match arguments.first().map(String::as_str) {
        Some("yield") => timed(&Small::Yields { tasks: number(1), rounds: number(2) }, 1, |steps, _| steps),
        Some("sleep") => timed(&Small::Sleeps { tasks: number(1), rounds: number(2) }, 1, |steps, _| steps),
        Some("sqlite") => {
            timed(&Small::Sqlite { agents: number(1), transactions: number(2) }, number(3), |_, vfs_calls| vfs_calls)
        }
        Some("steps") => timed(&Small::Mixed { steps: number(1) }, number(2), |steps, _| steps),
        Some("storm") => {
            let is_checked = arguments.get(1).is_some_and(|text| text == "checked");
            let options = storm_options(number(2), number(3));
            let start = now();
            for seed in 0..number(4) {
                storm(seed, &options, is_checked);
            }
            format!("{} {}", number(4), start.elapsed().as_secs_f64())
        }
        Some("flood") => {
            let is_checked = arguments.get(1).is_some_and(|text| text == "checked");
            let (seeds, mut deliveries) = (number(3), 0);
            let options = Options { duration_ns: Some(number(2) * 1_000_000), ..Options::default() };
            let start = now();
            for seed in 0..seeds {
                deliveries += flood(seed, &options, is_checked).1;
            }
            assert!(deliveries > 0 || !is_checked, "signals were delivered");
            format!("{seeds} {}", start.elapsed().as_secs_f64())
        }
        Some("flood-steps") => {
            let set = ["rate=20", "batch_max=16", "queue_max=64", "latency=nvme", "page_bytes=4096", "poll_ms=20"];
            let set = set.iter().filter_map(|setting| setting.split_once('='));
            let options = Options {
                workers: Some(8),
                duration_ns: Some(number(1) * 1_000_000),
                faults: Faults::None,
                strategy: Some(StrategyPlan::Timed),
                set: set.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
                ..Options::default()
            };
            let mut steps = 0;
            let start = now();
            for seed in 0..number(2) {
                steps += flood(seed, &options, true).0;
            }
            format!("{steps} {}", start.elapsed().as_secs_f64())
        }
        Some("beliefs") => format!("{}", beliefs::touched_vs_dependents(number(1) as usize)),
        Some("rss") => {
            let options = storm_options(4, 5);
            let mut resident = [0.0; 2];
            for seed in 0..2000 {
                storm(seed, &options, true);
                match seed {
                    199 => resident[0] = resident_pages(),
                    1999 => resident[1] = resident_pages(),
                    _ => {}
                }
            }
            format!("{}", resident[1] / resident[0])
        }
        other => panic!("no side is named {other:?}"),
    }
}

/// Runs a small scenario so many times; gives its units and the seconds that they took.
fn timed(scenario: &Small, runs: u64, units: impl Fn(u64, u64) -> u64) -> String {
    let mut all = 0;
    let start = now();
    for seed in 0..runs {
        let plan = scenario.plan(Seed(seed), &Options::default()).expect("a small plan");
        let outcome = run_plan(scenario, &plan, Settings::default()).expect("the plan runs");
        assert!(outcome.passed(), "{:?}", outcome.violations);
        all += units(outcome.steps, outcome.observations.counters.get("vfs_calls").copied().unwrap_or(0));
    }
    format!("{all} {}", start.elapsed().as_secs_f64())
}

fn storm_options(workers: u64, operations: u64) -> Options {
    let set = [("operations".to_owned(), operations.to_string())].into();
    Options { workers: Some(workers as u32), set, ..Options::default() }
}

fn storm(seed: u64, options: &Options, is_checked: bool) {
    let plan: Plan = ConcurrencyStorm.plan(Seed(seed), options).expect("a storm's plan");
    let settings = Settings { without_invariants: !is_checked, ..Settings::default() };
    let outcome = run_plan(&ConcurrencyStorm, &plan, settings).expect("the plan runs");
    assert!(outcome.passed(), "seed {seed}: {:?}", outcome.violations);
}

/// Steps, and deliveries if they were counted.
fn flood(seed: u64, options: &Options, is_checked: bool) -> (u64, u64) {
    let plan: Plan = SignalFlood.plan(Seed(seed), options).expect("a flood's plan");
    let settings = Settings { without_invariants: !is_checked, ..Settings::default() };
    let outcome = run_plan(&SignalFlood, &plan, settings).expect("the plan runs");
    assert!(outcome.passed(), "seed {seed}: {:?}", outcome.violations);
    (outcome.steps, outcome.observations.counters.get("deliveries").copied().unwrap_or(0))
}

fn resident_pages() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).expect("the second field is a number")
}

#[allow(clippy::disallowed_methods, reason = "a bench measures wall time, outside of every run")]
fn now() -> Instant {
    Instant::now()
}

/// The strategy of the small scenarios: madsim's executor picks with equal chance too.
const STRATEGY: StrategyPlan = StrategyPlan::Random;

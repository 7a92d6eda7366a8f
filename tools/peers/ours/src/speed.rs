//! Plain work on seedstorm: processes that yield or sleep, so that raw speed can be told. Nothing is checked, as nothing is at the peers.

use peers_bench::{Stopwatch, TICK, Work, tell_speed};
use seedstorm_sim::plan::{OptionsError, StrategyPlan};
use seedstorm_sim::{Draw, Exit, Options, Plan, Scenario, Seed, Settings, World, run_series};
use std::ops::ControlFlow;

struct Plain {
    work: Work,
    tasks: u64,
    rounds: u64,
}

impl Scenario for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn about(&self) -> &'static str {
        "processes that yield or sleep"
    }

    fn is_self_contained(&self) -> bool {
        true
    }

    fn plan(&self, seed: Seed, _options: &Options) -> Result<Plan, OptionsError> {
        let forever_ns = u64::MAX / 4;
        Ok(Plan {
            strategy: StrategyPlan::Random,
            chaos_ns: forever_ns,
            calm_ns: forever_ns,
            steps_max: u64::MAX,
            ..Plan::plain(self.name(), seed)
        })
    }

    fn populate(&self, _plan: &Plan, world: &mut World) {
        let Plain { work, tasks, rounds } = *self;
        for index in 0..tasks as u32 {
            world.process("task", index, move |sys| async move {
                for _ in 0..rounds {
                    match work {
                        Work::Yield => sys.yield_now().await,
                        Work::Sleep => {
                            let for_ns = sys.entropy().between(1_000_000, 10_000_000);
                            sys.sleep(for_ns).await.expect("nobody interrupts it");
                        }
                        Work::Tick => sys.sleep(TICK.as_nanos() as u64).await.expect("nobody interrupts it"),
                    }
                }
                Exit::success()
            });
        }
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// Does so many runs, and tells yields or sleeps, runs and seconds.
///
/// # Errors
/// A run that did not pass, in words.
pub(crate) fn speed(work: Work, tasks: u64, rounds: u64, runs: u64) -> Result<(), String> {
    let scenario = Plain { work, tasks, rounds };
    let plans = (0..runs).map(|seed| scenario.plan(Seed(seed), &Options::default()).expect("a plan of plain values"));
    let mut failed = None;
    let begun = Stopwatch::start();
    run_series(&scenario, plans, Settings::default, |_, outcome| {
        failed = outcome.violations.first().map(|violation| violation.message.clone());
        if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .map_err(|error| error.to_string())?;
    match failed {
        Some(why) => Err(why),
        None => {
            tell_speed(tasks * rounds * runs, runs, begun.elapsed());
            Ok(())
        }
    }
}

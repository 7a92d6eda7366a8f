//! Searches a program on seedstorm: a plan a schedule, all in one series. The programs are in `programs`.

use crate::programs::Program;
use peers_bench::{Count, Request, Search, Told};
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{OptionsError, StrategyPlan};
use seedstorm_sim::schedule::StepCounts;
use seedstorm_sim::trace::{Body, Ended, Event, Interest};
use seedstorm_sim::{Exit, Options, Plan, Scenario, Seed, Settings, View, World, count_steps, run_series};
use std::ops::ControlFlow;

/// A program as a scenario: one process.
struct Searched {
    program: Program,
    is_mended: bool,
}

impl Scenario for Searched {
    fn name(&self) -> &'static str {
        "searched"
    }

    fn about(&self) -> &'static str {
        "a small program of the bench of peers"
    }

    fn is_self_contained(&self) -> bool {
        true
    }

    fn plan(&self, seed: Seed, options: &Options) -> Result<Plan, OptionsError> {
        // Calls take no time that matters: all as long as each other.
        Ok(Plan {
            strategy: options.strategy.unwrap_or(StrategyPlan::Random),
            latency: "flat".into(),
            ..Plan::plain(self.name(), seed)
        })
    }

    fn populate(&self, _plan: &Plan, world: &mut World) {
        let Searched { program, is_mended } = *self;
        world.process_with("program", 0, RestartPolicy::Never, move |sys| async move {
            if program(sys, is_mended).await { Exit::success() } else { Exit::failure("it doesn't hold") }
        });
        world.invariant(Holds);
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[("holds", "what the program says of itself holds")]
    }
}

/// The program ends with success.
struct Holds;

impl Invariant for Holds {
    fn id(&self) -> &'static str {
        "holds"
    }

    fn interest(&self) -> Interest {
        Interest::LIVES
    }

    fn observe(&mut self, event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        match &event.body {
            Body::Ended(Ended::Exited { code: 1.., why }) => Err(Violation::new(self.id(), why.clone())),
            _ => Ok(()),
        }
    }
}

/// Who picks the next step in the plan of a seed.
#[derive(Clone, Copy)]
enum Picks {
    /// The seed draws a strategy.
    Portfolio,
    This(StrategyPlan),
}

impl Picks {
    /// Strategies are told what one run has counted: then they make no first run of each plan.
    fn plan(self, scenario: &Searched, seed: u64, counts: &StepCounts) -> Plan {
        let strategy = match self {
            Picks::Portfolio => StrategyPlan::drawn(Seed(seed), counts.steps()),
            Picks::This(StrategyPlan::Pct { depth, steps: 0 }) => StrategyPlan::Pct { depth, steps: counts.steps() },
            Picks::This(strategy) => strategy,
        };
        let options = Options { strategy: Some(strategy), ..Options::default() };
        let plan = scenario.plan(Seed(seed), &options).expect("a plan of plain values");
        Plan { step_counts: Some(counts.clone()), ..plan }
    }
}

/// How many runs are counted beforehand.
const COUNTED: u64 = 16;

/// Does what was asked for.
///
/// # Errors
/// What can't be searched, in words.
pub(crate) fn search(request: &Request, search: &Search, program: Program) -> Result<Told, String> {
    let picks = match search.strategy.as_str() {
        StrategyPlan::PORTFOLIO => Picks::Portfolio,
        name => Picks::This(name.parse().map_err(|error| format!("--strategy: {error}"))?),
    };
    let scenario = Searched { program, is_mended: search.is_mended };
    let mut count = Count::begin(request);
    // A few runs tell how long a run is, and what its tasks share.
    let first = |seed| picks.plan(&scenario, seed, &StepCounts::default());
    let counted: Vec<Plan> = (search.seed..search.seed + COUNTED).map(first).collect();
    let counts = count_steps(&scenario, &counted).map_err(|error| error.to_string())?;
    let plans = (search.seed..).map(|seed| picks.plan(&scenario, seed, &counts[(seed % COUNTED) as usize]));
    run_series(&scenario, plans, Settings::default, |_, outcome| {
        match count.schedule(!outcome.passed(), outcome.steps) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    })
    .map_err(|error| error.to_string())?;
    Ok(count.told())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::named;
    use peers_bench::PROGRAMS;

    const STRATEGIES: &[&str] = &["random", "pct:depth=3", "pos", "urw", "surw", "portfolio"];

    /// How many of so many schedules have the bug, by strategy.
    fn found(program: &str, is_mended: bool, strategies: &[&str], schedules: u64) -> Vec<u64> {
        let found = |strategy: &&str| {
            let search = Search { program: program.to_owned(), is_mended, strategy: (*strategy).to_owned(), seed: 1 };
            let request = Request::Rate { search: search.clone(), schedules };
            let told = super::search(&request, &search, named(program).expect("a program")).expect("a search");
            assert_eq!(told.schedules, schedules, "{program}");
            assert!(told.points > 10 * schedules, "{program} takes steps");
            told.found
        };
        strategies.iter().map(found).collect()
    }

    #[test]
    fn every_bug_is_found() {
        for (program, _) in PROGRAMS {
            let found = found(program, false, STRATEGIES, 3_000);
            assert!(found.iter().sum::<u64>() > 0, "{program}");
        }
    }

    #[test]
    fn what_is_mended_holds() {
        for (program, _) in PROGRAMS {
            let found = found(program, true, STRATEGIES, 3_000);
            assert_eq!(found.iter().sum::<u64>(), 0, "{program}: {found:?}");
        }
    }
}

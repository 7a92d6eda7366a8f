//! Which mutants and strategies a self-test runs: the lists of the command line, read. What is done with them is in `trial`.

use crate::catalogue::{Catalogue, Known, alone, unknown};
use crate::cli::SelftestArguments;
use crate::exit::{Problem, Result};
use crate::sweep::WORKER_INVARIANTS;
use seedstorm_sim::invariant::GENERIC;
use seedstorm_sim::plan::{MUTANT, PlantedBug, StrategyPlan};

/// A planted bug and the scenario in which it must be caught.
#[derive(Clone, Copy)]
pub(crate) struct Planted {
    /// The bug.
    pub(crate) info: PlantedBug,
    /// The scenario.
    pub(crate) scenario: Known,
}

/// The planted bugs that `all` or a list with commas names, without doubles.
///
/// # Errors
/// A name that isn't known; a program whose scenarios have none; a bug that names an invariant which its scenario doesn't have.
pub(crate) fn mutants(catalogue: Catalogue, names: &str) -> Result<Vec<Planted>> {
    let all = || catalogue.planted_bugs().map(|(info, scenario)| Planted { info, scenario });
    if all().next().is_none() {
        let scenarios: Vec<&str> = catalogue.all().iter().map(|scenario| scenario.name()).collect();
        let scenarios = scenarios.join(", ");
        return Err(Problem::usage(format!(
            "there is nothing to plant: no scenario of this program says which bugs can be planted in it (`Scenario::planted_bugs`): {scenarios}"
        )));
    }
    if names.trim() == "all" {
        let all: Vec<Planted> = all().collect();
        all.iter().try_for_each(check_invariants)?;
        return Ok(all);
    }
    alone("--mutants", names, &["all"])?;
    let mut chosen: Vec<Planted> = Vec::new();
    for name in names.split(',').map(str::trim) {
        let planted = all().find(|planted| planted.info.name == name).ok_or_else(|| {
            let known: Vec<&str> = all().map(|planted| planted.info.name).collect();
            Problem::usage(unknown("mutant", name, &known))
        })?;
        if chosen.iter().all(|other| other.info.name != name) {
            chosen.push(planted);
        }
    }
    chosen.iter().try_for_each(check_invariants)?;
    Ok(chosen)
}

/// Whoever catches a bug is there: by a name that nobody has it would be caught by another in each seed.
fn check_invariants(planted: &Planted) -> Result<()> {
    let Planted { info, scenario } = planted;
    let known = GENERIC.iter().chain(WORKER_INVARIANTS).chain(scenario.invariants());
    let known: Vec<&str> = known.map(|(id, _)| *id).collect();
    let mut named = [info.invariant].into_iter().chain(info.also.iter().copied());
    let Some(stray) = named.find(|id| !known.contains(id)) else { return Ok(()) };
    let unknown = unknown("invariant", stray, &known);
    Err(Problem::usage(format!(
        "`Scenario::planted_bugs` of `{}`: the bug `{}`: {unknown}",
        scenario.name(),
        info.name
    )))
}

/// The strategies that `all` or a list with commas names, without doubles, as `--strategy` takes them.
///
/// # Errors
/// One that isn't known, or a parameter that it doesn't take; settings that can't be given here.
pub(crate) fn strategies(arguments: &SelftestArguments) -> Result<Vec<String>> {
    if arguments.set.iter().any(|setting| setting.split('=').next().is_some_and(|key| key.trim() == MUTANT)) {
        return Err(Problem::usage(format!("--set {MUTANT}: the self-test plants the bugs itself: see --mutants")));
    }
    let chosen = if arguments.strategies.trim() == "all" {
        let each = StrategyPlan::ALL.iter().map(|(strategy, _)| strategy.name());
        [StrategyPlan::PORTFOLIO].into_iter().chain(each).map(str::to_owned).collect()
    } else {
        alone("--strategies", &arguments.strategies, &["all"])?;
        split(&arguments.strategies)
    };
    for strategy in &chosen {
        arguments.draw(Some(strategy), None).options()?;
    }
    Ok(chosen)
}

/// Strategies with commas between them. Parameters have commas too: what begins with `key=` belongs to the strategy before it.
fn split(list: &str) -> Vec<String> {
    let mut strategies: Vec<String> = Vec::new();
    for part in list.split(',').map(str::trim) {
        let is_parameter = part.contains('=') && !part.split('=').next().is_some_and(|key| key.contains(':'));
        if let Some(last) = strategies.last_mut().filter(|_| is_parameter) {
            last.push(',');
            last.push_str(part);
        } else if strategies.iter().all(|known| known != part) {
            strategies.push(part.to_owned());
        }
    }
    strategies
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn parameters_stay_with_their_strategy() {
        assert_eq!(split("pct:depth=3,steps=200, random"), ["pct:depth=3,steps=200", "random"]);
        assert_eq!(split("random,swarm-delay:one_in=4,random"), ["random", "swarm-delay:one_in=4"]);
        assert_eq!(split(""), [""]);
    }
}

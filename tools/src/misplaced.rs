//! A planted bug in a scenario that need not reach it: a sweep that passes then proves nothing, and says so beforehand.

use crate::catalogue::{Catalogue, Known};
use crate::stderr;
use seedstorm_sim::Options;
use seedstorm_sim::plan::MUTANT;

/// Warns on stderr of scenarios in which the planted bug that the options ask for need not be caught. It is no mistake: scenarios share parts of the engine.
pub(crate) fn warn(catalogue: Catalogue, scenarios: &[Known], options: &Options) {
    if let Some(warning) = warning(catalogue, scenarios, options) {
        stderr::say(format_args!("warning: {warning}"));
    }
}

fn warning(catalogue: Catalogue, scenarios: &[Known], options: &Options) -> Option<String> {
    let name = options.set.get(MUTANT)?;
    let (_, home) = catalogue.planted_bugs().find(|(bug, _)| bug.name == name)?;
    let names = scenarios.iter().map(|scenario| scenario.name());
    let others: Vec<&str> = names.filter(|scenario| *scenario != home.name()).collect();
    (!others.is_empty()).then(|| {
        let (home, others) = (home.name(), others.join("` and `"));
        format!("the planted bug `{name}` must be caught in `{home}`; `{others}` may never come to it")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue() -> Catalogue {
        Catalogue::new(seedstorm_scenarios::all(), "seedstorm")
    }

    fn warning_for(scenarios: &[&str], options: &Options) -> Option<String> {
        let scenarios: Vec<Known> = scenarios.iter().map(|name| catalogue().named(name).expect("a scenario")).collect();
        warning(catalogue(), &scenarios, options)
    }

    fn planting(mutant: &str) -> Options {
        Options { set: [(MUTANT.to_owned(), mutant.to_owned())].into(), ..Options::default() }
    }

    #[test]
    fn a_bug_in_its_own_scenario_is_nothing_to_talk_about() {
        let bug = planting("board-lost-update");
        assert_eq!(warning_for(&["concurrency-storm"], &bug), None);
        assert_eq!(warning_for(&["concurrency-storm"], &planting("no-such-bug")), None, "the scenario says so");
        assert_eq!(warning_for(&["guillotine"], &Options::default()), None);
        let expected = "the planted bug `board-lost-update` must be caught in `concurrency-storm`; `guillotine` may never come to it";
        for scenarios in [&["guillotine"][..], &["concurrency-storm", "guillotine"]] {
            assert_eq!(warning_for(scenarios, &bug).as_deref(), Some(expected));
        }
    }
}

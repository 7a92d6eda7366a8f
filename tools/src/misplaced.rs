//! A planted bug in a scenario that need not reach it: a sweep that passes then proves nothing, and says so beforehand.

use crate::catalogue::Known;
use seedstorm_model::mutant::catalogue;
use seedstorm_scenarios::setting::MUTANT;
use seedstorm_sim::Options;

/// Warns on stderr of scenarios in which the planted bug that the options ask for need not be caught. It is no mistake: scenarios share parts of the engine.
pub(crate) fn warn(scenarios: &[Known], options: &Options) {
    if let Some(warning) = warning(scenarios.iter().map(|scenario| scenario.name()), options) {
        eprintln!("warning: {warning}");
    }
}

fn warning(scenarios: impl Iterator<Item = &'static str>, options: &Options) -> Option<String> {
    let name = options.set.get(MUTANT)?;
    let mutant = catalogue().find(|mutant| mutant.name == name)?;
    let others: Vec<&str> = scenarios.filter(|scenario| *scenario != mutant.scenario).collect();
    (!others.is_empty()).then(|| {
        let others = others.join("` and `");
        format!("the planted bug `{name}` must be caught in `{}`; `{others}` may never come to it", mutant.scenario)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warning_for(scenarios: &[&'static str], mutant: &str) -> Option<String> {
        let set = [(MUTANT.to_owned(), mutant.to_owned())].into();
        warning(scenarios.iter().copied(), &Options { set, ..Options::default() })
    }

    #[test]
    fn a_bug_in_its_own_scenario_is_nothing_to_talk_about() {
        assert_eq!(warning_for(&["concurrency-storm"], "board-lost-update"), None);
        assert_eq!(warning_for(&["concurrency-storm"], "no-such-bug"), None, "the scenario says so");
        assert_eq!(warning(["guillotine"].into_iter(), &Options::default()), None);
        let expected = "the planted bug `board-lost-update` must be caught in `concurrency-storm`; `guillotine` may never come to it";
        for scenarios in [&["guillotine"][..], &["concurrency-storm", "guillotine"]] {
            assert_eq!(warning_for(scenarios, "board-lost-update").as_deref(), Some(expected));
        }
    }
}

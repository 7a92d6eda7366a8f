//! The scenarios that this program knows, what it is called, and how a person's words find them. What a scenario is stands in `sim::plan`.

use crate::exit::{Problem, Result};
use seedstorm_sim::Scenario;
use seedstorm_sim::invariant::{GENERIC, LOCKS};
use seedstorm_sim::plan::PlantedBug;

/// A scenario that a program knows.
pub type Known = &'static (dyn Scenario + Sync);

/// The scenarios of one program.
#[derive(Clone, Copy)]
pub(crate) struct Catalogue {
    scenarios: &'static [Known],
    /// What command lines that are told begin with: what this program was called by. Another program may not know its scenarios.
    program: &'static str,
}

impl Catalogue {
    /// A catalogue of these scenarios, of a program that is called so.
    pub(crate) fn new(scenarios: &'static [Known], program: &'static str) -> Catalogue {
        Catalogue { scenarios, program }
    }

    /// What this program was called by.
    pub(crate) fn program(self) -> &'static str {
        self.program
    }

    /// What must hold, in words, if this program knows the invariant.
    pub(crate) fn statement(self, invariant: &str) -> Option<&'static str> {
        let own = self.scenarios.iter().flat_map(|scenario| scenario.invariants());
        let mut all = GENERIC.iter().chain(LOCKS).chain(own);
        all.find(|(id, _)| *id == invariant).map(|(_, statement)| *statement)
    }

    /// All of them, in their order.
    pub(crate) fn all(self) -> &'static [Known] {
        self.scenarios
    }

    /// Every bug that can be planted, and the scenario in which it must be caught, by scenario.
    pub(crate) fn planted_bugs(self) -> impl Iterator<Item = (PlantedBug, Known)> {
        self.scenarios.iter().flat_map(|scenario| scenario.planted_bugs().into_iter().map(|bug| (bug, *scenario)))
    }

    /// The scenario of that name.
    ///
    /// # Errors
    /// There is none: the text says which there are, and which was perhaps meant.
    pub(crate) fn named(self, name: &str) -> Result<Known> {
        self.scenarios.iter().copied().find(|scenario| scenario.name() == name).ok_or_else(|| {
            let names: Vec<&str> = self.scenarios.iter().map(|scenario| scenario.name()).collect();
            Problem::usage(unknown("scenario", name, &names))
        })
    }

    /// The scenarios that `all` or a list with commas names, without doubles.
    ///
    /// # Errors
    /// As [`Catalogue::named`].
    pub(crate) fn select(self, names: &str) -> Result<Vec<Known>> {
        if names.trim() == "all" {
            return Ok(self.scenarios.to_vec());
        }
        alone("--scenarios", names, &["all"])?;
        let mut selected: Vec<Known> = Vec::new();
        for name in names.split(',') {
            let scenario = self.named(name.trim())?;
            if selected.iter().all(|other| other.name() != scenario.name()) {
                selected.push(scenario);
            }
        }
        Ok(selected)
    }
}

/// Makes sure that a word which stands for a whole list is not in one with others.
///
/// # Errors
/// It is.
pub(crate) fn alone(option: &str, list: &str, words: &[&str]) -> Result<()> {
    let mut names = list.split(',').map(str::trim);
    match names.find(|name| words.contains(name)).filter(|word| list.trim() != *word) {
        Some(word) => Err(Problem::usage(format!("{option} {list}: `{word}` stands alone, without other names"))),
        None => Ok(()),
    }
}

/// The name that was perhaps meant by another.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distances = known.into_iter().map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate));
    let near = distances.filter(|(distance, candidate)| *distance * 3 <= candidate.chars().count());
    near.min().map(|(_, candidate)| candidate)
}

/// Says that a name isn't known, which are, and which was perhaps meant.
pub(crate) fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let hint = nearest(name, known.iter().copied())
        .map_or(String::new(), |candidate| format!("; did you mean `{candidate}`?"));
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    format!("unknown {what} `{name}`{hint} (known: {known})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_miss_gets_a_hint_and_nonsense_none() {
        let known = ["concurrency-storm", "board"];
        assert_eq!(
            unknown("scenario", "concurency-strom", &known),
            "unknown scenario `concurency-strom`; did you mean `concurrency-storm`? (known: concurrency-storm, board)"
        );
        assert_eq!(unknown("scenario", "xyzzy", &known), "unknown scenario `xyzzy` (known: concurrency-storm, board)");
    }
}

//! Bugs that are planted on purpose: what there is to know of each. How one is planted, and where, is the business of the scenario that has it.

/// A bug that a scenario plants where its setting [`super::MUTANT`] names it: proof that the bug would be found. A self-test plants each in turn.
///
/// It adds no call, yield or delay: it leaves one out or does it wrongly. The plans of a seed are alike with and without it, but for the setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlantedBug {
    /// Its name in the setting: kebab case, unique in a program.
    pub name: &'static str,
    /// What is wrong, in one line.
    pub about: &'static str,
    /// What real fault it is taken from, in the scenario's own words; may be empty.
    pub row: &'static str,
    /// The invariant that must catch it.
    pub invariant: &'static str,
    /// Invariants that may catch it as well, and rightly: the bug has more than one face, and which of them shows first is chance.
    pub also: &'static [&'static str],
    /// Whether it shows only where two things come together: a kill and a particular schedule, or two faults.
    pub is_interaction: bool,
}

impl PlantedBug {
    /// A bug of this name that one invariant catches.
    pub const fn new(name: &'static str, about: &'static str, invariant: &'static str) -> PlantedBug {
        PlantedBug { name, about, row: "", invariant, also: &[], is_interaction: false }
    }

    /// The same, with the real fault that it is taken from.
    pub const fn row(self, row: &'static str) -> PlantedBug {
        PlantedBug { row, ..self }
    }

    /// The same; these invariants may catch it as well.
    pub const fn also(self, invariants: &'static [&'static str]) -> PlantedBug {
        PlantedBug { also: invariants, ..self }
    }

    /// The same; it shows only where two things come together.
    pub const fn interaction(self) -> PlantedBug {
        PlantedBug { is_interaction: true, ..self }
    }

    /// Whether a first violation of this invariant detects it.
    pub fn is_caught_by(&self, invariant: &str) -> bool {
        self.invariant == invariant || self.also.contains(&invariant)
    }
}

//! Planted bugs of the sealed memories.

use super::{Mutant, MutantInfo};

pub(super) const CATALOGUE: &[MutantInfo] = &[
    MutantInfo {
        mutant: Mutant::RootOverUnsortedLeaves,
        name: "root-over-unsorted-leaves",
        about: "the Merkle root is hashed over memories in the order in which they came: the same memories have many roots",
        row: "T4",
        scenario: "guillotine",
        invariant: "seal-true",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::SealNotUpdated,
        name: "seal-not-updated",
        about: "a memory is written and acknowledged, and the root stays as it was: nothing says that it belongs there",
        row: "M2",
        scenario: "guillotine",
        invariant: "seal-true",
        ..MutantInfo::PLAIN
    },
];

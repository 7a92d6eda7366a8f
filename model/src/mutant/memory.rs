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
    MutantInfo {
        mutant: Mutant::OrphansLeft,
        name: "orphans-left",
        about: "waking looks for memories that nobody has sealed, and leaves their files there",
        row: "F7",
        scenario: "guillotine",
        invariant: "orphans-swept",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::MemoryNotDurable,
        name: "memory-not-durable",
        about: "a memory is sealed before its file is durable: power loss leaves a seal with nothing behind it",
        row: "F2",
        scenario: "guillotine",
        invariant: "memories-kept",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::RightToWriteGivenBackEarly,
        name: "right-to-write-given-back-early",
        about: "the right to write memories is given back before the seal: who wakes just then takes the file for an orphan",
        row: "F7",
        scenario: "guillotine",
        invariant: "memories-kept",
        is_interaction: true,
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::VerificationTrustsNames,
        name: "verification-trusts-names",
        about: "a verification looks whether a memory's file is there, and not what is in it",
        row: "F6",
        scenario: "guillotine",
        invariant: "damage-named",
        is_interaction: true,
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::AccountReadInPieces,
        name: "account-read-in-pieces",
        about: "a verification reads what is sealed, the tree and the roots at three moments: what is sealed in between looks damaged",
        row: "S1",
        scenario: "guillotine",
        invariant: "damage-named",
        ..MutantInfo::PLAIN
    },
];

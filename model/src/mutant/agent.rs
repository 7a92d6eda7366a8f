//! Planted bugs of an agent's days: sleep, introspection, waking.

use super::{Mutant, MutantInfo};

pub(super) const CATALOGUE: &[MutantInfo] = &[
    MutantInfo {
        mutant: Mutant::HalfDoneSleepNotResumed,
        name: "half-done-sleep-not-resumed",
        about: "waking doesn't look for a sleep that its last life had sealed and not finished",
        row: "B5",
        scenario: "guillotine",
        invariant: "day-closed",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::NoteNeverSealed,
        name: "note-never-sealed",
        about: "waking doesn't look for notes that were staged and not sealed: they never come into the store",
        row: "M6",
        scenario: "guillotine",
        invariant: "staged-notes-kept",
        ..MutantInfo::PLAIN
    },
];

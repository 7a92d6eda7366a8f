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
    MutantInfo {
        mutant: Mutant::StatusByTheRow,
        name: "status-by-the-row",
        about: "a status says what the store says, and doesn't look whether the process lives",
        row: "L2",
        scenario: "guillotine",
        invariant: "status-true",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::SealWithoutNotesRefused,
        name: "seal-without-notes-refused",
        about: "waking takes a seal whose notes are gone for damage, and ends: it was killed when it had removed the notes and not the seal",
        row: "B5",
        scenario: "guillotine",
        invariant: "wake-succeeds",
        is_interaction: true,
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::OwnPidTakenForOwnLife,
        name: "own-pid-taken-for-own-life",
        about: "waking takes whoever has the PID of the agent's last life for that life, and ends: the agent is running already",
        row: "L2",
        scenario: "guillotine",
        invariant: "wake-succeeds",
        is_interaction: true,
        ..MutantInfo::PLAIN
    },
];

//! Planted bugs of truth maintenance.

use super::{Mutant, MutantInfo};

pub(super) const CATALOGUE: &[MutantInfo] = &[
    MutantInfo {
        mutant: Mutant::PositiveLoopSupportsItself,
        name: "positive-loop-supports-itself",
        about: "a belief stays in as long as some reason for it holds: a loop holds itself up after its premise is gone",
        row: "T2",
        scenario: "contradiction-avalanche",
        invariant: "support-well-founded",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::OverDeletion,
        name: "over-deletion",
        about: "a retraction takes a belief out that has another support",
        row: "T3",
        scenario: "contradiction-avalanche",
        invariant: "labels-agree",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::UnderDeletion,
        name: "under-deletion",
        about: "a retraction doesn't reach what rests on the belief that it takes out",
        row: "T3",
        scenario: "contradiction-avalanche",
        invariant: "labels-agree",
        // A loop that has lost its premise isn't gone round, and a flag rests on what isn't reached as well as a belief does.
        also: &["support-well-founded", "contradictions-flagged"],
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::VisitedSetPropagation,
        name: "visited-set-propagation",
        about: "propagation visits each belief once: what it finds depends on the order of the visits",
        row: "T6",
        scenario: "contradiction-avalanche",
        invariant: "labels-agree",
        // What is visited once finds its own label of before, a loop; or it keeps it, and a contradiction its flag.
        also: &["support-well-founded", "contradictions-flagged"],
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::SupersedesCycleAccepted,
        name: "supersedes-cycle-accepted",
        about: "a supersession is written without a look at what its older end supersedes",
        row: "T4",
        scenario: "contradiction-avalanche",
        invariant: "supersedes-acyclic",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::CoreGuardOnlyInCaller,
        name: "core-guard-only-in-caller",
        about: "core memories are guarded where somebody asks to forget one, and not in what is written: superseded or refuted, they fall",
        row: "T5",
        scenario: "contradiction-avalanche",
        invariant: "core-kept",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::ContradictionByArrival,
        name: "contradiction-by-arrival",
        about: "of a contradiction the belief yields that came last",
        row: "T4",
        scenario: "contradiction-avalanche",
        invariant: "isolation-by-rank",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::BatchEndsAtRefusal,
        name: "batch-ends-at-refusal",
        about: "the rest of a batch is dropped after its first refusal, and counts as recorded",
        row: "T5",
        scenario: "contradiction-avalanche",
        invariant: "batches-kept",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::FlagNeverLowered,
        name: "flag-never-lowered",
        about: "a contradiction keeps its flag when it has gone",
        row: "T3",
        scenario: "contradiction-avalanche",
        invariant: "contradictions-flagged",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::LabelledByWays,
        name: "labelled-by-ways",
        about: "a belief that a change reaches by several ways is labelled once for each of them",
        row: "T6",
        scenario: "contradiction-avalanche",
        invariant: "relabel-bounded",
        ..MutantInfo::PLAIN
    },
];

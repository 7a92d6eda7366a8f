//! Planted bugs of named locks.

use super::{Mutant, MutantInfo};

pub(super) const CATALOGUE: &[MutantInfo] = &[
    MutantInfo {
        mutant: Mutant::LiveOwnerReapedByAge,
        name: "live-owner-reaped-by-age",
        about: "an old owner record is taken for stale, though its owner lives",
        row: "L3",
        scenario: "concurrency-storm",
        invariant: "lock-exclusion",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::PidReuseIgnored,
        name: "pid-reuse-ignored",
        about: "whoever has the owner's PID is taken for the owner: a dead one's lock is never reclaimed",
        row: "L2",
        scenario: "concurrency-storm",
        invariant: "lock-reclaimed",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::EmptyOwnerFileIsStale,
        name: "empty-owner-file-is-stale",
        about: "the owner record is created empty at its final name and written later; a reader takes the empty one for stale",
        row: "L6",
        scenario: "concurrency-storm",
        invariant: "lock-exclusion",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::FixedBackoffConvoy,
        name: "fixed-backoff-convoy",
        about: "every waiter sleeps the same fixed time, also past its deadline",
        row: "L10",
        scenario: "concurrency-storm",
        invariant: "lock-wait-bounded",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::LeaseWithoutFencing,
        name: "lease-without-fencing",
        about: "a document takes a write without comparing the writer's token with the highest that it has seen",
        row: "L7",
        scenario: "concurrency-storm",
        invariant: "lease-fencing",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::OwnerRecordInSecondCall,
        name: "owner-record-in-second-call",
        about: "the owner record is created empty at its final name and written later: a kill in between leaves a lock of nobody's",
        row: "L6",
        scenario: "guillotine",
        invariant: "owner-records-whole",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::ReclaimWithoutIdentityCheck,
        name: "reclaim-without-identity-check",
        about: "whoever reclaims a dead owner's lock takes away whatever stands there by then, also a live owner's record",
        row: "L1",
        scenario: "guillotine",
        invariant: "lock-exclusion",
        ..MutantInfo::PLAIN
    },
];

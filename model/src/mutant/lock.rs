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
        is_interaction: true,
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
        is_interaction: true,
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::LocksOutOfOrder,
        name: "locks-out-of-order",
        about: "who finds a document much too long makes it shorter while it holds its lock: two locks in the other order",
        row: "L11",
        scenario: "concurrency-storm",
        invariant: "waits-for-acyclic",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::LockReEntered,
        name: "lock-re-entered",
        about: "a document is made shorter after its lock has been acquired: the same lock is waited for again",
        row: "L11",
        scenario: "concurrency-storm",
        invariant: "waits-for-acyclic",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::LockTimeoutUnhandled,
        name: "lock-timeout-unhandled",
        about: "a lock that is not free in time ends the agent, instead of being told as \"not now\"",
        row: "L9",
        scenario: "concurrency-storm",
        invariant: "lock-timeouts-handled",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::MigrationLockKept,
        name: "migration-lock-kept",
        about: "the lock of the schema is given back in memory only: nobody will want it again, and its owner record stays for ever",
        row: "L1",
        scenario: "concurrency-storm",
        invariant: "locks-free",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::OwnDeadLocksKept,
        name: "own-dead-locks-kept",
        about: "waking doesn't take away what the agent's earlier lives held: it stays until somebody else waits for it",
        row: "L1",
        scenario: "guillotine",
        invariant: "dead-locks-reclaimed",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::SideCarReplaced,
        name: "side-car-replaced",
        about: "the holder's name is written by replacing the side-car: whoever comes next locks another inode",
        row: "L8",
        scenario: "concurrency-storm",
        invariant: "lock-exclusion",
        ..MutantInfo::PLAIN
    },
];

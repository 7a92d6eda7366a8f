//! Planted bugs of the database, the board and the tasks.

use super::{Mutant, MutantInfo};

pub(super) const CATALOGUE: &[MutantInfo] = &[
    MutantInfo {
        mutant: Mutant::ClaimCheckThenAct,
        name: "claim-check-then-act",
        about: "a task is claimed after a look at it, by an update without a condition: two winners",
        row: "B1",
        scenario: "concurrency-storm",
        invariant: "claim-single-winner",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::DeferredTransaction,
        name: "deferred-transaction",
        about: "writers begin DEFERRED: SQLITE_BUSY_SNAPSHOT comes at once, no busy timeout heals it, and nobody expects it",
        row: "S1",
        scenario: "concurrency-storm",
        invariant: "no-unhandled-error",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::RetryWithoutIdempotence,
        name: "retry-without-idempotence",
        about: "a retry after an unknown outcome doesn't look for its own effect: it takes effect twice",
        row: "B5",
        scenario: "concurrency-storm",
        invariant: "no-lost-write",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::AcknowledgedBeforeCommit,
        name: "acknowledged-before-commit",
        about: "the acknowledgement goes out before COMMIT has returned",
        row: "S6",
        scenario: "concurrency-storm",
        invariant: "acknowledged-durable",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::BoardLostUpdate,
        name: "board-lost-update",
        about: "the board is read before the transaction that writes it begins",
        row: "B6",
        scenario: "concurrency-storm",
        invariant: "board-serializable",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::SynchronousNormal,
        name: "synchronous-normal",
        about: "the database runs with synchronous=NORMAL where FULL is promised: power loss takes the last commits back",
        row: "S6",
        scenario: "guillotine",
        invariant: "acknowledged-durable",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::WalDeletedOnRecovery,
        name: "wal-deleted-on-recovery",
        about: "whoever comes up first after a crash removes the WAL as a left-over, with the commits in it",
        row: "S3",
        scenario: "guillotine",
        invariant: "no-lost-write",
        // A seal may be among the commits: a verification then doesn't know the memory whose file a fault has damaged.
        also: &["damage-named"],
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::TransactionLeftOpen,
        name: "transaction-left-open",
        about: "an error path leaves its transaction open: nobody else can write",
        row: "S8",
        scenario: "guillotine",
        invariant: "no-idle-transaction",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::RegistrationOfLastLife,
        name: "registration-of-last-life",
        about: "waking leaves the row of an agent that is there as it is: with the process of its last life",
        row: "L2",
        scenario: "concurrency-storm",
        invariant: "agents-return",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::ClaimByGenerationOnly,
        name: "claim-by-generation-only",
        about: "a claim checks the generation alone, and one that is there already passes for its own: two winners",
        row: "B2",
        scenario: "concurrency-storm",
        invariant: "claim-single-winner",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::SnapshotLeftOpen,
        name: "snapshot-left-open",
        about: "a reader leaves its transaction open: its snapshot pins the WAL",
        row: "S2",
        scenario: "guillotine",
        invariant: "no-idle-transaction",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::TaskLeftByGeneration,
        name: "task-left-by-generation",
        about: "a task is left by its claim's generation in the place of its token: nobody ever leaves one",
        row: "B1",
        scenario: "concurrency-storm",
        invariant: "calm-completes",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::NeedsCycleAccepted,
        name: "needs-cycle-accepted",
        about: "what a task needs is written without a look at what that needs: tasks that need each other never become ready",
        row: "B4",
        scenario: "concurrency-storm",
        invariant: "needs-acyclic",
        ..MutantInfo::PLAIN
    },
];

//! Planted bugs of clients that use SQLite directly. They stand in the scenario's own clients, since the engine is none of them.

use super::{Mutant, MutantInfo};

pub(super) const CATALOGUE: &[MutantInfo] = &[
    MutantInfo {
        mutant: Mutant::NormalForFull,
        name: "normal-for-full",
        about: "connections run with synchronous=NORMAL where FULL is promised",
        row: "S6",
        scenario: "sqlite-wal",
        invariant: "wal-acknowledged-durable",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::FailedCommitIsDone,
        name: "failed-commit-is-done",
        about: "where synchronous=NORMAL is promised, a COMMIT that failed on the disk is acknowledged",
        row: "S6",
        scenario: "sqlite-wal",
        invariant: "wal-acknowledged-durable",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::ClientTakesFoundForDurable,
        name: "client-takes-found-for-durable",
        about: "a retry acknowledges what it finds, which a dead process may have written and never synced",
        row: "B5",
        scenario: "sqlite-wal",
        invariant: "wal-acknowledged-durable",
        is_interaction: true,
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::OffForNormal,
        name: "off-for-normal",
        about: "connections run with synchronous=OFF where NORMAL is promised: a power loss tears the database",
        row: "S6",
        scenario: "sqlite-wal",
        invariant: "wal-commits-kept",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::ReaderBelievesImmutable,
        name: "reader-believes-immutable",
        about: "readers open a living database with immutable=1: no locks, no WAL",
        row: "S3",
        scenario: "sqlite-wal",
        invariant: "wal-commits-kept",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::LooksWithoutTransaction,
        name: "looks-without-transaction",
        about: "a report reads twice and has no transaction around it",
        row: "S2",
        scenario: "sqlite-wal",
        invariant: "wal-snapshot-still",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::RetriesBlindly,
        name: "retries-blindly",
        about: "whoever doesn't know what became of its commit makes it again",
        row: "B5",
        scenario: "sqlite-wal",
        invariant: "wal-effect-once",
        is_interaction: true,
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::UpgradesSnapshot,
        name: "upgrades-snapshot",
        about: "writers begin as readers: SQLITE_BUSY_SNAPSHOT comes at once, no busy timeout heals it, and nobody expects it",
        row: "S1",
        scenario: "sqlite-wal",
        invariant: "no-unhandled-error",
        ..MutantInfo::PLAIN
    },
];

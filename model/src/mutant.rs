//! Planted bugs, each after a mechanism that hit real software: proof that the harness finds such things. None is ever on by itself.
//!
//! A mutant adds no call, yield or delay: it leaves one out or does it wrongly. Each stands at the place that it changes, as one `if`.

/// A planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mutant {
    /// A claim is decided by an earlier read: the update has no condition.
    ClaimCheckThenAct,
    /// Writers begin deferred, and leave a stale snapshot to the caller.
    DeferredTransaction,
    /// A retry doesn't look for its own earlier effect.
    RetryWithoutIdempotence,
    /// The acknowledgement goes out before COMMIT.
    AcknowledgedBeforeCommit,
    /// A lock is taken from a live owner because it is old.
    LiveOwnerReapedByAge,
    /// A process of the right PID is taken for the owner.
    PidReuseIgnored,
    /// The owner record is written at its final name, in a second call; an empty one counts as stale.
    EmptyOwnerFileIsStale,
    /// Waiters sleep equally long, whatever is left of their wait.
    FixedBackoffConvoy,
    /// The board is read before the transaction begins.
    BoardLostUpdate,
    /// The resource doesn't look at the fencing token.
    LeaseWithoutFencing,
    /// A file is renamed into place before its content is durable.
    NoSyncBeforeRename,
    /// The directory isn't synced after a rename.
    NoDirectorySync,
    /// All temporary files of a lock's owner record have one name.
    FixedTemporaryName,
    /// A file is emptied and written in place.
    TruncateInPlace,
    /// A damaged file is taken for an absent one.
    CorruptReadAsEmpty,
    /// The sweeper takes the temporary files of the living, too.
    SweeperReapsLive,
    /// A document's lock is given back before the document is saved.
    LockReleasedBeforeDurable,
    /// The owner record is written at its final name, in a second call.
    OwnerRecordInSecondCall,
    /// Reclaiming takes away whatever stands at the lock's name.
    ReclaimWithoutIdentityCheck,
    /// Waking leaves a sleep that was begun as it is.
    HalfDoneSleepNotResumed,
    /// Waking leaves staged notes without a seal where they are.
    NoteNeverSealed,
    /// The database runs with synchronous=NORMAL.
    SynchronousNormal,
    /// Recovery removes the WAL.
    WalDeletedOnRecovery,
    /// A transaction that failed stays open.
    TransactionLeftOpen,
}

/// What there is to know of a mutant.
#[derive(Clone, Copy, Debug)]
pub struct MutantInfo {
    /// Which.
    pub mutant: Mutant,
    /// Its name in settings.
    pub name: &'static str,
    /// What is wrong, in one line.
    pub about: &'static str,
    /// The row of the fault catalogue that it is taken from.
    pub row: &'static str,
    /// The scenario in which it must be caught.
    pub scenario: &'static str,
    /// The invariant that must catch it.
    pub invariant: &'static str,
}

/// Every mutant.
pub const CATALOGUE: &[MutantInfo] = &[
    MutantInfo {
        mutant: Mutant::ClaimCheckThenAct,
        name: "claim-check-then-act",
        about: "a task is claimed after a look at it, by an update without a condition: two winners",
        row: "B1",
        scenario: "concurrency-storm",
        invariant: "claim-single-winner",
    },
    MutantInfo {
        mutant: Mutant::DeferredTransaction,
        name: "deferred-transaction",
        about: "writers begin DEFERRED: SQLITE_BUSY_SNAPSHOT comes at once, no busy timeout heals it, and nobody expects it",
        row: "S1",
        scenario: "concurrency-storm",
        invariant: "no-unhandled-error",
    },
    MutantInfo {
        mutant: Mutant::RetryWithoutIdempotence,
        name: "retry-without-idempotence",
        about: "a retry after an unknown outcome doesn't look for its own effect: it takes effect twice",
        row: "B5",
        scenario: "concurrency-storm",
        invariant: "no-lost-write",
    },
    MutantInfo {
        mutant: Mutant::AcknowledgedBeforeCommit,
        name: "acknowledged-before-commit",
        about: "the acknowledgement goes out before COMMIT has returned",
        row: "S6",
        scenario: "concurrency-storm",
        invariant: "acknowledged-durable",
    },
    MutantInfo {
        mutant: Mutant::LiveOwnerReapedByAge,
        name: "live-owner-reaped-by-age",
        about: "an old owner record is taken for stale, though its owner lives",
        row: "L3",
        scenario: "concurrency-storm",
        invariant: "lock-exclusion",
    },
    MutantInfo {
        mutant: Mutant::PidReuseIgnored,
        name: "pid-reuse-ignored",
        about: "whoever has the owner's PID is taken for the owner: a dead one's lock is never reclaimed",
        row: "L2",
        scenario: "concurrency-storm",
        invariant: "lock-reclaimed",
    },
    MutantInfo {
        mutant: Mutant::EmptyOwnerFileIsStale,
        name: "empty-owner-file-is-stale",
        about: "the owner record is created empty at its final name and written later; a reader takes the empty one for stale",
        row: "L6",
        scenario: "concurrency-storm",
        invariant: "lock-exclusion",
    },
    MutantInfo {
        mutant: Mutant::FixedBackoffConvoy,
        name: "fixed-backoff-convoy",
        about: "every waiter sleeps the same fixed time, also past its deadline",
        row: "L10",
        scenario: "concurrency-storm",
        invariant: "lock-wait-bounded",
    },
    MutantInfo {
        mutant: Mutant::BoardLostUpdate,
        name: "board-lost-update",
        about: "the board is read before the transaction that writes it begins",
        row: "B6",
        scenario: "concurrency-storm",
        invariant: "board-serializable",
    },
    MutantInfo {
        mutant: Mutant::LeaseWithoutFencing,
        name: "lease-without-fencing",
        about: "a document takes a write without comparing the writer's token with the highest that it has seen",
        row: "L7",
        scenario: "concurrency-storm",
        invariant: "lease-fencing",
    },
    MutantInfo {
        mutant: Mutant::NoSyncBeforeRename,
        name: "no-sync-before-rename",
        about: "a file is renamed into place before its content is durable: power loss leaves the name with holes behind it",
        row: "F2",
        scenario: "guillotine",
        invariant: "files-whole",
    },
    MutantInfo {
        mutant: Mutant::NoDirectorySync,
        name: "no-directory-sync",
        about: "a replacement is acknowledged before the directory is durable: power loss brings the old content back",
        row: "F3",
        scenario: "guillotine",
        invariant: "documents-kept",
    },
    MutantInfo {
        mutant: Mutant::FixedTemporaryName,
        name: "fixed-temporary-name",
        about: "temporary files of owner records have a fixed name: one process publishes what another is writing",
        row: "F4",
        scenario: "guillotine",
        invariant: "temporaries-exclusive",
    },
    MutantInfo {
        mutant: Mutant::TruncateInPlace,
        name: "truncate-in-place",
        about: "a file is emptied and written in place: whoever dies in between leaves half of it",
        row: "F1",
        scenario: "guillotine",
        invariant: "files-whole",
    },
    MutantInfo {
        mutant: Mutant::CorruptReadAsEmpty,
        name: "corrupt-read-as-empty",
        about: "a damaged document is read as empty, and saved over: what could be rescued is gone",
        row: "F6",
        scenario: "guillotine",
        invariant: "damage-kept",
    },
    MutantInfo {
        mutant: Mutant::SweeperReapsLive,
        name: "sweeper-reaps-live",
        about: "the sweeper removes every temporary file, also those that live peers are writing",
        row: "F7",
        scenario: "guillotine",
        invariant: "live-temporaries-kept",
    },
    MutantInfo {
        mutant: Mutant::LockReleasedBeforeDurable,
        name: "lock-released-before-durable",
        about: "a document's lock is given back before the write is durable: the next holder works on the old content",
        row: "B6",
        scenario: "guillotine",
        invariant: "documents-kept",
    },
    MutantInfo {
        mutant: Mutant::OwnerRecordInSecondCall,
        name: "owner-record-in-second-call",
        about: "the owner record is created empty at its final name and written later: a kill in between leaves a lock of nobody's",
        row: "L6",
        scenario: "guillotine",
        invariant: "owner-records-whole",
    },
    MutantInfo {
        mutant: Mutant::ReclaimWithoutIdentityCheck,
        name: "reclaim-without-identity-check",
        about: "whoever reclaims a dead owner's lock takes away whatever stands there by then, also a live owner's record",
        row: "L1",
        scenario: "guillotine",
        invariant: "lock-exclusion",
    },
    MutantInfo {
        mutant: Mutant::HalfDoneSleepNotResumed,
        name: "half-done-sleep-not-resumed",
        about: "waking doesn't look for a sleep that its last life had sealed and not finished",
        row: "B5",
        scenario: "guillotine",
        invariant: "day-closed",
    },
    MutantInfo {
        mutant: Mutant::NoteNeverSealed,
        name: "note-never-sealed",
        about: "waking doesn't look for notes that were staged and not sealed: they never come into the store",
        row: "M6",
        scenario: "guillotine",
        invariant: "staged-notes-kept",
    },
    MutantInfo {
        mutant: Mutant::SynchronousNormal,
        name: "synchronous-normal",
        about: "the database runs with synchronous=NORMAL where FULL is promised: power loss takes the last commits back",
        row: "S6",
        scenario: "guillotine",
        invariant: "acknowledged-durable",
    },
    MutantInfo {
        mutant: Mutant::WalDeletedOnRecovery,
        name: "wal-deleted-on-recovery",
        about: "whoever comes up first after a crash removes the WAL as a left-over, with the commits in it",
        row: "S3",
        scenario: "guillotine",
        invariant: "no-lost-write",
    },
    MutantInfo {
        mutant: Mutant::TransactionLeftOpen,
        name: "transaction-left-open",
        about: "an error path leaves its transaction open: nobody else can write",
        row: "S8",
        scenario: "guillotine",
        invariant: "no-idle-transaction",
    },
];

impl Mutant {
    /// The mutant of that name.
    pub fn parse(name: &str) -> Option<Mutant> {
        CATALOGUE.iter().find(|info| info.name == name).map(|info| info.mutant)
    }
}

/// Whether this mutant is on.
pub(crate) fn is(on: Option<Mutant>, mutant: Mutant) -> bool {
    on == Some(mutant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_found() {
        let names: BTreeSet<&str> = CATALOGUE.iter().map(|info| info.name).collect();
        let mutants: BTreeSet<Mutant> = CATALOGUE.iter().map(|info| info.mutant).collect();
        assert_eq!((names.len(), mutants.len()), (CATALOGUE.len(), CATALOGUE.len()));
        for info in CATALOGUE {
            assert_eq!(Mutant::parse(info.name), Some(info.mutant));
        }
        assert_eq!(Mutant::parse("none"), None);
    }
}

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
        invariant: "claim-single-winner",
    },
    MutantInfo {
        mutant: Mutant::DeferredTransaction,
        name: "deferred-transaction",
        about: "writers begin DEFERRED: SQLITE_BUSY_SNAPSHOT comes at once, no busy timeout heals it, and nobody expects it",
        row: "S1",
        invariant: "no-unhandled-error",
    },
    MutantInfo {
        mutant: Mutant::RetryWithoutIdempotence,
        name: "retry-without-idempotence",
        about: "a retry after an unknown outcome doesn't look for its own effect: it takes effect twice",
        row: "B5",
        invariant: "no-lost-write",
    },
    MutantInfo {
        mutant: Mutant::AcknowledgedBeforeCommit,
        name: "acknowledged-before-commit",
        about: "the acknowledgement goes out before COMMIT has returned",
        row: "S6",
        invariant: "acknowledged-durable",
    },
    MutantInfo {
        mutant: Mutant::LiveOwnerReapedByAge,
        name: "live-owner-reaped-by-age",
        about: "an old owner record is taken for stale, though its owner lives",
        row: "L3",
        invariant: "lock-exclusion",
    },
    MutantInfo {
        mutant: Mutant::PidReuseIgnored,
        name: "pid-reuse-ignored",
        about: "whoever has the owner's PID is taken for the owner: a dead one's lock is never reclaimed",
        row: "L2",
        invariant: "lock-reclaimed",
    },
    MutantInfo {
        mutant: Mutant::EmptyOwnerFileIsStale,
        name: "empty-owner-file-is-stale",
        about: "the owner record is created empty at its final name and written later; a reader takes the empty one for stale",
        row: "L6",
        invariant: "lock-exclusion",
    },
    MutantInfo {
        mutant: Mutant::FixedBackoffConvoy,
        name: "fixed-backoff-convoy",
        about: "every waiter sleeps the same fixed time, also past its deadline",
        row: "L10",
        invariant: "lock-wait-bounded",
    },
    MutantInfo {
        mutant: Mutant::BoardLostUpdate,
        name: "board-lost-update",
        about: "the board is read before the transaction that writes it begins",
        row: "B6",
        invariant: "board-serializable",
    },
    MutantInfo {
        mutant: Mutant::LeaseWithoutFencing,
        name: "lease-without-fencing",
        about: "a document takes a write without comparing the writer's token with the highest that it has seen",
        row: "L7",
        invariant: "lease-fencing",
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

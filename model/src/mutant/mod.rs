//! Planted bugs, each after a mechanism that hit real software: proof that the harness finds such things. None is ever on by itself.
//!
//! A mutant adds no call, yield or delay: it leaves one out or does it wrongly. Three of the bus commit in the middle of a transaction: that there are two
//! is what is wrong with them. Each stands at the place that it changes, as an `if`. What is known of each is in the file of its family.

mod agent;
mod beliefs;
mod bus;
mod client;
mod disk;
mod file;
mod lock;
mod memory;
mod store;

use seedstorm_sim::plan::PlantedBug;
use seedstorm_sim::sys::disk::DiskFlaw;

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
    /// A delivery doesn't merge the signal's clock.
    MergeSkipped,
    /// A send's tick isn't written down.
    TickNotPersisted,
    /// A delivery doesn't tick.
    ReceiveWithoutTick,
    /// A life begins from an old snapshot of its clock.
    ClockFromSnapshot,
    /// Whatever looks like a clock is read.
    DuplicateKeysAccepted,
    /// A pruned entry counts as unknown.
    PruningBreaksDescent,
    /// A signal leaves the queue before it has taken effect.
    AcknowledgedBeforeDelivered,
    /// A signal counts as seen before it has taken effect.
    SeenBeforeProcessed,
    /// The outbound and the inbound half of a send are committed apart.
    TwoStepSend,
    /// A broadcast leaves out one member.
    BroadcastMissesOne,
    /// The Merkle root is hashed over the memories in the order in which they came.
    RootOverUnsortedLeaves,
    /// A memory is noted as sealed, and the tree is left as it was.
    SealNotUpdated,
    /// What was in stays in as long as some justification of it holds.
    PositiveLoopSupportsItself,
    /// A retraction looks at no other support.
    OverDeletion,
    /// A retraction isn't carried on to what rests on the belief.
    UnderDeletion,
    /// Labels are propagated with a set of visited beliefs.
    VisitedSetPropagation,
    /// Supersessions aren't checked for cycles.
    SupersedesCycleAccepted,
    /// Core memories are guarded by whoever asks, not by the store.
    CoreGuardOnlyInCaller,
    /// The last to arrive yields in a contradiction.
    ContradictionByArrival,
    /// A client's connections run with synchronous=NORMAL where FULL is promised.
    NormalForFull,
    /// A client acknowledges a COMMIT that failed.
    FailedCommitIsDone,
    /// A client acknowledges what it finds, and commits nothing.
    ClientTakesFoundForDurable,
    /// A client's connections run with synchronous=OFF where NORMAL is promised.
    OffForNormal,
    /// A client's readers open the database with immutable=1.
    ReaderBelievesImmutable,
    /// A client reads twice without a transaction.
    LooksWithoutTransaction,
    /// A client doesn't look for its own earlier effect.
    RetriesBlindly,
    /// A client's writers begin deferred.
    UpgradesSnapshot,
    /// The disk breaks a promise.
    OfDisk(DiskFlaw),
    /// A document is made shorter while its lock is held.
    LocksOutOfOrder,
    /// A document is made shorter by somebody who has its lock already.
    LockReEntered,
    /// A lock that times out ends the agent.
    LockTimeoutUnhandled,
    /// The lock of the schema isn't given back.
    MigrationLockKept,
    /// Waking leaves the locks of earlier lives.
    OwnDeadLocksKept,
    /// The side-car of a lock is replaced by a rename.
    SideCarReplaced,
    /// Temporary files of notes aren't swept.
    TemporariesOfNotesLeft,
    /// Files of memories that nobody has sealed stay.
    OrphansLeft,
    /// A memory's file isn't made durable.
    MemoryNotDurable,
    /// The right to write memories is given back before the seal.
    RightToWriteGivenBackEarly,
    /// A verification doesn't read the files.
    VerificationTrustsNames,
    /// What is sealed is read without a transaction.
    AccountReadInPieces,
    /// The row of an agent keeps its last life.
    RegistrationOfLastLife,
    /// A claim looks at the generation only, and takes its own for granted.
    ClaimByGenerationOnly,
    /// A task is left by the number of its claim, and not by its token.
    TaskLeftByGeneration,
    /// What tasks need isn't checked for cycles.
    NeedsCycleAccepted,
    /// A reader leaves its transaction open.
    SnapshotLeftOpen,
    /// A status doesn't look at processes.
    StatusByTheRow,
    /// A process that has its last life's PID is taken for that life.
    OwnPidTakenForOwnLife,
    /// A seal whose notes are gone is an error.
    SealWithoutNotesRefused,
    /// A send is acknowledged before COMMIT.
    SendAcknowledgedEarly,
    /// Copies are delivered as they come.
    NothingHeldBack,
    /// A delivery takes a signal's entries over, also lower ones.
    EntriesOverwritten,
    /// A delivery counts the sender's life on.
    SenderCountedOn,
    /// A member that couldn't say that it has finished believes that it has.
    FinishTakenForGranted,
    /// What comes after a refusal in a batch is dropped.
    BatchEndsAtRefusal,
    /// A contradiction that is flagged stays so.
    FlagNeverLowered,
    /// A belief is labelled once for each way to it.
    LabelledByWays,
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
    /// Invariants that may catch it as well, and rightly: the bug has more than one face, and which of them shows first is chance. Its entry says why.
    pub also: &'static [&'static str],
    /// Whether it shows only where two things come together: a kill and a particular schedule, or two faults.
    pub is_interaction: bool,
}

impl MutantInfo {
    /// What an entry has that says nothing else.
    const PLAIN: MutantInfo = MutantInfo {
        mutant: Mutant::ClaimCheckThenAct,
        name: "",
        about: "",
        row: "",
        scenario: "",
        invariant: "",
        also: &[],
        is_interaction: false,
    };

    /// As its scenario tells it.
    pub fn planted_bug(&self) -> PlantedBug {
        let MutantInfo { mutant: _, name, about, row, scenario: _, invariant, also, is_interaction } = *self;
        PlantedBug { name, about, row, invariant, also, is_interaction }
    }
}

/// Every mutant, one list for each family.
const FAMILIES: &[&[MutantInfo]] = &[
    lock::CATALOGUE,
    file::CATALOGUE,
    store::CATALOGUE,
    agent::CATALOGUE,
    bus::CATALOGUE,
    memory::CATALOGUE,
    disk::CATALOGUE,
    beliefs::CATALOGUE,
    client::CATALOGUE,
];

/// Every mutant.
pub fn catalogue() -> impl Iterator<Item = &'static MutantInfo> {
    FAMILIES.iter().copied().flatten()
}

impl Mutant {
    /// The mutant of that name.
    pub fn parse(name: &str) -> Option<Mutant> {
        catalogue().find(|info| info.name == name).map(|info| info.mutant)
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
        let names: BTreeSet<&str> = catalogue().map(|info| info.name).collect();
        let mutants: BTreeSet<Mutant> = catalogue().map(|info| info.mutant).collect();
        assert_eq!((names.len(), mutants.len()), (catalogue().count(), catalogue().count()));
        for info in catalogue() {
            assert_eq!(Mutant::parse(info.name), Some(info.mutant));
        }
        assert_eq!(Mutant::parse("none"), None);
    }
}

//! The oracles: what must hold of the engine, one file for each. They judge its claims against what the harness knows.

mod agents_return;
mod audit;
pub mod beliefs;
mod board;
mod commits;
mod coverage;
mod damage;
mod damage_named;
mod database;
mod day_closed;
mod deaths;
mod documents;
mod exits;
mod idle_transaction;
mod liveness;
mod lives;
mod locks_free;
mod memories;
mod memory_set;
mod needs;
mod owner_records;
pub mod paths;
mod reading;
mod seal_true;
pub mod signals;
mod staged_notes;
mod status;
mod task_claims;
mod temporaries;
mod wakes;
pub mod wal;

pub use agents_return::AgentsReturn;
pub use audit::Audit;
pub use board::BoardSerializable;
pub use commits::AcknowledgedDurable;
pub use coverage::Coverage;
pub use damage::DamageKept;
pub use damage_named::DamageNamed;
pub use database::{Auditor, DatabaseSound, NoLostWrite};
pub use day_closed::DayClosed;
pub use deaths::Deaths;
pub use documents::{DocumentsKept, FilesWhole};
pub use exits::{LockTimeoutsHandled, NoUnhandledError};
pub use idle_transaction::NoIdleTransaction;
pub use liveness::CalmCompletes;
pub use locks_free::LocksFree;
pub use memories::{MemoriesKept, OrphansSwept};
pub use memory_set::MemorySet;
pub use needs::NeedsAcyclic;
pub use owner_records::{DeadLocksReclaimed, OwnerRecordsWhole};
pub use seal_true::{SealAccount, SealTrue};
pub use staged_notes::StagedNotesKept;
pub use status::StatusTrue;
pub use task_claims::ClaimSingleWinner;
pub use temporaries::{LiveTemporariesKept, TemporariesExclusive, TemporariesReaped};
pub use wakes::WakeSucceeds;

use seedstorm_model::memory::Digest;
use seedstorm_sim::World;

/// The invariants of all agents: (id, what must hold).
pub const AGENTS: &[(&str, &str)] = &[
    ("agents-return", "after a crash at any moment the agents that wake are in the store, as lives of the new boot"),
    ("database-sound", "SQLite's integrity_check and foreign_key_check find nothing, at the end and after each crash"),
    ("lock-timeouts-handled", "no agent ends because a lock timed out"),
    ("locks-free", "no lock is left in the name of a process that ended well, at the end"),
    ("no-unhandled-error", "no agent ends with an error that it should have handled"),
];

/// Adds those of [`AGENTS`] to a world that are about agents' lives; the database's comes with whoever else reads it.
fn watch_lives(world: &mut World) {
    world.invariant(AgentsReturn);
    world.invariant(LockTimeoutsHandled);
    world.invariant(NoUnhandledError);
    world.invariant(LocksFree::default());
}

/// The invariants of agents that work through a script and seal memories: (id, what must hold).
pub const WORKERS: &[(&str, &str)] = &[
    ("acknowledged-durable", "at each acknowledgement the commit's WAL frames are durable, and there is a commit"),
    ("calm-completes", "in the calm phase at least one operation of each kind completes"),
    ("damage-named", "a verification names each sealed memory whose file is damaged, and nothing that is whole"),
    ("memories-kept", "each memory that was acknowledged or outlived a crash is sealed and in its file, byte for byte"),
    ("orphans-swept", "after a crash at any moment no memory's file is left that isn't sealed"),
    ("seal-true", "the Merkle root after each transition is that of the memories sealed by then, claimed and stored"),
];

/// Adds the invariants of [`WORKERS`] and [`AGENTS`] to a world, but for those that are judged before: of commits and of the database.
fn watch_workers(seal: SealTrue, auditor: Auditor, world: &mut World) {
    world.invariant(seal);
    world.invariant(MemoriesKept::new(auditor.clone()));
    world.invariant(OrphansSwept);
    world.invariant(DamageNamed::new(auditor));
    watch_lives(world);
    world.invariant(CalmCompletes::default());
    world.invariant(Coverage::default());
}

/// The invariants that a swarm with board, tasks, notes and documents has besides: (id, what must hold).
pub const SWARM: &[(&str, &str)] = &[
    ("board-serializable", "transactions on the board have a serial order that agrees with what each read and wrote"),
    ("claim-single-winner", "a task's claim has one winner in each generation, and only the winner works under it"),
    (
        "documents-kept",
        "no revision of a document is lost that was acknowledged or outlived a crash, and none made twice",
    ),
    ("files-whole", "documents are never empty or torn"),
    ("needs-acyclic", "no task needs itself, directly or through others"),
    ("no-lost-write", "each acknowledged write is in the database once, at the end and after each crash"),
];

/// Adds the invariants of [`AGENTS`], [`WORKERS`] and [`SWARM`] to a world.
pub fn watch_swarm(world: &mut World) {
    world.invariant(AcknowledgedDurable::default());
    world.invariant(ClaimSingleWinner::default());
    world.invariant(BoardSerializable::default());
    let auditor = Auditor::default();
    world.invariant(NoLostWrite::new(auditor.clone()));
    world.invariant(DatabaseSound::new(auditor.clone()));
    world.invariant(NeedsAcyclic::new(auditor.clone()));
    // A file that isn't whole has lost its revision, too: that it is damaged says more.
    world.invariant(FilesWhole);
    world.invariant(DocumentsKept::default());
    watch_workers(SealTrue::new(auditor.clone()), auditor, world);
}

/// Adds the invariants of [`AGENTS`] and [`WORKERS`] to a world in which the first transition seals these memories.
pub fn watch_store(laid_down: impl IntoIterator<Item = Digest>, world: &mut World) {
    world.invariant(AcknowledgedDurable::default());
    let auditor = Auditor::default();
    world.invariant(DatabaseSound::new(auditor.clone()));
    watch_workers(SealTrue::after(auditor.clone(), laid_down), auditor, world);
}

/// Adds the invariants of [`signals::SIGNALS`] and [`AGENTS`] to a world.
pub fn watch_bus(world: &mut World) {
    signals::watch_signals(world);
    world.invariant(DatabaseSound::new(Auditor::default()));
    watch_lives(world);
}

/// The invariants of agents that keep days and die: (id, what must hold).
pub const DAYS: &[(&str, &str)] = &[
    ("damage-kept", "what a crash has damaged is put aside, never saved over"),
    ("day-closed", "what an agent had sealed in an earlier life is finished when it is awake again"),
    ("dead-locks-reclaimed", "when an agent is awake, its earlier lives hold no lock"),
    ("live-temporaries-kept", "nobody removes a temporary file that a living process is writing"),
    ("no-idle-transaction", "whoever is between two transactions doesn't hold the database's write lock"),
    ("owner-records-whole", "a record at a lock's name is whole, whatever died"),
    ("staged-notes-kept", "each note whose staging was acknowledged comes into the store"),
    (
        "status-true",
        "nobody is called asleep whose sleep a crash could undo, working who was dead, nor stopped at work",
    ),
    ("temporaries-exclusive", "a temporary file is opened by its owner alone, and its name says whose it is"),
    ("temporaries-reaped", "no temporary file is left when all is over"),
    ("wake-succeeds", "each life of an agent that nobody cuts short gets awake"),
];

/// Adds that of [`DAYS`] which is to be asked before those of [`AGENTS`]: how a life ends that never got awake, says more than that it ended badly.
pub fn watch_wakes(world: &mut World) {
    world.invariant(WakeSucceeds::default());
}

/// Adds the other invariants of [`DAYS`] to a world.
pub fn watch_days(world: &mut World) {
    world.invariant(TemporariesExclusive::default());
    world.invariant(LiveTemporariesKept::default());
    world.invariant(NoIdleTransaction::default());
    world.invariant(DamageKept::default());
    world.invariant(OwnerRecordsWhole);
    world.invariant(DeadLocksReclaimed);
    world.invariant(DayClosed);
    let auditor = Auditor::default();
    world.invariant(StagedNotesKept::new(auditor.clone()));
    world.invariant(StatusTrue::new(auditor));
    world.invariant(TemporariesReaped);
    world.invariant(Deaths::default());
}

/// How many invariants there are in lists.
pub(crate) const fn count(lists: &[&[(&str, &str)]]) -> usize {
    let (mut list, mut count) = (0, 0);
    while list < lists.len() {
        count += lists[list].len();
        list += 1;
    }
    count
}

/// Lists of invariants as one. `N` is their [`count`].
pub(crate) const fn joined<const N: usize>(
    lists: &[&[(&'static str, &'static str)]],
) -> [(&'static str, &'static str); N] {
    let mut all = [("", ""); N];
    let (mut list, mut index, mut count) = (0, 0, 0);
    while list < lists.len() {
        if index == lists[list].len() {
            (list, index) = (list + 1, 0);
        } else {
            all[count] = lists[list][index];
            (index, count) = (index + 1, count + 1);
        }
    }
    assert!(count == N, "N is the sum of the lengths");
    all
}

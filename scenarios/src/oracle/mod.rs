//! The oracles: what must hold of the engine, one file for each. They judge its claims against what the harness knows.

mod audit;
mod board;
mod commits;
mod coverage;
mod database;
mod documents;
mod exits;
mod liveness;
mod locks_free;
pub mod paths;
mod task_claims;

pub use audit::Audit;
pub use board::BoardSerializable;
pub use commits::AcknowledgedDurable;
pub use coverage::Coverage;
pub use database::{Auditor, DatabaseSound, NoLostWrite};
pub use documents::{DocumentsKept, FilesWhole};
pub use exits::{LockTimeoutsHandled, NoUnhandledError};
pub use liveness::CalmCompletes;
pub use locks_free::LocksFree;
pub use task_claims::ClaimSingleWinner;

use seedstorm_sim::World;

/// The invariants of a swarm of agents: (id, what must hold).
pub const SWARM: &[(&str, &str)] = &[
    ("acknowledged-durable", "at each acknowledgement the commit's WAL frames are durable, and there is a commit"),
    ("board-serializable", "transactions on the board have a serial order that agrees with what each read and wrote"),
    ("calm-completes", "in the calm phase at least one operation of each kind completes"),
    ("claim-single-winner", "a task's claim has one winner in each generation, and only the winner works under it"),
    ("database-sound", "SQLite's integrity_check and foreign_key_check find nothing, at the end and after each crash"),
    ("documents-kept", "no acknowledged revision of a document is lost or made twice"),
    ("files-whole", "documents are never empty or torn"),
    ("lock-timeouts-handled", "no agent ends because a lock timed out"),
    ("locks-free", "no lock is left in the name of a process that ended well, at the end"),
    ("no-lost-write", "each acknowledged write is in the database once, at the end and after each crash"),
    ("no-unhandled-error", "no agent ends with an error that it should have handled"),
];

/// Adds the invariants of [`SWARM`] to a world.
pub fn watch_swarm(world: &mut World) {
    world.invariant(AcknowledgedDurable::default());
    world.invariant(ClaimSingleWinner::default());
    world.invariant(BoardSerializable::default());
    let auditor = Auditor::default();
    world.invariant(NoLostWrite::new(auditor.clone()));
    world.invariant(DatabaseSound::new(auditor));
    world.invariant(DocumentsKept::default());
    world.invariant(FilesWhole);
    world.invariant(LockTimeoutsHandled);
    world.invariant(NoUnhandledError);
    world.invariant(LocksFree::default());
    world.invariant(CalmCompletes::default());
    world.invariant(Coverage::default());
}

//! The oracles of sqlite-wal, one file for each: a model of rows, whose writes are acknowledged or unknown, against what clients and the harness see of
//! the database. The clients are in `crate::wal`.

mod acknowledged;
mod audit;
mod commits_kept;
mod effect_once;
mod happenings;
mod history;
mod snapshot_still;
mod story;

use super::NoUnhandledError;
use seedstorm_sim::{Plan, World};
use std::cell::RefCell;
use std::rc::Rc;

pub use acknowledged::WalAcknowledgedDurable;
pub use commits_kept::WalCommitsKept;
pub use effect_once::WalEffectOnce;
pub use happenings::{COVERAGE, Happenings};
pub use snapshot_still::WalSnapshotStill;

/// The invariants of clients that use SQLite directly: (id, what must hold).
pub const WAL: &[(&str, &str)] = &[
    ("no-unhandled-error", "no agent ends with an error that it should have handled"),
    ("wal-acknowledged-durable", "at each acknowledgement there is a commit, and with synchronous=FULL it is durable"),
    (
        "wal-commits-kept",
        "whoever looks finds what a prefix of the commits wrote, whole, and no less than had been committed or, after a power loss, promised",
    ),
    ("wal-effect-once", "no operation is committed twice"),
    ("wal-snapshot-still", "a transaction that reads twice reads the same"),
];

/// Adds the invariants of [`WAL`] to a world.
pub fn watch_wal(plan: &Plan, world: &mut World) {
    let (story, auditor) = (Rc::new(RefCell::default()), audit::Auditor::default());
    // First: the story is complete when others tell it.
    world.invariant(Happenings::new(plan, Rc::clone(&story)));
    world.invariant(WalAcknowledgedDurable::new(plan));
    world.invariant(WalEffectOnce::new(auditor.clone()));
    world.invariant(WalSnapshotStill::default());
    world.invariant(WalCommitsKept::new(plan, auditor, story));
    world.invariant(NoUnhandledError);
}

//! What must hold: the trait, the driver that asks after each step, violations. The model's own invariants are in `scenarios`.

mod crash_points;
mod driver;
mod lease_fencing;
mod lock_exclusion;
mod lock_reclaimed;
mod lock_table;
mod lock_wait;
mod stuck;
mod violation;
mod waits_for;

pub use crash_points::{CrashPoints, Recovered, Survivor};
pub(crate) use crash_points::{Readings, Sample};
pub(crate) use driver::Driver;
pub use lease_fencing::LeaseFencing;
pub use lock_exclusion::LockExclusion;
pub use lock_reclaimed::LockReclaimed;
pub use lock_wait::LockWaitBounded;
pub use violation::Violation;
pub use waits_for::WaitsForAcyclic;

use crate::kernel::View;
use crate::trace::{Event, Interest};

/// Something that must hold after each step. It keeps what it needs of the past itself.
pub trait Invariant {
    /// Its name: stable, in kebab case, listed in INVARIANTS.md.
    fn id(&self) -> &'static str;

    /// Whether it finds nothing violated, and only counts what happens ([`View::cover`]): such a one is in no list.
    fn only_counts(&self) -> bool {
        false
    }

    /// Which events it wants to see.
    fn interest(&self) -> Interest {
        Interest::ALL
    }

    /// Whether it takes for granted that what an fsync acknowledged survives a crash. A fault that breaks this, such as a lying fsync, voids it.
    fn rests_on_durability(&self) -> bool {
        false
    }

    /// Sees an event just after it took effect.
    ///
    /// # Errors
    /// What is violated.
    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation>;

    /// Judges the end of a run that came to its end.
    ///
    /// # Errors
    /// What is violated.
    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let _ = view;
        Ok(())
    }

    /// The kinds of claim after which it demands more of what a crash leaves: the acknowledgements. Each is a crash point, beside the moments just before
    /// the durable image changes. An empty list: it judges survivors, and demands the same of all. `None`: it judges none.
    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// Judges what would be left if the machine had lost power at this moment and had recovered. What has been acknowledged so far must be there; what was
    /// begun may be there whole, or not at all. Asked only of those that name their [`Invariant::acknowledgements`].
    ///
    /// # Errors
    /// What is violated. The exploration adds when the crash was and what it kept.
    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        let _ = survivor;
        Ok(())
    }

    /// Judges how a process of the recovery after such a crash has ended, which was not well. Who knows more of it than that says so instead of `recovers`; asked only of
    /// those that name their [`Invariant::acknowledgements`].
    ///
    /// # Errors
    /// What is violated.
    fn unrecovered(&self, failed: &Recovered) -> Result<(), Violation> {
        let _ = failed;
        Ok(())
    }
}

/// The invariants of every scenario: (id, what must hold). They need no observer: the kernel itself knows.
pub const GENERIC: &[(&str, &str)] = &[
    ("progress", "the run ends within its budgets of steps and simulated time, and never stands still"),
    ("no-panic", "no program panics"),
    (
        "leaves-when-dead",
        "the code of a dead process ends: each of its system calls fails, and it leaves by its error paths",
    ),
    (
        "recovers",
        "after a crash at any moment the scenario's recovery comes to a good end, within the run's own budgets",
    ),
];

/// The invariants of every scenario whose programs claim locks: (id, what must hold).
pub const LOCKS: &[(&str, &str)] = &[
    ("lock-exclusion", "each lock has one live holder, and nobody ends well while holding one"),
    ("lock-wait-bounded", "a wait for a lock plans no sleep past its deadline"),
    ("lock-reclaimed", "nobody times out on a lock that only the dead hold"),
    ("lease-fencing", "no write with an older fencing token takes effect after a newer one's"),
    ("waits-for-acyclic", "no deadlock: the graph of who waits for whom has no cycle"),
];

/// Adds the invariants of [`LOCKS`] to a world.
pub fn watch_locks(world: &mut crate::kernel::World) {
    world.invariant(LockExclusion::default());
    world.invariant(LockWaitBounded::default());
    world.invariant(LockReclaimed::default());
    world.invariant(LeaseFencing::default());
    world.invariant(WaitsForAcyclic::default());
}

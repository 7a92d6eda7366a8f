//! What must hold: the trait, the driver that asks after each step, violations. The model's own invariants are in `scenarios`.

mod driver;
mod violation;

pub(crate) use driver::Driver;
pub use violation::Violation;

use crate::kernel::View;
use crate::trace::{Event, Interest};

/// Something that must hold after each step. It keeps what it needs of the past itself.
pub trait Invariant {
    /// Its name: stable, in kebab case, listed in INVARIANTS.md.
    fn id(&self) -> &'static str;

    /// Which events it wants to see.
    fn interest(&self) -> Interest {
        Interest::ALL
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
}

/// The invariants of every scenario: (id, what must hold). They need no observer: the kernel itself knows.
pub const GENERIC: &[(&str, &str)] = &[
    ("progress", "the run ends within its budgets of steps and simulated time, and never stands still"),
    ("no-panic", "no program panics"),
];

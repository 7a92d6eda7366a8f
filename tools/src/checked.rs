//! What is checked of a run: a reproducer holds it, since a run that is checked otherwise may end at another violation. How the command line asks for it is in
//! `cli::check`.

use seedstorm_sim::Settings;
use seedstorm_sim::invariant::CrashPoints;

/// What is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    /// How many crash points are explored.
    pub(crate) crash_points: CrashPoints,
    /// Whether the scenario's invariants are left out.
    pub(crate) without_invariants: bool,
}

impl Checked {
    /// All invariants, and so many crash points.
    pub(crate) fn with(crash_points: CrashPoints) -> Checked {
        Checked { crash_points, without_invariants: false }
    }

    /// Settings of a run that is checked so.
    pub(crate) fn settings(self) -> Settings {
        Settings { crash_points: self.crash_points, without_invariants: self.without_invariants, ..Settings::default() }
    }
}

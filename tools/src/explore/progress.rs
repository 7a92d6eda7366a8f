//! How far `explore` is: on a terminal only.

use crate::progress;
use crate::report::{counted, grouped};
use indicatif::ProgressBar;
use seedstorm_sim::explore::Level;

/// A bar for the schedules with so many skips.
pub(super) struct Progress(ProgressBar);

impl Progress {
    pub(super) fn new() -> Progress {
        Progress(progress::bar(1, "{prefix} {bar:32} {msg}  {eta} left", |style| style))
    }

    pub(super) fn at(&self, level: &Level) {
        if level.runs == 0 {
            self.0.reset_eta();
        }
        self.0.set_prefix(counted(u64::from(level.skips), "skip"));
        self.0.set_length(level.schedules);
        self.0.set_position(level.runs);
        self.0.set_message(format!("{}/{}", grouped(level.runs), grouped(level.schedules)));
    }

    pub(super) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

//! What a search says on stderr while it goes on: on a terminal only. What it found is told in `told`.

use crate::progress;
use indicatif::ProgressBar;
use seedstorm_sim::explore::bisect::Doing;

/// A line that says what is being done, and for how long.
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// Hidden where stderr is no terminal.
    pub(super) fn start() -> Progress {
        Progress(progress::line())
    }

    /// It does this now.
    pub(super) fn tell(&self, doing: Doing) {
        self.0.set_message(match doing {
            Doing::Repeating => "the recorded run once more".to_owned(),
            Doing::Surveying => "a first look at the whole run".to_owned(),
            Doing::Halving(1) => "a closer look at one step".to_owned(),
            Doing::Halving(steps) => format!("halving a stretch of {steps} steps"),
            Doing::Confirming(step) => format!("confirming step {step} of the chaos with fresh runs"),
        });
    }

    /// Takes the line away.
    pub(super) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

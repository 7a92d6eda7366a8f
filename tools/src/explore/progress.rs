//! How far `explore` is: on a terminal only.

use crate::report::{counted, grouped};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use seedstorm_sim::explore::Level;
use std::time::Duration;

/// A bar for the schedules with so many skips.
pub(super) struct Progress(ProgressBar);

impl Progress {
    pub(super) fn new() -> Progress {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
        // The template is fixed: it is right or the bar goes without a style.
        if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:32} {msg}  {eta} left") {
            bar.set_style(style.progress_chars("=> "));
        }
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(250));
        }
        Progress(bar)
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

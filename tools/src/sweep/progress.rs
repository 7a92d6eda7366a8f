//! The progress bar on stderr: on a terminal only, plain when NO_COLOR asks for it. Results are told by sinks.

use crate::progress;
use indicatif::{ProgressBar, ProgressState};
use std::fmt::Write;

/// How far a sweep is.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar for so many runs, after a label. Hidden where stderr is no terminal.
    pub(crate) fn new(runs: u64, label: &str) -> Progress {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let filled = if plain { "{bar:32}" } else { "{bar:32.green}" };
        let template = format!("{{prefix}}{filled} {{pos}}/{{len}}  {{rate}}  {{msg}}  {{eta}} left");
        let rate = |state: &ProgressState, text: &mut dyn Write| {
            // The bar takes what it is given; there is nobody to tell of an error.
            let _ = write!(text, "{:.0} seeds/s", state.per_sec());
        };
        let bar = progress::bar(runs, &template, |style| style.with_key("rate", rate));
        bar.set_prefix(label.to_owned());
        bar.set_message("failures 0");
        Progress(bar)
    }

    /// So many runs have ended, so many failed.
    pub(crate) fn at(&self, ended: u64, failed: u64) {
        self.0.set_position(ended);
        if failed > 0 {
            self.0.set_message(format!("failures {failed}"));
        }
    }

    /// Makes room for lines on the terminal.
    pub(crate) fn aside<T>(&self, say: impl FnOnce() -> T) -> T {
        self.0.suspend(say)
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

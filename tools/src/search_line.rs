//! The line on a terminal that says what a search is at, and for how long it has been. What it says is each search's own.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// A line on stderr; hidden where that is no terminal.
pub(crate) fn start() -> ProgressBar {
    let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    // The template is fixed: it is right or the search goes without a style.
    if let Ok(style) = ProgressStyle::with_template("{elapsed}  {msg}") {
        line.set_style(style);
    }
    if !line.is_hidden() {
        line.enable_steady_tick(Duration::from_millis(250));
    }
    line
}

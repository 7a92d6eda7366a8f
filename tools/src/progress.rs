//! What moves on stderr while something goes on: on a terminal only. What is said there is for each command to say.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// How often it is drawn anew.
const TICK: Duration = Duration::from_millis(250);

/// A line that says what a search is at, and for how long it has been.
pub(crate) fn line() -> ProgressBar {
    start(None, "{elapsed}  {msg}", |style| style)
}

/// A bar of so much to do. `style` adds to its style what the template needs beside indicatif's own keys.
pub(crate) fn bar(length: u64, template: &str, style: impl FnOnce(ProgressStyle) -> ProgressStyle) -> ProgressBar {
    start(Some(length), template, |of_template| style(of_template.progress_chars("=> ")))
}

fn start(length: Option<u64>, template: &str, style: impl FnOnce(ProgressStyle) -> ProgressStyle) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
    // Templates are fixed: one is right, or goes without a style.
    if let Ok(of_template) = ProgressStyle::with_template(template) {
        bar.set_style(style(of_template));
    }
    if !bar.is_hidden() {
        bar.enable_steady_tick(TICK);
    }
    bar
}

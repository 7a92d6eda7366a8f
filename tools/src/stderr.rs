//! What is said on the standard error. Whoever reads it may have gone, or it can't be written: then the exit code and the standard output must do.

use std::fmt::Display;
use std::io::Write;

/// Says something, in a line or more. Nothing is lost but the words if nobody hears them: unlike with `eprintln!`, which panics.
pub(crate) fn say(words: impl Display) {
    // At once, so that the lines of other processes don't come between.
    let _ = std::io::stderr().write_all(format!("{words}\n").as_bytes());
}

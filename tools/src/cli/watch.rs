//! Arguments about programs that make no system call. They change nothing in a run: only how long a command waits for one.

use super::sweep::positive_duration;
use crate::duration;
use crate::hang;
use clap::Args;

/// How long is waited for a program's next system call.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct WatchArguments {
    /// How much real time may pass without a system call before the run is ended, and it is told who made none [default: 1m; where a search runs a hang many
    /// times, 1s].
    #[arg(long, value_name = "1m", value_parser = positive_duration)]
    pub(crate) step_timeout: Option<u64>,
}

impl WatchArguments {
    /// How long it is where no search runs a hang many times, in nanoseconds.
    pub(crate) fn step_timeout_ns(self) -> u64 {
        self.step_timeout.unwrap_or(hang::STEP_TIMEOUT_NS)
    }

    /// The words of a command line that mean the same.
    pub(crate) fn words(self) -> Vec<String> {
        words(self.step_timeout_ns())
    }
}

/// The words that a command needs which shows a failure again: what hangs is not to take longer for it.
pub(crate) fn words_to_show(fingerprint: &str, step_timeout_ns: u64) -> Vec<String> {
    if hang::is_timeout(fingerprint) { words(step_timeout_ns) } else { Vec::new() }
}

/// The words of a command line that give a step so many nanoseconds.
fn words(step_timeout_ns: u64) -> Vec<String> {
    match step_timeout_ns {
        hang::STEP_TIMEOUT_NS => Vec::new(),
        ns => vec!["--step-timeout".to_owned(), duration::exact(ns)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_said_as_it_is_meant() {
        assert_eq!(duration::parse("1m"), Ok(hang::STEP_TIMEOUT_NS));
        let shows = |fingerprint, step_timeout_ns| words_to_show(fingerprint, step_timeout_ns).join(" ");
        assert_eq!(shows("worker-timed-out/process/clerk/hung", 1_500_000_000), "--step-timeout 1500ms");
        assert_eq!(shows("worker-timed-out/process/clerk/hung", hang::STEP_TIMEOUT_NS), "");
        assert_eq!(shows("few-writes/file/clerk/late", 1_500_000_000), "", "only a hang takes its time");
    }
}

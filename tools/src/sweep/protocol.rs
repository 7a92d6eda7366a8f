//! What a sweep and its workers say to each other: JSON, one message in a line, over the worker's standard input and output.

use crate::report::RunResult;
use seedstorm_sim::Options;
use seedstorm_sim::explore::{Trial, Tried};
use seedstorm_sim::invariant::{CrashPoints, Violation};
use seedstorm_sim::kernel::Place;
use seedstorm_sim::metrics::Latencies;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

/// What a worker can be asked for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Wanted {
    /// A seed.
    Seed(Box<Request>),
    /// A plan, with or without turns to follow.
    Trial(Box<Trial>),
    /// Where the run is, at once.
    Place,
    /// What is known of the run by now, at once: it stands still, and is this violation.
    SoFar(Box<Violation>),
}

/// [`Wanted`], borrowed: what is sent.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WantedOf<'a> {
    /// A seed.
    Seed(&'a Request),
    /// A plan, with or without turns to follow.
    Trial(&'a Trial),
    /// Where the run is, at once.
    Place,
    /// What is known of the run by now, at once.
    SoFar(&'a Violation),
}

/// What the worker shall do with a seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Request {
    /// The scenario's name.
    pub(crate) scenario: String,
    /// The seed.
    pub(crate) seed: u64,
    /// How its plan is drawn.
    pub(crate) options: Options,
    /// How many of its crash points are explored.
    pub(crate) crash_points: CrashPoints,
    /// What is wanted beside the result.
    pub(crate) also: Also,
}

/// What is wanted of a run beside its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Also {
    /// Nothing.
    Nothing,
    /// A reproducer in this folder, if it fails.
    Reproducer(PathBuf),
    /// Every event in this file.
    Trace(PathBuf),
}

/// What the worker says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// The run has ended.
    Ended {
        /// What it came to.
        result: Box<RunResult>,
        /// Its simulated latencies by name: the result has their quantiles only, and those can't be added up.
        latencies: BTreeMap<String, Latencies>,
        /// Whether the worker ends now: something of the run could not be taken out of its memory.
        retires: bool,
    },
    /// The trial has ended, or this is known of it by now.
    Tried {
        /// What it came to.
        tried: Box<Tried>,
        /// As in `Ended`.
        retires: bool,
    },
    /// The run goes on, and is there.
    At(Box<Place>),
    /// The run could not begin: the plan can't be drawn or run.
    Refused(String),
    /// The run has ended, but what was wanted beside it could not be done.
    Failed(String),
}

/// Begins each message (RFC 7464): programs under test may print to the standard output too.
const RECORD_SEPARATOR: char = '\u{1e}';

/// Sends a message.
///
/// # Errors
/// The other side is gone.
pub(crate) fn send(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = String::from(RECORD_SEPARATOR);
    line.push_str(&serde_json::to_string(message)?);
    line.push('\n');
    output.write_all(line.as_bytes())?;
    output.flush()
}

/// The message in a line; `None` when there is none: something that a program printed.
pub(crate) fn receive<T: DeserializeOwned>(line: &str) -> Option<T> {
    let (_, message) = line.rsplit_once(RECORD_SEPARATOR)?;
    serde_json::from_str(message).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_among_what_programs_print() {
        let request = Request {
            scenario: "storm".into(),
            seed: u64::MAX,
            options: Options::default(),
            crash_points: CrashPoints::Sampled(7),
            also: Also::Nothing,
        };
        let mut line = b"a program says hello, without a new line".to_vec();
        send(&mut line, &WantedOf::Seed(&request)).expect("memory takes everything");
        let line = String::from_utf8(line).expect("text");
        assert_eq!(receive(&line), Some(Wanted::Seed(Box::new(request))));
        assert_eq!(receive::<Wanted>("hello\n"), None);
        assert_eq!(receive::<Wanted>("\u{1e}{\"half\n"), None);
    }
}

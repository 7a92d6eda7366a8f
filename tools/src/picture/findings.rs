//! What is known of a failing run beside its trace: how to run it again, what shrinking and bisecting found. Others fill it in; the page shows what is there.

use serde::{Deserialize, Serialize};

/// What is known beside the trace. Whatever is absent is not shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Findings {
    /// The command line that runs it again.
    pub(crate) reproduce: Option<String>,
    /// What shrinking found.
    pub(crate) shrunk: Option<Shrunk>,
    /// What bisecting in time found.
    pub(crate) bisected: Option<Bisected>,
}

/// What shrinking found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Shrunk {
    /// What became how much smaller.
    pub(crate) sizes: Vec<Shrinkage>,
    /// The command line that runs the smaller failure.
    pub(crate) reproduce: Option<String>,
}

/// One size, before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shrinkage {
    /// Of what: `faults`, `processes`, `operations`, `preemptions`.
    pub(crate) what: String,
    /// In the run as it was found.
    pub(crate) before: u64,
    /// In the smallest that still fails.
    pub(crate) after: u64,
}

/// What bisecting in time found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bisected {
    /// The step or steps that decided; none when no single step does.
    pub(crate) critical_steps: Vec<u64>,
    /// How probable a failure is when the first steps are kept, by their number, rising.
    pub(crate) curve: Vec<Estimate>,
    /// What was found, in one or two sentences.
    pub(crate) in_words: String,
}

/// How probable a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Estimate {
    /// So many first steps are kept.
    pub(crate) step: u64,
    /// The share of runs that fail, from 0 to 1.
    pub(crate) probability: f64,
    /// The lower end of its 95 % interval.
    pub(crate) low: f64,
    /// The upper end.
    pub(crate) high: f64,
}

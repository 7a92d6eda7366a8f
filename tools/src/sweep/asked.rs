//! What a sweep was asked for, as its summary tells it: runs of several sweeps may be put together only if the same was asked of them.

use crate::catalogue::Known;
use crate::cli::{CheckArguments, DrawArguments};
use crate::seeds::Seeds;
use seedstorm_sim::Options;
use seedstorm_sim::invariant::CrashPoints;
use serde::{Deserialize, Serialize};

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Asked {
    /// The scenarios, in the order in which each seed runs in them.
    pub(crate) scenarios: Vec<String>,
    /// The seeds; of a shard, those of the whole sweep.
    pub(crate) seeds: Vec<Seeds>,
    /// How plans are drawn, as the command line said it.
    pub(crate) draw: DrawArguments,
    /// The same with what its files say.
    pub(crate) options: Options,
    /// How many crash points of a run are explored.
    pub(crate) crash_points: CrashPoints,
    /// The build that ran them: version, commit and SQLite of seedstorm, and the executable; without that where no machine reads it.
    pub(crate) build: String,
}

impl Asked {
    /// What is asked of this build.
    pub(crate) fn of(
        scenarios: &[Known],
        seeds: Seeds,
        draw: &DrawArguments,
        options: &Options,
        check: CheckArguments,
        build: String,
    ) -> Asked {
        Asked {
            scenarios: scenarios.iter().map(|scenario| scenario.name().to_owned()).collect(),
            seeds: vec![seeds],
            draw: draw.clone(),
            options: options.clone(),
            crash_points: check.crash_points(),
            build,
        }
    }

    /// What makes a seed mean another run in the other sweep, if something does: what it is, and how it is in this one and there.
    pub(crate) fn other_runs(&self, other: &Asked) -> Option<(&'static str, String, String)> {
        let words = |asked: &Asked| match asked.draw.words().join(" ") {
            words if words.is_empty() => "no option".to_owned(),
            words => format!("`{words}`"),
        };
        let crash_points = |asked: &Asked| format!("`--crash-points {}`", asked.crash_points);
        let build = |asked: &Asked| asked.build.clone();
        let (what, how): (_, &dyn Fn(&Asked) -> String) = match () {
            () if self.build != other.build => ("it was run by another build", &build),
            () if self.options != other.options => ("its plans were drawn otherwise", &words),
            () if self.crash_points != other.crash_points => ("other crash points were explored", &crash_points),
            () => return None,
        };
        Some((what, how(self), how(other)))
    }

    /// The seeds in words, as a command line takes them where they are one range.
    pub(crate) fn seeds_in_words(&self) -> String {
        self.seeds.iter().map(Seeds::to_string).collect::<Vec<_>>().join(", ")
    }
}

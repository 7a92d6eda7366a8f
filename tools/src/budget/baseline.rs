//! An earlier sweep to compare with: the JSON lines of `sweep --json`.

use crate::exit::{Problem, Result};
use crate::report::{Drawn, Metric, SCHEMA_VERSION, Verdict};
use seedstorm_sim::metrics::Quantiles;
use seedstorm_sim::plan::StrategyPlan;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Latencies of an earlier sweep, by scenario and seed.
#[derive(Debug)]
pub(crate) struct Baseline {
    runs: BTreeMap<(String, u64), Run>,
}

/// A run of it.
#[derive(Debug)]
pub(crate) struct Run {
    /// The digest of its plan.
    pub(crate) plan_digest: String,
    /// Whether it passed. One that failed ended early: its latencies are those of a part.
    pub(crate) passed: bool,
    /// Its latencies, by their names in the machine output.
    pub(crate) latencies: BTreeMap<String, Quantiles>,
}

/// What is asked of each line first: others of another version may have other fields.
#[derive(Deserialize)]
struct Head {
    schema_version: u32,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line {
    Seed {
        scenario: String,
        seed: u64,
        verdict: Verdict,
        strategy: String,
        metrics: BTreeMap<String, Metric>,
        options: Box<Drawn>,
    },
    Summary {},
}

impl Baseline {
    /// Reads a file.
    ///
    /// # Errors
    /// It can't be read, is something else or of another version, or has no run under `timed`.
    pub(crate) fn read(path: &Path) -> Result<Baseline> {
        let shown = path.display();
        let unreadable =
            |error: std::io::Error| Problem::usage(format!("--baseline {shown}: it can't be read: {error}"));
        let file = std::fs::File::open(path).map_err(unreadable)?;
        let mut runs = BTreeMap::new();
        let mut others = 0_u64;
        for (index, line) in BufReader::new(file).lines().enumerate() {
            let line = line.map_err(unreadable)?;
            let wrong = |why: String| Problem::usage(format!("--baseline {shown}:{}: {why}", index + 1));
            let Line::Seed { scenario, seed, verdict, strategy, metrics, options } = parse(&line).map_err(wrong)?
            else {
                continue;
            };
            if strategy != StrategyPlan::Timed.name() {
                others += 1;
                continue;
            }
            if options.plan_digest.is_empty() {
                return Err(wrong(
                    "an older version wrote it, which doesn't say what the seed meant (`plan_digest`); make it anew"
                        .to_owned(),
                ));
            }
            let latencies = metrics.into_iter().filter_map(|(name, metric)| match metric {
                Metric::Latency(quantiles) => Some((name, quantiles)),
                Metric::Count(_) | Metric::Rate(_) => None,
            });
            let (plan_digest, passed) = (options.plan_digest, verdict == Verdict::Pass);
            runs.insert((scenario, seed), Run { plan_digest, passed, latencies: latencies.collect() });
        }
        if runs.is_empty() {
            let under = if others > 0 { " under `timed`, under which alone latencies mean time" } else { "" };
            return Err(Problem::usage(format!(
                "--baseline {shown}: it has no run{under}; make it with `sweep --strategy timed --json`"
            )));
        }
        Ok(Baseline { runs })
    }

    /// The run of a seed.
    pub(crate) fn run(&self, scenario: &str, seed: u64) -> Option<&Run> {
        self.runs.get(&(scenario.to_owned(), seed))
    }
}

/// Reads a line, or says what is wrong with it.
fn parse(line: &str) -> std::result::Result<Line, String> {
    let no_line = |error: serde_json::Error| format!("no line of `sweep --json`: {error}");
    let Head { schema_version } = serde_json::from_str(line).map_err(no_line)?;
    if schema_version != SCHEMA_VERSION {
        return Err(format!(
            "its `schema_version` is {schema_version}, and {SCHEMA_VERSION} is the only one that this version reads"
        ));
    }
    serde_json::from_str(line).map_err(no_line)
}

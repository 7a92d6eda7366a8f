//! An earlier sweep to compare with: the JSON lines of `sweep --json`.

use crate::exit::{Problem, Result};
use crate::report::{Drawn, Metric};
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
    /// What its plan had drawn.
    pub(crate) drawn: Drawn,
    /// Its latencies, by their names in the machine output.
    pub(crate) latencies: BTreeMap<String, Quantiles>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line {
    Seed { scenario: String, seed: u64, strategy: String, metrics: BTreeMap<String, Metric>, options: Drawn },
    Summary {},
}

impl Baseline {
    /// Reads a file.
    ///
    /// # Errors
    /// It can't be read, is something else, or has no run under `timed`.
    pub(crate) fn read(path: &Path) -> Result<Baseline> {
        let shown = path.display();
        let unreadable =
            |error: std::io::Error| Problem::usage(format!("--baseline {shown}: it can't be read: {error}"));
        let file = std::fs::File::open(path).map_err(unreadable)?;
        let mut runs = BTreeMap::new();
        let mut others = 0_u64;
        for (index, line) in BufReader::new(file).lines().enumerate() {
            let line = line.map_err(unreadable)?;
            let line: Line = serde_json::from_str(&line).map_err(|error| {
                let number = index + 1;
                Problem::usage(format!("--baseline {shown}:{number}: no line of `sweep --json`: {error}"))
            })?;
            let Line::Seed { scenario, seed, strategy, metrics, options: drawn } = line else { continue };
            if strategy != StrategyPlan::Timed.name() {
                others += 1;
                continue;
            }
            let latencies = metrics.into_iter().filter_map(|(name, metric)| match metric {
                Metric::Latency(quantiles) => Some((name, quantiles)),
                Metric::Count(_) | Metric::Rate(_) => None,
            });
            runs.insert((scenario, seed), Run { drawn, latencies: latencies.collect() });
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

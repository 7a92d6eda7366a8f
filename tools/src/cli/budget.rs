//! Arguments about how long simulated latencies may be. How they are judged is in `budget`.

use crate::budget::Budget;
use crate::shell;
use clap::Args;
use std::path::PathBuf;

/// How long simulated latencies may be.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct BudgetArguments {
    /// What a simulated latency may be at most, over all seeds: `lock-acquire:p99=250ms`, or `+10%` of it above the baseline. Quantiles are p50, p90, p99, p99.9
    /// and max. More than one with commas between them. Latencies mean time only under `--strategy timed`.
    #[arg(long, value_name = "LATENCY:QUANTILE=LIMIT", value_delimiter = ',')]
    pub(crate) latency_budget: Vec<Budget>,

    /// Compare latencies with those that an earlier `sweep --strategy timed --json` wrote to this file, by pairs of the same seed and plan.
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
}

impl BudgetArguments {
    /// An option that was given, if one was.
    pub(crate) fn given(&self) -> Option<&'static str> {
        match (&self.latency_budget[..], &self.baseline) {
            ([], None) => None,
            ([], Some(_)) => Some("--baseline"),
            _ => Some("--latency-budget"),
        }
    }

    /// The words of a command line that mean the same.
    pub(crate) fn words(&self) -> Vec<String> {
        let budgets = self.latency_budget.iter().flat_map(|budget| ["--latency-budget".to_owned(), budget.to_string()]);
        let baseline = self.baseline.iter().flat_map(|path| shell::option("baseline", &path.display().to_string()));
        budgets.chain(baseline).collect()
    }
}

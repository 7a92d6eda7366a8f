//! The summary of a sweep: the fields of the machine output, a contract. How failures come into groups is in `sweep::grouping`.

use crate::budget::Ratio;
use crate::shard::Shard;
use crate::sweep::Asked;
use seedstorm_sim::metrics::{Latencies, Quantiles};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How often something that must happen sometimes did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Coverage {
    /// In all runs together.
    pub(crate) total: u64,
    /// In how many runs.
    pub(crate) seeds: u64,
}

impl Coverage {
    /// Adds a run in which it happened so often.
    pub(crate) fn add(&mut self, count: u64) {
        self.total += count;
        self.seeds += u64::from(count > 0);
    }
}

/// Failures of one fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FingerprintGroup {
    /// The fingerprint of the first violation of each.
    pub(crate) fingerprint: String,
    /// The invariant that was violated.
    pub(crate) invariant: String,
    /// The seeds, in order.
    pub(crate) seeds: Vec<u64>,
    /// The scenarios that the seeds were run in.
    pub(crate) scenarios: Vec<String>,
    /// The message of the first.
    pub(crate) message: String,
    /// The reproducers that were written.
    pub(crate) reproducers: Vec<String>,
    /// The first of them as one word that `replay --repro` reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) repro: Option<String>,
}

/// Two runs of one plan that were not the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Difference {
    /// The scenario.
    pub(crate) scenario: String,
    /// The seed.
    pub(crate) seed: u64,
    /// The trace hash of the first run.
    pub(crate) first_hash: Option<String>,
    /// The trace hash of the second, in a fresh process.
    pub(crate) second_hash: Option<String>,
    /// The first step that differs, when a third and a fourth run showed one.
    pub(crate) step: Option<u64>,
    /// The shard of the sweep that it was run in, if that was shared out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shard: Option<Shard>,
    /// What differs there, in words; the first line says where.
    pub(crate) first_difference: String,
    /// The traces of two runs that differ, if they were kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) traces: Vec<String>,
}

/// The run in which a latency was longest; against a baseline, in which it has grown most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Longest {
    /// Its scenario.
    pub(crate) scenario: String,
    /// Its seed.
    pub(crate) seed: u64,
    /// The quantile in that run alone, in simulated nanoseconds.
    pub(crate) ns: u64,
    /// What it was in the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before_ns: Option<u64>,
}

/// A latency against that of a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Compared {
    /// The latency: `lock-acquire`.
    pub(crate) latency: String,
    /// Which quantile of each run: `p99`.
    pub(crate) quantile: String,
    /// Now over before.
    #[serde(flatten)]
    pub(crate) by_pairs: Ratio,
}

/// A budget, and whether it was kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JudgedBudget {
    /// The budget as a command line takes it.
    pub(crate) budget: String,
    /// The latency: `lock-acquire`.
    pub(crate) latency: String,
    /// Which quantile: `p99`.
    pub(crate) quantile: String,
    /// How much is allowed, in words.
    pub(crate) limit: String,
    /// How many were measured in all runs.
    pub(crate) count: u64,
    /// The quantile over all runs, in simulated nanoseconds.
    pub(crate) measured_ns: Option<u64>,
    /// The same against the baseline, if the budget says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) compared: Option<Compared>,
    /// Whether it was kept, going by the estimate; null: that can't be told.
    pub(crate) is_met: Option<bool>,
    /// Against a baseline: whether the 95 % interval holds the limit, so that other seeds might have said the opposite.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_within_chance: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) not_judged: Option<String>,
    /// The run in which it was longest, or has grown most.
    pub(crate) longest: Option<Longest>,
}

/// Something that should be in a merge and isn't.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Missing {
    /// What, in words.
    pub(crate) what: String,
    /// How many runs; null: nobody knows.
    pub(crate) runs: Option<u64>,
    /// The command that runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
}

/// What a sweep came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SweepSummary {
    /// Runs that ended: one for each seed and scenario.
    pub(crate) seeds: u64,
    /// How many of them held every invariant.
    pub(crate) passed: u64,
    /// How many didn't.
    pub(crate) failed: u64,
    /// The failures by fingerprint, the one with the lowest seed first.
    pub(crate) fingerprints: Vec<FingerprintGroup>,
    /// Runs in a real second.
    pub(crate) seeds_per_s: f64,
    /// Simulated time over real time.
    pub(crate) simulated_to_real: f64,
    /// Steps of all runs.
    pub(crate) steps: u64,
    /// Simulated time of all runs, in nanoseconds.
    pub(crate) simulated_ns: u64,
    /// Real time of the sweep, in nanoseconds.
    pub(crate) wall_ns: u64,
    /// By scenario and name: what must happen sometimes.
    pub(crate) coverage: BTreeMap<String, BTreeMap<String, Coverage>>,
    /// Scenario and name of what never happened, in sweeps long enough to expect it.
    pub(crate) never_happened: Vec<(String, String)>,
    /// The options that restrict what is drawn, when some were given: then what never happened is not judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) never_happened_not_judged_for: Vec<String>,
    /// How many faults of each kind fired.
    pub(crate) faults: BTreeMap<String, u64>,
    /// Crash points that were explored.
    pub(crate) crash_points: u64,
    /// Images of a crash that were met there, in each run each once.
    pub(crate) crash_images: u64,
    /// Recoveries from them that were run.
    pub(crate) crash_recoveries: u64,
    /// Simulated latencies of all runs by strategy and name, in nanoseconds. They mean time only under `timed`.
    pub(crate) latencies: BTreeMap<String, BTreeMap<String, Quantiles>>,
    /// Why there are no latencies, where they can't be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) latencies_not_told: Option<String>,
    /// Budgets for latencies, as the command line gave them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) budgets: Vec<JudgedBudget>,
    /// Latencies against those of the baseline, if there was one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) against_baseline: Vec<Compared>,
    /// Seeds whose plan was another one in the baseline: they are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) baseline_other_plans: u64,
    /// Seeds that failed, here or in the baseline: they are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) baseline_failed_seeds: u64,
    /// By latency: how many seeds measured it in the baseline, and here don't. They are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) baseline_vanished: BTreeMap<String, u64>,
    /// How many runs each strategy had.
    pub(crate) strategies: BTreeMap<String, u64>,
    /// How many seeds ran twice.
    pub(crate) run_twice: u64,
    /// The same by scenario.
    #[serde(default)]
    pub(crate) run_twice_in: BTreeMap<String, u64>,
    /// Those that were not the same.
    pub(crate) differences: Vec<Difference>,
    /// Workers that had to be replaced.
    pub(crate) workers_replaced: u64,
    /// Whether a signal ended the sweep. Then nothing is judged but runs: no budget, and not what must happen sometimes.
    pub(crate) interrupted: bool,
    /// The command that goes on where a signal ended it, when nothing was wrong until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    /// What a merge should have and doesn't. Then it is no pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) missing: Vec<Missing>,
    /// Which shard of the sweep this is of, if it is shared out: what never happened is not judged then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shard: Option<Shard>,
    /// What was asked for. Only runs of the same can be put together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) asked: Option<Asked>,
    /// `latencies` as pairs (nanoseconds, how often): those of several sweeps can be added up.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) histograms: BTreeMap<String, BTreeMap<String, Latencies>>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

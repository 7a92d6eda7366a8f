//! The result of one run: the fields of the machine output, a contract. How it is shown to people is in `human`.

use crate::panics;
use seedstorm_sim::invariant::Violation;
use seedstorm_sim::metrics::Quantiles;
use seedstorm_sim::{Outcome, Plan, Scenario};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use twox_hash::XxHash3_128;

/// Whether every invariant held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// It did.
    Pass,
    /// It didn't.
    Fail,
}

/// One metric. Latencies mean simulated time only under the strategy `timed`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Metric {
    /// A count.
    Count(u64),
    /// So many in a simulated second.
    Rate(f64),
    /// A latency.
    Latency(Quantiles),
}

/// What the seed and the options came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Drawn {
    /// A digest of the whole plan, as 32 hexadecimal digits: equal plans have equal ones. Empty in the output of a version that didn't tell it.
    #[serde(default)]
    pub(crate) plan_digest: String,
    /// What a machine crash may lose.
    pub(crate) persistence: String,
    /// The latency profile.
    pub(crate) latency: String,
    /// How long faults may fire, in simulated nanoseconds.
    pub(crate) chaos_ns: u64,
    /// How many faults are planned.
    pub(crate) faults_planned: usize,
    /// How many operations are planned.
    pub(crate) operations_planned: usize,
    /// What the scenario drew for itself.
    pub(crate) settings: BTreeMap<String, toml::Value>,
}

/// How a replay compares with its recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Replayed {
    /// The same violation at the same step, and the same trace hash.
    pub(crate) reproduced: bool,
    /// The first point where it left the recording, if it did.
    pub(crate) drift: Option<String>,
    /// What differs from the recording, if something does.
    pub(crate) differs: Vec<String>,
    /// What shows more of it, and what the cause may be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) hints: Vec<String>,
}

/// What one run came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunResult {
    /// The scenario's name.
    pub(crate) scenario: String,
    /// The seed.
    pub(crate) seed: u64,
    /// The verdict.
    pub(crate) verdict: Verdict,
    /// The hash of everything that happened, as 32 hexadecimal digits; null when the run did not come to an end: its worker died, or a program made no call.
    pub(crate) trace_hash: Option<String>,
    /// Steps taken.
    pub(crate) steps: u64,
    /// Events that happened.
    pub(crate) events: u64,
    /// Simulated time, in nanoseconds.
    pub(crate) simulated_ns: u64,
    /// Real time, in nanoseconds. The only field that two runs of one seed may differ in.
    pub(crate) wall_ns: u64,
    /// Who stepped next.
    pub(crate) strategy: String,
    /// What was violated, in the order in which it was found.
    pub(crate) violations: Vec<Violation>,
    /// How often each event happened that must happen sometimes; those that never did are 0.
    pub(crate) coverage: BTreeMap<String, u64>,
    /// How many faults of each kind fired.
    pub(crate) faults: BTreeMap<String, u64>,
    /// Measurements by name: `transactions`, `transactions_per_simulated_s`, `zero_byte_files`, `lock_acquire_ns` always, and what else the
    /// scenario measures.
    pub(crate) metrics: BTreeMap<String, Metric>,
    /// Which of them the run did measure: people are shown no others. Machines are told each, and this isn't sent.
    #[serde(skip)]
    pub(crate) measured: BTreeSet<String>,
    /// What was drawn.
    pub(crate) options: Drawn,
    /// The failure as one word that `replay --repro` reads, if it failed and was told to people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) repro: Option<String>,
    /// The reproducer that was written for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reproducer: Option<String>,
    /// How it compares with its recording, if it is a replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) replay: Option<Replayed>,
}

impl Drawn {
    /// What a plan holds of it.
    pub(crate) fn of(plan: &Plan) -> Drawn {
        Drawn {
            plan_digest: plan_digest(plan),
            persistence: format!("{:?}", plan.persistence).to_lowercase(),
            latency: plan.latency.clone(),
            chaos_ns: plan.chaos_ns,
            faults_planned: plan.faults.len(),
            operations_planned: plan.operations.len(),
            settings: plan.settings.clone(),
        }
    }
}

impl RunResult {
    /// The result of a run that came to an outcome.
    pub(crate) fn new(scenario: &dyn Scenario, plan: &Plan, outcome: &Outcome, wall_ns: u64) -> RunResult {
        let mut result = RunResult::without_outcome(scenario, plan, wall_ns);
        result.verdict = if outcome.passed() { Verdict::Pass } else { Verdict::Fail };
        result.trace_hash = Some(outcome.trace_hash.to_string());
        (result.steps, result.events, result.simulated_ns) = (outcome.steps, outcome.events, outcome.simulated_ns);
        result.violations.clone_from(&outcome.violations);
        for violation in result.violations.iter_mut().filter(|violation| violation.invariant == "no-panic") {
            if let Some(place) = panics::place_of(&violation.message) {
                violation.message = format!("{} ({place}){}", violation.message, panics::advice_on(&place));
            }
        }
        let observations = &outcome.observations;
        result.coverage.extend(observations.coverage.iter().map(|(name, count)| ((*name).to_owned(), *count)));
        result.faults.extend(observations.faults.iter().map(|(kind, count)| (kind.name().to_owned(), *count)));
        let measured = observations.counters.keys().chain(observations.latencies.keys());
        result.measured = measured.map(|name| (*name).to_owned()).collect();
        let metrics = &mut result.metrics;
        metrics.extend(observations.counters.iter().map(|(name, count)| ((*name).to_owned(), Metric::Count(*count))));
        for (name, histogram) in &observations.latencies {
            metrics.insert((*name).to_owned(), Metric::Latency(Quantiles::from(histogram)));
        }
        let per_second = per_simulated_s(result.count("transactions"), result.simulated_ns);
        result.metrics.insert("transactions_per_simulated_s".to_owned(), Metric::Rate(per_second));
        result
    }

    /// The result of a run that ended with its worker, or with its whole process: nothing is known of it but how far it was.
    pub(crate) fn lost(scenario: &dyn Scenario, plan: &Plan, wall_ns: u64, violation: Violation) -> RunResult {
        let mut result = RunResult::without_outcome(scenario, plan, wall_ns);
        (result.steps, result.simulated_ns) = (violation.step, violation.time_ns);
        result.violations.push(violation);
        result
    }

    /// The same result, of a run whose second time did not come to an end.
    pub(crate) fn failed_by(mut self, violation: Violation) -> RunResult {
        self.verdict = Verdict::Fail;
        self.violations.push(violation);
        self
    }

    fn without_outcome(scenario: &dyn Scenario, plan: &Plan, wall_ns: u64) -> RunResult {
        RunResult {
            scenario: scenario.name().to_owned(),
            seed: plan.seed.0,
            verdict: Verdict::Fail,
            trace_hash: None,
            steps: 0,
            events: 0,
            simulated_ns: 0,
            wall_ns,
            strategy: plan.strategy.name().to_owned(),
            violations: Vec::new(),
            coverage: scenario.coverage().iter().map(|name| ((*name).to_owned(), 0)).collect(),
            faults: BTreeMap::new(),
            metrics: BTreeMap::from([
                ("transactions".to_owned(), Metric::Count(0)),
                ("transactions_per_simulated_s".to_owned(), Metric::Rate(0.0)),
                ("zero_byte_files".to_owned(), Metric::Count(0)),
                ("lock_acquire_ns".to_owned(), Metric::Latency(Quantiles::default())),
            ]),
            measured: BTreeSet::new(),
            options: Drawn::of(plan),
            repro: None,
            reproducer: None,
            replay: None,
        }
    }

    /// Whether every invariant held.
    pub(crate) fn passed(&self) -> bool {
        self.verdict == Verdict::Pass
    }

    /// A count among the metrics; absent is 0.
    pub(crate) fn count(&self, name: &str) -> u64 {
        match self.metrics.get(name) {
            Some(Metric::Count(count)) => *count,
            _ => 0,
        }
    }

    /// Whether the two runs did the same, as far as their results tell: all but real time.
    pub(crate) fn did_the_same(&self, other: &RunResult) -> bool {
        let timeless = |result: &RunResult| RunResult {
            wall_ns: 0,
            repro: None,
            reproducer: None,
            replay: None,
            ..result.clone()
        };
        timeless(self) == timeless(other)
    }
}

/// The digest of a plan: of its JSON, which tells apart what a plan can hold.
fn plan_digest(plan: &Plan) -> String {
    let json = serde_json::to_vec(plan).expect("a plan holds nothing that JSON can't");
    format!("{:032x}", XxHash3_128::oneshot(&json))
}

fn per_simulated_s(count: u64, simulated_ns: u64) -> f64 {
    if simulated_ns == 0 { 0.0 } else { count as f64 * 1e9 / simulated_ns as f64 }
}

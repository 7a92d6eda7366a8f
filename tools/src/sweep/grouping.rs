//! Adds up results into a summary, and failures into groups of one fingerprint. Results come in the order of seeds.

use crate::budget::Judge;
use crate::report::{Difference, FingerprintGroup, RunResult, SweepSummary};
use seedstorm_sim::metrics::Latencies;
use std::collections::BTreeMap;

/// Failures of one fingerprint that get a reproducer; the others run again from their seeds.
const REPRODUCERS_PER_FINGERPRINT: usize = 3;

/// A sweep of fewer runs of a scenario need not have seen everything that must happen sometimes.
const RUNS_TO_SEE_EVERYTHING: u64 = 100;

/// What was kept of a failure.
pub(crate) struct Reproduced {
    /// The path of its reproducer.
    pub(crate) path: String,
    /// The failure as one word.
    pub(crate) repro: String,
}

/// What has been added up.
#[derive(Default)]
pub(crate) struct Tally {
    summary: SweepSummary,
    groups: BTreeMap<String, usize>,
    runs: BTreeMap<String, u64>,
    latencies: BTreeMap<String, BTreeMap<String, Latencies>>,
    /// By fingerprint: the runs whose reproducers have been asked for, and what was kept of those that came.
    reproducers: BTreeMap<String, BTreeMap<u64, Option<Reproduced>>>,
    judge: Judge,
}

impl Tally {
    /// Nothing yet. The judge sees each run.
    pub(crate) fn new(judge: Judge) -> Tally {
        Tally { judge, ..Tally::default() }
    }

    /// Adds the result of a run. Gives the fingerprint when the failure should get a reproducer.
    pub(crate) fn add(&mut self, index: u64, result: &RunResult) -> Option<String> {
        self.judge.run(result);
        let summary = &mut self.summary;
        summary.seeds += 1;
        summary.steps += result.steps;
        summary.simulated_ns = summary.simulated_ns.saturating_add(result.simulated_ns);
        summary.crash_points += result.count("crash_points");
        summary.crash_images += result.count("crash_images");
        summary.crash_recoveries += result.count("crash_recoveries");
        *summary.strategies.entry(result.strategy.clone()).or_default() += 1;
        *self.runs.entry(result.scenario.clone()).or_default() += 1;
        for (kind, count) in &result.faults {
            *summary.faults.entry(kind.clone()).or_default() += count;
        }
        let coverage = summary.coverage.entry(result.scenario.clone()).or_default();
        for (name, count) in &result.coverage {
            coverage.entry(name.clone()).or_default().add(*count);
        }
        if result.passed() {
            summary.passed += 1;
            return None;
        }
        summary.failed += 1;
        self.group(index, result)
    }

    fn group(&mut self, index: u64, result: &RunResult) -> Option<String> {
        // A failure always has a violation.
        let violation = result.violations.first()?;
        let groups = &mut self.summary.fingerprints;
        let group = *self.groups.entry(violation.fingerprint.clone()).or_insert_with(|| {
            groups.push(FingerprintGroup {
                fingerprint: violation.fingerprint.clone(),
                invariant: violation.invariant.clone(),
                seeds: Vec::new(),
                scenarios: Vec::new(),
                message: violation.message.clone(),
                reproducers: Vec::new(),
                repro: None,
            });
            groups.len() - 1
        });
        let group = &mut groups[group];
        if group.seeds.last() != Some(&result.seed) {
            group.seeds.push(result.seed);
        }
        if !group.scenarios.contains(&result.scenario) {
            group.scenarios.push(result.scenario.clone());
        }
        let reproducers = self.reproducers.entry(violation.fingerprint.clone()).or_default();
        if reproducers.len() == REPRODUCERS_PER_FINGERPRINT {
            return None;
        }
        reproducers.insert(index, None);
        Some(violation.fingerprint.clone())
    }

    /// Adds the reproducer of a run that failed.
    pub(crate) fn reproducer(&mut self, index: u64, fingerprint: &str, kept: Option<Reproduced>) {
        if let Some(reproducers) = self.reproducers.get_mut(fingerprint) {
            reproducers.insert(index, kept);
        }
    }

    /// Adds a seed that ran twice, and how the two differed if they did.
    pub(crate) fn ran_twice(&mut self, difference: Option<Difference>) {
        self.summary.run_twice += 1;
        self.summary.differences.extend(difference);
    }

    /// Adds the simulated latencies of a run under a strategy.
    pub(crate) fn latencies(&mut self, strategy: &str, latencies: &BTreeMap<String, Latencies>) {
        let all = self.latencies.entry(strategy.to_owned()).or_default();
        for (name, latencies) in latencies {
            all.entry(name.clone()).or_default().merge(latencies);
        }
    }

    /// Adds workers that were replaced.
    pub(crate) fn replaced(&mut self, count: u64) {
        self.summary.workers_replaced += count;
    }

    /// How many failures there are.
    pub(crate) fn failed(&self) -> u64 {
        self.summary.failed
    }

    /// The summary of a sweep that took so long. Options that restrict what is drawn may keep things from happening that must otherwise
    /// happen sometimes: then that is not judged.
    pub(crate) fn finish(mut self, wall_ns: u64, interrupted: bool, restricting: Vec<String>) -> SweepSummary {
        let summary = &mut self.summary;
        (summary.wall_ns, summary.interrupted) = (wall_ns, interrupted);
        if wall_ns > 0 {
            summary.seeds_per_s = summary.seeds as f64 * 1e9 / wall_ns as f64;
            summary.simulated_to_real = summary.simulated_ns as f64 / wall_ns as f64;
        }
        for (strategy, latencies) in &self.latencies {
            let quantiles = latencies.iter().map(|(name, latencies)| (name.clone(), latencies.quantiles())).collect();
            summary.latencies.insert(strategy.clone(), quantiles);
        }
        self.judge.judge(summary);
        for group in &mut summary.fingerprints {
            // They came from several workers; the order must not depend on which is faster.
            let reproducers = self.reproducers.remove(&group.fingerprint).unwrap_or_default();
            for Reproduced { path, repro } in reproducers.into_values().flatten() {
                group.reproducers.push(path);
                group.repro.get_or_insert(repro);
            }
        }
        // What has not happened may still happen in the seeds that are left.
        let judged = summary.coverage.iter().filter(|_| !interrupted);
        for (scenario, events) in judged {
            let is_long = self.runs.get(scenario).is_some_and(|runs| *runs >= RUNS_TO_SEE_EVERYTHING);
            if is_long && !restricting.is_empty() {
                summary.never_happened_not_judged_for.clone_from(&restricting);
            } else if is_long {
                let never = events.iter().filter(|(_, event)| event.total == 0);
                summary.never_happened.extend(never.map(|(name, _)| (scenario.clone(), name.clone())));
            }
        }
        self.summary
    }
}

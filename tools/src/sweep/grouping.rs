//! Adds up results into a summary, and failures into groups of one fingerprint. Results come in the order of seeds.

use super::asked::Asked;
use crate::budget::Judge;
use crate::report::{Difference, FingerprintGroup, Missing, RunResult, SweepSummary};
use crate::shard::Shard;
use seedstorm_sim::invariant::Violation;
use seedstorm_sim::metrics::Latencies;
use std::collections::BTreeMap;

/// Failures of one fingerprint that get a reproducer; the others run again from their seeds.
const REPRODUCERS_PER_FINGERPRINT: usize = 3;

/// A sweep of fewer runs of a scenario need not have seen everything that must happen sometimes.
pub(crate) const RUNS_TO_SEE_EVERYTHING: u64 = 100;

/// What was kept of a failure.
pub(crate) struct Reproduced {
    /// The path of its reproducer.
    pub(crate) path: String,
    /// The failure as one word, where it is known.
    pub(crate) repro: Option<String>,
}

/// Violations by fingerprint, in the order in which they were found.
#[derive(Default)]
pub(crate) struct Groups {
    groups: Vec<FingerprintGroup>,
    places: BTreeMap<String, usize>,
}

impl Groups {
    /// Adds a violation of a run.
    pub(crate) fn add(&mut self, result: &RunResult, violation: &Violation) {
        let place = *self.places.entry(violation.fingerprint.clone()).or_insert_with(|| {
            self.groups.push(FingerprintGroup {
                fingerprint: violation.fingerprint.clone(),
                invariant: violation.invariant.clone(),
                seeds: Vec::new(),
                scenarios: Vec::new(),
                message: violation.message.clone(),
                reproducers: Vec::new(),
                repro: None,
            });
            self.groups.len() - 1
        });
        let group = &mut self.groups[place];
        if group.seeds.last() != Some(&result.seed) {
            group.seeds.push(result.seed);
        }
        if !group.scenarios.contains(&result.scenario) {
            group.scenarios.push(result.scenario.clone());
        }
    }

    /// All groups, the one that was found first first.
    pub(crate) fn into_vec(self) -> Vec<FingerprintGroup> {
        self.groups
    }
}

/// What has been added up.
#[derive(Default)]
pub(crate) struct Tally {
    summary: SweepSummary,
    groups: Groups,
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
        self.groups.add(result, violation);
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
    pub(crate) fn ran_twice(&mut self, scenario: &str, difference: Option<Difference>) {
        self.summary.run_twice += 1;
        *self.summary.run_twice_in.entry(scenario.to_owned()).or_default() += 1;
        self.summary.differences.extend(difference);
    }

    /// Adds runs that differ, and should not.
    pub(crate) fn differ(&mut self, differences: Vec<Difference>) {
        self.summary.differences.extend(differences);
    }

    /// Adds what the summary of an earlier sweep tells beside its runs.
    pub(crate) fn add_summary(&mut self, earlier: &SweepSummary) {
        self.summary.run_twice += earlier.run_twice;
        for (scenario, count) in &earlier.run_twice_in {
            *self.summary.run_twice_in.entry(scenario.clone()).or_default() += count;
        }
        self.summary.workers_replaced += earlier.workers_replaced;
        for (strategy, latencies) in &earlier.histograms {
            self.latencies(strategy, latencies);
        }
    }

    /// Leaves latencies out: they can't be told as those of all runs, each counted once.
    pub(crate) fn without_latencies(&mut self, why: String) {
        self.latencies.clear();
        self.summary.latencies_not_told = Some(why);
    }

    /// Adds what is missing of a merge.
    pub(crate) fn misses(&mut self, missing: Vec<Missing>) {
        self.summary.missing = missing;
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

    /// The summary of a sweep that took so long. Options that restrict what is drawn may keep things from happening that must otherwise happen sometimes: then that is
    /// not judged; nor is it of a part, since it is a property of the whole sweep.
    pub(crate) fn finish(
        mut self,
        wall_ns: u64,
        interrupted: bool,
        asked: Asked,
        shard: Option<Shard>,
    ) -> SweepSummary {
        let restricting = asked.draw.given();
        let summary = &mut self.summary;
        (summary.wall_ns, summary.interrupted) = (wall_ns, interrupted);
        (summary.asked, summary.shard) = (Some(asked), shard);
        if shard.is_some() {
            summary.differences.iter_mut().for_each(|difference| difference.shard = shard);
        }
        if wall_ns > 0 {
            summary.seeds_per_s = summary.seeds as f64 * 1e9 / wall_ns as f64;
            summary.simulated_to_real = summary.simulated_ns as f64 / wall_ns as f64;
        }
        for (strategy, latencies) in &self.latencies {
            let quantiles = latencies.iter().map(|(name, latencies)| (name.clone(), latencies.quantiles())).collect();
            summary.latencies.insert(strategy.clone(), quantiles);
        }
        summary.histograms = self.latencies;
        summary.fingerprints = self.groups.into_vec();
        self.judge.judge(summary);
        for group in &mut summary.fingerprints {
            // They came from several workers; the order must not depend on which is faster.
            let reproducers = self.reproducers.remove(&group.fingerprint).unwrap_or_default();
            for Reproduced { path, repro } in reproducers.into_values().flatten() {
                group.reproducers.push(path);
                group.repro = group.repro.take().or(repro);
            }
        }
        // What has not happened may still happen in the seeds that are left, or in other shards.
        let is_whole = shard.is_none() && summary.missing.is_empty() && !interrupted;
        for (scenario, events) in summary.coverage.iter().filter(|_| is_whole) {
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

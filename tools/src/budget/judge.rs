//! Judges a sweep by its budgets, and compares it with its baseline. It is told each run as the sweep adds it up.

use super::paired::{PAIRS_MIN, ratio};
use super::{Baseline, Budget, Limit, Quantile, latency_of};
use crate::report::{Compared, JudgedBudget, Longest, Metric, RunResult, SweepSummary, counted};
use seedstorm_sim::metrics::Quantiles;
use seedstorm_sim::plan::StrategyPlan;
use std::collections::BTreeMap;

/// What is compared even if no budget asks for it.
const COMPARED: Quantile = Quantile::P99;

/// The judge of a sweep.
#[derive(Default)]
pub(crate) struct Judge {
    budgets: Vec<Budget>,
    baseline: Option<Baseline>,
    /// By budget: the run in which it is longest, or has grown most.
    longest: Vec<Option<Longest>>,
    /// The latencies of a seed before and now, by their names in the machine output.
    pairs: BTreeMap<String, Vec<(Quantiles, Quantiles)>>,
    /// Runs that have no pair, though the baseline has their seeds.
    left_out: LeftOut,
}

/// What has no pair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct LeftOut {
    /// Seeds that meant another plan in the baseline.
    other_plans: u64,
    /// Seeds that failed, here or in the baseline: a run ends where it fails.
    failed: u64,
    /// By latency: seeds that measured it in the baseline, and here don't.
    vanished: BTreeMap<String, u64>,
}

impl Judge {
    /// A judge who has seen nothing yet.
    pub(crate) fn new(budgets: Vec<Budget>, baseline: Option<Baseline>) -> Judge {
        Judge { longest: vec![None; budgets.len()], budgets, baseline, ..Judge::default() }
    }

    /// Sees a run.
    pub(crate) fn run(&mut self, result: &RunResult) {
        if result.strategy != StrategyPlan::Timed.name() {
            return;
        }
        let latencies = result.metrics.iter().filter_map(|(metric, value)| match value {
            Metric::Latency(quantiles) if quantiles.count > 0 => Some((metric.as_str(), quantiles)),
            _ => None,
        });
        let latencies: BTreeMap<&str, &Quantiles> = latencies.collect();
        let before = match self.baseline.as_ref().and_then(|base| base.run(&result.scenario, result.seed)) {
            Some(before) if before.plan_digest != result.options.plan_digest => {
                self.left_out.other_plans += 1;
                None
            }
            Some(before) if !(before.passed && result.passed()) => {
                self.left_out.failed += 1;
                None
            }
            before => before,
        };
        for (budget, longest) in self.budgets.iter().zip(&mut self.longest) {
            let Some((metric, now)) = named(&latencies, &budget.latency) else { continue };
            let ns = budget.quantile.of(now);
            let before_ns = match budget.limit {
                Limit::Ns(_) => None,
                Limit::Above(_) => match before.and_then(|before| before.latencies.get(*metric)) {
                    Some(before) if before.count > 0 => Some(budget.quantile.of(before)),
                    _ => continue,
                },
            };
            let here = Longest { scenario: result.scenario.clone(), seed: result.seed, ns, before_ns };
            if longest.as_ref().is_none_or(|longest| is_longer(&here, longest)) {
                *longest = Some(here);
            }
        }
        let Some(before) = before else { return };
        for (metric, before) in before.latencies.iter().filter(|(_, before)| before.count > 0) {
            match latencies.get(metric.as_str()) {
                Some(now) => self.pairs.entry(metric.clone()).or_default().push((*before, **now)),
                None => *self.left_out.vanished.entry(latency_of(metric)).or_default() += 1,
            }
        }
    }

    /// Judges, once the summary has the latencies of all runs.
    pub(crate) fn judge(self, summary: &mut SweepSummary) {
        let measured: BTreeMap<String, Quantiles> =
            summary.latencies.get(StrategyPlan::Timed.name()).cloned().unwrap_or_default();
        let measured: BTreeMap<String, Quantiles> = measured.into_iter().filter(|(_, all)| all.count > 0).collect();
        let (is_interrupted, not_told) = (summary.interrupted, summary.latencies_not_told.clone());
        let judged = self.budgets.iter().zip(&self.longest).map(|(budget, longest)| {
            let all = named(&measured, &budget.latency).map(|(_, all)| all);
            let measured_ns = all.map(|all| budget.quantile.of(all));
            let compared = match budget.limit {
                Limit::Ns(_) => None,
                Limit::Above(_) => {
                    let pairs = named(&self.pairs, &budget.latency);
                    pairs.and_then(|(metric, pairs)| compared(metric, pairs, budget.quantile))
                }
            };
            let (is_met, is_within_chance) = match budget.limit {
                // Seeds that were not run may decide it.
                _ if is_interrupted => (None, false),
                Limit::Ns(limit_ns) => (measured_ns.map(|ns| ns <= limit_ns), false),
                Limit::Above(thousandths) => {
                    let most = 1.0 + f64::from(thousandths) / 1_000.0;
                    // Where most seeds mean other plans, the change may be in those: what is left says little of them.
                    let pairs = named(&self.pairs, &budget.latency).map_or(0, |(_, pairs)| pairs.len() as u64);
                    let is_most = pairs >= self.left_out.other_plans;
                    let by_pairs = compared.as_ref().filter(|_| is_most).map(|compared| compared.by_pairs);
                    let is_met = by_pairs.map(|by_pairs| by_pairs.ratio <= most);
                    // Other seeds might have said the opposite.
                    (is_met, by_pairs.is_some_and(|by_pairs| by_pairs.low <= most && most < by_pairs.high))
                }
            };
            let not_judged = is_met.is_none().then(|| match is_interrupted {
                true => INTERRUPTED.to_owned(),
                false => self.why_not_judged(budget, &measured, not_told.as_deref()),
            });
            JudgedBudget {
                budget: budget.to_string(),
                latency: budget.latency.clone(),
                quantile: budget.quantile.to_string(),
                limit: budget.limit.to_string(),
                count: all.map_or(0, |all| all.count),
                measured_ns,
                compared,
                is_met,
                is_within_chance,
                not_judged,
                longest: longest.clone(),
            }
        });
        summary.budgets = judged.collect();
        summary.against_baseline =
            self.pairs.iter().filter_map(|(metric, pairs)| compared(metric, pairs, COMPARED)).collect();
        let LeftOut { other_plans, failed, vanished } = self.left_out;
        (summary.baseline_other_plans, summary.baseline_failed_seeds) = (other_plans, failed);
        summary.baseline_vanished = vanished;
    }

    fn why_not_judged(
        &self,
        budget: &Budget,
        measured: &BTreeMap<String, Quantiles>,
        not_told: Option<&str>,
    ) -> String {
        if let Some(why) = not_told {
            return why.to_owned();
        }
        let names: Vec<String> = measured.keys().map(|metric| latency_of(metric)).collect();
        if !names.contains(&budget.latency) {
            let others = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
            return format!("no `{}` was measured, but {others}", budget.latency);
        }
        let pairs = named(&self.pairs, &budget.latency).map_or(0, |(_, pairs)| pairs.len());
        let LeftOut { other_plans, failed, vanished } = &self.left_out;
        let vanished = vanished.get(&budget.latency).copied().unwrap_or_default();
        let mut why = format!("{} with the baseline, of {PAIRS_MIN} that it takes", counted(pairs as u64, "pair"));
        if pairs >= PAIRS_MIN {
            why = format!("only {} with the baseline", counted(pairs as u64, "pair"));
        }
        for (count, how) in [
            (*other_plans, "with other plans there"),
            (*failed, "that failed, here or there"),
            (vanished, "that measured it there, and not here"),
        ] {
            if count > 0 {
                why += &format!(", {} {how}", counted(count, "seed"));
            }
        }
        why
    }
}

/// What is said of budgets when a sweep was interrupted.
const INTERRUPTED: &str = "the sweep was interrupted; what goes on from here covers the rest of the seeds only";

/// What a map has of a latency, by the name that a budget has it by.
fn named<'a, K: AsRef<str>, V>(by_metric: &'a BTreeMap<K, V>, latency: &str) -> Option<(&'a K, &'a V)> {
    by_metric.iter().find(|(metric, _)| latency_of(metric.as_ref()) == latency)
}

/// Pairs of runs compared by a quantile of each; `None` of too few.
fn compared(metric: &str, pairs: &[(Quantiles, Quantiles)], quantile: Quantile) -> Option<Compared> {
    let pairs: Vec<(u64, u64)> = pairs.iter().map(|(before, now)| (quantile.of(before), quantile.of(now))).collect();
    let by_pairs = ratio(&pairs)?;
    Some(Compared { latency: latency_of(metric), quantile: quantile.to_string(), by_pairs })
}

/// By itself; against a baseline, by how much it has grown.
fn is_longer(one: &Longest, other: &Longest) -> bool {
    let over = |longest: &Longest| u128::from(longest.before_ns.unwrap_or(1).max(1));
    u128::from(one.ns) * over(other) > u128::from(other.ns) * over(one)
}

//! Judges a sweep by its budgets, and compares it with its baseline. It is told each run as the sweep adds it up.

use super::paired::{PAIRS_MIN, ratio};
use super::{Baseline, Budget, Limit, Quantile, latency_of, metric_of};
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
    /// Runs of the baseline that had another plan.
    other_plans: u64,
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
        let latency = |metric: &str| match result.metrics.get(metric) {
            Some(Metric::Latency(quantiles)) if quantiles.count > 0 => Some(quantiles),
            _ => None,
        };
        let before = self.baseline.as_ref().and_then(|base| base.run(&result.scenario, result.seed));
        let has_other_plan = before.is_some_and(|before| before.drawn != result.options);
        self.other_plans += u64::from(has_other_plan);
        let before = before.filter(|_| !has_other_plan);
        for (budget, longest) in self.budgets.iter().zip(&mut self.longest) {
            let metric = metric_of(&budget.latency);
            let Some(ns) = latency(&metric).map(|quantiles| budget.quantile.of(quantiles)) else { continue };
            let before_ns = match budget.limit {
                Limit::Ns(_) => None,
                Limit::Above(_) => match before.and_then(|before| before.latencies.get(&metric)) {
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
            if let Some(now) = latency(metric) {
                self.pairs.entry(metric.clone()).or_default().push((*before, *now));
            }
        }
    }

    /// Judges, once the summary has the latencies of all runs.
    pub(crate) fn judge(self, summary: &mut SweepSummary) {
        let measured = summary.latencies.get(StrategyPlan::Timed.name());
        let all = |metric: &str| measured.and_then(|latencies| latencies.get(metric)).filter(|all| all.count > 0);
        let judged = self.budgets.iter().zip(&self.longest).map(|(budget, longest)| {
            let metric = metric_of(&budget.latency);
            let all = all(&metric);
            let measured_ns = all.map(|all| budget.quantile.of(all));
            let compared = match budget.limit {
                Limit::Ns(_) => None,
                Limit::Above(_) => self.compared(&metric, budget.quantile),
            };
            let is_met = match budget.limit {
                Limit::Ns(limit_ns) => measured_ns.map(|ns| ns <= limit_ns),
                // Missed is what is above it for sure.
                Limit::Above(thousandths) => {
                    compared.as_ref().map(|compared| compared.by_pairs.low <= 1.0 + f64::from(thousandths) / 1_000.0)
                }
            };
            let not_judged = is_met.is_none().then(|| self.why_not_judged(budget, summary));
            JudgedBudget {
                budget: budget.to_string(),
                latency: budget.latency.clone(),
                quantile: budget.quantile.to_string(),
                limit: budget.limit.to_string(),
                count: all.map_or(0, |all| all.count),
                measured_ns,
                compared,
                is_met,
                not_judged,
                longest: longest.clone(),
            }
        });
        summary.budgets = judged.collect();
        summary.against_baseline = self.pairs.keys().filter_map(|metric| self.compared(metric, COMPARED)).collect();
        summary.baseline_other_plans = self.other_plans;
    }

    fn why_not_judged(&self, budget: &Budget, summary: &SweepSummary) -> String {
        if let Some(why) = &summary.latencies_not_told {
            return why.clone();
        }
        let measured = summary.latencies.get(StrategyPlan::Timed.name()).into_iter().flatten();
        let names: Vec<String> =
            measured.filter(|(_, all)| all.count > 0).map(|(metric, _)| latency_of(metric)).collect();
        if !names.contains(&budget.latency) {
            let others = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
            return format!("no `{}` was measured, but {others}", budget.latency);
        }
        let pairs = self.pairs.get(&metric_of(&budget.latency)).map_or(0, Vec::len);
        let others = match self.other_plans {
            0 => String::new(),
            others => format!(", {} with other plans there", counted(others, "seed")),
        };
        format!("{} with the baseline, of {PAIRS_MIN} that it takes{others}", counted(pairs as u64, "pair"))
    }

    fn compared(&self, metric: &str, quantile: Quantile) -> Option<Compared> {
        let pairs = self.pairs.get(metric)?;
        let pairs: Vec<(u64, u64)> =
            pairs.iter().map(|(before, now)| (quantile.of(before), quantile.of(now))).collect();
        let by_pairs = ratio(&pairs)?;
        Some(Compared { latency: latency_of(metric), quantile: quantile.to_string(), by_pairs })
    }
}

/// By itself; against a baseline, by how much it has grown.
fn is_longer(one: &Longest, other: &Longest) -> bool {
    let over = |longest: &Longest| u128::from(longest.before_ns.unwrap_or(1).max(1));
    u128::from(one.ns) * over(other) > u128::from(other.ns) * over(one)
}

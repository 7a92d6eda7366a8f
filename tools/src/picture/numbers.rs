//! The second part of a run's page: tables of latencies, locks, faults, coverage and draws.

use super::bars::BarKind;
use super::scene::Scene;
use crate::report::grouped;
use seedstorm_sim::Plan;
use seedstorm_sim::metrics::{Nanoseconds, Quantiles};
use seedstorm_sim::plan::StrategyPlan;
use std::collections::BTreeMap;

/// A table with its heading.
pub(super) struct Table {
    pub(super) title: &'static str,
    pub(super) note: String,
    pub(super) columns: Vec<&'static str>,
    pub(super) rows: Vec<Line>,
}

/// A line of a table.
pub(super) struct Line {
    pub(super) cells: Vec<String>,
    /// Whether a reader should look at it.
    pub(super) is_remarkable: bool,
}

impl Line {
    fn of(cells: impl IntoIterator<Item = String>) -> Line {
        Line { cells: cells.into_iter().collect(), is_remarkable: false }
    }
}

/// All tables that have something in them.
pub(super) fn tables(scene: &Scene) -> Vec<Table> {
    let plan = Plan::from_toml(&scene.head.plan).ok();
    let tables = [
        run(scene),
        violations(scene),
        latencies(scene),
        locks(scene),
        faults(scene, plan.as_ref()),
        coverage(scene),
        counters(scene),
        settings(plan.as_ref()),
    ];
    tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

fn run(scene: &Scene) -> Table {
    let mut rows = vec![
        ("scenario", scene.head.scenario.clone()),
        ("seed", scene.head.seed.0.to_string()),
        ("strategy", scene.head.strategy.to_string()),
        ("processes", scene.head.processes.len().to_string()),
        ("events", grouped(scene.events)),
        ("trace hash", scene.trace_hash.to_string()),
    ];
    if scene.has_ending {
        rows.push(("steps", grouped(scene.ending.steps)));
        rows.push(("simulated time", Nanoseconds(scene.ending.simulated_ns).to_string()));
    }
    if scene.first > 0 {
        rows.push(("events that the picture leaves out, the first", grouped(scene.first)));
    }
    let rows = rows.into_iter().map(|(name, value)| Line::of([name.to_owned(), value])).collect();
    Table { title: "Run", note: String::new(), columns: vec!["", ""], rows }
}

fn violations(scene: &Scene) -> Table {
    let all = &scene.ending.violations;
    let line = |violation: &seedstorm_sim::invariant::Violation| {
        let message = violation.message.lines().next().unwrap_or_default().to_owned();
        Line::of([violation.invariant.clone(), message, grouped(violation.step)])
    };
    let rows = if all.len() > 1 { all.iter().map(line).collect() } else { Vec::new() };
    let note = "The first is the one at the top of this page.".to_owned();
    Table { title: "Violations", note, columns: vec!["invariant", "what", "step"], rows }
}

const PERCENTILES: [&str; 5] = ["p50", "p90", "p99", "p99.9", "max"];

fn percentiles(quantiles: &Quantiles) -> [String; 5] {
    let Quantiles { p50, p90, p99, p999, max, .. } = *quantiles;
    [p50, p90, p99, p999, max].map(|ns| Nanoseconds(ns).to_string())
}

/// Latencies mean time under `timed` only.
fn note_of_strategy(scene: &Scene) -> String {
    match scene.head.strategy {
        StrategyPlan::Timed => "Simulated time.".to_owned(),
        strategy => {
            format!(
                "Under the strategy {} these are no times that a machine would take: calls were picked out of order.",
                strategy.name()
            )
        }
    }
}

fn latencies(scene: &Scene) -> Table {
    let latencies = &scene.ending.measurements.latencies;
    let rows = latencies.iter().map(|(name, latencies)| {
        let quantiles = latencies.quantiles();
        let name = name.trim_end_matches("_ns").replace('_', " ");
        Line::of([name, grouped(quantiles.count)].into_iter().chain(percentiles(&quantiles)))
    });
    let columns = ["of what", "count"].into_iter().chain(PERCENTILES).collect();
    Table { title: "Latencies", note: note_of_strategy(scene), columns, rows: rows.collect() }
}

/// Waits for and holds of each lock, as the bars of the picture have them.
fn locks(scene: &Scene) -> Table {
    let mut by_lock: BTreeMap<&str, [Vec<u64>; 2]> = BTreeMap::new();
    for bar in &scene.bars {
        let which = match bar.kind {
            BarKind::Wait => 0,
            BarKind::Hold => 1,
            _ => continue,
        };
        by_lock.entry(&bar.label).or_default()[which].push(bar.to.time_ns.saturating_sub(bar.from.time_ns));
    }
    let rows = by_lock.into_iter().map(|(lock, [waits, holds])| {
        let of = |mut durations: Vec<u64>| {
            durations.sort_unstable();
            [50, 99, 100]
                .map(|percent| rank(&durations, percent).map_or("–".to_owned(), |ns| Nanoseconds(ns).to_string()))
        };
        let (waited, held) = (waits.len() as u64, holds.len() as u64);
        let cells = [lock.to_owned(), grouped(waited)].into_iter().chain(of(waits));
        Line::of(cells.chain([grouped(held)]).chain(of(holds)))
    });
    let columns = vec!["lock", "waits", "p50", "p99", "max", "holds", "p50", "p99", "max"];
    Table { title: "Locks", note: note_of_strategy(scene), columns, rows: rows.collect() }
}

/// The smallest of sorted values that so many per cent of them don't exceed.
fn rank(sorted: &[u64], percent: usize) -> Option<u64> {
    let place = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(place).copied()
}

fn faults(scene: &Scene, plan: Option<&Plan>) -> Table {
    let fired = &scene.ending.measurements.faults;
    let mut counts: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    for fault in plan.into_iter().flat_map(|plan| &plan.faults) {
        counts.entry(fault.kind.name()).or_default()[0] += 1;
    }
    for (kind, count) in fired {
        counts.entry(kind.name()).or_default()[1] += count;
    }
    let rows =
        counts.into_iter().map(|(kind, counts)| Line::of([kind.to_owned()].into_iter().chain(counts.map(grouped))));
    let note = "One that is planned may never find its moment; weather counts each message that it hits.".to_owned();
    Table { title: "Faults", note, columns: vec!["kind", "planned", "fired"], rows: rows.collect() }
}

fn coverage(scene: &Scene) -> Table {
    let rows = scene
        .ending
        .measurements
        .coverage
        .iter()
        .map(|(name, count)| Line { cells: vec![name.clone(), grouped(*count)], is_remarkable: *count == 0 });
    let note = "What must happen sometimes in a sweep, and how often it did in this run.".to_owned();
    Table { title: "Coverage", note, columns: vec!["event", "times"], rows: rows.collect() }
}

fn counters(scene: &Scene) -> Table {
    let counters = scene.ending.measurements.counters.iter();
    let rows = counters.map(|(name, count)| Line::of([name.replace('_', " "), grouped(*count)])).collect();
    Table { title: "Counts", note: String::new(), columns: vec!["of what", "count"], rows }
}

fn settings(plan: Option<&Plan>) -> Table {
    let mut rows = Vec::new();
    if let Some(plan) = plan {
        let persistence = format!("{:?}", plan.persistence).to_lowercase();
        let drawn = [("persistence", persistence), ("latency", plan.latency.clone())];
        let drawn = drawn.map(|(name, value)| (name.to_owned(), value));
        let own = plan
            .settings
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
        let all: BTreeMap<String, String> = own.chain(drawn).collect();
        let is_mutant = |name: &str| name == seedstorm_sim::plan::MUTANT;
        rows = all
            .into_iter()
            .map(|(name, value)| Line { is_remarkable: is_mutant(&name), cells: vec![name, value] })
            .collect();
    }
    Table {
        title: "Drawn",
        note: "What the seed and the options came to.".to_owned(),
        columns: vec!["setting", "value"],
        rows,
    }
}

#[cfg(test)]
mod tests {
    use super::rank;

    #[test]
    fn ranks_are_those_of_the_nearest_rank_method() {
        let sorted: Vec<u64> = (1..=200).collect();
        assert_eq!([50, 99, 100].map(|percent| rank(&sorted, percent)), [Some(100), Some(198), Some(200)]);
        assert_eq!((rank(&[7], 50), rank(&[7], 99), rank(&[], 50)), (Some(7), Some(7), None));
    }
}

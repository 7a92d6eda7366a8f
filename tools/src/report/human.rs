//! Output for people: what was drawn first, the verdict last. No field of the machine output is defined here.

use super::next_steps::next_steps;
use super::{
    Compared, JudgedBudget, Longest, Metric, RunEvent, RunResult, Screen, Sink, SweepSummary, counted, grouped,
};
use crate::budget::{Ratio, latency_of};
use crate::from_outside::USUAL_CAUSES;
use crate::shell;
use comfy_table::{Cell, CellAlignment, Table};
use seedstorm_sim::Plan;
use seedstorm_sim::metrics::{Nanoseconds, Quantiles};
use seedstorm_sim::plan::StrategyPlan;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// How many missing parts are told one by one.
const MISSING_MAX: usize = 10;

/// Tells people.
pub(crate) struct Human<W> {
    output: W,
    screen: Screen,
    /// Whether failures are told as words, too: long ones, which only logs want.
    tells_words: bool,
    /// Whether something has been told, which an empty line sets off from what comes next.
    has_told: bool,
}

impl<W: Write> Human<W> {
    /// Writes to `output`, which can show so much. Where the environment says `CI`, as services for continuous integration do, a log may be all that is kept of a
    /// failure: then it is told as one word, too.
    pub(crate) fn new(output: W, screen: Screen) -> Human<W> {
        let tells_words = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
        Human { output, screen, tells_words, has_told: false }
    }

    fn verdict(&self, passed: bool) -> &'static str {
        match (passed, self.screen.has_colours) {
            (true, false) => "PASSED",
            (false, false) => "FAILED",
            (true, true) => "\x1b[1;32mPASSED\x1b[0m",
            (false, true) => "\x1b[1;31mFAILED\x1b[0m",
        }
    }

    fn drawn(&mut self, plan: &Plan, note: Option<&str>) -> io::Result<()> {
        let output = &mut self.output;
        if std::mem::replace(&mut self.has_told, true) {
            writeln!(output)?;
        }
        writeln!(output, "{} seed {}", plan.scenario, plan.seed.0)?;
        let mut row = |name: &str, value: &str| writeln!(output, "  {name:<24} {value}");
        if let Some(note) = note {
            row("from", note)?;
        }
        row("strategy", &plan.strategy.to_string())?;
        row("persistence", &format!("{:?}", plan.persistence).to_lowercase())?;
        row("latency", &plan.latency)?;
        row(
            "chaos, then calm",
            &format!("{}, then at most {}", Nanoseconds(plan.chaos_ns), Nanoseconds(plan.calm_ns)),
        )?;
        row("steps at most", &grouped(plan.steps_max))?;
        if let Some(bytes) = plan.disk_capacity_bytes {
            row("disk_capacity_bytes", &grouped(bytes))?;
        }
        for (name, skew_ns) in &plan.clock_skew_ns {
            let sign = if *skew_ns < 0 { "-" } else { "+" };
            row(&format!("clock skew of {name}"), &format!("{sign}{}", Nanoseconds(skew_ns.unsigned_abs())))?;
        }
        // Scenarios may draw the profiles as settings: those are shown already.
        let shown = ["latency", "persistence"];
        for (key, value) in plan.settings.iter().filter(|(key, _)| !shown.contains(&key.as_str())) {
            match value.as_str() {
                Some(text) => row(key, text)?,
                None => row(key, &value.to_string())?,
            }
        }
        row("faults planned", &kinds(plan.faults.iter().map(|fault| fault.kind.name())))?;
        row("operations planned", &kinds(plan.operations.iter().map(|operation| operation.kind.as_str())))
    }

    fn ended(&mut self, result: &RunResult, last_events: &[String]) -> io::Result<()> {
        writeln!(self.output, "\n{}", summary_of_run(result, self.screen))?;
        let verdict = self.verdict(result.passed());
        writeln!(
            self.output,
            "{verdict} {} seed {} ({})",
            result.scenario,
            result.seed,
            counted(result.steps, "step")
        )?;
        if let Some(replay) = &result.replay {
            let is = if replay.reproduced {
                "the same violation, step and trace hash as recorded"
            } else {
                "not as recorded"
            };
            writeln!(self.output, "replay: {is}")?;
            for line in replay.drift.iter().chain(&replay.differs).chain(&replay.hints) {
                writeln!(self.output, "  {line}")?;
            }
        }
        if !last_events.is_empty() {
            writeln!(self.output, "\nThe last events up to the violation:")?;
            for line in last_events {
                writeln!(self.output, "  {line}")?;
            }
        }
        for violation in &result.violations {
            writeln!(self.output, "\nviolated: {}", violation.invariant)?;
            writeln!(self.output, "  {}", indented(&violation.message))?;
            writeln!(
                self.output,
                "  at step {}, {} into the run",
                grouped(violation.step),
                Nanoseconds(violation.time_ns)
            )?;
            writeln!(self.output, "  fingerprint {}", violation.fingerprint)?;
        }
        if let Some(path) = &result.reproducer {
            writeln!(self.output, "\nreproducer: {path}")?;
        }
        if let Some(word) = result.repro.as_ref().filter(|_| self.tells_words) {
            writeln!(self.output, "without it: {}", by_word(word))?;
        }
        for line in next_steps(result.reproducer.as_deref().into_iter()) {
            writeln!(self.output, "{line}")?;
        }
        self.output.flush()
    }

    fn swept(&mut self, summary: &SweepSummary) -> io::Result<()> {
        writeln!(self.output, "\n{}", summary_of_sweep(summary, self.screen))?;
        // Of one that was interrupted no budget is judged.
        let is_in_budget = summary.interrupted || summary.budgets.iter().all(|budget| budget.is_met == Some(true));
        let passed =
            summary.failed == 0 && summary.differences.is_empty() && summary.never_happened.is_empty() && is_in_budget;
        let verdict = match () {
            () if summary.seeds == 0 => "NOTHING RAN:",
            () if passed && !summary.missing.is_empty() => "INCOMPLETE:",
            () => self.verdict(passed),
        };
        let cut = if summary.interrupted { ", interrupted" } else { "" };
        writeln!(self.output, "{verdict} {} passed, {} failed{cut}", grouped(summary.passed), grouped(summary.failed))?;
        for missing in summary.missing.iter().take(MISSING_MAX) {
            writeln!(self.output, "missing: {}", missing.what)?;
        }
        if let Some(more) = summary.missing.len().checked_sub(MISSING_MAX).filter(|more| *more > 0) {
            writeln!(self.output, "missing: {more} more")?;
        }
        for (scenario, name) in &summary.never_happened {
            writeln!(self.output, "never happened: {name} ({scenario}): the sweep proves less than it seems")?;
        }
        for budget in &summary.budgets {
            over_budget(&mut self.output, budget)?;
        }
        if summary.shard.is_some() {
            let program = shell::program();
            let program = shell::name_of(&program);
            writeln!(
                self.output,
                "not judged: whether all happened that must happen sometimes: `{program} merge` does, over all shards"
            )?;
        }
        if let Some(why) = &summary.latencies_not_told {
            writeln!(self.output, "not told: latencies: {why}")?;
        }
        if !summary.never_happened_not_judged_for.is_empty() {
            let options = summary.never_happened_not_judged_for.join(", ");
            writeln!(
                self.output,
                "not judged: whether all happened that must happen sometimes (draws restricted by {options})"
            )?;
        }
        for (number, difference) in summary.differences.iter().enumerate() {
            let hash = |hash: &Option<String>| hash.clone().unwrap_or_else(|| "no result".to_owned());
            let (first, second) = (hash(&difference.first_hash), hash(&difference.second_hash));
            writeln!(
                self.output,
                "\nnot deterministic: {} seed {}: {first}, then {second}",
                difference.scenario, difference.seed
            )?;
            // The others most likely differ for the same cause.
            let lines = if number == 0 { usize::MAX } else { 1 };
            for line in difference.first_difference.lines().take(lines) {
                writeln!(self.output, "  {line}")?;
            }
            if let [first, second] = &difference.traces[..] {
                let [first, second] = [first, second].map(|trace| shell::path(Path::new(trace)));
                let command = shell::line([&shell::program(), "compare", &first, &second]);
                writeln!(self.output, "  more of it: {command}")?;
            }
        }
        if !summary.differences.is_empty() {
            writeln!(self.output)?;
            for line in USUAL_CAUSES {
                writeln!(self.output, "{line}")?;
            }
        }
        for group in &summary.fingerprints {
            writeln!(self.output, "\n{} × {}", group.seeds.len(), group.fingerprint)?;
            writeln!(self.output, "  {}", indented(&group.message))?;
            writeln!(self.output, "  seeds {}", some_of(&group.seeds))?;
            for path in &group.reproducers {
                writeln!(self.output, "  reproducer: {path}")?;
            }
            if let Some(word) = group.repro.as_ref().filter(|_| self.tells_words) {
                writeln!(self.output, "  without it: {}", by_word(word))?;
            }
        }
        let reproducers = summary.fingerprints.iter().flat_map(|group| &group.reproducers);
        let next_steps = next_steps(reproducers.map(String::as_str));
        if !next_steps.is_empty() {
            writeln!(self.output)?;
        }
        for line in next_steps {
            writeln!(self.output, "{line}")?;
        }
        self.output.flush()
    }
}

impl<W: Write> Sink for Human<W> {
    fn event(&mut self, event: &RunEvent<'_>) -> io::Result<()> {
        match event {
            RunEvent::Drawn { plan, note } => self.drawn(plan, *note),
            RunEvent::Ended { result, last_events } => self.ended(result, last_events),
            RunEvent::Interrupted { plan, reached } => {
                writeln!(self.output, "\nINTERRUPTED {} seed {} {reached}: no verdict", plan.scenario, plan.seed.0)
            }
            RunEvent::SweepStarted { what, scenarios, seeds, runs, by } => {
                let (names, runs) = (scenarios.join(", "), counted(*runs, "run"));
                writeln!(self.output, "{what} of {names}: {seeds}, {runs}, {by}")?;
                self.output.flush()
            }
            RunEvent::SweepSeed(result) => match result.violations.first() {
                None => Ok(()),
                Some(violation) => {
                    let message = violation.message.lines().next().unwrap_or_default();
                    writeln!(
                        self.output,
                        "seed {} {}: {}: {message}",
                        result.seed, result.scenario, violation.invariant
                    )?;
                    self.output.flush()
                }
            },
            RunEvent::SweepEnded(summary) => self.swept(summary),
            RunEvent::Done { reproduce } => match reproduce {
                None => self.output.flush(),
                Some(command) => {
                    // Apart from the rest, as it is the one to paste.
                    writeln!(self.output, "\n{command}")?;
                    self.output.flush()
                }
            },
        }
    }
}

/// The command that runs a failure again from its word.
fn by_word(word: &str) -> String {
    shell::line([shell::program().as_str(), "replay", "--repro", word])
}

fn add(table: &mut Table, name: &str, value: impl ToString) {
    table.add_row([Cell::new(name), Cell::new(value.to_string()).set_alignment(CellAlignment::Right)]);
}

fn summary_of_run(result: &RunResult, screen: Screen) -> Table {
    let mut table = screen.table();
    add(&mut table, "steps", grouped(result.steps));
    add(&mut table, "events", grouped(result.events));
    add(&mut table, "simulated time", Nanoseconds(result.simulated_ns));
    add(&mut table, "simulated to real", ratio(result.simulated_ns, result.wall_ns));
    add(&mut table, "faults that fired", counts(&result.faults));
    // What a scenario has nothing to do with is no row.
    let is_measured = |name: &str| result.measured.contains(name);
    if is_measured("transactions") {
        add(&mut table, "transactions", grouped(result.count("transactions")));
        if let Some(Metric::Rate(rate)) = result.metrics.get("transactions_per_simulated_s") {
            add(&mut table, "transactions per simulated second", format!("{rate:.1}"));
        }
    }
    if is_measured("zero_byte_files") {
        add(&mut table, "zero-byte files", result.count("zero_byte_files"));
    }
    let crashes = ["crash_points", "crash_images", "crash_recoveries"].map(|name| result.count(name));
    add_crash_points(&mut table, crashes);
    if result.count("crash_points_without_judge") > 0 {
        add(&mut table, "crash points", "none explored: no invariant judges what a crash leaves");
    }
    add_latencies(&mut table, &result.strategy, &result.metrics);
    let (happened, never): (BTreeMap<_, _>, BTreeMap<_, _>) =
        result.coverage.clone().into_iter().partition(|(_, count)| *count > 0);
    add(&mut table, "coverage", counts(&happened));
    if !never.is_empty() {
        add(&mut table, "did not happen", some_a_line(&never.into_keys().collect::<Vec<_>>(), 3));
    }
    add(&mut table, "trace hash", result.trace_hash.as_deref().unwrap_or("none"));
    table
}

/// A message whose further lines stand under its first.
fn indented(message: &str) -> String {
    message.replace('\n', "\n  ")
}

/// How many points were explored; distinct images; recoveries.
fn add_crash_points(table: &mut Table, [points, images, recoveries]: [u64; 3]) {
    if points > 0 {
        let counts = [points, images, recoveries].map(grouped).join(" / ");
        add(table, "crash points / images / recoveries", counts);
    }
}

fn add_latencies(table: &mut Table, strategy: &str, metrics: &BTreeMap<String, Metric>) {
    for (name, metric) in metrics {
        if let Metric::Latency(latency) = metric {
            add_latency(table, strategy, name, latency);
        }
    }
}

fn add_latency(table: &mut Table, strategy: &str, name: &str, latency: &Quantiles) {
    if latency.count == 0 {
        return;
    }
    let name = latency_of(name);
    add(table, &format!("{name} p50 / p90 / p99 / max ({strategy})"), quantiles(latency));
}

fn quantiles(latency: &Quantiles) -> String {
    [latency.p50, latency.p90, latency.p99, latency.max].map(|ns| Nanoseconds(ns).to_string()).join(" / ")
}

/// Tells a budget that was missed, or could not be judged.
fn over_budget(output: &mut impl Write, budget: &JudgedBudget) -> io::Result<()> {
    let JudgedBudget { latency, quantile, .. } = budget;
    if budget.is_within_chance
        && let Some(Compared { by_pairs: Ratio { low, high, .. }, .. }) = &budget.compared
    {
        let and_1 = if *low <= 1.0 && 1.0 <= *high { ", and 1, which is no change" } else { "" };
        let holds = format!("its 95 % interval, {low:.3} to {high:.3}, holds the limit{and_1}");
        writeln!(output, "within chance: {latency} {quantile}: {holds}: more seeds would tell for sure")?;
    }
    match budget.is_met {
        Some(true) => Ok(()),
        Some(false) => {
            let longest =
                budget.longest.as_ref().map(|longest| format!(" ({})", longest_of(longest))).unwrap_or_default();
            writeln!(output, "over budget: {latency} {quantile}: {}{longest}", measured(budget))
        }
        None => {
            let why = budget.not_judged.as_deref().unwrap_or("nothing was measured");
            writeln!(output, "not judged: {}: {why}", budget.budget)
        }
    }
}

fn longest_of(longest: &Longest) -> String {
    let Longest { scenario, seed, ns, before_ns } = longest;
    match before_ns {
        None => format!("seed {seed} of {scenario} has the longest, {}", Nanoseconds(*ns)),
        Some(before) => {
            format!("seed {seed} of {scenario} has grown most, from {} to {}", Nanoseconds(*before), Nanoseconds(*ns))
        }
    }
}

/// What was measured of a budget, and what it allows.
pub(super) fn measured(budget: &JudgedBudget) -> String {
    let measured = match (&budget.compared, budget.measured_ns) {
        (Some(compared), _) => times(&compared.by_pairs),
        (None, Some(ns)) => Nanoseconds(ns).to_string(),
        (None, None) => "none measured".to_owned(),
    };
    format!("{measured}; at most {}", budget.limit)
}

/// `× 1.043 (0.981 to 1.108), 480 pairs`.
fn times(ratio: &Ratio) -> String {
    let Ratio { pairs, ratio, low, high } = ratio;
    format!("× {ratio:.3} ({low:.3} to {high:.3}), {}", counted(*pairs, "pair"))
}

fn summary_of_sweep(summary: &SweepSummary, screen: Screen) -> Table {
    let mut table = screen.table();
    add(&mut table, "runs", grouped(summary.seeds));
    add(&mut table, "seeds per second", format!("{:.1}", summary.seeds_per_s));
    add(&mut table, "steps", grouped(summary.steps));
    add(&mut table, "simulated time", Nanoseconds(summary.simulated_ns));
    add(&mut table, "simulated to real", format!("{:.1}:1", summary.simulated_to_real));
    add(&mut table, "strategies", counts(&summary.strategies));
    // Under the others they are no time.
    let timed = StrategyPlan::Timed.name();
    for (name, latency) in summary.latencies.get(timed).into_iter().flatten() {
        add_latency(&mut table, timed, name, latency);
    }
    for compared in &summary.against_baseline {
        let name = format!("{} {} against the baseline", compared.latency, compared.quantile);
        add(&mut table, &name, times(&compared.by_pairs));
    }
    if summary.baseline_other_plans > 0 {
        add(&mut table, "seeds with other plans in the baseline", grouped(summary.baseline_other_plans));
    }
    if summary.baseline_failed_seeds > 0 {
        add(&mut table, "seeds that failed, here or in the baseline", grouped(summary.baseline_failed_seeds));
    }
    for (latency, seeds) in &summary.baseline_vanished {
        add(&mut table, &format!("seeds that measured {latency} in the baseline only"), grouped(*seeds));
    }
    for budget in &summary.budgets {
        add(&mut table, &format!("budget of {} {}", budget.latency, budget.quantile), measured(budget));
    }
    add(&mut table, "faults that fired", counts(&summary.faults));
    add_crash_points(&mut table, [summary.crash_points, summary.crash_images, summary.crash_recoveries]);
    add(&mut table, "run twice, differing", format!("{}, {}", summary.run_twice, summary.differences.len()));
    if summary.workers_replaced > 0 {
        add(&mut table, "workers replaced", summary.workers_replaced);
    }
    for (scenario, events) in &summary.coverage {
        for (name, coverage) in events.iter().filter(|(_, coverage)| coverage.total > 0) {
            let times = format!("{} in {}", grouped(coverage.total), counted(coverage.seeds, "seed"));
            add(&mut table, &format!("{scenario}: {name}"), times);
        }
        let never: Vec<&str> =
            events.iter().filter(|(_, coverage)| coverage.total == 0).map(|(name, _)| name.as_str()).collect();
        if !never.is_empty() {
            add(&mut table, &format!("{scenario}: did not happen"), some_a_line(&never, 2));
        }
    }
    table
}

/// Simulated to real time.
fn ratio(simulated_ns: u64, wall_ns: u64) -> String {
    if wall_ns == 0 { "-".to_owned() } else { format!("{:.1}:1", simulated_ns as f64 / wall_ns as f64) }
}

/// `a 3, b 1`, or `none`. Long lists break after some.
fn counts(counts: &BTreeMap<String, u64>) -> String {
    if counts.is_empty() {
        return "none".to_owned();
    }
    let all: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {}", grouped(*count))).collect();
    some_a_line(&all, 3)
}

/// `a, b`, with so many in a line.
pub(crate) fn some_a_line<T: AsRef<str>>(all: &[T], count: usize) -> String {
    let line = |some: &[T]| some.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    all.chunks(count).map(line).collect::<Vec<_>>().join(",\n")
}

/// `12: a 3, b 9`.
fn kinds<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    names.for_each(|name| *counts.entry(name).or_default() += 1);
    let total: u64 = counts.values().sum();
    let each: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    if total == 0 { "none".to_owned() } else { format!("{total}: {}", each.join(", ")) }
}

/// The first seeds of a list, and how many more there are.
pub(super) fn some_of(seeds: &[u64]) -> String {
    let shown: Vec<String> = seeds.iter().take(10).map(u64::to_string).collect();
    let more = seeds.len() - shown.len();
    if more == 0 { shown.join(" ") } else { format!("{} and {more} more", shown.join(" ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_well() {
        assert_eq!(some_of(&[1, 2]), "1 2");
        assert_eq!(some_of(&(0..12).collect::<Vec<u64>>()), "0 1 2 3 4 5 6 7 8 9 and 2 more");
        assert_eq!(kinds(["kill", "pause", "kill"].into_iter()), "3: kill 2, pause 1");
        assert_eq!(kinds(std::iter::empty()), "none");
        assert_eq!(ratio(5_000, 1_000), "5.0:1");
    }
}

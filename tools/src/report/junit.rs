//! JUnit XML, for pages of CI: what a sweep came to as suites and test cases, whose names are the same each time, so that CI keeps their history. Which failures are
//! of one kind is in `sweep::grouping`; which commands show them again, in `sweep::commands`.

use super::human::{measured, some_of};
use super::{Difference, FingerprintGroup, JudgedBudget, RunEvent, RunResult, Sink, SweepSummary, counted, grouped};
use crate::artifacts;
use crate::catalogue::Known;
use crate::exit::Result;
use crate::keep::{self, Output};
use crate::sweep::{Commands, Groups, RUNS_TO_SEE_EVERYTHING, WORKER_INVARIANTS};
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite, XmlString};
use seedstorm_sim::invariant::GENERIC;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The suite of what is no single scenario's.
const WHOLE: &str = "sweep";

/// A form of output, and JUnit XML beside it if that was asked for.
pub(crate) struct WithJunit {
    form: Box<dyn Sink>,
    junit: Option<Junit>,
}

impl WithJunit {
    /// Begins the file, before the work begins.
    ///
    /// # Errors
    /// It can't be written there.
    pub(crate) fn new(form: Box<dyn Sink>, path: Option<&Path>, commands: &Commands) -> Result<WithJunit> {
        let junit = path.map(|path| -> Result<Junit> {
            let (output, path) = (keep::output(path, false)?, path.to_owned());
            Ok(Junit { output, path, commands: commands.clone(), runs: 0, scenarios: BTreeMap::new() })
        });
        Ok(WithJunit { form, junit: junit.transpose()? })
    }

    /// Writes the file.
    ///
    /// # Errors
    /// It can't be written.
    pub(crate) fn finish(self, summary: &SweepSummary) -> Result<()> {
        self.junit.map_or(Ok(()), |junit| junit.finish(summary))
    }
}

impl Sink for WithJunit {
    fn event(&mut self, event: &RunEvent<'_>) -> io::Result<()> {
        if let Some(junit) = &mut self.junit {
            junit.see(event);
        }
        self.form.event(event)
    }
}

struct Junit {
    output: Output,
    path: PathBuf,
    commands: Commands,
    /// How many runs there were to be.
    runs: u64,
    scenarios: BTreeMap<String, Seen>,
}

/// What was seen of a scenario.
#[derive(Default)]
struct Seen {
    runs: u64,
    wall_ns: u64,
    /// All violations, not only the first of each run.
    groups: Groups,
}

impl Junit {
    fn see(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::SweepStarted { runs, .. } => self.runs = *runs,
            RunEvent::SweepSeed(result) => self.add(result),
            _ => {}
        }
    }

    fn add(&mut self, result: &RunResult) {
        let seen = self.scenarios.entry(result.scenario.clone()).or_default();
        seen.runs += 1;
        seen.wall_ns = seen.wall_ns.saturating_add(result.wall_ns);
        for violation in &result.violations {
            seen.groups.add(result, violation);
        }
    }

    fn finish(mut self, summary: &SweepSummary) -> Result<()> {
        let mut report = Report::new("seedstorm");
        report.set_time(Duration::from_nanos(summary.wall_ns));
        let all = self.properties(summary, summary.seeds);
        for name in &self.commands.asked.scenarios.clone() {
            let seen = self.scenarios.remove(name).unwrap_or_default();
            let mut suite = TestSuite::new(name);
            suite.set_time(Duration::from_nanos(seen.wall_ns)).add_properties(self.properties(summary, seen.runs));
            if let Ok(scenario) = self.commands.catalogue.named(name) {
                suite.add_test_cases(cases(&self.commands, scenario, seen, summary));
            }
            report.add_test_suite(suite);
        }
        let mut whole = TestSuite::new(WHOLE);
        whole.set_time(Duration::from_nanos(summary.wall_ns)).add_properties(all);
        whole.add_test_case(case(WHOLE, "complete", self.complete(summary)));
        for budget in &summary.budgets {
            let against = if budget.budget.contains("=+") { " against the baseline" } else { "" };
            let name = format!("budget: {} {}{against}", budget.latency, budget.quantile);
            whole.add_test_case(case(WHOLE, &name, of_budget(&self.commands, budget)));
        }
        report.add_test_suite(whole);
        let written = report.to_string().map_err(io::Error::other).and_then(|text| {
            self.output.write_all(text.as_bytes())?;
            self.output.finish()
        });
        written.map_err(|error| keep::unwritten(&self.path, &error))
    }

    fn properties(&self, summary: &SweepSummary, runs: u64) -> Vec<Property> {
        let asked = &self.commands.asked;
        let mut properties = vec![
            ("seeds".to_owned(), asked.seeds_in_words()),
            ("runs".to_owned(), runs.to_string()),
            ("seeds_per_s".to_owned(), format!("{:.1}", summary.seeds_per_s)),
            ("crash_points".to_owned(), asked.crash_points.to_string()),
            ("build".to_owned(), asked.build.clone()),
        ];
        properties.extend(summary.shard.map(|shard| ("shard".to_owned(), shard.to_string())));
        properties.extend(asked.draw.values().into_iter().map(|(name, value)| (name.to_owned(), value)));
        properties.into_iter().map(|(name, value)| Property::new(text(&name), text(&value))).collect()
    }

    /// Whether all ran that was to run.
    fn complete(&self, summary: &SweepSummary) -> TestCaseStatus {
        let of = || format!("{} of {}", grouped(summary.seeds), counted(self.runs, "run"));
        match summary.missing.first() {
            Some(first) => {
                let lines = summary.missing.iter().flat_map(|missing| [Some(&missing.what), missing.command.as_ref()]);
                failed(&first.what, &lines.flatten().cloned().collect::<Vec<_>>().join("\n"))
            }
            None if summary.interrupted => {
                let command = summary.command.clone().unwrap_or_default();
                failed(&format!("interrupted after {}", of()), &command)
            }
            None if summary.seeds == 0 || summary.steps == 0 => failed("nothing ran", ""),
            None if summary.seeds < self.runs => {
                skipped(&format!("stopped after {}, at {}", counted(summary.failed, "failure"), of()))
            }
            None => TestCaseStatus::success(),
        }
    }
}

/// The test cases of a scenario.
fn cases(commands: &Commands, scenario: Known, seen: Seen, summary: &SweepSummary) -> Vec<TestCase> {
    let (name, ran) = (scenario.name(), seen.runs > 0);
    let mut violated: BTreeMap<String, Vec<FingerprintGroup>> = BTreeMap::new();
    for group in seen.groups.into_vec() {
        violated.entry(group.invariant.clone()).or_default().push(kept(group, name, summary));
    }
    let mut invariants: Vec<String> = Vec::new();
    let known = scenario.invariants().iter().chain(GENERIC).chain(WORKER_INVARIANTS).map(|(id, _)| (*id).to_owned());
    for id in known.chain(violated.keys().cloned()) {
        if !invariants.contains(&id) {
            invariants.push(id);
        }
    }
    let of_invariant = |id: &String| {
        let status = match violated.get(id) {
            Some(groups) => of_groups(commands, groups),
            None if ran => TestCaseStatus::success(),
            None => skipped("nothing ran"),
        };
        case(name, id, status)
    };
    let mut cases: Vec<TestCase> = invariants.iter().map(of_invariant).collect();
    for event in scenario.coverage() {
        cases.push(case(name, &format!("sometimes: {event}"), of_event(commands, scenario, event, seen.runs, summary)));
    }
    cases.push(case(name, "determinism", of_determinism(commands, name, summary)));
    cases
}

/// The group with the reproducer of its first seed, if one was written.
fn kept(group: FingerprintGroup, scenario: &str, summary: &SweepSummary) -> FingerprintGroup {
    let whole = summary.fingerprints.iter().find(|whole| whole.fingerprint == group.fingerprint);
    let paths = whole.into_iter().flat_map(|whole| &whole.reproducers);
    let is_first = |path: &&String| {
        group.seeds.first().is_some_and(|seed| artifacts::is_of(Path::new(path.as_str()), scenario, *seed))
    };
    FingerprintGroup { reproducers: paths.filter(is_first).cloned().collect(), ..group }
}

fn of_groups(commands: &Commands, groups: &[FingerprintGroup]) -> TestCaseStatus {
    let message = groups.first().and_then(|group| group.message.lines().next()).unwrap_or_default();
    let texts = groups.iter().map(|group| {
        let FingerprintGroup { fingerprint, message, seeds, .. } = group;
        let command = commands.of_group(group).unwrap_or_default();
        format!("{fingerprint}\n{message}\n{}: {}\n{command}", counted(seeds.len() as u64, "seed"), some_of(seeds))
    });
    failed(message, &texts.collect::<Vec<_>>().join("\n\n"))
}

fn of_event(commands: &Commands, scenario: Known, event: &str, runs: u64, summary: &SweepSummary) -> TestCaseStatus {
    let coverage = summary.coverage.get(scenario.name()).and_then(|events| events.get(event));
    if coverage.is_some_and(|coverage| coverage.total > 0) {
        return TestCaseStatus::success();
    }
    let is_missed = |(of, name): &(String, String)| of == scenario.name() && name == event;
    if summary.never_happened.iter().any(is_missed) {
        let never = format!("never happened in {}: the sweep proves less than it seems", counted(runs, "run"));
        return failed(&never, &commands.all());
    }
    let restricting = commands.asked.draw.given();
    match summary.shard {
        Some(shard) => skipped(&format!("it did not happen in shard {shard}; `merge` judges all shards together")),
        None if !summary.missing.is_empty() => skipped("it did not happen; not judged, since a part is missing"),
        None if !restricting.is_empty() => {
            skipped(&format!("it did not happen; not judged, since draws are restricted by {}", restricting.join(", ")))
        }
        None => skipped(&format!(
            "it did not happen; not judged below {RUNS_TO_SEE_EVERYTHING} runs, these are {}",
            grouped(runs)
        )),
    }
}

fn of_determinism(commands: &Commands, scenario: &str, summary: &SweepSummary) -> TestCaseStatus {
    let here = summary.differences.iter().filter(|difference| difference.scenario == scenario);
    let here: Vec<&Difference> = here.collect();
    match (here.first(), summary.run_twice_in.get(scenario)) {
        (Some(first), _) => {
            let hash = |hash: &Option<String>| hash.clone().unwrap_or_else(|| "no result".to_owned());
            let lines = here.iter().map(|difference| {
                let Difference { seed, first_hash, second_hash, first_difference, .. } = *difference;
                let (first, second) = (hash(first_hash), hash(second_hash));
                format!(
                    "seed {seed}: {first}, then {second}\n{first_difference}\n{}",
                    commands.of_difference(difference)
                )
            });
            let message = first.first_difference.lines().next().unwrap_or_default();
            failed(&format!("seed {}: {message}", first.seed), &lines.collect::<Vec<_>>().join("\n\n"))
        }
        (None, None | Some(0)) => skipped("no seed ran twice"),
        (None, Some(_)) => TestCaseStatus::success(),
    }
}

fn of_budget(commands: &Commands, budget: &JudgedBudget) -> TestCaseStatus {
    match budget.is_met {
        Some(true) => TestCaseStatus::success(),
        Some(false) => {
            let command = budget.longest.as_ref().map(|longest| commands.of_longest(longest));
            failed(&format!("over budget: {}", measured(budget)), &command.unwrap_or_default())
        }
        None => failed(&format!("not judged: {}", budget.not_judged.as_deref().unwrap_or("nothing was measured")), ""),
    }
}

fn case(suite: &str, name: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(text(name), status);
    case.set_classname(text(suite));
    case
}

fn failed(message: &str, description: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(text(message));
    if !description.is_empty() {
        status.set_description(text(description));
    }
    status
}

fn skipped(message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(text(message));
    status
}

/// Text that XML can hold. `XmlString` sees to control characters; two others are none of XML's either.
fn text(text: &str) -> XmlString {
    XmlString::new(text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_hold_does_not_reach_it() {
        let mut suite = TestSuite::new("s");
        suite.add_test_case(case("s", "c", failed("a<b>&\"'\u{0}\u{1b}[31m\u{ffff}", "]]> \u{b}\u{fffe} é")));
        let mut report = Report::new("r");
        report.add_test_suite(suite);
        let xml = report.to_string().expect("it can be written");
        let is_allowed = |character: char| matches!(character, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
        assert!(xml.chars().all(is_allowed), "{xml:?}");
        let read = Report::deserialize_from_str(&xml).expect("it can be read");
        let TestCaseStatus::NonSuccess { message, description, .. } = &read.test_suites[0].test_cases[0].status else {
            panic!("it failed: {xml}");
        };
        assert_eq!(message.as_deref(), Some("a<b>&\"'\u{fffd}"));
        assert_eq!(description.as_deref(), Some("]]> \u{fffd} é"));
    }
}

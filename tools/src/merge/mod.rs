//! `merge`: what several sweeps wrote, judged as one. Files are read in `sections`, what they lack is found in `missing`; adding up, judging and telling is `sweep`'s.

mod missing;
mod sections;
mod source;

use crate::artifacts;
use crate::catalogue::Catalogue;
use crate::cli::{CheckArguments, MergeArguments};
use crate::exit::{Exit, Problem, Result, unless_closed};
use crate::hang;
use crate::report::{Difference, Human, RunEvent, RunResult, Screen, Sink, SweepLines, WithJunit, counted};
use crate::seeds::Seeds;
use crate::sweep::{self, Asked, Commands, Reproduced, TIMED_OUT, Tally};
use anyhow::Context;
use sections::{End, Key, Line, Section, Sections};
use seedstorm_sim::plan::StrategyPlan;
use std::collections::BTreeSet;
use std::path::Path;

/// Puts results together.
///
/// # Errors
/// Files that can't be read or put together; an output that can't be written.
pub(crate) fn merge(catalogue: Catalogue, arguments: &MergeArguments) -> Result<Exit> {
    let all = Sections::read(catalogue, &arguments.files)?;
    let asked = asked(&all);
    let strategy = asked.as_ref().and_then(|asked| asked.options.strategy);
    if let Some(given) = arguments.budget.given().filter(|_| strategy != Some(StrategyPlan::Timed)) {
        return Err(Problem::usage(format!(
            "{given}: latencies mean time only where steps go in the order of simulated time; sweep with `--strategy timed`"
        )));
    }
    let judge = sweep::judge(&arguments.budget, strategy)?;
    let asked = asked.unwrap_or_else(|| unknown(&all));
    let commands = Commands {
        catalogue,
        asked: asked.clone(),
        shard: None,
        again: Vec::new(),
        artifacts: Vec::new(),
        step_timeout_ns: hang::STEP_TIMEOUT_NS,
    };
    let form: Box<dyn Sink> = if arguments.json {
        Box::new(SweepLines::summary_only(std::io::stdout()))
    } else {
        Box::new(Human::new(std::io::stdout(), Screen::of_stdout()))
    };
    let mut sink = WithJunit::new(form, arguments.junit.junit.as_deref(), &commands)?;
    let names: Vec<&str> = asked.scenarios.iter().map(String::as_str).collect();
    let (seeds, by) = (format!("seeds {}", asked.seeds_in_words()), counted(arguments.files.len() as u64, "file"));
    let runs = all.runs.len() as u64;
    sink.event(&RunEvent::SweepStarted { what: "merge", scenarios: &names, seeds: &seeds, runs, by: &by })
        .or_else(unless_closed)?;

    let (mut tally, mut differences) = (Tally::new(judge), Vec::new());
    for (index, lines) in (0..).zip(all.runs.values()) {
        let (result, difference) = one_of(&all, lines)?;
        sink.event(&RunEvent::SweepSeed(&result)).or_else(unless_closed)?;
        differences.extend(difference);
        if let Some(fingerprint) = tally.add(index, &result) {
            tally.reproducer(index, &fingerprint, reproduced(&all, lines, &fingerprint, &result));
        }
    }
    differences.extend(ends(&all).flat_map(|end| &end.summary.differences).cloned());
    tally.differ(in_order(&all, differences));
    let wall_ns = add_summaries(&all, &mut tally);
    tally.misses(missing::missing(&all, &commands));
    let summary = tally.finish(wall_ns, false, asked, None);
    let exit = sweep::exit(&summary);
    let reproduce = commands.first(&summary, exit);
    sweep::tell(sink, &summary, reproduce.as_deref(), exit, None)
}

/// The ends that sections have.
fn ends(all: &Sections) -> impl Iterator<Item = &End> {
    all.sections.iter().filter_map(|section| section.end.as_ref())
}

/// What all sweeps together were asked for. `None`: no file says it.
fn asked(all: &Sections) -> Option<Asked> {
    let first = ends(all).next()?;
    let seeds = Seeds::union(ends(all).map(|end| end.seeds).collect());
    // Of nothing, at least where it is.
    let seeds = if seeds.is_empty() { vec![first.seeds] } else { seeds };
    Some(Asked { scenarios: all.scenarios.clone(), seeds, ..first.asked.clone() })
}

/// What sweeps that were all cut off can have been asked for, as far as their runs tell.
fn unknown(all: &Sections) -> Asked {
    let seeds = all.runs.keys().map(|(seed, _)| Seeds { first: *seed, count: 1 }).collect();
    Asked {
        scenarios: all.scenarios.clone(),
        seeds: Seeds::union(seeds),
        crash_points: CheckArguments::default().crash_points(),
        ..Asked::default()
    }
}

/// The one result of a run, and what is wrong if it has been told in two ways.
fn one_of(all: &Sections, lines: &[Line]) -> Result<(RunResult, Option<Difference>)> {
    let (first_line, others) = lines.split_first().context("a run that no line tells of")?;
    let mut result = all.run(*first_line)?;
    let mut difference = None;
    for line in others {
        let other = all.run(*line)?;
        let is_out_of_time = |run: &RunResult| run.violations.iter().any(|violation| violation.invariant == TIMED_OUT);
        if !result.did_the_same(&other) && !is_out_of_time(&result) && !is_out_of_time(&other) {
            difference.get_or_insert_with(|| Difference {
                scenario: result.scenario.clone(),
                seed: result.seed,
                first_hash: result.trace_hash.clone(),
                second_hash: other.trace_hash.clone(),
                step: None,
                shard: all.sections[first_line.section].end.as_ref().and_then(|end| end.summary.shard),
                first_difference: format!(
                    "{} and {} tell of two runs ({}, then {})",
                    all.name(*first_line),
                    all.name(*line),
                    counted(result.steps, "step"),
                    other.steps
                ),
                traces: Vec::new(),
            });
        }
        // A failure is told, whoever had it.
        if result.passed() && !other.passed() {
            result = other;
        }
    }
    Ok((result, difference))
}

/// Differences in the order of runs, one for each run.
fn in_order(all: &Sections, mut differences: Vec<Difference>) -> Vec<Difference> {
    let place = |name: &str| all.scenarios.iter().position(|known| known == name);
    differences.sort_by_key(|difference| (difference.seed, place(&difference.scenario)));
    differences.dedup_by_key(|difference| (difference.seed, difference.scenario.clone()));
    differences
}

/// What was kept of a failure, by the sweep that had it.
fn reproduced(all: &Sections, lines: &[Line], fingerprint: &str, result: &RunResult) -> Option<Reproduced> {
    let mut ends = lines.iter().filter_map(|line| all.sections[line.section].end.as_ref());
    ends.find_map(|end| {
        let group = end.summary.fingerprints.iter().find(|group| group.fingerprint == fingerprint)?;
        let is_of = |path: &&String| artifacts::is_of(Path::new(path.as_str()), &result.scenario, result.seed);
        let path = group.reproducers.iter().find(is_of)?;
        // The word is that of the first.
        let repro = group.repro.clone().filter(|_| group.reproducers.first() == Some(path));
        Some(Reproduced { path: path.clone(), repro })
    })
}

/// Adds what summaries tell beside their runs. Gives how long all of it took, in real nanoseconds.
fn add_summaries(all: &Sections, tally: &mut Tally) -> u64 {
    let counted_once = counted_once(all);
    let (mut wall_ns, mut runs) = (0_u64, 0);
    for section in &all.sections {
        let Some(end) = &section.end else { continue };
        if counted_once.iter().any(|counted| std::ptr::eq(*counted, section)) {
            tally.add_summary(&end.summary);
            wall_ns = wall_ns.saturating_add(end.summary.wall_ns);
            runs += section.keys.len();
        }
    }
    if runs != all.runs.len() {
        let why = match runs > all.runs.len() {
            true => "some runs are in several files, and theirs would be counted more than once",
            false => "some runs are in no sweep that told its summary",
        };
        tally.without_latencies(why.to_owned());
    }
    wall_ns
}

/// The sections whose summaries count: not those whose runs are all in others.
fn counted_once(all: &Sections) -> Vec<&Section> {
    let mut kept: BTreeSet<usize> =
        (0..all.sections.len()).filter(|index| all.sections[*index].end.is_some()).collect();
    let mut by_size: Vec<usize> = kept.iter().copied().collect();
    by_size.sort_by_key(|index| all.sections[*index].keys.len());
    for index in by_size {
        let is_elsewhere = |key: &Key| {
            let mut lines = all.runs.get(key).into_iter().flatten();
            lines.any(|line| line.section != index && kept.contains(&line.section))
        };
        if all.sections[index].keys.iter().all(is_elsewhere) {
            kept.remove(&index);
        }
    }
    kept.into_iter().map(|index| &all.sections[index]).collect()
}

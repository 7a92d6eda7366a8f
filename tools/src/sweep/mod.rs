//! `sweep`: many seeds, in worker processes. One seed at a time each: SQLite and madsim keep state for a whole process.

mod coordinator;
mod determinism;
mod grouping;
mod job;
mod pool;
mod progress;
mod protocol;
mod watchdog;
mod worker;

pub(crate) use coordinator::{Swept, sweep as carry_out};
pub(crate) use job::{SeedSet, Sweep, jobs};
pub(crate) use pool::Pool;
pub use watchdog::ALLOCATOR_KEEPS_MEMORY;
pub(crate) use worker::work;

use crate::budget::{Baseline, Judge, Limit};
use crate::catalogue::Catalogue;
use crate::cli::SweepArguments;
use crate::exit::{Exit, Problem, Result, unless_closed, unless_unwritten};
use crate::fault_options;
use crate::interrupt;
use crate::keep;
use crate::measured::Stopwatch;
use crate::misplaced;
use crate::refused;
use crate::report::{Human, RunEvent, Screen, Sink, SweepLines, SweepSummary};
use crate::shell;
use seedstorm_sim::Seed;
use seedstorm_sim::plan::StrategyPlan;
use std::path::Path;

/// Invariants that only a sweep can judge: (id, what must hold).
pub const WORKER_INVARIANTS: &[(&str, &str)] = &[
    ("worker-died", "a run does not end the process that it runs in"),
    ("worker-timed-out", "a run ends within the real time that a sweep gives it"),
];

/// Runs a sweep.
///
/// # Errors
/// Bad input; an output that can't be written; workers that can't be started.
pub(crate) fn sweep(catalogue: Catalogue, arguments: &SweepArguments) -> Result<Exit> {
    let scenarios = catalogue.select(&arguments.scenarios)?;
    let options = arguments.draw.options()?;
    fault_options::check(&scenarios, &options)?;
    misplaced::warn(catalogue, &scenarios, &options);
    // What can't be drawn for the first seed hardly can for others: better said now than by a worker.
    for scenario in &scenarios {
        refused::draw(*scenario, Seed(arguments.seeds.first), &options, arguments.draw.faults_file())?;
    }
    keep::check_folder(&arguments.artifacts.artifacts)?;
    let judge = judge(arguments, options.strategy)?;
    let runs = arguments
        .seeds
        .count
        .checked_mul(scenarios.len() as u64)
        .ok_or_else(|| Problem::usage("that many runs never end"))?;
    let names: Vec<&str> = scenarios.iter().map(|scenario| scenario.name()).collect();
    let jobs = jobs(arguments.jobs, runs);
    let mut sink: Box<dyn Sink> = if arguments.json {
        Box::new(SweepLines::new(std::io::stdout()))
    } else {
        Box::new(Human::new(std::io::stdout(), Screen::of_stdout()))
    };
    let seeds = format!("{} from {}", arguments.seeds.count, arguments.seeds.first);
    sink.event(&RunEvent::SweepStarted { scenarios: &names, seeds: &seeds, runs, jobs }).or_else(unless_closed)?;
    let interrupt = interrupt::flag()?;
    let stopwatch = Stopwatch::start();
    let job = Sweep {
        catalogue,
        scenarios: scenarios.clone(),
        seeds: SeedSet::Range(arguments.seeds),
        options,
        runs,
        jobs,
        crash_points: arguments.check.crash_points(),
        failures_max: arguments.max_failures,
        determinism: arguments.determinism,
        seed_timeout_ns: arguments.seed_timeout,
        artifacts: Some(arguments.artifacts.artifacts.clone()),
        label: String::new(),
    };
    let Swept { tally, interrupted, told, unwritten } = carry_out(&job, judge, &mut *sink, &interrupt)?;
    let mut summary = tally.finish(stopwatch.elapsed_ns(), interrupted, arguments.draw.given());
    let exit = exit(&summary);
    let reproduce = if exit == Exit::Interrupted {
        let left = arguments.words(arguments.seeds.after(told / scenarios.len() as u64));
        summary.command = Some(shell::line([catalogue.program()].into_iter().chain(left.iter().map(String::as_str))));
        summary.command.clone()
    } else {
        reproduce(catalogue, arguments, &summary, exit)
    };
    sink.event(&RunEvent::SweepEnded(&summary)).or_else(unless_closed)?;
    sink.event(&RunEvent::Done { reproduce: reproduce.as_deref() }).or_else(unless_closed)?;
    unless_unwritten(exit, unwritten)
}

/// The judge of the budgets and of the baseline that were given.
fn judge(arguments: &SweepArguments, strategy: Option<StrategyPlan>) -> Result<Judge> {
    let given = match (&arguments.latency_budget[..], &arguments.baseline) {
        ([], None) => return Ok(Judge::default()),
        ([], Some(_)) => "--baseline",
        _ => "--latency-budget",
    };
    if strategy != Some(StrategyPlan::Timed) {
        return Err(Problem::usage(format!(
            "{given}: latencies mean time only where steps go in the order of simulated time; add `--strategy timed`"
        )));
    }
    if arguments.baseline.is_none()
        && let Some(budget) = arguments.latency_budget.iter().find(|budget| matches!(budget.limit, Limit::Above(_)))
    {
        return Err(Problem::usage(format!(
            "--latency-budget {budget}: above what? `--baseline FILE` names what an earlier `sweep --strategy timed --json` wrote"
        )));
    }
    let baseline = arguments.baseline.as_deref().map(Baseline::read).transpose()?;
    Ok(Judge::new(arguments.latency_budget.clone(), baseline))
}

/// Nondeterminism first: it takes the meaning from everything else.
fn exit(summary: &SweepSummary) -> Exit {
    match summary {
        _ if !summary.differences.is_empty() => Exit::Nondeterministic,
        _ if summary.failed > 0 => Exit::Violated,
        _ if summary.interrupted => Exit::Interrupted,
        _ if summary.seeds == 0 || summary.steps == 0 => Exit::Vacuous,
        _ if summary.budgets.iter().any(|budget| budget.is_met == Some(false)) => Exit::OverBudget,
        _ if !summary.never_happened.is_empty() => Exit::Vacuous,
        _ if summary.budgets.iter().any(|budget| budget.is_met.is_none()) => Exit::Vacuous,
        _ => Exit::Pass,
    }
}

/// How many seeds are run before one that was not deterministic, to show it again.
const SEEDS_BEFORE: u64 = 20;

/// The command that shows the first thing that went wrong.
fn reproduce(catalogue: Catalogue, arguments: &SweepArguments, summary: &SweepSummary, exit: Exit) -> Option<String> {
    let program = catalogue.program();
    let draw_for = |name: &str| {
        let scenario = catalogue.all().iter().find(|scenario| scenario.name() == name);
        scenario.map_or_else(|| arguments.draw.words(), |scenario| arguments.draw.words_for(*scenario))
    };
    let draw;
    let words: Vec<String> = match exit {
        Exit::Pass | Exit::Usage | Exit::Internal | Exit::Interrupted | Exit::Unclear | Exit::Broken => return None,
        Exit::Nondeterministic => {
            let difference = summary.differences.first()?;
            draw = draw_for(&difference.scenario);
            // It may depend on the runs before it in its process: some of them come along.
            let first = arguments.seeds.first.max(difference.seed.saturating_sub(SEEDS_BEFORE));
            let seeds = format!("{first}..={}", difference.seed);
            let words = [
                "sweep",
                "--scenarios",
                &difference.scenario,
                "--seeds",
                &seeds,
                "--jobs",
                "1",
                "--determinism",
                "100%",
            ];
            words.map(str::to_owned).into()
        }
        Exit::Violated => {
            let group = summary.fingerprints.first()?;
            if let Some(path) = group.reproducers.first() {
                return Some(shell::line([program, "replay", &shell::path(Path::new(path))]));
            }
            let seed = group.seeds.first()?.to_string();
            draw = draw_for(group.scenarios.first()?);
            ["replay", "--scenario", group.scenarios.first()?, "--seed", &seed].map(str::to_owned).into()
        }
        Exit::OverBudget => {
            let longest = summary.budgets.iter().find(|budget| budget.is_met == Some(false))?.longest.as_ref()?;
            draw = draw_for(&longest.scenario);
            ["run", "--scenarios", &longest.scenario, "--seed", &longest.seed.to_string()].map(str::to_owned).into()
        }
        // All of it may have to do with what was not seen or not judged.
        Exit::Vacuous => {
            let words = arguments.words(arguments.seeds);
            return Some(shell::line([program].into_iter().chain(words.iter().map(String::as_str))));
        }
    };
    let (artifacts, check) = (arguments.artifacts.words(), arguments.check.words());
    let words = words.iter().chain(&draw).chain(&check).chain(&artifacts).map(String::as_str);
    Some(shell::line([program].into_iter().chain(words)))
}

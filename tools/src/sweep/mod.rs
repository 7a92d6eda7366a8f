//! `sweep`: many seeds, in worker processes. One seed at a time each: SQLite and madsim keep state for a whole process.

mod asked;
mod commands;
mod coordinator;
mod determinism;
mod grouping;
mod job;
mod pool;
mod progress;
mod protocol;
mod watchdog;
mod worker;

pub(crate) use asked::Asked;
pub(crate) use commands::Commands;
pub(crate) use coordinator::{Swept, sweep as carry_out};
pub(crate) use grouping::{Groups, RUNS_TO_SEE_EVERYTHING, Reproduced, Tally};
pub(crate) use job::{SeedSet, Sweep, jobs};
pub(crate) use pool::Pool;
pub use watchdog::ALLOCATOR_KEEPS_MEMORY;
pub(crate) use watchdog::TIMED_OUT;
pub(crate) use worker::work;

use crate::budget::{Baseline, Judge, Limit};
use crate::catalogue::Catalogue;
use crate::cli::{BudgetArguments, SweepArguments};
use crate::exit::{Exit, Problem, Result, unless_closed, unless_unwritten};
use crate::fault_options;
use crate::interrupt;
use crate::keep;
use crate::measured::Stopwatch;
use crate::misplaced;
use crate::refused;
use crate::report::{Human, RunEvent, Screen, Sink, SweepLines, SweepSummary, WithJunit, counted};
use crate::seeds::Seeds;
use crate::shard::Shard;
use crate::shell;
use crate::this_build;
use seedstorm_sim::Seed;
use seedstorm_sim::plan::StrategyPlan;

/// Invariants that only who runs a run from outside can judge: (id, what must hold).
pub const WORKER_INVARIANTS: &[(&str, &str)] = &[
    ("worker-died", "a run does not end the process that it runs in"),
    (
        "worker-timed-out",
        "a program makes its next system call, and a run of a sweep ends, within the real time that there is for it",
    ),
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
    if let (Some(shard), Some(given)) = (arguments.shard, arguments.budget.given()) {
        return Err(Problem::usage(format!(
            "--shard {shard}: {given} is about the whole sweep, and no shard can judge it; leave it out here, and give it to `{} merge`",
            shell::name_of(catalogue.program())
        )));
    }
    let judge = judge(&arguments.budget, options.strategy)?;
    let seeds = SeedSet::Shard(arguments.seeds, arguments.shard.unwrap_or(Shard::WHOLE));
    let runs =
        seeds.count().checked_mul(scenarios.len() as u64).ok_or_else(|| Problem::usage("that many runs never end"))?;
    let names: Vec<&str> = scenarios.iter().map(|scenario| scenario.name()).collect();
    let jobs = jobs(arguments.jobs, runs);
    // Who reads it, compares it.
    let is_told = arguments.json || arguments.junit.junit.is_some();
    let build = if is_told { this_build::whole() } else { this_build::versions() };
    let asked = Asked::of(&scenarios, arguments.seeds, &arguments.draw, &options, arguments.check, build);
    let commands = Commands {
        catalogue,
        asked: asked.clone(),
        shard: arguments.shard,
        again: arguments.words(arguments.seeds),
        artifacts: arguments.artifacts.words(),
        step_timeout_ns: arguments.watch.step_timeout_ns().min(arguments.seed_timeout),
    };
    let form: Box<dyn Sink> = if arguments.json {
        Box::new(SweepLines::new(std::io::stdout()))
    } else {
        Box::new(Human::new(std::io::stdout(), Screen::of_stdout()))
    };
    let interrupt = interrupt::flag()?;
    let mut sink = WithJunit::new(form, arguments.junit.junit.as_deref(), &commands)?;
    let told = of_shard(arguments.seeds, arguments.shard);
    let by = counted(u64::from(jobs), "worker");
    sink.event(&RunEvent::SweepStarted { what: "sweep", scenarios: &names, seeds: &told, runs, by: &by })
        .or_else(unless_closed)?;
    let stopwatch = Stopwatch::start();
    let job = Sweep {
        catalogue,
        scenarios: scenarios.clone(),
        seeds,
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
    let Swept { tally, interrupted, told, unwritten } = carry_out(&job, judge, &mut sink, &interrupt)?;
    let mut summary = tally.finish(stopwatch.elapsed_ns(), interrupted, asked, arguments.shard);
    let exit = exit(&summary);
    let reproduce = if exit == Exit::Interrupted {
        let done = told / scenarios.len() as u64;
        let left = arguments.words(arguments.shard.unwrap_or(Shard::WHOLE).after(arguments.seeds, done));
        summary.command = Some(commands.pasted(&left));
        summary.command.clone()
    } else {
        commands.first(&summary, exit)
    };
    tell(sink, &summary, reproduce.as_deref(), exit, unwritten)
}

/// Tells how it ended, in each form, and ends.
///
/// # Errors
/// An output can't be written.
pub(crate) fn tell(
    mut sink: WithJunit,
    summary: &SweepSummary,
    reproduce: Option<&str>,
    exit: Exit,
    unwritten: Option<String>,
) -> Result<Exit> {
    sink.event(&RunEvent::SweepEnded(summary)).or_else(unless_closed)?;
    sink.event(&RunEvent::Done { reproduce }).or_else(unless_closed)?;
    let unwritten_page = sink.finish(summary).err().map(|problem| problem.to_string());
    unless_unwritten(exit, unwritten.or(unwritten_page))
}

/// The seeds in words, and which of them a shard has.
fn of_shard(seeds: Seeds, shard: Option<Shard>) -> String {
    let all = match seeds {
        // A number alone is one seed here, and a number of seeds elsewhere: this says which was understood.
        Seeds { first, count: 1 } => format!("1 seed: {first}"),
        Seeds { first, count } => format!("seeds {count} from {first}"),
    };
    match shard {
        None => all,
        Some(shard) => format!("{all}, of them {} in shard {shard}", shard.len(seeds)),
    }
}

/// The judge of the budgets and of the baseline that were given.
///
/// # Errors
/// Latencies mean no time, or a budget is above nothing; a baseline that can't be read.
pub(crate) fn judge(arguments: &BudgetArguments, strategy: Option<StrategyPlan>) -> Result<Judge> {
    let Some(given) = arguments.given() else { return Ok(Judge::default()) };
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
pub(crate) fn exit(summary: &SweepSummary) -> Exit {
    match summary {
        _ if !summary.differences.is_empty() => Exit::Nondeterministic,
        _ if summary.failed > 0 => Exit::Violated,
        _ if summary.interrupted => Exit::Interrupted,
        _ if summary.seeds == 0 || summary.steps == 0 => Exit::Vacuous,
        // Of a part nothing is known yet, neither what it takes nor what happens in it.
        _ if !summary.missing.is_empty() => Exit::Vacuous,
        _ if summary.budgets.iter().any(|budget| budget.is_met == Some(false)) => Exit::OverBudget,
        _ if !summary.never_happened.is_empty() => Exit::Vacuous,
        _ if summary.budgets.iter().any(|budget| budget.is_met.is_none()) => Exit::Vacuous,
        _ => Exit::Pass,
    }
}

//! `explore`: every schedule of one plan with at most so many skips. Which they are is `sim::explore`'s business; a schedule that fails is run once more and told
//! as `run` tells it.

mod progress;
mod told;

use crate::catalogue::{Catalogue, Known};
use crate::checked::Checked;
use crate::cli::ExploreArguments;
use crate::exit::{Exit, Problem, Result, unless_closed, unless_unwritten};
use crate::fault_options;
use crate::interrupt;
use crate::keep;
use crate::measured::LAST_EVENTS;
use crate::misplaced;
use crate::plan_file;
use crate::refused;
use crate::report::{Human, RunEvent, Screen, Sink};
use crate::reproducer::{self, Replayable};
use crate::run::{self, How};
use crate::seeds;
use crate::shell;
use crate::sweep::{Pool, jobs};
use anyhow::anyhow;
use progress::Progress;
use seedstorm_sim::explore::{Explored, Failing, Stopped, Trial, explore};
use seedstorm_sim::plan::{SkipPoints, StrategyPlan};
use seedstorm_sim::{Options, Plan, Seed};
use std::io::Write;
use told::Told;

/// Explores.
///
/// # Errors
/// Bad input, or an output that can't be written.
pub(crate) fn explore_command(catalogue: Catalogue, arguments: &ExploreArguments) -> Result<Exit> {
    let (scenario, plan) = planned(catalogue, arguments)?;
    keep::check_folder(&arguments.artifacts.artifacts)?;
    let budget_ns = arguments.budget.unwrap_or(u64::MAX);
    let jobs = jobs(arguments.jobs, u64::MAX);
    let mut pool = Pool::new(jobs, arguments.seed_timeout, budget_ns, interrupt::flag()?);
    let mut human = Human::new(std::io::stdout(), Screen::of_stdout());
    if !arguments.json {
        let from = arguments.plan.as_ref().map(|path| path.display().to_string());
        human.event(&RunEvent::Drawn { plan: &plan, note: from.as_deref() }).or_else(unless_closed)?;
    }
    let checked = Checked::with(arguments.check.crash_points());
    let Checked { crash_points, without_invariants } = checked;
    let trial = Trial { plan, guide: None, crash_points, without_invariants };
    let progress = Progress::new();
    let explored = explore(&mut pool, &trial, arguments.skips, &mut |level| progress.at(level));
    progress.finish();
    let explored = explored.map_err(|stopped| match stopped {
        Stopped::Broken(why) => Problem::Internal(anyhow!(why)),
        Stopped::Interrupted => Problem::Internal(anyhow!("the search was ended, and didn't say what it had found")),
    })?;
    let told = Told { scenario, plan: &trial.plan, explored: &explored, skips_max: arguments.skips, pool: &pool };
    match &explored.failing {
        Some(failing) => failed(catalogue, arguments, checked, &told, failing, human),
        None => passed(catalogue, arguments, &told),
    }
}

/// The plan that is explored, without a skip.
fn planned(catalogue: Catalogue, arguments: &ExploreArguments) -> Result<(Known, Plan)> {
    let strategy = StrategyPlan::Skips { at: SkipPoints::NONE };
    if let Some(path) = &arguments.plan {
        if !arguments.draw.is_empty() {
            return Err(Problem::usage(
                "--plan explores a plan as it is: options about how plans are drawn don't go with it",
            ));
        }
        let plan = match reproducer::read(path)? {
            Replayable::Plan(plan) => *plan,
            Replayable::Recorded(reproducer, _) => reproducer.plan,
        };
        let scenario = plan_file::scenario_of(catalogue, &plan, Some(path))?;
        return Ok((scenario, Plan { strategy, ..plan }));
    }
    if let Some(given) = &arguments.draw.strategy {
        return Err(Problem::usage(format!(
            "--strategy {given}: `{} explore` says itself who steps next; leave it out",
            shell::name_of(catalogue.program())
        )));
    }
    let scenario = catalogue.named(arguments.scenario.as_deref().unwrap_or_default())?;
    // The plan is the one that `run` draws with a strategy that skips: so the command of a schedule runs it.
    let options = Options { strategy: Some(strategy), ..arguments.draw.options()? };
    fault_options::check(&[scenario], &options)?;
    misplaced::warn(catalogue, &[scenario], &options);
    let seed = Seed(arguments.seed.unwrap_or_else(seeds::anything));
    let faults_file = arguments.draw.faults_file();
    let plan = refused::draw(scenario, seed, &options, faults_file)?;
    interrupt::check(scenario, &plan).map_err(|problem| refused::of_run(scenario, problem, None, faults_file))?;
    Ok((scenario, plan))
}

/// Tells that no schedule failed of those that were run.
fn passed(catalogue: Catalogue, arguments: &ExploreArguments, told: &Told<'_>) -> Result<Exit> {
    let exit = exit(told.explored, told.pool.is_interrupted());
    let command = (exit != Exit::Pass).then(|| again(catalogue, arguments, told.plan));
    say(&match arguments.json {
        true => told.json(None, command.as_deref()),
        false => told.passed(command.as_deref()),
    })?;
    Ok(exit)
}

/// Whoever has stopped reading still has the exit code.
fn say(text: &str) -> Result<()> {
    let mut output = std::io::stdout();
    Ok(output.write_all(text.as_bytes()).and_then(|()| output.flush()).or_else(unless_closed)?)
}

/// A search that was ended shows nothing of what it has left out.
fn exit(explored: &Explored, is_interrupted: bool) -> Exit {
    match explored.is_cut_off {
        true if is_interrupted => Exit::Interrupted,
        true => Exit::Vacuous,
        false if explored.has_choices() => Exit::Pass,
        false => Exit::Vacuous,
    }
}

/// Runs the schedule that failed once more, here, keeps it, and tells it.
fn failed(
    catalogue: Catalogue,
    arguments: &ExploreArguments,
    checked: Checked,
    told: &Told<'_>,
    failing: &Failing,
    mut human: Human<std::io::Stdout>,
) -> Result<Exit> {
    if !arguments.json {
        say(&told.failing(failing))?;
    }
    let how = How {
        catalogue,
        tracing: None,
        checked,
        turns: None,
        artifacts: Some(&arguments.artifacts.artifacts),
        last_events: if arguments.json { 0 } else { LAST_EVENTS },
    };
    let (plan, faults) = (arguments.plan.as_deref(), arguments.draw.faults_file());
    let ran = run::run_one(told.scenario, &failing.plan, how)
        .map_err(|problem| refused::of_run(told.scenario, problem, plan, faults))?;
    let command = match run::replay_command_of(catalogue.program(), &ran.result, arguments.watch.step_timeout_ns()) {
        Some(command) => command,
        None => schedule(catalogue, arguments, &failing.plan),
    };
    if arguments.json {
        say(&told.json(Some(&ran.result), Some(&command)))?;
    } else {
        let ended = RunEvent::Ended { result: &ran.result, last_events: &ran.last_events };
        human.event(&ended).or_else(unless_closed)?;
        human.event(&RunEvent::Done { reproduce: Some(&command) }).or_else(unless_closed)?;
    }
    // One plan has failed in a worker, and passed here.
    let exit = if ran.result.passed() { Exit::Nondeterministic } else { Exit::Violated };
    unless_unwritten(exit, ran.unwritten)
}

/// The command that runs one schedule.
fn schedule(catalogue: Catalogue, arguments: &ExploreArguments, plan: &Plan) -> String {
    let mut words = match &arguments.plan {
        // The file has another strategy.
        Some(_) => return again(catalogue, arguments, plan),
        None => vec!["run".to_owned(), "--scenarios".to_owned(), plan.scenario.clone()],
    };
    words.extend(["--seed".to_owned(), plan.seed.0.to_string(), "--strategy".to_owned(), plan.strategy.to_string()]);
    words.extend([arguments.draw.words(), arguments.watch.words(), arguments.check.words()].concat());
    shell::line([catalogue.program()].into_iter().chain(words.iter().map(String::as_str)))
}

/// The command that explores the same again, with the time that it takes.
fn again(catalogue: Catalogue, arguments: &ExploreArguments, plan: &Plan) -> String {
    let mut words = vec!["explore".to_owned()];
    match &arguments.plan {
        Some(path) => words.extend(["--plan".to_owned(), shell::path(path)]),
        None => {
            words.extend(["--scenario".to_owned(), plan.scenario.clone(), "--seed".to_owned(), plan.seed.0.to_string()])
        }
    }
    words.extend(["--skips".to_owned(), arguments.skips.to_string()]);
    words.extend(
        [arguments.draw.words(), arguments.watch.words(), arguments.check.words(), arguments.artifacts.words()]
            .concat(),
    );
    shell::line([catalogue.program()].into_iter().chain(words.iter().map(String::as_str)))
}

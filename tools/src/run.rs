//! `run`: one seed of some scenarios, or one plan. Many seeds are `sweep`'s business; a run again, `replay`'s.

use crate::artifacts;
use crate::catalogue::{Catalogue, Known};
use crate::checked::Checked;
use crate::cli::{RunArguments, words_to_show};
use crate::exit::{Exit, Interrupted, Problem, Result, unless_closed, unless_unwritten};
use crate::fault_options;
use crate::hang::Hang;
use crate::interrupt::{self, Reached};
use crate::keep;
use crate::measured::{self, LAST_EVENTS, Stopwatch};
use crate::misplaced;
use crate::plan_file;
use crate::refused;
use crate::report::{EventLine, Human, RunEvent, RunObject, RunResult, Screen, Sink};
use crate::seeds;
use crate::shell;
use crate::stderr;
use crate::traced::Tracing;
use seedstorm_sim::invariant::Violation;
use seedstorm_sim::schedule::{Guide, Turns};
use seedstorm_sim::{Plan, Seed, Settings};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Runs.
///
/// # Errors
/// Bad input, or an output that can't be written.
pub(crate) fn run(catalogue: Catalogue, arguments: &RunArguments) -> Result<Exit> {
    let planned = plans(catalogue, arguments)?;
    if arguments.trace.is_some() && planned.len() != 1 {
        return Err(Problem::usage("--trace takes the events of one run: name one scenario"));
    }
    if arguments.print_plan {
        return print_plans(&planned);
    }
    keep::check_folder(&arguments.artifacts.artifacts)?;
    let interrupt = interrupt::flag()?;
    let mut tracing = arguments.trace.as_deref().map(Tracing::create).transpose()?;
    let mut sink = sink(arguments.json);
    let (mut reproduce, mut not_written) = (None, None);
    let mut exit = if planned.is_empty() { Exit::Vacuous } else { Exit::Pass };
    for (index, (scenario, plan)) in planned.iter().enumerate() {
        let from = arguments.plan.as_ref().map(|path| path.display().to_string());
        sink.event(&RunEvent::Drawn { plan, note: from.as_deref() }).or_else(unless_closed)?;
        let how = How {
            catalogue,
            tracing: tracing.take(),
            checked: Checked {
                crash_points: arguments.check.crash_points(),
                without_invariants: arguments.without_invariants,
            },
            turns: None,
            artifacts: Some(&arguments.artifacts.artifacts),
            last_events: if arguments.json { 0 } else { LAST_EVENTS },
        };
        let ran = match interrupt.load(Ordering::Relaxed) {
            true => Err(Problem::Interrupted(Reached::default().into())),
            false => run_one(*scenario, plan, how),
        };
        let Ran { result, last_events, unwritten, is_last, .. } = match ran {
            Ok(ran) => ran,
            Err(Problem::Interrupted(Interrupted::Running(reached))) => {
                sink.event(&RunEvent::Interrupted { plan, reached }).or_else(unless_closed)?;
                let before = exit;
                exit = worse(exit, Exit::Interrupted);
                if exit != before {
                    let left: Vec<Known> = planned[index..].iter().map(|(scenario, _)| *scenario).collect();
                    reproduce = Some(command(catalogue.program(), arguments, &left, plan.seed, Outputs::Same));
                }
                break;
            }
            Err(problem) => {
                let (plan, faults) = (arguments.plan.as_deref(), arguments.draw.faults_file());
                return Err(refused::of_run(*scenario, problem, plan, faults));
            }
        };
        not_written = not_written.or(unwritten);
        let before = exit;
        exit = worse(exit, exit_of(&result));
        // The command is that of the run that the exit code comes from.
        if exit != before {
            reproduce = Some(failure_command(catalogue.program(), arguments, *scenario, &result));
        }
        sink.event(&RunEvent::Ended { result: &result, last_events: &last_events }).or_else(unless_closed)?;
        let left = &planned[index + 1..];
        if is_last && !left.is_empty() {
            let left: Vec<&str> = left.iter().map(|(scenario, _)| scenario.name()).collect();
            stderr::say(format_args!(
                "not run: {}: only the end of this process ends what hangs in it",
                left.join(", ")
            ));
            break;
        }
    }
    sink.event(&RunEvent::Done { reproduce: reproduce.as_deref() }).or_else(unless_closed)?;
    unless_unwritten(exit, not_written)
}

/// The form of output of `run` and `replay`.
pub(crate) fn sink(json: bool) -> Box<dyn Sink> {
    let output = std::io::stdout();
    if json { Box::new(RunObject::new(output)) } else { Box::new(Human::new(output, Screen::of_stdout())) }
}

fn plans(catalogue: Catalogue, arguments: &RunArguments) -> Result<Vec<(Known, Plan)>> {
    if let Some(path) = &arguments.plan {
        if !arguments.draw.is_empty() {
            return Err(Problem::usage(
                "--plan runs a plan as it is: options about how plans are drawn don't go with it",
            ));
        }
        return Ok(vec![plan_file::read(catalogue, path)?]);
    }
    let options = arguments.draw.options()?;
    let seed = Seed(arguments.seed.unwrap_or_else(seeds::anything));
    let scenarios = catalogue.select(&arguments.scenarios)?;
    fault_options::check(&scenarios, &options)?;
    misplaced::warn(catalogue, &scenarios, &options);
    let plan = |scenario: Known| Ok((scenario, refused::draw(scenario, seed, &options, arguments.draw.faults_file())?));
    scenarios.into_iter().map(plan).collect()
}

fn print_plans(planned: &[(Known, Plan)]) -> Result<Exit> {
    let [(_, plan)] = planned else {
        return Err(Problem::usage("--print-plan prints one plan: name one scenario"));
    };
    let mut output = std::io::stdout();
    output.write_all(plan.to_toml().as_bytes())?;
    output.flush()?;
    Ok(Exit::Pass)
}

/// How a plan is run.
pub(crate) struct How<'a> {
    /// The program's scenarios, of which this is one.
    pub(crate) catalogue: Catalogue,
    /// Where its events go. Created before anything was told of the run: if it can't be, nothing runs.
    pub(crate) tracing: Option<Tracing>,
    /// What is checked.
    pub(crate) checked: Checked,
    /// Follow these turns.
    pub(crate) turns: Option<&'a Turns>,
    /// Where to keep a reproducer if it fails.
    pub(crate) artifacts: Option<&'a Path>,
    /// How many of the last events before a violation are wanted.
    pub(crate) last_events: usize,
}

/// What came of it.
pub(crate) struct Ran {
    /// The result.
    pub(crate) result: RunResult,
    /// The last events before the violation.
    pub(crate) last_events: Vec<String>,
    /// The step at which it first left the turns that it was to follow, if it did.
    pub(crate) drift_step: Option<u64>,
    /// Why its trace or its reproducer could not be written. The result is told all the same.
    pub(crate) unwritten: Option<String>,
    /// Whether nothing more can be run in this process: a program makes no system call.
    pub(crate) is_last: bool,
}

/// Runs one plan; if it fails, keeps a reproducer and looks at the end again.
///
/// # Errors
/// A plan that can't be run.
pub(crate) fn run_one(scenario: Known, plan: &Plan, how: How<'_>) -> Result<Ran> {
    let tracing = how.tracing;
    let settings = || Settings {
        guide: how.turns.map(|turns| Guide { turns: turns.clone(), ..Guide::default() }),
        ..how.checked.settings()
    };
    let listener = tracing.as_ref().map(Tracing::listener);
    let stopwatch = Stopwatch::start();
    // Of what hangs nothing can be run again here: what is kept of it must be written down now.
    let measured = match measured::run(scenario, plan, Settings { listener, records_turns: true, ..settings() }) {
        Err(Problem::Hung(hang)) => {
            if let Some(tracing) = &tracing {
                stderr::say(format_args!("{}: not written: the run has not come to an end", tracing.path().display()));
            }
            let Hang { violation, turns, .. } = *hang;
            let result = RunResult::lost(scenario, plan, stopwatch.elapsed_ns(), violation);
            return Ok(keep_hung(how.catalogue, plan, turns, how.checked, how.artifacts, result));
        }
        measured => measured?,
    };
    let traced = tracing.map_or(Ok(()), |tracing| tracing.finish(&measured.outcome));
    let mut unwritten = traced.err().map(|error| format!("{error:#}"));
    let mut result = RunResult::new(scenario, plan, &measured.outcome, measured.wall_ns);
    let (mut last_events, mut is_last) = (Vec::new(), false);
    let look =
        |violation: &Violation| measured::last_events(scenario, plan, settings(), violation.step, how.last_events);
    if let Some(violation) = measured.outcome.violations.first() {
        match how.artifacts {
            Some(folder) => {
                match artifacts::keep(how.catalogue, scenario, plan, how.turns, &result, how.checked, folder) {
                    Ok(kept) => {
                        result.repro = Some(kept.repro);
                        result.reproducer = Some(kept.reproducer.display().to_string());
                        last_events = kept.last_events;
                    }
                    // The failure is told all the same, and its seed brings it back.
                    Err(Problem::Interrupted(_)) => stderr::say("interrupted: before the failure was kept"),
                    Err(Problem::Hung(hang)) => {
                        is_last = true;
                        stderr::say(format_args!("the failure was not kept: run again, the same plan hangs: {hang}"));
                    }
                    Err(Problem::Internal(error)) => {
                        unwritten = unwritten.or(Some(format!("{error:#}")));
                        (last_events, is_last) = unless_ended(look(violation))?;
                    }
                    Err(problem) => return Err(problem),
                }
            }
            None if how.last_events > 0 => (last_events, is_last) = unless_ended(look(violation))?,
            None => {}
        }
    }
    let mut drift_step = None;
    if let Some(drift) = measured.outcome.guided.and_then(|guided| guided.drift) {
        drift_step = Some(measured.outcome.steps_before_chaos + drift.step);
        let drift = Some(drift.to_string());
        let replay = crate::report::Replayed { reproduced: false, drift, differs: Vec::new(), hints: Vec::new() };
        result.replay = Some(replay);
    }
    Ok(Ran { result, last_events, unwritten, drift_step, is_last })
}

/// Keeps what is known of a run that hangs.
fn keep_hung(
    catalogue: Catalogue,
    plan: &Plan,
    turns: Option<Turns>,
    checked: Checked,
    artifacts: Option<&Path>,
    mut result: RunResult,
) -> Ran {
    let mut unwritten = None;
    match artifacts.map(|folder| artifacts::keep_lost(catalogue, plan, turns, &result, checked, folder)) {
        Some(Ok(kept)) => {
            result.repro = Some(kept.repro);
            result.reproducer = Some(kept.reproducer.display().to_string());
        }
        Some(Err(problem)) => unwritten = Some(problem.to_string()),
        None => {}
    }
    Ran { result, last_events: Vec::new(), drift_step: None, unwritten, is_last: true }
}

/// The last events, or none if the run that shows them was ended before: the verdict is there already. And whether it hangs.
fn unless_ended(events: Result<Vec<EventLine>>) -> Result<(Vec<EventLine>, bool)> {
    match events {
        Err(Problem::Interrupted(_)) => Ok((Vec::new(), false)),
        Err(Problem::Hung(_)) => Ok((Vec::new(), true)),
        events => Ok((events?, false)),
    }
}

/// A run that took no step shows nothing.
pub(crate) fn exit_of(result: &RunResult) -> Exit {
    match result {
        _ if !result.passed() => Exit::Violated,
        _ if result.steps == 0 => Exit::Vacuous,
        _ => Exit::Pass,
    }
}

/// Of two runs' exits, the one to end with.
fn worse(one: Exit, other: Exit) -> Exit {
    match (one, other) {
        (Exit::Violated, _) | (_, Exit::Violated) => Exit::Violated,
        (Exit::Interrupted, _) | (_, Exit::Interrupted) => Exit::Interrupted,
        (Exit::Pass, other) => other,
        (one, _) => one,
    }
}

/// The command that shows a failure again.
fn failure_command(program: &str, arguments: &RunArguments, scenario: Known, result: &RunResult) -> String {
    replay_command_of(program, result, arguments.watch.step_timeout_ns())
        .unwrap_or_else(|| command(program, arguments, &[scenario], Seed(result.seed), Outputs::ForPeople))
}

/// The command that replays a failure, if a reproducer of it was kept.
pub(crate) fn replay_command_of(program: &str, result: &RunResult, step_timeout_ns: u64) -> Option<String> {
    let fingerprint = result.violations.first().map_or("", |violation| &violation.fingerprint);
    Some(replay_command(program, Path::new(result.reproducer.as_ref()?), fingerprint, step_timeout_ns))
}

/// The command that replays a failure of this fingerprint. What is run and what is checked stands in its reproducer.
pub(crate) fn replay_command(program: &str, reproducer: &Path, fingerprint: &str, step_timeout_ns: u64) -> String {
    let (path, watch) = (shell::path(reproducer), words_to_show(fingerprint, step_timeout_ns));
    shell::line([program, "replay", &path].into_iter().chain(watch.iter().map(String::as_str)))
}

/// What a command line that runs something again writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outputs {
    /// What it tells people, and what is kept of a failure.
    ForPeople,
    /// All that was asked for: it goes on where a signal ended it.
    Same,
}

/// The command line that runs some of the scenarios again.
fn command(program: &str, arguments: &RunArguments, scenarios: &[Known], seed: Seed, outputs: Outputs) -> String {
    let mut words = vec!["run".to_owned()];
    match &arguments.plan {
        Some(path) => words.extend(["--plan".to_owned(), shell::path(path)]),
        None => {
            let names: Vec<&str> = scenarios.iter().map(|scenario| scenario.name()).collect();
            words.extend(["--scenarios".to_owned(), names.join(","), "--seed".to_owned(), seed.0.to_string()]);
            words.extend(match scenarios {
                [scenario] => arguments.draw.words_for(*scenario),
                _ => arguments.draw.words(),
            });
        }
    }
    words.extend([arguments.watch.words(), arguments.check.words(), arguments.artifacts.words()].concat());
    if arguments.without_invariants {
        words.push("--without-invariants".to_owned());
    }
    if outputs == Outputs::Same {
        words.extend(same_outputs(arguments.trace.as_deref(), arguments.json));
    }
    shell::line([program].into_iter().chain(words.iter().map(String::as_str)))
}

/// The words that ask for a trace and for JSON, where they were asked for.
pub(crate) fn same_outputs(trace: Option<&Path>, json: bool) -> Vec<String> {
    let trace = trace.map(|path| ["--trace".to_owned(), shell::path(path)]);
    let json = json.then(|| "--json".to_owned());
    trace.into_iter().flatten().chain(json).collect()
}

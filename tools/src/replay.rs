//! `replay`: a stored failure, a stored plan or a seed once more, and whether it came out as recorded.

use crate::artifacts::TRACE_FILE;
use crate::blob;
use crate::catalogue::{Catalogue, Known};
use crate::checked::Checked;
use crate::cli::ReplayArguments;
use crate::exit::{Exit, Interrupted, Problem, Result, unless_closed, unless_unwritten};
use crate::fault_options;
use crate::from_outside::USUAL_CAUSES;
use crate::git_bisect;
use crate::hang;
use crate::interrupt;
use crate::keep;
use crate::measured::LAST_EVENTS;
use crate::plan_file;
use crate::refused;
use crate::report::{Replayed, RunEvent, RunResult};
use crate::reproducer::{self, Recorder, Replayable, Reproducer};
use crate::run::{How, Outputs, Ran, exit_of, run_one, same_outputs, sink};
use crate::shell;
use crate::stderr;
use crate::sweep::TIMED_OUT;
use crate::traced::Tracing;
use crate::until::Until;
use seedstorm_sim::invariant::{CrashPoints, Violation};
use seedstorm_sim::schedule::Turns;
use seedstorm_sim::{Plan, Seed};
use std::io::Write;
use std::path::Path;

/// What is run again.
struct Again {
    plan: Plan,
    recorded: Option<(Reproducer, Changes)>,
    note: Option<String>,
}

/// What is not as it was when a failure was recorded.
struct Changes {
    /// By what it was recorded; a word tells less.
    recorder: Option<Recorder>,
    /// What is known without a look at that.
    known: Vec<String>,
}

impl Changes {
    /// All of them. Asked for only where something does not come out as recorded.
    fn all(&self) -> Vec<String> {
        let by_recorder = self.recorder.iter().flat_map(Recorder::changed);
        by_recorder.chain(self.known.iter().cloned()).collect()
    }
}

/// Runs again.
///
/// # Errors
/// Bad input, or an output that can't be written.
pub(crate) fn replay(catalogue: Catalogue, arguments: &ReplayArguments) -> Result<Exit> {
    if arguments.git_bisect {
        return git_bisect::replay(catalogue, arguments);
    }
    let mut again = again(catalogue, arguments)?;
    if let (Some((reproducer, changed)), Some(chosen)) = (&mut again.recorded, arguments.check.crash_points) {
        explore_otherwise(reproducer, &mut changed.known, chosen);
    }
    interrupt::flag()?;
    let scenario = plan_file::scenario_of(catalogue, &again.plan, arguments.file.as_deref())?;
    let placed = |problem| refused::of_run(scenario, problem, arguments.file.as_deref(), arguments.draw.faults_file());
    if let Some(step) = arguments.until {
        let (plan, turns) = (&again.plan, again.recorded.as_ref().and_then(|(recorded, _)| recorded.turns.as_ref()));
        let (events_max, json) = (events_max(arguments), arguments.json);
        return Until { scenario, plan, turns, step, events_max, json }.show().map_err(placed);
    }
    if again.recorded.is_none() {
        keep::check_folder(&arguments.artifacts.artifacts)?;
    }
    let tracing = arguments.trace.as_deref().map(Tracing::create).transpose()?;
    let mut sink = sink(arguments.json);
    sink.event(&RunEvent::Drawn { plan: &again.plan, note: again.note.as_deref() }).or_else(unless_closed)?;
    let recorded = again.recorded.as_ref();
    if let Some(violation) = recorded.and_then(|(reproducer, _)| reproducer.violation.as_ref()) {
        warn_of(violation);
    }
    let how = How {
        catalogue,
        tracing,
        checked: match recorded {
            Some((reproducer, _)) => reproducer.checked,
            None => Checked::with(arguments.check.crash_points()),
        },
        turns: recorded.and_then(|(reproducer, _)| reproducer.turns.as_ref()),
        // What has been kept is not kept again.
        artifacts: if recorded.is_some() { None } else { Some(&arguments.artifacts.artifacts) },
        last_events: if arguments.json { 0 } else { events_max(arguments) },
    };
    let turns = how.turns;
    let ran = match run_one(scenario, &again.plan, how) {
        Err(Problem::Interrupted(Interrupted::Running(reached))) => {
            sink.event(&RunEvent::Interrupted { plan: &again.plan, reached }).or_else(unless_closed)?;
            let command = command(catalogue.program(), arguments, Outputs::Same);
            sink.event(&RunEvent::Done { reproduce: Some(&command) }).or_else(unless_closed)?;
            return Ok(Exit::Interrupted);
        }
        ran => ran.map_err(placed)?,
    };
    let Ran { mut result, last_events, unwritten, drift_step, .. } = ran;
    if let (true, Some(step)) = (arguments.strict, drift_step) {
        return stop_at_drift(scenario, catalogue.program(), arguments, &again.plan, turns, &result, step);
    }
    let mut exit = exit_of(&result);
    if let Some((reproducer, changed)) = recorded {
        let drift = result.replay.take().and_then(|replayed| replayed.drift);
        let mut replayed = compare(reproducer, &result, drift);
        let changed = if replayed.reproduced && exit != Exit::Pass { Vec::new() } else { changed.all() };
        if !replayed.reproduced {
            replayed.differs.extend(changed.iter().cloned());
        }
        if exit == Exit::Pass && is_unexplained(reproducer, &changed) {
            exit = Exit::Nondeterministic;
            replayed.differs.push(UNEXPLAINED.to_owned());
            replayed.hints.extend(USUAL_CAUSES.map(str::to_owned));
        }
        if !replayed.reproduced {
            replayed.hints.extend(compared(catalogue.program(), arguments.file.as_deref()));
        }
        result.replay = Some(replayed);
    }
    sink.event(&RunEvent::Ended { result: &result, last_events: &last_events }).or_else(unless_closed)?;
    let command = (exit != Exit::Pass).then(|| command(catalogue.program(), arguments, Outputs::ForPeople));
    sink.event(&RunEvent::Done { reproduce: command.as_deref() }).or_else(unless_closed)?;
    unless_unwritten(exit, unwritten)
}

/// Tells the first step that is not as recorded, and the state there; what came after it is not judged.
fn stop_at_drift(
    scenario: Known,
    program: &str,
    arguments: &ReplayArguments,
    plan: &Plan,
    turns: Option<&Turns>,
    result: &RunResult,
    step: u64,
) -> Result<Exit> {
    let drift = result.replay.as_ref().and_then(|replay| replay.drift.as_deref()).unwrap_or_default();
    let say = |words: &str| writeln!(std::io::stdout(), "{words}").or_else(unless_closed);
    if !arguments.json {
        say(&format!("stopped at the first step that is not as recorded (--strict)\n  {drift}\n"))?;
    }
    let (events_max, json) = (events_max(arguments), arguments.json);
    match (Until { scenario, plan, turns, step, events_max, json }).show() {
        Ok(_) | Err(Problem::OutputClosed) => {}
        Err(problem) => return Err(problem),
    }
    if !arguments.json {
        say(&command(program, arguments, Outputs::ForPeople))?;
    }
    Ok(Exit::Vacuous)
}

/// How many of the last events are shown.
fn events_max(arguments: &ReplayArguments) -> usize {
    arguments.verbose.unwrap_or(LAST_EVENTS)
}

/// Explores other crash points than were recorded. Whatever comes of that, it is explained.
fn explore_otherwise(reproducer: &mut Reproducer, changed: &mut Vec<String>, chosen: CrashPoints) {
    let recorded = std::mem::replace(&mut reproducer.checked.crash_points, chosen);
    if recorded != chosen {
        changed.push(format!("recorded with --crash-points {recorded}, this is {chosen}"));
    }
}

/// What is said of a recorded failure that passes for no reason that can be seen.
const UNEXPLAINED: &str = "nothing explains that it passes now: the same program with the same SQLite ran the recorded plan and turns. \
    Either something from outside reaches the run (nondeterminism), or the file was edited";

/// Whether a recorded failure that passes now should have failed. One without turns was lost with its worker, and that may have had a
/// reason outside of the run; so may one that took too long in real time.
fn is_unexplained(recorded: &Reproducer, changed: &[String]) -> bool {
    let is_of_the_run = recorded.violation.as_ref().is_some_and(|violation| violation.invariant != TIMED_OUT);
    is_of_the_run && recorded.turns.is_some() && changed.is_empty()
}

/// Says beforehand what may leave no chance to say it afterwards.
fn warn_of(violation: &Violation) {
    let (invariant, message) = (&violation.invariant, &violation.message);
    match invariant.as_str() {
        "worker-died" => stderr::say(format_args!(
            "recorded was {invariant}: {message}\nthis replay has no worker: if it happens again, it ends this process, without a result"
        )),
        // Of one that makes no call it is told when no call has come for the time that a step has.
        TIMED_OUT if !hang::is_hang(&violation.fingerprint) => stderr::say(format_args!(
            "recorded was {invariant}: {message}\nthis replay has no limit but that of a step: as long as the run goes on, it does"
        )),
        _ => {}
    }
}

fn again(catalogue: Catalogue, arguments: &ReplayArguments) -> Result<Again> {
    if let Some(path) = &arguments.file {
        if !arguments.draw.is_empty() {
            return Err(Problem::usage(
                "a file is replayed as it is: options about how plans are drawn don't go with it",
            ));
        }
        let note = Some(path.display().to_string());
        return Ok(match reproducer::read(path)? {
            Replayable::Plan(plan) => Again { plan: *plan, recorded: None, note },
            Replayable::Recorded(reproducer, recorder) => {
                let changes = Changes { recorder: Some(recorder), known: Vec::new() };
                Again { plan: reproducer.plan.clone(), recorded: Some((*reproducer, changes)), note }
            }
        });
    }
    if let Some(word) = &arguments.repro {
        if !arguments.draw.is_empty() {
            return Err(Problem::usage(
                "--repro holds a plan as it is: options about how plans are drawn don't go with it",
            ));
        }
        let (reproducer, known) = blob::read(word)?;
        let (plan, changes) = (reproducer.plan.clone(), Changes { recorder: None, known });
        return Ok(Again { plan, recorded: Some((reproducer, changes)), note: Some("--repro".to_owned()) });
    }
    let (Some(scenario), Some(seed)) = (&arguments.scenario, arguments.seed) else {
        return Err(Problem::usage(
            "replay needs one of: FILE, a reproducer or a plan; --repro WORD, the word that a failure has printed for logs; \
             --scenario S and --seed N",
        ));
    };
    let (scenario, options) = (catalogue.named(scenario)?, arguments.draw.options()?);
    fault_options::check(&[scenario], &options)?;
    let plan = refused::draw(scenario, Seed(seed), &options, arguments.draw.faults_file())?;
    Ok(Again { plan, recorded: None, note: None })
}

/// The command that shows where a run leaves the trace that was kept with its reproducer, if that is the folder of a failure.
fn compared(program: &str, file: Option<&Path>) -> Option<String> {
    let reproducer = reproducer::file_of(file?);
    let kept = reproducer.with_file_name(TRACE_FILE);
    if !kept.exists() || reproducer.file_name()? != reproducer::FILE {
        return None;
    }
    let command = shell::line([program, "compare", &shell::path(&kept), &shell::path(&reproducer)]);
    Some(format!("where it parts from what was recorded: {command}"))
}

/// What is not as it was recorded.
fn compare(recorded: &Reproducer, result: &RunResult, drift: Option<String>) -> Replayed {
    let mut differs = Vec::new();
    let mut differ = |what: &str, was: String, is: String| {
        if was != is {
            differs.push(format!("{what}: recorded was {was}, this is {is}"));
        }
    };
    let none = || "none".to_owned();
    let (was, is) = (recorded.violation.as_ref(), result.violations.first());
    let text = |violation: Option<&Violation>| {
        violation.map_or_else(none, |violation| format!("{} at step {}", violation.fingerprint, violation.step))
    };
    differ("violation", text(was), text(is));
    differ("steps", recorded.steps.to_string(), result.steps.to_string());
    let hash = |hash: &Option<String>| hash.clone().unwrap_or_else(none);
    differ("trace hash", hash(&recorded.trace_hash), hash(&result.trace_hash));
    Replayed { reproduced: differs.is_empty() && drift.is_none(), drift, differs, hints: Vec::new() }
}

fn command(program: &str, arguments: &ReplayArguments, outputs: Outputs) -> String {
    let mut words = vec!["replay".to_owned()];
    match (&arguments.file, &arguments.repro) {
        (Some(path), _) => words.push(shell::path(path)),
        (None, Some(word)) => words.extend(["--repro".to_owned(), word.clone()]),
        (None, None) => {
            let scenario = arguments.scenario.clone().unwrap_or_default();
            let seed = arguments.seed.unwrap_or_default().to_string();
            words.extend(["--scenario".to_owned(), scenario, "--seed".to_owned(), seed]);
            words.extend(arguments.draw.words());
        }
    }
    words.extend([arguments.watch.words(), arguments.check.words(), arguments.artifacts.words()].concat());
    if outputs == Outputs::Same {
        words.extend(same_outputs(arguments.trace.as_deref(), arguments.json));
    }
    shell::line([program].into_iter().chain(words.iter().map(String::as_str)))
}

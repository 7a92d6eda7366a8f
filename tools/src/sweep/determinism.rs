//! Runs a seed a second time, in a fresh process, and finds the first step where two runs differ. Which seeds is `cli::sweep::Share`'s choice.

use super::protocol::{Also, Answer, Request, WantedOf};
use super::watchdog::{Asked, TIMED_OUT, Worker};
use crate::parting::{self, Side};
use crate::report::{Difference, RunResult, counted};
use anyhow::anyhow;
use seedstorm_sim::invariant::Violation;
use std::path::{Path, PathBuf};

/// How often two traces are taken to find a difference again that has been seen once.
const ATTEMPTS: u32 = 4;

/// How many events are told before a difference, and after it: `compare` tells as many as one likes.
const CONTEXT: usize = 3;

/// Where two runs differ.
struct Located {
    step: Option<u64>,
    words: String,
    /// Both traces, if they were kept.
    traces: Vec<String>,
}

impl Located {
    /// Nowhere that could be told.
    fn words(words: String) -> Located {
        Located { step: None, words, traces: Vec::new() }
    }
}

/// How workers are asked.
pub(crate) struct Asking<'a> {
    /// How much real time a run may take, in nanoseconds.
    pub(crate) limit_ns: u64,
    /// Whether the answer is still wanted.
    pub(crate) is_wanted: &'a dyn Fn() -> bool,
    /// Where traces that differ are kept; `None`: nowhere.
    pub(crate) artifacts: Option<&'a Path>,
}

/// What the second run said.
pub(crate) enum Second {
    /// The same.
    Same,
    /// Something else.
    Differs(Difference),
    /// Nothing within its time: real time is outside of a run, so that is no difference between the two.
    TimedOut(Violation),
    /// Nobody wants to know any more.
    Abandoned,
}

/// Runs `request` again in a fresh process and compares. Counts the workers that die of it.
///
/// # Errors
/// Workers can't be started or can't write their traces.
pub(crate) fn check(
    request: &Request,
    first: &RunResult,
    used: &mut Option<Worker>,
    asking: &Asking<'_>,
    workers_lost: &mut u64,
) -> anyhow::Result<Second> {
    let mut fresh = Worker::start()?;
    let second = fresh.ask(WantedOf::Seed(request), asking.limit_ns, asking.is_wanted)?;
    *workers_lost += u64::from(matches!(second, Asked::Lost(..)));
    let (second_hash, located) = match second {
        Asked::Abandoned => return Ok(Second::Abandoned),
        Asked::Answered(Answer::Ended { result, .. }) if first.did_the_same(&result) => return Ok(Second::Same),
        Asked::Answered(Answer::Ended { result, .. }) => {
            let located = locate(request, used, asking, workers_lost)?;
            (result.trace_hash.clone(), located.unwrap_or_else(|| Located::words(unlocated(first, &result))))
        }
        Asked::Answered(Answer::Refused(why) | Answer::Failed(why)) => {
            (None, Located::words(format!("the second run did not begin: {why}")))
        }
        Asked::Answered(Answer::Tried { .. } | Answer::At(_)) => {
            (None, Located::words("the second run was of something else".to_owned()))
        }
        Asked::Lost(violation, _) if violation.invariant == TIMED_OUT => return Ok(Second::TimedOut(violation)),
        Asked::Lost(violation, _) => (None, Located::words(format!("the second run: {}", violation.message))),
    };
    let Located { step, words: first_difference, traces } = located;
    let (scenario, seed, first_hash) = (request.scenario.clone(), request.seed, first.trace_hash.clone());
    Ok(Second::Differs(Difference {
        scenario,
        seed,
        first_hash,
        second_hash,
        step,
        shard: None,
        first_difference,
        traces,
    }))
}

/// What is known when traces tell nothing.
fn unlocated(first: &RunResult, second: &RunResult) -> String {
    if first.trace_hash == second.trace_hash {
        return "the traces have one hash, the results differ: a metric or a verdict depends on something outside the run".to_owned();
    }
    let steps = if first.steps == second.steps {
        String::new()
    } else {
        format!(" ({}, then {})", counted(first.steps, "step"), second.steps)
    };
    format!("the hashes differed{steps}, but {ATTEMPTS} more pairs of runs with full traces did not")
}

/// Takes traces of pairs of runs until two differ: first from the process that ran the seed before, then from fresh ones.
fn locate(
    request: &Request,
    used: &mut Option<Worker>,
    asking: &Asking<'_>,
    workers_lost: &mut u64,
) -> anyhow::Result<Option<Located>> {
    let Some(folder) = asking.artifacts else {
        return Ok(None);
    };
    if let Err(error) = std::fs::create_dir_all(folder) {
        return Ok(Some(Located::words(format!("{}: no place for traces to compare: {error}", folder.display()))));
    }
    for _ in 0..ATTEMPTS {
        let paths = trace_paths(request, folder);
        match traced_pair(request, used, &paths, asking, workers_lost) {
            Ok(Some((step, words))) => {
                let traces = paths.map(|path| path.display().to_string()).into();
                return Ok(Some(Located { step: Some(step), words, traces }));
            }
            without => {
                for path in &paths {
                    // One that was never made is as good as removed.
                    let _ = std::fs::remove_file(path);
                }
                without?;
            }
        }
    }
    Ok(None)
}

/// Takes two traces, and gives the first step at which they differ.
fn traced_pair(
    request: &Request,
    used: &mut Option<Worker>,
    paths: &[PathBuf; 2],
    asking: &Asking<'_>,
    workers_lost: &mut u64,
) -> anyhow::Result<Option<(u64, String)>> {
    let is_whole = trace(request, used.take(), &paths[0], asking, workers_lost)?
        && trace(request, None, &paths[1], asking, workers_lost)?;
    if is_whole { first_difference(&paths[0], &paths[1]) } else { Ok(None) }
}

/// The first step at which two traces differ, and how, in words.
fn first_difference(first: &Path, second: &Path) -> anyhow::Result<Option<(u64, String)>> {
    let open = |path: &Path| Side::open(path, path).map_err(|problem| anyhow!("{problem}"));
    let mut sides = [open(first)?, open(second)?];
    let parting = parting::part(&mut sides, CONTEXT).map_err(|problem| anyhow!("{problem}"))?;
    Ok(parting.exact.as_ref().map(|place| (place.step, parting.to_string())))
}

/// Two names that nothing has: a process of the same number may have kept its traces there.
fn trace_paths(request: &Request, folder: &Path) -> [PathBuf; 2] {
    let stem = format!("{}-{}-{}", request.scenario, request.seed, std::process::id());
    let stems = std::iter::once(stem.clone()).chain((2..).map(|number| format!("{stem}-{number}")));
    let mut pairs = stems.map(|stem| ["first", "second"].map(|which| folder.join(format!("{stem}-{which}.trace"))));
    pairs.find(|pair| pair.iter().all(|path| !path.exists())).unwrap_or_default()
}

/// Has a worker write the trace of the run. False if it didn't get to the end.
fn trace(
    request: &Request,
    worker: Option<Worker>,
    path: &Path,
    asking: &Asking<'_>,
    workers_lost: &mut u64,
) -> anyhow::Result<bool> {
    let mut worker = match worker {
        Some(worker) => worker,
        None => Worker::start()?,
    };
    let request = Request { also: Also::Trace(path.to_owned()), ..request.clone() };
    let asked = worker.ask(WantedOf::Seed(&request), asking.limit_ns, asking.is_wanted)?;
    *workers_lost += u64::from(matches!(asked, Asked::Lost(..)));
    Ok(matches!(asked, Asked::Answered(Answer::Ended { .. })))
}

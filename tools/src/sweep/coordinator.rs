//! Hands seeds to workers and takes their results in the order of seeds, whatever the number of workers. What a result adds to is in `grouping`.

use super::determinism::{self, Asking, Second};
use super::grouping::{Reproduced, Tally};
use super::job::Sweep;
use super::progress::Progress;
use super::protocol::{self, Also, Answer, Request};
use super::watchdog::{Asked, Worker};
use crate::artifacts;
use crate::budget::Judge;
use crate::checked::Checked;
use crate::exit::{Problem, Result, unless_closed};
use crate::hang;
use crate::measured::Stopwatch;
use crate::report::{Difference, RunEvent, RunResult, Sink};
use anyhow::{Context, anyhow};
use seedstorm_sim::metrics::Latencies;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How far results may run ahead of one that is slow. It bounds what is held back to keep the order.
const AHEAD_MAX: u64 = 1024;

/// How often the sweep looks whether it has been interrupted.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What is said of a worker that is of another mind than its sweep.
const UNASKED: &str = "a worker answered what it was not asked";

/// What a worker's thread does next.
enum Task {
    Run(u64),
    /// Run a failure again to write its reproducer.
    Reproduce(u64, String),
}

/// What a worker's thread has done.
enum Done {
    Run(Box<Ended>),
    /// What was kept of a failure, if something was, or why it could not be written.
    Reproduced(u64, String, std::result::Result<Option<Reproduced>, String>),
    Abandoned,
    Refused(String),
    Broken(anyhow::Error),
}

/// A run that has ended.
struct Ended {
    index: u64,
    result: RunResult,
    latencies: BTreeMap<String, Latencies>,
    /// If it ran twice: how the two differed, if they did.
    twice: Option<Option<Difference>>,
    workers_lost: u64,
}

struct Queue {
    runs: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    next: u64,
    /// Results that have been told.
    told: u64,
    failures: VecDeque<(u64, String)>,
    /// No more runs begin; those that go on are not wanted.
    stopped: bool,
    /// Nothing begins any more.
    closed: bool,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    /// Waits for something to do; `None` at the end.
    fn next(&self) -> Option<Task> {
        let mut state = self.state();
        loop {
            if state.closed {
                return None;
            }
            if let Some((index, fingerprint)) = state.failures.pop_front() {
                return Some(Task::Reproduce(index, fingerprint));
            }
            if !state.stopped && state.next < self.runs && state.next < state.told.saturating_add(AHEAD_MAX) {
                state.next += 1;
                return Some(Task::Run(state.next - 1));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// How a sweep ended.
pub(crate) struct Swept {
    /// What was added up.
    pub(crate) tally: Tally,
    /// Whether it was interrupted.
    pub(crate) interrupted: bool,
    /// So many runs have been told without a gap, from the first one on.
    pub(crate) told: u64,
    /// Why a reproducer could not be written, if one couldn't.
    pub(crate) unwritten: Option<String>,
}

/// Runs it all.
///
/// # Errors
/// A plan that can't be drawn or run; an output that can't be written; workers that can't be started.
pub(crate) fn sweep(sweep: &Sweep, judge: Judge, sink: &mut dyn Sink, interrupt: &AtomicBool) -> Result<Swept> {
    let queue = Queue { runs: sweep.runs, state: Mutex::default(), changed: Condvar::new() };
    let (sender, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for number in 0..sweep.jobs {
            let (queue, sender) = (&queue, sender.clone());
            let thread = std::thread::Builder::new().name(format!("worker {number}"));
            thread.spawn_scoped(scope, move || serve(sweep, queue, &sender)).map_err(anyhow::Error::new)?;
        }
        drop(sender);
        let mut telling = Telling::new(sweep, judge, sink, &queue);
        let told = telling.tell_all(&results, interrupt);
        // On every path: the threads end only then.
        queue.change(|state| (state.closed, state.stopped) = (true, true));
        telling.progress.finish();
        let Telling { tally, interrupted, next, unwritten, .. } = telling;
        told.map(|()| Swept { tally, interrupted, told: next, unwritten })
    })
}

/// The side that takes results and tells them.
struct Telling<'a> {
    sweep: &'a Sweep,
    sink: &'a mut dyn Sink,
    queue: &'a Queue,
    progress: Progress,
    tally: Tally,
    /// Results that came before those of earlier seeds.
    early: BTreeMap<u64, Box<Ended>>,
    next: u64,
    ended: u64,
    reproducers_pending: u64,
    stopped: bool,
    interrupted: bool,
    unwritten: Option<String>,
}

impl<'a> Telling<'a> {
    fn new(sweep: &'a Sweep, judge: Judge, sink: &'a mut dyn Sink, queue: &'a Queue) -> Telling<'a> {
        let progress = Progress::new(sweep.runs, &sweep.label);
        Telling {
            sweep,
            sink,
            queue,
            progress,
            tally: Tally::new(judge),
            early: BTreeMap::new(),
            next: 0,
            ended: 0,
            reproducers_pending: 0,
            stopped: false,
            interrupted: false,
            unwritten: None,
        }
    }

    fn tell_all(&mut self, results: &mpsc::Receiver<Done>, interrupt: &AtomicBool) -> Result<()> {
        while !(self.stopped || self.next == self.sweep.runs) || self.reproducers_pending > 0 {
            if interrupt.load(Ordering::Relaxed) && !self.stopped {
                self.interrupt()?;
            }
            match results.recv_timeout(LOOK_EVERY) {
                Ok(Done::Run(_) | Done::Abandoned) if self.stopped => {}
                Ok(Done::Abandoned) => {}
                Ok(Done::Refused(why)) => return Err(Problem::Usage(why)),
                Ok(Done::Broken(error)) => return Err(Problem::Internal(error)),
                Ok(Done::Reproduced(index, fingerprint, kept)) => {
                    self.reproducers_pending -= 1;
                    let kept = kept.unwrap_or_else(|why| {
                        self.unwritten.get_or_insert(why);
                        None
                    });
                    self.tally.reproducer(index, &fingerprint, kept);
                }
                Ok(Done::Run(run)) => {
                    self.ended += 1;
                    self.early.insert(run.index, run);
                    self.tell_in_order()?;
                    self.progress.at(self.ended, self.tally.failed());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(anyhow!("the threads of the workers are gone").into());
                }
            }
        }
        Ok(())
    }

    fn tell_in_order(&mut self) -> Result<()> {
        while !self.stopped
            && let Some(run) = self.early.remove(&self.next)
        {
            self.next += 1;
            self.tell(*run)?;
        }
        let told = self.next;
        self.queue.change(|state| state.told = told);
        Ok(())
    }

    fn tell(&mut self, run: Ended) -> Result<()> {
        let Ended { index, result, latencies, twice, workers_lost } = run;
        let is_failure = !result.passed();
        let sink = &mut self.sink;
        let told = if is_failure {
            self.progress.aside(|| sink.event(&RunEvent::SweepSeed(&result)))
        } else {
            sink.event(&RunEvent::SweepSeed(&result))
        };
        self.tally.replaced(workers_lost);
        self.tally.latencies(&result.strategy, &latencies);
        if let Some(difference) = twice {
            self.tally.ran_twice(&result.scenario, difference);
        }
        if let Some(fingerprint) = self.tally.add(index, &result)
            && self.sweep.artifacts.is_some()
        {
            self.reproducers_pending += 1;
            self.queue.change(|state| state.failures.push_back((index, fingerprint)));
        }
        if self.sweep.failures_max.is_some_and(|max| self.tally.failed() >= max) {
            self.stop();
        }
        // Whether anybody reads decides nothing: the verdict is that of all seeds.
        Ok(told.or_else(unless_closed)?)
    }

    /// Tells what is there, although earlier seeds have not ended.
    fn interrupt(&mut self) -> Result<()> {
        for (_, run) in std::mem::take(&mut self.early) {
            self.tell(*run)?;
        }
        self.interrupted = true;
        self.stop();
        Ok(())
    }

    fn stop(&mut self) {
        self.stopped = true;
        self.queue.change(|state| state.stopped = true);
    }
}

/// One thread with one worker process at a time.
fn serve(sweep: &Sweep, queue: &Queue, results: &Sender<Done>) {
    let mut worker = None;
    while let Some(task) = queue.next() {
        let done = match task {
            Task::Run(index) => run(sweep, queue, &mut worker, index),
            Task::Reproduce(index, fingerprint) => reproduce(sweep, queue, &mut worker, index, fingerprint),
        };
        if results.send(done.unwrap_or_else(Done::Broken)).is_err() {
            break;
        }
    }
}

/// Asks the worker, a new one if there is none. It stays only if it can take another request.
fn ask(worker: &mut Option<Worker>, request: &Request, asking: &Asking<'_>) -> anyhow::Result<Asked> {
    let mut asked = match worker.take() {
        Some(worker) => worker,
        None => Worker::start()?,
    };
    let answer = asked.ask(protocol::WantedOf::Seed(request), asking.limit_ns, asking.is_wanted)?;
    let is_over = !matches!(
        answer,
        Asked::Answered(Answer::Ended { retires: false, .. } | Answer::Refused(_) | Answer::Failed(_))
    );
    if !is_over {
        *worker = Some(asked);
    }
    Ok(answer)
}

fn run(sweep: &Sweep, queue: &Queue, worker: &mut Option<Worker>, index: u64) -> anyhow::Result<Done> {
    let is_wanted = || !queue.state().stopped;
    let asking =
        Asking { limit_ns: sweep.seed_timeout_ns, is_wanted: &is_wanted, artifacts: sweep.artifacts.as_deref() };
    let request = sweep.request(index, Also::Nothing);
    let stopwatch = Stopwatch::start();
    let (result, latencies) = match ask(worker, &request, &asking)? {
        Asked::Abandoned => return Ok(Done::Abandoned),
        Asked::Answered(Answer::Refused(why)) => return Ok(Done::Refused(why)),
        Asked::Answered(Answer::Failed(why)) => return Ok(Done::Broken(anyhow!(why))),
        Asked::Answered(Answer::Tried { .. } | Answer::At(_)) => return Ok(Done::Broken(anyhow!(UNASKED))),
        Asked::Answered(Answer::Ended { result, latencies, .. }) => (*result, latencies),
        Asked::Lost(violation, _) => {
            let (scenario, _) = sweep.run(index);
            let plan = sweep.plan_of_lost(index, &violation)?;
            let result = RunResult::lost(scenario, &plan, stopwatch.elapsed_ns(), violation);
            let latencies = BTreeMap::new();
            return Ok(Done::Run(Box::new(Ended { index, result, latencies, twice: None, workers_lost: 1 })));
        }
    };
    let mut workers_lost = 0;
    let twice = if sweep.determinism.takes(index, sweep.runs) {
        match determinism::check(&request, &result, worker, &asking, &mut workers_lost)? {
            Second::Same => Some(None),
            Second::Differs(difference) => Some(Some(difference)),
            Second::TimedOut(violation) => {
                let result = result.failed_by(violation);
                return Ok(Done::Run(Box::new(Ended { index, result, latencies, twice: None, workers_lost })));
            }
            Second::Abandoned => return Ok(Done::Abandoned),
        }
    } else {
        None
    };
    Ok(Done::Run(Box::new(Ended { index, result, latencies, twice, workers_lost })))
}

fn reproduce(
    sweep: &Sweep,
    queue: &Queue,
    worker: &mut Option<Worker>,
    index: u64,
    fingerprint: String,
) -> anyhow::Result<Done> {
    let is_wanted = || !queue.state().closed;
    let folder = sweep.artifacts.as_deref().context("a reproducer without a folder for it")?;
    let asking = Asking { limit_ns: sweep.seed_timeout_ns, is_wanted: &is_wanted, artifacts: Some(folder) };
    let request = sweep.request(index, Also::Reproducer(folder.to_owned()));
    let kept = match ask(worker, &request, &asking)? {
        Asked::Abandoned => Ok(None),
        Asked::Answered(Answer::Refused(why)) => return Ok(Done::Broken(anyhow!(why))),
        Asked::Answered(Answer::Failed(why)) => Err(why),
        Asked::Answered(Answer::Tried { .. } | Answer::At(_)) => return Ok(Done::Broken(anyhow!(UNASKED))),
        Asked::Answered(Answer::Ended { result, .. }) => {
            let RunResult { reproducer, repro, .. } = *result;
            Ok(reproducer.map(|path| Reproduced { path, repro }))
        }
        // Without its plan there is nothing to keep: its seed shows it again.
        Asked::Lost(violation, _) if hang::is_of_plan(&violation.fingerprint) => Ok(None),
        Asked::Lost(violation, so_far) => {
            // If it took its turns with it, the plan alone must do.
            let turns = so_far.and_then(|so_far| so_far.turns);
            let (scenario, plan) = (sweep.run(index).0, sweep.plan_of_lost(index, &violation)?);
            let result = RunResult::lost(scenario, &plan, 0, violation);
            let checked = Checked::with(request.crash_points);
            let written = artifacts::keep_lost(sweep.catalogue, &plan, turns, &result, checked, folder);
            let kept = |kept: artifacts::Kept| {
                Some(Reproduced { path: kept.reproducer.display().to_string(), repro: Some(kept.repro) })
            };
            written.map(kept).map_err(|problem| problem.to_string())
        }
    };
    Ok(Done::Reproduced(index, fingerprint, kept))
}

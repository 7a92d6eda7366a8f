//! The sweep's side of one worker process: starts it, asks it, ends it when it takes too long, and says how it died.

use super::protocol::{Also, Answer, Request, WantedOf, receive, send};
use crate::hang::{self, LOOK_NS_MAX, Watch};
use crate::keep;
use anyhow::Context;
use seedstorm_sim::explore::Tried;
use seedstorm_sim::invariant::Violation;
use seedstorm_sim::metrics::Nanoseconds;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::measured::Stopwatch;
use crate::shell;
use crate::this_build;

/// The invariant of a run that the watchdog has ended.
pub(crate) const TIMED_OUT: &str = "worker-timed-out";

/// How often a waiting sweep looks whether it still wants the answer.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How often a worker is asked at most where its run is, in nanoseconds: most runs are over before.
const PLACE_EVERY_NS: u64 = 1_000_000_000;

/// It is asked at least so many times before its time is over.
const PLACES_MIN: u64 = 8;

/// How long is waited for what is known of a run that stands still: millions of turns are some text.
const SO_FAR_LIMIT: Duration = Duration::from_secs(10);

/// How much of what a worker prints on stderr is kept.
const LAST_WORDS_BYTES: usize = 2048;

/// An environment in which mimalloc, if it is the program's allocator, gives free pages back to the OS every ten seconds, not every second: a worker's
/// next run wants them again at once, and a page that comes back is cleared first. Never to give them back would keep four times as much memory.
pub const ALLOCATOR_KEEPS_MEMORY: (&str, &str) = ("MIMALLOC_PURGE_DELAY", "10000");

/// A worker process.
pub(crate) struct Worker {
    child: Child,
    input: ChildStdin,
    answers: Receiver<Answer>,
    last_words: Arc<Mutex<Vec<u8>>>,
    /// Where it may have begun something that nobody finishes when it is gone.
    writes_to: Option<PathBuf>,
    /// Hears them, until the worker's standard error is closed.
    listener: JoinHandle<()>,
}

/// What came of a request.
pub(crate) enum Asked {
    /// An answer.
    Answered(Answer),
    /// The worker died, or was ended by the watchdog: a violation of the seed. With what was known by then of a run that stood still, if it wrote down who went when. The
    /// worker is no more.
    Lost(Violation, Option<Box<Tried>>),
    /// Nobody wants the answer any more. The worker is no more.
    Abandoned,
}

impl Worker {
    /// Starts this program again, as a worker.
    ///
    /// # Errors
    /// The operating system can't.
    pub(crate) fn start() -> anyhow::Result<Worker> {
        let mut child = Command::new(this_build::executable()?)
            .arg0("seedstorm-worker")
            .args(["worker", "--program"])
            .arg(shell::program())
            .env(ALLOCATOR_KEEPS_MEMORY.0, ALLOCATOR_KEEPS_MEMORY.1)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A signal from the terminal is for the sweep: it decides what becomes of its workers.
            .process_group(0)
            .spawn()
            .context("starting a worker process")?;
        let input = child.stdin.take().context("a worker without a standard input")?;
        let output = child.stdout.take().context("a worker without a standard output")?;
        let errors = child.stderr.take().context("a worker without a standard error")?;
        let (sender, answers) = mpsc::channel();
        let last_words = Arc::new(Mutex::new(Vec::new()));
        let kept = last_words.clone();
        spawn("answers", move || {
            let lines = BufReader::new(output).split(b'\n').map_while(Result::ok);
            for answer in lines.filter_map(|line| receive(&String::from_utf8_lossy(&line))) {
                if sender.send(answer).is_err() {
                    break;
                }
            }
        })?;
        let listener = spawn("last words", move || keep_last_words(errors, &kept))?;
        Ok(Worker { child, input, answers, last_words, writes_to: None, listener })
    }

    /// Asks, and waits for the answer for as long as it is wanted and no longer than `limit_ns` of real time, nor than one step may take. After anything but an
    /// answer the worker must be replaced.
    ///
    /// # Errors
    /// The operating system can't end the worker.
    pub(crate) fn ask(
        &mut self,
        wanted: WantedOf<'_>,
        limit_ns: u64,
        is_wanted: &dyn Fn() -> bool,
    ) -> anyhow::Result<Asked> {
        if let WantedOf::Seed(Request { also, .. }) = wanted {
            self.writes_to = match also {
                Also::Nothing => None,
                Also::Reproducer(folder) => Some(folder.clone()),
                Also::Trace(path) => path.parent().map(Path::to_owned),
            };
        }
        // A worker that is dead already says so by its status.
        let _ = send(&mut self.input, &wanted);
        let place_every_ns = (limit_ns.min(hang::limit_ns()) / PLACES_MIN).clamp(1, PLACE_EVERY_NS);
        let (mut watch, mut place_asked, mut place_told) = (Watch::default(), Stopwatch::start(), Stopwatch::start());
        let (mut taken_ns, mut last_look) = (0, Stopwatch::start());
        loop {
            // An answer may have come while this process was stopped; and the worker may have been stopped with it.
            taken_ns += last_look.elapsed_ns().min(LOOK_NS_MAX);
            last_look = Stopwatch::start();
            let left_ns = limit_ns.saturating_sub(taken_ns);
            match self.answers.recv_timeout(LOOK_EVERY.min(Duration::from_nanos(left_ns))) {
                Ok(Answer::At(place)) => {
                    watch.look(*place, place_told.elapsed_ns(), 2 * place_every_ns);
                    place_told = Stopwatch::start();
                    if let Some(place) = watch.hung() {
                        let violation = hang::violation(place, None);
                        let so_far = if records_turns(&wanted) { self.so_far(&violation) } else { None };
                        self.end()?;
                        return Ok(Asked::Lost(violation, so_far));
                    }
                }
                Ok(answer) => return Ok(Asked::Answered(answer)),
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.end()?;
                    return Ok(Asked::Lost(death(status, &self.last_words()), None));
                }
                Err(RecvTimeoutError::Timeout) if !is_wanted() => {
                    self.end()?;
                    return Ok(Asked::Abandoned);
                }
                Err(RecvTimeoutError::Timeout) if left_ns == 0 => {
                    self.end()?;
                    return Ok(Asked::Lost(timeout(limit_ns, &watch), None));
                }
                Err(RecvTimeoutError::Timeout) => {
                    if place_asked.elapsed_ns() >= place_every_ns {
                        place_asked = Stopwatch::start();
                        let _ = send(&mut self.input, &WantedOf::Place);
                    }
                }
            }
        }
    }

    /// What the worker knows of a run that stands still: not its thread answers.
    fn so_far(&mut self, violation: &Violation) -> Option<Box<Tried>> {
        send(&mut self.input, &WantedOf::SoFar(violation)).ok()?;
        loop {
            match self.answers.recv_timeout(SO_FAR_LIMIT) {
                Ok(Answer::At(_)) => {}
                Ok(Answer::Tried { tried, .. }) if tried.trace_hash.is_none() => return Some(tried),
                Ok(_) | Err(_) => return None,
            }
        }
    }

    /// Ends the worker, if it hasn't ended by itself, and gives its status.
    fn end(&mut self) -> anyhow::Result<ExitStatus> {
        // A worker that closed its output is about to end by itself; its own status says more than ours. A hung one gets no such time.
        for _ in 0..20 {
            if let Some(status) = self.child.try_wait().context("waiting for a worker")? {
                return Ok(status);
            }
            if !matches!(self.answers.try_recv(), Err(mpsc::TryRecvError::Disconnected)) {
                break;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        self.child.kill().context("ending a worker")?;
        self.child.wait().context("waiting for a worker")
    }

    fn last_words(&self) -> String {
        // The dead have said everything, and it may not have been heard yet. Whoever has inherited the worker's standard error could keep it open.
        for _ in 0..20 {
            if self.listener.is_finished() {
                break;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        let bytes = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        // One line, and without what madsim says of its own task.
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("context: node="));
        lines.collect::<Vec<_>>().join(" / ")
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Whatever it does, nobody wants it any more; it may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(folder) = &self.writes_to {
            keep::remove_of(self.child.id(), folder);
        }
    }
}

/// Whether who goes when is written down in a run.
fn records_turns(wanted: &WantedOf<'_>) -> bool {
    match wanted {
        WantedOf::Trial(_) => true,
        WantedOf::Seed(request) => matches!(request.also, Also::Reproducer(_)),
        WantedOf::Place | WantedOf::SoFar(_) => false,
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> anyhow::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).context("starting a thread")
}

fn keep_last_words(mut errors: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 1024];
    while let Ok(read @ 1..) = errors.read(&mut buffer) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&buffer[..read]);
        let excess = kept.len().saturating_sub(LAST_WORDS_BYTES);
        kept.drain(..excess);
    }
}

fn death(status: ExitStatus, last_words: &str) -> Violation {
    let loss = match status.signal() {
        Some(6) => "aborted",
        Some(9) => "killed",
        Some(4 | 7 | 8 | 11) => "crashed",
        Some(_) => "ended-by-signal",
        None => "exited",
    };
    let words = if last_words.is_empty() { String::new() } else { format!("; its last words: {last_words}") };
    Violation::new("worker-died", format!("the worker process ended: {status}{words}")).object("process").loss(loss)
}

fn timeout(limit_ns: u64, watch: &Watch) -> Violation {
    let limit = Nanoseconds(limit_ns);
    match watch.out_of_time(limit_ns) {
        Some((place, true)) => hang::violation_of_seed(place, limit_ns),
        Some((place, false)) => {
            let message = format!(
                "no result after {limit} of real time, and the run goes on: it needs a longer --seed-timeout, or is to be shorter"
            );
            let violation = Violation::new(TIMED_OUT, message).object("run").loss("slow");
            violation.at(place.step, place.time_ns)
        }
        None => {
            let message = format!(
                "no result after {limit} of real time: code that makes no system call, or a run that needs a longer --seed-timeout"
            );
            Violation::new(TIMED_OUT, message).object("process").loss("hung")
        }
    }
}

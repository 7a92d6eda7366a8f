//! Ctrl-C and SIGTERM: the flag that they raise, and how a run in this process ends for it, or for a step that takes too long. What was found by then is for each
//! command to tell.

use crate::exit::{Problem, Result};
use crate::hang::{self, Hang, LOOK_NS_MAX, Watch};
use crate::log;
use crate::measured::Stopwatch;
use crate::report::grouped;
use crate::stderr;
use crate::words::Narrator;
use seedstorm_sim::kernel::{Listener, Place, RunError, View};
use seedstorm_sim::metrics::Nanoseconds;
use seedstorm_sim::plan::OptionsError;
use seedstorm_sim::trace::{Body, CallKind, Event};
use seedstorm_sim::{Options, Outcome, Plan, Scenario, Seed, Settings};
use serde::Serialize;
use std::fmt;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// How often whoever waits for a run looks at the flag and at the run's beat.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// After how long a person is told that a run stands still, in nanoseconds.
const WAITING_TOLD_NS: u64 = 3_000_000_000;

/// The flag, once somebody has asked for it.
static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// A flag that Ctrl-C and SIGTERM raise; the second time they end the program at once. It is the same one for the whole process.
///
/// # Errors
/// The operating system refuses the handlers.
pub(crate) fn flag() -> anyhow::Result<Arc<AtomicBool>> {
    if let Some(flag) = FLAG.get() {
        return Ok(flag.clone());
    }
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, flag.clone())?;
        signal_hook::flag::register(signal, flag.clone())?;
    }
    Ok(FLAG.get_or_init(|| flag).clone())
}

/// Whether it has been raised, if somebody has asked for it.
pub(crate) fn is_raised() -> bool {
    FLAG.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// How far a run was when it was interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Reached {
    /// Its last step.
    pub(crate) step: u64,
    /// The simulated time there, in nanoseconds.
    pub(crate) simulated_ns: u64,
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            0 => f.write_str("before its first step"),
            step => write!(f, "at step {}, {} into the run", grouped(step), Nanoseconds(self.simulated_ns)),
        }
    }
}

/// Where a run is, seen from another thread.
#[derive(Default)]
struct Now {
    step: AtomicU64,
    simulated_ns: AtomicU64,
    told: Mutex<Told>,
}

/// What the events of a run have told.
#[derive(Default)]
struct Told {
    narrator: Narrator,
    /// The last call: its step, kind and object.
    call: Option<(u64, CallKind, u64)>,
}

impl Now {
    fn follow(self: &Arc<Now>, also: Option<Listener>) -> Listener {
        let (now, mut also) = (self.clone(), also);
        Box::new(move |event: &Event<'_>, view: &View<'_>| {
            now.step.store(event.step, Ordering::Relaxed);
            now.simulated_ns.store(event.time_ns, Ordering::Relaxed);
            if let Body::Call { kind, object, .. } = event.body {
                let mut told = now.told.lock().unwrap_or_else(PoisonError::into_inner);
                told.narrator.pass_by(event);
                told.call = Some((event.step, kind, object));
            }
            if let Some(also) = &mut also {
                hang::writing(|| also(event, view));
            }
        })
    }

    fn look(&self) -> Reached {
        Reached { step: self.step.load(Ordering::Relaxed), simulated_ns: self.simulated_ns.load(Ordering::Relaxed) }
    }

    /// The call that took effect at a place, with the name of what it touched.
    fn call_at(&self, place: &Place) -> Option<String> {
        // Who hangs in a listener has it locked.
        let told = self.told.try_lock().ok()?;
        let kind = place.kind.filter(|_| place.recovered_at.is_none())?;
        // An `open` has told only then what it opened; and an invariant sees a call before this does.
        let known = told.call.filter(|(step, of, _)| (*step, *of) == (place.step, kind)).map(|(.., object)| object);
        let is_named = |object: &u64| told.narrator.file(*object).is_some();
        let object = known.or(Some(place.object).filter(is_named)).filter(|object| *object != 0)?;
        Some(told.narrator.of_object(kind, object))
    }
}

/// Runs a plan, on a thread of its own, which is left to itself when the flag is raised, or when a step takes longer than it may: a program that makes no call for
/// ever could be stopped in no other way. The process is about to end then. What is run after a signal, to tell or to keep what was found, is run to its end: for
/// the second signal the process ends at once. After a step that took too long nothing can be run.
///
/// # Errors
/// A plan that can't be run; [`Problem::Interrupted`]; [`Problem::Hung`].
pub(crate) fn run(scenario: &'static (dyn Scenario + Sync), plan: &Plan, settings: Settings) -> Result<Outcome> {
    let settings = Settings { beat: Some(hang::beat()), refuses_unlisted: true, ..settings };
    let teller = if settings.is_silent { None } else { log::teller() };
    let settings = Settings { teller, ..settings };
    if hang::is_worker() {
        return seedstorm_sim::run(scenario, plan, settings).map_err(refused);
    }
    let now = Arc::new(Now::default());
    let settings = Settings { listener: Some(now.follow(settings.listener)), ..settings };
    let of = format!("{} seed {}", plan.scenario, plan.seed.0);
    let plan = plan.clone();
    watched(of, &now, move || seedstorm_sim::run(scenario, &plan, settings))?.map_err(refused)
}

fn refused(error: RunError) -> Problem {
    match error {
        RunError::Refused(refusal) => Problem::Refused(Box::new(refusal)),
        RunError::Other(_) => Problem::usage(error.to_string()),
    }
}

/// Looks whether a plan can be run. Where the scenario doesn't come to an end with that, the run itself tells it.
///
/// # Errors
/// A plan that can't be run; [`Problem::Interrupted`].
pub(crate) fn check(scenario: &'static (dyn Scenario + Sync), plan: &Plan) -> Result<()> {
    if hang::is_worker() {
        return hang::beat().draws(|| seedstorm_sim::kernel::check(scenario, plan)).map_err(refused);
    }
    let of = format!("{} seed {}", plan.scenario, plan.seed.0);
    let plan = plan.clone();
    let check = move || hang::beat().draws(|| seedstorm_sim::kernel::check(scenario, &plan));
    match watched(of, &Arc::default(), check) {
        Err(Problem::Hung(_)) => Ok(()),
        checked => checked?.map_err(refused),
    }
}

/// Draws a plan, on a thread of its own as well: a scenario's `plan` may not come to an end either.
///
/// # Errors
/// [`Problem::Interrupted`]; [`Problem::Hung`].
pub(crate) fn draw(
    scenario: &'static (dyn Scenario + Sync),
    seed: Seed,
    options: &Options,
) -> Result<std::result::Result<Plan, OptionsError>> {
    if hang::is_worker() {
        return Ok(hang::beat().draws(|| scenario.plan(seed, options)));
    }
    let of = format!("{} seed {}", scenario.name(), seed.0);
    let options = options.clone();
    watched(of, &Arc::default(), move || hang::beat().draws(|| scenario.plan(seed, &options)))
}

/// Does something of a scenario on a thread of its own, and waits for it as long as it goes on.
fn watched<T: Send + 'static>(of: String, now: &Arc<Now>, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let flag = FLAG.get().filter(|flag| !flag.load(Ordering::Relaxed));
    let (sender, result) = mpsc::channel();
    let running = std::thread::Builder::new()
        .name("interruptible".into())
        // If nobody waits any more, the process is ending.
        .spawn(move || drop(sender.send(work())))
        .map_err(anyhow::Error::new)?;
    let (mut watch, mut waiting, mut stopwatch) = (Watch::default(), Waiting::new(), Stopwatch::start());
    loop {
        match result.recv_timeout(LOOK_EVERY) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) if flag.is_some_and(|flag| flag.load(Ordering::Relaxed)) => {
                return Err(Problem::Interrupted(now.look().into()));
            }
            Err(RecvTimeoutError::Timeout) => {
                watch.look(hang::place(), stopwatch.elapsed_ns(), LOOK_NS_MAX);
                stopwatch = Stopwatch::start();
                if let Some(place) = watch.hung() {
                    let violation = hang::violation(place, now.call_at(place).as_deref());
                    return Err(Problem::Hung(Box::new(Hang { of, violation, turns: hang::beat().turns() })));
                }
                waiting.tell(&of, &watch);
            }
            Err(RecvTimeoutError::Disconnected) => match running.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => return Err(anyhow::anyhow!("a run ended without a result").into()),
            },
        }
    }
}

/// Tells a person, on a terminal only, that a run stands still, long before it is ended for it.
struct Waiting {
    is_told: bool,
}

impl Waiting {
    fn new() -> Waiting {
        Waiting { is_told: !std::io::stderr().is_terminal() }
    }

    fn tell(&mut self, of: &str, watch: &Watch) {
        if self.is_told || watch.still_ns() < WAITING_TOLD_NS {
            return;
        }
        self.is_told = true;
        let (by_now, limit) = (Nanoseconds(WAITING_TOLD_NS), Nanoseconds(hang::limit_ns()));
        stderr::say(format_args!("{of}: {}; {by_now} by now, it is ended after {limit}", watch.in_words()));
    }
}

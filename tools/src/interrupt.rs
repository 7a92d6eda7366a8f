//! Ctrl-C and SIGTERM: the flag that they raise, and how a run in this process ends for it. What was found by then is for each command to tell.

use crate::exit::{Problem, Result};
use crate::report::grouped;
use seedstorm_sim::kernel::{Listener, RunError, View};
use seedstorm_sim::metrics::Nanoseconds;
use seedstorm_sim::trace::Event;
use seedstorm_sim::{Outcome, Plan, Scenario, Settings};
use serde::Serialize;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How often whoever waits for a run looks at the flag.
const LOOK_EVERY: Duration = Duration::from_millis(50);

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
}

impl Now {
    fn follow(self: &Arc<Now>, also: Option<Listener>) -> Listener {
        let (now, mut also) = (self.clone(), also);
        Box::new(move |event: &Event<'_>, view: &View<'_>| {
            now.step.store(event.step, Ordering::Relaxed);
            now.simulated_ns.store(event.time_ns, Ordering::Relaxed);
            if let Some(also) = &mut also {
                also(event, view);
            }
        })
    }

    fn look(&self) -> Reached {
        Reached { step: self.step.load(Ordering::Relaxed), simulated_ns: self.simulated_ns.load(Ordering::Relaxed) }
    }
}

/// Runs a plan. Where somebody has asked for the flag, it is run on a thread of its own, which is left to itself when the flag is raised: a program that
/// makes no call for ever could be stopped in no other way. The process is about to end then. What is run after that, to tell or to keep what was found, is
/// run to its end: for the second signal the process ends at once.
///
/// # Errors
/// A plan that can't be run; [`Problem::Interrupted`].
pub(crate) fn run(scenario: &'static (dyn Scenario + Sync), plan: &Plan, settings: Settings) -> Result<Outcome> {
    let refused = |error: RunError| Problem::usage(error.to_string());
    let Some(flag) = FLAG.get().filter(|flag| !flag.load(Ordering::Relaxed)) else {
        return seedstorm_sim::run(scenario, plan, settings).map_err(refused);
    };
    let now = Arc::new(Now::default());
    let settings = Settings { listener: Some(now.follow(settings.listener)), ..settings };
    let (sender, result) = mpsc::channel();
    let plan = plan.clone();
    let running = std::thread::Builder::new()
        .name("interruptible".into())
        // If nobody waits any more, the process is ending.
        .spawn(move || drop(sender.send(seedstorm_sim::run(scenario, &plan, settings))))
        .map_err(anyhow::Error::new)?;
    loop {
        match result.recv_timeout(LOOK_EVERY) {
            Ok(outcome) => return outcome.map_err(refused),
            Err(RecvTimeoutError::Timeout) if flag.load(Ordering::Relaxed) => {
                return Err(Problem::Interrupted(now.look().into()));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match running.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => return Err(anyhow::anyhow!("a run ended without a result").into()),
            },
        }
    }
}

//! One run with its real time, and the last events before its violation. Which runs there are is for the commands to say.

use crate::catalogue::Known;
use crate::exit::Result;
use crate::interrupt;
use crate::report::EventLine;
use crate::words::{self, Narrator};
use seedstorm_sim::kernel::{Listener, View};
use seedstorm_sim::trace::Event;
use seedstorm_sim::{Outcome, Plan, Settings};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// How many events are shown before a violation.
pub(crate) const LAST_EVENTS: usize = 24;

/// A run that has ended.
pub(crate) struct Measured {
    /// What it came to.
    pub(crate) outcome: Outcome,
    /// How long it took, in real nanoseconds.
    pub(crate) wall_ns: u64,
}

/// Runs a plan.
///
/// # Errors
/// A plan that can't be run: that is its author's to change. [`crate::exit::Problem::Interrupted`].
pub(crate) fn run(scenario: Known, plan: &Plan, settings: Settings) -> Result<Measured> {
    let stopwatch = Stopwatch::start();
    let outcome = interrupt::run(scenario, plan, settings)?;
    Ok(Measured { outcome, wall_ns: stopwatch.elapsed_ns() })
}

/// Runs a plan again up to a violation, and gives the last events before it as lines.
///
/// # Errors
/// As [`run`].
pub(crate) fn last_events(
    scenario: Known,
    plan: &Plan,
    settings: Settings,
    until_step: u64,
    events_max: usize,
) -> Result<Vec<EventLine>> {
    let nobody: Listener = Box::new(|_, _| {});
    with_some_events(scenario, plan, settings, nobody, until_step, events_max).map(|(_, lines)| lines)
}

/// Runs a plan again, shows its events to a listener, and gives the last ones before a violation as lines.
///
/// # Errors
/// As [`run`].
pub(crate) fn with_last_events(
    scenario: Known,
    plan: &Plan,
    settings: Settings,
    also: Listener,
    until_step: u64,
) -> Result<(Measured, Vec<EventLine>)> {
    with_some_events(scenario, plan, settings, also, until_step, LAST_EVENTS)
}

fn with_some_events(
    scenario: Known,
    plan: &Plan,
    settings: Settings,
    mut also: Listener,
    until_step: u64,
    events_max: usize,
) -> Result<(Measured, Vec<EventLine>)> {
    let lines = Arc::new(Mutex::new(VecDeque::new()));
    let kept = lines.clone();
    // Only the last steps can matter; words for the others would take longer than the run.
    let from_step = until_step.saturating_sub(events_max as u64);
    let mut narrator = None;
    let listener = move |event: &Event<'_>, view: &View<'_>| {
        also(event, view);
        let narrator = narrator.get_or_insert_with(|| Narrator::of(view));
        if event.step < from_step || events_max == 0 {
            narrator.pass_by(event);
        } else {
            let mut lines = kept.lock().unwrap_or_else(PoisonError::into_inner);
            if lines.len() == events_max {
                lines.pop_front();
            }
            lines.push_back(line_of(event, view, &narrator.tell(event)));
        }
    };
    // It has been told as it ran first.
    let settings = Settings { listener: Some(Box::new(listener)), is_silent: true, ..settings };
    let measured = run(scenario, plan, settings)?;
    let lines = std::mem::take(&mut *lines.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((measured, lines.into()))
}

/// An event as people read it: time, step, process, and its words.
pub(crate) fn line_of(event: &Event<'_>, view: &View<'_>, said: &str) -> EventLine {
    let process = event.process.map(|process| view.process(process).name);
    words::line(event.time_ns, event.step, process, said)
}

/// Real time. A run never sees it.
#[derive(Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts one.
    #[allow(clippy::disallowed_methods, reason = "how long a run took is measured outside of it")]
    pub(crate) fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// Nanoseconds since its start.
    pub(crate) fn elapsed_ns(self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

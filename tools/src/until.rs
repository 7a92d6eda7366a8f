//! `replay --until STEP`: a run up to a step, and the state of the machine there. What the state is made of is in `moment_state`.

use crate::catalogue::Known;
use crate::exit::{Exit, Problem, Result};
use crate::measured;
use crate::moment_state::{Follower, MomentState};
use crate::report::{SCHEMA_VERSION, grouped};
use crate::words::Narrator;
use seedstorm_sim::kernel::View;
use seedstorm_sim::metrics::Nanoseconds;
use seedstorm_sim::schedule::{Guide, Turns};
use seedstorm_sim::trace::Event;
use seedstorm_sim::{Plan, Settings};
use serde::Serialize;
use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// What is run, and how far.
pub(crate) struct Until<'a> {
    pub(crate) scenario: Known,
    pub(crate) plan: &'a Plan,
    /// Who goes when; `None`: as the plan's strategy decides.
    pub(crate) turns: Option<&'a Turns>,
    /// The step after which the state is wanted.
    pub(crate) step: u64,
    /// How many of the last events are wanted.
    pub(crate) events_max: usize,
    pub(crate) json: bool,
}

#[derive(Default)]
struct Seen {
    events: VecDeque<String>,
    state: Option<MomentState>,
    steps: u64,
}

impl Until<'_> {
    /// Runs, and tells the state.
    ///
    /// # Errors
    /// A plan that can't be run, or that takes fewer steps, be it that a program hangs before; an output that can't be written. One that hangs later is no matter.
    pub(crate) fn show(&self) -> Result<Exit> {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let mut plan = self.plan.clone();
        if self.turns.is_some() {
            // It stops there. Without turns a strategy may look at how far a first run of the plan goes: that must stay as it is.
            plan.steps_max = plan.steps_max.min(self.step);
        }
        let (kept, step, events_max) = (seen.clone(), self.step, self.events_max);
        let mut follower = Follower::default();
        let mut narrator = None;
        let listener = move |event: &Event<'_>, view: &View<'_>| {
            let words = narrator.get_or_insert_with(|| Narrator::of(view)).tell(event);
            follower.observe(event, &words);
            let mut seen = kept.lock().unwrap_or_else(PoisonError::into_inner);
            seen.steps = event.step;
            if event.step > step {
                return;
            }
            // A step may make several events, or none: the state is that after the last one up to there.
            if event.step == step || event.step.saturating_add(events_max as u64) >= step {
                if seen.events.len() == events_max {
                    seen.events.pop_front();
                }
                if events_max > 0 {
                    seen.events.push_back(measured::line_of(event, view, &words));
                }
            }
            if event.step == step {
                seen.state = Some(follower.look(view));
            }
        };
        let settings = Settings {
            guide: self.turns.map(|turns| Guide { turns: turns.clone(), ..Guide::default() }),
            without_invariants: true,
            listener: Some(Box::new(listener)),
            ..Settings::default()
        };
        let hung = match measured::run(self.scenario, &plan, settings) {
            Err(Problem::Hung(hang)) => Some(hang),
            measured => measured.map(|_| None)?,
        };
        let seen = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(state) = seen.state else {
            if let Some(hang) = hung {
                return Err(Problem::Hung(hang));
            }
            return Err(Problem::usage(match seen.steps {
                0 => format!("--until {}: the run takes no step", self.step),
                steps if self.step > steps => {
                    format!("--until {}: the run ends after step {steps}; allowed: 1 to {steps}", self.step)
                }
                steps => format!("--until {}: nothing happens at that step, of {steps}", self.step),
            }));
        };
        self.tell(&state, &seen.events)?;
        Ok(Exit::Pass)
    }

    fn tell(&self, state: &MomentState, events: &VecDeque<String>) -> Result<()> {
        #[derive(Serialize)]
        struct Object<'a> {
            schema_version: u32,
            scenario: &'a str,
            seed: u64,
            state: &'a MomentState,
            last_events: &'a VecDeque<String>,
        }
        let mut output = std::io::stdout();
        if self.json {
            let (scenario, seed) = (self.scenario.name(), self.plan.seed.0);
            let object = Object { schema_version: SCHEMA_VERSION, scenario, seed, state, last_events: events };
            writeln!(output, "{}", serde_json::to_string(&object).map_err(anyhow::Error::new)?)?;
            output.flush()?;
            return Ok(());
        }
        let (name, seed) = (self.scenario.name(), self.plan.seed.0);
        writeln!(
            output,
            "{name} seed {seed} after step {}, {} into the run",
            grouped(state.step),
            Nanoseconds(state.time_ns)
        )?;
        if !events.is_empty() {
            writeln!(output, "\nthe last events")?;
            for event in events {
                writeln!(output, "  {event}")?;
            }
        }
        for (subject, lines) in state.subjects() {
            writeln!(output, "\n{subject}")?;
            if lines.is_empty() {
                writeln!(output, "  none")?;
            }
            for line in lines {
                writeln!(output, "  {line}")?;
            }
        }
        output.flush()?;
        Ok(())
    }
}

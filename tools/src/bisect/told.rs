//! What a search in time has found, told to people and to machines. How it was found is in `sim::explore::bisect`.

use super::{Moment, Subject};
use crate::report::{SCHEMA_VERSION, counted, grouped};
use seedstorm_sim::explore::bisect::{Decisive, Found, Place};
use seedstorm_sim::explore::{Share, Stopped};
use seedstorm_sim::metrics::Nanoseconds;
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

/// What it has cost.
pub(crate) struct Cost {
    /// Runs of the whole search.
    pub(crate) runs: u64,
    /// Real time of it, in nanoseconds.
    pub(crate) wall_ns: u64,
    /// Whether a signal ended it.
    pub(crate) is_interrupted: bool,
}

/// All that there is to tell.
pub(crate) struct Told<'a> {
    pub(crate) subject: &'a Subject,
    pub(crate) from: &'a Path,
    pub(crate) found: &'a Found,
    pub(crate) moments: &'a [Moment],
    pub(crate) cost: &'a Cost,
    pub(crate) command: &'a str,
}

/// So many of those who could have gone instead are named.
const INSTEAD_MAX: usize = 6;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

impl Told<'_> {
    /// Tells people.
    ///
    /// # Errors
    /// The output can't be written.
    pub(crate) fn human(&self, output: &mut impl Write) -> io::Result<()> {
        let violation = &self.subject.violation;
        writeln!(output, "bisect of {}", self.from.display())?;
        writeln!(output, "  {}: {}", violation.invariant, violation.message.lines().next().unwrap_or_default())?;
        writeln!(output, "  fingerprint {}", violation.fingerprint)?;
        self.curve(output)?;
        for (decisive, moment) in self.found.decisive.iter().zip(self.moments) {
            self.decisive(output, decisive, moment)?;
        }
        if self.found.decisive.is_empty() {
            writeln!(output, "\n{}", in_words(self.subject, self.found))?;
        }
        for refuted in &self.found.refuted {
            writeln!(
                output,
                "\nnot confirmed: step {} of the chaos; fresh runs fail in {} before it and in {} after it",
                grouped(refuted.step),
                share(refuted.before),
                share(refuted.after)
            )?;
        }
        if let Some(why) = self.cut() {
            writeln!(output, "\n{why}: this is what was found by then")?;
        }
        writeln!(output, "\n{} in {}\n", counted(self.cost.runs, "run"), Nanoseconds(self.cost.wall_ns))?;
        writeln!(output, "{}", self.command)
    }

    fn curve(&self, output: &mut impl Write) -> io::Result<()> {
        let line: String = self.found.curve.iter().map(bar).collect();
        writeln!(
            output,
            "\nhow often it fails so if the first steps of the chaos are kept as they were ({} in all):",
            grouped(self.subject.turns.steps)
        )?;
        writeln!(output, "  {line}")?;
        writeln!(output, "  {:>12}  {:>9}  {:>6}  95 % interval", "steps kept", "failed", "share")?;
        for Place { kept, share } in &self.found.curve {
            if *kept == self.subject.turns.steps {
                writeln!(
                    output,
                    "  {:>12}  {:>9}  {:>6}  nothing is left to chance",
                    grouped(*kept),
                    "always",
                    "100 %"
                )?;
                continue;
            }
            let (low, high) = share.interval();
            let failed = format!("{}/{}", share.count, share.of);
            let (value, low, high) = (percent(share.value()), percent(low), percent(high));
            writeln!(output, "  {:>12}  {failed:>9}  {value:>6}  {low} to {high}", grouped(*kept))?;
        }
        Ok(())
    }

    fn decisive(&self, output: &mut impl Write, decisive: &Decisive, moment: &Moment) -> io::Result<()> {
        let whole = 1.0 - self.found.curve.first().map_or(0.0, |place| place.share.value());
        let part = (decisive.after.value() - decisive.before.value()) / whole.max(f64::MIN_POSITIVE);
        writeln!(
            output,
            "\ndecisive: step {} of the run, step {} of its chaos, with {} of the whole rise",
            grouped(moment.step),
            grouped(decisive.step),
            percent(part.min(1.0))
        )?;
        for event in &moment.events {
            writeln!(output, "  {event}")?;
        }
        if !moment.instead.is_empty() {
            let named = moment.instead.iter().take(INSTEAD_MAX).cloned().collect::<Vec<_>>().join("; ");
            let more = moment.instead.len().saturating_sub(INSTEAD_MAX);
            let more = if more == 0 { String::new() } else { format!("; and {more} more") };
            writeln!(output, "  could have gone instead: {named}{more}")?;
        }
        writeln!(output, "  fails so in {} if all is kept but this step", share(decisive.before))?;
        writeln!(output, "  fails so in {} if it is kept, too", self.share_after(decisive))?;
        let at = grouped(self.subject.violation.step);
        match moment.is_in_past {
            Some(true) => writeln!(output, "  it lies in the causal past of the violation at step {at}"),
            Some(false) => writeln!(
                output,
                "  it does NOT lie in the causal past of the violation at step {at}: it decides by what did not happen"
            ),
            None => writeln!(
                output,
                "  the violation was found at the run's end, by all that was there: it has no causal past of its own"
            ),
        }
    }

    fn share_after(&self, decisive: &Decisive) -> String {
        if decisive.step == self.subject.turns.steps { "every run".to_owned() } else { share(decisive.after) }
    }

    fn cut(&self) -> Option<&'static str> {
        match self.found.stopped {
            Some(Stopped::Interrupted) if self.cost.is_interrupted => Some("interrupted"),
            Some(Stopped::Interrupted) => Some("the time was over (--budget)"),
            Some(Stopped::Broken(_)) => Some("the search could not go on"),
            None => None,
        }
    }

    /// Tells machines.
    ///
    /// # Errors
    /// The output can't be written.
    pub(crate) fn json(&self, output: &mut impl Write) -> io::Result<()> {
        let place = |kept: u64, share: Share| PlaceObject { kept, counted: Counted::of(share) };
        let decisive = self.found.decisive.iter().zip(self.moments).map(|(decisive, moment)| DecisiveObject {
            step: moment.step,
            chaos_step: decisive.step,
            before: Counted::of(decisive.before),
            after: Counted::of(decisive.after),
            events: &moment.events,
            instead: &moment.instead,
            is_in_causal_past: moment.is_in_past,
        });
        let object = Object {
            schema_version: SCHEMA_VERSION,
            reproducer: self.from.display().to_string(),
            scenario: &self.subject.plan.scenario,
            seed: self.subject.plan.seed.0,
            fingerprint: &self.subject.violation.fingerprint,
            violation_step: self.subject.violation.step,
            chaos_steps: self.subject.turns.steps,
            steps_before_chaos: self.subject.steps_before,
            curve: self.found.curve.iter().map(|found| place(found.kept, found.share)).collect(),
            decisive: decisive.collect(),
            not_confirmed: self.found.refuted.iter().map(|refuted| refuted.step).collect(),
            rises_between: self.found.rise.map(|(before, after)| [before, after]),
            runs: self.cost.runs,
            runs_lost: self.found.lost,
            seconds: self.cost.wall_ns as f64 / 1e9,
            is_complete: self.found.stopped.is_none(),
            command: self.command,
        };
        writeln!(output, "{}", serde_json::to_string(&object)?)
    }
}

/// What was found, in a sentence.
pub(crate) fn in_words(subject: &Subject, found: &Found) -> String {
    let first = found.curve.first().map_or_else(Share::default, |place| place.share);
    if let Some(decisive) = found.decisive.first() {
        let step = grouped(subject.step_of(decisive.step));
        let (before, after) = (percent(decisive.before.value()), percent(decisive.after.value()));
        return format!("step {step} decides: with all steps before it kept {before} of runs fail so, with it {after}");
    }
    match found.rise {
        Some((before, after)) => format!(
            "no single step decides: most of the rise lies between {} and {} kept steps (steps {} to {} of the run)",
            grouped(before),
            grouped(after),
            grouped(subject.step_of(before)),
            grouped(subject.step_of(after))
        ),
        None => format!(
            "no step decides: it fails so in {} with no step kept. The plan decides, whoever goes when; `shrink` says what of it",
            share(first)
        ),
    }
}

#[derive(Serialize)]
struct Object<'a> {
    schema_version: u32,
    reproducer: String,
    scenario: &'a str,
    seed: u64,
    fingerprint: &'a str,
    violation_step: u64,
    chaos_steps: u64,
    steps_before_chaos: u64,
    curve: Vec<PlaceObject>,
    decisive: Vec<DecisiveObject<'a>>,
    not_confirmed: Vec<u64>,
    rises_between: Option<[u64; 2]>,
    runs: u64,
    runs_lost: u64,
    seconds: f64,
    is_complete: bool,
    command: &'a str,
}

#[derive(Serialize)]
struct PlaceObject {
    kept: u64,
    #[serde(flatten)]
    counted: Counted,
}

#[derive(Serialize)]
struct DecisiveObject<'a> {
    step: u64,
    chaos_step: u64,
    before: Counted,
    after: Counted,
    events: &'a [String],
    instead: &'a [String],
    is_in_causal_past: Option<bool>,
}

/// A share with its 95 % interval.
#[derive(Serialize)]
struct Counted {
    failed: u64,
    runs: u64,
    low: f64,
    high: f64,
}

impl Counted {
    fn of(share: Share) -> Counted {
        let (low, high) = share.interval();
        Counted { failed: share.count, runs: share.of, low, high }
    }
}

fn bar(place: &Place) -> char {
    BARS[(place.share.value() * 7.0).round() as usize]
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn share(share: Share) -> String {
    let (low, high) = share.interval();
    format!(
        "{} ({} of {}, 95 % interval {} to {})",
        percent(share.value()),
        share.count,
        counted(share.of, "run"),
        percent(low),
        percent(high)
    )
}

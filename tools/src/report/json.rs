//! Output for machines: one object for `run`, JSON lines for `sweep`. The fields are in `result` and `summary`.

use super::{RunEvent, RunResult, SCHEMA_VERSION, Sink, SweepSummary};
use crate::interrupt::Reached;
use serde::Serialize;
use std::io::{self, Write};

/// One JSON object for all runs, written when they are done.
pub(crate) struct RunObject<W> {
    output: W,
    runs: Vec<RunResult>,
    interrupted: Option<Interrupted>,
}

/// A run that has no result, since a signal ended it.
#[derive(Serialize)]
struct Interrupted {
    scenario: String,
    seed: u64,
    #[serde(flatten)]
    reached: Reached,
}

impl<W: Write> RunObject<W> {
    /// Writes to `output`.
    pub(crate) fn new(output: W) -> RunObject<W> {
        RunObject { output, runs: Vec::new(), interrupted: None }
    }
}

impl<W: Write> Sink for RunObject<W> {
    fn event(&mut self, event: &RunEvent<'_>) -> io::Result<()> {
        #[derive(Serialize)]
        struct Runs<'a> {
            schema_version: u32,
            runs: &'a [RunResult],
            #[serde(skip_serializing_if = "Option::is_none")]
            interrupted: Option<&'a Interrupted>,
            /// Where it goes on then.
            #[serde(skip_serializing_if = "Option::is_none")]
            command: Option<&'a str>,
        }
        match event {
            RunEvent::Ended { result, .. } => self.runs.push((*result).clone()),
            RunEvent::Interrupted { plan, reached } => {
                let (scenario, seed) = (plan.scenario.clone(), plan.seed.0);
                self.interrupted = Some(Interrupted { scenario, seed, reached: *reached });
            }
            RunEvent::Done { reproduce } => {
                let interrupted = self.interrupted.as_ref();
                let command = reproduce.filter(|_| interrupted.is_some());
                let runs = Runs { schema_version: SCHEMA_VERSION, runs: &self.runs, interrupted, command };
                line(&mut self.output, &runs)?
            }
            RunEvent::Drawn { .. }
            | RunEvent::SweepStarted { .. }
            | RunEvent::SweepSeed(_)
            | RunEvent::SweepEnded(_) => {}
        }
        Ok(())
    }
}

/// A JSON line for each run of a sweep, and one for the summary.
pub(crate) struct SweepLines<W> {
    output: W,
    has_seeds: bool,
}

impl<W: Write> SweepLines<W> {
    /// Writes to `output`.
    pub(crate) fn new(output: W) -> SweepLines<W> {
        SweepLines { output, has_seeds: true }
    }

    /// Writes the summary alone.
    pub(crate) fn summary_only(output: W) -> SweepLines<W> {
        SweepLines { output, has_seeds: false }
    }
}

/// A line of a sweep.
#[derive(Serialize)]
struct Line<'a, T> {
    #[serde(rename = "type")]
    kind: &'static str,
    schema_version: u32,
    #[serde(flatten)]
    fields: &'a T,
}

impl<W: Write> Sink for SweepLines<W> {
    fn event(&mut self, event: &RunEvent<'_>) -> io::Result<()> {
        match event {
            RunEvent::SweepSeed(_) if !self.has_seeds => Ok(()),
            RunEvent::SweepSeed(result) => line(
                &mut self.output,
                &Line::<RunResult> { kind: "seed", schema_version: SCHEMA_VERSION, fields: result },
            ),
            RunEvent::SweepEnded(summary) => line(
                &mut self.output,
                &Line::<SweepSummary> { kind: "summary", schema_version: SCHEMA_VERSION, fields: summary },
            ),
            RunEvent::Drawn { .. }
            | RunEvent::Ended { .. }
            | RunEvent::Interrupted { .. }
            | RunEvent::SweepStarted { .. }
            | RunEvent::Done { .. } => Ok(()),
        }
    }
}

/// Writes a value as one line, at once: whoever reads may wait for it.
fn line(output: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    output.write_all(&text)?;
    output.flush()
}

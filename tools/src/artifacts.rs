//! The folder of a failure: its reproducer, its trace and a summary. It is written whole or not at all, and never over another. What a reproducer holds is
//! in `reproducer`.

use crate::catalogue::Known;
use crate::exit::Result;
use crate::keep;
use crate::measured::{self, Measured};
use crate::report::{EventLine, Human, RunEvent, RunResult, Sink};
use crate::reproducer::{self, Reproducer};
use crate::shell;
use crate::traced::Tracing;
use anyhow::Context;
use seedstorm_sim::invariant::CrashPoints;
use seedstorm_sim::schedule::{Guide, Turns};
use seedstorm_sim::{Plan, Settings};
use std::path::{Path, PathBuf};

/// The name of the trace in the folder.
pub(crate) const TRACE_FILE: &str = "trace.bin";

/// The name of the summary in the folder.
const SUMMARY_FILE: &str = "summary.txt";

/// What was kept of a failure.
pub(crate) struct Kept {
    /// The reproducer's path.
    pub(crate) reproducer: PathBuf,
    /// The last events up to the violation.
    pub(crate) last_events: Vec<EventLine>,
}

/// Runs a failing plan once more, with everything written down, and keeps it.
///
/// # Errors
/// What can't be written; a plan that can't be run.
pub(crate) fn keep(
    scenario: Known,
    plan: &Plan,
    turns: Option<&Turns>,
    result: &RunResult,
    crash_points: CrashPoints,
    folder: &Path,
) -> Result<Kept> {
    let draft = keep::draft(folder)?;
    let tracing = Tracing::create(&draft.path().join(TRACE_FILE))?;
    let settings = Settings {
        crash_points,
        guide: turns.map(|turns| Guide { turns: turns.clone(), ..Guide::default() }),
        records_turns: true,
        ..Settings::default()
    };
    let until_step = result.violations.first().map_or(result.steps, |violation| violation.step);
    let (measured, last_events) = measured::with_last_events(scenario, plan, settings, tracing.listener(), until_step)?;
    let Measured { mut outcome, .. } = measured;
    tracing.finish(&outcome)?;
    // Another hash is nondeterminism: what is kept is the run that was told, without turns that lead elsewhere.
    let is_same = result.trace_hash == Some(outcome.trace_hash.to_string());
    let turns = outcome.turns.take().filter(|_| is_same);
    let reproducer = Reproducer::new(plan, result, crash_points, turns);
    let path = publish(draft, folder, &reproducer, result, &last_events)?;
    Ok(Kept { reproducer: path, last_events })
}

/// Keeps a failure of which nothing but its plan is known: its worker did not survive it.
///
/// # Errors
/// What can't be written.
pub(crate) fn keep_lost(plan: &Plan, result: &RunResult, crash_points: CrashPoints, folder: &Path) -> Result<PathBuf> {
    let draft = keep::draft(folder)?;
    let reproducer = Reproducer::new(plan, result, crash_points, None);
    Ok(publish(draft, folder, &reproducer, result, &[])?)
}

fn publish(
    draft: keep::Draft,
    folder: &Path,
    reproducer: &Reproducer,
    result: &RunResult,
    last_events: &[EventLine],
) -> anyhow::Result<PathBuf> {
    let files = reproducer.files()?;
    draft.write(reproducer::FILE, files.toml.as_bytes())?;
    if let Some(turns) = &files.turns {
        draft.write(reproducer::TURNS_FILE, turns)?;
    }
    let stem = format!("{}-{}", reproducer.plan.scenario, reproducer.plan.seed.0);
    let kept = draft.publish(&stem, reproducer::FILE, |kept| {
        let path = kept.join(reproducer::FILE);
        Ok(vec![(SUMMARY_FILE, summary(reproducer, result, last_events, &path)?)])
    });
    let kept = kept.with_context(|| format!("keeping the failure in {}", folder.display()))?;
    Ok(kept.join(reproducer::FILE))
}

/// What a person is told of the failure on a terminal, as a text.
fn summary(
    reproducer: &Reproducer,
    result: &RunResult,
    last_events: &[EventLine],
    path: &Path,
) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut human = Human::new(&mut text, false);
    // How long it took is no part of what happened: the same failure again is the same summary.
    let result = RunResult { wall_ns: 0, reproducer: None, ..result.clone() };
    let command = shell::line(["seedstorm", "replay", &path.display().to_string()]);
    human.event(&RunEvent::Drawn { plan: &reproducer.plan, note: None })?;
    human.event(&RunEvent::Ended { result: &result, last_events })?;
    human.event(&RunEvent::Done { reproduce: Some(&command) })?;
    Ok(text)
}

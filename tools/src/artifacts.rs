//! The folder of a failure: its reproducer, its trace, its picture and a summary. It is written whole or not at all, and never over another. What a reproducer holds is
//! in `reproducer`.

use crate::blob;
use crate::catalogue::{Catalogue, Known};
use crate::checked::Checked;
use crate::exit::Result;
use crate::keep;
use crate::measured::{self, Measured};
use crate::picture::{self, Findings, PICTURE_FILE};
use crate::report::{EventLine, Human, RunEvent, RunResult, Screen, Sink};
use crate::reproducer::{self, Reproducer};
use crate::shell;
use crate::traced::Tracing;
use anyhow::Context;
use seedstorm_sim::schedule::{Guide, Turns};
use seedstorm_sim::{Plan, Settings};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// The name of the trace in the folder.
pub(crate) const TRACE_FILE: &str = "trace.bin";

/// The name of what shrinking and bisecting found, in the folder.
const FINDINGS_FILE: &str = "findings.json";

/// The name of the summary in the folder.
const SUMMARY_FILE: &str = "summary.txt";

/// What was kept of a failure.
pub(crate) struct Kept {
    /// The failure as one word.
    pub(crate) repro: String,
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
    catalogue: Catalogue,
    scenario: Known,
    plan: &Plan,
    turns: Option<&Turns>,
    result: &RunResult,
    checked: Checked,
    folder: &Path,
) -> Result<Kept> {
    let draft = keep::draft(folder)?;
    let tracing = Tracing::create(&draft.path().join(TRACE_FILE))?;
    let settings = Settings {
        guide: turns.map(|turns| Guide { turns: turns.clone(), ..Guide::default() }),
        records_turns: true,
        ..checked.settings()
    };
    let until_step = result.violations.first().map_or(result.steps, |violation| violation.step);
    let (measured, last_events) = measured::with_last_events(scenario, plan, settings, tracing.listener(), until_step)?;
    let Measured { mut outcome, .. } = measured;
    tracing.finish(&outcome)?;
    // Another hash is nondeterminism: what is kept is the run that was told, without turns that lead elsewhere.
    let is_same = result.trace_hash == Some(outcome.trace_hash.to_string());
    let turns = outcome.turns.take().filter(|_| is_same);
    let reproducer = Reproducer::new(plan, result, checked, turns);
    let path = publish(catalogue, draft, folder, &reproducer, result, &last_events)?;
    Ok(Kept { repro: blob::of(&reproducer)?, reproducer: path, last_events })
}

/// Keeps a failure of a run that has not come to its end: what is known is its plan, and who had gone when, if that was written down and did not go with a worker.
///
/// # Errors
/// What can't be written.
pub(crate) fn keep_lost(
    catalogue: Catalogue,
    plan: &Plan,
    turns: Option<Turns>,
    result: &RunResult,
    checked: Checked,
    folder: &Path,
) -> Result<Kept> {
    let draft = keep::draft(folder)?;
    let reproducer = Reproducer::new(plan, result, checked, turns);
    let path = publish(catalogue, draft, folder, &reproducer, result, &[])?;
    Ok(Kept { repro: blob::of(&reproducer)?, reproducer: path, last_events: Vec::new() })
}

fn publish(
    catalogue: Catalogue,
    draft: keep::DraftFolder,
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
    let draft_path = draft.path().to_owned();
    let kept = draft.publish(&stem, reproducer::FILE, |kept| {
        let command = command(catalogue, &kept.join(reproducer::FILE));
        let mut files = vec![(SUMMARY_FILE, summary(reproducer, result, last_events, &command)?)];
        let findings = Findings { reproduce: Some(command), ..Findings::default() };
        if let Some(page) = picture_of(catalogue, &draft_path, &findings)? {
            files.push((PICTURE_FILE, page.into_bytes()));
        }
        Ok(files)
    });
    let kept = kept.with_context(|| format!("keeping the failure in {}", folder.display()))?;
    Ok(kept.join(reproducer::FILE))
}

/// Whether a reproducer is of this seed, by the folder that it is in.
pub(crate) fn is_of(reproducer: &Path, scenario: &str, seed: u64) -> bool {
    let folder = reproducer.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    // Where another has the name, there is a number after it.
    let rest = folder.and_then(|folder| folder.strip_prefix(&format!("{scenario}-{seed}")));
    rest.is_some_and(|rest| {
        rest.is_empty() || rest.strip_prefix('-').is_some_and(|number| number.parse::<u32>().is_ok())
    })
}

/// The command line that runs a reproducer.
fn command(catalogue: Catalogue, path: &Path) -> String {
    shell::line([catalogue.program(), "replay", &shell::path(path)])
}

/// The picture of the trace in a folder, if there is one.
fn picture_of(catalogue: Catalogue, folder: &Path, findings: &Findings) -> anyhow::Result<Option<String>> {
    let path = folder.join(TRACE_FILE);
    if !path.exists() {
        return Ok(None);
    }
    let trace = BufReader::new(File::open(&path).with_context(|| path.display().to_string())?);
    Ok(Some(picture::page(catalogue, trace, findings).with_context(|| path.display().to_string())?))
}

/// What has been found of the failure in a folder so far: nothing, if nobody has looked.
pub(crate) fn findings(catalogue: Catalogue, folder: &Path) -> Findings {
    let stored = fs::read(folder.join(FINDINGS_FILE)).ok();
    // A file of another version is as good as none: what it says can be found again.
    let findings = stored.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let reproducer = folder.join(reproducer::FILE);
    let reproduce = reproducer.is_file().then(|| command(catalogue, &reproducer));
    Findings { reproduce, ..findings.unwrap_or_default() }
}

/// Adds to what has been found of the failure that a folder or the reproducer in it is of, and to its picture. A reproducer that lies alone has none. Nor has
/// a smaller failure beside it: its sizes and steps are its own, and would be wrong in the picture.
///
/// # Errors
/// What can't be written.
pub(crate) fn add_to_findings(catalogue: Catalogue, reproducer: &Path, add: impl FnOnce(&mut Findings)) -> Result<()> {
    let folder = if reproducer.is_dir() { reproducer } else { reproducer.parent().unwrap_or(Path::new(".")) };
    let is_of_folder = reproducer.is_dir() || reproducer.ends_with(reproducer::FILE);
    if !is_of_folder || !folder.join(TRACE_FILE).exists() {
        return Ok(());
    }
    let mut found = findings(catalogue, folder);
    add(&mut found);
    let text = serde_json::to_vec_pretty(&found).map_err(anyhow::Error::new)?;
    keep::replace(&folder.join(FINDINGS_FILE), &text)?;
    match picture_of(catalogue, folder, &found)? {
        Some(page) => keep::replace(&folder.join(PICTURE_FILE), page.as_bytes()),
        None => Ok(()),
    }
}

/// What a person is told of the failure on a terminal, as a text.
fn summary(
    reproducer: &Reproducer,
    result: &RunResult,
    last_events: &[EventLine],
    command: &str,
) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut human = Human::new(&mut text, Screen::default());
    // How long it took is no part of what happened: the same failure again is the same summary.
    let result = RunResult { wall_ns: 0, reproducer: None, ..result.clone() };
    human.event(&RunEvent::Drawn { plan: &reproducer.plan, note: None })?;
    human.event(&RunEvent::Ended { result: &result, last_events })?;
    human.event(&RunEvent::Done { reproduce: Some(command) })?;
    Ok(text)
}

//! Reproducers: a failing run as a TOML file that runs again, whatever becomes of how plans are drawn. Where they are put is `keep`'s business.

use crate::exit::{Problem, Result};
use crate::keep;
use crate::report::RunResult;
use seedstorm_sim::Plan;
use seedstorm_sim::invariant::{CrashPoints, Violation};
use seedstorm_sim::schedule::{Decision, Decisions};
use seedstorm_sim::sqlite;
use seedstorm_sim::trace::{CallKind, ProcessId};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The version of the format. A reader refuses a newer one.
pub const REPRODUCER_FORMAT: u32 = 1;

/// Decisions longer than this go into a file of their own, so that people can read the rest.
const INLINE_BYTES_MAX: usize = 4096;

/// A failing run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reproducer {
    /// What runs.
    pub(crate) plan: Plan,
    /// How many crash points are explored.
    pub(crate) crash_points: CrashPoints,
    /// Who steps next; `None` when the worker died before it could tell: then the plan's strategy decides again.
    pub(crate) decisions: Option<Decisions>,
    /// What was violated.
    pub(crate) violation: Option<Violation>,
    /// The hash of the run, as 32 hexadecimal digits.
    pub(crate) trace_hash: Option<String>,
    /// How many steps it took.
    pub(crate) steps: u64,
}

/// The file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    format: u32,
    scenario: String,
    seedstorm: String,
    /// Which build of the program: scenarios and models are a part of it, and change without a new version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    build: Option<String>,
    sqlite_source_id: String,
    sqlite_compile_options: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trace_hash: Option<String>,
    steps: u64,
    /// Absent in files of versions that explored none.
    #[serde(default)]
    crash_points: CrashPoints,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    violation: Option<Violation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decisions: Option<StoredDecisions>,
    plan: Plan,
}

/// Decisions, one in a line: `STEP PROCESS/TASK CALL`, and `delay CALL NANOSECONDS`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredDecisions {
    /// How many lines there are: a file that was cut off is not taken for whole.
    lines: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

impl Reproducer {
    /// The reproducer of a run.
    pub(crate) fn new(
        plan: &Plan,
        result: &RunResult,
        crash_points: CrashPoints,
        decisions: Option<Decisions>,
    ) -> Reproducer {
        let violation = result.violations.first().cloned();
        Reproducer {
            plan: plan.clone(),
            crash_points,
            decisions,
            violation,
            trace_hash: result.trace_hash.clone(),
            steps: result.steps,
        }
    }

    /// Writes it into a folder, over nothing that is there.
    ///
    /// # Errors
    /// What the file system says.
    pub(crate) fn write(&self, folder: &Path) -> anyhow::Result<PathBuf> {
        let stem = format!("{}-{}", self.plan.scenario, self.plan.seed.0);
        let decisions = match &self.decisions {
            None => None,
            Some(decisions) => {
                let text = decisions_text(decisions);
                let lines = text.lines().count();
                if text.len() <= INLINE_BYTES_MAX {
                    Some(StoredDecisions { lines, text: Some(text), file: None })
                } else {
                    let path = keep::put(folder, &stem, "decisions", text.as_bytes())?;
                    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
                    Some(StoredDecisions { lines, text: None, file: name })
                }
            }
        };
        let stored = Stored {
            format: REPRODUCER_FORMAT,
            scenario: self.plan.scenario.clone(),
            seedstorm: env!("CARGO_PKG_VERSION").to_owned(),
            build: build(),
            sqlite_source_id: sqlite::source_id().to_owned(),
            sqlite_compile_options: sqlite::compile_options().into_iter().map(str::to_owned).collect(),
            trace_hash: self.trace_hash.clone(),
            steps: self.steps,
            crash_points: self.crash_points,
            violation: self.violation.clone(),
            decisions,
            plan: self.plan.clone(),
        };
        keep::put(folder, &stem, "toml", toml::to_string(&stored)?.as_bytes())
    }
}

/// What a person gave to `replay`.
#[derive(Debug)]
pub(crate) enum Replayable {
    /// A plan alone: nothing to compare with.
    Plan(Box<Plan>),
    /// A recorded failure, and what has changed since it was recorded.
    Recorded(Box<Reproducer>, Vec<String>),
}

/// Reads a reproducer or a plan.
///
/// # Errors
/// A file that can't be read or is neither: line and key.
pub(crate) fn read(path: &Path) -> Result<Replayable> {
    let wrong = |why: String| Problem::usage(format!("{}: {}", path.display(), why.trim_end()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let table: toml::Table = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if !table.contains_key("plan") {
        return Plan::from_toml(&text)
            .map(|plan| Replayable::Plan(Box::new(plan)))
            .map_err(|error| wrong(error.to_string()));
    }
    // Before the fields: a newer format may have others.
    let format = table.get("format").and_then(toml::Value::as_integer);
    if format.is_some_and(|format| format > i64::from(REPRODUCER_FORMAT)) {
        return Err(wrong(format!(
            "format {} is newer than {REPRODUCER_FORMAT}, the newest that this version reads",
            format.unwrap_or(0)
        )));
    }
    let stored: Stored = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let decisions = match &stored.decisions {
        None => None,
        Some(decisions) => Some(read_decisions(path, decisions)?),
    };
    let mut changed = Vec::new();
    if stored.seedstorm != env!("CARGO_PKG_VERSION") {
        changed.push(format!("recorded with seedstorm {}, this is {}", stored.seedstorm, env!("CARGO_PKG_VERSION")));
    } else if stored.build.is_none() || stored.build != build() {
        changed.push("recorded with another build of this program".to_owned());
    }
    if stored.sqlite_source_id != sqlite::source_id() {
        changed.push(format!("recorded with SQLite {}, this is {}", stored.sqlite_source_id, sqlite::source_id()));
    } else if stored.sqlite_compile_options != sqlite::compile_options() {
        changed.push("recorded with SQLite compiled with other options".to_owned());
    }
    let Stored { plan, violation, trace_hash, steps, crash_points, .. } = stored;
    let reproducer = Reproducer { plan, crash_points, decisions, violation, trace_hash, steps };
    Ok(Replayable::Recorded(Box::new(reproducer), changed))
}

/// What tells this build of the program from others: the size of its file and when it was made. `None` when the file can't be looked at.
fn build() -> Option<String> {
    let file = std::env::current_exe().and_then(std::fs::metadata).ok()?;
    let made = file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} bytes of {}.{:09}", file.len(), made.as_secs(), made.subsec_nanos()))
}

fn read_decisions(path: &Path, stored: &StoredDecisions) -> Result<Decisions> {
    let (place, text) = match (&stored.text, &stored.file) {
        (Some(text), None) => (path.to_owned(), text.clone()),
        (None, Some(name)) => {
            let side = path.with_file_name(name);
            let text = std::fs::read_to_string(&side)
                .map_err(|error| Problem::usage(format!("{}: {error}", side.display())))?;
            (side, text)
        }
        _ => return Err(Problem::usage(format!("{}: `decisions` needs one of `text` and `file`", path.display()))),
    };
    let lines = text.lines().count();
    if lines != stored.lines {
        return Err(Problem::usage(format!(
            "{}: {} decisions were recorded, {lines} are there",
            place.display(),
            stored.lines
        )));
    }
    parse_decisions(&text).map_err(|why| Problem::usage(format!("{}: {why}", place.display())))
}

fn decisions_text(decisions: &Decisions) -> String {
    let mut text = String::new();
    for Decision { step, process, ordinal, kind } in decisions.departures.iter() {
        // Writing to a string can't fail.
        let _ = writeln!(text, "{step} {}/{ordinal} {kind}", process.0);
    }
    for (call, delay_ns) in &decisions.delays {
        let _ = writeln!(text, "delay {call} {delay_ns}");
    }
    text
}

fn parse_decisions(text: &str) -> std::result::Result<Decisions, String> {
    let mut decisions = Decisions::default();
    let mut last_step = 0;
    for (number, line) in text.lines().enumerate() {
        let wrong = || {
            format!(
                "decision {}: `{line}` is neither `STEP PROCESS/TASK CALL` nor `delay CALL NANOSECONDS`",
                number + 1
            )
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["delay", call, delay_ns] => {
                decisions.delays.push((call.parse().map_err(|_| wrong())?, delay_ns.parse().map_err(|_| wrong())?));
            }
            [step, task, kind] => {
                let (process, ordinal) = task.split_once('/').ok_or_else(wrong)?;
                let step = step.parse().map_err(|_| wrong())?;
                if step <= last_step {
                    return Err(format!("decision {}: its step does not come after the one before", number + 1));
                }
                last_step = step;
                decisions.departures.push(Decision {
                    step,
                    process: ProcessId(process.parse().map_err(|_| wrong())?),
                    ordinal: ordinal.parse().map_err(|_| wrong())?,
                    kind: CallKind::ALL.iter().copied().find(|known| known.name() == kind).ok_or_else(wrong)?,
                });
            }
            _ => return Err(wrong()),
        }
    }
    Ok(decisions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decisions(count: u64) -> Decisions {
        let decision =
            |step| Decision { step, process: ProcessId(step as u32 % 5), ordinal: 1, kind: CallKind::WriteAt };
        Decisions { departures: (1..=count).map(decision).collect(), delays: vec![(7, 120_000)] }
    }

    #[test]
    fn decisions_survive_their_text() {
        let decisions = decisions(30);
        assert_eq!(parse_decisions(&decisions_text(&decisions)), Ok(decisions));
    }

    #[test]
    fn what_are_no_decisions_is_refused_by_its_line() {
        for text in ["2 2/0", "2 2 pwrite", "x 2/0 pwrite", "2 2/0 nosuchcall", "delay 1", "", "delay x 2"] {
            let text = format!("1 0/0 yield\n{text}\n");
            assert!(parse_decisions(&text).expect_err(&text).contains("decision 2"), "{text}");
        }
        assert!(parse_decisions("2 0/0 yield\n2 1/0 yield\n").is_err(), "steps rise");
    }
}

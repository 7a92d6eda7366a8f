//! Reproducers: a failing run as a TOML file that runs again, whatever becomes of how plans are drawn, and follows its turns even after a change of code.
//! The folder of a failure, of which it is a part, is in `artifacts`; the short form for logs is in `blob`.

use crate::checked::Checked;
use crate::exit::{Problem, Result};
use crate::file_kind::FileKind;
use crate::plan_file;
use crate::refused;
use crate::report::RunResult;
use crate::this_build;
use seedstorm_sim::Plan;
use seedstorm_sim::invariant::{CrashPoints, Violation};
use seedstorm_sim::plan::read_toml;
use seedstorm_sim::schedule::Turns;
use seedstorm_sim::sqlite;
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The version of the format. A reader refuses a newer one.
pub const REPRODUCER_FORMAT: u32 = 2;

/// The name of a reproducer in the folder of its failure.
pub(crate) const FILE: &str = "reproducer.toml";

/// The name of the file that holds its turns when they are many.
pub(crate) const TURNS_FILE: &str = "turns.txt.zst";

/// Turns longer than this go into a file of their own, so that people can read the rest.
const INLINE_BYTES_MAX: usize = 4096;

/// The most bytes of turns that are written and read: a damaged file must not exhaust memory. A turn takes some 25 bytes of text and as many of memory, so
/// that these are five million turns, in no more memory than a run of that length takes anyway.
const TURNS_BYTES_MAX: usize = 128 << 20;

/// A failing run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reproducer {
    /// What runs.
    pub(crate) plan: Plan,
    /// What is checked.
    pub(crate) checked: Checked,
    /// Who went when; `None` when the worker died before it could tell: then the plan's strategy decides again.
    pub(crate) turns: Option<Turns>,
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
    /// The commit that seedstorm was built from, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    git: Option<String>,
    /// Which build of the program, as a digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    build: Option<String>,
    sqlite_source_id: String,
    sqlite_compile_options: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trace_hash: Option<String>,
    steps: u64,
    #[serde(default)]
    crash_points: CrashPoints,
    /// Absent: with them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    without_invariants: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    violation: Option<Violation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turns: Option<StoredTurns>,
    plan: Plan,
}

/// Turns, one in a line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredTurns {
    /// How many lines there are: a file that was cut off is not taken for whole.
    lines: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

/// The files of a reproducer, not written yet.
pub(crate) struct Written {
    /// The reproducer itself.
    pub(crate) toml: String,
    /// Its turns, compressed, if they have a file of their own: [`TURNS_FILE`].
    pub(crate) turns: Option<Vec<u8>>,
}

impl Reproducer {
    /// The reproducer of a run.
    pub(crate) fn new(plan: &Plan, result: &RunResult, checked: Checked, turns: Option<Turns>) -> Reproducer {
        let violation = result.violations.first().cloned();
        Reproducer {
            plan: plan.clone(),
            checked,
            turns,
            violation,
            trace_hash: result.trace_hash.clone(),
            steps: result.steps,
        }
    }

    /// What is to be written.
    ///
    /// # Errors
    /// It can't be compressed.
    pub(crate) fn files(&self) -> anyhow::Result<Written> {
        self.files_with(INLINE_BYTES_MAX)
    }

    /// As [`Reproducer::files`], in one file however many turns there are.
    ///
    /// # Errors
    /// It can't be put into TOML.
    pub(crate) fn in_one_file(&self) -> anyhow::Result<String> {
        Ok(self.files_with(usize::MAX)?.toml)
    }

    fn files_with(&self, inline_bytes_max: usize) -> anyhow::Result<Written> {
        let mut side = None;
        let turns = match &self.turns {
            None => None,
            // What could not be read again is not written: then the plan's strategy decides again.
            Some(turns) if turns.steps > Turns::CALLS_MAX || turns.tasks.len() > Turns::TASKS_MAX => None,
            Some(turns) => {
                let text = turns.to_text();
                let lines = text.lines().count();
                if text.len() > TURNS_BYTES_MAX {
                    None
                } else if text.len() <= inline_bytes_max {
                    Some(StoredTurns { lines, text: Some(text), file: None })
                } else {
                    side = Some(zstd::bulk::compress(text.as_bytes(), 3)?);
                    Some(StoredTurns { lines, text: None, file: Some(TURNS_FILE.to_owned()) })
                }
            }
        };
        let stored = Stored {
            format: REPRODUCER_FORMAT,
            scenario: self.plan.scenario.clone(),
            seedstorm: env!("CARGO_PKG_VERSION").to_owned(),
            git: this_build::commit().map(str::to_owned),
            build: this_build::digest().map(str::to_owned),
            sqlite_source_id: sqlite::source_id().to_owned(),
            sqlite_compile_options: sqlite::compile_options().into_iter().map(str::to_owned).collect(),
            trace_hash: self.trace_hash.clone(),
            steps: self.steps,
            crash_points: self.checked.crash_points,
            without_invariants: self.checked.without_invariants,
            violation: self.violation.clone(),
            turns,
            plan: self.plan.clone(),
        };
        Ok(Written { toml: toml::to_string(&stored)?, turns: side })
    }
}

/// What a person gave to `replay`.
#[derive(Debug)]
pub(crate) enum Replayable {
    /// A plan alone: nothing to compare with.
    Plan(Box<Plan>),
    /// A recorded failure, and by what it was recorded.
    Recorded(Box<Reproducer>, Recorder),
}

/// By what a failure was recorded.
#[derive(Debug)]
pub(crate) struct Recorder {
    seedstorm: String,
    git: Option<String>,
    build: Option<String>,
    sqlite_source_id: String,
    sqlite_compile_options: Vec<String>,
}

impl Recorder {
    /// What has changed since. To tell the build takes as long as to read the executable.
    pub(crate) fn changed(&self) -> Vec<String> {
        let mut changed = Vec::new();
        if self.seedstorm != env!("CARGO_PKG_VERSION") {
            changed.push(format!("recorded with seedstorm {}, this is {}", self.seedstorm, env!("CARGO_PKG_VERSION")));
        } else if self.build.is_none() || self.build.as_deref() != this_build::digest() {
            let commits = match (self.git.as_deref(), this_build::commit()) {
                (Some(was), Some(is)) if was != is => format!(": with seedstorm of commit {was}, this has it of {is}"),
                _ => String::new(),
            };
            changed.push(format!("recorded with another build of this program{commits}"));
        }
        if self.sqlite_source_id != sqlite::source_id() {
            changed.push(format!("recorded with SQLite {}, this is {}", self.sqlite_source_id, sqlite::source_id()));
        } else if self.sqlite_compile_options != sqlite::compile_options() {
            changed.push("recorded with SQLite compiled with other options".to_owned());
        }
        changed
    }
}

/// The reproducer that a path stands for: that of a failure, if it is its folder.
pub(crate) fn file_of(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(FILE) } else { path.to_owned() }
}

/// Reads a reproducer or a plan. Whether its scenario can run it is looked at in `plan_file`.
///
/// # Errors
/// A file that can't be read or is neither: line and key.
pub(crate) fn read(path: &Path) -> Result<Replayable> {
    let wanted = &[FileKind::Reproducer, FileKind::Plan, FileKind::Failure];
    if let Some(kind) = FileKind::of(path).filter(|kind| !wanted.contains(kind)) {
        return Err(Problem::usage(format!("{}: {}", path.display(), kind.about())));
    }
    let path = &file_of(path);
    let wrong = |why: String| Problem::usage(format!("{}: {why}", path.display()));
    let text = plan_file::read_text(path).map_err(wrong)?;
    let table: toml::Table = read_toml(&text).map_err(|error| wrong(error.to_string()))?;
    if !table.contains_key("plan") {
        if FileKind::of_table(&table) == Some(FileKind::Reproducer) {
            return Err(wrong("a reproducer without its `[plan]`: was the file cut short?".to_owned()));
        }
        return Plan::from_toml(&text)
            .map(|plan| Replayable::Plan(Box::new(plan)))
            .map_err(|error| wrong(refused::in_file(&error)));
    }
    // Before the fields: a newer format may have others.
    let format = table.get("format").and_then(toml::Value::as_integer);
    if format.is_some_and(|format| format > i64::from(REPRODUCER_FORMAT)) {
        return Err(wrong(format!(
            "format {} is newer than {REPRODUCER_FORMAT}, the newest that this version reads",
            format.unwrap_or(0)
        )));
    }
    if format.is_some_and(|format| format < i64::from(REPRODUCER_FORMAT)) {
        return Err(wrong(format!(
            "format {} is older than {REPRODUCER_FORMAT}, the only one that this version reads: run its scenario and seed again",
            format.unwrap_or(0)
        )));
    }
    let stored: Stored = read_toml(&text).map_err(|error| wrong(refused::in_file(&error)))?;
    stored.plan.check().map_err(|refusal| plan_file::refused(Some(path), &refusal))?;
    let turns = match &stored.turns {
        None => None,
        Some(turns) => Some(read_turns(path, turns)?),
    };
    let Stored { seedstorm, git, build, sqlite_source_id, sqlite_compile_options, .. } = stored;
    let recorder = Recorder { seedstorm, git, build, sqlite_source_id, sqlite_compile_options };
    let Stored { plan, violation, trace_hash, steps, crash_points, without_invariants, .. } = stored;
    let checked = Checked { crash_points, without_invariants };
    let reproducer = Reproducer { plan, checked, turns, violation, trace_hash, steps };
    Ok(Replayable::Recorded(Box::new(reproducer), recorder))
}

fn read_turns(path: &Path, stored: &StoredTurns) -> Result<Turns> {
    let (place, text) = match (&stored.text, &stored.file) {
        (Some(text), None) => (path.to_owned(), text.clone()),
        (None, Some(name)) => {
            let side = path.with_file_name(name);
            let text = read_compressed(&side).map_err(|error| {
                let about = match error.kind() {
                    std::io::ErrorKind::NotFound => "the turns of the reproducer belong beside it",
                    _ => "the turns of the reproducer are damaged or cut short",
                };
                Problem::usage(format!("{}: {about}: {error}", side.display()))
            })?;
            (side, text)
        }
        _ => return Err(Problem::usage(format!("{}: `turns` needs one of `text` and `file`", path.display()))),
    };
    let lines = text.lines().count();
    if lines != stored.lines {
        return Err(Problem::usage(format!(
            "{}: {} turns were recorded, {lines} are there",
            place.display(),
            stored.lines
        )));
    }
    Turns::from_text(&text).map_err(|why| Problem::usage(format!("{}: turns, {why}", place.display())))
}

fn read_compressed(path: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    let decoder = zstd::Decoder::new(std::fs::File::open(path)?)?;
    decoder.take(TURNS_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > TURNS_BYTES_MAX {
        return Err(std::io::Error::other(format!(
            "more than {TURNS_BYTES_MAX} bytes of turns, the most that is allowed"
        )));
    }
    String::from_utf8(bytes).map_err(std::io::Error::other)
}

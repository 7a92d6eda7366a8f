//! Reads plans and files of faults from TOML, and says where one is wrong: line, what stands there, what is allowed.

use super::{FaultKind, FaultPlan, PLAN_FORMAT, Plan};
use crate::kernel::latency::PROFILES;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use thiserror::Error;
use toml::Spanned;

/// Why a plan or a file of faults can't be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// Not TOML, or not a plan.
    #[error("line {line}, `{text}`: {problem}")]
    Malformed {
        /// The line's number; the first is 1.
        line: usize,
        /// What stands there.
        text: String,
        /// What is wrong with it, and what is allowed.
        problem: String,
    },
    /// Written by a newer version.
    #[error("format {found} is newer than {PLAN_FORMAT}, the newest that this version reads")]
    TooNew {
        /// The format that the file names.
        found: u32,
    },
}

/// Reads a file of faults: `[[faults]]` tables, as in a plan.
///
/// # Errors
/// What is wrong and where.
pub fn read_faults(text: &str) -> Result<Vec<FaultPlan>, PlanError> {
    let FaultFile { faults } = read(text)?;
    let lines = Lines::of(text);
    check_faults(text, &lines, &faults)?;
    for (index, fault) in faults.iter().enumerate() {
        // A plan may draw a pause of no length. A person who leaves the length out has forgotten it.
        if let Some(problem) = missing_length(fault) {
            return Err(lines.malformed(text, lines.faults.get(index), format!("fault {}: {problem}", fault.id)));
        }
    }
    Ok(faults)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultFile {
    faults: Vec<FaultPlan>,
}

fn missing_length(fault: &FaultPlan) -> Option<String> {
    let kind = fault.kind.name();
    match fault.kind {
        FaultKind::Pause | FaultKind::Delay | FaultKind::PidReuse | FaultKind::MessageDelay if fault.for_ns == 0 => {
            Some(format!("`for_ns` is missing: how long does the {kind} last, in nanoseconds?"))
        }
        FaultKind::ClockJump if fault.by_ns == 0 => {
            Some("`by_ns` is missing: how far does the clock jump, in nanoseconds?".to_owned())
        }
        _ => None,
    }
}

/// Reads a plan.
pub(super) fn read_plan(text: &str) -> Result<Plan, PlanError> {
    // A newer plan may have keys that this version doesn't know: its format is looked at first.
    if let Ok(Format { format }) = toml::from_str(text)
        && format > PLAN_FORMAT
    {
        return Err(PlanError::TooNew { found: format });
    }
    let plan: Plan = read(text)?;
    let lines = Lines::of(text);
    check_faults(text, &lines, &plan.faults)?;
    for (index, operation) in plan.operations.iter().enumerate() {
        let problem = if operation.id == 0 {
            "an operation's `id` is 1 or more"
        } else if plan.operations[..index].iter().any(|other| other.id == operation.id) {
            "another operation has the same `id`; ids are unique"
        } else {
            continue;
        };
        let problem = format!("operation {}: {problem}", operation.id);
        return Err(lines.malformed(text, lines.operations.get(index), problem));
    }
    if !PROFILES.iter().any(|profile| profile.name == plan.latency) {
        let names: Vec<String> = PROFILES.iter().map(|profile| format!("`{}`", profile.name)).collect();
        let problem = format!("there is no latency profile `{}`; allowed: {}", plan.latency, names.join(", "));
        return Err(malformed(text, lines.latency.map_or(0, |latency| latency.span().start), problem));
    }
    Ok(plan)
}

#[derive(Deserialize)]
struct Format {
    format: u32,
}

fn check_faults(text: &str, lines: &Lines, faults: &[FaultPlan]) -> Result<(), PlanError> {
    for (index, fault) in faults.iter().enumerate() {
        let problem = if faults[..index].iter().any(|other| other.id == fault.id) {
            "another fault has the same `id`; ids are unique".to_owned()
        } else if let Err(problem) = fault.check() {
            problem
        } else {
            continue;
        };
        return Err(lines.malformed(text, lines.faults.get(index), format!("fault {}: {problem}", fault.id)));
    }
    Ok(())
}

/// Reads anything, with the parser's error put into one line.
fn read<T: DeserializeOwned>(text: &str) -> Result<T, PlanError> {
    toml::from_str(text)
        .map_err(|error| malformed(text, error.span().map_or(0, |span| span.start), error.message().to_owned()))
}

fn malformed(text: &str, offset: usize, problem: String) -> PlanError {
    // Where something is missing at the end, the place is behind the last line.
    let offset = offset.min(text.trim_end().len());
    let line = text[..offset].matches('\n').count();
    let text = text.lines().nth(line).unwrap_or_default().trim().to_owned();
    PlanError::Malformed { line: line + 1, text, problem }
}

/// Where the parts of a text begin.
#[derive(Default, Deserialize)]
struct Lines {
    #[serde(default)]
    faults: Vec<Spanned<IgnoredAny>>,
    #[serde(default)]
    operations: Vec<Spanned<IgnoredAny>>,
    latency: Option<Spanned<IgnoredAny>>,
}

impl Lines {
    /// The places in a text that has been read already.
    fn of(text: &str) -> Lines {
        toml::from_str(text).unwrap_or_default()
    }

    fn malformed(&self, text: &str, place: Option<&Spanned<IgnoredAny>>, problem: String) -> PlanError {
        malformed(text, place.map_or(0, |place| place.span().start), problem)
    }
}

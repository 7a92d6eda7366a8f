//! Reads plans and files of faults from TOML, and says where one is wrong: line, what stands there, what is allowed.

use super::{FaultKind, FaultPlan, PLAN_FORMAT, Place, Plan, Refusal, position};
use crate::kernel::latency::PROFILES;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use thiserror::Error;

/// Why a plan or a file of faults can't be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// Not TOML, or not a plan.
    #[error("line {line}{}: {problem}", quoted(text))]
    Malformed {
        /// The line's number; the first is 1.
        line: usize,
        /// What stands there; of a long line, a part.
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

fn quoted(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(", `{text}`") }
}

impl PlanError {
    /// A problem with a place of a plan, told with its line in the plan's text. `within` names the tables that the plan is in.
    pub fn at(text: &str, within: &[&str], place: &Place, problem: String) -> PlanError {
        malformed(text, position::offset(text, within, place), problem)
    }

    fn refused(text: &str, refusal: &Refusal) -> PlanError {
        PlanError::at(text, &[], &refusal.place, refusal.to_string())
    }
}

/// Reads a file of faults: `[[faults]]` tables, as in a plan.
///
/// # Errors
/// What is wrong and where.
pub fn read_faults(text: &str) -> Result<Vec<FaultPlan>, PlanError> {
    let FaultFile { faults } = read_toml(text)?;
    check_faults(&faults).map_err(|refusal| PlanError::refused(text, &refusal))?;
    for fault in &faults {
        // A plan may draw a pause of no length. A person who leaves the length out has forgotten it.
        if let Some(problem) = missing_length(fault) {
            return Err(PlanError::refused(text, &Refusal::words(whole(fault), problem)));
        }
    }
    Ok(faults)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultFile {
    faults: Vec<FaultPlan>,
}

fn whole(fault: &FaultPlan) -> Place {
    Place::Fault { id: fault.id, key: None }
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
    let plan: Plan = read_toml(text)?;
    check_plan(&plan).map_err(|refusal| PlanError::refused(text, &refusal))?;
    Ok(plan)
}

#[derive(Deserialize)]
struct Format {
    format: u32,
}

/// Looks at what every plan must have, whatever its scenario.
pub(super) fn check_plan(plan: &Plan) -> Result<(), Refusal> {
    check_faults(&plan.faults)?;
    let mut ids = BTreeSet::new();
    for operation in &plan.operations {
        let problem = if operation.id == 0 {
            "an operation's `id` is 1 or more"
        } else if !ids.insert(operation.id) {
            "another operation has the same `id`; ids are unique"
        } else {
            continue;
        };
        return Err(Refusal::words(Place::Operation { id: operation.id, key: None }, problem));
    }
    if !PROFILES.iter().any(|profile| profile.name == plan.latency) {
        let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        return Err(Refusal::value(Place::Key("latency"), &plan.latency, names.join(", ")));
    }
    if plan.steps_max == 0 {
        return Err(Refusal::value(Place::Key("steps_max"), "0", "a whole number of 1 or more"));
    }
    Ok(())
}

fn check_faults(faults: &[FaultPlan]) -> Result<(), Refusal> {
    let mut ids = BTreeSet::new();
    for fault in faults {
        if !ids.insert(fault.id) {
            return Err(Refusal::words(whole(fault), "another fault has the same `id`; ids are unique"));
        }
        fault.check().map_err(|problem| Refusal::words(whole(fault), problem))?;
    }
    Ok(())
}

/// Reads anything from TOML, with the parser's error put into one line.
///
/// # Errors
/// What is wrong and where.
pub fn read_toml<T: DeserializeOwned>(text: &str) -> Result<T, PlanError> {
    toml::from_str(text).map_err(|error| {
        if text.trim().is_empty() {
            return PlanError::Malformed { line: 1, text: String::new(), problem: "the file is empty".to_owned() };
        }
        let offset = error.span().map_or(0, |span| span.start);
        let cut = if offset >= text.trim_end().len() { "; the file ends there: was it cut short?" } else { "" };
        let problem = match UNQUOTED.iter().any(|beginning| error.message().starts_with(beginning)) {
            true => without_quotes(text, offset),
            false => in_plain_words(error.message()),
        };
        malformed(text, offset, problem + cut)
    })
}

/// How the parser begins where a value is no number, no truth value and in no quotes; the second, where it begins as a truth value does.
const UNQUOTED: [&str; 2] = ["string values must be quoted", "invalid boolean"];

/// What is said of a value without quotes, with its key where that is on the same line.
fn without_quotes(text: &str, offset: usize) -> String {
    let (before, after) = (text.get(..offset).unwrap_or_default(), text.get(offset..).unwrap_or_default());
    let line = before.rsplit('\n').next().unwrap_or_default();
    let key = line.rsplit_once('=').and_then(|(key, _)| key.rsplit(['{', ',', '[']).next()).map(str::trim);
    let place = key.map_or(String::new(), |key| format!("{key}: "));
    match after.split(['\n', ',', ']', '}', '#']).next().unwrap_or_default().trim() {
        "" => format!("{place}there is no value"),
        word => format!("{place}words need quotes: write \"{word}\" instead of {word}"),
    }
}

/// What serde expects is told by the names of Rust's types: here by what may be written.
fn in_plain_words(message: &str) -> String {
    let types: [(&str, i128, i128); 4] = [
        ("u32", 0, u32::MAX.into()),
        ("u64", 0, u64::MAX.into()),
        ("usize", 0, usize::MAX as i128),
        ("i64", i64::MIN.into(), i64::MAX.into()),
    ];
    types.iter().fold(message.trim_end().replace('\n', ", "), |message, (name, least, greatest)| {
        message.replace(&format!("expected {name}"), &format!("expected a whole number from {least} to {greatest}"))
    })
}

/// So much of a line is quoted, in characters.
const QUOTED_MAX: usize = 120;

fn malformed(text: &str, offset: usize, problem: String) -> PlanError {
    // Where something is missing at the end, the place is behind the last line.
    let offset = offset.min(text.trim_end().len());
    let line = text[..offset].matches('\n').count();
    let whole = text.lines().nth(line).unwrap_or_default();
    let column = text[..offset].chars().rev().take_while(|character| *character != '\n').count();
    let text = if whole.trim().chars().count() <= QUOTED_MAX {
        whole.trim().to_owned()
    } else {
        let first = column.saturating_sub(QUOTED_MAX / 2);
        let part: String = whole.chars().skip(first).take(QUOTED_MAX).collect();
        let (before, after) = (first > 0, first + QUOTED_MAX < whole.chars().count());
        [if before { "…" } else { "" }, part.trim(), if after { "…" } else { "" }].concat()
    };
    PlanError::Malformed { line: line + 1, text, problem }
}

//! Plans from files: what is wrong with one is told with its place. What every plan must have is `sim::plan`'s business; the rest, its scenario's.

use crate::catalogue::{Catalogue, Known};
use crate::exit::{Problem, Result};
use crate::file_kind::FileKind;
use crate::interrupt;
use crate::refused;
use seedstorm_sim::Plan;
use seedstorm_sim::plan::{Place, PlanError, Refusal};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Reads a plan, and finds its scenario.
///
/// # Errors
/// A file that can't be read or is no plan; what can't be in it: line, key, value, what is allowed.
pub(crate) fn read(catalogue: Catalogue, path: &Path) -> Result<(Known, Plan)> {
    let wrong = |why: &dyn std::fmt::Display| Problem::Usage(FileKind::complaint(path, &[FileKind::Plan], why));
    let text = read_text(path).map_err(|why| wrong(&why))?;
    let plan = Plan::from_toml(&text).map_err(|error| wrong(&refused::in_file(&error)))?;
    let source = Source { path: path.to_owned(), text: Some(text) };
    let scenario = of_source(catalogue, &plan, Some(&source))?;
    Ok((scenario, plan))
}

/// The text of a file.
///
/// # Errors
/// Why there is none, in words.
pub(crate) fn read_text(path: &Path) -> std::result::Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => "it holds no text".to_owned(),
        _ => error.to_string(),
    })
}

/// The scenario of a plan that has been read, which must know all that is in it. `path` is the file or the folder of the failure that it came from.
///
/// # Errors
/// There is no such scenario, or it refuses the plan: where in the file, and what is allowed.
pub(crate) fn scenario_of(catalogue: Catalogue, plan: &Plan, path: Option<&Path>) -> Result<Known> {
    of_source(catalogue, plan, path.map(Source::file).as_ref())
}

fn of_source(catalogue: Catalogue, plan: &Plan, source: Option<&Source>) -> Result<Known> {
    let scenario = match catalogue.named(&plan.scenario) {
        Ok(scenario) => scenario,
        Err(problem) => return Err(placed(source, &Place::Key("scenario"), problem.to_string())),
    };
    check_source(scenario, plan, source)?;
    Ok(scenario)
}

/// Where a plan came from.
struct Source {
    path: PathBuf,
    /// What was read there. `None`: it is a file, which can be read once more to find a line. A pipe can't.
    text: Option<String>,
}

impl Source {
    /// The file, or the reproducer in the folder of a failure.
    fn file(path: &Path) -> Source {
        Source { path: crate::reproducer::file_of(path), text: None }
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        match &self.text {
            Some(text) => Some(Cow::Borrowed(text)),
            None if self.path.is_file() => std::fs::read_to_string(&self.path).ok().map(Cow::Owned),
            None => None,
        }
    }
}

/// Looks at a plan as its scenario does.
///
/// # Errors
/// As [`scenario_of`].
pub(crate) fn check(scenario: Known, plan: &Plan, path: Option<&Path>) -> Result<()> {
    check_source(scenario, plan, path.map(Source::file).as_ref())
}

fn check_source(scenario: Known, plan: &Plan, source: Option<&Source>) -> Result<()> {
    let refused = |refusal: &Refusal| placed(source, &refusal.place, refused::in_plan(refusal));
    // Whatever a scenario itself looks at.
    plan.check_fault_kinds(scenario.faults())
        .and_then(|()| scenario.check(plan))
        .map_err(|refusal| refused(&refusal))?;
    // Who is there, its world tells.
    interrupt::check(scenario, plan).map_err(|problem| match problem {
        Problem::Refused(refusal) => refused(&refusal),
        problem => problem,
    })
}

/// What is said of a plan that is refused.
pub(crate) fn refused(path: Option<&Path>, refusal: &Refusal) -> Problem {
    placed(path.map(Source::file).as_ref(), &refusal.place, refused::in_plan(refusal))
}

/// A problem with a place of a plan, with its line.
fn placed(source: Option<&Source>, place: &Place, problem: String) -> Problem {
    let Some(source) = source else { return Problem::Usage(problem) };
    match source.text() {
        Some(text) => {
            let within: &[&str] = if is_reproducer(&text) { &["plan"] } else { &[] };
            Problem::Usage(format!("{}: {}", source.path.display(), PlanError::at(&text, within, place, problem)))
        }
        None => Problem::Usage(format!("{}: {problem}", source.path.display())),
    }
}

fn is_reproducer(text: &str) -> bool {
    text.parse().is_ok_and(|table: toml::Table| table.contains_key("plan"))
}

//! Plans from files: what is wrong with one is told with its place. What every plan must have is `sim::plan`'s business; the rest, its scenario's.

use crate::catalogue::{Catalogue, Known};
use crate::exit::{Problem, Result};
use crate::file_kind::FileKind;
use crate::refused;
use seedstorm_sim::Plan;
use seedstorm_sim::plan::{Place, PlanError, Refusal};
use std::path::Path;

/// Reads a plan, and finds its scenario.
///
/// # Errors
/// A file that can't be read or is no plan; what can't be in it: line, key, value, what is allowed.
pub(crate) fn read(catalogue: Catalogue, path: &Path) -> Result<(Known, Plan)> {
    let wrong = |why: &dyn std::fmt::Display| Problem::Usage(FileKind::complaint(path, &[FileKind::Plan], why));
    let text = read_text(path).map_err(|why| wrong(&why))?;
    let plan = Plan::from_toml(&text).map_err(|error| wrong(&error))?;
    let scenario = scenario_of(catalogue, &plan, Some(path))?;
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
    let scenario = match catalogue.named(&plan.scenario) {
        Ok(scenario) => scenario,
        Err(problem) => return Err(placed(path, &Place::Key("scenario"), problem.to_string())),
    };
    check(scenario, plan, path)?;
    Ok(scenario)
}

/// Looks at a plan as its scenario does.
///
/// # Errors
/// As [`scenario_of`].
pub(crate) fn check(scenario: Known, plan: &Plan, path: Option<&Path>) -> Result<()> {
    scenario.check(plan).map_err(|refusal| refused(path, &refusal))
}

/// What is said of a plan that is refused.
pub(crate) fn refused(path: Option<&Path>, refusal: &Refusal) -> Problem {
    placed(path, &refusal.place, refused::in_plan(refusal))
}

/// A problem with a place of a plan: the file is read once more to find its line.
fn placed(path: Option<&Path>, place: &Place, problem: String) -> Problem {
    let Some(path) = path else { return Problem::Usage(problem) };
    let path = &crate::reproducer::file_of(path);
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let within: &[&str] = if is_reproducer(&text) { &["plan"] } else { &[] };
            Problem::Usage(format!("{}: {}", path.display(), PlanError::at(&text, within, place, problem)))
        }
        Err(_) => Problem::Usage(format!("{}: {problem}", path.display())),
    }
}

fn is_reproducer(text: &str) -> bool {
    text.parse().is_ok_and(|table: toml::Table| table.contains_key("plan"))
}

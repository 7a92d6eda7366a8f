//! `--faults`: a word, a list of kinds, or a file. The vocabulary itself is `sim::plan`'s.

use crate::catalogue::unknown;
use crate::exit::{Problem, Result};
use seedstorm_sim::plan::{FaultKind, FaultPlan, Faults, read_faults};
use std::path::Path;

/// Reads the option's text; `None` is the scenario's own choice.
///
/// # Errors
/// An unknown kind; a file that can't be read, with line and key.
pub(crate) fn parse(text: Option<&str>) -> Result<Faults> {
    match text.map(str::trim) {
        None | Some("default") => Ok(Faults::Default),
        Some("none") => Ok(Faults::None),
        Some(path) if path.ends_with(".toml") => file(Path::new(path)).map(Faults::Exactly),
        Some(list) => list.split(',').map(|name| kind(name.trim())).collect::<Result<_>>().map(Faults::Kinds),
    }
}

fn kind(name: &str) -> Result<FaultKind> {
    FaultKind::parse(name).ok_or_else(|| {
        let mut names = vec!["default", "none"];
        names.extend(FaultKind::ALL.iter().map(|kind| kind.name()));
        Problem::usage(format!("--faults: {}; or the name of a .toml file", unknown("fault", name, &names)))
    })
}

fn file(path: &Path) -> Result<Vec<FaultPlan>> {
    let wrong = |why: String| Problem::usage(format!("--faults {}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    read_faults(&text).map_err(|error| wrong(error.to_string()))
}

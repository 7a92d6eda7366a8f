//! `--faults`: a word, a list of kinds, or a file, and where they can happen. The vocabulary itself is `sim::plan`'s.

use crate::catalogue::{Known, alone, unknown};
use crate::exit::{Problem, Result};
use crate::file_kind::FileKind;
use crate::plan_file;
use crate::refused;
use crate::stderr;
use seedstorm_sim::Options;
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
        Some(list) => match path(list) {
            Some(path) => file(path).map(Faults::Exactly),
            None => {
                alone("--faults", list, &["default", "none"])?;
                list.split(',').map(|name| kind(name.trim())).collect::<Result<_>>().map(Faults::Kinds)
            }
        },
    }
}

/// The file that the option's text names, if it does.
pub(crate) fn path(text: &str) -> Option<&Path> {
    Some(text.trim()).filter(|text| text.ends_with(".toml")).map(Path::new)
}

/// Makes sure that what is asked for by name can happen in one of these scenarios at least. Where it can't, it is left out, which is said on stderr.
///
/// # Errors
/// A kind that can happen in none of them.
pub(crate) fn check(scenarios: &[Known], options: &Options) -> Result<()> {
    let Faults::Kinds(kinds) = &options.faults else { return Ok(()) };
    let mut left_out = Vec::new();
    for kind in kinds {
        let (with, without): (Vec<Known>, Vec<Known>) =
            scenarios.iter().copied().partition(|scenario| scenario.faults().contains(kind));
        let name = kind.name();
        if with.is_empty() && !without.is_empty() {
            let can = FaultKind::ALL.iter().filter(|kind| scenarios.iter().any(|one| one.faults().contains(kind)));
            let can: Vec<&str> = can.map(|kind| kind.name()).collect();
            let (names, can) = (names(&without), can.join(", "));
            return Err(Problem::usage(format!("--faults: `{name}` can't happen in {names}; allowed: {can}")));
        }
        if !without.is_empty() {
            left_out.push(format!("`{name}` in {}", names(&without)));
        }
    }
    if !left_out.is_empty() {
        let left_out = left_out.join("; ");
        stderr::say(format_args!("warning: --faults: left out where it can't happen: {left_out}"));
    }
    Ok(())
}

fn names(scenarios: &[Known]) -> String {
    scenarios.iter().map(|scenario| format!("`{}`", scenario.name())).collect::<Vec<_>>().join(", ")
}

/// What the option says for one scenario of several: its text, without kinds that can't happen there.
pub(crate) fn within(text: &str, scenario: Known) -> String {
    let Ok(Faults::Kinds(kinds)) = parse(Some(text)) else { return text.to_owned() };
    let can = |kind: &&FaultKind| scenario.faults().contains(kind);
    let kept: Vec<&str> = kinds.iter().filter(can).map(|kind| kind.name()).collect();
    match kept.len() {
        0 => "none".to_owned(),
        len if len == kinds.len() => text.to_owned(),
        _ => kept.join(","),
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
    let wrong = |why: &dyn std::fmt::Display| {
        Problem::usage(format!("--faults {}", FileKind::complaint(path, &[FileKind::Faults], why)))
    };
    let text = plan_file::read_text(path).map_err(|why| wrong(&why))?;
    read_faults(&text).map_err(|error| wrong(&refused::in_file(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_for_one_scenario_asks_for_what_can_happen_there() {
        let all = seedstorm_scenarios::all();
        let of = |name: &str| all.iter().copied().find(|scenario| scenario.name() == name).expect("a scenario");
        for (text, in_wal, in_flood) in [
            ("default", "default", "default"),
            ("none", "none", "none"),
            ("kill, pause", "kill, pause", "kill, pause"),
            ("message-loss,kill,partition,pause", "kill,pause", "message-loss,kill,partition,pause"),
            ("message-loss", "none", "message-loss"),
            ("nowhere.toml", "nowhere.toml", "nowhere.toml"),
        ] {
            assert_eq!(within(text, of("sqlite-wal")), in_wal);
            assert_eq!(within(text, of("signal-flood")), in_flood);
        }
    }
}

//! What scenarios refuse, for people: with what was perhaps meant. Which values are allowed is for the scenarios to say.

use crate::catalogue::{Known, nearest};
use crate::exit::{Problem, Result};
use crate::interrupt;
use crate::plan_file;
use seedstorm_sim::plan::{OptionsError, Place, Refusal, Why};
use seedstorm_sim::{Options, Plan, Seed};
use std::path::Path;

/// Draws a seed's plan. Where its faults come from a file, the scenario looks at them too.
///
/// # Errors
/// Options that the scenario doesn't take; a `plan` that doesn't come to an end.
pub(crate) fn draw(scenario: Known, seed: Seed, options: &Options, faults_file: Option<&Path>) -> Result<Plan> {
    let plan = interrupt::draw(scenario, seed, options)?.and_then(|plan| options.check(&plan).map(|()| plan));
    let plan = plan.map_err(|error| Problem::Usage(of_option(scenario, &error)))?;
    if faults_file.is_some() {
        plan_file::check(scenario, &plan, faults_file).map_err(|problem| of_faults_file(scenario, &problem))?;
    }
    Ok(plan)
}

fn of_faults_file(scenario: Known, problem: &Problem) -> Problem {
    Problem::Usage(format!("--faults {problem} (scenario `{}`)", scenario.name()))
}

/// A problem of a run, told with its place in the file that the plan came from, or its faults.
pub(crate) fn of_run(scenario: Known, problem: Problem, plan: Option<&Path>, faults_file: Option<&Path>) -> Problem {
    let Problem::Refused(refusal) = problem else { return problem };
    match refusal.place {
        Place::Fault { .. } if plan.is_none() && faults_file.is_some() => {
            of_faults_file(scenario, &plan_file::refused(faults_file, &refusal))
        }
        _ => plan_file::refused(plan, &refusal),
    }
}

/// What is said of an option that a scenario refuses.
fn of_option(scenario: Known, error: &OptionsError) -> String {
    let OptionsError { option, value, allowed } = error;
    format!("{option}: `{value}` is not possible in `{}`{}", scenario.name(), instead(value, allowed))
}

/// What is said of something in a plan that can't be.
pub(crate) fn in_plan(refusal: &Refusal) -> String {
    let Refusal { place, why } = refusal;
    match why {
        Why::Value { value, allowed } => format!("{place}: `{value}` is not possible{}", instead(value, allowed)),
        Why::Unknown { key, allowed } => match place {
            // Its name says the key already.
            Place::Setting(_) => format!("{place}: there is no such setting{}", instead(key, allowed)),
            _ => format!("{place}: there is no `{key}`{}", instead(key, allowed)),
        },
        Why::Words(words) => format!("{place}: {words}"),
    }
}

/// What is said of a file that can't be read: where serde names a word that it doesn't know and those that it does, with the one that was perhaps meant.
pub(crate) fn in_file(error: &impl std::fmt::Display) -> String {
    let message = error.to_string();
    let name_begins = UNKNOWN.iter().find_map(|word| message.rfind(word).map(|place| place + word.len()));
    let Some(from) = name_begins else { return message };
    let Some((name, rest)) = message[from..].split_once('`') else { return message };
    // Every other part stands between backticks.
    let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    match (nearest(name, known.iter().copied()), rest.find('`')) {
        (Some(near), Some(list)) => {
            format!("{}{name}`; did you mean `{near}`? allowed: {}", &message[..from], &rest[list..])
        }
        _ => message,
    }
}

/// How what is unknown is told.
const UNKNOWN: [&str; 3] = ["unknown field `", "unknown variant `", "unknown strategy `"];

/// What was perhaps meant, and what is allowed.
fn instead(value: &str, allowed: &str) -> String {
    let meant = nearest(value, allowed.split(", ")).map_or(String::new(), |near| format!(" did you mean `{near}`?"));
    format!(";{meant} allowed: {allowed}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_perhaps_meant_in_a_file_is_told() {
        let told = [
            (
                "line 2, `sed = 1`: unknown field `sed`, expected one of `scenario`, `seed`",
                "line 2, `sed = 1`: unknown field `sed`; did you mean `seed`? allowed: `scenario`, `seed`",
            ),
            (
                "unknown variant `kil`, expected `kill` or `pause`",
                "unknown variant `kil`; did you mean `kill`? allowed: `kill` or `pause`",
            ),
            ("unknown strategy `urv`; allowed: `urw`", "unknown strategy `urv`; did you mean `urw`? allowed: `urw`"),
            (
                "unknown field `x`, expected one of `scenario`, `seed`",
                "unknown field `x`, expected one of `scenario`, `seed`",
            ),
            ("line 1: the file is empty", "line 1: the file is empty"),
        ];
        for (message, words) in told {
            assert_eq!(in_file(&message), words);
        }
    }
}

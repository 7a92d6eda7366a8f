//! What scenarios refuse, for people: with what was perhaps meant. Which values are allowed is for the scenarios to say.

use crate::catalogue::{Known, nearest};
use crate::exit::{Problem, Result};
use crate::plan_file;
use seedstorm_sim::plan::{OptionsError, Place, Refusal, Why};
use seedstorm_sim::{Options, Plan, Seed};
use std::path::Path;

/// Draws a seed's plan. Where its faults come from a file, the scenario looks at them too.
///
/// # Errors
/// Options that the scenario doesn't take.
pub(crate) fn draw(scenario: Known, seed: Seed, options: &Options, faults_file: Option<&Path>) -> Result<Plan> {
    let plan = scenario.plan(seed, options).and_then(|plan| options.check(&plan).map(|()| plan));
    let plan = plan.map_err(|error| Problem::Usage(of_option(scenario, &error)))?;
    if faults_file.is_some() {
        plan_file::check(scenario, &plan, faults_file)
            .map_err(|problem| Problem::Usage(format!("--faults {problem} (scenario `{}`)", scenario.name())))?;
    }
    Ok(plan)
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

/// What was perhaps meant, and what is allowed.
fn instead(value: &str, allowed: &str) -> String {
    let meant = nearest(value, allowed.split(", ")).map_or(String::new(), |near| format!(" did you mean `{near}`?"));
    format!(";{meant} allowed: {allowed}")
}

//! Looks at a plan that came from a file: what options say in one is held to the ranges that options have, and names must be known. Times of operations and of the
//! calm, and budgets, have no range. How plans are drawn is in each scenario's workload.

use crate::plans::{WORKERS, WORKERS_MAX};
use crate::setting::{self, Setting};
use seedstorm_sim::plan::{Between, FaultKind, FaultPlan, Operation, Place, Plan, Refusal};
use toml::Value;

/// What a scenario knows of a plan.
pub(crate) struct Rules<'a> {
    /// Its settings.
    pub(crate) settings: &'a [Setting],
    /// Settings that are in each plan, and can't be chosen.
    pub(crate) fixed: &'a [(&'static str, i64)],
    /// Its kinds of operation, and what arguments each has.
    pub(crate) kinds: &'a [(&'static str, &'a [Argument])],
    /// The kinds of fault that can happen in it.
    pub(crate) faults: &'a [FaultKind],
    /// The longest chaos that its options can bring about, in nanoseconds.
    pub(crate) chaos_ns_max: u64,
}

/// An argument of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    /// Its key.
    pub(crate) key: &'static str,
    /// Whether an operation can do without it.
    pub(crate) is_optional: bool,
    /// What it can be.
    pub(crate) range: ArgumentRange,
}

/// What an argument can be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ArgumentRange {
    /// A whole number, from the least to the greatest.
    Number(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// The name of something: one of these, and a number.
    Name(&'static [&'static str]),
    /// Several such names.
    Names(&'static [&'static str]),
    /// The name of an agent of the plan.
    Agent,
    /// Texts, which somebody else looks at.
    Texts,
}

impl Argument {
    /// One that an operation must have.
    pub(crate) const fn needed(key: &'static str, range: ArgumentRange) -> Argument {
        Argument { key, is_optional: false, range }
    }

    /// One that it may have.
    pub(crate) const fn optional(key: &'static str, range: ArgumentRange) -> Argument {
        Argument { key, is_optional: true, range }
    }

    fn allowed(&self, workers: u64) -> String {
        match self.range {
            ArgumentRange::Number(least, greatest) => format!("a whole number from {least} to {greatest}"),
            ArgumentRange::Word(words) => words.join(", "),
            ArgumentRange::Name(stems) => named(stems),
            ArgumentRange::Names(stems) => format!("a list, of {}", named(stems)),
            ArgumentRange::Agent => agents(workers),
            ArgumentRange::Texts => "a list of texts".to_owned(),
        }
    }

    fn takes(&self, value: &Value, workers: u64) -> bool {
        let text = |value: &Value, is_right: &dyn Fn(&str) -> bool| value.as_str().is_some_and(is_right);
        match self.range {
            ArgumentRange::Number(least, greatest) => {
                let given = value.as_integer().and_then(|given| u64::try_from(given).ok());
                given.is_some_and(|given| (least..=greatest).contains(&given))
            }
            ArgumentRange::Word(words) => text(value, &|word| words.contains(&word)),
            ArgumentRange::Name(stems) => text(value, &|name| is_named(name, stems)),
            ArgumentRange::Names(stems) => {
                value.as_array().is_some_and(|names| names.iter().all(|name| text(name, &|name| is_named(name, stems))))
            }
            ArgumentRange::Agent => text(value, &|name| is_agent(name, workers)),
            ArgumentRange::Texts => value.as_array().is_some_and(|texts| texts.iter().all(Value::is_str)),
        }
    }
}

/// The number of a name that begins so.
fn number_of(name: &str, stem: &str) -> Option<u64> {
    let number = name.strip_prefix(stem)?;
    // Names are compared as texts: there is one way to write each.
    number.parse::<u64>().ok().filter(|parsed| parsed.to_string() == number)
}

fn is_named(name: &str, stems: &[&str]) -> bool {
    stems.iter().any(|stem| number_of(name, stem).is_some())
}

fn named(stems: &[&str]) -> String {
    stems.iter().map(|stem| format!("{stem}0, {stem}1 and so on")).collect::<Vec<_>>().join("; ")
}

fn is_agent(name: &str, workers: u64) -> bool {
    number_of(name, "agent-").is_some_and(|index| index < workers)
}

fn agents(workers: u64) -> String {
    match workers {
        1 => "agent-0".to_owned(),
        _ => format!("agent-0 to agent-{}", workers.saturating_sub(1)),
    }
}

/// Looks at a plan.
///
/// # Errors
/// What the scenario doesn't know, where, and what is allowed.
pub(crate) fn plan(plan: &Plan, rules: &Rules<'_>) -> Result<(), Refusal> {
    let others: Vec<&str> = rules.fixed.iter().map(|(key, _)| *key).chain([WORKERS]).collect();
    setting::check(rules.settings, &plan.settings, &others)?;
    for (key, value) in rules.fixed {
        if plan.settings.get(*key).and_then(Value::as_integer) != Some(*value) {
            return Err(refused_setting(plan, key, &value.to_string()));
        }
    }
    let workers = plan.settings.get(WORKERS).and_then(Value::as_integer).and_then(|given| u64::try_from(given).ok());
    let Some(workers) = workers.filter(|given| (1..=WORKERS_MAX).contains(given)) else {
        return Err(refused_setting(plan, WORKERS, &format!("a whole number from 1 to {WORKERS_MAX}")));
    };
    if !(1..=rules.chaos_ns_max).contains(&plan.chaos_ns) {
        let allowed = format!("a whole number from 1 to {}, in nanoseconds", rules.chaos_ns_max);
        return Err(Refusal::value(Place::Key("chaos_ns"), plan.chaos_ns.to_string(), allowed));
    }
    if let Some(name) = plan.absent.iter().find(|name| !is_agent(name, workers)) {
        return Err(Refusal::value(Place::Key("absent"), name, agents(workers)));
    }
    // The preparation has a clock, too.
    if let Some(name) = plan.clock_skew_ns.keys().find(|name| !is_agent(name, workers) && *name != PREPARATION) {
        let allowed = format!("{}; {PREPARATION}", agents(workers));
        return Err(Refusal::value(Place::Key("clock_skew_ns"), name, allowed));
    }
    plan.check_fault_kinds(rules.faults)?;
    plan.faults.iter().try_for_each(|fault| check_fault(fault, workers))?;
    plan.operations.iter().try_for_each(|operation| check_operation(operation, rules.kinds, workers))
}

const PREPARATION: &str = "prepare-0";

fn refused_setting(plan: &Plan, key: &str, allowed: &str) -> Refusal {
    let place = Place::Setting(key.to_owned());
    match plan.settings.get(key) {
        Some(found) => Refusal::value(place, setting::text(found), allowed),
        None => setting::missing(key, allowed),
    }
}

fn check_fault(fault: &FaultPlan, workers: u64) -> Result<(), Refusal> {
    let place = |key| Place::Fault { id: fault.id, key: Some(key) };
    if let Some(process) = fault.process.as_ref().filter(|name| !is_agent(name, workers)) {
        return Err(Refusal::value(place("process"), process, agents(workers)));
    }
    let sides = fault.between.iter().flat_map(|Between { from, to, .. }| from.iter().chain(to));
    match sides.into_iter().find(|name| !is_agent(name, workers)) {
        Some(name) => Err(Refusal::value(place("between"), name, agents(workers))),
        None => Ok(()),
    }
}

fn check_operation(operation: &Operation, kinds: &[(&str, &[Argument])], workers: u64) -> Result<(), Refusal> {
    let place = |key: Option<&str>| Place::Operation { id: operation.id, key: key.map(str::to_owned) };
    let Some((kind, arguments)) = kinds.iter().find(|(kind, _)| *kind == operation.kind) else {
        let allowed: Vec<&str> = kinds.iter().map(|(kind, _)| *kind).collect();
        return Err(Refusal::value(place(Some("kind")), &operation.kind, allowed.join(", ")));
    };
    if !is_agent(&operation.process, workers) {
        return Err(Refusal::value(place(Some("process")), &operation.process, agents(workers)));
    }
    for (key, value) in &operation.arguments {
        let Some(argument) = arguments.iter().find(|argument| argument.key == key) else {
            let known: Vec<&str> = arguments.iter().map(|argument| argument.key).collect();
            let allowed = if known.is_empty() { format!("none, for {kind}") } else { known.join(", ") };
            return Err(Refusal::unknown(place(Some(key)), key, allowed));
        };
        if !argument.takes(value, workers) {
            return Err(Refusal::value(place(Some(key)), setting::text(value), argument.allowed(workers)));
        }
    }
    let is_missing = |argument: &&Argument| !argument.is_optional && !operation.arguments.contains_key(argument.key);
    match arguments.iter().find(is_missing) {
        Some(argument) => {
            let words = format!("`{}` is missing; allowed: {}", argument.key, argument.allowed(workers));
            Err(Refusal::words(place(None), words))
        }
        None => Ok(()),
    }
}

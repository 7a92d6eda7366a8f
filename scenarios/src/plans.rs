//! What the plans of all scenarios share: limits, names, common draws, and looks at what came from a file. What each scenario draws besides is in its own
//! workload.

use seedstorm_sim::plan::{Operation, Options, OptionsError, Plan};
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::{Draw, Seed};
use std::collections::BTreeMap;
use toml::Value;

/// A second, in nanoseconds.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

const WORKERS_MAX: u64 = 1024;
const DURATION_NS_MAX: u64 = 24 * 3600 * SECOND_NS;

/// Operation ids of one agent begin here, times its index plus one: taking away an agent shifts no other's. The second half is for the calm.
pub(crate) const IDS_PER_AGENT: u64 = 1_000_000;

/// How many agents there are: one of these, unless an option says so.
///
/// # Errors
/// More or fewer than can be.
pub(crate) fn workers(seed: Seed, options: &Options, drawn: &[u64]) -> Result<u64, OptionsError> {
    let drawn = seed.stream("workers").pick(drawn).copied().unwrap_or(1);
    in_range("--workers", options.workers.map(u64::from), drawn, WORKERS_MAX)
}

/// What `--duration` says, in nanoseconds.
///
/// # Errors
/// More or less than can be.
pub(crate) fn duration_ns(options: &Options, default: u64) -> Result<u64, OptionsError> {
    in_range("--duration", options.duration_ns, default, DURATION_NS_MAX)
}

fn in_range(option: &str, given: Option<u64>, default: u64, greatest: u64) -> Result<u64, OptionsError> {
    let value = given.unwrap_or(default);
    if (1..=greatest).contains(&value) {
        return Ok(value);
    }
    Err(OptionsError { option: option.into(), value: value.to_string(), allowed: format!("from 1 to {greatest}") })
}

/// The names of so many agents.
pub(crate) fn agents(workers: u64) -> Vec<String> {
    (0..workers).map(|index| format!("agent-{index}")).collect()
}

/// Times at which all agents begin at once: without them thirty seconds hold hardly any contention.
pub(crate) fn bursts(seed: Seed, count: u64, chaos_ns: u64) -> Vec<u64> {
    let mut stream = seed.stream("bursts");
    let mut at_ns: Vec<u64> = (0..count).map(|_| stream.below(chaos_ns - chaos_ns / 4)).collect();
    at_ns.sort_unstable();
    at_ns
}

/// Weights in this seed: each is a quarter, once or thrice what it is by itself.
pub(crate) fn weights(seed: Seed, of: &[(&str, u64)]) -> Vec<u64> {
    let mut stream = seed.stream("weights");
    of.iter().map(|(_, weight)| weight * [1, 4, 12][stream.below(3) as usize]).collect()
}

/// What a machine crash may lose, as the setting says.
pub(crate) fn persistence(settings: &BTreeMap<String, Value>) -> Persistence {
    match settings.get("persistence").and_then(Value::as_str) {
        Some("strict") => Persistence::Strict,
        Some("ext4") => Persistence::Ext4,
        _ => Persistence::Posix,
    }
}

/// Looks at the page size that was asked for.
///
/// # Errors
/// One that SQLite doesn't know.
pub(crate) fn check_page(settings: &BTreeMap<String, Value>) -> Result<(), OptionsError> {
    let bytes = settings.get("page_bytes").and_then(Value::as_integer).unwrap_or(0) as u64;
    if bytes.is_power_of_two() {
        return Ok(());
    }
    let allowed = "a power of two from 512 to 65536".into();
    Err(OptionsError { option: "--set page_bytes".into(), value: bytes.to_string(), allowed })
}

/// Looks at the settings that a scenario fixes: they are in each plan, and can't be chosen.
///
/// # Errors
/// One that is missing or another.
pub(crate) fn check_fixed(fixed: &[(&str, i64)], plan: &Plan) -> Result<(), OptionsError> {
    for (key, value) in fixed {
        let found = plan.settings.get(*key);
        if found.and_then(Value::as_integer) != Some(*value) {
            let found = found.map_or_else(String::new, Value::to_string);
            return Err(OptionsError { option: format!("settings.{key}"), value: found, allowed: value.to_string() });
        }
    }
    Ok(())
}

/// Looks at an operation's kind and process.
///
/// # Errors
/// A kind that isn't one of these, or a process that isn't one of so many agents.
pub(crate) fn check_operation(operation: &Operation, kinds: &[&str], workers: u64) -> Result<(), OptionsError> {
    let option = |key: &str| format!("operation {}, {key}", operation.id);
    if !kinds.contains(&operation.kind.as_str()) {
        let (value, allowed) = (operation.kind.clone(), kinds.join(", "));
        return Err(OptionsError { option: option("kind"), value, allowed });
    }
    let index = operation.process.strip_prefix("agent-").and_then(|index| index.parse::<u64>().ok());
    if index.is_none_or(|index| index >= workers) {
        let allowed = format!("agent-0 to agent-{}", workers.saturating_sub(1));
        return Err(OptionsError { option: option("process"), value: operation.process.clone(), allowed });
    }
    Ok(())
}

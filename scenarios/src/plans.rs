//! What the plans of all scenarios share: limits, names, common draws. What each scenario draws besides is in its own workload; plans that came from a file
//! are looked at in `check`.

use seedstorm_sim::metrics::Nanoseconds;
use seedstorm_sim::plan::{Options, OptionsError, Plan};
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::{Draw, Seed};
use std::collections::BTreeMap;
use toml::Value;

/// A second, in nanoseconds.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// The most agents.
pub(crate) const WORKERS_MAX: u64 = 1024;

/// The longest that `--duration` can say, in nanoseconds.
pub(crate) const DURATION_NS_MAX: u64 = 24 * 3600 * SECOND_NS;

/// The setting that says how many agents there are.
pub(crate) const WORKERS: &str = "workers";

/// How many agents a plan has. No more than can be, even of a plan that nobody has looked at.
pub(crate) fn workers_of(plan: &Plan) -> u32 {
    plan.setting_u64(WORKERS, 1).min(WORKERS_MAX) as u32
}

/// Operation ids of one agent begin here, times its index plus one: taking away an agent shifts no other's. The second half is for the calm.
pub(crate) const IDS_PER_AGENT: u64 = 1_000_000;

/// How many agents there are: one of these, unless an option says so.
///
/// # Errors
/// More or fewer than can be.
pub(crate) fn workers(seed: Seed, options: &Options, drawn: &[u64]) -> Result<u64, OptionsError> {
    let drawn = seed.stream("workers").pick(drawn).copied().unwrap_or(1);
    let workers = options.workers.map_or(drawn, u64::from);
    if (1..=WORKERS_MAX).contains(&workers) {
        return Ok(workers);
    }
    let allowed = format!("a whole number from 1 to {WORKERS_MAX}");
    Err(OptionsError { option: "--workers".into(), value: workers.to_string(), allowed })
}

/// What `--duration` says, in nanoseconds.
///
/// # Errors
/// More or less than can be.
pub(crate) fn duration_ns(options: &Options, default: u64) -> Result<u64, OptionsError> {
    let duration_ns = options.duration_ns.unwrap_or(default);
    if (1..=DURATION_NS_MAX).contains(&duration_ns) {
        return Ok(duration_ns);
    }
    // Written as it can be given.
    let value = Nanoseconds(duration_ns).to_string().replace(' ', "");
    let allowed = "from 1ns to 24h, a number and a unit (ns, us, ms, s, m, h)".into();
    Err(OptionsError { option: "--duration".into(), value, allowed })
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

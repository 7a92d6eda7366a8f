//! How an avalanche's plan is drawn: settings, bursts, the batches of each agent.

use super::records::{STRUCTURES, Size, draw};
use super::universe::Universe;
use crate::faults::Menu;
use crate::oracle::beliefs::reading::Planned;
use crate::setting::{self, Range, Setting, settle};
use crate::swarm;
use seedstorm_sim::plan::{Operation, Options, OptionsError, PLAN_FORMAT, Plan, StrategyPlan};
use seedstorm_sim::seed::Path;
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::{Draw, Seed};
use std::collections::BTreeMap;
use toml::Value;

const SECOND_NS: u64 = 1_000_000_000;
const WORKERS: u64 = 8;
const WORKERS_MAX: u64 = 1024;
const DURATION_MAX_NS: u64 = 24 * 3600 * SECOND_NS;

/// What an avalanche draws for itself.
pub const SETTINGS: &[Setting] = &[
    Setting {
        key: "batches",
        about: "batches of each agent in the chaos",
        range: Range::Number(1, 10_000, &[2, 3, 4, 6]),
    },
    Setting {
        key: "records",
        about: "the greatest number of records of a batch, about",
        range: Range::Number(1, 10_000, &[4, 8, 16, 30]),
    },
    Setting { key: "core", about: "core memories", range: Range::Number(1, 1_000, &[1, 2, 4]) },
    Setting { key: "axioms", about: "axioms", range: Range::Number(1, 10_000, &[1, 3, 6]) },
    Setting { key: "learned", about: "learned beliefs", range: Range::Number(1, 100_000, &[6, 12, 24, 40]) },
    Setting {
        key: "text_bytes",
        about: "how long a belief is, about, in bytes",
        range: Range::Number(1, 100_000, &[20, 200, 2_000]),
    },
    Setting {
        key: "bursts",
        about: "times at which all agents begin at once",
        range: Range::Number(1, 1000, &[1, 2, 3, 5]),
    },
    Setting {
        key: "think_us",
        about: "the longest pause between two operations of an agent, in microseconds",
        range: Range::Number(0, 60_000_000, &[0, 100, 1_000, 10_000, 100_000]),
    },
    Setting { key: "lock", about: "how named locks work", range: Range::Word(&["flock", "owner-file", "lease"]) },
    Setting {
        key: "backoff",
        about: "how waiters back off",
        range: Range::Word(&["exponential", "full-jitter", "decorrelated-jitter", "fair-queue"]),
    },
    Setting {
        key: "busy_timeout_ms",
        about: "SQLite's busy timeout, in milliseconds",
        range: Range::Number(0, 600_000, &[0, 5, 50, 500, 5_000]),
    },
    Setting {
        key: "page_bytes",
        about: "the database's page size, in bytes",
        range: Range::Number(512, 65_536, &[1_024, 4_096, 16_384]),
    },
    Setting {
        key: "autocheckpoint_pages",
        about: "pages of WAL after which a commit checkpoints",
        range: Range::Number(1, 100_000, &[5, 20, 100, 1_000]),
    },
    Setting {
        key: "cache_pages",
        about: "SQLite's page cache, in pages",
        range: Range::Number(1, 100_000, &[20, 200, 2_000]),
    },
    Setting {
        key: "checkpoint",
        about: "the mode of explicit checkpoints",
        range: Range::Word(&["passive", "full", "restart", "truncate"]),
    },
    Setting {
        key: "latency",
        about: "the latency profile of the machine",
        range: Range::Word(&["nvme", "ssd", "hdd"]),
    },
    Setting {
        key: "persistence",
        about: "what a machine crash may lose",
        range: Range::Word(&["strict", "ext4", "posix"]),
    },
];

/// Settings that are always the same: they are in each plan, and can't be chosen.
const FIXED: &[(&str, i64)] = &[(swarm::BELIEFS, 1), (swarm::MEMORIES, 1)];

/// Operations beside the batches, and in how many of a hundred places one of them stands.
const BESIDE: &[(&str, u64)] = &[("checkpoint", 6), ("verify", 3)];

/// Operation ids of one agent begin here, times its index plus one.
const IDS_PER_AGENT: u64 = 1_000_000;

/// About how many steps an operation takes, retries and waits included, as counted over a thousand seeds.
const STEPS_OF_OPERATION: u64 = 280;

/// Draws the plan of a seed.
///
/// # Errors
/// An option that the scenario doesn't know, or a value out of range.
pub fn plan(scenario: &str, menu: &Menu, seed: Seed, options: &Options) -> Result<Plan, OptionsError> {
    let workers = in_range("--workers", options.workers.map(u64::from), WORKERS, WORKERS_MAX)?;
    let chaos_ns = in_range("--duration", options.duration_ns, 30 * SECOND_NS, DURATION_MAX_NS)?;
    let mut settings = settle(SETTINGS, seed, options)?;
    let number = |key: &str| settings.get(key).and_then(Value::as_integer).unwrap_or(0) as u64;
    let word = |key: &str| settings.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    if !number("page_bytes").is_power_of_two() {
        let (option, value) = ("--set page_bytes".into(), number("page_bytes").to_string());
        return Err(OptionsError { option, value, allowed: "a power of two from 512 to 65536".into() });
    }
    let mut stream = seed.stream("bursts");
    let mut busy_ns: Vec<u64> = (0..number("bursts")).map(|_| stream.below(chaos_ns - chaos_ns / 4)).collect();
    busy_ns.sort_unstable();
    let shape = Shape {
        size: Size { core: number("core"), axioms: number("axioms"), learned: number("learned") },
        batches: number("batches"),
        records: number("records"),
        text_bytes: number("text_bytes"),
        think_ns: number("think_us") * 1_000,
        weights: weights(seed),
    };
    let operations = shape.operations(seed, workers, chaos_ns, &busy_ns);
    let strategy =
        options.strategy.unwrap_or_else(|| StrategyPlan::drawn(seed, operations.len() as u64 * STEPS_OF_OPERATION));
    let names: Vec<String> = (0..workers).map(|index| format!("agent-{index}")).collect();
    let faults = menu.draw(seed, options, &names, chaos_ns, &busy_ns);
    let persistence = match word("persistence").as_str() {
        "strict" => Persistence::Strict,
        "ext4" => Persistence::Ext4,
        _ => Persistence::Posix,
    };
    let latency = word("latency");
    settings.insert("workers".into(), Value::Integer(workers as i64));
    settings.extend(FIXED.iter().map(|(key, value)| ((*key).to_owned(), Value::Integer(*value))));
    Ok(Plan {
        format: PLAN_FORMAT,
        scenario: scenario.into(),
        seed,
        strategy,
        persistence,
        latency,
        chaos_ns,
        calm_ns: 600 * SECOND_NS,
        steps_max: 2_000_000 + shape.batches * workers * (20_000 + shape.records * 2_000),
        disk_capacity_bytes: None,
        clock_skew_ns: BTreeMap::new(),
        settings,
        faults,
        operations,
    })
}

/// Looks at a plan that came from a file.
///
/// # Errors
/// What the scenario doesn't know, and what is allowed.
pub fn check(plan: &Plan) -> Result<(), OptionsError> {
    let others: Vec<&str> = FIXED.iter().map(|(key, _)| *key).chain(["workers"]).collect();
    setting::check(SETTINGS, &plan.settings, &others)?;
    for (key, value) in FIXED {
        let found = plan.settings.get(*key);
        if found.and_then(Value::as_integer) != Some(*value) {
            let found = found.map_or_else(String::new, Value::to_string);
            return Err(OptionsError { option: format!("settings.{key}"), value: found, allowed: value.to_string() });
        }
    }
    let workers = plan.setting_u64("workers", 1);
    for operation in &plan.operations {
        let option = |key: &str| format!("operation {}, {key}", operation.id);
        let is_known = operation.kind == "ingest" || BESIDE.iter().any(|(kind, _)| *kind == operation.kind);
        if !is_known {
            let kinds: Vec<&str> = ["ingest"].into_iter().chain(BESIDE.iter().map(|(kind, _)| *kind)).collect();
            let (value, allowed) = (operation.kind.clone(), kinds.join(", "));
            return Err(OptionsError { option: option("kind"), value, allowed });
        }
        let index = operation.process.strip_prefix("agent-").and_then(|index| index.parse::<u64>().ok());
        if index.is_none_or(|index| index >= workers) {
            let allowed = format!("agent-0 to agent-{}", workers.saturating_sub(1));
            return Err(OptionsError { option: option("process"), value: operation.process.clone(), allowed });
        }
        if let Err(value) = swarm::batch(operation) {
            let allowed =
                "`b0 <- a1 b2 ! b3 @agent-0`, `contradiction b0 b1`, `b1 supersedes b0`, `retract …`, `forget b0`";
            return Err(OptionsError { option: option("records"), value, allowed: allowed.into() });
        }
    }
    Ok(())
}

/// What the oracles must know of a plan that has been checked.
pub fn planned(plan: &Plan) -> Planned {
    let universe = Universe { text_bytes: plan.setting_u64("text_bytes", 1) };
    let named = |belief: seedstorm_model::tms::Belief| (belief.id(), belief);
    let core: BTreeMap<_, _> = universe.core(plan.setting_u64("core", 0)).into_iter().map(named).collect();
    let ingest = plan.operations.iter().filter(|operation| operation.kind == "ingest");
    let batches: BTreeMap<u64, _> =
        ingest.map(|operation| (operation.id, swarm::batch(operation).unwrap_or_default())).collect();
    let beliefs = batches.values().flat_map(|batch| batch.beliefs.iter().cloned()).map(named);
    let beliefs = core.clone().into_iter().chain(beliefs).collect();
    Planned { beliefs, core, batches, mutant: None }
}

fn in_range(option: &str, given: Option<u64>, default: u64, greatest: u64) -> Result<u64, OptionsError> {
    let value = given.unwrap_or(default);
    if (1..=greatest).contains(&value) {
        return Ok(value);
    }
    Err(OptionsError { option: option.into(), value: value.to_string(), allowed: format!("from 1 to {greatest}") })
}

/// Weights of the structures in this seed: each is a quarter, once or thrice what it is by itself.
fn weights(seed: Seed) -> Vec<u64> {
    let mut stream = seed.stream("weights");
    STRUCTURES.iter().map(|(_, weight)| weight * [1, 4, 12][stream.below(3) as usize]).collect()
}

struct Shape {
    size: Size,
    batches: u64,
    records: u64,
    text_bytes: u64,
    think_ns: u64,
    weights: Vec<u64>,
}

impl Shape {
    /// The operations of all agents, drawn in rounds: what one has recorded in a round, others may take back in the next.
    fn operations(&self, seed: Seed, workers: u64, chaos_ns: u64, busy_ns: &[u64]) -> Vec<Operation> {
        let mut recorded = Vec::new();
        let mut operations: Vec<Vec<Operation>> = vec![Vec::new(); workers as usize];
        for round in 0..=self.batches {
            let is_calm = round == self.batches;
            let mut new = Vec::new();
            for index in 0..workers {
                let mut stream = seed.stream_of("operations", Path::of_process("agent", index as u32), round);
                let burst = (round * busy_ns.len() as u64 / self.batches) as usize;
                let not_before_ns = if is_calm { chaos_ns } else { busy_ns.get(burst).copied().unwrap_or(0) };
                let think_ns = if is_calm { 0 } else { stream.below(self.think_ns + 1) };
                let mut add = |place: u64, kind: &str, arguments: BTreeMap<String, Value>| {
                    let id = (index + 1) * IDS_PER_AGENT + 10 * round + place;
                    let (process, kind) = (format!("agent-{index}"), kind.to_owned());
                    operations[index as usize].push(Operation {
                        id,
                        process,
                        kind,
                        not_before_ns,
                        think_ns,
                        arguments,
                    });
                };
                let source = format!("agent-{index}");
                let count = stream.between(1, self.records);
                let mut known: Vec<String> = recorded.clone();
                let words = draw(&mut stream, self.size, &self.weights, count, &source, &mut known);
                new.extend(known.into_iter().skip(recorded.len()));
                let words = words.into_iter().map(Value::String).collect();
                let bytes = Value::Integer(self.text_bytes as i64);
                add(0, "ingest", [("records".to_owned(), Value::Array(words)), ("bytes".to_owned(), bytes)].into());
                for (place, (kind, chance)) in (1..).zip(BESIDE) {
                    if is_calm || stream.chance(*chance, 100) {
                        add(place, kind, BTreeMap::new());
                    }
                }
            }
            recorded.extend(new);
        }
        operations.concat()
    }
}

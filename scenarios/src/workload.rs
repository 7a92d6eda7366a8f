//! How a swarm's plan is drawn: settings, bursts, what each agent is asked for. Which kinds of operation and which faults there are is each scenario's own.

use crate::faults::{Menu, kills_of_holders, lies_before_power_loss};
use crate::setting::{self, Range, Setting, settle};
use crate::swarm;
use seedstorm_sim::plan::{Faults, Operation, Options, OptionsError, PLAN_FORMAT, Plan, StrategyPlan};
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::{Draw, Seed, Stream};
use std::collections::BTreeMap;
use toml::Value;

/// What a scenario asks of a swarm.
pub struct Workload {
    /// The scenario.
    pub scenario: &'static str,
    /// How many agents, unless an option says so.
    pub workers: u64,
    /// Kinds of operation and how much they weigh against each other before the seed's own factors.
    pub kinds: &'static [(&'static str, u64)],
    /// What agents do in the calm phase: every kind once, in two halves.
    pub calm_halves: [&'static [&'static str]; 2],
    /// What may go wrong.
    pub faults: Menu,
    /// In how many seeds of a hundred a disk lies about temporary files just before the power fails: the way to damaged files.
    pub lies_before_power_loss: u64,
    /// In how many seeds of a hundred several holders of locks are killed.
    pub kills_of_holders: u64,
    /// Settings that it fixes: they are in each plan, and can't be chosen.
    pub fixed: &'static [(&'static str, i64)],
}

const SECOND_NS: u64 = 1_000_000_000;
const WORKERS_MAX: u32 = 1024;
const DURATION_MAX_NS: u64 = 24 * 3600 * SECOND_NS;

/// What a storm draws for itself. The draws are wide on purpose: a workload tuned to one bug finds that bug only.
pub const SETTINGS: &[Setting] = &[
    Setting {
        key: "operations",
        about: "operations of each agent in the chaos",
        range: Range::Number(1, 100_000, &[5, 10, 15, 20, 30, 40]),
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
    Setting { key: "board_keys", about: "keys of the board", range: Range::Number(1, 64, &[1, 2, 4, 12]) },
    Setting { key: "tasks", about: "tasks that agents compete for", range: Range::Number(1, 10_000, &[2, 4, 10, 30]) },
    Setting { key: "documents", about: "documents that agents replace", range: Range::Number(1, 1000, &[1, 2, 3]) },
    Setting {
        key: "value_bytes",
        about: "the greatest length of a value or note, in bytes",
        range: Range::Number(1, 1_000_000, &[20, 200, 2_000, 9_000]),
    },
    Setting { key: "lock", about: "how named locks work", range: Range::Word(&["flock", "owner-file", "lease"]) },
    Setting {
        key: "backoff",
        about: "how waiters back off",
        range: Range::Word(&["exponential", "full-jitter", "decorrelated-jitter", "fair-queue"]),
    },
    Setting {
        key: "lock_timeout_ms",
        about: "how long a named lock is waited for, in milliseconds",
        range: Range::Number(1, 600_000, &[20, 100, 500, 3_000]),
    },
    Setting {
        key: "lease_ms",
        about: "how long a lock's lease lasts, in milliseconds",
        range: Range::Number(10, 600_000, &[200, 1_000, 5_000]),
    },
    Setting {
        key: "claim_ms",
        about: "how long a task's claim lasts, in milliseconds",
        range: Range::Number(10, 3_600_000, &[50, 500, 5_000, 60_000]),
    },
    Setting {
        key: "busy_timeout_ms",
        about: "SQLite's busy timeout, in milliseconds",
        range: Range::Number(0, 600_000, &[0, 5, 50, 500, 5_000]),
    },
    Setting {
        key: "page_bytes",
        about: "the database's page size, in bytes",
        range: Range::Number(512, 65_536, &[512, 1_024, 4_096, 16_384]),
    },
    Setting {
        key: "autocheckpoint_pages",
        about: "pages of WAL after which a commit checkpoints",
        range: Range::Number(1, 100_000, &[1, 2, 5, 20, 100, 1_000]),
    },
    Setting {
        key: "cache_pages",
        about: "SQLite's page cache, in pages",
        range: Range::Number(1, 100_000, &[5, 50, 2_000]),
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

/// About how many steps an operation takes, retries and waits included, as counted over a hundred seeds.
const STEPS_OF_OPERATION: u64 = 64;

impl Workload {
    /// Draws the plan of a seed.
    ///
    /// # Errors
    /// An option that the scenario doesn't know, or a value out of range.
    pub fn plan(&self, seed: Seed, options: &Options) -> Result<Plan, OptionsError> {
        let workers =
            in_range("--workers", options.workers.map(u64::from), self.workers, 1, u64::from(WORKERS_MAX))? as u32;
        let chaos_ns = in_range("--duration", options.duration_ns, 30 * SECOND_NS, 1, DURATION_MAX_NS)?;
        let mut settings = settle(SETTINGS, seed, options)?;
        let number = |key: &str| settings.get(key).and_then(Value::as_integer).unwrap_or(0) as u64;
        let word = |key: &str| settings.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        if !number("page_bytes").is_power_of_two() {
            let allowed = "a power of two from 512 to 65536".to_owned();
            return Err(OptionsError {
                option: "--set page_bytes".into(),
                value: number("page_bytes").to_string(),
                allowed,
            });
        }
        let busy_ns = bursts(seed, number("bursts"), chaos_ns);
        let shape = Shape {
            operations: number("operations"),
            think_ns: number("think_us") * 1_000,
            board_keys: number("board_keys"),
            tasks: number("tasks"),
            documents: number("documents"),
            value_bytes: number("value_bytes"),
            weights: weights(seed, self.kinds),
            kinds: self.kinds,
            calm_halves: self.calm_halves,
        };
        let names: Vec<String> = (0..workers).map(|index| format!("agent-{index}")).collect();
        let operations =
            (0..workers).flat_map(|index| shape.of_agent(seed, index, workers, chaos_ns, &busy_ns)).collect::<Vec<_>>();
        let strategy =
            options.strategy.unwrap_or_else(|| StrategyPlan::drawn(seed, operations.len() as u64 * STEPS_OF_OPERATION));
        let mut faults = self.faults.draw(seed, options, &names, chaos_ns, &busy_ns);
        if options.faults == Faults::Default {
            faults.extend(lies_before_power_loss(seed, self.lies_before_power_loss, &names));
            faults.extend(kills_of_holders(seed, self.kills_of_holders, &names));
        }
        let persistence = match word("persistence").as_str() {
            "strict" => Persistence::Strict,
            "ext4" => Persistence::Ext4,
            _ => Persistence::Posix,
        };
        let latency = word("latency");
        settings.insert("workers".into(), Value::Integer(i64::from(workers)));
        settings.extend(self.fixed.iter().map(|(key, value)| ((*key).to_owned(), Value::Integer(*value))));
        Ok(Plan {
            format: PLAN_FORMAT,
            scenario: self.scenario.into(),
            seed,
            strategy,
            persistence,
            latency,
            chaos_ns,
            calm_ns: 600 * SECOND_NS,
            steps_max: 2_000_000 + shape.operations * u64::from(workers) * 20_000,
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
    pub fn check(&self, plan: &Plan) -> Result<(), OptionsError> {
        let others: Vec<&str> = self.fixed.iter().map(|(key, _)| *key).chain(["workers"]).collect();
        setting::check(SETTINGS, &plan.settings, &others)?;
        for (key, value) in self.fixed {
            let found = plan.settings.get(*key);
            if found.and_then(Value::as_integer) != Some(*value) {
                let value_found = found.map_or_else(String::new, Value::to_string);
                let (option, allowed) = (format!("settings.{key}"), value.to_string());
                return Err(OptionsError { option, value: value_found, allowed });
            }
        }
        let workers = plan.setting_u64("workers", 1);
        for operation in &plan.operations {
            let option = |key: &str| format!("operation {}, {key}", operation.id);
            if !self.kinds.iter().any(|(kind, _)| *kind == operation.kind) {
                let kinds: Vec<&str> = self.kinds.iter().map(|(kind, _)| *kind).collect();
                let allowed = kinds.join(", ");
                return Err(OptionsError { option: option("kind"), value: operation.kind.clone(), allowed });
            }
            let index = operation.process.strip_prefix("agent-").and_then(|index| index.parse::<u64>().ok());
            if index.is_none_or(|index| index >= workers) {
                let allowed = format!("agent-0 to agent-{}", workers.saturating_sub(1));
                return Err(OptionsError { option: option("process"), value: operation.process.clone(), allowed });
            }
        }
        Ok(())
    }
}

fn in_range(option: &str, given: Option<u64>, default: u64, least: u64, greatest: u64) -> Result<u64, OptionsError> {
    let value = given.unwrap_or(default);
    if (least..=greatest).contains(&value) {
        return Ok(value);
    }
    Err(OptionsError {
        option: option.into(),
        value: value.to_string(),
        allowed: format!("from {least} to {greatest}"),
    })
}

/// Times at which all agents begin at once: without them thirty seconds hold hardly any contention.
fn bursts(seed: Seed, count: u64, chaos_ns: u64) -> Vec<u64> {
    let mut stream = seed.stream("bursts");
    let mut at_ns: Vec<u64> = (0..count).map(|_| stream.below(chaos_ns - chaos_ns / 4)).collect();
    at_ns.sort_unstable();
    at_ns
}

/// Weights of the kinds in this seed: each is a quarter, once or thrice what it is by itself.
fn weights(seed: Seed, kinds: &[(&str, u64)]) -> Vec<u64> {
    let mut stream = seed.stream("weights");
    kinds.iter().map(|(_, weight)| weight * [1, 4, 12][stream.below(3) as usize]).collect()
}

struct Shape {
    operations: u64,
    think_ns: u64,
    board_keys: u64,
    tasks: u64,
    documents: u64,
    value_bytes: u64,
    weights: Vec<u64>,
    kinds: &'static [(&'static str, u64)],
    calm_halves: [&'static [&'static str]; 2],
}

/// The most notes of one introspection.
const NOTES_MAX: u64 = 4;

/// How many subjects several agents remember something about.
const SUBJECTS_SHARED: u64 = 8;

/// Operation ids of one agent begin here, times its index plus one: taking away an agent shifts no other's.
const IDS_PER_AGENT: u64 = 1_000_000;

impl Shape {
    /// The operations of one agent: those of the chaos, and then one of each kind.
    fn of_agent(&self, seed: Seed, index: u32, workers: u32, chaos_ns: u64, busy_ns: &[u64]) -> Vec<Operation> {
        let mut stream = seed.stream_of("operations", seedstorm_sim::seed::Path::of_process("agent", index), 0);
        let process = format!("agent-{index}");
        let mut operations = Vec::new();
        for number in 0..self.operations {
            let id = (u64::from(index) + 1) * IDS_PER_AGENT + number;
            let (kind, _) = self.kinds[stream.weighted(&self.weights)];
            let burst = (number * busy_ns.len() as u64 / self.operations) as usize;
            let think_ns = stream.below(self.think_ns + 1);
            let arguments = self.arguments(kind, &mut stream, None);
            let not_before_ns = busy_ns.get(burst).copied().unwrap_or(0);
            operations.push(Operation {
                id,
                process: process.clone(),
                kind: kind.into(),
                not_before_ns,
                think_ns,
                arguments,
            });
        }
        // In the calm every kind must complete: agents take turns with the two halves, on tasks that nobody has touched. An agent alone does both.
        let kinds = match (workers, index % 2) {
            (1, _) => [self.calm_halves[0], self.calm_halves[1]].concat(),
            (_, half) => self.calm_halves[half as usize].to_vec(),
        };
        for (number, kind) in (IDS_PER_AGENT / 2..).zip(kinds) {
            let id = (u64::from(index) + 1) * IDS_PER_AGENT + number;
            let arguments = self.arguments(kind, &mut stream, Some(index));
            operations.push(Operation {
                id,
                process: process.clone(),
                kind: kind.into(),
                not_before_ns: chaos_ns,
                think_ns: 0,
                arguments,
            });
        }
        operations
    }

    fn arguments(&self, kind: &str, stream: &mut Stream, calm: Option<u32>) -> BTreeMap<String, Value> {
        let mut arguments = BTreeMap::new();
        let mut set = |key: &str, value: Value| arguments.insert(key.to_owned(), value);
        let task = match calm {
            Some(agent) => swarm::calm_task(agent),
            None => swarm::task(stream.below(self.tasks)),
        };
        match kind {
            "board-write" | "board-read" => {
                let most = if kind == "board-write" { 3 } else { 5 };
                let count = stream.between(1, most.min(self.board_keys));
                let mut keys: Vec<u64> = (0..self.board_keys).collect();
                stream.shuffle(&mut keys);
                keys.truncate(count as usize);
                set("keys", Value::Array(keys.into_iter().map(|key| Value::String(swarm::board_key(key))).collect()));
            }
            "task-claim" | "task-leave" => drop(set("task", Value::String(task))),
            "task-check" => {
                set("task", Value::String(task));
                set("item", Value::Integer(stream.below(swarm::ITEMS) as i64));
            }
            "introspect" => drop(set("notes", Value::Integer(stream.between(1, NOTES_MAX) as i64))),
            "remember" => {
                // Half of them are about something that others remember, too: a subject has one text, and so one memory.
                let subject = if stream.chance(1, 2) { stream.below(SUBJECTS_SHARED) } else { stream.below(1 << 32) };
                set("subject", Value::String(swarm::subject(subject)));
                set("bytes", Value::Integer((subject * 7919 % self.value_bytes) as i64 + 1));
            }
            "document" => drop(set("name", Value::String(swarm::document(stream.below(self.documents))))),
            _ => {}
        }
        if matches!(kind, "board-write" | "note" | "document" | "introspect") {
            set("bytes", Value::Integer(stream.between(1, self.value_bytes) as i64));
        }
        arguments
    }
}

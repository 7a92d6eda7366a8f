//! How a swarm's plan is drawn: settings, bursts, what each agent is asked for. Which kinds of operation and which faults there are is each scenario's own.

use crate::check::{self, Argument, ArgumentRange, Rules};
use crate::faults::{Menu, kills_of_holders, lies_before_power_loss};
use crate::plans::{self, DURATION_NS_MAX, IDS_PER_AGENT, SECOND_NS, agents, bursts, persistence, weights};
use crate::setting::{self, Range, Setting, settle};
use crate::swarm;
use seedstorm_sim::plan::{Faults, Operation, Options, OptionsError, PLAN_FORMAT, Plan, Refusal};
use seedstorm_sim::{Draw, Seed, Stream};
use std::collections::BTreeMap;
use toml::Value;

/// What a scenario asks of a swarm.
pub struct Workload {
    /// The scenario.
    pub scenario: &'static str,
    /// How many agents: one of these, unless an option says so.
    pub workers: &'static [u64],
    /// Kinds of operation and how much they weigh against each other before the seed's own factors.
    pub kinds: &'static [(&'static str, u64)],
    /// What agents do in the calm phase, by turns: every kind once.
    pub calm_turns: &'static [&'static [&'static str]],
    /// What may go wrong.
    pub faults: Menu,
    /// In how many seeds of a hundred a disk lies about temporary files just before the power fails: the way to damaged files.
    pub lies_before_power_loss: u64,
    /// In how many seeds of a hundred several holders of locks are killed.
    pub kills_of_holders: u64,
    /// Settings that it fixes: they are in each plan, and can't be chosen.
    pub fixed: &'static [(&'static str, i64)],
}

/// The greatest length that a value can be given, in bytes.
const VALUE_BYTES_MAX: u64 = 1_000_000;

/// What a storm draws for itself. The draws are wide on purpose: a workload tuned to one bug finds that bug only. What is said twice is drawn more often: corners
/// that make a run several times as long (a value of many small pages, a cache that holds none of them, a disk that turns) come less often than the others.
pub const SETTINGS: &[Setting] = &[
    Setting {
        key: "operations",
        about: "operations of each agent in the chaos",
        range: Range::Number(1, 100_000, &[5, 10, 15, 20, 30, 40]),
    },
    setting::BURSTS,
    setting::THINK,
    Setting { key: "board_keys", about: "keys of the board", range: Range::Number(1, 64, &[1, 2, 4, 12]) },
    Setting { key: "tasks", about: "tasks that agents compete for", range: Range::Number(1, 10_000, &[2, 4, 10, 30]) },
    Setting { key: "documents", about: "documents that agents replace", range: Range::Number(1, 1000, &[1, 2, 3]) },
    Setting {
        key: "value_bytes",
        about: "the greatest length of a value or note, in bytes",
        range: Range::Number(1, VALUE_BYTES_MAX, &[20, 20, 200, 200, 2_000, 2_000, 9_000]),
    },
    setting::LOCK,
    setting::BACKOFF,
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
    setting::busy_timeout_ms(&[0, 5, 50, 500, 5_000]),
    setting::page_bytes(&[512, 1_024, 1_024, 4_096, 4_096, 16_384]),
    setting::autocheckpoint_pages(&[1, 2, 5, 20, 100, 1_000]),
    setting::cache_pages(&[5, 50, 50, 2_000, 2_000]),
    setting::CHECKPOINT,
    Setting { range: Range::Word(&["nvme", "nvme", "ssd", "ssd", "hdd"]), ..setting::LATENCY },
    setting::PERSISTENCE,
];

/// About how many steps an operation takes, retries and waits included, as counted over a hundred seeds.
const STEPS_OF_OPERATION: u64 = 64;

impl Workload {
    /// Draws the plan of a seed.
    ///
    /// # Errors
    /// An option that the scenario doesn't know, or a value out of range.
    pub fn plan(&self, seed: Seed, options: &Options) -> Result<Plan, OptionsError> {
        let workers = plans::workers(seed, options, self.workers)? as u32;
        let chaos_ns = plans::duration_ns(options, 30 * SECOND_NS)?;
        let mut settings = settle(SETTINGS, seed, options)?;
        let number = |key: &str| settings.get(key).and_then(Value::as_integer).unwrap_or(0) as u64;
        let word = |key: &str| settings.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
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
            calm_turns: self.calm_turns,
        };
        let names = agents(u64::from(workers));
        let operations =
            (0..workers).flat_map(|index| shape.of_agent(seed, index, workers, chaos_ns, &busy_ns)).collect::<Vec<_>>();
        let strategy = options.strategy_of(seed, operations.len() as u64 * STEPS_OF_OPERATION);
        let mut faults = self.faults.draw(seed, options, &names, chaos_ns, &busy_ns);
        if options.faults == Faults::Default {
            faults.extend(lies_before_power_loss(seed, self.lies_before_power_loss, &names));
            faults.extend(kills_of_holders(seed, self.kills_of_holders, &names));
        }
        let persistence = persistence(&settings);
        let latency = word("latency");
        settings.insert("workers".into(), Value::Integer(i64::from(workers)));
        settings.extend(self.fixed.iter().map(|(key, value)| ((*key).to_owned(), Value::Integer(*value))));
        Ok(Plan {
            format: PLAN_FORMAT,
            scenario: self.scenario.into(),
            seed,
            strategy,
            step_counts: None,
            persistence,
            latency,
            chaos_ns,
            calm_ns: 600 * SECOND_NS,
            steps_max: 2_000_000 + shape.operations * u64::from(workers) * 20_000,
            disk_capacity_bytes: None,
            absent: Vec::new(),
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
    pub fn check(&self, plan: &Plan) -> Result<(), Refusal> {
        let kinds: Vec<(&str, &[Argument])> = self.kinds.iter().map(|(kind, _)| (*kind, arguments_of(kind))).collect();
        let rules = Rules {
            settings: SETTINGS,
            fixed: self.fixed,
            kinds: &kinds,
            faults: self.faults.possible,
            chaos_ns_max: DURATION_NS_MAX,
        };
        check::plan(plan, &rules)
    }
}

/// A value's or note's length, in bytes.
const BYTES: Argument = Argument::optional("bytes", ArgumentRange::Number(0, VALUE_BYTES_MAX));

const TASK: Argument = Argument::needed("task", ArgumentRange::Name(&["task-", "calm-"]));

/// The arguments of each kind of operation that has some.
const ARGUMENTS: &[(&str, &[Argument])] = &[
    ("board-write", &[Argument::needed("keys", ArgumentRange::Names(&["key-"])), BYTES]),
    ("board-read", &[Argument::needed("keys", ArgumentRange::Names(&["key-"]))]),
    ("task-claim", &[TASK]),
    ("task-leave", &[TASK]),
    ("task-check", &[TASK, Argument::needed("item", ArgumentRange::Number(0, swarm::ITEMS - 1))]),
    (
        "task-needs",
        &[
            Argument::needed("task", ArgumentRange::Name(&["project-"])),
            Argument::needed("needed", ArgumentRange::Names(&["project-"])),
        ],
    ),
    ("note", &[BYTES]),
    ("document", &[Argument::needed("name", ArgumentRange::Name(&["document-"])), BYTES]),
    ("introspect", &[Argument::needed("notes", ArgumentRange::Number(0, 1_000)), BYTES]),
    ("remember", &[Argument::needed("subject", ArgumentRange::Name(&["subject-"])), BYTES]),
];

fn arguments_of(kind: &str) -> &'static [Argument] {
    ARGUMENTS.iter().find(|(of, _)| *of == kind).map_or(&[], |(_, arguments)| *arguments)
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
    calm_turns: &'static [&'static [&'static str]],
}

/// The most notes of one introspection.
const NOTES_MAX: u64 = 4;

/// The most that a task needs.
const NEEDED_MAX: u64 = 2;

/// How many subjects several agents remember something about.
const SUBJECTS_SHARED: u64 = 8;

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
        // In the calm every kind must complete: agents have turns, on tasks that nobody has touched. Where they are few, each has several.
        let turns = self.calm_turns.len();
        let own = (0..turns).filter(|turn| turn % workers as usize == index as usize % turns);
        let kinds = own.flat_map(|turn| self.calm_turns[turn]).copied();
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
            "task-needs" => {
                let mut projects: Vec<u64> = (0..swarm::PROJECTS).collect();
                stream.shuffle(&mut projects);
                projects.truncate(1 + stream.between(1, NEEDED_MAX) as usize);
                let mut names = projects.into_iter().map(|project| Value::String(swarm::project(project)));
                names.next().into_iter().for_each(|task| drop(set("task", task)));
                set("needed", Value::Array(names.collect()));
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

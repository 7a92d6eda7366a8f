//! How a plan of sqlite-wal is drawn: settings, who does what with which connection. What is done is in `connection`.

use crate::check::{self, Argument, ArgumentRange, Rules};
use crate::faults::Menu;
use crate::plans::{self, DURATION_NS_MAX, IDS_PER_AGENT, SECOND_NS, agents, persistence};
use crate::setting::{self, Range, Setting, settle};
use seedstorm_sim::plan::{
    FaultKind, FaultPlan, Faults, Operation, Options, OptionsError, PLAN_FORMAT, Plan, Position, Refusal, Trigger,
};
use seedstorm_sim::seed::Path;
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Draw, Seed, Stream};
use std::collections::BTreeMap;
use toml::Value;

/// How many processes a seed has, one of these.
const WORKERS: &[u64] = &[2, 3, 3, 4, 4, 6];

/// What a run draws for itself.
pub const SETTINGS: &[Setting] = &[
    Setting {
        key: "connections",
        about: "connections of each process",
        range: Range::Number(1, CONNECTIONS_MAX, &[1, 1, 1, 2, 3]),
    },
    Setting {
        key: "operations",
        about: "operations of all connections in the chaos together, if all wrote; those who only look or checkpoint have up to four times as many",
        range: Range::Number(1, OPERATIONS_MAX, &[100, 200, 400]),
    },
    Setting {
        key: "rows",
        about: "the most rows that a transaction adds",
        range: Range::Number(1, ROWS_MAX, &[1, 1, 3, 8]),
    },
    Setting {
        key: "value_bytes",
        about: "the greatest length of a row's content, in bytes",
        range: Range::Number(1, VALUE_BYTES_MAX, &[10, 100, 400, 2_000]),
    },
    Setting {
        key: "slots",
        about: "rows that transactions overwrite, in turn",
        range: Range::Number(1, 10_000, &[1, 10, 60]),
    },
    Setting {
        key: "synchronous",
        about: "how durable a commit is when it returns",
        range: Range::Word(&["full", "normal"]),
    },
    Setting {
        key: "think_percent",
        about: "the longest pause between two operations of a connection, in hundredths of what a commit takes",
        range: Range::Number(0, 1_000_000, &[0, 25, 100, 300, 1_000]),
    },
    Setting {
        key: "hold_percent",
        about: "the longest time that a reader keeps its snapshot, in hundredths of what a commit takes",
        range: Range::Number(1, 1_000_000, &[25, 200, 1_000]),
    },
    setting::busy_timeout_ms(&[0, 5, 50, 500, 5_000]),
    setting::page_bytes(&[512, 1_024, 4_096, 16_384]),
    setting::autocheckpoint_pages(&[1, 2, 3, 5, 10, 50, 1_000]),
    setting::cache_pages(&[10, 100, 2_000]),
    setting::LATENCY,
    setting::PERSISTENCE,
];

const CONNECTIONS_MAX: u64 = 16;
const ROWS_MAX: u64 = 10_000;
const VALUE_BYTES_MAX: u64 = 1_000_000;
/// So many even if one connection has them all: see [`IDS_PER_CONNECTION`].
const OPERATIONS_MAX: u64 = 15_000;

/// Operation ids of one connection begin here, times its number, after those of its process.
const IDS_PER_CONNECTION: u64 = IDS_PER_AGENT / CONNECTIONS_MAX;

const KINDS: &[&str] = &["write", "read", "scan", "hold", "checkpoint", "check"];

/// What a connection is for.
struct Role {
    /// The weights of [`KINDS`].
    weights: [u64; 6],
    /// How likely it is drawn.
    chance: u64,
    /// So many operations, for one of a writer's: short ones come more often, so that nobody is through long before the others.
    factor: u64,
}

const ROLES: [Role; 4] = [
    // A writer.
    Role { weights: [16, 2, 0, 0, 1, 0], chance: 3, factor: 1 },
    // A reader.
    Role { weights: [0, 10, 1, 2, 0, 0], chance: 1, factor: 2 },
    // A checkpointer.
    Role { weights: [0, 2, 0, 0, 18, 0], chance: 5, factor: 4 },
    // Anything.
    Role { weights: [6, 3, 1, 2, 6, 1], chance: 1, factor: 1 },
];

const MODES: &[&str] = &["passive", "full", "restart", "truncate"];

/// SQLite's own choice is the commonest.
const MODE_WEIGHTS: [u64; 4] = [8, 1, 1, 1];

/// About how many steps an operation takes, as counted over a thousand seeds.
const STEPS_OF_OPERATION: u64 = 45;

/// About how long a commit takes, in nanoseconds: by latency profile.
fn commit_ns(latency: &str) -> u64 {
    match latency {
        "hdd" => 20_000_000,
        "ssd" => 3_000_000,
        _ => 400_000,
    }
}

/// Draws the plan of a seed.
///
/// # Errors
/// An option that the scenario doesn't know, or a value out of range.
pub fn plan(scenario: &str, menu: &Menu, seed: Seed, options: &Options) -> Result<Plan, OptionsError> {
    let workers = plans::workers(seed, options, WORKERS)?;
    let mut settings = settle(SETTINGS, seed, options)?;
    let number = |key: &str| settings.get(key).and_then(Value::as_integer).unwrap_or(0) as u64;
    let latency = settings.get("latency").and_then(Value::as_str).unwrap_or_default().to_owned();
    let shape = Shape {
        roles: roles(seed),
        connections: number("connections"),
        operations: (number("operations") / (workers * number("connections"))).max(1),
        rows: number("rows"),
        bytes: number("value_bytes"),
        think_ns: number("think_percent") * commit_ns(&latency) / 100,
        hold_ns: number("hold_percent") * commit_ns(&latency) / 100,
    };
    let least_ns = number("operations") * commit_ns(&latency) / 2 + shape.operations * shape.think_ns;
    let chaos_ns = plans::duration_ns(options, least_ns.min(100 * SECOND_NS))?;
    let operations = shape.operations(seed, workers, chaos_ns);
    let strategy = options.strategy_of(seed, operations.len() as u64 * STEPS_OF_OPERATION);
    let mut faults = menu.draw(seed, options, &agents(workers), chaos_ns, &[0, chaos_ns / 3]);
    if options.faults == Faults::Default {
        faults.extend(power_loss_at_work(seed, workers));
        faults.extend(stalls(seed, workers, commit_ns(&latency)));
    }
    let persistence = persistence(&settings);
    settings.insert("workers".into(), Value::Integer(workers as i64));
    Ok(Plan {
        format: PLAN_FORMAT,
        scenario: scenario.into(),
        seed,
        strategy,
        persistence,
        latency,
        chaos_ns,
        calm_ns: 600 * SECOND_NS + 20 * chaos_ns,
        steps_max: 1_000_000 + operations.len() as u64 * 20_000,
        disk_capacity_bytes: None,
        absent: Vec::new(),
        step_counts: None,
        clock_skew_ns: BTreeMap::new(),
        settings,
        faults,
        operations,
    })
}

/// How likely each role is in a seed: some are off, one may be nearly alone (swarm testing, Groce et al., ISSTA 2012).
fn roles(seed: Seed) -> Vec<u64> {
    let mut stream = seed.stream("roles");
    let roles: Vec<u64> = ROLES.iter().map(|role| role.chance * [0, 1, 4][stream.below(3) as usize]).collect();
    if roles.iter().all(|chance| *chance == 0) { ROLES.iter().map(|role| role.chance).collect() } else { roles }
}

/// In so many seeds of a hundred the power fails while somebody writes.
const POWER_LOSS_AT_WORK: u64 = 25;

/// Draws a power loss in the middle of a transaction, early or late: with synchronous=NORMAL it takes acknowledged commits back.
fn power_loss_at_work(seed: Seed, workers: u64) -> Option<FaultPlan> {
    let mut stream = seed.stream("faults/power-loss-at-work");
    if !stream.chance(POWER_LOSS_AT_WORK, 100) {
        return None;
    }
    let magnitude = stream.between(4, 10);
    Some(FaultPlan {
        id: FaultKind::MachineCrash as u32 * 1000 + 700,
        kind: FaultKind::MachineCrash,
        process: Some(format!("agent-{}", stream.below(workers))),
        when: Trigger::While { position: Position::InTransaction, nth: 1 + stream.below(1 << magnitude) },
        for_ns: 1_000_000 + stream.below(100_000_000),
        by_ns: 0,
        between: None,
    })
}

/// In so many seeds of a hundred calls stall, and how many at most.
const STALLS: (u64, u64) = (75, 24);

/// The calls that SQLite makes while it works: each kind may stall, and is as likely as another, however rare it is.
const STALLING: [CallKind; 12] = [
    CallKind::ReadAt,
    CallKind::WriteAt,
    CallKind::SetLength,
    CallKind::Sync,
    CallKind::Stat,
    CallKind::DatabaseLock,
    CallKind::DatabaseUnlock,
    CallKind::FileControl,
    CallKind::MapShared,
    CallKind::SharedLock,
    CallKind::SharedBarrier,
    CallKind::Unfetch,
];

/// Draws single calls that take as long as a part of a commit of others, or as several.
fn stalls(seed: Seed, workers: u64, commit_ns: u64) -> Vec<FaultPlan> {
    let mut stream = seed.stream("faults/stalls");
    if !stream.chance(STALLS.0, 100) {
        return Vec::new();
    }
    let stall = |number: u64, stream: &mut Stream| {
        let (kind, magnitude) = (STALLING[stream.below(STALLING.len() as u64) as usize], stream.between(1, 6));
        let longest_ns = (commit_ns * 4) >> stream.below(6);
        FaultPlan {
            id: FaultKind::Delay as u32 * 1000 + 700 + number as u32,
            kind: FaultKind::Delay,
            process: Some(format!("agent-{}", stream.below(workers))),
            when: Trigger::Call { kind, nth: 1 + stream.below(1 << magnitude) },
            for_ns: stream.between(1, longest_ns),
            by_ns: 0,
            between: None,
        }
    };
    (0..stream.between(1, STALLS.1)).map(|number| stall(number, &mut stream)).collect()
}

/// Looks at a plan that came from a file. `faults` are the kinds that can happen.
///
/// # Errors
/// What the scenario doesn't know, and what is allowed.
pub fn check(plan: &Plan, faults: &[FaultKind]) -> Result<(), Refusal> {
    let kinds: Vec<(&str, &[Argument])> = KINDS.iter().map(|kind| (*kind, ARGUMENTS)).collect();
    let rules = Rules { settings: SETTINGS, fixed: &[], kinds: &kinds, faults, chaos_ns_max: DURATION_NS_MAX };
    check::plan(plan, &rules)
}

/// The arguments of every operation.
const ARGUMENTS: &[Argument] = &[
    Argument::optional("connection", ArgumentRange::Number(0, CONNECTIONS_MAX - 1)),
    Argument::optional("rows", ArgumentRange::Number(1, ROWS_MAX)),
    Argument::optional("bytes", ArgumentRange::Number(0, VALUE_BYTES_MAX)),
    Argument::optional("held_ns", ArgumentRange::Number(1, 3_600 * SECOND_NS)),
    Argument::optional("mode", ArgumentRange::Word(MODES)),
];

struct Shape {
    /// How likely each role is in this seed.
    roles: Vec<u64>,
    connections: u64,
    /// Operations of each connection that writes.
    operations: u64,
    rows: u64,
    bytes: u64,
    think_ns: u64,
    hold_ns: u64,
}

impl Shape {
    fn operations(&self, seed: Seed, workers: u64, chaos_ns: u64) -> Vec<Operation> {
        let connections = (0..workers).flat_map(|index| (0..self.connections).map(move |number| (index, number)));
        connections.flat_map(|(index, number)| self.of_connection(seed, index, number, chaos_ns)).collect()
    }

    /// What one connection does in the chaos, and once more in the calm. The first one writes: without a writer nothing happens.
    fn of_connection(&self, seed: Seed, index: u64, connection: u64, chaos_ns: u64) -> Vec<Operation> {
        let mut stream = seed.stream_of("operations", Path::of_process("agent", index as u32), connection);
        let drawn = stream.weighted(&self.roles);
        let Role { weights, factor, .. } = ROLES[if connection == 0 && index == 0 { 0 } else { drawn }];
        let count = self.operations * factor;
        let ids = (index + 1) * IDS_PER_AGENT + connection * IDS_PER_CONNECTION;
        let operation = |number: u64, kind: usize, stream: &mut Stream| Operation {
            id: ids + number,
            process: format!("agent-{index}"),
            kind: KINDS[kind].into(),
            not_before_ns: if number >= count { chaos_ns } else { 0 },
            think_ns: stream.below(self.think_ns + 1),
            arguments: self.arguments(connection, kind, stream),
        };
        let mut operations: Vec<Operation> =
            (0..count).map(|number| operation(number, stream.weighted(&weights), &mut stream)).collect();
        // Who never writes reads everything in the calm.
        let last = if weights[0] > 0 { 0 } else { 2 };
        operations.push(operation(count, last, &mut stream));
        operations
    }

    fn arguments(&self, connection: u64, kind: usize, stream: &mut Stream) -> BTreeMap<String, Value> {
        let (rows, bytes) = (stream.between(1, self.rows), stream.between(1, self.bytes));
        let (held_ns, mode) = (stream.between(1, self.hold_ns), MODES[stream.weighted(&MODE_WEIGHTS)]);
        let mut arguments = BTreeMap::new();
        let mut add = |key: &str, value: Value| drop(arguments.insert(key.to_owned(), value));
        let number = |value: u64| Value::Integer(value as i64);
        add("connection", number(connection));
        match KINDS[kind] {
            "write" => {
                add("rows", number(rows));
                add("bytes", number(bytes));
            }
            "hold" => add("held_ns", number(held_ns)),
            "checkpoint" => add("mode", Value::String(mode.to_owned())),
            _ => {}
        }
        arguments
    }
}

/// Which connection of its process does an operation.
pub fn connection_of(operation: u64) -> u64 {
    operation % IDS_PER_AGENT / IDS_PER_CONNECTION
}

//! signal-flood: agents broadcast to each other and answer directly, while messages get lost, come twice and out of order, partitions cut them off, and they are killed. How
//! its plan is drawn is here, what an agent does with it in `flood`, what must hold in `oracle`.

use crate::check::{self, Argument, ArgumentRange, Rules};
use crate::faults::Menu;
use crate::plans::{self, DURATION_NS_MAX, IDS_PER_AGENT, SECOND_NS, WORKERS_MAX, agents, persistence};
use crate::setting::{self, Range, Setting, settle};
use crate::{flood, oracle};
use seedstorm_model::bus::Signal;
use seedstorm_sim::invariant::{LOCKS, watch_locks};
use seedstorm_sim::plan::{
    FaultKind, FaultPlan, Faults, Operation, Options, OptionsError, PLAN_FORMAT, Plan, PlantedBug, Position, Refusal,
    Trigger,
};
use seedstorm_sim::seed::Path;
use seedstorm_sim::{Draw, Scenario, Seed, World};
use std::collections::BTreeMap;
use toml::Value;

/// Six to twenty agents broadcast twenty to a hundred signals a second each.
pub struct SignalFlood;

const MS: u64 = 1_000_000;
const WORKERS: &[u64] = &[6, 12, 16, 20];
/// How long the flood lasts. Short: each broadcast is fifteen deliveries.
const DURATION_NS: u64 = 100 * MS;

/// What a flood draws for itself.
const SETTINGS: &[Setting] = &[
    Setting {
        key: "rate",
        about: "signals of each agent in a second of the flood",
        range: Range::Number(1, 100_000, &[20, 50, 100]),
    },
    Setting {
        key: "direct_percent",
        about: "of a hundred operations, so many are signals for one agent",
        range: Range::Number(0, 100, &[0, 10, 30]),
    },
    Setting {
        key: "answer_percent",
        about: "of a hundred signals, so many ask an agent for an answer",
        range: Range::Number(0, 100, &[0, 10, 50]),
    },
    Setting {
        key: "value_bytes",
        about: "the greatest length of a signal's content, in bytes",
        range: Range::Number(1, VALUE_BYTES_MAX, &[20, 100, 600]),
    },
    Setting {
        key: "queue_max",
        about: "signals that wait in one agent's durable queue at most",
        range: Range::Number(1, 1_000_000, &[8, 16, 64, 256]),
    },
    Setting {
        key: "copies_max",
        about: "copies of signals that an agent holds while they wait for their turn, at most",
        range: Range::Number(0, 1_000_000, &[2, 16, 128]),
    },
    Setting {
        key: "mailbox_max",
        about: "messages that wait in a mailbox at most",
        range: Range::Number(1, 1_000_000, &[8, 128]),
    },
    Setting {
        key: "batch_max",
        about: "signals that are acknowledged in one transaction at most",
        range: Range::Number(1, 100_000, &[4, 16, 64]),
    },
    Setting {
        key: "poll_ms",
        about: "how long a busy agent leaves its durable queue alone, in milliseconds",
        range: Range::Number(1, 600_000, &[5, 20, 100]),
    },
    Setting {
        key: "signals_per_minute",
        about: "signals that an agent may send in a minute; 0 is without limit",
        range: Range::Number(0, 1_000_000, &[0]),
    },
    setting::LOCK,
    setting::BACKOFF,
    setting::busy_timeout_ms(&[0, 5, 50, 500]),
    setting::page_bytes(&[1_024, 4_096, 16_384]),
    setting::autocheckpoint_pages(&[20, 100, 1_000]),
    setting::cache_pages(&[50, 2_000]),
    setting::LATENCY,
    setting::PERSISTENCE,
];

const KINDS: [&str; 2] = ["broadcast", "direct"];

const BYTES: Argument = Argument::optional("bytes", ArgumentRange::Number(0, VALUE_BYTES_MAX));
const TO: Argument = Argument::needed("to", ArgumentRange::Agent);
const ANSWER_BY: Argument = Argument::optional("answer_by", ArgumentRange::Agent);

/// The greatest length that a signal's content can be given, in bytes.
const VALUE_BYTES_MAX: u64 = 60_000;

/// What may go wrong: (kind, chance that a seed has it in percent, how many at most).
const FAULTS: Menu = Menu {
    kinds: &[
        (FaultKind::MessageLoss, 50, 3),
        (FaultKind::MessageDuplicate, 50, 3),
        (FaultKind::MessageDelay, 30, 2),
        (FaultKind::MessageReorder, 40, 3),
        (FaultKind::MessageGarble, 30, 3),
        (FaultKind::Partition, 35, 2),
        (FaultKind::Kill, 60, 6),
        (FaultKind::Terminate, 15, 1),
        (FaultKind::Pause, 20, 2),
        (FaultKind::MachineCrash, 20, 1),
        (FaultKind::Delay, 15, 3),
        (FaultKind::ClockJump, 5, 1),
        (FaultKind::IoError, 15, 2),
        (FaultKind::NoSpace, 10, 2),
        (FaultKind::ShortWrite, 10, 2),
    ],
    possible: FaultKind::ALL,
};

/// About how many steps a run has for each delivery.
const STEPS_OF_DELIVERY: u64 = 50;

struct Shape {
    rate: u64,
    direct_percent: u64,
    answer_percent: u64,
    value_bytes: u64,
    workers: u64,
    begins_ns: u64,
    lasts_ns: u64,
    chaos_ns: u64,
}

/// How long a crowd takes to come up, for each agent of it, in nanoseconds: by latency profile.
fn waking_ns(latency: &str) -> u64 {
    match latency {
        "hdd" => 120 * MS,
        "ssd" => 40 * MS,
        _ => 15 * MS,
    }
}

/// The flood begins when the crowd is up, and faults go on until most of it has been delivered: so many times as long as the crowd took.
const DELIVERY_FACTOR: u64 = 3;

impl Shape {
    /// What one agent sends: its share of the flood, evenly with jitter, and one signal in the calm.
    fn of_agent(&self, seed: Seed, index: u64) -> Vec<Operation> {
        let mut stream = seed.stream_of("operations", Path::of_process("agent", index as u32), 0);
        let interval_ns = (SECOND_NS / self.rate).max(1);
        let count = (self.lasts_ns / interval_ns).clamp(1, IDS_PER_AGENT / 2);
        let mut operations = Vec::new();
        let mut add = |number: u64, not_before_ns: u64, is_direct: bool| {
            let mut arguments = BTreeMap::new();
            let name = |bits: u64| Value::String(format!("agent-{}", (index + 1 + bits) % self.workers));
            let (to, answer_by) = (stream.below(self.workers - 1), stream.below(self.workers - 1));
            let asks = stream.chance(self.answer_percent, 100);
            arguments.insert("bytes".to_owned(), Value::Integer(stream.between(1, self.value_bytes) as i64));
            if is_direct {
                arguments.insert("to".to_owned(), name(to));
            }
            if asks {
                arguments.insert("answer_by".to_owned(), name(if is_direct { to } else { answer_by }));
            }
            operations.push(Operation {
                id: (index + 1) * IDS_PER_AGENT + number,
                process: format!("agent-{index}"),
                kind: KINDS[usize::from(is_direct)].into(),
                not_before_ns,
                think_ns: 0,
                arguments,
            });
            (stream.below(interval_ns), stream.chance(self.direct_percent, 100))
        };
        let (mut jitter_ns, mut is_direct) = (0, false);
        for number in 0..count {
            (jitter_ns, is_direct) =
                add(number, self.begins_ns + number * interval_ns + jitter_ns, is_direct && self.workers > 1);
        }
        add(IDS_PER_AGENT / 2, self.chaos_ns, index % 2 == 1 && self.workers > 1);
        operations
    }
}

/// In how many seeds of a hundred several agents are killed inside a transaction.
const KILLS_IN_TRANSACTIONS: u64 = 50;

/// Draws kills inside transactions, early or late: what was handed over is not acknowledged then, and what was sent is known to nobody.
fn kills_in_transactions(seed: Seed, processes: &[String]) -> Vec<FaultPlan> {
    let mut stream = seed.stream("faults/kills-in-transactions");
    if !stream.chance(KILLS_IN_TRANSACTIONS, 100) {
        return Vec::new();
    }
    let count = stream.between(1, 4);
    let mut kill = |number: u32| {
        let magnitude = stream.between(5, 11);
        let process = stream.pick(processes).cloned();
        let when = Trigger::While { position: Position::InTransaction, nth: 1 + stream.below(1 << magnitude) };
        FaultPlan::new(FaultKind::Kill as u32 * 1000 + 700 + number, FaultKind::Kill, process, when)
    };
    (0..count as u32).map(&mut kill).collect()
}

impl Scenario for SignalFlood {
    fn name(&self) -> &'static str {
        "signal-flood"
    }

    fn about(&self) -> &'static str {
        "agents broadcast and answer with vector clocks, under loss, duplication, reordering, partitions and kills"
    }

    fn is_self_contained(&self) -> bool {
        true
    }

    fn faults(&self) -> &'static [FaultKind] {
        FAULTS.possible
    }

    fn plan(&self, seed: Seed, options: &Options) -> Result<Plan, OptionsError> {
        let workers = plans::workers(seed, options, WORKERS)?;
        let lasts_ns = plans::duration_ns(options, DURATION_NS)?;
        let mut settings = settle(SETTINGS, seed, options)?;
        let number = |key: &str| settings.get(key).and_then(Value::as_integer).unwrap_or(0) as u64;
        let word = |key: &str| settings.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let latency = word("latency");
        let begins_ns = waking_ns(&latency) * workers;
        let chaos_ns = begins_ns + lasts_ns + begins_ns * DELIVERY_FACTOR;
        let shape = Shape {
            rate: number("rate"),
            direct_percent: number("direct_percent"),
            answer_percent: number("answer_percent"),
            value_bytes: number("value_bytes"),
            workers,
            begins_ns,
            lasts_ns,
            chaos_ns,
        };
        let operations: Vec<Operation> = (0..workers).flat_map(|index| shape.of_agent(seed, index)).collect();
        let names = agents(workers);
        let persistence = persistence(&settings);
        let mut faults =
            FAULTS.draw(seed, options, &names, chaos_ns, &[begins_ns, begins_ns + lasts_ns / 2, begins_ns * 2]);
        if options.faults == Faults::Default {
            faults.extend(kills_in_transactions(seed, &names));
        }
        let steps = operations.len() as u64 * workers * STEPS_OF_DELIVERY;
        settings.insert("workers".into(), Value::Integer(workers as i64));
        Ok(Plan {
            format: PLAN_FORMAT,
            scenario: self.name().into(),
            seed,
            strategy: options.strategy_of(seed, steps),
            step_counts: None,
            persistence,
            latency,
            chaos_ns,
            calm_ns: 600 * SECOND_NS + 10 * chaos_ns,
            steps_max: 4_000_000 + operations.len() as u64 * workers * 2_000,
            disk_capacity_bytes: None,
            absent: Vec::new(),
            clock_skew_ns: BTreeMap::new(),
            settings,
            faults,
            operations,
        })
    }

    fn check(&self, plan: &Plan) -> Result<(), Refusal> {
        let rules = Rules {
            settings: SETTINGS,
            fixed: &[],
            kinds: &[(KINDS[0], &[BYTES, ANSWER_BY]), (KINDS[1], &[TO, BYTES, ANSWER_BY])],
            faults: FAULTS.possible,
            chaos_ns_max: DURATION_NS_MAX + WORKERS_MAX * waking_ns("hdd") * (1 + DELIVERY_FACTOR),
        };
        check::plan(plan, &rules)
    }

    fn plainest(&self) -> BTreeMap<String, Value> {
        crate::setting::plainest(SETTINGS)
    }

    fn populate(&self, plan: &Plan, world: &mut World) {
        flood::populate(plan, world);
        watch_locks(world);
        oracle::watch_bus(world);
    }

    fn recover(&self, plan: &Plan, world: &mut World) {
        flood::recover(plan, AGENTS_RECOVERED, world);
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[
            "duplicated",
            "reordered",
            "lost_wakeup_polled",
            "partition_healed",
            "redelivered_after_kill",
            "causal_gap_buffered",
            "incarnation_changed",
            "clock_pruned",
            "queue_full",
            "corrupt_clock_refused",
        ]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        const PARTS: &[&[(&str, &str)]] = &[LOCKS, oracle::AGENTS, oracle::signals::SIGNALS];
        const ALL: [(&str, &str); oracle::count(PARTS)] = oracle::joined(PARTS);
        &ALL
    }

    fn message_in_words(&self, bytes: &[u8]) -> Option<String> {
        let Signal { id, answer_by, .. } = Signal::of_copy(bytes, None).ok()?;
        let answer = if answer_by == 0 { String::new() } else { format!(", which agent {answer_by} is to answer") };
        Some(format!("a copy of signal {id}{answer}"))
    }

    fn planted_bugs(&self) -> Vec<PlantedBug> {
        setting::planted_bugs(self.name())
    }
}

/// Agents that come up at a crash point: what the others would find stands in the database all the same, and is judged there.
const AGENTS_RECOVERED: u32 = 3;

//! How an avalanche's plan is drawn: settings, bursts, the batches of each agent.

use super::records::{STRUCTURES, Size, draw};
use super::universe::Universe;
use crate::check::{self, Argument, ArgumentRange, Rules};
use crate::faults::Menu;
use crate::oracle::beliefs::reading::Planned;
use crate::plans::{self, DURATION_NS_MAX, IDS_PER_AGENT, SECOND_NS, agents, bursts, persistence, weights};
use crate::setting::{self, Range, Setting, settle};
use crate::swarm;
use seedstorm_sim::plan::{FaultKind, Operation, Options, OptionsError, PLAN_FORMAT, Place, Plan, Refusal};
use seedstorm_sim::seed::Path;
use seedstorm_sim::{Draw, Seed};
use std::collections::BTreeMap;
use toml::Value;

const WORKERS: &[u64] = &[3, 6, 8, 12];

/// The greatest length that a belief can be given, in bytes.
const TEXT_BYTES_MAX: u64 = 100_000;

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
        range: Range::Number(1, TEXT_BYTES_MAX, &[20, 200, 2_000]),
    },
    setting::BURSTS,
    setting::THINK,
    setting::LOCK,
    setting::BACKOFF,
    setting::busy_timeout_ms(&[0, 5, 50, 500, 5_000]),
    setting::page_bytes(&[1_024, 4_096, 16_384]),
    setting::autocheckpoint_pages(&[5, 20, 100, 1_000]),
    setting::cache_pages(&[20, 200, 2_000]),
    setting::CHECKPOINT,
    setting::LATENCY,
    setting::PERSISTENCE,
];

/// Settings that are always the same: they are in each plan, and can't be chosen.
const FIXED: &[(&str, i64)] = &[(swarm::BELIEFS, 1), (swarm::MEMORIES, 1)];

/// Operations beside the batches, and in how many of a hundred places one of them stands.
const BESIDE: &[(&str, u64)] = &[("checkpoint", 6), ("verify", 3)];

/// About how many steps an operation takes, retries and waits included, as counted over a thousand seeds.
const STEPS_OF_OPERATION: u64 = 280;

/// Draws the plan of a seed.
///
/// # Errors
/// An option that the scenario doesn't know, or a value out of range.
pub fn plan(scenario: &str, menu: &Menu, seed: Seed, options: &Options) -> Result<Plan, OptionsError> {
    let workers = plans::workers(seed, options, WORKERS)?;
    let chaos_ns = plans::duration_ns(options, 30 * SECOND_NS)?;
    let mut settings = settle(SETTINGS, seed, options)?;
    let number = |key: &str| settings.get(key).and_then(Value::as_integer).unwrap_or(0) as u64;
    let word = |key: &str| settings.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let busy_ns = bursts(seed, number("bursts"), chaos_ns);
    let shape = Shape {
        size: Size { core: number("core"), axioms: number("axioms"), learned: number("learned") },
        batches: number("batches"),
        records: number("records"),
        text_bytes: number("text_bytes"),
        think_ns: number("think_us") * 1_000,
        weights: weights(seed, STRUCTURES),
    };
    let operations = shape.operations(seed, workers, chaos_ns, &busy_ns);
    let strategy = options.strategy_of(seed, operations.len() as u64 * STEPS_OF_OPERATION);
    let names = agents(workers);
    let faults = menu.draw(seed, options, &names, chaos_ns, &busy_ns);
    let persistence = persistence(&settings);
    let latency = word("latency");
    settings.insert("workers".into(), Value::Integer(workers as i64));
    settings.extend(FIXED.iter().map(|(key, value)| ((*key).to_owned(), Value::Integer(*value))));
    Ok(Plan {
        format: PLAN_FORMAT,
        scenario: scenario.into(),
        seed,
        strategy,
        step_counts: None,
        persistence,
        latency,
        chaos_ns,
        calm_ns: 600 * SECOND_NS,
        steps_max: 2_000_000 + shape.batches * workers * (20_000 + shape.records * 2_000),
        disk_capacity_bytes: None,
        absent: Vec::new(),
        clock_skew_ns: BTreeMap::new(),
        settings,
        faults,
        operations,
    })
}

/// Looks at a plan that came from a file. `faults` are the kinds that can happen.
///
/// # Errors
/// What the scenario doesn't know, and what is allowed.
pub fn check(plan: &Plan, faults: &[FaultKind]) -> Result<(), Refusal> {
    let beside = BESIDE.iter().map(|(kind, _)| -> (&str, &[Argument]) { (*kind, &[]) });
    let kinds: Vec<(&str, &[Argument])> = [("ingest", INGEST)].into_iter().chain(beside).collect();
    let rules = Rules { settings: SETTINGS, fixed: FIXED, kinds: &kinds, faults, chaos_ns_max: DURATION_NS_MAX };
    check::plan(plan, &rules)?;
    for operation in &plan.operations {
        if let Err(value) = swarm::batch(operation) {
            let allowed =
                "`b0 <- a1 b2 ! b3 @agent-0`, `contradiction b0 b1`, `b1 supersedes b0`, `retract …`, `forget b0`";
            let place = Place::Operation { id: operation.id, key: Some("records".to_owned()) };
            return Err(Refusal::value(place, value, allowed));
        }
    }
    Ok(())
}

/// The arguments of an `ingest`.
const INGEST: &[Argument] = &[
    Argument::needed("records", ArgumentRange::Texts),
    Argument::optional("bytes", ArgumentRange::Number(0, TEXT_BYTES_MAX)),
];

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

//! A swarm of agents that carry out a plan's operations: the processes that scenarios share. The agents themselves are in `model`.

use crate::avalanche::universe::Universe;
use crate::plans::workers_of;
use crate::script::{End, NOT_WELL_AWAKE, Planned, Script, exit};
use crate::setting::MUTANT;
use seedstorm_model::agent::{self, Agent, AgentError, Done, Work, WorkKind};
use seedstorm_model::config::{CheckpointMode, Config};
use seedstorm_model::lock::{BackoffPolicy, LockKind};
use seedstorm_model::mutant::Mutant;
use seedstorm_model::tms::{Batch, Belief};
use seedstorm_sim::plan::Operation;
use seedstorm_sim::{Errno, Exit, Plan, Sys, World};
use std::rc::Rc;
use toml::Value;

/// Items of each task's checklist.
pub const ITEMS: u64 = 3;

/// The name of a key of the board.
pub fn board_key(index: u64) -> String {
    format!("key-{index}")
}

/// The name of a task that agents compete for.
pub fn task(index: u64) -> String {
    format!("task-{index}")
}

/// The name of the task that one agent alone works on in the calm phase.
pub fn calm_task(agent: u32) -> String {
    format!("calm-{agent}")
}

/// The name of a document.
pub fn document(index: u64) -> String {
    format!("document-{index}")
}

/// The setting that says whether agents keep days: introspect and sleep.
pub const DAYS: &str = "days";

/// The setting that says whether agents remember: whether memories are sealed.
pub const MEMORIES: &str = "memories";

/// The setting that says whether tasks need each other.
pub const NEEDS: &str = "needs";

/// Tasks that need each other. Nobody claims them: those that agents compete for are others.
pub const PROJECTS: u64 = 6;

/// The name of a task that needs others.
pub fn project(index: u64) -> String {
    format!("project-{index}")
}

/// What an agent learns: memories of one subject are alike, whoever has them.
pub fn subject(index: u64) -> String {
    format!("subject-{index}")
}

/// The setting that says whether agents take beliefs in.
pub const BELIEFS: &str = "beliefs";

/// Adds the preparation and an agent for each process that the plan's settings name.
pub fn populate(plan: &Plan, world: &mut World) {
    let config = Rc::new(config(plan));
    let workers = workers_of(plan);
    let names = Names {
        keys: (0..plan.setting_u64("board_keys", 1)).map(board_key).collect(),
        tasks: (0..plan.setting_u64("tasks", 1))
            .map(task)
            .chain((0..workers).map(calm_task))
            .chain((0..if config.tasks_need_each_other { PROJECTS } else { 0 }).map(project))
            .collect(),
    };
    let (names, prepared) = (Rc::new(names), config.clone());
    let universe = Universe { text_bytes: plan.setting_u64("text_bytes", 1) };
    let core: Rc<[Belief]> = universe.core(plan.setting_u64("core", 0)).into();
    world.prepare(move |sys| {
        let (config, names, core) = (prepared.clone(), names.clone(), core.clone());
        async move {
            let prepared = async {
                agent::prepare(&sys, &config, &names.keys, &names.tasks, ITEMS).await?;
                if config.keeps_beliefs { agent::lay_down(&sys, &config, &core).await } else { Ok(()) }
            };
            match prepared.await {
                Ok(()) => Exit::success(),
                Err(error) => exit(&error),
            }
        }
    });
    for (index, script) in (0..).zip(Script::of_agents(plan, workers, work)) {
        let config = config.clone();
        world.process("agent", index, move |sys| run(sys, config.clone(), script.clone()));
    }
}

/// Adds agents of a plan as they come up after a crash, so many at most: each wakes, asks for the status, and stops. It is asked for nothing else.
pub fn recover(plan: &Plan, agents_max: u32, world: &mut World) {
    let config = Rc::new(config(plan));
    for index in 0..workers_of(plan).min(agents_max) {
        let config = config.clone();
        world.process("agent", index, move |sys| {
            let config = config.clone();
            async move {
                let agent = match agent::wake(&sys, &config).await {
                    Ok(agent) => agent,
                    Err(error) => return exit(&error),
                };
                let why = match look(&sys, &config, agent).await {
                    Ok(true) => return Exit::success(),
                    Ok(false) => "the status was out of reach".to_owned(),
                    Err(error) => error.to_string(),
                };
                Exit { code: NOT_WELL_AWAKE, why }
            }
        });
    }
}

/// How often the status is asked for: a crowd that comes up at once keeps the database busy.
const STATUS_ATTEMPTS: u32 = 20;

/// Gives whether the status could be had.
async fn look(sys: &Sys, config: &Config, mut agent: Agent) -> Result<bool, AgentError> {
    let mut is_seen = false;
    for _ in 0..STATUS_ATTEMPTS {
        is_seen = if config.keeps_days {
            // No number of a plan's operations.
            agent.work(sys, &Work { number: u64::MAX >> 1, kind: WorkKind::Status }).await? == Done::Acknowledged
        } else {
            agent.status(sys).await?.is_some()
        };
        if is_seen {
            break;
        }
    }
    agent.stop(sys).await?;
    Ok(is_seen)
}

/// The engine's configuration, as the plan's settings have it.
pub fn config(plan: &Plan) -> Config {
    let ns = |key: &str, default: u64| plan.setting_u64(key, default).saturating_mul(NS_PER_MS);
    let pages = |key: &str, default: u64| u32::try_from(plan.setting_u64(key, default)).unwrap_or(u32::MAX);
    let word = |key: &str| plan.setting_str(key).unwrap_or_default();
    let default = Config::default();
    Config {
        lock: LockKind::parse(word("lock")).unwrap_or(default.lock),
        backoff: BackoffPolicy::parse(word("backoff")).unwrap_or(default.backoff),
        lock_timeout_ns: ns("lock_timeout_ms", default.lock_timeout_ns / NS_PER_MS),
        lease_ns: ns("lease_ms", default.lease_ns / NS_PER_MS),
        claim_ns: ns("claim_ms", default.claim_ns / NS_PER_MS),
        busy_timeout_ns: ns("busy_timeout_ms", default.busy_timeout_ns / NS_PER_MS),
        page_bytes: pages("page_bytes", default.page_bytes.into()),
        autocheckpoint_pages: pages("autocheckpoint_pages", default.autocheckpoint_pages.into()),
        cache_pages: pages("cache_pages", default.cache_pages.into()),
        keeps_days: plan.setting_u64(DAYS, 0) != 0,
        keeps_memories: plan.setting_u64(MEMORIES, 0) != 0,
        tasks_need_each_other: plan.setting_u64(NEEDS, 0) != 0,
        keeps_beliefs: plan.setting_u64(BELIEFS, 0) != 0,
        checkpoint: CheckpointMode::parse(word("checkpoint")).unwrap_or(default.checkpoint),
        mutant: plan.setting_str(MUTANT).and_then(Mutant::parse),
        ..default
    }
}

const NS_PER_MS: u64 = 1_000_000;

struct Names {
    keys: Vec<String>,
    tasks: Vec<String>,
}

async fn run(sys: Sys, config: Rc<Config>, script: Rc<Script<Work>>) -> Exit {
    script.exit(carry_out(&sys, &config, &script).await)
}

async fn carry_out(sys: &Sys, config: &Config, script: &Script<Work>) -> Result<(), End> {
    let mut awake = Some(agent::wake(sys, config).await?);
    while let Some(operation) = script.next() {
        if sys.is_terminating() {
            stop(sys, awake).await?;
            return Err(End::Terminated);
        }
        sys.begin_operation(operation.id);
        if let Err(Errno::Interrupted) = until_due(sys, operation).await {
            continue;
        }
        let agent = match &mut awake {
            Some(agent) => agent,
            None => awake.insert(agent::wake(sys, config).await?),
        };
        match agent.work(sys, &operation.work).await? {
            // A later try has the same key: it finds out what became of this one.
            Done::Unanswered => {}
            Done::Acknowledged | Done::Refused => {
                script.advance();
                if operation.work.kind == WorkKind::Sleep {
                    awake = None;
                }
            }
        }
    }
    stop(sys, awake).await?;
    Ok(())
}

/// Stops an agent, unless it is asleep.
async fn stop(sys: &Sys, awake: Option<Agent>) -> Result<(), AgentError> {
    match awake {
        Some(mut agent) => agent.stop(sys).await,
        None => Ok(()),
    }
}

async fn until_due(sys: &Sys, operation: &Planned<Work>) -> Result<(), Errno> {
    let wait_ns = operation.not_before_ns.saturating_sub(sys.simulated_ns()).saturating_add(operation.think_ns);
    if wait_ns > 0 { sys.sleep(wait_ns).await } else { Ok(()) }
}

/// The batch that an operation says.
///
/// # Errors
/// Words that say no record.
pub fn batch(operation: &Operation) -> Result<Batch, String> {
    let records = operation.arguments.get("records").and_then(Value::as_array).into_iter().flatten();
    Universe { text_bytes: number(operation, "bytes") }.batch(records.filter_map(Value::as_str))
}

/// A number that an operation has, or 0.
pub(crate) fn number(operation: &Operation, key: &str) -> u64 {
    let number = operation.arguments.get(key).and_then(Value::as_integer);
    number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
}

fn work(operation: &Operation) -> Work {
    let text = |key: &str| operation.arguments.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let number = |key: &str| number(operation, key);
    let names = |key: &str| -> Vec<String> {
        let names = operation.arguments.get(key).and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let bytes = number("bytes") as usize;
    let kind = match operation.kind.as_str() {
        "board-write" => WorkKind::BoardWrite { keys: names("keys"), bytes },
        "board-read" => WorkKind::BoardRead { keys: names("keys") },
        "task-claim" => WorkKind::TaskClaim { task: text("task") },
        "task-check" => WorkKind::TaskCheck { task: text("task"), item: number("item") },
        "task-needs" => WorkKind::TaskNeeds { task: text("task"), needed: names("needed") },
        "task-leave" => WorkKind::TaskLeave { task: text("task") },
        "document" => WorkKind::Document { name: text("name"), bytes },
        "checkpoint" => WorkKind::Checkpoint,
        "introspect" => WorkKind::Introspect { notes: number("notes") as u32, bytes },
        "sleep" => WorkKind::Sleep,
        // A plan whose words say nothing is refused before it runs.
        "ingest" => WorkKind::Ingest { batch: batch(operation).unwrap_or_default() },
        "status" => WorkKind::Status,
        "remember" => {
            let mut text = format!("{} ", text("subject"));
            text.extend(std::iter::repeat_n('.', bytes.saturating_sub(text.len())));
            WorkKind::Remember { text }
        }
        "verify" => WorkKind::Verify,
        _ => WorkKind::Note { bytes },
    };
    Work { number: operation.id, kind }
}

//! Small worlds for the oracles' tests: an engine's directory and tables, programs that a test writes in place, and every oracle watching. No test
//! lives here.

#![allow(dead_code, reason = "each test binary uses a part")]

use rusqlite::Connection;
use seedstorm_model::agent;
use seedstorm_model::claims::{Awake, Committed, Effect, OperationBegun, OperationKey};
use seedstorm_model::config::Config;
use seedstorm_scenarios::oracle::{watch_days, watch_swarm, watch_wakes};
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{OptionsError, StrategyPlan};
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::{Exit, Options, Outcome, Plan, Scenario, Seed, Settings, Sys, World, run};

pub(crate) const MILLI_NS: u64 = 1_000_000;

/// A scenario made of a closure.
struct Case<P>(P);

impl<P: Fn(&mut World)> Scenario for Case<P> {
    fn name(&self) -> &'static str {
        "case"
    }

    fn about(&self) -> &'static str {
        "a test"
    }

    fn plan(&self, seed: Seed, _options: &Options) -> Result<Plan, OptionsError> {
        Ok(Plan { seed, ..plan() })
    }

    fn populate(&self, _plan: &Plan, world: &mut World) {
        self.0(world);
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// One second of chaos and ten of calm, in time order, no faults.
pub(crate) fn plan() -> Plan {
    Plan {
        strategy: StrategyPlan::Timed,
        persistence: Persistence::Ext4,
        latency: "flat".into(),
        chaos_ns: 1_000 * MILLI_NS,
        calm_ns: 10_000 * MILLI_NS,
        steps_max: 100_000,
        ..Plan::plain("case", Seed(1))
    }
}

/// What the programs of a world know.
#[derive(Clone)]
pub(crate) struct Agent {
    pub(crate) sys: Sys,
    pub(crate) name: String,
}

/// Runs so many agents, each of them this program, on a directory and tables that have been made, with one key, one task of three items and the
/// agents' rows.
pub(crate) fn run_agents<F>(
    plan: &Plan,
    agents: u32,
    program: impl Fn(Agent, u32) -> F + Clone + Sync + 'static,
) -> Outcome
where
    F: Future<Output = Exit> + 'static,
{
    run_watched(plan, agents, (Config::default(), RestartPolicy::Never), watch_swarm, program)
}

/// As [`run_agents`], for agents that keep days.
pub(crate) fn run_days<F>(
    plan: &Plan,
    agents: u32,
    program: impl Fn(Agent, u32) -> F + Clone + Sync + 'static,
) -> Outcome
where
    F: Future<Output = Exit> + 'static,
{
    run_watched(plan, agents, (with_days(), RestartPolicy::Never), watch_all, program)
}

/// As [`run_days`], for one agent that lives again after a crash.
pub(crate) fn run_lives<F>(plan: &Plan, program: impl Fn(Agent, u32) -> F + Clone + Sync + 'static) -> Outcome
where
    F: Future<Output = Exit> + 'static,
{
    let restart = RestartPolicy::OnFailure { first_ns: MILLI_NS, last_ns: MILLI_NS };
    run_watched(plan, 1, (with_days(), restart), watch_all, program)
}

/// Runs one agent, this program, where memories are sealed. It lives again after a crash.
pub(crate) fn run_memories<F>(plan: &Plan, program: impl Fn(Agent, u32) -> F + Clone + Sync + 'static) -> Outcome
where
    F: Future<Output = Exit> + 'static,
{
    let restart = RestartPolicy::OnFailure { first_ns: MILLI_NS, last_ns: MILLI_NS };
    let config = Config { keeps_memories: true, ..Config::default() };
    run_watched(plan, 1, (config, restart), watch_swarm, program)
}

fn with_days() -> Config {
    Config { keeps_days: true, ..Config::default() }
}

fn watch_all(world: &mut World) {
    watch_wakes(world);
    watch_swarm(world);
    watch_days(world);
}

fn run_watched<F>(
    plan: &Plan,
    agents: u32,
    (config, restart): (Config, RestartPolicy),
    watch: fn(&mut World),
    program: impl Fn(Agent, u32) -> F + Clone + Sync + 'static,
) -> Outcome
where
    F: Future<Output = Exit> + 'static,
{
    let populate = move |world: &mut World| {
        let config = config.clone();
        world.prepare(move |sys| {
            let config = config.clone();
            async move {
                let made = agent::prepare(&sys, &config, &["key".into()], &["task".into()], 3).await;
                made.expect("nothing goes wrong here");
                let rows: String = (0..agents)
                    .map(|index| format!("INSERT INTO agents VALUES ('agent-{index}', 'active', 1, 1, 1, 1, 1);"))
                    .collect();
                write(&sys, "FULL", rows).await;
                Exit::success()
            }
        });
        for index in 0..agents {
            let program = program.clone();
            world.process_with("agent", index, restart, move |sys| program(Agent { name: sys.name(), sys }, index));
        }
        watch(world);
    };
    run(&Case(populate), plan, Settings::default()).expect("the plan can be run")
}

/// Fails the test unless exactly this invariant was violated, once, with these words in the message.
#[track_caller]
pub(crate) fn fired(outcome: &Outcome, invariant: &str, words: &str) {
    match outcome.violations.as_slice() {
        [violation] if violation.invariant == invariant && violation.message.contains(words) => {}
        violations => panic!("`{invariant}` is expected, with `{words}`, not {violations:#?}"),
    }
}

/// Fails the test unless nothing was violated.
#[track_caller]
pub(crate) fn passed(outcome: &Outcome) {
    assert!(outcome.passed(), "{:#?}", outcome.violations);
}

/// Does this with a connection to the database, in the durability that SQLite calls `synchronous`.
pub(crate) async fn with_database<T: 'static>(
    sys: &Sys,
    synchronous: &'static str,
    work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + 'static,
) -> T {
    let work = move || {
        let mut connection = Connection::open(Config::default().database())?;
        connection.busy_timeout(std::time::Duration::from_millis(50))?;
        connection.pragma_update(None, "synchronous", synchronous)?;
        work(&mut connection)
    };
    sys.blocking(move |_| work()).await.expect("SQLite does it")
}

/// Writes to the database in one transaction.
pub(crate) async fn write(sys: &Sys, synchronous: &'static str, sql: String) {
    with_database(sys, synchronous, move |connection| {
        let transaction = connection.transaction()?;
        transaction.execute_batch(&sql)?;
        transaction.commit()
    })
    .await;
}

impl Agent {
    /// Sleeps until this simulated time.
    pub(crate) async fn until_ms(&self, at_ms: u64) {
        let wait_ns = (at_ms * MILLI_NS).saturating_sub(self.sys.simulated_ns());
        self.sys.sleep(wait_ns).await.expect("nobody sends signals here");
    }

    /// Claims that it is awake.
    pub(crate) async fn awake(&self) {
        self.sys.claim(&Awake { agent: self.name.clone() }).await;
    }

    /// The key of an operation of its own.
    pub(crate) fn key(&self, number: u64) -> OperationKey {
        OperationKey { agent: self.name.clone(), number }
    }

    /// Claims that it begins an operation.
    pub(crate) async fn begin(&self, number: u64, kind: &str) {
        self.sys.claim(&OperationBegun { key: self.key(number), kind: kind.into() }).await;
    }

    /// Claims that its operation is committed.
    pub(crate) async fn acknowledge(&self, number: u64, effect: Effect) {
        self.sys.claim(&Committed { key: self.key(number), effect, was_found: false }).await;
    }

    /// Claims that it has found its operation committed by an earlier try.
    pub(crate) async fn find(&self, number: u64, effect: Effect) {
        self.sys.claim(&Committed { key: self.key(number), effect, was_found: true }).await;
    }

    /// Begins, commits and acknowledges a note.
    pub(crate) async fn note(&self, number: u64, synchronous: &'static str) {
        self.begin(number, "note").await;
        let sql = format!("INSERT INTO notes VALUES (NULL, '{}', {number}, 'text', 1)", self.name);
        write(&self.sys, synchronous, sql).await;
        self.acknowledge(number, Effect::of_note("text")).await;
    }
}

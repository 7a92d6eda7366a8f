//! One run: a fresh thread, a madsim runtime, the world in one madsim task, and the result.

use super::beat::Beat;
use super::begin::begin;
use super::core::{Core, Phase};
use super::crash_points::Explorer;
use super::executor::Executor;
use super::handle::Kernel;
use super::view::View;
use super::world::PREPARATION;
use crate::blocking::{Apart, apart};
use crate::invariant::{CrashPoints, Violation};
use crate::metrics::Observations;
use crate::plan::{Plan, Refusal, Scenario, StrategyPlan};
use crate::schedule::{FirstRun, Guide, Guided, StepCounts, Turns, strategy};
use crate::seed::Seed;
use crate::trace::{Event, ProcessId, TraceHash, layer};
use madsim::runtime::Runtime;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thiserror::Error;
use tracing::dispatcher::{self, Dispatch};

/// Is told every event of a run, just after it took effect.
pub type Listener = Box<dyn FnMut(&Event<'_>, &View<'_>) + Send>;

/// Puts an event of a run into a line of words, without time and process.
pub type Teller = Box<dyn FnMut(&Event<'_>, &View<'_>) -> String + Send>;

/// How a plan is run. Nothing here but a guide changes what happens in a run: who listens, looks at its beat, writes turns down or judges leaves no trace. But a run ends at its first
/// violation, so that one that nobody judges may go on, and its trace hash is another.
#[derive(Default)]
pub struct Settings {
    /// Refuse a world with an invariant that [`Scenario::invariants`] doesn't list: lists are made of that one.
    pub refuses_unlisted: bool,
    /// Leave the scenario's invariants out; `progress` and `no-panic` stay.
    pub without_invariants: bool,
    /// Follow these turns in the chaos instead of the plan's strategy. They may come from another plan or another build, and make another run of it.
    pub guide: Option<Guide>,
    /// Write down who went when: see [`Outcome::turns`].
    pub records_turns: bool,
    /// Is told every event.
    pub listener: Option<Listener>,
    /// Puts events into words for whoever listens to `tracing`, where somebody does. Without it they are told by their numbers.
    pub teller: Option<Teller>,
    /// Tell `tracing` nothing, neither events nor what programs say: for a run that has been told, or will be.
    pub is_silent: bool,
    /// How many crash points are explored.
    pub crash_points: CrashPoints,
    /// Where the run tells another thread how far it is: a program that makes no system call stops the whole run, and only from there it can be seen.
    pub beat: Option<Arc<Beat>>,
}

/// What a run came to.
#[derive(Debug)]
pub struct Outcome {
    /// The hash of everything that happened.
    pub trace_hash: TraceHash,
    /// Steps taken.
    pub steps: u64,
    /// Events that happened: calls, claims, faults, starts and ends.
    pub events: u64,
    /// Simulated time at the end, in nanoseconds.
    pub simulated_ns: u64,
    /// What was violated; empty is a pass.
    pub violations: Vec<Violation>,
    /// Coverage, faults, counters and latencies.
    pub observations: Observations,
    /// The names of the processes that ran, without the preparation.
    pub processes: Vec<String>,
    /// How many steps came before the chaos: those of the preparation.
    pub steps_before_chaos: u64,
    /// How many choices the strategy of the chaos had, if it is `skips`: what [`crate::plan::SkipPoints`] name are some of them.
    pub choices: Option<u64>,
    /// Who went when in the chaos, if it was asked for.
    pub turns: Option<Turns>,
    /// How well the guide's turns could be followed, if there was one.
    pub guided: Option<Guided>,
}

impl Outcome {
    /// Whether nothing was violated.
    pub fn passed(&self) -> bool {
        self.violations.is_empty()
    }
}

/// Why a plan can't be run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RunError {
    /// Something in it that the processes of its scenario don't allow.
    #[error("the plan can't be run: {0}")]
    Refused(Refusal),
    /// Anything else, in words.
    #[error("the plan can't be run: {0}")]
    Other(String),
}

/// SQLite and madsim keep state for the whole process: runs take turns. Cargo's tests are threads.
static TURN: Mutex<()> = Mutex::new(());

/// Waits for one's turn, which lasts until the guard goes.
pub(super) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stack of the thread that a run lives on. Programs are futures on the heap; blocking code has stacks of its own.
pub(super) const STACK_BYTES: usize = 4 << 20;

/// Runs a plan to its end.
///
/// # Errors
/// A plan that names a process, latency profile or trigger that doesn't exist.
///
/// # Panics
/// Never for what a program does (that is a violation of `no-panic`); only when the harness itself is broken.
pub fn run(scenario: &(dyn Scenario + Sync), plan: &Plan, settings: Settings) -> Result<Outcome, RunError> {
    run_apart(scenario, plan, settings)
}

/// Runs a plan on a fresh thread: std's hash maps are seeded once a thread, and madsim seeds them on a fresh one only.
pub(super) fn run_apart(
    scenario: &(dyn Scenario + Sync),
    plan: &Plan,
    settings: Settings,
) -> Result<Outcome, RunError> {
    let _turn = turn();
    let apart = |settings, first_run| on_a_thread(scenario, plan, settings, first_run);
    let first_run = first_run(plan, &settings, apart)?;
    apart(settings, first_run)
}

/// Runs a plan on this thread, which has seen other runs, in a simulation of its own or in the one that this code runs in. Explores no crash points.
pub(super) fn run_on_used_thread(
    scenario: &(dyn Scenario + Sync),
    plan: &Rc<Plan>,
    settings: Settings,
    is_in_simulation: bool,
) -> Result<Outcome, RunError> {
    let _turn = turn();
    let here = |settings, first_run| match is_in_simulation {
        true => simulate(scenario, plan, plan, settings, first_run, None),
        false => run_here(scenario, plan, settings, first_run, None),
    };
    let first_run = first_run(plan, &settings, here)?;
    here(settings, first_run)
}

/// Whether a plan is run twice: its strategy must know how many steps each task takes, and the plan doesn't say.
pub(super) fn needs_first_run(plan: &Plan, settings: &Settings) -> bool {
    plan.strategy.needs_counts() && plan.step_counts.is_none() && settings.guide.is_none()
}

fn first_run(
    plan: &Plan,
    settings: &Settings,
    run: impl FnOnce(Settings, FirstRun) -> Result<Outcome, RunError>,
) -> Result<FirstRun, RunError> {
    Ok(match (&plan.step_counts, needs_first_run(plan, settings)) {
        (_, true) => FirstRun::Told(count(settings.beat.clone(), settings.records_turns, run)?),
        (Some(counts), false) => FirstRun::Told(counts.clone()),
        (None, false) => FirstRun::None,
    })
}

/// Counts the steps of a run of each plan, at random, whatever its strategy: for [`Plan::step_counts`] of plans like these. Nothing is checked. One run's
/// counts are one of many that are possible; plans that have different ones explore more.
///
/// # Errors
/// As [`run`].
///
/// # Panics
/// As [`run`].
pub fn count_steps(scenario: &(dyn Scenario + Sync), plans: &[Plan]) -> Result<Vec<StepCounts>, RunError> {
    let _turn = turn();
    if !may_use_threads_again() {
        let apart = |plan| count(None, false, |settings, first_run| on_a_thread(scenario, plan, settings, first_run));
        return plans.iter().map(apart).collect();
    }
    on_fresh_thread(|| {
        if !scenario.is_self_contained() {
            let here =
                |plan| count(None, false, |settings, first_run| run_here(scenario, plan, settings, first_run, None));
            return plans.iter().map(here).collect();
        }
        // As in a series, one simulation does for many.
        let run = |plan: &Plan, settings, first_run| {
            simulate(scenario, plan, &Rc::new(plan.clone()), settings, first_run, None)
        };
        let here = |plan| count(None, false, |settings, first_run| run(plan, settings, first_run));
        in_simulation(SELF_CONTAINED_SEED, || plans.iter().map(here).collect())
    })
}

/// The steps of a first run of a plan, at random: for strategies that must know them. Nothing is checked. Who went when matters only if it stands still.
fn count(
    beat: Option<Arc<Beat>>,
    records_turns: bool,
    run: impl FnOnce(Settings, FirstRun) -> Result<Outcome, RunError>,
) -> Result<StepCounts, RunError> {
    let tally = Arc::default();
    let settings = Settings { without_invariants: true, is_silent: true, records_turns, beat, ..Settings::default() };
    run(settings, FirstRun::Is(Arc::clone(&tally)))?;
    let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(std::mem::take(&mut *tally).told())
}

/// A thread for runs.
fn thread() -> std::thread::Builder {
    std::thread::Builder::new().name("run".into()).stack_size(STACK_BYTES)
}

/// Does something on a thread that nothing has been done on.
pub(super) fn on_fresh_thread<T: Send>(work: impl FnOnce() -> Result<T, RunError> + Send) -> Result<T, RunError> {
    std::thread::scope(|scope| {
        let thread = thread().spawn_scoped(scope, work).map_err(|error| RunError::Other(error.to_string()))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn on_a_thread(
    scenario: &(dyn Scenario + Sync),
    plan: &Plan,
    settings: Settings,
    first_run: FirstRun,
) -> Result<Outcome, RunError> {
    std::thread::scope(|scope| {
        let (apart, doer) = apart();
        let run = thread()
            .spawn_scoped(scope, move || run_here(scenario, plan, settings, first_run, Some(apart)))
            .map_err(|error| RunError::Other(error.to_string()))?;
        // Until the run's end.
        doer.serve(scope, STACK_BYTES);
        run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs a plan in a simulation of its own on this thread. `apart` is for the crash points; without it there are none.
fn run_here<'a>(
    scenario: &'a (dyn Scenario + Sync),
    plan: &'a Plan,
    settings: Settings,
    first_run: FirstRun,
    apart: Option<Apart<'a>>,
) -> Result<Outcome, RunError> {
    let simulated = || simulate(scenario, plan, &Rc::new(plan.clone()), settings, first_run, apart);
    in_simulation(seed_of_std(scenario, plan.seed), simulated)
}

/// What std's chance is seeded with in a run.
pub(super) fn seed_of_std(scenario: &dyn Scenario, seed: Seed) -> Seed {
    if scenario.is_self_contained() { SELF_CONTAINED_SEED } else { seed }
}

/// Of all runs of scenarios that are self-contained, and of threads on which runs follow each other.
pub(super) const SELF_CONTAINED_SEED: Seed = Seed(0);

/// Runs a plan, given twice, in the simulation that this code runs in.
pub(super) fn simulate<'a>(
    scenario: &'a (dyn Scenario + Sync),
    plan: &'a Plan,
    shared_plan: &Rc<Plan>,
    settings: Settings,
    first_run: FirstRun,
    apart: Option<Apart<'a>>,
) -> Result<Outcome, RunError> {
    crate::sqlite::begin_run();
    let _silent = (settings.is_silent && layer::is_listened()).then(|| dispatcher::set_default(&Dispatch::none()));
    let beat = settings.beat.clone();
    if let Some(beat) = &beat {
        beat.begins();
    }
    let spare = Kernel::spare();
    let mut world = spare.as_ref().map(Kernel::spare_world).unwrap_or_default();
    scenario.populate(plan, &mut world);
    if settings.refuses_unlisted {
        world.check_listed(scenario)?;
    }
    let crash_points = settings.crash_points;
    let is_thread_used = apart.is_none();
    let kernel = begin(spare, shared_plan, world, settings, first_run)?;
    let mut explorer = match apart {
        Some(apart) => Explorer::new(crash_points, scenario, plan, apart, &kernel),
        None => Explorer::none(),
    };
    carry_out(&kernel, &mut explorer, !scenario.is_self_contained());
    if let Some(beat) = &beat {
        beat.is_over();
    }
    kernel.with(|core| core.finish());
    let outcome = kernel.with(|core| core.outcome());
    drop_programs(&kernel);
    if let Some(beat) = &beat {
        beat.ends();
    }
    if is_thread_used {
        drop(explorer);
        kernel.leave();
    }
    Ok(outcome)
}

/// Does something on this thread in a simulation of its own.
pub(super) fn in_simulation<T>(seed: Seed, work: impl FnOnce() -> T) -> T {
    runtime(seed).block_on(async { work() })
}

/// What std's clock and chance come from.
pub(super) fn runtime(seed: Seed) -> Runtime {
    Runtime::with_seed_and_config(seed.0, madsim::Config::default())
}

/// Whether threads may be used again. Where somebody listens madsim would say, at every run, that it didn't seed the thread's hash maps.
pub(super) fn may_use_threads_again() -> bool {
    !layer::is_listened()
}

/// Runs the machine to its end.
pub(super) fn carry_out(kernel: &Kernel, explorer: &mut Explorer<'_>, moves_std_clock: bool) {
    let _installed = crate::sqlite::serve(kernel);
    let mut executor = Executor::new(kernel.clone(), moves_std_clock);
    kernel.with(|core| match core.phase {
        Phase::Setup => core.controls.push_back(super::Control::Boot(ProcessId(0))),
        _ => core.start_all(),
    });
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| executor.run(explorer))) {
        let message = panic_text(&*panic);
        let polled = kernel.poll_ends();
        kernel.with(|core| core.panicked(polled, message));
    }
    executor.shut_down();
}

/// Drops the programs of all processes, while nobody looks at the machine: what a scenario keeps between boots may hold files of it.
pub(super) fn drop_programs(kernel: &Kernel) {
    for index in 0..kernel.with(|core| core.processes.len()) {
        drop(kernel.with(|core| core.processes[index].program.take()));
    }
}

pub(super) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a text".to_owned())
}

impl Core {
    pub(super) fn panicked(&mut self, task: Option<crate::trace::TaskId>, message: String) {
        let violation = match task.map(|task| self.tasks[task.0 as usize].call.process) {
            Some(id) => {
                let process = &self.processes[id.0 as usize];
                Violation::new("no-panic", format!("{} panicked: {message}", process.name))
                    .object("process")
                    .role(process.role)
            }
            None => Violation::new("no-panic", format!("outside every program: {message}")).object("harness"),
        };
        self.violations.push(violation.loss("panic").at(self.step, self.now_ns));
    }

    /// The checks at the end of a run that got there.
    fn finish(&mut self) {
        if !self.violations.is_empty() {
            return;
        }
        if let Some(mut driver) = self.driver.take() {
            self.judges(true);
            let violations = driver.finish(&View::of(self));
            self.judges(false);
            self.violations.extend(violations);
            self.driver = Some(driver);
        }
    }

    fn outcome(&mut self) -> Outcome {
        let choices = self.choices.or(self.strategy.choices());
        // What a strategy has written down is there once it is gone.
        self.strategy = strategy(StrategyPlan::Timed, self.seed, &FirstRun::None);
        let (turns, guided) = self.chaos_strategy.end();
        let ran = self.processes.iter_mut().filter(|process| process.boot > 0 && process.role != PREPARATION);
        let hasher = &mut self.hasher;
        hasher.bytes(&self.disk.durable_digest());
        Outcome {
            events: hasher.events(),
            trace_hash: hasher.finish(),
            steps: self.step,
            simulated_ns: self.now_ns,
            violations: std::mem::take(&mut self.violations),
            observations: self.observations.take().complete(),
            processes: ran.map(|process| std::mem::take(&mut process.name)).collect(),
            steps_before_chaos: self.steps_before_chaos,
            choices,
            turns,
            guided,
        }
    }
}

//! One run: a fresh thread, a madsim runtime, the world in one madsim task, and the result.

use super::core::{Core, Phase};
use super::crash_points::Explorer;
use super::executor::Executor;
use super::handle::Kernel;
use super::inject::Injector;
use super::latency::{Latencies, PROFILES, Profile};
use super::process::{Life, Process, Program, StreamKeys};
use super::timers::Timers;
use super::view::View;
use super::world::{FIRST_PID, World};
use crate::blocking::{Apart, apart};
use crate::invariant::{CrashPoints, Driver, Violation};
use crate::metrics::Observations;
use crate::plan::{MUTANT, Plan, Scenario, StrategyPlan};
use crate::schedule::{Decisions, Drift, FirstRun, Replay, StepCounts, strategy};
use crate::seed::{Path, Seed};
use crate::sys::disk::{Disk, DiskFlaw, DiskOptions, Owner};
use crate::sys::net::Network;
use crate::trace::{Event, Interest, ProcessId, TraceHash, TraceHasher};
use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use thiserror::Error;

/// Is told every event of a run, just after it took effect.
pub type Listener = Box<dyn FnMut(&Event<'_>, &View<'_>) + Send>;

/// How a plan is run. None of it changes the trace hash.
#[derive(Default)]
pub struct Settings {
    /// Leave the scenario's invariants out; `progress` and `no-panic` stay.
    pub without_invariants: bool,
    /// Follow these decisions instead of the plan's strategy.
    pub replay: Option<Decisions>,
    /// Is told every event.
    pub listener: Option<Listener>,
    /// How many crash points are explored.
    pub crash_points: CrashPoints,
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
    /// What the strategy decided, as departures from the default rule.
    pub decisions: Decisions,
    /// Where a replay left its recording.
    pub drift: Option<Drift>,
}

impl Outcome {
    /// Whether nothing was violated.
    pub fn passed(&self) -> bool {
        self.violations.is_empty()
    }
}

/// Why a plan can't be run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the plan can't be run: {0}")]
pub struct RunError(String);

/// SQLite and madsim keep state for the whole process: runs take turns. Cargo's tests are threads.
static TURN: Mutex<()> = Mutex::new(());

/// Stack of the thread that a run lives on. Programs are futures on the heap; blocking code has stacks of its own.
const STACK_BYTES: usize = 4 << 20;

/// Runs a plan to its end.
///
/// # Errors
/// A plan that names a process, latency profile or trigger that doesn't exist.
///
/// # Panics
/// Never for what a program does (that is a violation of `no-panic`); only when the harness itself is broken.
pub fn run(scenario: &(dyn Scenario + Sync), plan: &Plan, settings: Settings) -> Result<Outcome, RunError> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let first_run = match plan.strategy.needs_counts() && settings.replay.is_none() {
        true => FirstRun::Told(count(scenario, plan)?),
        false => FirstRun::None,
    };
    run_on_a_thread(scenario, plan, settings, first_run)
}

/// The steps of a first run of a plan, at random: for strategies that must know them. Nothing is checked.
fn count(scenario: &(dyn Scenario + Sync), plan: &Plan) -> Result<StepCounts, RunError> {
    let counts = Arc::default();
    let settings = Settings { without_invariants: true, ..Settings::default() };
    run_on_a_thread(scenario, plan, settings, FirstRun::Is(Arc::clone(&counts)))?;
    let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(std::mem::take(&mut *counts))
}

fn run_on_a_thread(
    scenario: &(dyn Scenario + Sync),
    plan: &Plan,
    settings: Settings,
    first_run: FirstRun,
) -> Result<Outcome, RunError> {
    // std's HashMap is seeded once a thread, and madsim seeds it on a fresh one only.
    let thread = std::thread::Builder::new().name("run".into()).stack_size(STACK_BYTES);
    std::thread::scope(|scope| {
        let (apart, doer) = apart();
        let run = thread
            .spawn_scoped(scope, move || run_here(scenario, plan, settings, first_run, apart))
            .map_err(|error| RunError(error.to_string()))?;
        // Until the run's end.
        doer.serve(scope, STACK_BYTES);
        run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn run_here<'a>(
    scenario: &'a (dyn Scenario + Sync),
    plan: &'a Plan,
    settings: Settings,
    first_run: FirstRun,
    apart: Apart<'a>,
) -> Result<Outcome, RunError> {
    in_simulation(plan.seed, || {
        let mut world = World::default();
        scenario.populate(plan, &mut world);
        let crash_points = settings.crash_points;
        let kernel = Kernel::new(core(plan, world, settings, first_run)?);
        let mut explorer = Explorer::new(crash_points, scenario, plan, apart, &kernel);
        carry_out(&kernel, &mut explorer);
        kernel.with(|core| core.finish());
        let (outcome, programs) = kernel.with(|core| (core.outcome(), core.take_programs()));
        // Dropped while nobody looks at the machine: what a scenario keeps between boots may hold files of it.
        drop(programs);
        Ok(outcome)
    })
}

/// Does something on this fresh thread in a simulation of its own.
pub(super) fn in_simulation<T>(seed: Seed, work: impl FnOnce() -> T) -> T {
    let runtime = madsim::runtime::Runtime::with_seed_and_config(seed.0, madsim::Config::default());
    runtime.block_on(async {
        crate::sqlite::begin_run();
        work()
    })
}

/// Runs the machine to its end.
pub(super) fn carry_out(kernel: &Kernel, explorer: &mut Explorer<'_>) {
    let _installed = crate::sqlite::serve(kernel);
    let mut executor = Executor::new(kernel.clone());
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

pub(super) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a text".to_owned())
}

pub(super) fn core(plan: &Plan, world: World, settings: Settings, first_run: FirstRun) -> Result<Core, RunError> {
    let seed = plan.seed;
    let profile = Profile::named(&plan.latency).ok_or_else(|| {
        let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        RunError(format!("latency profile `{}` doesn't exist; there are {}", plan.latency, names.join(", ")))
    })?;
    let strategy_is_replay = settings.replay.is_some();
    let strategy = match settings.replay {
        Some(decisions) => Box::new(Replay::new(decisions)),
        None if world.has_preparation => strategy(StrategyPlan::Timed, seed, &FirstRun::None),
        None => strategy(plan.strategy, seed, &first_run),
    };
    let stream_keys = StreamKeys::default();
    let processes: Vec<Process> = world
        .processes
        .into_iter()
        .map(|spec| {
            let path = Path::of_process(spec.role, spec.index);
            let name = format!("{}-{}", spec.role, spec.index);
            Process {
                skew_ns: plan.clock_skew_ns.get(&name).copied().unwrap_or(0),
                name,
                role: spec.role,
                index: spec.index,
                path,
                program: spec.program,
                restart: spec.restart,
                failures: 0,
                life: Life::Down,
                boot: 0,
                pid: 0,
                owner: Owner(0),
                started_ns: 0,
                tasks: Vec::new(),
                next_ordinal: 0,
                shared_keys: 0,
                terminating: false,
                operation: 0,
                positions: 0,
                locks_claimed: 0,
                latency: seed.stream_of("latency", path, 0),
                entropy: None,
                sqlite_entropy: None,
                messages: None,
            }
        })
        .collect();
    let named: BTreeMap<&str, u32> =
        processes.iter().zip(0..).map(|(process, id)| (process.name.as_str(), id)).collect();
    let injector = Injector::new(&plan.faults, processes.len(), |name| named.get(name).copied().map(ProcessId))
        .map_err(RunError)?;
    if world.has_preparation
        && let Some(fault) = plan.faults.iter().find(|fault| fault.process.as_deref() == Some(&processes[0].name))
    {
        let (id, kind) = (fault.id, fault.kind.name());
        return Err(RunError(format!("fault {id} ({kind}): `prepare-0` is the preparation, which no fault hits")));
    }
    let network = Network::new(processes.iter().map(|process| process.name.as_str()));
    let driver = (!settings.without_invariants).then(|| Box::new(Driver::new(world.invariants)));
    Ok(Core {
        seed,
        plan: Rc::new(plan.clone()),
        now_ns: 0,
        step: 0,
        steps_max: plan.steps_max,
        calls: 0,
        operations_begun: 0,
        phase: if world.has_preparation { Phase::Setup } else { Phase::Chaos },
        end_ns: u64::MAX,
        disk: Disk::new(
            plan.persistence,
            DiskOptions {
                capacity_bytes: plan.disk_capacity_bytes,
                flaw: plan.setting_str(MUTANT).and_then(DiskFlaw::parse),
                ..DiskOptions::default()
            },
        ),
        network,
        unfinished: processes.len(),
        processes,
        owners: 0,
        next_pid: FIRST_PID,
        bystanders: Vec::new(),
        machine_is_up: true,
        machine_started_ns: 0,
        machine_boots: 1,
        wall_offset_ns: 0,
        tasks: Vec::new(),
        free_tasks: Vec::new(),
        has_combinators: false,
        ready: Vec::new(),
        vacant: None,
        timers: Timers::default(),
        waiting: BTreeMap::new(),
        controls: VecDeque::new(),
        injector,
        latencies: Latencies::of(profile),
        stream_keys,
        strategy_delays: strategy.delays(),
        strategy,
        first_run,
        strategy_is_replay,
        last_task: None,
        decisions: Decisions::default(),
        hasher: TraceHasher::default(),
        observed: driver.as_ref().map_or(Interest::NONE, |driver| driver.interest()),
        driver,
        listener: settings.listener,
        traced: crate::trace::layer::is_wanted(),
        observations: RefCell::new(Observations::default()),
        violations: Vec::new(),
        sqlite: crate::sqlite::State::default(),
    })
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
            let violations = driver.finish(&View::of(self));
            self.violations.extend(violations);
            self.driver = Some(driver);
        }
    }

    /// Takes the programs of all processes out: they hold whatever the scenario gave them.
    pub(super) fn take_programs(&mut self) -> Vec<Program> {
        let none: Program = Rc::new(|_| Box::pin(std::future::pending()));
        self.processes.iter_mut().map(|process| std::mem::replace(&mut process.program, none.clone())).collect()
    }

    fn outcome(&mut self) -> Outcome {
        self.strategy.run_ended();
        let mut hasher = std::mem::take(&mut self.hasher);
        hasher.bytes(&self.disk.durable_digest());
        Outcome {
            events: hasher.events(),
            trace_hash: hasher.finish(),
            steps: self.step,
            simulated_ns: self.now_ns,
            violations: std::mem::take(&mut self.violations),
            observations: self.observations.take(),
            decisions: std::mem::take(&mut self.decisions),
            drift: self.strategy.drift().cloned(),
        }
    }
}

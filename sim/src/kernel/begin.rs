//! How a run begins: the machine before its first step, made where the machine of the run before was.

use super::beat::Beat;
use super::core::{Core, Phase};
use super::handle::Kernel;
use super::inject::Injector;
use super::latency::{Latencies, PROFILES};
use super::process::{Life, Process, STREAM_KEYS, Streams};
use super::run::{Listener, RunError, Settings, Teller};
use super::timers::Timers;
use super::world::{FIRST_PID, PREPARATION, ProcessSpec, World};
use crate::invariant::Driver;
use crate::metrics::Observations;
use crate::plan::{Between, MUTANT, Place, Plan, Refusal, StrategyPlan};
use crate::schedule::{ChaosStrategy, FirstRun, TASKS, strategy};
use crate::seed::Path;
use crate::sys::disk::{Disk, DiskFlaw, DiskOptions, Owner};
use crate::sys::net::Network;
use crate::trace::{Interest, ProcessId, TaskId, TraceHasher};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// A process's name in the plan.
fn name_of(role: &str, index: u32) -> String {
    // Formatting costs what ten steps cost, and most processes have a number of one digit.
    let Some(digit) = char::from_digit(index, 10) else { return format!("{role}-{index}") };
    let mut name = String::with_capacity(role.len() + 2);
    name.push_str(role);
    name.push('-');
    name.push(digit);
    name
}

/// A kernel for a run: the spare one, or a new one.
pub(super) fn begin(
    spare: Option<Kernel>,
    plan: &Rc<Plan>,
    world: World,
    settings: Settings,
    first_run: FirstRun,
) -> Result<Kernel, RunError> {
    let Some(kernel) = spare else { return Ok(Kernel::new(core(plan, world, settings, first_run)?)) };
    kernel.with(|core| put(core, plan, world, settings, first_run))?;
    Ok(kernel)
}

/// The machine before its first step.
pub(super) fn core(plan: &Rc<Plan>, world: World, settings: Settings, first_run: FirstRun) -> Result<Core, RunError> {
    let mut core = blank(plan);
    put(&mut core, plan, world, settings, first_run)?;
    Ok(core)
}

/// Makes a core that of a run, whatever it was before; where it can't, nobody may use it. Lists keep their room: a short run costs little more than asking
/// for it.
fn put(
    core: &mut Core,
    plan: &Rc<Plan>,
    mut world: World,
    settings: Settings,
    first_run: FirstRun,
) -> Result<(), RunError> {
    let mut processes = processes(plan, &mut world, std::mem::take(&mut core.processes))?;
    check_names(plan, &processes)?;
    stay_down(&mut processes, plan)?;
    let injector = injector(plan, world.has_preparation, &processes)?;
    let latencies = latencies(plan)?;
    let is_told_of_names = settings.guide.is_some() || settings.records_turns;
    let names = is_told_of_names.then(|| processes.iter().map(|process| process.name.clone()).collect());
    let mut chaos_strategy = ChaosStrategy::new(plan.strategy, plan.seed, first_run, names);
    chaos_strategy.guide = settings.guide;
    if settings.records_turns {
        chaos_strategy.recording = Some(Arc::default());
        if let Some(beat) = &settings.beat {
            beat.is_written_down_in(chaos_strategy.recording.clone());
        }
    }
    let driver = match (core.driver.take(), settings.without_invariants) {
        (_, true) => None,
        (None, false) => Some(Box::new(Driver::new(std::mem::take(&mut world.invariants)))),
        (Some(mut last), false) => {
            last.begin_again(&mut world.invariants);
            Some(last)
        }
    };
    let Settings { listener, teller, beat, .. } = settings;
    reset(core, plan, world, Parts { processes, injector, latencies, chaos_strategy, driver, listener, teller, beat });
    Ok(())
}

/// The processes of a run, none of them started. `last` are those of the run before, for their memory.
fn processes(plan: &Plan, world: &mut World, last: Vec<Process>) -> Result<Vec<Process>, RunError> {
    let mut processes = last;
    processes.truncate(world.processes.len());
    for (place, spec) in world.processes.drain(..).enumerate() {
        let is_its = |process: &Process| process.index == spec.index && process.role == spec.role;
        if processes[..place.min(processes.len())].iter().any(is_its) {
            let name = name_of(spec.role, spec.index);
            return Err(RunError::Other(format!("two processes of the scenario are named `{name}`")));
        }
        let mut tasks = processes.get_mut(place).map(|last| std::mem::take(&mut last.tasks)).unwrap_or_default();
        tasks.clear();
        let process = process(plan, spec, tasks);
        match processes.get_mut(place) {
            Some(last) => *last = process,
            None => processes.push(process),
        }
    }
    let is_daemon = |process: &Process| process.is_daemon;
    if processes.iter().any(is_daemon)
        && processes.iter().all(|process| is_daemon(process) || process.role == PREPARATION)
    {
        return Err(RunError::Other(
            "all processes of the scenario are daemons: nobody's end would end the run".to_owned(),
        ));
    }
    Ok(processes)
}

/// Those that the plan says are absent have ended for good before they began.
fn stay_down(processes: &mut [Process], plan: &Plan) -> Result<(), RunError> {
    for name in &plan.absent {
        let Some(process) = processes.iter_mut().find(|process| process.name == *name) else { continue };
        if process.role == PREPARATION {
            return Err(RunError::Other(format!("`absent` names `{name}`: without the preparation nothing runs")));
        }
        process.life = Life::Done;
    }
    Ok(())
}

/// Whoever a plan names is there. An operation of nobody would be passed over, as if it had been done.
fn check_names(plan: &Plan, processes: &[Process]) -> Result<(), RunError> {
    let refuse = |place, name: &str| Err(RunError::Refused(Refusal::value(place, name, listed(processes))));
    let is_nobody = |name: &&String| processes.iter().all(|process| process.name != **name);
    if let Some(name) = plan.absent.iter().find(is_nobody) {
        return refuse(Place::Key("absent"), name);
    }
    for fault in &plan.faults {
        let place = |key| Place::Fault { id: fault.id, key: Some(key) };
        if let Some(name) = fault.process.as_ref().filter(is_nobody) {
            return refuse(place("process"), name);
        }
        let sides = fault.between.iter().flat_map(|Between { from, to, .. }| from.iter().chain(to));
        if let Some(name) = sides.into_iter().find(is_nobody) {
            return refuse(place("between"), name);
        }
    }
    let mut last = 0;
    for operation in &plan.operations {
        // Mostly it is of the process that the operation before is of, or of the next one.
        let mut places = (last..processes.len()).chain(0..last);
        match places.find(|place| processes[*place].name == operation.process) {
            Some(place) => last = place,
            None => {
                let place = Place::Operation { id: operation.id, key: Some("process".to_owned()) };
                return refuse(place, &operation.process);
            }
        }
    }
    Ok(())
}

/// So many processes are named each by itself; of more, the first and the last of a role.
const NAMED_MAX: usize = 9;

fn listed(processes: &[Process]) -> String {
    let names: Vec<&Process> = processes.iter().filter(|process| process.role != PREPARATION).collect();
    if names.len() <= NAMED_MAX {
        return names.iter().map(|process| process.name.as_str()).collect::<Vec<_>>().join(", ");
    }
    let roles = names.chunk_by(|one, next| one.role == next.role && one.index + 1 == next.index);
    let ends = roles.map(|role| match role {
        [one] => one.name.clone(),
        [first, .., last] => format!("{} to {}", first.name, last.name),
        [] => String::new(),
    });
    ends.collect::<Vec<_>>().join(", ")
}

fn injector(plan: &Plan, has_preparation: bool, processes: &[Process]) -> Result<Injector, RunError> {
    let named = |name: &str| processes.iter().position(|process| process.name == name);
    let injector = Injector::new(&plan.faults, processes.len(), |name| named(name).map(|id| ProcessId(id as u32)));
    if has_preparation
        && let Some(fault) = plan.faults.iter().find(|fault| fault.process.as_deref() == Some(&processes[0].name))
    {
        let (id, kind) = (fault.id, fault.kind.name());
        return Err(RunError::Other(format!(
            "fault {id} ({kind}): `prepare-0` is the preparation, which no fault hits"
        )));
    }
    injector.map_err(RunError::Other)
}

fn latencies(plan: &Plan) -> Result<&'static Latencies, RunError> {
    Latencies::named(&plan.latency).ok_or_else(|| {
        let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        RunError::Other(format!("latency profile `{}` doesn't exist; there are {}", plan.latency, names.join(", ")))
    })
}

/// What a run has of its own.
struct Parts {
    processes: Vec<Process>,
    injector: Injector,
    latencies: &'static Latencies,
    chaos_strategy: ChaosStrategy,
    driver: Option<Box<Driver>>,
    listener: Option<Listener>,
    teller: Option<Teller>,
    beat: Option<Arc<Beat>>,
}

/// Makes all that a core holds what it is before a first step.
fn reset(core: &mut Core, plan: &Rc<Plan>, mut world: World, parts: Parts) {
    let Parts { processes, injector, latencies, chaos_strategy, driver, listener, teller, beat } = parts;
    // Until the chaos begins.
    let strategy = strategy(StrategyPlan::Timed, plan.seed, &FirstRun::None);
    // Each by its name, so that none can be forgotten.
    let Core {
        seed: seed_place,
        plan: plan_place,
        now_ns,
        step,
        steps_max,
        operations_begun,
        phase,
        end_ns,
        disk,
        network,
        unfinished,
        processes: processes_place,
        owners,
        next_pid,
        bystanders,
        machine_is_up,
        machine_started_ns,
        machine_boots,
        wall_offset_ns,
        tasks,
        free_tasks,
        has_combinators,
        ready,
        vacant,
        timers,
        waiting,
        controls,
        late,
        injector: injector_place,
        latencies: latencies_place,
        latency_streams,
        stream_keys,
        strategy_delays,
        strategy: strategy_place,
        chaos_strategy: chaos_strategy_place,
        steps_before_chaos,
        choices,
        hasher,
        observed,
        driver: driver_place,
        listener: listener_place,
        teller: teller_place,
        beat: beat_place,
        traced,
        observations,
        violations,
        sqlite,
        spare_world,
    } = core;
    *seed_place = plan.seed;
    *plan_place = plan.clone();
    *now_ns = 0;
    *step = 0;
    *steps_max = plan.steps_max;
    *operations_begun = 0;
    *phase = if world.has_preparation { Phase::Setup } else { Phase::Chaos };
    *end_ns = u64::MAX;
    disk.begin_again(
        plan.persistence,
        DiskOptions {
            capacity_bytes: plan.disk_capacity_bytes,
            flaw: plan.setting_str(MUTANT).and_then(DiskFlaw::parse),
            ..DiskOptions::default()
        },
    );
    network.begin_again(processes.iter().map(|process| process.name.as_str()));
    *unfinished = processes.iter().filter(|process| process.is_unfinished()).count();
    if let Some(beat) = &beat {
        beat.names(&processes);
    }
    *beat_place = beat;
    *processes_place = processes;
    *owners = 0;
    *next_pid = FIRST_PID;
    bystanders.clear();
    *machine_is_up = true;
    *machine_started_ns = 0;
    *machine_boots = 1;
    *wall_offset_ns = 0;
    tasks.clear();
    tasks.reserve(TASKS);
    free_tasks.clear();
    free_tasks.reserve(TASKS);
    *has_combinators = false;
    ready.clear();
    ready.reserve(TASKS);
    *vacant = None;
    timers.clear();
    waiting.clear();
    controls.clear();
    controls.reserve(TASKS);
    late.clear();
    *injector_place = injector;
    *latencies_place = latencies;
    latency_streams.clear();
    *stream_keys = &STREAM_KEYS;
    *strategy_delays = strategy.delays();
    *strategy_place = strategy;
    *chaos_strategy_place = chaos_strategy;
    *steps_before_chaos = 0;
    *choices = None;
    hasher.begin_again();
    *observed = driver.as_ref().map_or(Interest::NONE, |driver| driver.interest());
    *driver_place = driver;
    *listener_place = listener;
    *teller_place = teller;
    *traced = crate::trace::layer::is_wanted();
    if !observations.get_mut().is_empty() {
        *observations = RefCell::new(Observations::default());
    }
    violations.clear();
    *sqlite = crate::sqlite::State::default();
    world.clear();
    *spare_world = world;
}

/// A process that has not started. `tasks` is an empty list, for its memory.
fn process(plan: &Plan, spec: ProcessSpec, tasks: Vec<TaskId>) -> Process {
    let ProcessSpec { role, index, restart, is_daemon, program } = spec;
    let name = name_of(role, index);
    Process {
        skew_ns: plan.clock_skew_ns.get(&name).copied().unwrap_or(0),
        name,
        role,
        index,
        path: Path::of_process(role, index),
        program: Some(program),
        restart,
        is_daemon,
        failures: 0,
        life: Life::Down,
        boot: 0,
        pid: 0,
        owner: Owner(0),
        started_ns: 0,
        tasks,
        next_ordinal: 0,
        shared_keys: 0,
        terminating: false,
        operation: 0,
        positions: 0,
        locks_claimed: 0,
        streams: Streams::default(),
    }
}

/// A core of no run yet.
fn blank(plan: &Rc<Plan>) -> Core {
    Core {
        seed: plan.seed,
        plan: plan.clone(),
        now_ns: 0,
        step: 0,
        steps_max: 0,
        operations_begun: 0,
        phase: Phase::Chaos,
        end_ns: u64::MAX,
        disk: Disk::new(plan.persistence, DiskOptions::default()),
        network: Network::default(),
        unfinished: 0,
        processes: Vec::new(),
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
        waiting: Vec::new(),
        controls: VecDeque::new(),
        late: Vec::new(),
        injector: Injector::default(),
        latencies: Latencies::any(),
        latency_streams: Vec::new(),
        stream_keys: &STREAM_KEYS,
        strategy_delays: false,
        strategy: strategy(StrategyPlan::Timed, plan.seed, &FirstRun::None),
        chaos_strategy: ChaosStrategy::new(plan.strategy, plan.seed, FirstRun::None, None),
        steps_before_chaos: 0,
        choices: None,
        hasher: TraceHasher::default(),
        observed: Interest::NONE,
        driver: None,
        listener: None,
        teller: None,
        beat: None,
        traced: false,
        observations: RefCell::new(Observations::default()),
        violations: Vec::new(),
        sqlite: crate::sqlite::State::default(),
        spare_world: World::default(),
    }
}

//! What the tests of the fault catalogue share: a world made of a closure, a diary, and schedules told in legs, followed as turns.
//! No test lives here.

use seedstorm_model::claims::{Checkpointed, Committed, OutcomeUnknown, Refused, SnapshotRead};
use seedstorm_model::config::Config;
use seedstorm_model::file::create_directory;
use seedstorm_model::lock::Locks;
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, FaultPlan, OptionsError, StrategyPlan, Trigger};
use seedstorm_sim::schedule::{Guide, TaskCalls, TaskName, Turn, Turns};
use seedstorm_sim::trace::{Body, CallKind, Event, ProcessId};
use seedstorm_sim::{Exit, Options, Outcome, Plan, Scenario, Seed, Settings, Sys, View, World, run};
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A millisecond, in nanoseconds.
pub(crate) const MS: u64 = 1_000_000;
/// A second.
pub(crate) const SECOND: u64 = 1000 * MS;

const NAME: &str = "row";

struct Row<F>(F);

impl<F: Fn(&mut World) + Sync> Scenario for Row<F> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "a row of the fault catalogue"
    }

    fn plan(&self, seed: Seed, _options: &Options) -> Result<Plan, OptionsError> {
        Ok(plan(seed.0))
    }

    fn populate(&self, _plan: &Plan, world: &mut World) {
        (self.0)(world);
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// A plan in the order of time, without faults, on a disk that keeps no more than POSIX promises. Its chaos is long: faults wait for their time.
pub(crate) fn plan(seed: u64) -> Plan {
    Plan { strategy: StrategyPlan::Timed, chaos_ns: 100 * SECOND, ..Plan::plain(NAME, Seed(seed)) }
}

/// A plan with faults.
pub(crate) fn with(faults: impl Into<Vec<FaultPlan>>, seed: u64) -> Plan {
    Plan { faults: faults.into(), ..plan(seed) }
}

/// A fault on a process (or, with none, on the machine).
pub(crate) fn fault(kind: FaultKind, process: Option<&str>, when: Trigger, for_ns: u64) -> FaultPlan {
    FaultPlan { id: 1, kind, process: process.map(str::to_owned), when, for_ns, by_ns: 0, between: None }
}

/// What programs noted, in the order in which they did. It outlives their deaths.
#[derive(Clone, Default)]
pub(crate) struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    /// Notes something: no step.
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(what.into());
    }

    /// Whether something has been noted.
    pub(crate) fn has(&self, what: &str) -> bool {
        self.notes().iter().any(|note| note == what)
    }

    fn notes(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Adds the directories that locks and documents need.
pub(crate) fn directories(world: &mut World) {
    world.prepare(|sys| async move {
        make_directories(&sys).await;
        Exit::success()
    });
}

/// Makes the directories that locks and documents need.
pub(crate) async fn make_directories(sys: &Sys) {
    let config = Config::default();
    for path in [config.directory.clone(), config.locks(), config.documents()] {
        create_directory(sys, &path).await.expect("nothing is in the way");
    }
}

/// Adds process `ROLE-0`, which runs once.
pub(crate) fn once<F>(world: &mut World, diary: &Diary, role: &'static str, program: impl Fn(Sys, Diary) -> F + 'static)
where
    F: Future<Output = ()> + 'static,
{
    let diary = diary.clone();
    world.process_with(role, 0, RestartPolicy::Never, move |sys| {
        let running = program(sys, diary.clone());
        async move {
            running.await;
            Exit::success()
        }
    });
}

/// Adds a process that runs once, with locks of its own.
pub(crate) fn locker<F>(
    world: &mut World,
    diary: &Diary,
    role: &'static str,
    config: &Config,
    program: impl Fn(Sys, Diary, Locks) -> F + 'static,
) where
    F: Future<Output = ()> + 'static,
{
    let config = config.clone();
    once(world, diary, role, move |sys, diary| program(sys, diary, Locks::new(&config)));
}

/// One step, as the listener saw it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Its number.
    pub(crate) number: u64,
    /// When it was, in nanoseconds since the start of the run.
    pub(crate) time_ns: u64,
    process: ProcessId,
    boot: u32,
    /// Whose it was.
    pub(crate) by: String,
    /// What it was; `None` is the end of the process.
    pub(crate) kind: Option<CallKind>,
    /// The call's arguments.
    pub(crate) arguments: [u64; 2],
    /// Of a rename: from, NUL, to.
    paths: String,
    /// The main tasks' calls that could have been picked after it: whose, in which life, and what.
    ready: Vec<(ProcessId, u32, CallKind)>,
}

/// A run that is over.
pub(crate) struct Ran {
    pub(crate) outcome: Outcome,
    pub(crate) notes: Vec<String>,
    pub(crate) steps: Vec<Step>,
    /// How often the store has acknowledged an operation.
    pub(crate) acknowledged: u64,
    /// The processes' names, in the order of their ids.
    names: Vec<String>,
}

impl Ran {
    /// Demands that nothing was violated.
    pub(crate) fn passed(self) -> Ran {
        assert!(self.outcome.passed(), "{:#?}; notes {:#?}", self.outcome.violations, self.notes);
        self
    }

    /// Demands that this invariant was the first to be violated.
    pub(crate) fn violated(self, invariant: &str) -> Ran {
        let first = self.outcome.violations.first().map(|violation| violation.invariant.as_str());
        assert_eq!(first, Some(invariant), "{:#?}; notes {:#?}", self.outcome.violations, self.notes);
        self
    }

    /// Whether something has been noted.
    pub(crate) fn has(&self, what: &str) -> bool {
        self.notes.iter().any(|note| note == what)
    }

    /// How often a kind of fault has fired.
    pub(crate) fn fired(&self, kind: FaultKind) -> u64 {
        self.outcome.observations.faults.get(&kind).copied().unwrap_or(0)
    }

    /// The paths of a process's renames, in order: from, NUL, to.
    pub(crate) fn renames(&self, by: &str) -> Vec<&str> {
        let own = self.steps.iter().filter(|step| step.by == by && step.kind == Some(CallKind::Rename));
        own.map(|step| step.paths.as_str()).collect()
    }
}

/// Runs a plan.
pub(crate) fn play(plan: &Plan, populate: impl Fn(&mut World, &Diary) + Sync) -> Ran {
    play_with(plan, Settings::default(), &populate)
}

/// Runs a plan along turns, and by the default rule after them.
fn play_along(plan: &Plan, guide: Guide, populate: &(impl Fn(&mut World, &Diary) + Sync)) -> Ran {
    play_with(plan, Settings { guide: Some(guide), records_turns: true, ..Settings::default() }, populate)
}

fn play_with(plan: &Plan, settings: Settings, populate: &(impl Fn(&mut World, &Diary) + Sync)) -> Ran {
    let diary = Diary::default();
    let steps = Arc::new(Mutex::new(Vec::new()));
    let acknowledged = Arc::new(AtomicU64::new(0));
    let names = Arc::new(Mutex::new(Vec::new()));
    let named = names.clone();
    let (kept, reports, count) = (steps.clone(), diary.clone(), acknowledged.clone());
    let listener = move |event: &Event<'_>, view: &View<'_>| {
        if let Some(words) = report(event, view) {
            reports.note(words);
        }
        let mut names = named.lock().unwrap_or_else(PoisonError::into_inner);
        if names.is_empty() {
            names.extend(view.processes().map(|process| process.name.to_owned()));
        }
        if event.claim::<Committed>().is_some() {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let nothing: (_, &[u8]) = ([0; 2], &[]);
        let (kind, (arguments, data)) = match event.body {
            Body::Call { kind: CallKind::Rename, arguments, data, .. } => (Some(CallKind::Rename), (arguments, data)),
            Body::Call { kind, arguments, .. } => (Some(kind), (arguments, nothing.1)),
            Body::Blocked { kind, .. } => (Some(kind), nothing),
            Body::Claim { .. } => (Some(CallKind::Claim), nothing),
            Body::Ended(_) => (None, nothing),
            _ => return,
        };
        let paths = String::from_utf8_lossy(data).into_owned();
        let Some(process) = event.process else { return };
        let main = view.ready().filter(|call| call.ordinal == 0);
        let ready = main.map(|call| (call.process, view.process(call.process).boot, call.kind)).collect();
        let (number, time_ns, boot) = (event.step, event.time_ns, event.boot);
        let by = view.process(process).name.to_owned();
        let step = Step { number, time_ns, process, boot, by, kind, arguments, paths, ready };
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(step);
    };
    let settings = Settings { listener: Some(Box::new(listener)), ..settings };
    let outcome = run(&Row(|world: &mut World| populate(world, &diary)), plan, settings).expect("the plan can be run");
    let steps = std::mem::take(&mut *steps.lock().unwrap_or_else(PoisonError::into_inner));
    let names = std::mem::take(&mut *names.lock().unwrap_or_else(PoisonError::into_inner));
    Ran { outcome, notes: diary.notes(), steps, acknowledged: acknowledged.load(Ordering::Relaxed), names }
}

/// What goes into the diary of what the model claims.
fn report(event: &Event<'_>, view: &View<'_>) -> Option<String> {
    let name = view.process(event.process?).name;
    if let Some(Checkpointed { was_busy, wal_frames, moved_frames, .. }) = event.claim() {
        return Some(format!("checkpoint: {} {wal_frames} {moved_frames}", if was_busy { "busy" } else { "done" }));
    }
    if let Some(Refused { why, .. }) = event.claim() {
        return Some(format!("{name} was refused: {why}"));
    }
    if event.claim::<OutcomeUnknown>().is_some() {
        return Some(format!("{name} doesn't know"));
    }
    if let Some(SnapshotRead { reads, .. }) = event.claim() {
        let version = reads.first()?.version;
        let is_one = reads.iter().all(|read| read.version == version);
        return Some(if is_one {
            format!("{name} read version {version} throughout")
        } else {
            format!("{name} read {reads:?}")
        });
    }
    None
}

/// A part of a schedule: one process goes, alone, until something that it does. While it sleeps or waits, whoever is due goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leg {
    process: &'static str,
    until: Until,
}

#[derive(Clone, Copy, Debug)]
enum Until {
    Call(CallKind, usize),
    Before(CallKind, usize),
    Steps(usize),
    End,
}

/// The process goes until it has made its n-th call of a kind in this leg.
pub(crate) const fn until(process: &'static str, kind: CallKind, nth: usize) -> Leg {
    Leg { process, until: Until::Call(kind, nth) }
}

/// The process goes until its n-th call of a kind in this leg is the next that it makes: all of its own code before that call has run.
pub(crate) const fn until_before(process: &'static str, kind: CallKind, nth: usize) -> Leg {
    Leg { process, until: Until::Before(kind, nth) }
}

/// The process makes so many steps.
pub(crate) const fn steps(process: &'static str, count: usize) -> Leg {
    Leg { process, until: Until::Steps(count) }
}

/// The process goes to its end.
pub(crate) const fn to_the_end(process: &'static str) -> Leg {
    Leg { process, until: Until::End }
}

/// Runs a plan along a schedule. The legs are turned into turns, one after the other: those of the run until the leg begins, and its first step. After the
/// last leg the default rule decides.
///
/// # Panics
/// When the schedule can't be followed: a leg that never ends, or a process that has nothing to do any more where its leg begins.
pub(crate) fn follow(plan: &Plan, legs: &[Leg], populate: impl Fn(&mut World, &Diary) + Sync) -> Ran {
    let mut guide = Guide::default();
    let mut begins = None;
    for (index, leg) in legs.iter().enumerate() {
        let ran = play_along(plan, guide.clone(), &populate);
        let stopped = match begins {
            None => ran.steps.iter().position(|step| step.by == "prepare-0" && step.kind.is_none()),
            Some(begins) => stop(&ran.steps, legs[index - 1], begins),
        };
        let stopped =
            stopped.unwrap_or_else(|| panic!("leg {index} of {legs:?} is never reached: {:#?}", tail(&ran.steps)));
        let (place, first) = resume(&ran, leg.process, stopped).unwrap_or_else(|| {
            panic!("leg {index} of {legs:?} has nothing to do: {:#?}", tail(&ran.steps[..=stopped]))
        });
        let before = first.step - 1 - ran.outcome.steps_before_chaos;
        let mut turns = first_steps(ran.outcome.turns.expect("turns are written down"), before);
        first.add_to(&mut turns);
        guide = Guide { turns, leave_after: Some(before + 1), then: None };
        begins = Some(place);
    }
    let ran = play_along(plan, guide, &populate);
    let drift = ran.outcome.guided.as_ref().and_then(|guided| guided.drift.as_ref());
    assert!(drift.is_none(), "{}", drift.map(|drift| drift.to_string()).unwrap_or_default());
    ran
}

/// The first step of a leg.
struct First {
    /// Its number in the run.
    step: u64,
    task: TaskName,
    kind: CallKind,
}

impl First {
    /// Makes it the last turn.
    fn add_to(self, turns: &mut Turns) {
        let tasks = Arc::make_mut(&mut turns.tasks);
        let task = tasks.iter().position(|task| task.name == self.task).unwrap_or_else(|| {
            tasks.push(TaskCalls { name: self.task, calls: Vec::new(), operations: Vec::new() });
            tasks.len() - 1
        });
        tasks[task].calls.push(self.kind);
        turns.turns.push(Turn { task: task as u32, until: tasks[task].calls.len() as u32 });
        turns.steps += 1;
    }
}

/// The turns of the first steps of the chaos.
fn first_steps(mut turns: Turns, steps: u64) -> Turns {
    let mut left = steps as u32;
    let mut made = vec![0; turns.tasks.len()];
    turns.turns.retain_mut(|turn| {
        let made = &mut made[turn.task as usize];
        turn.until = turn.until.min(*made + left);
        left -= turn.until - *made;
        std::mem::replace(made, turn.until) < turn.until
    });
    assert_eq!(left, 0, "the run was shorter than the {steps} steps that it made");
    for (task, made) in Arc::make_mut(&mut turns.tasks).iter_mut().zip(made) {
        task.calls.truncate(made as usize);
        task.operations.retain(|(at, _)| *at <= made);
    }
    turns.steps = steps;
    turns
}

/// The index of the step at which a leg that began at an index stops.
fn stop(steps: &[Step], leg: Leg, begins: usize) -> Option<usize> {
    let own: Vec<(usize, Option<CallKind>)> = steps
        .iter()
        .enumerate()
        .skip(begins)
        .filter(|(_, step)| step.by == leg.process)
        .map(|(index, step)| (index, step.kind))
        .collect();
    let nth_of = |kind, nth| own.iter().enumerate().filter(|(_, (_, own))| *own == kind).map(|(at, _)| at).nth(nth - 1);
    let at = match leg.until {
        Until::Call(kind, nth) => nth_of(Some(kind), nth),
        Until::Before(kind, nth) => nth_of(Some(kind), nth).and_then(|at| at.checked_sub(1)),
        Until::Steps(count) => Some(count - 1).filter(|at| own.get(*at).is_some_and(|(_, kind)| kind.is_some())),
        Until::End => nth_of(None, 1),
    };
    at.map(|at| own[at].0)
}

/// The first step after an index at which a process can go: its index, and the step.
fn resume(ran: &Ran, by: &str, after: usize) -> Option<(usize, First)> {
    let id = ProcessId(ran.names.iter().position(|name| name == by)? as u32);
    let steps = &ran.steps;
    (after + 1..steps.len()).find_map(|place| {
        let (before, own) = (&steps[place - 1], &steps[place]);
        let ready = before.ready.iter().find(|(process, ..)| *process == id);
        let ready = ready.map(|(_, boot, kind)| (before.number + 1, *boot, *kind));
        // What became due in between is not in the picture of the step before.
        let own = || Some((own.number, own.boot, own.kind?)).filter(|_| own.process == id);
        let (step, boot, kind) = ready.or_else(own)?;
        Some((place, First { step, task: TaskName { process: by.to_owned(), boot, ordinal: 0 }, kind }))
    })
}

fn tail(steps: &[Step]) -> Vec<String> {
    let words = |step: &Step| format!("{} {} {:?}", step.number, step.by, step.kind);
    steps[steps.len().saturating_sub(30)..].iter().map(words).collect()
}

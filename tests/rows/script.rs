//! What the tests of the fault catalogue share: a world made of a closure, a diary, and schedules told in legs, followed by the `replay` strategy.
//! No test lives here.

use seedstorm_model::claims::{Checkpointed, Committed, OutcomeUnknown, Refused, SnapshotRead};
use seedstorm_model::config::Config;
use seedstorm_model::file::create_directory;
use seedstorm_model::lock::Locks;
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, FaultPlan, OptionsError, StrategyPlan, Trigger};
use seedstorm_sim::schedule::{Decision, Decisions};
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
    /// Whose it was.
    pub(crate) by: String,
    /// What it was; `None` is the end of the process.
    pub(crate) kind: Option<CallKind>,
    /// The call's arguments.
    pub(crate) arguments: [u64; 2],
    /// Of a rename: from, NUL, to.
    paths: String,
    /// The main tasks' calls that could have been picked after it.
    ready: Vec<(ProcessId, CallKind)>,
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
    play_along(plan, None, &populate)
}

fn play_along(plan: &Plan, replay: Option<Decisions>, populate: &(impl Fn(&mut World, &Diary) + Sync)) -> Ran {
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
        let ready = view.ready().filter(|call| call.ordinal == 0).map(|call| (call.process, call.kind)).collect();
        let by = view.process(process).name.to_owned();
        let step = Step { number: event.step, time_ns: event.time_ns, process, by, kind, arguments, paths, ready };
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(step);
    };
    let settings = Settings { replay, listener: Some(Box::new(listener)), ..Settings::default() };
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

/// Runs a plan along a schedule. The legs are turned into the decisions of a recording, one after the other, and then replayed; after the last
/// leg the replay's default rule decides.
///
/// # Panics
/// When the schedule can't be followed: a leg that never ends, or a process that has nothing to do any more where its leg begins.
pub(crate) fn follow(plan: &Plan, legs: &[Leg], populate: impl Fn(&mut World, &Diary) + Sync) -> Ran {
    let mut decisions = Decisions::default();
    let mut begins = None;
    for (index, leg) in legs.iter().enumerate() {
        let ran = play_along(plan, Some(decisions.clone()), &populate);
        let stopped = match begins {
            None => ran.steps.iter().position(|step| step.by == "prepare-0" && step.kind.is_none()),
            Some(begins) => stop(&ran.steps, legs[index - 1], begins),
        };
        let stopped =
            stopped.unwrap_or_else(|| panic!("leg {index} of {legs:?} is never reached: {:#?}", tail(&ran.steps)));
        let (place, decision) = resume(&ran, leg.process, stopped).unwrap_or_else(|| {
            panic!("leg {index} of {legs:?} has nothing to do: {:#?}", tail(&ran.steps[..=stopped]))
        });
        decisions.departures.push(decision);
        begins = Some(place);
    }
    let ran = play_along(plan, Some(decisions), &populate);
    assert!(ran.outcome.drift.is_none(), "{}", ran.outcome.drift.map(|drift| drift.to_string()).unwrap_or_default());
    ran
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

/// The first step after an index at which a process can go: its index, and the decision to take it.
fn resume(ran: &Ran, by: &str, after: usize) -> Option<(usize, Decision)> {
    let id = ProcessId(ran.names.iter().position(|name| name == by)? as u32);
    let steps = &ran.steps;
    (after + 1..steps.len()).find_map(|place| {
        let before = &steps[place - 1];
        let ready = before.ready.iter().find(|(process, _)| *process == id).map(|(_, kind)| (before.number + 1, *kind));
        // What became due in between is not in the picture of the step before.
        let own = || Some((steps[place].number, steps[place].kind?)).filter(|_| steps[place].process == id);
        let (step, kind) = ready.or_else(own)?;
        Some((place, Decision { step, process: id, ordinal: 0, kind }))
    })
}

fn tail(steps: &[Step]) -> Vec<String> {
    let words = |step: &Step| format!("{} {} {:?}", step.number, step.by, step.kind);
    steps[steps.len().saturating_sub(30)..].iter().map(words).collect()
}

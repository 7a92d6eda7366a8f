//! What the model's tests share: a scenario made of a closure, its plan, and a diary in which programs note what they saw. No test lives here.

#![allow(dead_code, reason = "each test binary uses a part")]

use seedstorm_model::agent::{Agent, Done, Work, WorkKind, wake};
use seedstorm_model::claims::{DocumentSaved, SnapshotRead};
use seedstorm_model::config::Config;
use seedstorm_model::file::revision_of;
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::plan::{FaultKind, FaultPlan, OptionsError, StrategyPlan, Trigger};
use seedstorm_sim::trace::Event;
use seedstorm_sim::{Exit, Options, Outcome, Plan, Scenario, Seed, Settings, Sys, World, run};
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

/// A millisecond.
pub(crate) const MS: u64 = 1_000_000;
/// A second.
pub(crate) const SECOND: u64 = 1000 * MS;

struct Script<F>(F);

impl<F: Fn(&Plan, &mut World) + Sync> Scenario for Script<F> {
    fn name(&self) -> &'static str {
        "script"
    }

    fn about(&self) -> &'static str {
        "what a test does"
    }

    fn plan(&self, seed: Seed, _options: &Options) -> Result<Plan, OptionsError> {
        Ok(plan(seed.0))
    }

    fn populate(&self, plan: &Plan, world: &mut World) {
        (self.0)(plan, world);
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// A plan without faults: a random schedule on a fast disk that keeps no more than POSIX promises.
pub(crate) fn plan(seed: u64) -> Plan {
    Plan::plain("script", Seed(seed))
}

/// As [`plan`], in the order of time.
pub(crate) fn timed(seed: u64) -> Plan {
    Plan { strategy: StrategyPlan::Timed, ..plan(seed) }
}

/// A fault on a process (or, with none, on the machine) that lasts for so long.
pub(crate) fn fault(kind: FaultKind, process: Option<&str>, when: Trigger, for_ns: u64) -> FaultPlan {
    FaultPlan { id: 1, kind, process: process.map(str::to_owned), when, for_ns, by_ns: 0, between: None }
}

/// Runs a plan.
pub(crate) fn run_plan(plan: &Plan, populate: impl Fn(&mut World) + Sync) -> Outcome {
    run(&Script(|_: &Plan, world: &mut World| populate(world)), plan, Settings::default()).expect("the plan can be run")
}

/// Runs a plan, and demands that nothing was violated.
pub(crate) fn pass(plan: &Plan, populate: impl Fn(&mut World) + Sync) -> Outcome {
    let outcome = run_plan(plan, populate);
    assert!(outcome.passed(), "seed {}: {:#?}", plan.seed.0, outcome.violations);
    outcome
}

/// Runs a plan, and demands that this invariant is the first to be violated.
pub(crate) fn violate(plan: &Plan, invariant: &str, populate: impl Fn(&mut World) + Sync) -> Outcome {
    let outcome = run_plan(plan, populate);
    let first = outcome.violations.first().map(|violation| violation.invariant.as_str());
    assert_eq!(first, Some(invariant), "seed {}: {:#?}", plan.seed.0, outcome.violations);
    outcome
}

/// The directories that locks and documents need.
pub(crate) async fn directories(sys: &Sys, config: &Config) {
    for path in [config.directory.clone(), config.locks(), config.documents()] {
        seedstorm_model::file::create_directory(sys, &path).await.expect("nothing is in the way");
    }
}

/// Adds a preparation that makes the directories.
pub(crate) fn prepare_directories(world: &mut World, config: &Config) {
    let config = config.clone();
    world.prepare(move |sys| {
        let config = config.clone();
        async move {
            directories(&sys, &config).await;
            Exit::success()
        }
    });
}

/// What programs noted, in the order in which they did. It outlives their deaths.
#[derive(Clone, Default)]
pub(crate) struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    /// Notes something.
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(what.into());
    }

    /// All notes so far.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many notes begin so.
    pub(crate) fn count(&self, beginning: &str) -> usize {
        self.notes().iter().filter(|note| note.starts_with(beginning)).count()
    }

    /// Demands a note.
    pub(crate) fn expect(&self, what: &str) {
        let notes = self.notes();
        assert!(notes.iter().any(|note| note.starts_with(what)), "nobody noted `{what}`: {notes:#?}");
    }
}

/// Board reads see both keys at one version: every write in these tests changes both.
pub(crate) struct Snapshots;

impl Invariant for Snapshots {
    fn id(&self) -> &'static str {
        "snapshots"
    }

    fn observe(&mut self, event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        match event.claim() {
            Some(SnapshotRead { reads, .. }) if reads.windows(2).any(|pair| pair[0].version != pair[1].version) => {
                Err(Violation::new(self.id(), format!("{reads:?}")))
            }
            _ => Ok(()),
        }
    }
}

/// No two saves make the same revision of a document, and the last one that was acknowledged is there at the end.
pub(crate) struct Revisions {
    saved: BTreeMap<String, u64>,
    diary: Diary,
}

impl Revisions {
    pub(crate) fn new(diary: Diary) -> Revisions {
        Revisions { saved: BTreeMap::new(), diary }
    }
}

impl Invariant for Revisions {
    fn id(&self) -> &'static str {
        "revisions"
    }

    fn observe(&mut self, event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        let Some(DocumentSaved { path, revision }) = event.claim() else { return Ok(()) };
        let note = format!("{path} {revision}");
        if self.diary.notes().contains(&note) {
            return Err(Violation::new(self.id(), format!("revision {revision} was made twice")));
        }
        self.diary.note(note);
        let highest = self.saved.entry(path).or_default();
        *highest = revision.max(*highest);
        Ok(())
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        for (path, saved) in &self.saved {
            let found = view.disk().visible_read(path).and_then(|bytes| revision_of(&bytes));
            if found.is_none_or(|found| found < *saved) {
                return Err(Violation::new(
                    self.id(),
                    format!("revision {saved} was acknowledged, and the disk has {found:?}"),
                ));
            }
        }
        Ok(())
    }
}

/// Adds an agent. Its program is told how often the agent has woken, from 1; it is started again after its deaths.
pub(crate) fn agent<F>(
    world: &mut World,
    index: u32,
    config: &Config,
    program: impl Fn(Sys, Agent, usize) -> F + 'static,
) where
    F: Future<Output = ()> + 'static,
{
    let (config, program, wakes) = (config.clone(), Rc::new(program), Diary::default());
    world.process("agent", index, move |sys| {
        let (config, program, wakes) = (config.clone(), program.clone(), wakes.clone());
        async move {
            match wake(&sys, &config).await {
                Ok(agent) => {
                    wakes.note("awake");
                    program(sys, agent, wakes.count("awake")).await;
                    Exit::success()
                }
                Err(error) => Exit { code: error.exit_code(), why: error.to_string() },
            }
        }
    });
}

/// Does some work until it is answered. Asked again, it keeps its number.
pub(crate) async fn ask(sys: &Sys, agent: &mut Agent, number: u64, kind: WorkKind) -> Done {
    loop {
        match agent.work(sys, &Work { number, kind: kind.clone() }).await {
            Ok(Done::Unanswered) => {}
            Ok(done) => return done,
            Err(error) => panic!("{error}"),
        }
    }
}

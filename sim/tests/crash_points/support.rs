//! A small world for crash points: agents that replace a file, the invariant that they rely on, and what they do after a crash. No test lives here.

use seedstorm_sim::invariant::{CrashPoints, Invariant, Survivor, Violation};
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{Operation, OptionsError, PLAN_FORMAT, StrategyPlan};
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::trace::{Event, Interest};
use seedstorm_sim::{Errno, Exit, Options, Outcome, Plan, Scenario, Seed, Settings, Sys, View, World, run};
use serde::{Deserialize, Serialize};

/// The file that is replaced.
pub(crate) const FILE: &str = "/data/file";

/// How long its content is: every byte is the revision.
pub(crate) const FILE_BYTES: usize = 700;

/// A revision is in place, and no crash takes it back.
#[derive(Serialize, Deserialize)]
pub(crate) struct Saved {
    pub(crate) revision: u8,
}

impl Claim for Saved {
    const KIND: &'static str = "saved";
}

/// A scenario made of two closures.
pub(crate) struct Case<P, R> {
    pub(crate) populate: P,
    pub(crate) recover: R,
}

impl<P: Fn(&mut World), R: Fn(&mut World)> Scenario for Case<P, R> {
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
        (self.populate)(world);
    }

    fn recover(&self, _plan: &Plan, world: &mut World) {
        (self.recover)(world);
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// One second of chaos and ten of calm, in time order, no faults; five operations, one for each revision.
pub(crate) fn plan() -> Plan {
    let operation = |id| Operation {
        id,
        process: "agent-0".into(),
        kind: "save".into(),
        not_before_ns: 0,
        think_ns: 0,
        arguments: Default::default(),
    };
    Plan {
        format: PLAN_FORMAT,
        scenario: "case".into(),
        seed: Seed(1),
        strategy: StrategyPlan::Timed,
        step_counts: None,
        persistence: Persistence::Posix,
        latency: "flat".into(),
        chaos_ns: 1_000_000_000,
        calm_ns: 10_000_000_000,
        steps_max: 20_000,
        disk_capacity_bytes: None,
        absent: Vec::new(),
        clock_skew_ns: Default::default(),
        settings: Default::default(),
        faults: Vec::new(),
        operations: (1..=5).map(operation).collect(),
    }
}

/// What an agent leaves out.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Bug {
    None,
    FileSync,
    DirectorySync,
}

/// Replaces the file by each revision in turn.
pub(crate) async fn save_all(sys: Sys, bug: Bug) -> Exit {
    match try_save_all(&sys, bug).await {
        Ok(()) => Exit::success(),
        Err(error) => Exit::failure(error.to_string()),
    }
}

async fn try_save_all(sys: &Sys, bug: Bug) -> Result<(), Errno> {
    sys.mkdir("/data").await?;
    sys.sync_dir("/").await?;
    for revision in 1..=5u8 {
        sys.begin_operation(u64::from(revision));
        let temporary = format!("{FILE}.{revision}");
        let file = sys.open(&temporary, OpenFlags::WRITE.create_exclusive()).await?;
        file.write(&[revision; FILE_BYTES]).await?;
        if bug != Bug::FileSync {
            file.sync().await?;
        }
        file.close().await?;
        sys.rename(&temporary, FILE).await?;
        if bug != Bug::DirectorySync {
            sys.sync_dir("/data").await?;
        }
        sys.claim(&Saved { revision }).await;
    }
    Ok(())
}

/// The file is whole, and no older than the last revision that was acknowledged.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) acknowledged: u8,
    /// Whether it relies on a disk that keeps its word.
    pub(crate) trusts_the_disk: bool,
}

impl Kept {
    pub(crate) fn trusting() -> Kept {
        Kept { acknowledged: 0, trusts_the_disk: true }
    }
}

impl Invariant for Kept {
    fn id(&self) -> &'static str {
        "kept"
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS
    }

    fn rests_on_durability(&self) -> bool {
        self.trusts_the_disk
    }

    fn observe(&mut self, event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        if let Some(Saved { revision }) = event.claim() {
            self.acknowledged = revision;
        }
        Ok(())
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[Saved::KIND])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        let violation = |message: String, loss| Err(Violation::new("kept", message).object("file").loss(loss));
        let content = survivor.reading(|disk| disk.visible_read(FILE));
        match content.as_deref() {
            None if self.acknowledged == 0 => Ok(()),
            None => violation(format!("revision {} is gone", self.acknowledged), "lost"),
            Some([first, rest @ ..])
                if rest.len() + 1 == FILE_BYTES && *first > 0 && rest.iter().all(|byte| byte == first) =>
            {
                if *first < self.acknowledged {
                    return violation(
                        format!("revision {} was acknowledged, and {first} is there", self.acknowledged),
                        "lost",
                    );
                }
                Ok(())
            }
            Some(bytes) => violation(format!("the file is torn: {} bytes", bytes.len()), "torn"),
        }
    }
}

/// A recovery that looks at the file and does nothing to it.
pub(crate) fn look(world: &mut World) {
    world.process("agent", 0, |sys: Sys| async move {
        let _ = sys.stat(FILE).await;
        Exit::success()
    });
}

/// Runs an agent with a bug.
pub(crate) fn run_saving(plan: &Plan, bug: Bug, crash_points: CrashPoints) -> Outcome {
    let populate = move |world: &mut World| {
        world.process_with("agent", 0, RestartPolicy::Never, move |sys| save_all(sys, bug));
        world.invariant(Kept::trusting());
    };
    run_case(&Case { populate, recover: look }, plan, crash_points)
}

/// Runs a case.
pub(crate) fn run_case(case: &(dyn Scenario + Sync), plan: &Plan, crash_points: CrashPoints) -> Outcome {
    run(case, plan, Settings { crash_points, ..Settings::default() }).expect("the plan can be run")
}

/// Fails the test unless exactly this invariant was violated, once, with all these words in the message.
#[track_caller]
pub(crate) fn fired(outcome: &Outcome, invariant: &str, words: &[&str]) {
    match outcome.violations.as_slice() {
        [violation]
            if violation.invariant == invariant && words.iter().all(|words| violation.message.contains(words)) => {}
        violations => panic!("`{invariant}` is expected, with {words:?}, not {violations:#?}"),
    }
}

/// Fails the test unless nothing was violated.
#[track_caller]
pub(crate) fn passed(outcome: &Outcome) {
    assert!(outcome.passed(), "{:#?}", outcome.violations);
}

/// A counter; absent is 0.
pub(crate) fn count(outcome: &Outcome, name: &str) -> u64 {
    outcome.observations.counters.get(name).copied().unwrap_or(0)
}

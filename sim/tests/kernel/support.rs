//! Small worlds for tests: a plan with plain values, a run that keeps its records, and questions to them.

use seedstorm_sim::explore::{Explored, Runner, Stopped, Trial, Tried, carry_out, explore};
use seedstorm_sim::invariant::CrashPoints;
use seedstorm_sim::plan::{FaultKind, FaultPlan, OptionsError, StrategyPlan, Trigger};
use seedstorm_sim::schedule::{Guide, Guided, Turns};
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::sys::net::{MailboxKey, MessageId};
use seedstorm_sim::trace::{CallKind, Dropped, Ended, Event, ProcessId, Record, RecordBody};
use seedstorm_sim::{Errno, Options, Outcome, Plan, Scenario, Seed, Settings, Sys, View, World, run};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex};

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

/// One second of chaos and ten of calm, each call a microsecond, in time order, no faults.
pub(crate) fn plan() -> Plan {
    Plan {
        strategy: StrategyPlan::Timed,
        persistence: Persistence::Ext4,
        latency: "flat".into(),
        chaos_ns: SECOND_NS,
        calm_ns: 10 * SECOND_NS,
        steps_max: 100_000,
        ..Plan::plain("case", Seed(1))
    }
}

pub(crate) const SECOND_NS: u64 = 1_000_000_000;
pub(crate) const MILLI_NS: u64 = 1_000_000;

/// A fault of process `a-0`.
pub(crate) fn fault(kind: FaultKind, when: Trigger) -> FaultPlan {
    FaultPlan { id: 1, kind, process: Some("a-0".into()), when, for_ns: 0, by_ns: 0, between: None }
}

/// At the n-th call of a kind.
pub(crate) fn at_call(kind: CallKind, nth: u64) -> Trigger {
    Trigger::Call { kind, nth }
}

/// A run that is over.
pub(crate) struct Ran {
    pub(crate) outcome: Outcome,
    pub(crate) records: Vec<Record>,
}

/// Runs a world.
pub(crate) fn run_world(plan: &Plan, populate: impl Fn(&mut World) + Sync) -> Ran {
    run_watched(plan, Settings::default(), |_, _| {}, populate)
}

/// Runs a world, and writes down who went when.
pub(crate) fn record_world(plan: &Plan, populate: impl Fn(&mut World) + Sync) -> Ran {
    run_watched(plan, recording(), |_, _| {}, populate)
}

/// Runs a world along the turns of a run that was recorded. They are written down again.
pub(crate) fn follow_world(plan: &Plan, recorded: &Ran, populate: impl Fn(&mut World) + Sync) -> Ran {
    let guide = Guide { turns: recorded.turns().clone(), ..Guide::default() };
    run_watched(plan, Settings { guide: Some(guide), ..recording() }, |_, _| {}, populate)
}

/// Who went when is written down.
pub(crate) fn recording() -> Settings {
    Settings { records_turns: true, ..Settings::default() }
}

/// Runs a world with a listener of the test's own.
pub(crate) fn run_watched(
    plan: &Plan,
    settings: Settings,
    mut watch: impl FnMut(&Event<'_>, &View<'_>) + Send + 'static,
    populate: impl Fn(&mut World) + Sync,
) -> Ran {
    let records = Arc::new(Mutex::new(Vec::new()));
    let kept = records.clone();
    let listener = Box::new(move |event: &Event<'_>, view: &View<'_>| {
        kept.lock().expect("nobody panics with it").push(Record::from(event));
        watch(event, view);
    });
    let settings = Settings { listener: Some(listener), ..settings };
    let outcome = run(&Case(populate), plan, settings).expect("the plan can be run");
    let records = std::mem::take(&mut *records.lock().expect("nobody panics with it"));
    Ran { outcome, records }
}

/// Runs a world with settings of the test's own.
pub(crate) fn run_settings(plan: &Plan, settings: Settings, populate: impl Fn(&mut World) + Sync) -> Outcome {
    run(&Case(populate), plan, settings).expect("the plan can be run")
}

/// Runs a world without a listener; what `run` says.
pub(crate) fn run_plain(plan: &Plan, populate: impl Fn(&mut World) + Sync) -> Result<Outcome, String> {
    run(&Case(populate), plan, Settings::default()).map_err(|error| error.to_string())
}

/// Carries out trials of a world, one after the other, and keeps the plans of those that it has carried out.
struct OneByOne<P> {
    case: Case<P>,
    plans: Vec<Plan>,
    /// After so many it is interrupted.
    trials_max: usize,
}

impl<P: Fn(&mut World) + Sync> Runner for OneByOne<P> {
    fn run(&mut self, trials: Vec<Trial>) -> Result<Vec<Option<Tried>>, Stopped> {
        if self.plans.len() + trials.len() > self.trials_max {
            return Err(Stopped::Interrupted);
        }
        self.plans.extend(trials.iter().map(|trial| trial.plan.clone()));
        let tried = trials.into_iter().map(|trial| carry_out(&self.case, trial, None).ok());
        Ok(tried.collect())
    }

    fn width(&self) -> usize {
        1
    }
}

/// Runs all schedules of a world with at most so many skips, until one fails or so many were run; gives the plans of those that were run, too.
pub(crate) fn explore_world(
    plan: &Plan,
    skips_max: u32,
    trials_max: usize,
    populate: impl Fn(&mut World) + Sync,
) -> (Explored, Vec<Plan>) {
    let mut runner = OneByOne { case: Case(populate), plans: Vec::new(), trials_max };
    let trial = Trial { plan: plan.clone(), guide: None, crash_points: CrashPoints::None, without_invariants: false };
    let explored = explore(&mut runner, &trial, skips_max, &mut |_| {}).expect("trials can be run");
    (explored, runner.plans)
}

impl Ran {
    /// Fails the test unless the run passed.
    pub(crate) fn passed(self) -> Ran {
        assert!(self.outcome.passed(), "{:#?}", self.outcome.violations);
        self
    }

    /// Who went when, of a run that was recorded.
    pub(crate) fn turns(&self) -> &Turns {
        self.outcome.turns.as_ref().expect("it was to be written down")
    }

    /// How well turns were followed.
    pub(crate) fn guided(&self) -> &Guided {
        self.outcome.guided.as_ref().expect("there were turns to follow")
    }

    /// Fails the test unless the run has followed the recorded one to its end, and is the same.
    pub(crate) fn is_exactly(&self, recorded: &Ran) {
        assert_eq!(self.outcome.trace_hash, recorded.outcome.trace_hash, "{:?}", self.guided());
        assert_eq!(self.turns(), recorded.turns(), "what is followed is written down again");
        let all = Guided { calls_followed: recorded.turns().steps, ..Guided::default() };
        assert_eq!(*self.guided(), all);
    }

    /// The one violation: (invariant, message).
    pub(crate) fn violation(&self) -> (&str, &str) {
        match self.outcome.violations.as_slice() {
            [violation] => (&violation.invariant, &violation.message),
            violations => panic!("one violation is expected, not {violations:#?}"),
        }
    }

    /// What process `id` noted, over all its boots.
    pub(crate) fn notes(&self, id: u32) -> Vec<String> {
        self.of(id).filter_map(|record| record.event().claim::<Note>()).map(|note| note.text).collect()
    }

    /// What all processes noted, in order: (process, text).
    pub(crate) fn all_notes(&self) -> Vec<(u32, String)> {
        let notes =
            self.records.iter().filter_map(|record| Some((record.process?.0, record.event().claim::<Note>()?.text)));
        notes.collect()
    }

    /// The events of process `id`.
    pub(crate) fn of(&self, id: u32) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(move |record| record.process == Some(ProcessId(id)))
    }

    /// The calls of a kind that process `id` made: (time in nanoseconds, result).
    pub(crate) fn calls(&self, id: u32, wanted: CallKind) -> Vec<(u64, Result<u64, Errno>)> {
        let calls = self.of(id).filter_map(|record| match record.body {
            RecordBody::Call { kind, result, .. } if kind == wanted => Some((record.time_ns, result)),
            _ => None,
        });
        calls.collect()
    }

    /// When the faults fired: (time in nanoseconds, kind).
    pub(crate) fn faults(&self) -> Vec<(u64, FaultKind)> {
        let faults = self.records.iter().filter_map(|record| match record.body {
            RecordBody::Fault { kind, .. } => Some((record.time_ns, kind)),
            _ => None,
        });
        faults.collect()
    }

    /// How process `id` ended, each time: (time in nanoseconds, how).
    pub(crate) fn ends(&self, id: u32) -> Vec<(u64, Ended)> {
        let ends = self.of(id).filter_map(|record| match &record.body {
            RecordBody::Ended(ended) => Some((record.time_ns, ended.clone())),
            _ => None,
        });
        ends.collect()
    }

    /// When process `id` started, each time, in nanoseconds.
    pub(crate) fn starts(&self, id: u32) -> Vec<u64> {
        self.of(id)
            .filter(|record| matches!(record.body, RecordBody::Started { .. }))
            .map(|record| record.time_ns)
            .collect()
    }

    /// The index of the first record for which `is_it`.
    pub(crate) fn index(&self, is_it: impl Fn(&Record) -> bool) -> usize {
        self.records.iter().position(is_it).expect("there is such a record")
    }
}

/// Anything that a test's program wants to be seen.
#[derive(Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) text: String,
}

impl Claim for Note {
    const KIND: &'static str = "note";
}

/// Notes something in the trace: a step.
pub(crate) async fn note(sys: &Sys, text: impl Into<String>) {
    sys.claim(&Note { text: text.into() }).await;
}

/// What programs say to the test directly, without a step.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn add(&self, text: impl Into<String>) {
        self.0.lock().expect("nobody panics with it").push(text.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().expect("nobody panics with it"))
    }
}

/// Messages that didn't arrive, in order: (their sender's count, why).
pub(crate) fn dropped(ran: &Ran) -> Vec<(u64, Dropped)> {
    let dropped = ran.records.iter().filter_map(|record| match record.body {
        RecordBody::MessageDropped { message, why } => Some((MessageId(message).number(), why)),
        _ => None,
    });
    dropped.collect()
}

/// What hit messages, in order: (kind, fault, the message's number among its sender's).
pub(crate) fn message_faults(ran: &Ran) -> Vec<(FaultKind, u32, u64)> {
    let hits = ran.records.iter().filter_map(|record| match record.body {
        RecordBody::MessageFault { kind, id, message } => Some((kind, id, MessageId(message).number())),
        _ => None,
    });
    hits.collect()
}

/// Messages received, in order: (which, into which mailbox).
pub(crate) fn receives(ran: &Ran) -> Vec<(MessageId, MailboxKey)> {
    let received = ran.records.iter().filter_map(|record| match record.body {
        RecordBody::Call { kind: CallKind::Receive, object, arguments: [from, into], .. } if from != 0 => {
            Some((MessageId(object), MailboxKey(into)))
        }
        _ => None,
    });
    received.collect()
}

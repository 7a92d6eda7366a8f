//! Crash points in whole scenarios: the run notices nothing of them, and what should be flagged is, at once. Each oracle alone is tested in `oracles`.

use seedstorm_model::claims::{Committed, Effect, OperationBegun, OperationKey};
use seedstorm_scenarios::concurrency_storm::ConcurrencyStorm;
use seedstorm_scenarios::guillotine::Guillotine;
use seedstorm_scenarios::oracle::{Auditor, DatabaseSound, NoLostWrite};
use seedstorm_scenarios::swarm;
use seedstorm_sim::invariant::{CrashPoints, Invariant, Survivor, Violation};
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, FaultPlan, Faults, OptionsError, Trigger};
use seedstorm_sim::trace::{CallKind, Event, Interest};
use seedstorm_sim::{Exit, Options, Outcome, Plan, Scenario, Seed, Settings, Sys, View, World, run};

fn options(workers: u32) -> Options {
    Options { workers: Some(workers), ..Options::default() }
}

fn explore(scenario: &(dyn Scenario + Sync), plan: &Plan, crash_points: CrashPoints) -> Outcome {
    run(scenario, plan, Settings { crash_points, ..Settings::default() }).expect("the plan can be run")
}

fn count(outcome: &Outcome, name: &str) -> u64 {
    outcome.observations.counters.get(name).copied().unwrap_or(0)
}

#[test]
fn the_run_notices_nothing() {
    let scenarios: [&(dyn Scenario + Sync); 2] = [&ConcurrencyStorm, &Guillotine];
    for scenario in scenarios {
        for seed in 0..4 {
            let plan = scenario.plan(Seed(seed), &options(5)).expect("right options");
            let choices = [CrashPoints::None, CrashPoints::Sampled(4), CrashPoints::All];
            let outcomes = choices.map(|choice| explore(scenario, &plan, choice));
            for outcome in &outcomes {
                assert!(outcome.passed(), "{} {seed}: {:#?}", scenario.name(), outcome.violations);
            }
            let hashes = outcomes.each_ref().map(|outcome| outcome.trace_hash);
            assert_eq!(hashes, [hashes[0]; 3], "{} {seed}", scenario.name());
            assert!(count(&outcomes[2], "crash_points") > 50, "{:?}", outcomes[2].observations.counters);
            assert!(count(&outcomes[1], "crash_points") <= 4, "{:?}", outcomes[1].observations.counters);
        }
    }
}

/// The storm with something changed.
struct Changed<P, R> {
    populate: P,
    recover: R,
}

impl<P: Fn(&Plan, &mut World), R: Fn(&Plan, &mut World)> Scenario for Changed<P, R> {
    fn name(&self) -> &'static str {
        ConcurrencyStorm.name()
    }

    fn about(&self) -> &'static str {
        ConcurrencyStorm.about()
    }

    fn plan(&self, seed: Seed, options: &Options) -> Result<Plan, OptionsError> {
        ConcurrencyStorm.plan(seed, options)
    }

    fn populate(&self, plan: &Plan, world: &mut World) {
        (self.populate)(plan, world);
    }

    fn recover(&self, plan: &Plan, world: &mut World) {
        (self.recover)(plan, world);
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

fn calm_plan(seed: u64) -> Plan {
    ConcurrencyStorm.plan(Seed(seed), &Options { faults: Faults::None, ..options(4) }).expect("right options")
}

#[test]
fn agents_that_wake_and_do_nothing_are_flagged_at_once() {
    let recover = |_: &Plan, world: &mut World| {
        world.process("agent", 0, |_: Sys| async move { Exit::success() });
    };
    let changed =
        Changed { populate: |plan: &Plan, world: &mut World| ConcurrencyStorm.populate(plan, world), recover };
    for seed in 0..5 {
        let outcome = explore(&changed, &calm_plan(seed), CrashPoints::Sampled(4));
        let [violation] = outcome.violations.as_slice() else { panic!("{:#?}", outcome.violations) };
        assert_eq!(violation.fingerprint, "agents-return/agent-row/agent/stale");
        assert!(violation.message.contains("had the power failed at step"), "{}", violation.message);
        assert_eq!(count(&outcome, "crash_points"), 1, "at once");
        assert!(explore(&changed, &calm_plan(seed), CrashPoints::None).passed(), "nothing else finds it");
    }
}

/// An oracle that trusts the disk whatever it has been told.
struct Trusting<I>(I);

impl<I: Invariant> Invariant for Trusting<I> {
    fn id(&self) -> &'static str {
        self.0.id()
    }

    fn interest(&self) -> Interest {
        self.0.interest()
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        self.0.observe(event, view)
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        self.0.acknowledgements()
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        self.0.survived(survivor)
    }
}

#[test]
fn a_disk_that_ignores_fsync_is_flagged_at_once() {
    let populate = |plan: &Plan, world: &mut World| {
        swarm::populate(plan, world);
        let auditor = Auditor::default();
        world.invariant(Trusting(NoLostWrite::new(auditor.clone())));
        world.invariant(Trusting(DatabaseSound::new(auditor)));
    };
    let changed = Changed { populate, recover: |plan: &Plan, world: &mut World| ConcurrencyStorm.recover(plan, world) };
    for seed in 0..5 {
        let honest = calm_plan(seed);
        let lies = (0..4u32).flat_map(|agent| {
            (1..=200u32).map(move |nth| FaultPlan {
                id: agent * 1000 + nth,
                kind: FaultKind::LyingSync,
                process: Some(format!("agent-{agent}")),
                when: Trigger::Call { kind: CallKind::Sync, nth: u64::from(nth) },
                for_ns: 0,
                by_ns: 0,
                between: None,
            })
        });
        let lying = Plan { faults: lies.collect(), ..honest.clone() };
        let outcome = explore(&changed, &lying, CrashPoints::All);
        let [violation] = outcome.violations.as_slice() else { panic!("seed {seed}: {:#?}", outcome.violations) };
        assert!(["no-lost-write", "database-sound"].contains(&violation.invariant.as_str()), "{violation:?}");
        let acknowledged = count(&outcome, "transactions");
        assert!(acknowledged <= 4, "each agent's first or second: {acknowledged}");
        assert!(explore(&changed, &lying, CrashPoints::None).passed(), "seed {seed}: the power never fails");
        let outcome = explore(&changed, &honest, CrashPoints::All);
        assert!(outcome.passed(), "seed {seed}: {:#?}", outcome.violations);
    }
}

#[test]
fn an_acknowledged_write_that_never_happened_is_flagged_at_once() {
    let populate = |plan: &Plan, world: &mut World| {
        ConcurrencyStorm.populate(plan, world);
        world.process_with("liar", 0, RestartPolicy::Never, |sys| async move {
            let key = OperationKey { agent: sys.name(), number: 1 };
            sys.claim(&OperationBegun { key: key.clone(), kind: "note".into() }).await;
            // As one that had been committed in an earlier life: so no commit of this one is looked for.
            let effect = Effect::of_note("never written");
            sys.claim(&Committed { key, effect, was_found: true }).await;
            Exit::success()
        });
    };
    let changed = Changed { populate, recover: |plan: &Plan, world: &mut World| ConcurrencyStorm.recover(plan, world) };
    for seed in 0..5 {
        let outcome = explore(&changed, &calm_plan(seed), CrashPoints::All);
        let [violation] = outcome.violations.as_slice() else { panic!("{:#?}", outcome.violations) };
        assert_eq!(violation.fingerprint, "no-lost-write/row/agent/lost");
        assert!(violation.message.contains("liar-0#1: acknowledged, and lost"), "{}", violation.message);
        assert!(violation.message.contains("just after liar-0's claim"), "{}", violation.message);
    }
}

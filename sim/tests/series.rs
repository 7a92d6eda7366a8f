//! Many runs on one thread: each is what it would be alone, first or hundredth, whatever its programs ask of std.

use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::plan::{OptionsError, StrategyPlan};
use seedstorm_sim::sys::net::Address;
use seedstorm_sim::sys::sync::{AtomicCell, Mutex};
use seedstorm_sim::sys::{OpenFlags, TaskHandle};
use seedstorm_sim::trace::{Body, Ended, Event, Interest, TraceHash};
use seedstorm_sim::{
    Draw, Exit, Options, Outcome, Plan, Scenario, Seed, Settings, Sys, View, World, count_steps, run, run_series,
};
use std::ops::ControlFlow;

// A test program of its own: where another test listens to `tracing`, no thread is used again.

fn plan() -> Plan {
    Plan { latency: "flat".into(), ..Plan::plain("tasks", Seed(1)) }
}

/// What a program asks of std, or of others that ask the OS.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    Nothing,
    HashMaps,
    Clocks,
    Chance,
}

struct Tasks {
    asks: Asks,
    is_self_contained: bool,
}

impl Scenario for Tasks {
    fn name(&self) -> &'static str {
        "tasks"
    }

    fn about(&self) -> &'static str {
        "a test"
    }

    fn is_self_contained(&self) -> bool {
        self.is_self_contained
    }

    fn plan(&self, seed: Seed, _options: &Options) -> Result<Plan, OptionsError> {
        let strategy = [StrategyPlan::Random, StrategyPlan::Surw, StrategyPlan::Pos][seed.0 as usize % 3];
        Ok(Plan { seed, strategy, ..plan() })
    }

    fn populate(&self, _plan: &Plan, world: &mut World) {
        let asks = self.asks;
        world.process("a", 0, move |sys| program(sys, asks));
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// Three tasks that add to one sum what they were told, and in the end a step that tells the trace.
async fn program(sys: Sys, asks: Asks) -> Exit {
    let sum = Mutex::new(&sys, 0u64);
    let told = AtomicCell::new(&sys, 0u64);
    let mut tasks = Vec::new();
    for _ in 0..3 {
        let (sum, told) = (sum.clone(), told.clone());
        let add = move |sys: Sys| async move {
            *sum.lock().await.expect("lock") += answer(asks, &sys);
            told.fetch_add(1).await;
        };
        tasks.push(sys.spawn(add).await);
    }
    for task in tasks {
        sys.join(task).await;
    }
    let answer = *sum.lock().await.expect("lock");
    told.store(answer).await;
    Exit::success()
}

#[allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "what they say is what is tested")]
fn answer(asks: Asks, sys: &Sys) -> u64 {
    match asks {
        Asks::Nothing => sys.entropy().below(100),
        Asks::HashMaps => (0..64u64).collect::<std::collections::HashSet<u64>>().into_iter().next().expect("a number"),
        Asks::Clocks => {
            let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970"); // simulated: that is what is tested
            since.as_nanos() as u64
        }
        Asks::Chance => madsim::rand::random::<u64>() >> 8,
    }
}

/// So many that a thread's first ruler is used up.
const PLANS: u64 = 2_500;

#[test]
fn a_run_in_a_series_is_the_run_that_it_is_alone() {
    for is_self_contained in [false, true] {
        for asks in [Asks::Nothing, Asks::HashMaps, Asks::Clocks, Asks::Chance] {
            let scenario = Tasks { asks, is_self_contained };
            // Each seed comes several times, at several places. One that is run again on a thread of its own takes longer.
            let plans = if matches!(asks, Asks::Nothing | Asks::Clocks) { PLANS } else { 60 };
            let plan = |seed: u64| scenario.plan(Seed(seed % 20), &Options::default()).expect("a plan");
            let alone: Vec<TraceHash> = (0..20)
                .map(|seed| run(&scenario, &plan(seed), Settings::default()).expect("a run").trace_hash)
                .collect();
            let mut count = 0;
            run_series(&scenario, (0..plans).map(plan), Settings::default, |plan, outcome| {
                assert!(outcome.passed(), "{:?}", outcome.violations);
                assert_eq!(outcome.trace_hash, alone[plan.seed.0 as usize], "number {count}, seed {}", plan.seed.0);
                count += 1;
                ControlFlow::Continue(())
            })
            .expect("a series");
            assert_eq!(count, plans);
        }
    }
}

/// Runs that leave much behind, and others that touch nothing.
struct Mixed {
    is_self_contained: bool,
}

impl Scenario for Mixed {
    fn name(&self) -> &'static str {
        "mixed"
    }

    fn about(&self) -> &'static str {
        "a test"
    }

    fn is_self_contained(&self) -> bool {
        self.is_self_contained
    }

    fn plan(&self, seed: Seed, options: &Options) -> Result<Plan, OptionsError> {
        let disk_capacity_bytes = seed.0.is_multiple_of(2).then_some(1 << 16);
        Ok(Plan { disk_capacity_bytes, ..Tasks { asks: Asks::Nothing, is_self_contained: true }.plan(seed, options)? })
    }

    fn populate(&self, plan: &Plan, world: &mut World) {
        match plan.seed.0 % 6 {
            0 | 1 => _ = world.process("a", 0, |sys| program(sys, Asks::Nothing)),
            2 => {
                world.process("a", 0, |sys| async move {
                    let file = sys.open("/kept", OpenFlags::READ_WRITE.create()).await.expect("open");
                    file.write_all(b"kept").await.expect("write");
                    file.sync().await.expect("sync");
                    file.write_all(b"lost").await.expect("write");
                    let _open = sys.open("/", OpenFlags::READ).await.expect("open");
                    let _: TaskHandle<()> = sys.spawn(|_| std::future::pending()).await;
                    Exit::success()
                });
            }
            3 => {
                for index in 0..2 {
                    world.process("b", index, move |sys| async move {
                        let mailbox = sys.bind(1).await.expect("bind");
                        let to = Address::new(if index == 0 { "b-1" } else { "b-0" }, 1);
                        mailbox.send(&to, b"one").await.expect("send");
                        mailbox.send(&to, b"two").await.expect("send");
                        _ = mailbox.receive_within(1_000_000).await;
                        Exit::success()
                    });
                }
            }
            4 => _ = world.process("a", 0, |sys| program(sys, Asks::HashMaps)),
            _ => _ = world.process("a", 0, |_| async { Exit::failure("as it should") }),
        }
        if plan.seed.0 % 3 == 2 {
            world.invariant(EndsWell);
        }
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[("ends-well", "every process ends with success")]
    }
}

struct EndsWell;

impl Invariant for EndsWell {
    fn id(&self) -> &'static str {
        "ends-well"
    }

    fn interest(&self) -> Interest {
        Interest::LIVES
    }

    fn observe(&mut self, event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        match &event.body {
            Body::Ended(Ended::Exited { code: 1.., why }) => Err(Violation::new(self.id(), why.clone())),
            _ => Ok(()),
        }
    }
}

#[test]
fn nothing_that_a_run_leaves_is_there_in_the_next_one() {
    for is_self_contained in [false, true] {
        let scenario = Mixed { is_self_contained };
        let plan = |seed| scenario.plan(Seed(seed), &Options::default()).expect("a plan");
        let told = |outcome: &Outcome| format!("{outcome:?}");
        let alone: Vec<String> =
            (0..24).map(|seed| told(&run(&scenario, &plan(seed), Settings::default()).expect("a run"))).collect();
        assert_eq!(alone.iter().filter(|told| told.contains("as it should")).count(), 4);
        // Each after each.
        let order = (0..24 * 24).map(|place| (place * (place / 24 + 1) + place / 24) % 24);
        let mut count = 0;
        run_series(&scenario, order.map(plan), Settings::default, |plan, outcome| {
            assert_eq!(told(&outcome), alone[plan.seed.0 as usize], "number {count}");
            count += 1;
            ControlFlow::Continue(())
        })
        .expect("a series");
        assert_eq!(count, 24 * 24);
    }
}

#[test]
fn what_is_self_contained_sees_one_std_in_all_seeds() {
    let hashes = |asks| {
        let scenario = Tasks { asks, is_self_contained: true };
        // Nothing else depends on the seed: one task after the other.
        let plan = |seed| Plan { seed: Seed(seed), strategy: StrategyPlan::Timed, ..plan() };
        let hash = |seed| run(&scenario, &plan(seed), Settings::default()).expect("a run").trace_hash;
        [hash(1), hash(2)]
    };
    for asks in [Asks::HashMaps, Asks::Clocks, Asks::Chance] {
        let [one, other] = hashes(asks);
        assert_eq!(one, other);
    }
    let [one, other] = hashes(Asks::Nothing);
    assert_ne!(one, other, "entropy is a seed's own");
}

#[test]
fn a_series_ends_when_it_is_told_to_and_says_what_cannot_be_run() {
    let scenario = Tasks { asks: Asks::Nothing, is_self_contained: true };
    let plan = |seed| scenario.plan(Seed(seed), &Options::default()).expect("a plan");
    let mut seen = Vec::new();
    run_series(&scenario, (0..).map(plan), Settings::default, |plan, _| {
        seen.push(plan.seed.0);
        if seen.len() == 70 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .expect("a series");
    assert_eq!(seen, (0..70).collect::<Vec<_>>());
    let broken = Plan { latency: "none".into(), ..plan(1) };
    let error = run_series(&scenario, [broken], Settings::default, |_, _| ControlFlow::Continue(()));
    assert!(error.expect_err("there is no such profile").to_string().contains("latency profile `none`"));
}

#[test]
fn counts_in_a_plan_spare_its_first_run_and_change_nothing() {
    let scenario = Tasks { asks: Asks::Nothing, is_self_contained: false };
    for strategy in [StrategyPlan::Urw, StrategyPlan::Surw, StrategyPlan::Pct { depth: 3, steps: 0 }] {
        for seed in 0..20 {
            let plain = Plan { seed: Seed(seed), strategy, ..plan() };
            let counts = count_steps(&scenario, std::slice::from_ref(&plain)).expect("counts").remove(0);
            assert!(counts.steps() > 15, "{counts:?}");
            let counted = Plan { step_counts: Some(counts), ..plain.clone() };
            let read = Plan::from_toml(&counted.to_toml()).expect("a plan's file");
            assert_eq!(read, counted, "what is written is read back");
            let hash = |plan| run(&scenario, plan, Settings::default()).expect("a run").trace_hash;
            assert_eq!(hash(&read), hash(&plain), "{strategy} of seed {seed}");
        }
    }
    // Other counts are other schedules.
    let plain = |seed| Plan { seed: Seed(seed), strategy: StrategyPlan::Surw, ..plan() };
    let none = seedstorm_sim::schedule::StepCounts::default();
    let hash = |plan: Plan| run(&scenario, &plan, Settings::default()).expect("a run").trace_hash;
    let differs = |seed| hash(plain(seed)) != hash(Plan { step_counts: Some(none.clone()), ..plain(seed) });
    assert!((0..20).any(differs));
}
